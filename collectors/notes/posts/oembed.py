"""oEmbed, publish.x.com/oembed (https://docs.x.com/x-for-websites/oembed-api): a post as a piece of HTML.

It says least: photos and videos show only as a `pic.x.com` link, and what is behind a `t.co` link (perhaps a quoted
post with a photo) does not show. A post with such a link therefore counts as not whole: another source is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from html.parser import HTMLParser
from typing import Any

from collectors.notes.posts._answers import AnswerPart, BadReply, check, posted_at
from collectors.notes.posts.found import FoundPost, PostStatus
from collectors.notes.posts.service import Manners, PostRequest, Service, one_by_one

__all__ = ["OEMBED"]

_PICTURES = ("pic.x.com/", "pic.twitter.com/")
_SHORTENED = ("https://t.co/", "http://t.co/")
_ELLIPSES = ("…", "...")


class _Answer(AnswerPart):
    html: str


class _Paragraph(HTMLParser):
    """The first paragraph of the block quote: its language, its text, and the texts of its links."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.language = ""
        self.pieces: list[str] = []
        self.links: list[str] = []
        self._inside = self._done = self._in_link = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "p" and not self._done:
            self._inside = True
            self.language = dict(attrs).get("lang") or ""
        elif tag == "br" and self._inside:
            self.pieces.append("\n")
        elif tag == "a" and self._inside:
            self._in_link = True
            self.links.append("")

    def handle_endtag(self, tag: str) -> None:
        if tag == "p" and self._inside:
            self._inside, self._done = False, True
        elif tag == "a":
            self._in_link = False

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.pieces.append(data)
            if self._in_link:
                self.links[-1] += data


def _read_post(post_id: str, status: int, body: dict[str, Any]) -> FoundPost:
    if status in (403, 404):
        return FoundPost(post_id, PostStatus.UNAVAILABLE)
    if status != 200:
        raise BadReply(f"HTTP status {status}")
    shown = _Paragraph()
    shown.feed(check(_Answer, body).html)
    shown.close()
    text = "".join(shown.pieces)
    if not text.strip():
        raise BadReply("html: no paragraph with text")
    hidden = any(link.startswith(_SHORTENED) for link in shown.links)
    try:
        date = posted_at(post_id, None)
    except ValueError as error:
        raise BadReply(f"no date of the post ({error})") from None
    return FoundPost(
        id=post_id,
        text=text,
        language=shown.language,
        date=date,
        media=any(link.startswith(_PICTURES) for link in shown.links),
        truncated=hidden or text.rstrip().endswith(_ELLIPSES),
    )


def _request(ids: Sequence[str]) -> PostRequest:
    return PostRequest("/oembed", {"url": f"https://x.com/i/status/{ids[0]}", "omit_script": "1", "dnt": "true"})


OEMBED = Service(
    name="oembed",
    base_url="https://publish.x.com",
    request=_request,
    read=one_by_one(_read_post, bodiless=(403, 404)),
    manners=Manners(per_second=1.0, at_once=2),
)
