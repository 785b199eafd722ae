"""Published predictions of submissions stay, whatever else is scored; only what is named may go, change or be added."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from hellofresh.core.errors import ReleaseError
from hellofresh.core.files import write_jsonl
from hellofresh.results import published
from hellofresh.results.entries import SINGLE, Entry
from hellofresh.results.published import check_published
from hellofresh.tasks.outputs import Choice, Status

IDS = ("xn-1", "xn-2", "xn-3")
CHOICES = [Choice(prompt=SINGLE, label=0), Choice(prompt=SINGLE, label=1), Choice(prompt=SINGLE, status=Status.NONE)]
Said = Mapping[str, tuple[Choice, ...]]
"""By origin, what was said of each sample."""
origins = st.sampled_from(["a/one", "a/two", "b/one", "run-1", "run-2"])
said = st.dictionaries(origins, st.tuples(*[st.sampled_from(CHOICES)] * len(IDS)), max_size=5)


def entries(given_: Said) -> list[Entry]:
    return [
        Entry(
            system=origin if "/" in origin else "same",
            team="t",
            provenance="uploaded" if "/" in origin else "run",
            kind="model",
            regime="zero-shot",
            smoke_test=False,
            knowledge_cutoff="",
            about="",
            origin=origin,
            outputs={SINGLE: dict(zip(IDS, verdicts, strict=True))},
        )
        for origin, verdicts in given_.items()
    ]


def publish(folder: Path, given_: Said, present: tuple[str, ...]) -> None:
    write_jsonl(folder / "samples.jsonl", ({"id": key} for key in present))
    rows = (
        {"entry": entry.origin, "system": entry.system, "regime": entry.regime, "provenance": entry.provenance,
         "prompt": SINGLE, "id": key, "label": verdict.label}
        for entry in entries(given_) for key, verdict in entry.outputs[SINGLE].items()
    )  # fmt: skip
    write_jsonl(folder / "predictions.jsonl", rows)


def refused(folder: Path, given_: Said, allowed: frozenset[str] = frozenset()) -> dict[str, str]:
    """The entries that are refused, and what would become of them."""
    try:
        check_published(folder, entries(given_), allowed, "score")
    except ReleaseError as error:
        assert error.code == "published"
        return dict(re.findall(r"(\S+) would (go|change|be added)", error.what))
    return {}


@given(said, said, st.sets(st.sampled_from(IDS), min_size=1))
def test_what_differs_among_submissions_and_lost_systems_is_refused(
    before: Said, after: Said, present: set[str]
) -> None:
    kept = tuple(key for key in IDS if key in present)

    def labels(choices: tuple[Choice, ...]) -> list[int | None]:
        return [verdict.label for key, verdict in zip(IDS, choices, strict=True) if key in present]

    handed_in = {name for name in before.keys() | after.keys() if "/" in name}
    expected = dict.fromkeys(handed_in & before.keys() - after.keys(), "go")
    expected |= dict.fromkeys(handed_in & after.keys() - before.keys(), "be added")
    both = handed_in & before.keys() & after.keys()
    expected |= {name: "change" for name in both if labels(before[name]) != labels(after[name])}
    if not any("/" not in name for name in after):  # runs of one system: any of them stands for it
        expected |= {name: "go" for name in before if "/" not in name}
    shown = patch.object(published, "read_manifest", lambda _: SimpleNamespace(withheld=False))
    with TemporaryDirectory() as name, shown:
        folder = Path(name)
        assert refused(folder, after) == {}  # nothing is published yet
        publish(folder, before, kept)
        assert refused(folder, before) == {}
        assert refused(folder, after) == expected
        assert refused(folder, after, frozenset(expected)) == {}
        for one in expected:
            assert refused(folder, after, frozenset(expected) - {one}).keys() == {one}
