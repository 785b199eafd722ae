"""Published predictions stay, whatever else is scored: only what is named may go, change, or be added by others."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from hellofresh.core.errors import ReleaseError
from hellofresh.core.files import sha256_file, write_jsonl
from hellofresh.results.scoring import published
from hellofresh.results.scoring.published import check_published
from hellofresh.results.split.entries import SINGLE, Entry
from hellofresh.tasks.outputs import Choice, Status
from tests.fakes import fails_with

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


def read_manifest(folder: Path) -> SimpleNamespace:
    listed = SimpleNamespace(sha256=sha256_file(folder / "predictions.jsonl"))
    return SimpleNamespace(withheld=False, file=lambda _: listed)


def refused(folder: Path, given_: Said, allowed: frozenset[str] = frozenset()) -> dict[str, str]:
    """The entries that are refused, and what would become of them."""
    try:
        check_published(folder, entries(given_), allowed, "score", folder)
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

    expected = dict.fromkeys(before.keys() - after.keys(), "go")
    expected |= dict.fromkeys((name for name in after.keys() - before.keys() if "/" in name), "be added")
    both = before.keys() & after.keys()
    expected |= {name: "change" for name in both if labels(before[name]) != labels(after[name])}
    shown = patch.object(published, "read_manifest", read_manifest)
    with TemporaryDirectory() as name, shown:
        folder = Path(name)
        assert refused(folder, after) == {}  # nothing is published yet
        publish(folder, before, kept)
        assert refused(folder, before) == {}
        assert refused(folder, after) == expected
        assert refused(folder, after, frozenset(expected)) == {}
        for one in expected:
            assert refused(folder, after, frozenset(expected) - {one}).keys() == {one}


ONE = {"a/one": tuple(CHOICES)}
RUN = {"run-1": tuple(CHOICES)}


def test_an_absent_folder_of_submissions_is_no_withdrawal_even_of_a_named_entry(tmp_path: Path) -> None:
    publish(tmp_path, ONE, IDS)
    with patch.object(published, "read_manifest", read_manifest):
        for allowed in ((), ("a/one",)):
            with fails_with("no-submissions") as caught:
                check_published(tmp_path, [], allowed, "score", tmp_path / "gone")
            assert "--change" not in str(caught.value) and str(tmp_path / "gone") in caught.value.where
        assert refused(tmp_path, {}, frozenset({"a/one"})) == {}


def test_a_run_that_went_on_may_change_its_votes_and_nothing_else(tmp_path: Path) -> None:
    publish(tmp_path, RUN, IDS)
    (entry,) = entries(RUN)
    flipped = {key: Choice(prompt=SINGLE, label=0) for key in IDS}
    more = replace(entry, outputs={**entry.outputs, "other": flipped})
    voted = replace(entry, settings="vote of 3 repetitions", outputs={SINGLE: flipped})
    with patch.object(published, "read_manifest", read_manifest):
        for one in (entry, more, voted):
            check_published(tmp_path, [one], (), "score", tmp_path)
        for one in (replace(entry, outputs={SINGLE: flipped}), replace(more, outputs={"other": flipped})):
            with fails_with("published"):
                check_published(tmp_path, [one], (), "score", tmp_path)


def test_a_changed_file_of_predictions_is_named_and_no_change_of_an_entry_advised(tmp_path: Path) -> None:
    publish(tmp_path, RUN, IDS)
    listed = SimpleNamespace(sha256="0" * 64)
    manifest = SimpleNamespace(withheld=False, file=lambda _: listed)
    with patch.object(published, "read_manifest", lambda _: manifest):
        check_published(tmp_path, entries(RUN), (), "score", tmp_path)  # a reveal was stopped before the manifest
        with fails_with("bad-hash"):
            check_published(tmp_path, [], (), "score", tmp_path)
