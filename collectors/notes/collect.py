"""Collect the candidates of one quarter from a dump and its posts, and count every dropped note."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import NamedTuple

import polars as pl

from collectors.notes.bridging import BRIDGED_NOTES, BridgedNote, read_bridging, voter_facts
from collectors.notes.dump_files import files_by_manifest, find_shards, source_files
from collectors.notes.labels import (
    AUTHOR,
    COLLABORATIVE,
    DAY_MS,
    NoteState,
    flag_writers,
    history_columns,
    settle,
    still_open,
    without_older_versions,
)
from collectors.notes.lines import Sieve
from collectors.notes.posts.base import FoundPost, PostStatus
from collectors.notes.posts.local import LocalPosts
from collectors.notes.posts.online import ChainedPosts, Online
from collectors.notes.snapshot import known_hashes
from collectors.notes.tables import (
    ENROLLMENT,
    HISTORY,
    NOTES,
    RATINGS,
    TableReader,
    WantedColumns,
    gathered,
    refuse_conflicts,
)
from collectors.notes.texts import has_page_leftovers, is_foreign, speaks_of_media
from collectors.settings import NotesSettings
from hellofresh.core.errors import SourceError
from hellofresh.core.quarters import PeriodKind, Quarter, utc_text
from hellofresh.releases.candidates import Collection, Funnel
from hellofresh.tasks import x_notes
from hellofresh.tasks.samples import Candidate, Fact, Label

_EPOCH = datetime.fromtimestamp(0, UTC)
_NOTE_COLUMNS = WantedColumns(("noteId", "createdAtMillis"), ("tweetId",), ("summary",), extra=(AUTHOR, COLLABORATIVE))
_BUCKET, _SAMPLED = "ratingSourceBucketed", "POPULATION_SAMPLED"
_FEW_MISSING, _TOLERATED = 5, 0.01  # notes without a row in the other table
_RATING_COLUMNS = WantedColumns(("noteId",), texts=("raterParticipantId",), extra=(_BUCKET,))


@dataclass(frozen=True, slots=True)
class NotesSource:
    """The sources of the rows.

    Attributes:
        dump: folder with the dump's tables, flat or in the published subfolders.
        posts: JSONL of posts; None for `posts.jsonl` in the dump's folder, or for no file if services are queried.
        online: services to query for posts missing from the file.
        bridging: tables of the ratings' results: they select x-posts, and give facts for labels of notes.
    """

    dump: Path
    posts: Path | None = None
    online: Online | None = None
    bridging: tuple[Path, ...] = ()

    def bridging_of(self, quarter: Quarter) -> list[Path]:
        """The existing tables of notes written in the quarter."""
        return [path for path in self.bridging if path.stem == str(quarter)]

    def open_posts(self, progress: Callable[[str], None] | None = None) -> LocalPosts | ChainedPosts:
        """The posts' file and services as one source of posts; raises SourceError if a required file is missing."""
        files = [LocalPosts(path) for path in self.post_files()]
        if self.online is None:
            return files[0]
        return ChainedPosts(self.online, *files, progress=progress)

    def post_files(self) -> list[Path]:
        """The files of posts: one, or none if only services are queried.

        Raises:
            SourceError: if a required file is missing.
        """
        if self.online is not None and self.posts is None:
            return []
        path = self.posts or self.dump / "posts.jsonl"
        if not path.is_file():
            raise SourceError(
                "no file of posts",
                where=str(path),
                expected="one post a line, with id_str, or as X's API v2 gives it",
                fix="The dump holds no post texts: name a file of posts with --posts FILE, "
                "put posts.jsonl in the dump's folder, or ask services with --posts-from.",
                code="missing-posts",
            )
        return [path]

    def as_parameters(self) -> dict[str, object]:
        """JSON-ready, for the manifest: the services queried; empty if none."""
        return {} if self.online is None else {"posts_from": self.online.names}

    def files(self) -> list[Path]:
        """Every file that a collection reads.

        Raises:
            SourceError: if shards or posts are missing.
            WorkspaceError: if the dump is not a readable folder.
        """
        tables = (NOTES, HISTORY, ENROLLMENT, RATINGS)
        shards = [shard.path for table in tables for shard in find_shards(self.dump, table.stem, table.subfolder)]
        return [*shards, *self.post_files()]


