"""A visitor's table, compared in a process of its own that is ended at its limits; nothing of it is kept."""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hellofresh.core.errors import DataError, HelloFreshError, WorkspaceError
from leaderboard.data.uploads import Upload

MOST_MB = 50
"""Size of all files together."""
# a visitor's table may take seconds of the server, not minutes
_MOST_ITEMS, _MOST_SYSTEMS, _MOST_NAMED = 100_000, 200, 1_000
_CPU_S, _WALL_S, _MEMORY_BYTES = 30, 120, 4 * 2**30
NO_TABLE = "This table cannot be compared"
_ROOT = Path(__file__).resolve().parents[2]


def check_table(files: Sequence[Upload], options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Compare the systems of a table, in a worker.

    Args:
        files: of one comparison.
        options: the fields of `ColumnNames`, `missing` and `lower_is_better`.

    Returns:
        `columns` of the first file, what was `taken` for what, `choices` of systems, and `problem`, or the HTML `shown`
        and the `files` to download, by their endings.

    Raises:
        DataError: if the files are too large, or the worker reached a limit.
        WorkspaceError: if there is no space for temporary files.
    """
    if sum(len(file.content) for file in files) > MOST_MB * 10**6:
        raise DataError("the files are too large", expected=f"at most {MOST_MB} MB together", code="too-large")
    environment = {"PYTHONPATH": str(_ROOT), "POLARS_MAX_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
                   "HELLOFRESH_PLUGINS": "none", "PATH": os.environ.get("PATH", "")}  # fmt: skip
    try:
        with TemporaryDirectory(prefix="hellofresh-") as folder:
            for number, file in enumerate(files):
                place = Path(folder, str(number), re.sub(r"[^\w. -]", "_", file.name)[-100:].lstrip(".") or "table")
                place.parent.mkdir()
                place.write_bytes(file.content)
            done = subprocess.run(  # noqa: S603 - no shell
                [sys.executable, "-P", "-m", "leaderboard.data.checks", folder, str(_CPU_S)],
                env=environment, cwd=folder, input=json.dumps(options).encode(), stdout=subprocess.PIPE,
                timeout=_WALL_S, check=False,
            )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise _too_much() from None
    except OSError as error:
        what = f"files cannot be read at the moment ({error.strerror or 'no temporary folder'})"
        raise WorkspaceError(what, fix="Try again later.", code="unwritable") from error
    if done.returncode:
        logging.getLogger("leaderboard").error("a check of a table ended with %s", done.returncode)
        if done.returncode < 0:  # by a signal: the limit of time, or of memory
            raise _too_much()
        fix = "If it is a table, report it with the file. On your own machine: hellofresh compare FILE --card"
        raise DataError("the table could not be read, or needs too much memory", fix=fix, code="not-compared")
    found: Mapping[str, Any] = json.loads(done.stdout)
    return found


def _too_much() -> DataError:
    fix = "Compare it on your own machine, where there is no such limit: hellofresh compare FILE --card"
    limits = f"at most {_CPU_S} s of computing and {_MEMORY_BYTES >> 30} GiB"
    return DataError("the comparison was ended", expected=limits, fix=fix, code="too-much")


def _checked(folder: Path, options: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the worker returns, see `check_table`."""
    from hellofresh.results.card import card_of
    from hellofresh.results.comparison import compare_scores
    from hellofresh.results.score_files import ColumnNames, read_tables, scale_of, scores_of, taken_of
    from leaderboard.components.markup import join, problem
    from leaderboard.export.one_file import WRITERS, compare_sections

    found: dict[str, Any] = {"columns": [], "taken": {}, "choices": []}
    given = {name: value for name, value in options.items() if name not in ("missing", "lower_is_better", "scale")}
    paths = sorted(folder.glob("*/*"), key=lambda path: int(path.parent.name))
    try:
        names = ColumnNames(**given, scale=scale_of(options["scale"]) if "scale" in options else None)
        frames = read_tables(paths)
        first = next(iter(frames.values()))
        found |= {"columns": first.columns[:_MOST_NAMED], "choices": first.columns[:_MOST_NAMED]}
        found["taken"] = taken_of(first, names)
        scores = scores_of(frames, names)
        if scores.values.shape[1] > _MOST_ITEMS or len(scores.systems) > _MOST_SYSTEMS:
            limits = f"at most {_MOST_ITEMS:,} items and {_MOST_SYSTEMS} systems"
            size = f"{scores.values.shape[1]:,} items and {len(scores.systems):,} systems"
            raise DataError(size, expected=limits, fix="Compare it on your own machine.", code="too-large")
        if found["taken"]["system"]:
            found["choices"] = sorted({*scores.systems, *names.listed("systems"), *names.listed("without")})
        how = {"missing": options.get("missing", "fit"), "lower_is_better": options.get("lower_is_better", False)}
        compared = compare_scores(scores, **how)
        said = " ".join(["hellofresh compare", *(path.name for path in paths[:3]), "(on the site)"])
        card = card_of(compared, said)
    except HelloFreshError as error:
        where = error.where.removeprefix(f"{folder}/")
        fix = " ".join(filter(None, (error.expected and f"Expected: {error.expected}.", error.fix)))
        return found | {"problem": str(problem(DataError(error.what, where=where, fix=fix), NO_TABLE))}
    files = {ending: WRITERS[ending](compared, card) for ending in (".html", ".tex")}
    files[".json"] = json.dumps(compared.plain(card), indent=2, default=str) + "\n"
    return found | {"said": compared.said, "shown": str(join(compare_sections(compared, card))), "files": files}


def _work(folder: str, cpu_s: int) -> None:
    import resource

    logging.disable()
    limits = {"RLIMIT_CPU": cpu_s, "RLIMIT_AS": _MEMORY_BYTES, "RLIMIT_CORE": 0, "RLIMIT_FSIZE": 0}
    for limit, most in limits.items():
        with suppress(OSError, ValueError):  # macOS has not all
            resource.setrlimit(getattr(resource, limit), (most, most))
    sys.stdout.write(json.dumps(_checked(Path(folder), json.load(sys.stdin))))


if __name__ == "__main__":
    _work(sys.argv[1], int(sys.argv[2]))
