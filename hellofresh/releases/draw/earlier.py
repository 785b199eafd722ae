"""What other releases have: nothing is asked about twice, what is almost the same is counted, and no release tells of
another one's labels.

That a post is a sample of x-posts tells how readers rated notes on it, and what is revealed of it names them. So no
sample of x-notes, whose labels are still to come, may be on the same post. The task that asks for the decisions comes
first: the other one leaves out the groups of its release of the quarter and of the one before, and it leaves out the
groups that the other one released for earlier quarters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from hellofresh.core.editions import quarters_of
from hellofresh.core.errors import ReleaseError
from hellofresh.core.files import read_jsonl
from hellofresh.core.quarters import Quarter
from hellofresh.core.workspace import Workspace
from hellofresh.releases.draw.duplicates import METHOD, NearDuplicate, near_duplicates
from hellofresh.releases.life.load import Release, load_release, split_of
from hellofresh.releases.life.manifest import EarlierQuarters
from hellofresh.tasks import TASKS, Task
from hellofresh.tasks.samples import MAIN, PROSPECTIVE, Candidate, Sample


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


def groups_apart(workspace: Workspace, quarter: Quarter, task: Task) -> frozenset[str]:
    """Groups that a release of the task must not have.

    Raises:
        ReleaseError: if the tasks were released in the wrong order.
    """
    telling = [name for name, other in TASKS.items() if task.name in other.tells_of]
    if not _is_released(workspace, quarter, task.name):
        for name in filter(lambda name: _is_released(workspace, quarter, name), telling):
            raise _wrong_order(workspace, quarter, first=task.name, second=name)
    released = {name for _, name in workspace.released()}
    for name in task.tells_of:
        # Where the other task is released at all, its release of this quarter comes first, however late its source is.
        expected = name in released or workspace.candidates(name, quarter).is_file()
        if expected and not _is_released(workspace, quarter, name):
            raise _wrong_order(workspace, quarter, first=name, second=task.name)
    asked = frozenset(group for name in task.tells_of for group in _recent(workspace, quarter, name))
    return asked | groups_told_of(workspace, task, before=quarter)


def groups_told_of(workspace: Workspace, task: Task, *, before: Quarter) -> frozenset[str]:
    """Groups whose labels releases of other tasks tell of, of all quarters before this one."""
    return frozenset(
        group
        for edition, name in workspace.released()
        if name in TASKS and task.name in TASKS[name].tells_of and isinstance(edition, Quarter) and edition < before
        for group in _groups(workspace, edition, name)
    )


def _recent(workspace: Workspace, quarter: Quarter, name: str) -> Iterator[str]:
    """Groups of the quarter's release, and of all splits of the quarter before: these may still be open."""
    yield from _groups(workspace, quarter, name)
    yield from _groups(workspace, quarter.previous(), name)
    yield from _groups(workspace, quarter.previous(), name, PROSPECTIVE)


def _groups(workspace: Workspace, quarter: Quarter, name: str, split: str = MAIN) -> Iterator[str]:
    path = workspace.release(quarter, name, split) / "samples.jsonl"
    if path.is_file():
        yield from (str(row["group"]) for row in read_jsonl(path))


def _is_released(workspace: Workspace, quarter: Quarter, name: str) -> bool:
    return (workspace.release(quarter, name) / "manifest.json").is_file()


def _wrong_order(workspace: Workspace, quarter: Quarter, *, first: str, second: str) -> ReleaseError:
    return ReleaseError(
        f"{first} must be released before {second}, whose samples tell of its labels",
        where=str(workspace.release(quarter, second)),
        fix=f"Remove the release of {second} if there is one; then: hellofresh release build --quarter {quarter} "
        f"--task {first}",
        code="wrong-order",
    )
