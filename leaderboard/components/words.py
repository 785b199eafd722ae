"""A text's change, word by word, as it is shown: what was taken out, what was put in, and what stayed."""

from __future__ import annotations

from leaderboard.components.markup import Html, el, join, visible

__all__ = ["edit_html", "long_text"]

_BETWEEN = " [...] "
_MOST = 6000


def long_text(text: str) -> Html:
    """A text of several lines, with all that hides or reorders disarmed; at most 6,000 characters."""
    lines = [visible(line, _MOST) for line in text[:_MOST].splitlines()]
    return el("bdi", *(part for line in lines for part in (line, el("br"))))


def edit_html(paragraph: str, deleted: str, added: str) -> Html:
    """The paragraph before the edit with the deleted spans marked in their places, then the added spans.

    Spans come in order, joined by ` [...] `. A span that the paragraph does not hold after the one before it is named
    below. Where the added spans stood is not part of a sample, so they stand in a line of their own.
    """
    parts, missing = _marked(paragraph[:_MOST], [span for span in deleted.split(_BETWEEN) if span.strip()])
    gone = (el("del", named) for named in map(_line, missing))
    spans = [span for span in added.split(_BETWEEN) if span.strip()]
    new = [part for span in spans for part in (el("ins", _line(span)), " ")]
    return join(
        [
            el("p", *parts, class_="hf-edit"),
            el("p", el("small", "Taken out besides"), *gone, class_="hf-edit") if missing else None,
            el("p", el("small", "Put in"), *(new or ["nothing"]), class_="hf-edit"),
        ]
    )


def _line(text: str) -> Html:
    return el("bdi", visible(text, _MOST))


def _marked(paragraph: str, spans: list[str]) -> tuple[list[Html], list[str]]:
    """The paragraph in pieces, and the spans that were not found."""
    pieces: list[Html] = []
    missing, at = [], 0
    for span in spans:
        start = paragraph.find(span.strip(), at)
        if start < 0:
            missing.append(span)
            continue
        end = start + len(span.strip())
        pieces += [_plain(paragraph[at:start]), el("del", _line(paragraph[start:end]))]
        at = end
    return [*pieces, _plain(paragraph[at:])], missing


def _plain(text: str) -> Html:
    """A piece between spans, whose spaces at the ends stay."""
    inner = " ".join(text.split())
    if not inner:
        return join([" " if text else ""])
    return join([" " if text[0].isspace() else "", _line(inner), " " if text[-1].isspace() else ""])
