"""What earlier quarters have released: nothing is asked about twice, and what is almost the same is counted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from hellofresh.core.editions import quarters_of
from hellofresh.core.quarters import Quarter
from hellofresh.core.workspace import Workspace
from hellofresh.releases.draw.duplicates import METHOD, NearDuplicate, near_duplicates
from hellofresh.releases.life.load import Release, load_release, split_of
from hellofresh.releases.life.manifest import EarlierQuarters
from hellofresh.tasks import Task
from hellofresh.tasks.samples import Candidate, Sample

__all__ = ["Earlier", "EarlierComparison", "compare", "without_earlier"]


@dataclass(frozen=True, slots=True)
class EarlierComparison:
    """How a release compares with those of earlier quarters.

    Attributes:
        quarters: the earlier quarters.
        compared: samples of theirs whose texts are at hand.
        repeated: candidates that were left out because an earlier quarter has them.
        samples: samples of this release.
        near: near-duplicates of earlier samples among them, by id.
    """

    quarters: Sequence[str]
    compared: int
    repeated: int
    samples: int
    near: Mapping[str, NearDuplicate] = field(default_factory=dict)

    def facts(self) -> EarlierQuarters:
        """What the manifest says of it: numbers, no ids."""
        return EarlierQuarters(
            quarters=tuple(self.quarters),
            samples_with_texts=self.compared,
            repeated_left_out=self.repeated,
            near_duplicates=len(self.near),
            near_duplicates_share=len(self.near) / self.samples if self.samples else 0.0,
            method=METHOD,
        )


@dataclass(frozen=True, slots=True)
class Earlier:
    """The releases of a task before a quarter, of sources of the same kind (the bundled sample stands apart).

    Attributes:
        workspace: where they are.
        task: the task.
        splits: by quarter, the hash that names the split; a sample that is taken down later does not change it.
    """

    workspace: Workspace
    task: Task
    splits: Mapping[Quarter, str]

    @classmethod
    def of(cls, workspace: Workspace, quarter: Quarter, task: Task, *, bundled: bool) -> Earlier:
        """Find them.

        Raises:
            DataError: if the manifest of one of them is damaged.
        """
        known = quarters_of(found for found, name in workspace.released() if name == task.name)
        before = [found for found in known if found < quarter]
        splits = {found: split_of(workspace, found, task) for found in before}
        return cls(workspace, task, {key: sha256 for key, (sha256, kind) in splits.items() if kind == bundled})

    def key(self) -> dict[str, object]:
        """What identifies them."""
        return {str(quarter): sha256 for quarter, sha256 in self.splits.items()}

    def read(self) -> list[Release]:
        """Read them.

        Raises:
            DataError: if one of them is damaged.
        """
        return [load_release(self.workspace, quarter, self.task) for quarter in self.splits]


def without_earlier(candidates: Iterable[Candidate], earlier: Sequence[Release]) -> tuple[list[Candidate], int]:
    """The candidates that no earlier quarter has, and the number of the others."""
    known = {sample.id for release in earlier for sample in release.samples}
    known |= {key for release in earlier for key in release.taken_down}
    every = list(candidates)
    fresh = [item for item in every if item.sample.id not in known]
    return fresh, len(every) - len(fresh)


def compare(task: Task, samples: Sequence[Sample], earlier: Sequence[Release], repeated: int) -> EarlierComparison:
    """Look for near-duplicates of earlier samples; `repeated` candidates were left out before."""
    texts = {
        sample.id: task.text(sample)
        for release in earlier
        for sample in release.samples
        if sample.id not in release.without_texts
    }
    near = near_duplicates({sample.id: task.text(sample) for sample in samples}, texts)
    return EarlierComparison([str(release.edition) for release in earlier], len(texts), repeated, len(samples), near)
