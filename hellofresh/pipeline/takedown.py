"""Take samples down, and find and erase their texts outside their release."""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hellofresh.core.clock import now
from hellofresh.core.editions import Edition
from hellofresh.core.errors import DataError, HelloFreshError, UsageError
from hellofresh.core.files import canonical_json, read_jsonl, remove_file, sha256_text
from hellofresh.core.quarters import Quarter
from hellofresh.core.stages import Stage
from hellofresh.core.workspace import Workspace
from hellofresh.evidence.web.pictures import PictureCache
from hellofresh.pipeline.steps import Steps, score
from hellofresh.releases.collection import amend_account, read_candidates
from hellofresh.releases.erasure import LEAST, Erasure, find_files
from hellofresh.releases.exposure import Place, places
from hellofresh.releases.life.takedown import TakedownReport, take_down
from hellofresh.releases.publish.folder import publish_to_folder
from hellofresh.results.board.build import build_board
from hellofresh.runs.export import loosen, seal
from hellofresh.runs.journal import Journal
from hellofresh.runs.plan import is_running
from hellofresh.runs.record import RECORD
from hellofresh.tasks import TASKS, Task, get_task
from hellofresh.tasks.images import media_of
from hellofresh.tasks.samples import MAIN, Sample

# Files of a run whose rows about a sample are deleted with it. Predictions stay: they hold verdicts and no text.
_ANSWERS = {"journal.sqlite", "responses.jsonl", "transcripts.jsonl", "traces.jsonl", "errors.jsonl"}
# Files that mark a folder made as a whole by a command, with hashes of all its contents.
_MADE_ANEW = ("publication.json", "hellofresh-export.json")


def take_down_with_pictures(
    workspace: Workspace, edition: Edition, task: Task, reasons: Mapping[str, str], split: str = MAIN
) -> TakedownReport:
    """Delete the samples' pictures from the workspace while the samples still exist, then take the samples down.

    Raises:
        DataError: if the samples or the pictures are damaged.
        UsageError, ReleaseError: as `take_down`.
    """
    if workspace.pictures.is_dir():
        with PictureCache(workspace.pictures) as cache:
            public = workspace.release(edition, task.name, split) / "samples.jsonl"
            for path in (path for path in _sample_files(workspace, edition, task.name, split) if path != public):
                rows = (row for row in read_jsonl(path) if row["id"] in reasons and row.get("media"))
                for line in [canonical_json(row) for row in rows]:
                    cache.forget(media_of(task.parse_sample(line, where=str(path))))
    return take_down(workspace, edition, task, reasons, now(), split=split)


def take_down_all(workspace: Workspace, wanted: Mapping[Place, Mapping[str, str]]) -> list[TakedownReport]:
    """Take down samples in many places, each with its reason; skip places without samples."""
    return [
        take_down_with_pictures(workspace, edition, get_task(task), reasons, split)
        for (edition, task, split), reasons in sorted(wanted.items())
        if reasons
    ]


def score_again(steps: Steps, done: Sequence[TakedownReport], *, everywhere: bool) -> bool:
    """Score again what was scored; returns whether that failed, since a takedown does not wait for it."""
    workspace, failed = steps.workspace, False
    for edition, split in sorted({(item.edition, item.split) for item in done}):
        scored = workspace.is_scored(edition) if split == MAIN else workspace.scores(edition, split).is_file()
        if not scored:
            continue
        try:
            score(steps, edition, split)
        except HelloFreshError as error:
            steps.show.say(f"note: {edition} is not scored again: {error}")
            failed = True
            continue
        more = "" if everywhere else " 'hellofresh board build' brings the board up to date."
        steps.show.say(f"{edition} is scored again.{more}")
    return failed


