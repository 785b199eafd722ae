"""Candidates of x-posts: posts with notes, from a dump and its posts.

A post of the quarter is kept if it has two finished notes by people. Where the scorer's output
lies beside the dump (`scored_notes.tsv`), or else `hellofresh collect ratings` wrote intercepts of the quarter, one
must be helpful with a score of at least 0.35, and one have a score of 0.05 to 0.25; else one must be helpful and one
not. Both are stored with the label: responses are compared with them, and they reveal nothing of the post while
the quarter is open.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from collectors.notes.bridged import read_bridging
from collectors.notes.collect import (
    REASONS,
    NoteRow,
    NotesSource,
    choose_notes,
    join_history,
    load_notes,
    post_fault,
    released_post,
    time_text,
)
from collectors.notes.dump_files import source_files
from collectors.notes.labels import NoteState
from collectors.notes.posts.base import FoundPost, PostStatus
from collectors.notes.snapshot import known_hashes
from collectors.settings import NotesSettings
from hellofresh.core.errors import SourceError
from hellofresh.core.quarters import PeriodKind, Quarter, first_snowflake, snowflake_time
from hellofresh.releases.candidates import Collection, Funnel
from hellofresh.tasks.corrections import NOTED_TASK, NotedPost
from hellofresh.tasks.samples import Candidate, Label
from hellofresh.tasks.x_notes import LICENSE

SCORES = "scored_notes.tsv"
"""Written by the open-source scorer of Community Notes; its column of scores:"""
_SCORE = "coreNoteIntercept"
_HIGH, _SECOND = 0.35, (0.05, 0.25)
_LISTED = list(REASONS)
_OF_MEDIA = (PostStatus.MEDIA, PostStatus.NO_MEDIA)
_REASONS: Mapping[str, str] = {
    "one-note": "fewer than two notes by people, with text, that readers no longer rate",
    "no-pair": "no helpful note, or no second one beside it",
    # Filters of posts and their texts; posts may have media or not.
    **{name: REASONS[name] for name in _LISTED[_LISTED.index(PostStatus.UNAVAILABLE) :] if name not in _OF_MEDIA},
    "note-language": "a note in a language that was not requested",
    "too-long": "post and a note together too long",
}


class _Pair(NamedTuple):
    """The two notes of a post."""

    high: NoteRow
    second: NoteRow


def score_files(source: NotesSource, quarter: Quarter) -> list[Path]:
    """The scorer's output beside a dump, else the ratings' results, if they exist for the quarter's own notes."""
    path = source.dump / SCORES
    if path.is_file():
        return [path]
    return list(source.bridging) if source.bridging_of(quarter) else []


def collect_posts(
    quarter: Quarter,
    source: NotesSource,
    settings: NotesSettings,
    *,
    workdir: Path,
    workdir_name: str | None = None,
    progress: Callable[[str], None] | None = None,
) -> Collection:
    """Collect posts of the quarter that have two notes; arguments as for the notes.

    Raises:
        SourceError, WorkspaceError: as for the notes, or if the scores cannot be read.
    """
    reader = source.reader(
        workdir, allow_missing_columns=settings.allow_missing_columns, progress=progress, workdir_name=workdir_name
    )
    posts = source.open_posts(progress)
    scored = score_files(source, quarter)
    scores = dict(item for path in scored for item in _read_scores(path).items()) if scored else None
    files = source_files([*source.files(), *scored], known_hashes(source.dump))
    start, end = first_snowflake(quarter.start), first_snowflake(quarter.end)
    # The post is of the quarter, by its id, whenever its notes were written.
    loaded = load_notes(quarter, (pl.col("tweetId") >= start) & (pl.col("tweetId") < end), settings, reader)
    joined = join_history(loaded, settings, reader)
    wanted = [NoteState.DECIDED.value, *([] if scores is None else [NoteState.UNDECIDED.value])]
    chosen = choose_notes(
        joined.states.filter(pl.col("state").is_in(wanted)), reader, settings=settings, people_only=True
    )
    pairs, drops = _pairs(chosen.rows, scores)
    posts_in = loaded.notes["tweetId"].n_unique()
    drops["one-note"] += posts_in - len({row.post_id for row in chosen.rows})
    found = posts.find({str(post) for post in pairs})
    usable = _without_faults(pairs, found, settings, drops)
    candidates = [_candidate(quarter, post, pair, scores) for post, pair in usable]
    context = {"notes of the dump": loaded.total, **loaded.context, **joined.context, **chosen.context}
    asked = (PostStatus.NOT_ASKED,)
    return Collection(
        candidates=candidates,
        funnel=Funnel.of("posts", posts_in, drops, _REASONS, candidates=candidates, context=context, only_if_any=asked),
        parameters=settings.as_parameters() | source.as_parameters() | {"notes_by": _chosen_by(scores)},
        sources=files,
        warnings=[*reader.warnings, *posts.warnings],
    )


