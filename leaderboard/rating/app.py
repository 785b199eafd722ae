"""The page Rate: one post, its responses, and the questions of the rubric about one of them."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

import streamlit as st

from hellofresh.core.clock import now
from hellofresh.core.errors import HelloFreshError, SubmissionError
from hellofresh.core.net.public import PublicHttp
from hellofresh.core.quarters import utc_text
from hellofresh.judging.assignments import RaterPlan, RatingTurn
from hellofresh.judging.links import check_links
from hellofresh.judging.people import OpenStudy, open_study
from hellofresh.judging.submitted import RaterSheet, SheetState, Step, SubmittedAnswers, SubmittedRating, check_answers
from hellofresh.judging.table import RatingPhase
from leaderboard.components.markup import el
from leaderboard.rating.form import ask, show_post, show_responses

_AGENT = "HelloFresh rating page"
_STYLE = """<style>
.rate-text { white-space: pre-wrap; overflow-wrap: anywhere; unicode-bidi: isolate; border: 1px solid #8886;
  border-radius: 4px; padding: .6rem .8rem; }
.rate-now { border-width: 3px; }
.rate-media { max-width: 100%; max-height: 24rem; }
</style>"""


def main() -> None:
    """Show the page to whoever has a token."""
    st.set_page_config(page_title="Rate", layout="wide")
    st.html(_STYLE)
    try:
        study = _study(sys.argv[1])
        plan = _rater(study)
        if plan is not None:
            _show(study, plan)
    except HelloFreshError as error:
        st.error(f"{error}", icon=None)


@st.cache_resource
def _study(folder: str) -> OpenStudy:
    return open_study(Path(folder))


def _rater(study: OpenStudy) -> RaterPlan | None:
    """Whose turn it is, by the token of the address or of the field."""
    st.title("Rate")
    token = st.query_params.get("token", "")
    if not token:
        token = st.text_input("Your token", type="password")
        if not token:
            st.write("Enter the token that you were given.")
            return None
    plan = study.assignments.of_token(token)
    if plan is None:
        st.error("This token is not known. Check that it is complete.")
    return plan


def _show(study: OpenStudy, plan: RaterPlan) -> None:
    sheet = study.sheet(plan)
    state = sheet.state()
    everything = list(plan.responses)
    left = [(turn, response) for turn, response in everything if response not in state.submitted]
    done = len(everything) - len(left)
    st.progress(done / len(everything), text=f"{done} of {len(everything)} responses are rated")
    if study.is_closed:
        st.info("This study is closed. Thank you.")
        return
    if state.last is not None and st.button("Undo the last one", shortcut="Alt+U"):
        sheet.append(_line(Step.UNDONE, state.last, SubmittedAnswers(), 0.0))
        st.rerun()
    if not left:
        st.success("All of your responses are rated and stored. Thank you.")
        return
    _rate(study, sheet, state, *left[0])


def _rate(study: OpenStudy, sheet: RaterSheet, state: SheetState, turn: RatingTurn, response: str) -> None:
    """One response: what it answers to, what it says, and the questions."""
    practice = turn.phase == RatingPhase.ONBOARDING
    if practice:
        st.info("This is for practice: explain your ratings. They are kept apart from the others.")
    show_post(study.samples[turn.sample])
    several = st.radio("Responses", ("One by one", "Side by side"), horizontal=True, key="view") == "Side by side"
    names = turn.responses if several else (response,)
    show_responses([(study.responses[name], turn.responses.index(name)) for name in names], response)
    links = study.responses[response].sources
    if links and st.button("Check the links", key=f"check-{response}"):
        _show_links(links)
    started = st.session_state.setdefault(f"start-{response}", time.monotonic())
    before = state.drafts[response].answers if response in state.drafts else SubmittedAnswers()
    answers = ask(study.rubric, response, links, before, comment_required=practice)
    seconds = round(time.monotonic() - started, 1)
    if answers not in (before, SubmittedAnswers()):
        sheet.append(_line(Step.DRAFT, response, answers, seconds))
    st.caption(f"Kept as a draft: {answers.count} answers. Alt+S submits them.")
    if st.button("Submit", type="primary", shortcut="Alt+S", key=f"submit-{response}"):
        try:
            check_answers(study.rubric, answers, links, turn.phase)
        except SubmissionError as error:
            st.error(str(error))
            return
        sheet.append(_line(Step.SUBMITTED, response, answers, seconds))
        st.rerun()


def _line(step: Step, response: str, answers: SubmittedAnswers, seconds: float) -> SubmittedRating:
    return SubmittedRating(step, response, answers, seconds, utc_text(now()))


def _show_links(links: tuple[str, ...]) -> None:
    with st.spinner("Asking for the pages ..."):
        reports = asyncio.run(check_links(PublicHttp(_AGENT), links))
    for report in reports:
        moved = f", moved to {report.final}" if report.final != report.address else ""
        st.html(str(el("p", f"{report.address}: {report.state} ({report.detail}{moved})", class_="rate-text")))


if __name__ == "__main__":
    main()
