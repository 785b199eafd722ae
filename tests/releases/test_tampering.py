"""Whatever is changed in a publication is found, or belongs to what the last line names as not checked.

A small publication (choices, rankings, rated responses) is changed in every field of every file: other values, fields
and rows that are dropped, doubled, exchanged or added, files that are lost or added. Hashes and sizes are mended
afterwards, as somebody would who wants to deceive.
"""

from __future__ import annotations

import io
import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import date
from functools import lru_cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest

import verifier
from hellofresh.cli.release_verify import published_checks
from hellofresh.core.calendar import CalendarRule
from hellofresh.core.clock import now
from hellofresh.core.editions import Frozen
from hellofresh.core.files import canonical_json, sha256_file, write_json
from hellofresh.core.quarters import Quarter
from hellofresh.core.systems import MODEL_FACTS
from hellofresh.core.workspace import Workspace
from hellofresh.judging.muse import MUSE_EDITION, import_muse, read_muse
from hellofresh.releases.draw.frozen import DatasetSource, evidence_candidates, freeze
from hellofresh.releases.life.state import reveal
from hellofresh.releases.life.takedown import take_down
from hellofresh.releases.publish._parts import SearchedCorpus, corpora_named
from hellofresh.releases.publish.check import _corpus, _parts
from hellofresh.releases.publish.folder import key_of, publish_to_folder
from hellofresh.results.scoring.reveal import publish_results
from hellofresh.results.scoring.scores import score_quarter
from hellofresh.runs.evaluate import evaluate
from hellofresh.runs.evaluation import Evaluation
from hellofresh.tasks import get_task
from tests.conftest import Maker
from tests.ratings.rated_study import write_study
from tests.retrieval.conftest import write_small
from verifier.checks import (
    Check,
    NoReleaseError,
    beside_checks,
    find_releases,
    repeat_checks,
    report_lines,
    verify_release,
)
from verifier.publication import publications_above

QUARTER = Quarter(2023, 2)
CLAIMS = {
    "code and the wording of commitments": ("code", "commitments"),
    "the sources, settings and counts of the collection": ("collection",),
    "the comparison with earlier quarters": ("across_quarters",),
    "seed and rule of the draw": ("selection.seed", "selection.rule"),
    "days of the calendar": ("calendar",),
    "name, address, day and licence of the data set": ("dataset.name", "dataset.address", "dataset.licence"),
    "what the manifest says under strange": ("strange",),
}
"""What nothing in a release confirms, in its manifest and in those of former versions."""
NOT_CHECKED = {
    "manifest.json": CLAIMS,
    "labels.jsonl": {"facts of labels": ("ai_writer", "collaborative", "ratings", "status_locked_at", "strange")},
    "predictions.jsonl": {"predictions, but for what scores rest on": ("documents", "scores", "sources")},
    "manifests/": {
        **CLAIMS,
        "sizes and hashes of former versions": ("files[].sha256", "files[].size", "files[].rows"),
    },
    "scores.jsonl": {
        "what entries say of themselves": ("about", "knowledge_cutoff", "settings", "smoke_test", *MODEL_FACTS)
    },
    "publication.json": {"what hellofresh": ("code",)},
    "corrections.parquet": {"which rater gave a rating": ("judge",)},
    "rubric.toml": {"wording and conditions of the rubric": ("text",)},
    "documents.parquet": {
        "tables and manifests of corpora": ("id", "title", "text", "date", "source", "row", "column")
    },
    "corpus.json": {
        "tables and manifests of corpora": (
            "queries",
            "judgements",
            "ledgers",
            "undated",
            "parameters",
            "source",
            "files",
        )
    },
}
"""By the end of a file's name: what the last line says, and the fields that it is about."""