@dataclass(frozen=True, slots=True)
class Holders:
    """Files that contain a text, submissions with texts about a sample, unreadable files, and samples of which the
    texts are missing.
    """

    holding: tuple[Path, ...]
    answers: tuple[Path, ...]
    unread: tuple[Path, ...]
    unknown: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Everywhere:
    """The search for the texts of some samples.

    Attributes:
        workspace: the workspace to search.
        erasure: the texts to search for.
        submissions: folder of submissions, which is searched but not changed.
        besides: further folders to search.
        unknown: ids of samples whose texts are missing.
    """

    workspace: Workspace
    erasure: Erasure
    submissions: Path
    besides: tuple[Path, ...]
    unknown: tuple[str, ...]

    @classmethod
    def of(cls, workspace: Workspace, ids: frozenset[str], submissions: Path, besides: Sequence[Path]) -> Everywhere:
        """The search for the texts of samples; make it before the takedown, which removes some texts."""
        texts = {sample.id: get_task(sample.task).own_texts(sample) for sample in _full_samples(workspace, ids)}
        unknown = tuple(sorted(ids - texts.keys()))
        erasure = Erasure(tuple(text for some in texts.values() for text in some), ids)
        return cls(workspace, erasure, submissions, tuple(besides), unknown)

    def with_samples(self, others: Mapping[Place, frozenset[str]]) -> Everywhere:
        """This search, extended to clear the rows of other samples."""
        return replace(self, erasure=Erasure(self.erasure.texts, self.erasure.ids.union(*others.values())))

    def refuse_while_a_run_goes_on(self) -> None:
        """Raise UsageError during a run, whose writes while its files are cleared would be lost or restore texts."""
        running = [folder.name for folder in sorted(self.workspace.runs.glob("*")) if is_running(folder)]
        if running:
            fix = "Wait until it is finished, or stop it."
            raise UsageError("a run is still in progress", where=", ".join(running), fix=fix, code="run-goes-on")

    def others(self) -> dict[Place, frozenset[str]]:
        """Other samples of all releases that contain one of the texts or its hash."""
        hashes = [sha256_text(text) for text in self.erasure.texts if len(text) >= LEAST]
        sought = Erasure((*self.erasure.texts, *hashes))
        found: dict[Place, set[str]] = defaultdict(set)
        for edition, task, split in places(self.workspace):
            for path in _sample_files(self.workspace, edition, task, split):
                found[edition, task, split] |= {
                    str(row["id"]) for row in read_jsonl(path) if sought.is_in(canonical_json(row).encode())
                }
        return {place: frozenset(keys - self.erasure.ids) for place, keys in found.items() if keys - self.erasure.ids}

    def erase(self) -> None:
        """Erase rows from all files that allow it and are not rebuilt as a whole.

        Raises:
            WorkspaceError: if a file cannot be cleared.
        """
        for folder in sorted(path.parent for path in self.workspace.runs.glob("*/journal.sqlite")):
            with Journal(folder):  # recovers what a killed process left beside the database
                pass
        # Candidates last: while they have the texts, an interrupted takedown can find them again.
        candidates = self.workspace.root / "candidates"
        files = sorted(self._files(), key=lambda path: path.is_relative_to(candidates))
        root, runs = self.workspace.root, self.workspace.runs
        ratings = self.erasure  # with the ids of responses to the samples, as used by raters
        for name in ("ratings/*/*.key.parquet", "private/ratings/*/*/key.parquet"):
            for path in root.glob(name):
                ratings = ratings.about_responses(path)
        for page in root.glob("private/ratings/*/*/raters/*.html"):
            if ratings.is_named_in(page):  # 'rate serve' rebuilds it from the rest
                remove_file(page)
        # Results depend on ratings, and a run's record counts its predictions: these rows stay, without texts.
        rated = [side / name for side in (root, root / "private") for name in ("ratings", "judgements")]
        lines = [path for path in files if path.suffix in (".jsonl", ".parquet")]
        kept = [
            path for path in lines if _is_below(path, [*rated, *([runs] if path.name == "predictions.jsonl" else [])])
        ]
        for folder in {path.parent for path in files if path.parent.parent == runs and self._is_to_clear(path)}:
            loosen(folder)
        cleared = [path for path in kept if ratings.blank(path)]
        cleared += [path for path in files if self._is_to_clear(path) and self.erasure.erase(path)]
        for record in runs.glob(f"*/{RECORD}"):  # also those of an interrupted takedown
            seal(record.parent)
        tables = {(path.parent.name, path.name[:6]) for path in cleared if path.is_relative_to(candidates)}
        cleared += [amend_account(self.workspace, task, Quarter.parse(name)) for task, name in sorted(tables)]
        Stage.amend_all(self.workspace, [path for path in cleared if path.is_relative_to(self.workspace.root)])

    def _is_to_clear(self, path: Path) -> bool:
        """Whether to clear a file: not in releases (manifests), submissions (receipts), or rebuilt folders."""
        root = self.workspace.root
        boards = (self.workspace.board, self.workspace.private_board)
        kept = [root / "releases", root / "locks", *boards, self.workspace.published, self.submissions]
        if _is_below(path, kept) or any((above / name).is_file() for above in path.parents for name in _MADE_ANEW):
            return False
        in_run = path.is_relative_to(self.workspace.runs) and path.name in _ANSWERS
        return bool((in_run and self.erasure.is_named_in(path)) or self.erasure.is_held_by(path))

    def rebuild(self) -> list[tuple[Path, HelloFreshError]]:
        """Rebuild the workspace's boards and publication, if they exist.

        If rebuilding fails, those with the samples are removed, since this must not wait for sound scores.
        Copies of the site that contain a text are removed, too.

        Returns:
            The removed folders, each with the reason.
        """
        makers: list[tuple[Path, Callable[[], object]]] = [
            (self.workspace.board, lambda: build_board(self.workspace)),
            (self.workspace.private_board, lambda: build_board(self.workspace, private=True)),
            (self.workspace.published, lambda: publish_to_folder(self.workspace, self.workspace.published, now())),
        ]
        removed = []
        for folder, make in makers:
            try:
                if folder.is_dir():
                    make()
            except HelloFreshError as error:
                if any(self.erasure.has_rows_in(path) for path in find_files([folder])):
                    shutil.rmtree(folder)
                    removed.append((folder, error))
        for private in (False, True):  # 'board serve' rebuilds them from the rest
            site = self.workspace.site(private=private)
            if any(self.erasure.is_held_by(path) for path in find_files([site])):
                shutil.rmtree(site)
        return removed

    def holders(self) -> Holders:
        """All files that still contain one of the texts."""
        held = {path: self.erasure.is_held_by(path) for path in self._files()}
        holding = tuple(path for path, found in held.items() if found)
        handed_in = [path for path in held if path.suffix == ".jsonl" and path.is_relative_to(self.submissions)]
        answers = tuple(path for path in handed_in if self.erasure.has_words_in(path))
        return Holders(holding, answers, tuple(path for path, found in held.items() if found is None), self.unknown)

    def _files(self) -> list[Path]:
        return find_files([self.workspace.root, self.submissions, *self.besides])