def _without_faults(
    pairs: Mapping[int, _Pair], found: Mapping[str, FoundPost], settings: NotesSettings, drops: Counter[str]
) -> Iterator[tuple[FoundPost, _Pair]]:
    """The posts that can be used, by id, with or without media; the others are counted in `drops`."""
    for post_id, pair in sorted(pairs.items()):
        post = found[str(post_id)]
        reason = post_fault(post, pair, settings, illustrated=post.media)
        if reason is None:
            yield post, pair
        else:
            drops[reason] += 1


def _read_scores(path: Path) -> Mapping[int, float]:
    """Scores by note; raises SourceError if the file cannot be read."""
    if path.suffix == ".parquet":
        return dict(read_bridging(path).select(pl.col("note").cast(pl.Int64), "intercept").iter_rows())
    schema = {"noteId": pl.Int64, _SCORE: pl.Float64}
    try:
        rows = pl.read_csv(
            path, separator="\t", quote_char=None, columns=list(schema), schema_overrides=schema, null_values=["NA", ""]
        ).drop_nulls()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise SourceError(
            f"the scores cannot be read ({type(error).__name__})",
            where=str(path),
            expected=f"tab-separated, with the columns noteId and {_SCORE}",
            fix="Take the file that the scorer wrote, or remove it: statuses are used then.",
            code="bad-scores",
        ) from None
    return dict(rows.select(list(schema)).iter_rows())


def _pairs(rows: Sequence[NoteRow], scores: Mapping[int, float] | None) -> tuple[dict[int, _Pair], Counter[str]]:
    """The pair of each post, and how many posts are dropped, by reason."""
    by_post: dict[int, list[NoteRow]] = defaultdict(list)
    for row in rows:
        by_post[row.post_id or 0].append(row)
    found = {post: _pair(notes, scores) for post, notes in by_post.items()}
    drops = Counter("no-pair" if len(by_post[post]) > 1 else "one-note" for post, pair in found.items() if not pair)
    return {post: pair for post, pair in found.items() if pair is not None}, drops


def _pair(notes: Sequence[NoteRow], scores: Mapping[int, float] | None) -> _Pair | None:
    """The best helpful note, and the best of its permitted partners; ties go to the first written."""

    def score(note: NoteRow) -> float:
        return (scores or {}).get(note.note_id, float("-inf"))

    def order(note: NoteRow) -> tuple[float, int, int]:
        return -score(note) if scores else 0.0, note.created_ms, note.note_id

    high = [note for note in notes if note.label == 1 and (scores is None or score(note) >= _HIGH)]
    if scores is None:
        second = [note for note in notes if note.label == 0]
    else:
        second = [note for note in notes if _SECOND[0] <= score(note) <= _SECOND[1]]
    return _Pair(min(high, key=order), min(second, key=order)) if high and second else None


def _chosen_by(scores: Mapping[int, float] | None) -> str:
    return "status" if scores is None else "scores"


def _candidate(quarter: Quarter, post: FoundPost, pair: _Pair, scores: Mapping[int, float] | None) -> Candidate:
    made = snowflake_time(int(post.id)).replace(microsecond=0)
    sample = NotedPost(
        id=f"{NOTED_TASK.id_prefix}{post.id}",
        task=NOTED_TASK.name,
        edition=str(quarter),
        period=PeriodKind.MONTH.of(made),
        date=made,
        group=f"x-{post.id}",
        license=LICENSE,
        post=released_post(post),
        media=post.pictures,
        modality="multimodal" if post.pictures else "unimodal",
    )
    facts: dict[str, str | int | None] = {"chosen_by": _chosen_by(scores)}
    for name, note in zip(("high", "second"), pair, strict=True):
        facts |= {f"{name}_note": str(note.note_id), f"{name}_note_at": time_text(note.created_ms)}
        facts[f"{name}_score"] = None if scores is None else f"{scores[note.note_id]:.4f}"
    return Candidate(sample, Label(sample.id, 0, facts), {"high_text": pair.high.text, "second_text": pair.second.text})
