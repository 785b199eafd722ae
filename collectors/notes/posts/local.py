"""Posts from a local file, one object a line.

Three forms are read: the public embed endpoint's (`id_str`), that of X's API v2 (`id`) and that of X's web answers
(`rest_id`, `legacy` or `data`). Nothing that shows the note under the post is read.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from collectors.notes.posts._answers import BadReply, check, without_shown_note
from collectors.notes.posts.api_v2 import ApiPost, post_from_api
from collectors.notes.posts.embed import EmbedAnswer, post_from_embed
from collectors.notes.posts.found import FoundPost, PostStatus
from collectors.notes.posts.graphql import looks_like_graphql, posts_from_graphql
from collectors.notes.posts.strict_json import load_object, numbered_lines
from hellofresh.core.errors import SourceError

__all__ = ["LocalPosts"]

_OF_MEDIA = ("mediaDetails", "photos", "video", "attachments")


class LocalPosts:
    """Posts from a JSONL file.

    A line whose object has neither text nor tombstone (the endpoint's `{}`) is an unavailable post. A post without
    `user` is taken if its text is there: who strips user names from a file does right. A file without a single word on
    media, of any post, is silent: it was stripped of them, or copied from web pages.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._warnings: list[str] = []

    @property
    def warnings(self) -> Sequence[str]:
        """What was odd in the file."""
        return tuple(self._warnings)

    def find(self, ids: Collection[str]) -> Mapping[str, FoundPost]:
        """Look the posts up in the file.

        Raises:
            SourceError: if the file is missing, a line has none of the forms, or two lines on a post differ.
        """
        self._warnings = []
        found = {post_id: FoundPost(post_id, PostStatus.UNAVAILABLE) for post_id in ids}
        seen: dict[str, int] = {}
        unnamed = repeated = 0
        silent = True
        for number, line in numbered_lines(self.path):
            where = f"{self.path.name} line {number}"
            answer = without_shown_note(load_object(line, where))
            silent = silent and not _tells_of_media(answer)
            posts = _read(answer, where)
            unnamed += not posts
            for post in posts:
                if post.id in seen:
                    repeated += 1
                    _refuse_difference(seen[post.id] == hash(post), post.id, where)
                else:
                    seen[post.id] = hash(post)
                    if post.id in found:
                        found[post.id] = post
        self._note(unnamed, "answers without the id of a post were left out")
        self._note(repeated, "posts are there twice")
        return {key: replace(post, silent=True) for key, post in found.items()} if silent else found

    def _note(self, count: int, what: str) -> None:
        if count:
            self._warnings.append(f"{self.path.name}: {count} {what}.")


def _tells_of_media(answer: dict[str, Any]) -> bool:
    return looks_like_graphql(answer) or any(name in answer for name in _OF_MEDIA)


def _read(answer: dict[str, Any], where: str) -> list[FoundPost]:
    """The posts on the line; none for an answer on an unknown post."""
    try:
        if looks_like_graphql(answer):
            return posts_from_graphql(answer)
        if "id" in answer and "id_str" not in answer:
            return [_dated(post_from_api, check(ApiPost, answer), {}, ())]
        embedded = check(EmbedAnswer, answer)
        if embedded.id_str is not None:
            return [_dated(post_from_embed, embedded.id_str, embedded)]
    except BadReply as error:
        raise _bad_post(str(error), where) from None
    if embedded.text is not None:
        raise _bad_post("a post without id_str", where)
    return []


def _dated(read: Any, *parts: Any) -> FoundPost:
    try:
        post: FoundPost = read(*parts)
    except ValueError as error:
        raise BadReply(f"no date of the post ({error})") from None
    return post


def _bad_post(what: str, where: str) -> SourceError:
    return SourceError(
        what, where=where, expected="an answer of the embed endpoint with the post's id_str", code="bad-post"
    )


def _refuse_difference(same: bool, post_id: str, where: str) -> None:
    if not same:
        raise SourceError(
            f"post {post_id} is there twice, with different content",
            where=where,
            expected="one line a post",
            code="conflicting-posts",
            fix="Keep the newest answer.",
        )
