"""The bundled sample of posts and community notes, rendered in the formats of the real dump and of the embed endpoint.

The sample is written by hand, a TOML file a month, with `[[post]]` (at, text, lang, media, state, quote) and
`[[post.note]]` (at, text, status, votes, locked, class, ai, collaborative). All other fields of the formats (ids,
participants, single ratings) are derived from hashes of these, so that the same sample gives the same bytes.
"""

from __future__ import annotations

import hashlib
import html
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from collectors.notes.tables import ENROLLMENT, HISTORY, NOTES, RATINGS, DumpTable
from hellofresh.core.errors import SourceError
from hellofresh.core.files import write_bytes, write_jsonl

_SNOWFLAKE_EPOCH = datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=1_288_834_974_657)
_EPOCH = datetime.fromtimestamp(0, UTC)
_AUTHORS, _MACHINES, _RATERS = 37, 3, 401  # raters: a prime, so that every step visits all of them
_HOUR_MS = 3_600_000
_LOCK_MS = 14 * 24 * _HOUR_MS
_POST_LENGTH = 280

_STATUS = {
    "helpful": "CURRENTLY_RATED_HELPFUL",
    "not-helpful": "CURRENTLY_RATED_NOT_HELPFUL",
    "undecided": "NEEDS_MORE_RATINGS",
}
_UNDECIDED = _STATUS["undecided"]
# Of 100 ratings: the number of helpful ones, and of helpful or somewhat helpful ones.
_SPLIT = {"helpful": (78, 90), "not-helpful": (16, 34), "undecided": (41, 64)}
_TOMBSTONES = {
    "deleted": "This post was deleted by its author.",
    "suspended": "This post belongs to a suspended account.",
    "protected": "The owner of this account limits who can view its posts.",
    "age-restricted": "Age-restricted: this post is shown to adults who have signed in.",
}


