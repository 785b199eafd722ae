"""Collect the candidates of one quarter from a dump and its posts, and count every dropped note."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import polars as pl

from collectors.notes.bridged import BRIDGED_NOTES, BridgedNote, read_bridging, voter_facts
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
_Row = TypeVar("_Row")
_NOTE_COLUMNS = WantedColumns(("noteId", "createdAtMillis"), ("tweetId",), ("summary",), extra=(AUTHOR, COLLABORATIVE))
_BUCKET, _SAMPLED = "ratingSourceBucketed", "POPULATION_SAMPLED"
_FEW_MISSING, _TOLERATED = 5, 0.01  # notes without a row in the other table
_RATING_COLUMNS = WantedColumns(("noteId",), texts=("raterParticipantId",), extra=(_BUCKET,))
_NO_KEYS = pl.DataFrame(schema={"noteId": pl.Int64, "content": pl.UInt64})
_IDS = (1_345_000_000_000_000_000, 4_000_000_000_000_000_000)  # of 2021, when notes began, to 2040; others are not X's
# When an id was made (https://en.wikipedia.org/wiki/Snowflake_ID), in ms.
_ID_MS = (pl.col("noteId") // 2**22) + 1_288_834_974_657
_WHEN_WRITTEN = pl.col("createdAtMillis").is_between(_ID_MS - DAY_MS, _ID_MS + DAY_MS)
_CONTRADICTS_ID = pl.col("noteId").is_between(*_IDS) & ~_WHEN_WRITTEN
_LATEST_LOCK_MS = 3 * 365 * DAY_MS  # after the newest note: notes of 2021 were locked late, but none decades later
_ONLY_IF_ANY = frozenset(
    {"older-version", NoteState.BAD_TIME, PostStatus.NOT_ASKED, PostStatus.NO_MEDIA, PostStatus.UNKNOWN_MEDIA}
)
REASONS: Mapping[str, str] = {
    "other-quarter": "written outside the quarter (UTC)",
    "older-version": "another version of the collaborative note counts: the last decided one on the post, or the last",
    NoteState.NO_STATUS: "no row in the status history",
    NoteState.NOT_LOCKED: "status not locked yet, or, with current statuses, note too young",
    NoteState.UNDECIDED: "readers did not agree: needs more ratings",
    NoteState.BAD_TIME: "written at a time other than its id says, or locked at an impossible time",
    "ai-writer": "written or drafted by a machine, where only people's notes are requested",
    "empty-text": "note without text",
    "no-post": "the note's row names no post",
    PostStatus.UNAVAILABLE: "post not in the source of posts, or no longer there",
    PostStatus.DELETED: "post deleted",
    PostStatus.SUSPENDED: "account of the post suspended",
    PostStatus.PROTECTED: "account of the post protected",
    PostStatus.AGE_RESTRICTED: "post for adults only",
    PostStatus.ERROR: "source of posts failed on this post",
    PostStatus.NOT_ASKED: "post that was requested from no service",
    PostStatus.NOT_ENGLISH: "post in a language that was not requested",
    PostStatus.MEDIA: "post with photo, video or animated image",
    PostStatus.NO_MEDIA: "post without photo, video or animated image",
    PostStatus.UNKNOWN_MEDIA: "post whose source does not name its photos and videos",
    PostStatus.QUOTED_MEDIA: "quoted post with photo, video or animated image",
    PostStatus.TRUNCATED: "only the beginning of the post's text known",
    "post-language": "text of the post in a language other than its source says",
    "note-language": "note in a language that was not requested",
    "page-leftovers": "words of a web page in the post's text, from a source that says nothing of media",
    "missing-media": "post that shows that it had a photo or video, from a source that says nothing of media",
    "too-long": "post and note together too long",
}


def _epoch_ms(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class NotesSource:
    """The sources of the rows.

    Attributes:
        dump: folder with the dump's tables, flat or in the published subfolders.
        posts: JSONL of posts; None for `posts.jsonl` in the dump's folder, or for no file if services are queried.
        online: services to query for posts missing from the file.
        bridging: tables of the ratings' results: they select x-posts, and give facts for labels of notes.
        columns: names that columns of this dump have now, by their usual names.
    """

    dump: Path
    posts: Path | None = None
    online: Online | None = None
    bridging: tuple[Path, ...] = ()
    columns: Mapping[str, str] = field(default_factory=dict)

    @property
    def aliases(self) -> dict[str, str]:
        """The usual names of columns, by those of this dump."""
        return {new: usual for usual, new in self.columns.items()}

    def reader(self, workdir: Path, **more: Any) -> TableReader:
        """A reader of the dump's tables."""
        return TableReader(self.dump, workdir, aliases=self.aliases, **more)

    def check_columns(self, settings: NotesSettings) -> None:
        """Raise SourceError if a table that labels need lacks a column, before anything is collected."""
        reader = self.reader(self.dump, allow_missing_columns=settings.allow_missing_columns)
        reader.check(NOTES, _NOTE_COLUMNS)
        reader.check(HISTORY, history_columns(settings.label_source))

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
                expected="one post per line, with id_str, or in the form of X's API v2",
                fix="The dump holds no post texts: name a file of posts with --posts FILE, "
                "put posts.jsonl in the dump's folder, or ask services with --posts-from.",
                code="missing-posts",
            )
        return [path]

    def as_parameters(self) -> dict[str, object]:
        """JSON-ready, for the manifest: the service queried, if any, and renamed columns."""
        said: dict[str, object] = {} if self.online is None else {"posts_from": [self.online.service.name]}
        return said | ({"columns": dict(self.columns)} if self.columns else {})

    def files(self) -> list[Path]:
        """Every file that a collection reads.

        Raises:
            SourceError: if shards or posts are missing.
            WorkspaceError: if the dump is not a readable folder.
        """
        tables = (NOTES, HISTORY, ENROLLMENT, RATINGS)
        shards = [shard.path for table in tables for shard in find_shards(self.dump, table.stem, table.subfolder)]
        return [*shards, *self.post_files()]


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


