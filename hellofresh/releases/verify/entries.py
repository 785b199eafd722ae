"""What predictions and scores say of an entry: who made it, what it is, and which prompt stands for it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from hellofresh.releases.draw.prospective import PROSPECTIVE
from hellofresh.releases.verify.content import Answers, Content, EntryName, ScoreRow
from hellofresh.releases.verify.files import CheckedManifest

__all__ = ["Descriptions", "Handover", "handed_in_faults", "headline_of", "vote_faults"]

_MAJORITY, _SINGLE = "majority", "single"
_OURS = "HelloFresh"
_BUNDLED = "bundled-sample"
_FLAGGED = "Flagged: "


@dataclass(frozen=True, slots=True)
class Handover:
    """A submission that counts, as it was handed in before the deadline by its receipt.

    Attributes:
        system, team, regime, knowledge_cutoff, notes: what it says of itself.
        labels: what it says of each sample.
    """

    system: str
    team: str
    regime: str
    knowledge_cutoff: str
    notes: str
    labels: Mapping[str, int | None] = field(repr=False)


def headline_of(prompts: set[str]) -> str:
    """The prompt that stands for an entry: the vote of all, else the only one; nothing where there is none such."""
    return _MAJORITY if _MAJORITY in prompts else next(iter(prompts)) if len(prompts) == 1 else ""


@dataclass(slots=True)
class Descriptions:
    """What the scores say of entries, row by row; each entry must be described in one way, and in one that can be.

    Attributes:
        manifest, content: the release.
        prompts: of each entry, those that it made predictions with.
        seen: the first row of each entry.
    """

    manifest: CheckedManifest
    content: Content
    prompts: Mapping[str, set[str]]
    seen: dict[str, ScoreRow] = field(default_factory=dict)

    @classmethod
    def of(cls, manifest: CheckedManifest, content: Content) -> Descriptions:
        """For the entries of a release."""
        prompts: dict[str, set[str]] = defaultdict(set)
        for entry, prompt in content.predictions:
            prompts[entry].add(prompt)
        return cls(manifest, content, prompts)

    def faults(self, row: ScoreRow) -> Iterator[str]:
        """What is wrong with how a score describes its entry."""
        if row.headline != (row.prompt == headline_of(self.prompts[row.origin])):
            yield "headline is not true of the prompt that stands for the entry, and of no other"
        if row.bundled != (self.manifest.source == _BUNDLED):
            yield "bundled is not what the manifest says of the source"
        if row.origin not in self.seen:
            self.seen[row.origin] = row
            yield from self._impossible(row)
        elif _described(self.seen[row.origin]) != _described(row):
            yield "kind, about, smoke_test, knowledge_cutoff or settings are not those of the entry's other scores"

    def _impossible(self, row: ScoreRow) -> Iterator[str]:
        """What cannot be said of an entry of its kind."""
        prompts = self.prompts[row.origin]
        handed_in = row.kind == "submission"
        lane = PROSPECTIVE if self.manifest.split == PROSPECTIVE else "submitted" if handed_in else "harness"
        if row.lane != lane:
            yield f"an entry of the kind {row.kind[:40]!r} belongs to the lane {lane}, not to {row.lane[:40]!r}"
        if handed_in != (row.origin.count("/") == 1):
            yield "a submission is named by its folders, TEAM/SYSTEM, and nothing else is"
        match row.kind:
            case "submission":
                possible = prompts == {_SINGLE} and not row.smoke_test
            case "baseline":
                possible = prompts == {_SINGLE} and row.regime == "none" and row.team == _OURS
            case "language-model":
                possible = _MAJORITY in prompts and row.regime != "none" and row.team == _OURS
            case _:
                possible = False
        if not possible:
            yield f"team, regime, prompts or smoke_test are not those of an entry of the kind {row.kind[:40]!r}"


def _described(row: ScoreRow) -> tuple[str, str, bool, str, str]:
    return row.kind, row.about, row.smoke_test, row.knowledge_cutoff, row.settings


def vote_faults(content: Content) -> Iterator[str]:
    """Majority votes that are not those of the prompts: the class with most votes, none where there is no one such.

    The vote is over the samples that every prompt was asked.
    """
    by_entry: dict[str, dict[str, Answers]] = defaultdict(dict)
    for (entry, prompt), said in content.predictions.items():
        by_entry[entry][prompt] = said
    for entry, prompts in by_entry.items():
        vote = prompts.pop(_MAJORITY, None)
        if vote is not None and not _is_vote(vote, list(prompts.values()), content.classes):
            yield f"{entry[:80]!r}: the majority is not that of its prompts"


def _is_vote(vote: Answers, prompts: Sequence[Answers], classes: int) -> bool:
    if not prompts:
        return False
    asked, which, times = np.unique(
        np.concatenate([said.positions for said in prompts]), return_inverse=True, return_counts=True
    )
    answers = np.concatenate([said.answers for said in prompts])
    votes = np.stack([np.bincount(which, weights=answers == label, minlength=asked.size) for label in range(classes)])
    ordered, by_all = np.sort(votes, axis=0), times == len(prompts)
    outcome = np.where(ordered[-1] > ordered[-2], votes.argmax(axis=0), -1)[by_all]
    return np.array_equal(vote.positions, asked[by_all]) and np.array_equal(vote.answers, outcome)


def handed_in_faults(content: Content, descriptions: Descriptions, handed_in: Mapping[str, Handover]) -> Iterator[str]:
    """Entries that are not what was handed in, and what was handed in and is no entry."""
    published = {entry for entry, row in descriptions.seen.items() if row.kind == "submission"}
    missing = sorted(handed_in.keys() - published)
    yield from (f"{entry[:80]} was handed in and is not among the predictions" for entry in missing)
    for entry in sorted(published):
        if entry not in handed_in:
            yield f"{entry[:80]} has no receipt for what it says"
            continue
        given, row = handed_in[entry], descriptions.seen[entry]
        named = EntryName(given.system, given.team, row.lane, given.regime)
        if content.entries[entry] != named or row.knowledge_cutoff != given.knowledge_cutoff:
            yield f"{entry[:80]}: system, team, regime or knowledge_cutoff are not those that were handed in"
        more = row.about.removeprefix(given.notes).strip()
        if not row.about.startswith(given.notes) or not (more + _FLAGGED).startswith(_FLAGGED):
            yield f"{entry[:80]}: about is not the notes that were handed in, with what the entry is flagged for"
        if not _same_answers(content, entry, given):
            yield f"{entry[:80]}: the predictions are not those that were handed in"


def _same_answers(content: Content, entry: str, given: Handover) -> bool:
    said = content.predictions[entry, _SINGLE] if (entry, _SINGLE) in content.predictions else Answers()
    wanted = {place: given.labels[key] for key, place in content.places.items() if key in given.labels}
    judged = {place: label for place, label in wanted.items() if content.judged[place]}
    found = {place: None if label < 0 else label for place, label in zip(said.at, said.labels, strict=True)}
    return found == judged