class _Authored(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class AuthoredNote(_Authored):
    """A note as written in the sample."""

    at: str
    text: str = Field(min_length=1)
    status: Literal["helpful", "not-helpful", "undecided"]
    votes: int = Field(ge=0, le=_RATERS)
    locked: bool = True
    kind: Literal["misleading", "not-misleading"] = Field("misleading", alias="class")
    ai: bool = False
    collaborative: bool = False
    media_note: bool = False


class AuthoredPost(_Authored):
    """A post as written in the sample, with its notes."""

    at: str
    text: str = Field(min_length=1)
    note: list[AuthoredNote] = Field(min_length=1)
    lang: str = "en"
    media: Literal["none", "photo", "video", "animated", "quoted-photo"] = "none"
    state: Literal["ok", "deleted", "suspended", "protected", "age-restricted", "truncated"] = "ok"
    quote: str | None = None


class _Month(_Authored):
    post: list[AuthoredPost]


def read_sample(notes_dir: Path) -> list[AuthoredPost]:
    """The sample's posts, in the order of files' names and of writing.

    Raises:
        SourceError: if there is no file, or one is not as described above.
    """
    paths = sorted(notes_dir.glob("*.toml"))
    if not paths:
        raise SourceError(
            "no sample", where=str(notes_dir), expected="files such as 2026-04.toml", code="missing-sample"
        )
    return [post for path in paths for post in _read_month(path).post]


def _read_month(path: Path) -> _Month:
    try:
        month = _Month.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
        for post in month.post:
            for at in (post.at, *(note.at for note in post.note)):
                _time(at)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        raise _bad_sample(f"{field}: {first['msg'].lower()}", path) from None
    except ValueError as error:
        raise _bad_sample(str(error), path) from None
    return month


def _bad_sample(what: str, path: Path) -> SourceError:
    return SourceError(what, where=path.name, expected="a month of posts and notes", code="bad-sample-source")


def _time(at: str) -> datetime:
    return datetime.strptime(at, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)


def _draw(below: int, *parts: object) -> int:
    """A number below the limit that depends on the parts only."""
    digest = hashlib.sha256("|".join(("hellofresh sample", *map(str, parts))).encode()).digest()
    return int.from_bytes(digest[:8], "big") % below


def _participant(role: str, number: int) -> str:
    return hashlib.sha256(f"hellofresh sample participant|{role}|{number}".encode()).hexdigest().upper()


def _ms(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def _snowflake(at: str, *parts: object) -> int:
    """An id in the form of the site's: 42 bits of time (ms), 22 bits to distinguish ids of the same time."""
    since = (_time(at) - _SNOWFLAKE_EPOCH) // timedelta(milliseconds=1) + _draw(1000, "ms", at, *parts)
    return (since << 22) | _draw(2**22, "low", at, *parts)


@dataclass(frozen=True)
class _Note:
    """A note with further fields of the dump."""

    written: AuthoredNote
    post: _Post

    @cached_property
    def id(self) -> int:
        return _snowflake(self.written.at, "note", self.written.text)

    @property
    def created_ms(self) -> int:
        return (self.id >> 22) + _ms(_SNOWFLAKE_EPOCH)

    @property
    def author(self) -> str:
        if self.written.ai:
            return _participant("machine", _draw(_MACHINES, "author", self.id))
        return _participant("author", _draw(_AUTHORS, "author", self.id))

    @property
    def status(self) -> str:
        return _STATUS[self.written.status]

    @property
    def decided_ms(self) -> int:
        return self.created_ms + 2 * _HOUR_MS + _draw(40 * _HOUR_MS, "decided", self.id)

    @property
    def locked_ms(self) -> int:
        return self.created_ms + _LOCK_MS + _draw(5 * _HOUR_MS, "locked", self.id)


@dataclass(frozen=True)
class _Post:
    """A post with its id."""

    written: AuthoredPost

    @cached_property
    def id(self) -> int:
        return _snowflake(self.written.at, "post", self.written.text)

    @property
    def notes(self) -> list[_Note]:
        return [_Note(note, self) for note in self.written.note]


def write_dump(notes_dir: Path, folder: Path) -> None:
    """Render the sample as a dump: two shards of notes, a status history, ratings, enrollment, and posts.jsonl.

    Raises:
        SourceError: if the sample is not as described above.
        WorkspaceError: if the folder cannot be written.
    """
    posts = sorted(map(_Post, read_sample(notes_dir)), key=lambda post: post.id)
    notes = sorted((note for post in posts for note in post.notes), key=lambda note: note.id)
    _refuse_twins([post.id for post in posts] + [note.id for note in notes], notes_dir)
    half = (len(notes) + 1) // 2
    _write_table(folder, NOTES, 0, map(_note_row, notes[:half]))
    _write_table(folder, NOTES, 1, map(_note_row, notes[half:]))
    _write_table(folder, HISTORY, 0, map(_history_row, notes))
    _write_table(folder, RATINGS, 0, (row for note in notes for row in _rating_rows(note)))
    _write_table(folder, ENROLLMENT, 0, _enrollment_rows(notes))
    write_jsonl(folder / "posts.jsonl", map(_answer, posts))


def _refuse_twins(ids: Sequence[int], notes_dir: Path) -> None:
    if len(set(ids)) < len(ids):
        raise SourceError(
            "two posts or notes have the same time and text", where=str(notes_dir), code="bad-sample-source"
        )


def _write_table(folder: Path, table: DumpTable, number: int, rows: Iterable[Mapping[str, object]]) -> None:
    columns = [column for column in table.columns if column not in table.new]
    lines = ["\t".join(columns)]
    lines += ["\t".join(str(row.get(column, "")) for column in columns) for row in rows]
    write_bytes(folder / f"{table.stem}-{number:05d}.tsv", ("\n".join(lines) + "\n").encode())


_MISLEADING = (
    "misleadingFactualError",
    "misleadingMissingImportantContext",
    "misleadingUnverifiedClaimAsFact",
    "misleadingOutdatedInformation",
)


def _note_row(note: _Note) -> dict[str, object]:
    written = note.written
    misleading = written.kind == "misleading"
    reason = _MISLEADING[_draw(len(_MISLEADING), "reason", note.id)]
    flags = [name for name in NOTES.columns if name.startswith(("misleading", "notMisleading"))]
    return dict.fromkeys(flags, 0) | {
        "noteId": note.id,
        "noteAuthorParticipantId": note.author,
        "createdAtMillis": note.created_ms,
        "tweetId": note.post.id,
        "classification": "MISINFORMED_OR_POTENTIALLY_MISLEADING" if misleading else "NOT_MISLEADING",
        reason if misleading else "notMisleadingFactuallyCorrect": 1,
        "trustworthySources": int("https://" in written.text),
        "summary": _as_in_dump(written.text),
        "isMediaNote": int(written.media_note),
        "isCollaborativeNote": int(written.collaborative),
    }


def _as_in_dump(text: str) -> str:
    one_line = text.replace("\r\n", " ").replace("\n", " ").replace("\t", " ")
    return html.escape(one_line, quote=False).replace('"', "&quot;")


def _history_row(note: _Note) -> dict[str, object]:
    decided, locked = note.status != _UNDECIDED, note.written.locked
    last_ms = note.locked_ms + 3 * 24 * _HOUR_MS
    row: dict[str, object] = {
        "noteId": note.id,
        "noteAuthorParticipantId": note.author,
        "createdAtMillis": note.created_ms,
        "timestampMillisOfCurrentStatus": last_ms,
        "currentStatus": note.status,
        "currentCoreStatus": note.status if locked else "",
        "currentExpansionStatus": note.status,
        # Statuses that only the wider model decides never lock.
        "currentDecidedBy": "CoreModel (v1.1)" if locked else "ExpansionPlusModel (v1.1)",
        "currentModelingGroup": "",
        "timestampMillisOfMostRecentStatusChange": note.decided_ms if decided else -1,
        "timestampMinuteOfFinalScoringOutput": last_ms // 60_000,
    }
    if decided:
        row |= {
            "timestampMillisOfFirstNonNMRStatus": note.decided_ms,
            "firstNonNMRStatus": note.status,
            "timestampMillisOfLatestNonNMRStatus": note.decided_ms,
            "mostRecentNonNMRStatus": note.status,
        }
    if locked:
        row |= {"timestampMillisOfStatusLock": note.locked_ms, "lockedStatus": note.status}
    return row


_PRAISE = tuple(name for name in RATINGS.columns[9:18] if name != "helpfulOther")
_BLAME = tuple(name for name in RATINGS.columns[18:31] if name != "notHelpfulOther")


def _rating_rows(note: _Note) -> Iterator[dict[str, object]]:
    start, step = _draw(_RATERS, "start", note.id), 1 + _draw(_RATERS - 1, "step", note.id)
    for turn in range(note.written.votes):
        yield _rating_row(note, (start + turn * step) % _RATERS)


def _rating_row(note: _Note, rater: int) -> dict[str, object]:
    helpful, at_least_somewhat = _SPLIT[note.written.status]
    mark = _draw(100, "level", note.id, rater)
    level = "HELPFUL" if mark < helpful else "SOMEWHAT_HELPFUL" if mark < at_least_somewhat else "NOT_HELPFUL"
    praise = {_PRAISE[_draw(len(_PRAISE), "praise", note.id, rater, turn)]: 1 for turn in range(2)}
    blame = {_BLAME[_draw(len(_BLAME), "blame", note.id, rater, turn)]: 1 for turn in range(2)}
    return (
        dict.fromkeys(RATINGS.columns[4:8] + RATINGS.columns[9:31], 0)
        | ({} if level == "NOT_HELPFUL" else praise)
        | ({} if level == "HELPFUL" else blame)
        | {
            "noteId": note.id,
            "raterParticipantId": _participant("rater", rater),
            "createdAtMillis": note.created_ms + 60_000 + _draw(13 * 24 * _HOUR_MS, "rated", note.id, rater),
            "version": 2,
            "helpfulnessLevel": level,
            "ratedOnTweetId": note.post.id,
            "ratingSourceBucketed": "DEFAULT",
        }
    )


def _enrollment_rows(notes: Sequence[_Note]) -> list[dict[str, object]]:
    first_ms = min((note.created_ms for note in notes), default=0)
    states = {_participant("author", number): "earnedIn" for number in range(_AUTHORS)}
    states |= {_participant("machine", number): "apiEarnedIn" for number in range(_MACHINES)}
    states |= {_participant("rater", number): "newUser" for number in range(_RATERS)}
    return [
        {
            "participantId": participant,
            "enrollmentState": states[participant],
            "successfulRatingNeededToEarnIn": 5,
            "timestampOfLastStateChange": first_ms - _draw(300 * 24 * _HOUR_MS, "joined", participant),
            "timestampOfLastEarnOut": 1,
            "modelingPopulation": "CORE",
            "modelingGroup": 1 + _draw(14, "group", participant),
            "numberOfTimesEarnedOut": 0,
        }
        for participant in sorted(states)
    ]


def _answer(post: _Post) -> dict[str, Any]:
    """The embed endpoint's response for the post, with the requested id."""
    written = post.written
    if written.state in _TOMBSTONES:
        words = {"text": _TOMBSTONES[written.state], "entities": [], "rtl": False}
        return {"__typename": "TweetTombstone", "id_str": str(post.id), "tombstone": {"text": words}}
    return _tweet(post) | _media(post) | _quoted(post)


def _tweet(post: _Post) -> dict[str, Any]:
    written = post.written
    cut = written.state == "truncated"
    text = written.text[: _POST_LENGTH - 1] + "…" if cut else written.text
    number = _draw(900, "account", post.id)
    tweet = _shown(text, post.written.at) | {
        "__typename": "Tweet",
        "id_str": str(post.id),
        "lang": written.lang,
        "favorite_count": _draw(5000, "likes", post.id),
        "conversation_count": _draw(300, "replies", post.id),
        "user": {"id_str": str(10**9 + number), "name": f"Sample account {number}", "screen_name": f"sample_{number}"},
        "isEdited": False,
        "isStaleEdit": False,
    }
    return tweet | ({"note_tweet": {"id": f"sample-{post.id}"}} if cut else {})


def _shown(text: str, at: str) -> dict[str, Any]:
    return {
        "text": html.escape(text, quote=False),
        "created_at": at.replace("Z", ".000Z"),
        "display_text_range": [0, len(text)],
        "entities": {"hashtags": [], "urls": [], "user_mentions": [], "symbols": []},
    }


def _media(post: _Post) -> dict[str, Any]:
    kind = {"photo": "photo", "video": "video", "animated": "animated_gif"}.get(post.written.media)
    if kind is None:
        return {}
    details = {"mediaDetails": [_medium(kind, post.id)]}
    if kind == "photo":
        return details | {"photos": [{"url": _picture(post.id), "width": 1200, "height": 800}]}
    return details | {"video": {"poster": _picture(post.id), "durationMs": 12_000}}


def _medium(kind: str, number: int) -> dict[str, Any]:
    return {"type": kind, "media_url_https": _picture(number), "original_info": {"width": 1200, "height": 800}}


def _picture(number: int) -> str:
    return f"https://example.org/media/{number}.jpg"


def _quoted(post: _Post) -> dict[str, Any]:
    written = post.written
    if written.quote is None and written.media != "quoted-photo":
        return {}
    earlier = (_time(written.at) - timedelta(hours=5)).strftime("%Y-%m-%dT%H:%M:%SZ")
    quoted_id = _snowflake(earlier, "quoted", post.id)
    quoted = _shown(written.quote or "", earlier) | {"id_str": str(quoted_id), "lang": written.lang}
    if written.media == "quoted-photo":
        quoted |= {"mediaDetails": [_medium("photo", quoted_id)]}
    return {"quoted_tweet": quoted}
