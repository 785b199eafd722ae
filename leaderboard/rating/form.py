"""The parts of the page Rate: what is rated, shown as text alone, and the questions of a rubric."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import streamlit as st

from hellofresh.judging.rubric import Criterion, Rubric
from hellofresh.judging.study import BlindedResponse, StudySample
from hellofresh.judging.submitted import MOST_COMMENT, SubmittedAnswers
from leaderboard.components.markup import Html, el

_WEB_ADDRESS = re.compile(r"https?://[^\s<>\"']+")
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_UNDECIDED = -1
"""Stands among a radio's answers for the one that nothing can be told."""
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~:$&])")


def show_post(sample: StudySample) -> None:
    """The post: its text, its pictures, and where it stands."""
    st.subheader("Post")
    if sample.text:
        st.html(str(_text(sample.text)))
    for address in filter(_WEB_ADDRESS.fullmatch, sample.media):
        st.html(
            str(el("img", src=address, alt="Picture of the post", class_="rate-media", referrerpolicy="no-referrer"))
        )
    if _WEB_ADDRESS.fullmatch(sample.address):
        st.link_button("Open the post", sample.address)


def show_responses(responses: Sequence[tuple[BlindedResponse, int]], current: str) -> None:
    """Responses side by side, each under its letter; the one that is asked about has a thick border."""
    for column, (response, place) in zip(st.columns(len(responses)), responses, strict=True):
        with column:
            st.subheader(f"Response {_LETTERS[place % 26]}")
            st.html(str(_text(response.text, "rate-now" if response.id == current else "")))
            for number, address in enumerate(response.sources, start=1):
                st.html(str(el("small", f"Link {number}: {address}")))
                if _WEB_ADDRESS.fullmatch(address):
                    st.link_button(f"Open link {number}", address)


def _text(text: str, more: str = "") -> Html:
    return el("div", text, class_=f"rate-text {more}".strip(), dir_="auto")


def ask(
    rubric: Rubric, response: str, links: Sequence[str], before: SubmittedAnswers, *, comment_required: bool = False
) -> SubmittedAnswers:
    """The questions about one response; conditions show and hide them as answers come.

    Args:
        rubric: whose questions.
        response: id, so that answers to another response are not taken over.
        links: addresses that the response cites.
        before: answers given earlier.
        comment_required: whether an explanation must be given.
    """
    st.subheader("Your rating")
    asked = _asked(rubric, "response")
    values = _ask_all(rubric, asked, response, before.values, {})
    of_links = {}
    for number, link in enumerate(links, start=1):
        asked = _asked(rubric, "link", f"Link {number}: ")
        of_links[link] = _ask_all(rubric, asked, f"{response}-{number}", before.links.get(link, {}), values)
    label = "Explanation (required)" if comment_required else "Explanation (optional)"
    comment = st.text_area(label, value=before.comment, max_chars=MOST_COMMENT, key=f"comment-{response}")
    return SubmittedAnswers(values, {link: said for link, said in of_links.items() if said}, comment)


def _asked(rubric: Rubric, unit: str, prefix: str = "") -> list[tuple[Criterion, str]]:
    """The criteria of one unit, each with its question."""
    return [(item, f"{prefix}{item.title}") for item in rubric.criteria if item.unit == unit]


def _ask_all(
    rubric: Rubric,
    asked: Sequence[tuple[Criterion, str]],
    key: str,
    before: Mapping[str, int | None],
    above: Mapping[str, int | None],
) -> dict[str, int | None]:
    values: dict[str, int | None] = {}
    for criterion, question in asked:
        if rubric.asked(criterion, {**above, **values}):
            said = _choose(criterion, question, f"{key}-{criterion.id}", before)
            if said is not None:
                values[criterion.id] = None if said == _UNDECIDED else said
    return values


def _choose(criterion: Criterion, question: str, key: str, before: Mapping[str, int | None]) -> int | None:
    """One question; None as long as it is not answered."""
    low, high = criterion.limits
    choices = [*range(low, high + 1)] + ([_UNDECIDED] if criterion.undecided else [])
    earlier = None
    if criterion.id in before:
        value = before[criterion.id]
        earlier = choices.index(_UNDECIDED if value is None else value)
    st.html(str(el("p", el("strong", question), f". {criterion.definition}")))
    return st.radio(
        question,  # read out only: what is seen stands above, as text
        choices,
        index=earlier,
        format_func=lambda choice: _plain(criterion.undecided if choice == _UNDECIDED else criterion.words(choice)),
        horizontal=criterion.range is not None,
        key=key,
        label_visibility="collapsed",
    )


def _plain(text: str) -> str:
    """A text that Streamlit's Markdown shows as it is."""
    return _MARKDOWN.sub(r"\\\1", text)
