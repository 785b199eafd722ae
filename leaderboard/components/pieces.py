"""The pieces that all pages are made of."""

from __future__ import annotations

from datetime import datetime

from hellofresh.core.errors import HelloFreshError
from hellofresh.core.quarters import utc_text
from hellofresh.leaderboard.components.labels import day
from hellofresh.leaderboard.components.markup import Html, el, join, link, visible
from hellofresh.results.board.manifest import BoardAddresses

LEDE = "How well do language models predict people's decisions, judge statements, correct posts and find evidence?"
"""What the leaderboard is, in one sentence."""
_DEMONSTRATION = "This quarter was written for the project, to try it out. Its scores are for demonstration only."
_HUB = "https://huggingface.co/datasets/"
_TITLES = {"no-board": "There is no board yet", "damaged-board": "The board cannot be read"}


def page_header(title: str, lede: str) -> Html:
    """The page's title and the sentence that says what it is."""
    return el("header", el("h1", title), el("p", lede, class_="hf-lede"), class_="hf")


def preview_tags(title: str, about: str) -> Html:
    """What a page's head says of it: to the window, to search engines and to programs that preview a link."""
    said = {"og:title": title, "og:description": about, "og:type": "website", "og:site_name": "HelloFresh"}
    metas = (el("meta", property=name, content=text) for name, text in said.items())
    return join([el("title", title), el("meta", name="description", content=about), *metas])


def heading(title: str, *explained: Html | str) -> Html:
    """A section's title with what is to be known before reading on."""
    return el("div", el("h2", title), el("p", *explained) if explained else None, class_="hf-heading")


def notice(title: str, *text: Html | str) -> Html:
    """A box that must not be overlooked."""
    return el("div", el("strong", title), " ", *text, class_="hf-notice", role="note")


def bundled_notice(bundled: bool, text: str = _DEMONSTRATION) -> Html | None:
    """That what is shown was written for the project, if it was."""
    return notice("Bundled sample.", text) if bundled else None


def until(moment: datetime) -> Html:
    """A day; a script adds how far it is from the visitor's own."""
    return el("time", day(moment), datetime=utc_text(moment), data_hf="until")


def project_links(known: BoardAddresses) -> Html | None:
    """Ways to the repository, the issues and the data set; None where none is known."""
    dataset = f"{_HUB}{known.dataset}" if known.dataset else ""
    ways = {known.repository: "Repository", known.issues: "Report an issue", dataset: "Data set"}
    items = [el("span", link(address, text), " ") for address, text in ways.items() if address]
    return el("p", *items, class_="hf-project") if items else None


def problem(error: HelloFreshError) -> Html:
    """Say in place of a page what is wrong, where, and which command helps."""
    what = visible(error.what, 300)
    known = error.code in _TITLES
    command = (
        el("p", "Build it in the project's folder, then reload this page:"),
        el("pre", "make release"),
        el("p", "If it is already running, wait until it has finished."),
    )
    where = [": ", el("code", visible(error.where, 300))] if error.where else ["."]
    return el(
        "div",
        el("h2", _TITLES.get(error.code, "This page cannot be shown")),
        el("p", f"{what[:1].upper()}{what[1:]}", *where),
        *(command if known else [el("p", visible(error.fix, 300))]),
        class_="hf hf-problem",
        role="alert",
    )