def _lines_read(reader: TableReader) -> dict[str, int]:
    """Rows and unreadable lines of each table, for the funnel."""
    rows = {f"rows of the {title}": count for title, count in reader.rows.items()}
    return rows | {f"unreadable lines of the {title}": count for title, count in reader.rejected.items()}


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
    reader = source.reader(
        workdir, allow_missing_columns=settings.allow_missing_columns, progress=progress, workdir_name=workdir_name
    )
    posts = source.open_posts(progress)
    bridging = source.bridging_of(quarter)
    bridged = {note.note: note for path in bridging for note in BRIDGED_NOTES.rows(read_bridging(path))}
    files = source_files([*source.files(), *bridging], known_hashes(source.dump))
    loaded = load_notes(quarter, _within(quarter, pl.col("createdAtMillis")), settings, reader)
    joined = join_history(loaded, settings, reader, pending=pending)
    choose = partial(choose_notes, settings=settings, people_only=settings.human_only)
    match = partial(_on_posts, posts=posts, settings=settings, illustrated=illustrated)
    make = partial(_sample, quarter=quarter, illustrated=illustrated)
    waiting = None
    if joined.waiting is not None:  # drops among undecided notes are not counted
        waiting = [make(*pair) for pair in match(choose(joined.waiting, _quiet(reader)).rows).rows]
    chosen = choose(joined.states.filter(state=NoteState.DECIDED.value), reader)
    kept = match(chosen.rows)
    votes = _count_votes([note.note_id for note, _ in kept.rows], reader)
    candidates = [_candidate(make(*pair), pair[0], votes, bridged) for pair in kept.rows]
    drops = Counter(loaded.drops) + Counter(joined.drops) + Counter(chosen.drops) + Counter(kept.drops)
    context = _lines_read(reader) | {**loaded.context, **joined.context, **chosen.context, **votes.context}
    funnel = Funnel.of(
        "notes", loaded.total, drops, REASONS, candidates=candidates, context=context, only_if_any=_ONLY_IF_ANY
    )
    return Collection(
        candidates=candidates,
        funnel=funnel,
        parameters=settings.as_parameters() | source.as_parameters() | {"votes": votes.raters is not None},
        sources=files,
        warnings=[*reader.warnings, *posts.warnings, *([] if candidates else [_advice(quarter, loaded, drops)])],
        pending=waiting,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """What a step counts for the funnel: rows dropped, by reason, and other counts."""

    drops: Mapping[str, int] = field(default_factory=dict)
    context: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LoadedNotes(_Step):
    """The notes of a quarter, sorted by id; `total` are in the dump, the newest of them from `newest_ms`."""

    notes: pl.DataFrame
    total: int
    newest_ms: int


@dataclass(frozen=True, slots=True)
class JoinedNotes(_Step):
    """One version of each of the quarter's notes with its state; `waiting` are the undecided ones, if requested."""

    states: pl.DataFrame
    waiting: pl.DataFrame | None


@dataclass(frozen=True, slots=True)
class Kept(_Step, Generic[_Row]):
    """The rows that a step keeps."""

    rows: Sequence[_Row]


@dataclass(frozen=True, slots=True)
class _Votes(_Step):
    """Raters by note, and those sampled by X; None if the dump does not say."""

    raters: Mapping[int, int] | None = None
    sampled: Mapping[int, int] | None = None


def _within(quarter: Quarter, column: pl.Expr) -> pl.Expr:
    """Whether a time (ms) is in the quarter."""
    return (column >= _epoch_ms(quarter.start)) & (column < _epoch_ms(quarter.end))


def load_notes(quarter: Quarter, inside: pl.Expr, settings: NotesSettings, reader: TableReader) -> LoadedNotes:
    """Read the notes table; `inside` selects the quarter's notes.

    Raises:
        SourceError: if the table cannot be read, or the dump seems to lack shards.
    """
    ids, found = [_NO_KEYS.select("noteId")], [pl.DataFrame(schema=_NOTE_COLUMNS.schema)]
    newest, impossible = 0, [_NO_KEYS.select("noteId")]
    for frame in reader.frames(NOTES, _NOTE_COLUMNS):
        ids.append(frame.select("noteId"))
        good = frame.filter(~_CONTRADICTS_ID)
        found.append(good.filter(inside))
        if good.height < frame.height:
            bad = frame.filter(_CONTRADICTS_ID)
            by_id = bad.with_columns(createdAtMillis=_ID_MS).select(inside).to_series()
            impossible.append(bad.filter(inside | by_id).select("noteId"))
        newest = max([newest, *good["createdAtMillis"].top_k(1)])  # a frame may be empty
    keys = pl.concat(ids)
    if keys["noteId"].n_unique() < keys.height:  # rare: a second reading costs less than hashing all contents
        frames = _quiet(reader).frames(NOTES, _NOTE_COLUMNS)
        content = pl.struct(_NOTE_COLUMNS.names).hash(seed=0).alias("content")
        keys = pl.concat([_NO_KEYS, *(frame.select("noteId", content) for frame in frames)])
    different, context = _without_repeats(keys, NOTES.title, reader)
    notes = pl.concat(found).unique(maintain_order=True)
    if not (settings.accept_partial or files_by_manifest(reader.dump, NOTES.subfolder)):
        _refuse_partial(quarter, keys.select("noteId").unique(), notes.select("noteId"), reader)
    bad_times = pl.concat(impossible).n_unique() if len(impossible) > 1 else 0
    if bad_times:
        reader.warnings.append(
            f"{NOTES.title}: {bad_times} notes of {quarter} are left out, because they were written at another time "
            "than their ids say. Compare the file with the source's."
        )
    drops = {"other-quarter": different.height - notes.height - bad_times, NoteState.BAD_TIME: bad_times}
    return LoadedNotes(notes.sort("noteId"), different.height, newest, drops=drops, context=context)


def _refuse_partial(quarter: Quarter, known: pl.DataFrame, notes: pl.DataFrame, reader: TableReader) -> None:
    """Refuse a dump that seems to lack shards if it has no list of its files.

    Args:
        known: ids of all notes.
        notes: ids of the quarter's.
    """
    created = pl.col("createdAtMillis").cast(pl.Int64, strict=False)
    columns = WantedColumns(("noteId",), extra=("createdAtMillis",))
    frames = _quiet(reader).frames(HISTORY, columns)
    rows = pl.concat([pl.DataFrame(schema=columns.schema), *frames]).unique("noteId", keep="first", maintain_order=True)
    written = rows.filter(_within(quarter, created))
    for table, other, have, want in ((NOTES, HISTORY, known, written), (HISTORY, NOTES, rows, notes)):
        missing = want.join(have, on="noteId", how="anti").height
        if missing > max(_FEW_MISSING, _TOLERATED * want.height):
            raise SourceError(
                f"{missing} of {want.height} notes of the table {other.stem} are not in the table {table.stem}",
                where=str(reader.dump),
                expected="at most 1%; more suggests that a shard is missing",
                fix=f"Compare the files {table.stem}-*.zip with the source's. If they are all there "
                "(the history keeps deleted notes), pass --accept-partial.",
                code="missing-shard",
            )


def _quiet(reader: TableReader) -> TableReader:
    """A reader of the same dump whose counts and warnings are discarded."""
    return replace(reader, progress=None, warnings=[], rows={}, rejected={})


def _without_repeats(rows: pl.DataFrame, title: str, reader: TableReader) -> tuple[pl.DataFrame, dict[str, int]]:
    """The rows without exact repetitions, and their count; two different rows on a note are an error."""
    different = rows if rows["noteId"].n_unique() == rows.height else rows.unique()
    repeated = rows.height - different.height
    if repeated:
        reader.warnings.append(f"{title}: {repeated} rows are exact repetitions; each note counted once.")
    refuse_conflicts(different, title)
    return different, {f"repeated rows of the {title}": repeated}


def join_history(
    loaded: LoadedNotes, settings: NotesSettings, reader: TableReader, *, pending: bool = False
) -> JoinedNotes:
    """The notes with their states from the status history; `pending` requests the undecided ones apart."""
    columns = history_columns(settings.label_source, pending=pending)
    ids = loaded.notes.select("noteId")
    rows = [pl.DataFrame(schema=columns.schema)]
    frames = reader.frames(HISTORY, columns, Sieve(ids["noteId"]))
    rows += [frame.join(ids, on="noteId", how="semi") for frame in gathered(frames)]
    history, context = _without_repeats(pl.concat(rows), HISTORY.title, reader)
    end_ms = _epoch_ms(settings.dump_end) if settings.dump_end else loaded.newest_ms
    youngest_ms, latest_ms = end_ms - settings.min_age_days * DAY_MS, loaded.newest_ms + _LATEST_LOCK_MS
    every = settle(loaded.notes, history, settings.label_source, youngest_ms, latest_lock_ms=latest_ms)
    states = without_older_versions(every)
    undecided = Counter(states.filter(pl.col("state") != NoteState.DECIDED.value)["state"].to_list())
    drops = {"older-version": every.height - states.height, **undecided}
    waiting = still_open(history, states) if pending else None
    return JoinedNotes(states, waiting, drops=drops, context=context)


def choose_notes(
    notes: pl.DataFrame, reader: TableReader, *, settings: NotesSettings, people_only: bool
) -> Kept[NoteRow]:
    """Notes with text, on a post, and, if requested, by people only."""
    flagged = flag_writers(notes, reader, required=settings.human_only)
    context = {
        f"decided {title}": int(flagged[column].fill_null(False).sum())
        for column, title in (("ai_writer", "notes by AI writers"), ("collaborative", "collaborative notes"))
        if flagged.height and flagged[column].null_count() < flagged.height
    }
    by_people = ~pl.any_horizontal(pl.col("ai_writer", "collaborative").fill_null(False))
    people = flagged.filter(by_people) if people_only else flagged
    columns = ("noteId", "createdAtMillis", "tweetId", "summary", *NoteRow._fields[4:])
    rows = [NoteRow(*row) for row in people.select(columns).iter_rows()]
    if quoted := sum(len(row.text) > 1 and row.text[0] == row.text[-1] == '"' for row in rows):
        reader.warnings.append(
            f"{NOTES.title}: {quoted} of {len(rows)} texts are in quotation marks, as another program saves "
            "a table. The dump has none: download the file from its source."
        )
    rows = [row._replace(text=html.unescape(row.text)) for row in rows]
    texts = [row for row in rows if row.text.strip()]
    kept = [row for row in texts if row.post_id is not None and row.post_id > 0]
    drops = {
        "ai-writer": flagged.height - people.height,
        "empty-text": len(rows) - len(texts),
        "no-post": len(texts) - len(kept),
    }
    return Kept(kept, drops=drops, context=context)


def _on_posts(
    notes: Sequence[NoteRow], *, posts: LocalPosts | ChainedPosts, settings: NotesSettings, illustrated: bool
) -> Kept[tuple[NoteRow, FoundPost]]:
    """The notes whose posts pass, with their posts, sorted by note id."""
    found = posts.find({str(note.post_id) for note in notes})
    pairs = [(note, found[str(note.post_id)]) for note in notes]
    faults = [post_fault(post, (note,), settings, illustrated=illustrated) for note, post in pairs]
    kept = [pair for pair, fault in zip(pairs, faults, strict=True) if fault is None]
    drops = Counter(fault for fault in faults if fault is not None)
    return Kept(sorted(kept, key=lambda pair: pair[0].note_id), drops=drops)


def post_fault(post: FoundPost, notes: Sequence[NoteRow], settings: NotesSettings, *, illustrated: bool) -> str | None:
    """The reason to drop a post with these notes, or None; `illustrated` requires media or none."""
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


def _count_votes(notes: Sequence[int], reader: TableReader) -> _Votes:
    """Count distinct raters of each note, and those of them sampled by X; only their hashes are held."""
    if not reader.has(RATINGS):
        return _Votes()
    ids = pl.DataFrame({"noteId": notes}, schema={"noteId": pl.Int64})
    pairs = [_NO_KEYS.with_columns(bucket=pl.lit(""))]
    for frame in gathered(reader.frames(RATINGS, _RATING_COLUMNS, Sieve(ids["noteId"]))):
        mine = frame.join(ids, on="noteId", how="semi")
        pairs.append(mine.select("noteId", pl.col("raterParticipantId").hash(seed=0).alias("content"), bucket=_BUCKET))
    all_pairs = pl.concat(pairs)
    sampled = (pl.col("bucket") == _SAMPLED).any().alias("sampled")
    votes = all_pairs.group_by("noteId", "content").agg(sampled)
    with_source = (all_pairs["bucket"] != "").any()
    return _Votes(
        dict(votes.group_by("noteId").len().rows()),
        dict(votes.group_by("noteId").agg(pl.col("sampled").sum()).rows()) if with_source else None,
        context={"repeated ratings of kept notes": all_pairs.height - votes.height},
    )


def _sample(note: NoteRow, post: FoundPost, quarter: Quarter, illustrated: bool) -> x_notes.Note:
    created = second_of(note.created_ms)
    task = x_notes.MEDIA_TASK if illustrated else x_notes.TASK
    make = partial(x_notes.IllustratedNote, media=post.pictures) if illustrated else x_notes.Note
    return make(
        id=f"{task.id_prefix}{note.note_id}",
        task=task.name,
        edition=str(quarter),
        period=PeriodKind.MONTH.of(created),
        date=created,
        group=f"x-{post.id}",
        license=x_notes.LICENSE,
        post=released_post(post),
        note=x_notes.NoteText(str(note.note_id), created, note.text),
    )


def _candidate(sample: x_notes.Note, note: NoteRow, votes: _Votes, bridged: Mapping[str, BridgedNote]) -> Candidate:
    if note.label is None:
        raise ValueError(f"{sample.id} has no label")
    facts: dict[str, Fact] = {
        "ratings": None if votes.raters is None else votes.raters.get(note.note_id, 0),
        "sampled_ratings": None if votes.sampled is None else votes.sampled.get(note.note_id, 0),
        "status_locked_at": time_text(note.locked_ms),
        "decided_by": note.decided_by,
        "ai_writer": note.ai_writer,
        "collaborative": note.collaborative,
        **voter_facts(bridged.get(str(note.note_id)), note.label),
    }
    extras = {} if note.shown_ms is None else {"first_shown_at": time_text(note.shown_ms)}
    return Candidate(sample, Label(sample.id, note.label, facts), extras)


def _advice(quarter: Quarter, loaded: LoadedNotes, drops: Mapping[str, int]) -> str:
    """What to do if nothing was kept."""
    if loaded.notes.height and drops[NoteState.NOT_LOCKED] == loaded.notes.height:
        return f"No status of {quarter} is locked: use a later dump."
    return f"No note of {quarter} was kept; the counts of dropped notes say why."


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
