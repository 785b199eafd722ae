"""X's own web answers (TweetResultByRestId, TweetDetail), the form in which earlier collections kept posts.

Nothing is asked in this form; a local file of posts may be in it.
"""

from __future__ import annotations

import html
from collections.abc import Iterator
from typing import Any

from pydantic import Field

from collectors.notes.posts._answers import AnswerPart, BadReply, Several, check, posted_at
from collectors.notes.posts._media import media_in
from collectors.notes.posts.embed import tombstone_status
from collectors.notes.posts.found import FoundPost, PostStatus
from hellofresh.tasks.images import Media

__all__ = ["looks_like_graphql", "posts_from_graphql"]

_MARKS = frozenset({"data", "legacy", "rest_id"})
_REASONS = {
    "Suspended": PostStatus.SUSPENDED,
    "Protected": PostStatus.PROTECTED,
    "NsfwLoggedOut": PostStatus.AGE_RESTRICTED,
    "NsfwViewerIsUnderage": PostStatus.AGE_RESTRICTED,
}


class _Entities(AnswerPart):
    media: Several = None


class _Legacy(AnswerPart):
    full_text: str
    lang: str | None = None
    created_at: str | None = None
    entities: _Entities | None = None
    extended_entities: _Entities | None = None

    @property
    def has_media(self) -> bool:
        return any(part is not None and part.media for part in (self.entities, self.extended_entities))

    @property
    def pictures(self) -> tuple[Media, ...]:
        """Those of the extended entities, which name all of them and say what kind they are."""
        return media_in(*(part.media for part in (self.extended_entities, self.entities) if part is not None))


class _LongResult(AnswerPart):
    text: str


class _LongResults(AnswerPart):
    result: _LongResult


class _LongText(AnswerPart):
    note_tweet_results: _LongResults


class _Result(AnswerPart):
    rest_id: str = Field(pattern=r"^[1-9][0-9]{0,18}$")
    legacy: _Legacy
    note_tweet: _LongText | None = None
    quoted_status_result: dict[str, Any] | None = None


def looks_like_graphql(answer: dict[str, Any]) -> bool:
    """Whether an object is in this form rather than in the embed endpoint's."""
    return bool(_MARKS & answer.keys()) and "id_str" not in answer


def posts_from_graphql(answer: dict[str, Any]) -> list[FoundPost]:
    """The posts of an answer, from which the shown note has been taken out; posts without an id are left out.

    Raises:
        BadReply: if a post has another form.
    """
    return [post for result in _results(answer) if (post := _post(_seen(result))) is not None]


def _results(answer: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The results that are shown for themselves: of an answer on one post, of a conversation, or the bare result."""
    if "data" not in answer:
        yield answer
        return
    pending: list[Any] = [answer["data"]]
    while pending:
        value = pending.pop(0)
        if isinstance(value, list):
            pending = [*value, *pending]
        elif isinstance(value, dict):
            result = _inner(value.get("tweetResult")) or _inner(value.get("tweet_results"))
            if result is not None:
                yield result
            else:
                pending = [*value.values(), *pending]


def _inner(holder: Any) -> dict[str, Any] | None:
    result = holder.get("result") if isinstance(holder, dict) else None
    return result if isinstance(result, dict) else None


def _seen(result: dict[str, Any]) -> dict[str, Any]:
    """The post inside the envelope that X puts round posts which few may answer."""
    tweet = result.get("tweet")
    return tweet if result.get("__typename") == "TweetWithVisibilityResults" and isinstance(tweet, dict) else result


def _post(result: dict[str, Any]) -> FoundPost | None:
    if "legacy" not in result:
        return _gone(result)
    tweet = check(_Result, result)
    text = tweet.note_tweet.note_tweet_results.result.text if tweet.note_tweet else tweet.legacy.full_text
    quoted = _inner(result.get("quoted_status_result"))
    try:
        date = posted_at(tweet.rest_id, tweet.legacy.created_at)
    except ValueError as error:
        raise BadReply(f"no date of the post ({error})") from None
    return FoundPost(
        id=tweet.rest_id,
        text=html.unescape(text),
        language=tweet.legacy.lang or "",
        date=date,
        media=tweet.legacy.has_media,
        quoted_media=quoted is not None and _quoted_media(_seen(quoted)),
        pictures=tweet.legacy.pictures,
    )


def _quoted_media(quoted: dict[str, Any]) -> bool:
    return "legacy" in quoted and check(_Result, quoted).legacy.has_media


def _gone(result: dict[str, Any]) -> FoundPost | None:
    post_id = result.get("rest_id")
    if not isinstance(post_id, str):
        return None
    reason = result.get("reason")
    if isinstance(reason, str):
        return FoundPost(post_id, _REASONS.get(reason, PostStatus.UNAVAILABLE))
    return FoundPost(post_id, tombstone_status(str(result.get("tombstone", ""))))
