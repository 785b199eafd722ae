"""Why systems said what they said, in their own words: texts and addresses that nobody of the project has written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hellofresh.results.tables import AnswerRow
from leaderboard.components.labels import entry_label
from leaderboard.components.links import Links
from leaderboard.components.markup import Html, el, inner_link, join, link, visible
from leaderboard.components.pieces import heading
from leaderboard.components.words import long_text
from leaderboard.data.tables import BoardEntry, SplitKey

__all__ = ["has_reason", "reasons_of_sample", "reasons_of_system"]

_MOST_SOURCES = 20
_SHORT = 300
"""A text of so many characters is shown at once; a longer one behind a fold."""
_OWN_WORDS = (
    "Texts that systems gave with their answers, as they are. Nobody has checked them, or the pages behind the links."
)


def has_reason(answer: AnswerRow) -> bool:
    """Whether there is more to show of an answer than a class: a text, a ranking, a rationale or sources."""
    return bool(answer.rationale or answer.sources or answer.text or answer.documents)


def reasons_of_sample(answers: Sequence[AnswerRow], entries: Mapping[str, BoardEntry]) -> Html | None:
    """What each system said of one sample besides its choice; None where nobody did."""
    parts = []
    for origin, entry in entries.items():
        said = [answer for answer in answers if answer.origin == origin and has_reason(answer)]
        if said:
            reasons = (el("div", el("small", visible(one.prompt, 40)), reason(one)) for one in said)
            parts.append(el("details", el("summary", entry_label(entry)), *reasons))
    return join([heading("In their own words", _OWN_WORDS), *parts]) if parts else None


def reasons_of_system(answers: Sequence[AnswerRow], split: SplitKey, links: Links) -> Html | None:
    """What one system said of some samples; None where it gave no reasons."""
    if not answers:
        return None
    parts = []
    for one in answers:
        where = inner_link(links.sample(split, one.id), visible(one.id, 60))
        parts.append(el("details", el("summary", visible(one.id, 60), ", ", visible(one.prompt, 40)), reason(one),
                        el("p", "The sample: ", where)))  # fmt: skip
    return join([heading("In its own words", _OWN_WORDS), *parts])


def reason(answer: AnswerRow) -> Html:
    """A response, a ranking, a rationale and sources, as far as there are any."""
    return join(
        [
            _folded(answer.text) if answer.text else None,
            el("p", "Ranking: ", ", ".join(visible(name, 60) for name in answer.documents[:_MOST_SOURCES]))
            if answer.documents
            else None,
            _folded(answer.rationale) if answer.rationale else None,
            _sources(answer.sources) if answer.sources else None,
        ]
    )


def _folded(text: str) -> Html:
    """A short text as it is; of a long one the beginning, and the whole behind a fold."""
    if len(text) <= _SHORT:
        return el("blockquote", long_text(text), class_="hf-said")
    whole = el("details", el("summary", "The whole text"), el("blockquote", long_text(text), class_="hf-said"))
    return join([el("blockquote", el("bdi", visible(text, _SHORT)), class_="hf-said"), whole])


def _sources(sources: Sequence[str]) -> Html:
    """Addresses as links; what is no web address, such as the name of a document, as text."""
    more = len(sources) - _MOST_SOURCES
    items = (el("li", link(source, visible(source, 120))) for source in sources[:_MOST_SOURCES])
    rest = el("li", f"{more:,} more") if more > 0 else None
    return join([el("p", "Sources"), el("ul", *items, rest, class_="hf-sources")])