_ONLY_IF_ANY = frozenset({"older-version", PostStatus.NOT_ASKED, PostStatus.NO_MEDIA, PostStatus.UNKNOWN_MEDIA})
REASONS: Mapping[str, str] = {
    "other-quarter": "written outside the quarter (UTC)",
    "older-version": "another version of the collaborative note counts: the last decided one on the post, or the last",
    NoteState.NO_STATUS: "no row in the status history",
    NoteState.NOT_LOCKED: "status not locked yet, or, with current statuses, note too young",
    NoteState.UNDECIDED: "readers did not agree: needs more ratings",
    "ai-writer": "written or drafted by a machine, where only people's notes are asked for",
    "empty-text": "note without text",
    "no-post": "the note's row names no post",
    PostStatus.UNAVAILABLE: "post not in the source of posts, or no longer there",
    PostStatus.DELETED: "post deleted",
    PostStatus.SUSPENDED: "account of the post suspended",
    PostStatus.PROTECTED: "account of the post protected",
    PostStatus.AGE_RESTRICTED: "post for adults only",
    PostStatus.ERROR: "source of posts failed on this post",
    PostStatus.NOT_ASKED: "post that no service was asked for",
    PostStatus.NOT_ENGLISH: "post in a language that is not asked for",
    PostStatus.MEDIA: "post with photo, video or animated image",
    PostStatus.NO_MEDIA: "post without photo, video or animated image",
    PostStatus.UNKNOWN_MEDIA: "post whose photos and videos its source does not name",
    PostStatus.QUOTED_MEDIA: "quoted post with photo, video or animated image",
    PostStatus.TRUNCATED: "only the beginning of the post's text known",
    "post-language": "text of the post in another language than its source says",
    "note-language": "note in a language that is not asked for",
    "page-leftovers": "words of a web page in the post's text, from a source that says nothing of media",
    "missing-media": "post that shows that it had a photo or video, from a source that says nothing of media",
    "too-long": "post and note together too long",
}


class NoteRow(NamedTuple):
    """A note with its label and known properties; times are in ms."""

    note_id: int
    created_ms: int
    post_id: int | None
    text: str
    label: int | None
    locked_ms: int | None
    shown_ms: int | None
    decided_by: str | None
    ai_writer: bool | None
    collaborative: bool | None


def collect(
    quarter: Quarter,
    source: NotesSource,
    settings: NotesSettings,
    *,
    workdir: Path,
    workdir_name: str | None = None,
    progress: Callable[[str], None] | None = None,
    pending: bool = False,
    illustrated: bool = False,
) -> Collection:
    """Collect the quarter's decided notes with their posts.

    Args:
        quarter: of the note's creation, UTC.
        source: the dump and the posts.
        workdir: folder for unreadable lines; it belongs to the raw data.
        workdir_name: the folder's name in warnings; None for its path, empty if it is temporary.
        progress: called with a sentence for every file.
        pending: also collect undecided notes.
        illustrated: collect notes on posts with media, for x-notes-media, instead of those on posts without.

    Raises:
        SourceError: if a table, a column or the posts are missing, or a file has unexpected contents.
        WorkspaceError: if the dump is not a readable folder or the work folder cannot be written.
    """
    reader = TableReader(source.dump, workdir, settings.allow_missing_columns, progress, workdir_name)
    gathering = Gathering(
        quarter, settings, reader, source.open_posts(progress), pending=pending, illustrated=illustrated
    )
    return gathering.collection(source)