def _is_below(path: Path, folders: Sequence[Path]) -> bool:
    return any(map(path.is_relative_to, folders))


def _sample_files(workspace: Workspace, edition: Edition, task: str, split: str) -> list[Path]:
    folders = (workspace.release(edition, task, split), workspace.private(edition, task, split))
    filled_in = [workspace.hydrated(edition, task)] if split == MAIN else []
    return [path for path in [*(folder / "samples.jsonl" for folder in folders), *filled_in] if path.is_file()]


def _full_samples(workspace: Workspace, ids: frozenset[str]) -> Iterator[Sample]:
    """The samples with their texts from any place that has them, including samples taken down before."""
    paths = [path for place in places(workspace) for path in _sample_files(workspace, *place)]
    for path in [*paths, *sorted((workspace.root / "candidates").glob("*/*.pending.jsonl"))]:
        for row in read_jsonl(path):
            if row["id"] in ids:
                yield from _parsed(row["id"], canonical_json(row))
    for path in sorted((workspace.root / "candidates").glob("*/????Q?.parquet")):
        if path.parent.name in TASKS:
            task = get_task(path.parent.name)
            yield from (item.sample for item in read_candidates(path, task) if item.sample.id in ids)


def _parsed(key: str, line: str) -> Iterator[Sample]:
    """The sample of a line; nothing if the line has hashes instead of texts."""
    task: Task | None = next((task for task in TASKS.values() if key.startswith(task.id_prefix)), None)
    if task is not None:
        try:
            yield task.parse_sample(line)
        except DataError:
            return