class Change(NamedTuple):
    """A change of a file: which, where in it, what is done, and the new content; None where the file is removed."""

    file: str
    field: str
    what: str
    content: bytes | None


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A publication of three releases: a revealed quarter, queries, and a rated study."""
    folder = tmp_path_factory.mktemp("tampering")
    make, days = Maker(folder), CalendarRule().of(QUARTER)
    workspace: Workspace = make.workspace()
    notes, queries = get_task("x-notes"), get_task("scifact-retrieval")
    make.release(make.notes(3, 3))
    for model in ("coin", "always-yes"):
        evaluate(workspace, Evaluation(QUARTER, notes, model), lambda _: None)
    take_down(workspace, QUARTER, notes, {"xn-4001": "asked"}, days.reveals)
    reveal(workspace, QUARTER, notes, days.reveals)
    edition, source = Frozen("scifact-retrieval", "dev-16"), DatasetSource("Small", "", date(2020, 5, 1), "CC0-1.0")
    freeze(
        workspace,
        edition,
        queries,
        evidence_candidates(write_small(workspace), "dev", queries, date(2020, 5, 1)),
        source,
    )
    evaluate(workspace, Evaluation(edition, queries, "bm25", regime="retrieve"), lambda _: None)
    import_muse(workspace, read_muse(write_study(folder / "study")))
    for one in (QUARTER, edition, MUSE_EDITION):
        publish_results(workspace, score_quarter(workspace, one, folder / "none", days.reveals))
    publish_to_folder(workspace, folder / "published", days.reveals)
    return folder / "published"


def contents(folder: Path) -> tuple[bytes, ...]:
    return tuple(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


@lru_cache(8)
def checks_of(folder: Path, _contents: tuple[bytes, ...], _names: tuple[str, ...]) -> list[Check]:
    """What a release says; a change of one release leaves the others as they were, and they are not verified again."""
    return verify_release(folder)


def last_line(root: Path) -> tuple[bool, str]:
    """Whether all is in order, and what the last line says."""
    try:
        folders = find_releases(root)
    except NoReleaseError:
        return False, ""
    names = tuple(sorted(str(path) for path in root.rglob("*")))
    checks = [check for folder in folders for check in checks_of(folder, contents(folder.parent), names)]
    checks += beside_checks(folders) + repeat_checks(folders, ())
    for place in publications_above(folders):
        checks += published_checks(place)
    return all(check.ok for check in checks), list(report_lines(checks))[-1]


def other(value: Any) -> Any:
    match value:
        case bool():
            return not value
        case int():
            return value + 1
        case float():
            return value + 0.01
        case str() if len(value) == 64 and set(value) <= set("0123456789abcdef"):
            return ("0" if value[0] != "0" else "1") + value[1:]
        case str():
            return f"{value}x"
        case list():
            return value[:-1] if value else [0]
        case dict():
            return {**value, "strange": 1}
    return "x"


def fields(value: Any, place: str = "") -> Iterator[tuple[str, Callable[[Any], None]]]:
    """Every field of a JSON value once, with what changes, drops or adds it in a copy."""
    seen = set()

    def walk(inside: Any, name: str, path: tuple[Any, ...]) -> Iterator[tuple[str, Callable[[Any], None]]]:
        pairs = inside.items() if isinstance(inside, dict) else enumerate(inside)
        for key, item in pairs:
            where = f"{name}.{key}".strip(".") if isinstance(inside, dict) else f"{name}[]"
            if where not in seen:
                seen.add(where)
                yield where, lambda copy, p=(*path, key): put(copy, p, other)
                for empty in (None, "", 0, []):
                    yield f"{where} emptied", lambda copy, p=(*path, key), to=empty: put(copy, p, lambda _: to)
                if isinstance(inside, dict) and item != "included":  # which is what it means to leave it out
                    yield f"{where} dropped", lambda copy, p=(*path, key): put(copy, p, None)
            if isinstance(item, dict | list):
                yield from walk(item, where, (*path, key))

    yield from walk(value, place, ())
    if isinstance(value, dict):
        yield "strange", lambda copy: copy.update(strange=1)


def put(copy: Any, path: tuple[Any, ...], change: Callable[[Any], Any] | None) -> None:
    for key in path[:-1]:
        copy = copy[key]
    if change is None:
        del copy[path[-1]]
    else:
        copy[path[-1]] = change(copy[path[-1]])


def changes_of(root: Path, name: str) -> Iterator[Change]:
    path = root / name
    before = path.read_bytes()
    yield Change(name, "", "removed", None)
    yield Change(f"{name}.more", "", "added", before)
    if name.endswith(".json"):
        for field, change in fields(json.loads(before)):
            copy = json.loads(before)
            change(copy)
            if copy != json.loads(before):
                yield Change(name, field, "changed", json.dumps(copy, indent=2, sort_keys=True).encode())
    elif name.endswith(".jsonl"):
        yield from changes_of_rows(name, [json.loads(line) for line in before.splitlines()])
    elif name.endswith(".parquet"):
        yield from changes_of_table(path, name)
    else:
        yield from changes_of_text(name, before.decode())


def changes_of_rows(name: str, rows: list[dict[str, Any]]) -> Iterator[Change]:
    def change(field: str, what: str, changed: list[dict[str, Any]]) -> Change:
        return Change(name, field, what, "".join(f"{canonical_json(row)}\n" for row in changed).encode())

    middle = len(rows) // 2
    for number in sorted({0, middle, len(rows) - 1}):
        for field, done in fields(rows[number]):
            copy = json.loads(json.dumps(rows))
            done(copy[number])
            if copy != rows:
                yield change(field, f"changed in row {number}", copy)
    yield change("", "row dropped", rows[:middle] + rows[middle + 1 :])
    yield change("", "row doubled", rows[: middle + 1] + rows[middle:])
    yield change("", "rows exchanged", [rows[-1], *rows[1:-1], rows[0]])


def changes_of_table(path: Path, name: str) -> Iterator[Change]:
    table = pl.read_parquet(path)
    rows, middle = table.to_dicts(), table.height // 2

    def change(field: str, what: str, changed: pl.DataFrame) -> Change:
        place = path.with_name("changed")
        changed.write_parquet(place)
        content = place.read_bytes()
        place.unlink()
        return Change(name, field, what, content)

    for field, done in fields(rows[middle]):
        copy = json.loads(json.dumps(rows, default=str))
        if not field.endswith("dropped") and field != "strange":
            done(copy[middle])
            try:
                changed = pl.DataFrame(copy, schema=table.schema, strict=False)
            except (TypeError, pl.exceptions.PolarsError):
                continue
            if not changed.equals(table):  # a column has room for its kind only
                yield change(field, "changed", changed)
    yield change("row", "row dropped", pl.concat([table[:middle], table[middle + 1 :]]))
    yield change("row", "row doubled", pl.concat([table[: middle + 1], table[middle:]]))
    yield change("row", "rows exchanged", table[::-1])
    yield change("column", "column added", table.with_columns(strange=pl.lit("x")))
    yield change("column", "column dropped", table.drop(table.columns[-1]))


def changes_of_text(name: str, text: str) -> Iterator[Change]:
    lines, head = text.splitlines(keepends=True), text[4:].partition("---\n")[0].count("\n")
    for number, line in enumerate(lines):
        if line.strip():
            field = "head or table" if line.startswith("|") or (name.endswith(".md") and number < head) else "text"
            changed = [
                *lines[:number],
                line.replace("\n", "x\n") if number % 2 else line[:1] + "x" + line[1:],
                *lines[number + 1 :],
            ]
            yield Change(name, field, f"line {number}", "".join(changed).encode())
            if field != "text":
                yield Change(
                    name, field, f"line {number} dropped", "".join([*lines[:number], *lines[number + 1 :]]).encode()
                )


def entry_of(path: Path, like: Any) -> dict[str, object]:
    """What a list of files says of one, if it is there."""
    if not path.is_file():
        return {}
    rows = {"rows": path.read_bytes().count(b"\n")} if "rows" in like else {}
    return {"size": path.stat().st_size, "sha256": sha256_file(path), **rows}


def mend(root: Path, changed: str) -> None:  # noqa: C901 - each inner function mends one kind of file
    """Make manifests, Croissant and account list what is there, but for the file that was changed itself."""

    def rewrite(path: Path, change: Callable[[Any], object]) -> None:
        if path.is_file() and path != root / changed:
            said = json.loads(path.read_bytes())
            change(said)
            write_json(path, said)

    def list_files(folder: Path, said: Any) -> None:
        for entry in said["files"]:
            entry.update(entry_of(folder / entry["path"], entry))

    def chain(manifest: Path) -> None:
        """Have each version name the one before it by its hash, as it is now."""
        kept = sorted((manifest.parent / "manifests").glob("*.json"), key=lambda path: int(path.stem))
        for before, after in pairwise([*kept, manifest]):
            named = {"sha256": sha256_file(before)}
            with suppress(Exception):
                rewrite(after, partial(lambda named, said: said["previous"].update(named), named))

    def list_tables(said: Any) -> None:
        for entry in said["distribution"]:
            if there := entry_of(root / entry["@id"], {}):
                entry.update(contentSize=f"{there['size']} B", sha256=there["sha256"])

    def list_all(said: Any) -> None:
        list_files(root, said)
        with suppress(Exception):  # what cannot be read is found in any case
            parts = _parts(root, now())
            corpora = [SearchedCorpus(*named, _corpus(root, *named)) for named in corpora_named(parts)]
            said["made_from"] = key_of(parts, corpora)

    for manifest in root.rglob("manifest.json"):
        chain(manifest)
        rewrite(manifest, partial(list_files, manifest.parent))
    rewrite(root / "croissant.json", list_tables)
    rewrite(root / "publication.json", list_all)


def is_named(change: Change, line: str) -> bool:
    """Whether what was changed belongs to what the last line says was not checked."""
    mine = (its for end, its in NOT_CHECKED.items() if change.file.endswith(end) or f"/{end}" in change.file)
    pairs = ((what, place) for its in mine for what, places in its.items() for place in places)
    named = [what for what, place in pairs if re.match(f"{re.escape(place)}($|[.[ ])", change.field)]
    return any(what in line.partition("Not checked: ")[2] for what in named)


def passed(root: Path, change: Change) -> str:
    """Apply a change, verify, and put everything back; why it went unnoticed, empty where it did not."""
    kept = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    path = root / change.file
    if change.content is None:
        path.unlink()
    else:
        path.write_bytes(change.content)
    try:
        mend(root, change.file)
        ok, line = last_line(root)
    finally:
        for one in root.rglob("*"):
            if one.is_file() and one not in kept:
                one.unlink()
        for one, content in kept.items():
            one.write_bytes(content)
    if not ok or is_named(change, line):
        return ""
    return f"{change.file} {change.field} {change.what}: {line[:60]}"


def all_changes(root: Path) -> list[Change]:
    names = sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())
    return [change for name in names for change in changes_of(root, name)]


def test_an_untouched_publication_is_in_order_and_says_what_was_not_checked(published: Path) -> None:
    ok, line = last_line(published)
    assert ok and "all passed" not in line
    assert all(what in line for what in ("whether the sources are genuine", "which rater gave a rating"))


def test_a_copy_of_the_verifier_alone_checks_a_publication(published: Path, tmp_path: Path) -> None:
    shutil.copytree(Path(verifier.__file__).parent, tmp_path / "verifier", ignore=shutil.ignore_patterns("__pycache__"))
    blocked = ("hellofresh", "pydantic", "scipy", "pyarrow", "sklearn")
    code = (
        f"import runpy, sys; sys.modules.update(dict.fromkeys({blocked})); sys.path.insert(0, {str(tmp_path)!r})\n"
        f"sys.argv[1:] = [{str(published)!r}]; runpy.run_module('verifier', run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "checks passed. Not checked:" in done.stdout.splitlines()[-1]


def test_no_name_of_a_rater_and_no_text_of_a_response_is_among_the_ratings(published: Path) -> None:
    (folder,) = published.rglob("ratings")
    content = b"".join(path.read_bytes() for path in folder.iterdir())
    assert b"_user" not in content and b"answers, on two lines" not in content
    assert set(pl.read_parquet(folder / "corrections.parquet")["judge"]) == {"pair1-rater1", "pair1-rater2"}


def test_a_score_that_is_there_twice_is_named(published: Path, tmp_path: Path) -> None:
    root, name = shutil.copytree(published, tmp_path / "copy"), f"{NOTES}/scores.jsonl"
    lines = (root / name).read_text().splitlines(keepends=True)
    (root / name).write_text("".join([*lines, lines[-1]]))
    mend(root, name)
    assert any("appears twice" in fault for check in verify_release(root / NOTES) for fault in check.faults)


def test_a_response_that_is_twice_in_the_key_of_ratings_is_named(published: Path, tmp_path: Path) -> None:
    root = shutil.copytree(published, tmp_path / "copy")
    (key,) = root.rglob("*.key.parquet")
    pl.concat([pl.read_parquet(key), pl.read_parquet(key)[:1]]).write_parquet(key)
    (study,) = (folder for folder in find_releases(root) if folder.name == "corrections")
    assert any("appears twice in the key" in fault for check in verify_release(study) for fault in check.faults)


def test_changes_here_and_there_are_found_or_named(published: Path) -> None:
    some = random.Random(0).sample(all_changes(published), 20)
    assert "\n".join(why for change in some if (why := passed(published, change))) == ""


@pytest.mark.slow
def test_changes_of_every_file_are_found_or_named(published: Path) -> None:
    """One change of each file and field in eight; with HELLOFRESH_CHANGES=1 one of each, which takes half an hour."""
    shapes = {(change.file, change.field, re.sub(r"\d+", "", change.what)): change for change in all_changes(published)}
    assert len(shapes) > 2_000
    some = list(shapes.values())[:: int(os.environ.get("HELLOFRESH_CHANGES", "8"))]
    assert "\n".join(why for change in some if (why := passed(published, change))) == ""


def rewritten(root: Path, name: str, change: Callable[[Any], object]) -> list[str]:
    """All that is found wrong after a change of a JSON file, with the hashes of all others mended."""
    said = json.loads((root / name).read_text())
    change(said)
    write_json(root / name, said)
    mend(root, name)
    folders = find_releases(root)
    checks = [check for folder in folders for check in verify_release(folder)]
    checks += [check for place in publications_above(folders) for check in published_checks(place)]
    return [fault for check in checks for fault in check.faults]


def drop(name: str) -> Callable[[Any], None]:
    return lambda said: said.update(files=[entry for entry in said["files"] if entry["path"] != name])


def entry(name: str, **values: Any) -> Callable[[Any], None]:
    return lambda said: next(entry for entry in said["files"] if entry["path"] == name).update(values)


NOTES = "releases/2023Q2/x-notes"


@pytest.mark.parametrize(("version", "change", "fault"), [
    (2, drop("commitments.jsonl"), "version 2: commitments.jsonl is not listed"),
    (2, lambda said: said.update(texts="included"), "texts has changed"),
    (2, entry("commitments.jsonl", size=1), "version 2: 'commitments.jsonl' has another size"),
    (1, entry("samples.jsonl", rows=17), "version 1: samples.jsonl has 17 rows, and 18"),
    (1, lambda said: said.update(previous={"path": "x", "sha256": "0" * 64}), "version 1 names one before it"),
    (3, entry("labels.jsonl", rows=17), "version 3: labels.jsonl has 17 rows, and 18"),
])  # fmt: skip
def test_an_earlier_manifest_that_says_what_cannot_have_been_is_found_though_its_chain_is_mended(
    published: Path, tmp_path: Path, version: int, change: Callable[[Any], object], fault: str
) -> None:
    root = shutil.copytree(published, tmp_path / "copy")
    found = rewritten(root, f"{NOTES}/manifests/{version}.json", change)
    assert any(fault in one for one in found), found


@pytest.mark.parametrize("name", ["releases/extra/labels.jsonl", "releases/x.txt", f"{NOTES}/more.jsonl", "x/y.json"])
def test_a_file_that_belongs_to_nothing_is_found_though_it_is_listed(
    published: Path, tmp_path: Path, name: str
) -> None:
    root = shutil.copytree(published, tmp_path / "copy")
    (root / name).parent.mkdir(exist_ok=True)
    (root / name).write_text("{}\n")
    there = entry_of(root / name, {})

    def add(said: Any) -> None:
        said["files"] = sorted([*said["files"], {"path": name, **there}], key=lambda one: Path(one["path"]))

    found = rewritten(root, "publication.json", add)
    assert any(name in one and "does not belong here" in one for one in found)
    if name.startswith(NOTES):
        listed = {"path": "more.jsonl", "rows": 1, **there}
        found = rewritten(root, f"{NOTES}/manifest.json", lambda said: said["files"].append(listed))
        assert "'more.jsonl' is listed, and belongs to no release of this kind" in found


def hidden_bytes(content: bytes) -> bytes:
    """A Parquet file with bytes between its column chunks and its footer."""
    start = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    return content[:start] + b"eighteen bytes too" + content[start:]


def named_classes(content: bytes) -> bytes:
    """A Parquet file with metadata by which the hub exchanges the names of the classes."""
    table = pl.read_parquet(io.BytesIO(content))
    file = io.BytesIO()
    table.write_parquet(
        file, compression="zstd", statistics=False, metadata={"huggingface": '{"names": ["yes", "no"]}'}
    )
    return file.getvalue()


def replaced(old: str, new: str) -> Callable[[bytes], bytes]:
    return lambda content: content.replace(old.encode(), new.encode(), 1)


def turned(content: bytes) -> bytes:
    said = json.loads(content)
    return json.dumps({**said, "files": said["files"][::-1]}, indent=2, sort_keys=True).encode() + b"\n"


TABLE = "data/x-notes/2023Q2.parquet"
ATTACKS = {
    # What passed with "38 checks", and more of its kinds.
    "an early end of the head": ("README.md", replaced("---\nlanguage", '"---\nlanguage'), "README.md line 1"),
    "a default at a foreign address": (
        "README.md", replaced("configs:\n", "configs:\n- data_files: https://x.example/y\n"), "README.md line",
    ),
    "a line separator in the head": ("README.md", replaced("pretty_name: ", "pretty_name: \u2028"), "README.md line"),
    "a line separator in eval.yaml": ("eval.yaml", replaced("name: ", "name: \u2028"), "eval.yaml line 1"),
    "another title": ("README.md", replaced("\n# HelloFresh", "\n# Another"), "README.md line"),
    "another sentence": ("README.md", replaced("Every row of the sources", "No row of the sources"), "README.md line"),
    "another state": ("README.md", replaced("| revealed |", "| closed |"), "README.md line"),
    "another licence": ("README.md", replaced("- cc0-1.0\n", ""), "README.md line"),
    "another version": ("croissant.json", replaced('"version": "2024', '"version": "2025'), "croissant.json line"),
    "a key of JSON-LD": ("croissant.json", replaced('"@context"', '"@contexts"'), "croissant.json line"),
    "other class names for the hub": (TABLE, named_classes, "has other metadata"),
    "hidden bytes": (TABLE, hidden_bytes, "has bytes that belong to no column"),
    "rows in another order": ("publication.json", turned, "not listed in their order"),
    "another size": ("publication.json", replaced('"size": 1', '"size": 2'), "differs"),
    "another rule": ("releases/2023Q2/x-notes/manifest.json", replaced("SHA-256", "MD5"), ""),
}  # fmt: skip


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_publication_that_its_releases_do_not_give_is_named(published: Path, tmp_path: Path, attack: str) -> None:
    root, (name, change, fault) = shutil.copytree(published, tmp_path / "copy"), ATTACKS[attack]
    before = (root / name).read_bytes()
    (root / name).write_bytes(change(before))
    assert (root / name).read_bytes() != before
    if name != "publication.json":
        mend(root, name)
    folders = find_releases(root)
    checks = [check for folder in folders for check in verify_release(folder)] + published_checks(root)
    assert any(fault in one for check in checks for one in check.faults), [check.faults for check in checks]


@pytest.mark.parametrize("name", ["releases/2023Q2/x", "releases/2023Q2/x-notes-media", "releases/2023Q1/x-notes"])
def test_a_folder_that_looks_like_a_release_is_named_by_either_verifier(
    published: Path, tmp_path: Path, name: str
) -> None:
    root = shutil.copytree(published, tmp_path / "copy")
    shutil.copytree(root / NOTES, root / name)
    mend(root, "")
    assert not all(check.ok for check in published_checks(root)[:-1])
    assert not published_checks(root)[-1].ok


def test_empty_folders_are_named_and_what_a_hub_adds_is_let_by_and_said(published: Path, tmp_path: Path) -> None:
    root = shutil.copytree(published, tmp_path / "copy")
    (root / ".cache" / "huggingface").mkdir(parents=True)
    (root / ".gitattributes").write_text("*.parquet filter=lfs")
    checks = published_checks(root)
    assert all(check.ok for check in checks) and ".gitattributes, .cache, which a hub adds" in checks[-1].said
    (root / "data" / "more").mkdir()
    assert [sum("'data/more'" in fault for fault in check.faults) for check in published_checks(root)] == [1, 0, 1]


@pytest.mark.parametrize("names", [
    ("x/labels.jsonl",), ("x/y/z.txt",), ("names.txt",), ("ratings/names.txt",), ("x/manifest.json",),
    ("manifests/manifest.json", "manifests/labels.jsonl"), ("x/prospective/manifest.json", "x/labels.jsonl"),
])  # fmt: skip
@pytest.mark.parametrize("named", ["", "2023Q2", "2023Q2/x-notes"])
def test_what_is_beside_the_tasks_is_found_whichever_folder_is_named(
    published: Path, tmp_path: Path, names: tuple[str, ...], named: str
) -> None:
    releases = shutil.copytree(published / "releases", tmp_path / "releases")
    for name in names:
        place, there = releases / "2023Q2" / name, releases / NOTES.removeprefix("releases/") / Path(name).name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(there.read_bytes() if there.is_file() else b"{}")
    folders = find_releases(releases / named)
    checks = [check for folder in folders for check in verify_release(folder)]
    assert not all(check.ok for check in [*checks, *beside_checks(folders)])