class Gathering:
    """The state of one collection: each step narrows the notes and counts what it drops."""

    def __init__(
        self,
        quarter: Quarter,
        settings: NotesSettings,
        reader: TableReader,
        posts: LocalPosts | ChainedPosts,
        *,
        pending: bool = False,
        illustrated: bool = False,
    ) -> None:
        self.quarter, self.settings, self.reader, self.posts = quarter, settings, reader, posts
        self.illustrated = illustrated
        self.drops: Counter[str] = Counter()
        self.context: dict[str, int] = {}
        self.notes_in = 0
        self.kept: list[tuple[NoteRow, FoundPost]] = []
        self.votes: Mapping[int, int] | None = None
        self.sampled_votes: Mapping[int, int] | None = None
        self.waiting: list[x_notes.Note] | None = [] if pending else None
        self.bridged: Mapping[str, BridgedNote] = {}

    def collection(self, source: NotesSource) -> Collection:
        """Run the whole collection, from reading to the funnel."""
        scored = self.read_bridging(source)
        files = source_files([*source.files(), *scored], known_hashes(source.dump))
        self.run()
        candidates = self.candidates()
        return Collection(
            candidates=candidates,
            funnel=self.funnel(candidates),
            parameters=self.settings.as_parameters() | source.as_parameters() | self.chosen,
            sources=files,
            warnings=[*self.reader.warnings, *self.posts.warnings, *self.remarks()],
            pending=self.waiting,
        )

    def read_bridging(self, source: NotesSource) -> list[Path]:
        """Read the ratings' results for the quarter's notes; returns the files read."""
        files = source.bridging_of(self.quarter)
        for path in files:
            self.bridged = {note.note: note for note in BRIDGED_NOTES.rows(read_bridging(path))}
        return files

    @property
    def chosen(self) -> dict[str, object]:
        """Entries of the manifest besides the settings."""
        return {"votes": self.votes is not None}

    def run(self) -> None:
        """Read, label, match with posts, count votes."""
        states = self._states(*self._quarter_notes())
        decided = pl.col("state") == NoteState.DECIDED.value
        self.drops.update(states.filter(~decided)["state"].to_list())
        self._match(self._readable(self._by_people(states.filter(decided))))
        self._count_votes()

    @property
    def inside(self) -> pl.Expr:
        """Selects notes written in the quarter."""
        return self.within(pl.col("createdAtMillis"))

    def within(self, column: pl.Expr) -> pl.Expr:
        """Whether a time (ms) is in the quarter."""
        start, end = (_epoch_ms(moment) for moment in (self.quarter.start, self.quarter.end))
        return (column >= start) & (column < end)

    def _quarter_notes(self) -> tuple[pl.DataFrame, int]:
        """The quarter's notes, and the creation time of the dump's newest note (ms)."""
        ids, inside = [_NO_KEYS.select("noteId")], [pl.DataFrame(schema=_NOTE_COLUMNS.schema)]
        newest = 0
        for frame in self.reader.frames(NOTES, _NOTE_COLUMNS):
            ids.append(frame.select("noteId"))
            inside.append(frame.filter(self.inside))
            newest = max([newest, *frame["createdAtMillis"].top_k(1)])  # a frame may be empty
        keys = pl.concat(ids)
        if keys["noteId"].n_unique() < keys.height:  # rare: a second reading costs less than hashing all contents
            frames = self._quiet_reader().frames(NOTES, _NOTE_COLUMNS)
            content = pl.struct(_NOTE_COLUMNS.names).hash(seed=0).alias("content")
            keys = pl.concat([_NO_KEYS, *(frame.select("noteId", content) for frame in frames)])
        self.notes_in = self._without_repeats(keys, NOTES.title).height
        notes = pl.concat(inside).unique(maintain_order=True)
        self.drops["other-quarter"] = self.notes_in - notes.height
        if not (self.settings.accept_partial or files_by_manifest(self.reader.dump, NOTES.subfolder)):
            self._refuse_partial(keys.select("noteId").unique(), notes.select("noteId"))
        return notes.sort("noteId"), newest

    def _refuse_partial(self, known: pl.DataFrame, notes: pl.DataFrame) -> None:
        """Refuse a dump that seems to lack shards if it has no list of its files.

        Args:
            known: ids of all notes.
            notes: ids of the quarter's.
        """
        created = pl.col("createdAtMillis").cast(pl.Int64, strict=False)
        columns = WantedColumns(("noteId",), extra=("createdAtMillis",))
        frames = self._quiet_reader().frames(HISTORY, columns)
        rows = pl.concat([pl.DataFrame(schema=columns.schema), *frames]).unique("noteId")
        written = rows.filter(self.within(created))
        for table, other, have, want in ((NOTES, HISTORY, known, written), (HISTORY, NOTES, rows, notes)):
            missing = want.join(have, on="noteId", how="anti").height
            if missing > max(_FEW_MISSING, _TOLERATED * want.height):
                raise SourceError(
                    f"{missing} of {want.height} notes of the table {other.stem} are not in the table {table.stem}",
                    where=str(self.reader.dump),
                    expected="at most 1%; more is how a dump looks that lacks a shard",
                    fix=f"Compare the files {table.stem}-*.zip with the source's. If they are all there "
                    "(the history keeps deleted notes), pass --accept-partial.",
                    code="missing-shard",
                )

    def _quiet_reader(self) -> TableReader:
        """A reader of the same dump whose counts and warnings are discarded."""
        return replace(self.reader, progress=None, warnings=[], rows={}, rejected={})

    def _without_repeats(self, rows: pl.DataFrame, title: str) -> pl.DataFrame:
        """The rows without exact repetitions of a note's row; two different rows on a note are an error."""
        different = rows if rows["noteId"].n_unique() == rows.height else rows.unique()
        repeated = rows.height - different.height
        self.context[f"repeated rows of the {title}"] = repeated
        if repeated:
            self.reader.warnings.append(f"{title}: {repeated} rows are exact repetitions; each note counted once.")
        refuse_conflicts(different, title)
        return different

    def _states(self, notes: pl.DataFrame, newest_ms: int) -> pl.DataFrame:
        """The notes with their states from the status history."""
        columns = history_columns(self.settings.label_source, pending=self.waiting is not None)
        ids = notes.select("noteId")
        rows = [pl.DataFrame(schema=columns.schema)]
        frames = self.reader.frames(HISTORY, columns, Sieve(ids["noteId"]))
        rows += [frame.join(ids, on="noteId", how="semi") for frame in gathered(frames)]
        history = self._without_repeats(pl.concat(rows), HISTORY.title)
        end_ms = _epoch_ms(self.settings.dump_end) if self.settings.dump_end else newest_ms
        youngest = end_ms - self.settings.min_age_days * DAY_MS
        every = settle(notes, history, self.settings.label_source, youngest)
        states = without_older_versions(every)
        self.drops["older-version"] = every.height - states.height
        if self.waiting is not None:
            self.waiting = self._waiting(still_open(history, states))
        return states

    def _waiting(self, undecided: pl.DataFrame) -> list[x_notes.Note]:
        """Undecided notes that pass all filters; drops among them are not counted."""
        reader = self._quiet_reader()
        aside = Gathering(self.quarter, self.settings, reader, self.posts, illustrated=self.illustrated)
        aside._match(aside._readable(aside._by_people(undecided)))
        return [aside._sample(note, post) for note, post in sorted(aside.kept, key=lambda pair: pair[0].note_id)]

    def _by_people(self, decided: pl.DataFrame) -> pl.DataFrame:
        """Add facts on writers; drop notes by others than people if only people's notes are requested."""
        flagged = flag_writers(decided, self.reader, required=self.settings.human_only)
        for column, title in (("ai_writer", "notes by AI writers"), ("collaborative", "collaborative notes")):
            if flagged.height and flagged[column].null_count() < flagged.height:
                self.context[f"decided {title}"] = int(flagged[column].fill_null(False).sum())
        if not self.settings.human_only:
            return flagged
        people = flagged.filter(~pl.any_horizontal(pl.col("ai_writer", "collaborative").fill_null(False)))
        self.drops["ai-writer"] = flagged.height - people.height
        return people

    def _readable(self, decided: pl.DataFrame) -> list[NoteRow]:
        columns = ("noteId", "createdAtMillis", "tweetId", "summary", *NoteRow._fields[4:])
        rows = [NoteRow(*row) for row in decided.select(columns).iter_rows()]
        if quoted := sum(len(row.text) > 1 and row.text[0] == row.text[-1] == '"' for row in rows):
            self.reader.warnings.append(
                f"{NOTES.title}: {quoted} of {len(rows)} texts stand in quotation marks, as another program saves "
                "a table. The dump quotes nothing: take the file from its source."
            )
        rows = [row._replace(text=html.unescape(row.text)) for row in rows]
        kept = [row for row in rows if row.text.strip()]
        self.drops["empty-text"] = len(rows) - len(kept)
        on_posts = [row for row in kept if row.post_id is not None and row.post_id > 0]
        self.drops["no-post"] = len(kept) - len(on_posts)
        return on_posts

    def _match(self, notes: list[NoteRow]) -> None:
        found = self.posts.find({str(note.post_id) for note in notes})
        for note in notes:
            post = found[str(note.post_id)]
            reason = self._fault(post, (note,), illustrated=self.illustrated)
            if reason is None:
                self.kept.append((note, post))
            else:
                self.drops[reason] += 1

    def _fault(self, post: FoundPost, notes: Sequence[NoteRow], *, illustrated: bool) -> str | None:
        """The reason to drop a post with these notes, or None; `illustrated` requires media or none."""
        settings = self.settings
        status = post.status(settings.languages, illustrated=illustrated)
        if status is not PostStatus.OK:
            return status
        if is_foreign(post.text, settings.languages):
            return "post-language"
        if any(is_foreign(note.text, settings.languages) for note in notes):
            return "note-language"
        length = len(post.text) + max(len(note.text) for note in notes)
        # Signs of an incomplete post from a source that does not report media.
        doubtful = post.silent and not settings.keep_incomplete
        if doubtful and has_page_leftovers(post.text):
            return "page-leftovers"
        if doubtful and speaks_of_media(post.text):
            return "missing-media"
        return "too-long" if length > settings.max_characters else None

    def _count_votes(self) -> None:
        """Count distinct raters of each kept note, and those of them sampled by X; only their hashes are held."""
        if not self.reader.has(RATINGS):
            return
        ids = pl.DataFrame({"noteId": [note.note_id for note, _ in self.kept]}, schema={"noteId": pl.Int64})
        pairs = [_NO_KEYS.with_columns(bucket=pl.lit(""))]
        for frame in gathered(self.reader.frames(RATINGS, _RATING_COLUMNS, Sieve(ids["noteId"]))):
            mine = frame.join(ids, on="noteId", how="semi")
            pairs.append(
                mine.select("noteId", pl.col("raterParticipantId").hash(seed=0).alias("content"), bucket=_BUCKET)
            )
        all_pairs = pl.concat(pairs)
        sampled = (pl.col("bucket") == _SAMPLED).any().alias("sampled")
        votes = all_pairs.group_by("noteId", "content").agg(sampled)
        self.context["repeated ratings of kept notes"] = all_pairs.height - votes.height
        self.votes = dict(votes.group_by("noteId").len().rows())
        if (all_pairs["bucket"] != "").any():
            self.sampled_votes = dict(votes.group_by("noteId").agg(pl.col("sampled").sum()).rows())

    def candidates(self) -> list[Candidate]:
        """The kept notes, sorted by note id."""
        return [self._candidate(note, post) for note, post in sorted(self.kept, key=lambda pair: pair[0].note_id)]

    def _sample(self, note: NoteRow, post: FoundPost) -> x_notes.Note:
        created = second_of(note.created_ms)
        task = x_notes.MEDIA_TASK if self.illustrated else x_notes.TASK
        make = partial(x_notes.IllustratedNote, media=post.pictures) if self.illustrated else x_notes.Note
        return make(
            id=f"{task.id_prefix}{note.note_id}",
            task=task.name,
            edition=str(self.quarter),
            period=PeriodKind.MONTH.of(created),
            date=created,
            group=f"x-{post.id}",
            license=x_notes.LICENSE,
            post=released_post(post),
            note=x_notes.NoteText(str(note.note_id), created, note.text),
        )

    def _candidate(self, note: NoteRow, post: FoundPost) -> Candidate:
        sample = self._sample(note, post)
        if note.label is None:
            raise ValueError(f"{sample.id} has no label")
        facts: dict[str, Fact] = {
            "ratings": None if self.votes is None else self.votes.get(note.note_id, 0),
            "sampled_ratings": None if self.sampled_votes is None else self.sampled_votes.get(note.note_id, 0),
            "status_locked_at": time_text(note.locked_ms),
            "decided_by": note.decided_by,
            "ai_writer": note.ai_writer,
            "collaborative": note.collaborative,
            **voter_facts(self.bridged.get(str(note.note_id)), note.label),
        }
        extras = {} if note.shown_ms is None else {"first_shown_at": time_text(note.shown_ms)}
        return Candidate(sample, Label(sample.id, note.label, facts), extras)

    def remarks(self) -> list[str]:
        """Advice if nothing was kept."""
        if self.kept:
            return []
        in_quarter = self.notes_in - self.drops["other-quarter"]
        if in_quarter and self.drops[NoteState.NOT_LOCKED] == in_quarter:
            return [f"No status of {self.quarter} is locked: take a later dump, or pass --label-source current."]
        return [f"No note of {self.quarter} was kept; the counts of dropped notes say why."]

    def funnel(self, candidates: Iterable[Candidate]) -> Funnel:
        """Every note of the dump, dropped or kept."""
        rows = {f"rows of the {title}": count for title, count in self.reader.rows.items()}
        rejected = {f"unreadable lines of the {title}": count for title, count in self.reader.rejected.items()}
        context = rows | rejected | self.context
        return Funnel.of(
            "notes",
            self.notes_in,
            self.drops,
            REASONS,
            candidates=candidates,
            context=context,
            only_if_any=_ONLY_IF_ANY,
        )


_NO_KEYS = pl.DataFrame(schema={"noteId": pl.Int64, "content": pl.UInt64})


def _epoch_ms(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def second_of(epoch_ms: int) -> datetime:
    """The time rounded down to seconds: samples store seconds, and must read back equal."""
    return _EPOCH + timedelta(seconds=epoch_ms // 1000)


def released_post(post: FoundPost) -> x_notes.Post:
    """The part of a post that samples contain."""
    if post.date is None:
        raise SourceError("a post with text and without date", where=f"post {post.id}", code="bad-post")
    return x_notes.Post(post.id, post.date.replace(microsecond=0), post.text)


def time_text(locked_ms: int | None) -> str | None:
    if locked_ms is None or locked_ms < 0:
        return None
    return utc_text(second_of(locked_ms))
