"""The form of the page Submit: templates, upload, findings, preview, package and receipt, by Streamlit's widgets."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Sequence
from pathlib import Path

import streamlit as st

from hellofresh.core.clock import now
from hellofresh.core.errors import HelloFreshError, SubmissionError
from hellofresh.results.board.system_rows import Participant
from hellofresh.submissions.check import Due, Submission, blank_info, blank_predictions, zipped
from hellofresh.submissions.format import REGIMES, SYSTEM, WEIGHTS
from hellofresh.submissions.inbox import VARIABLE, HandedIn, Inbox
from leaderboard.components.labels import task_title
from leaderboard.components.markup import Html, el, heading, notice, visible
from leaderboard.data.board import Board
from leaderboard.data.uploads import Upload, known_teams_on, review, said_toml, visitor_of
from leaderboard.views.submit import (
    check_result,
    due_key,
    due_label,
    opening,
    otherwise,
    preview,
    received,
    what_is_due,
)

_MEGABYTES = 10
_FACTS = {"file": "Upload system.toml", "form": "Fill in a form"}


def _show(*parts: Html | str | None) -> None:
    if any(part is not None for part in parts):
        st.html(str(el("div", *parts, class_="hf")))


def show_form(board: Board, dues: Sequence[Due]) -> None:
    """Open tasks, and the form that checks and submits predictions."""
    moment = now()
    _show(opening(dues, moment))
    options = {due_key(due): due for due in reversed(dues) if any(due.ids.values())}
    if not options:
        _show(el("p", "The board has no samples to check predictions against."))
        return
    first = next((key for key, due in reversed(options.items()) if due.takes(moment)), next(iter(options)))
    titles = {key: due_label(due, moment) for key, due in options.items()}
    asked = st.query_params.get("for", first)
    at = list(titles).index(asked if asked in titles else first)
    chosen = st.selectbox("Edition", list(titles), at, format_func=titles.__getitem__, width=280)
    if chosen != first or "for" in st.query_params:  # so that a link contains it
        st.query_params["for"] = str(chosen)
    due = options[str(chosen)]
    _show(what_is_due(due, moment))
    _templates(due)
    _show(heading("Upload", f"At most {_MEGABYTES} MB each. Files are checked and not kept."))
    predictions, system, names = _uploads(due, str(chosen))
    if predictions is None and system is None:
        return
    entries = [entry for split in board.splits for entry in board.entries(split).values()]
    known = known_teams_on([*entries, *(one for split in board.splits for one in board.rows(Participant, split))])
    found = review(due, predictions, system, team=names[0], name=names[1], known=known)
    _show(heading("Result of the check"), check_result(found))
    if found.submission is not None:
        _take(found.submission, due)


def _uploads(due: Due, chosen: str) -> tuple[Upload | None, Upload | None, tuple[str, str]]:
    """The boxes of both files: predictions, the system, and the names of folders."""
    left, right = st.columns(2)
    with left:
        predictions = _uploaded(f"Predictions ({due.files.jsonl} or {due.files.csv})", f"predictions_{chosen}")
        with st.expander("Names of folders"):
            st.text("They are made from the names of team and system. A team keeps its folder from quarter to quarter.")
            with st.container(horizontal=True):
                team = st.text_input("Team's folder", key="team_folder", max_chars=40, width=240).strip()
                name = st.text_input("System's folder", key="system_folder", max_chars=40, width=240).strip()
    with right:
        return predictions, _system(), (team, name)


def _download(label: str, content: str | bytes, name: str, mime: str, key: str) -> None:
    st.download_button(label, content, name, mime, key=key, icon=":material/download:", on_click="ignore")


def _templates(due: Due) -> None:
    """Buttons that download the two templates."""
    choices = {"": list(due.ids)} | ({task: [task] for task in due.ids} if len(due.ids) > 1 else {})
    file = due.files.jsonl
    with st.container(horizontal=True):
        for task, tasks in choices.items():
            only = f", {task_title(task)} only" if task else ""
            rows, key = blank_predictions(due, tasks), f"template_{due_key(due)}_{task}"
            _download(f"{file}{only}", rows, file, "application/jsonl", key)
        _download(SYSTEM, blank_info(), SYSTEM, "application/toml", "template_system")


def _uploaded(label: str, key: str) -> Upload | None:
    file = st.file_uploader(label, key=key, max_upload_size=_MEGABYTES)
    return Upload(file.name, file.getvalue()) if file is not None else None


def _system() -> Upload | None:
    """`system.toml`, uploaded or made by the form."""
    how = st.selectbox("What the system is", list(_FACTS), format_func=_FACTS.__getitem__, width=240, key="box_facts")
    if how == "file":
        st.session_state.pop("facts_said", None)
        return _uploaded("The system (system.toml)", "system")
    with st.form("facts"):
        said = {
            "name": st.text_input("Name of the system", max_chars=80),
            "team": st.text_input("Name of the team", max_chars=80),
            "contact": st.text_input("Where the maintainers can reach you", max_chars=80),
            "regime": st.selectbox("How models are asked", REGIMES, index=None, placeholder="Choose") or "",
            "models": st.text_area("Models inside, one per line", max_chars=2000, height=80),
            "knowledge_cutoff": st.text_input("Knowledge cutoff (2026-01-31, or unknown)", "unknown", max_chars=20),
            **_model_facts(),
            "url": st.text_input("Page about it (optional)", max_chars=300),
            "notes": st.text_area("A remark for the board (optional)", max_chars=2000, height=80),
        }
        if st.form_submit_button("Use these facts"):
            st.session_state["facts_said"] = True
    return Upload(SYSTEM, said_toml(said)) if st.session_state.get("facts_said") else None


def _model_facts() -> dict[str, str]:
    """The boxes of facts on the main model."""
    st.text("Main model, as far as you know (optional)")
    with st.container(horizontal=True):
        return {
            "maker": st.text_input("Who trained it", max_chars=80, width=200),
            "weights": st.selectbox("Weights", WEIGHTS, index=None, placeholder="Unknown", width=140) or "",
            "size_billions": st.text_input("Size in billions of parameters", max_chars=20, width=220),
            "released": st.text_input("Released (2026, 2026-01 or 2026-01-31)", max_chars=10, width=270),
        }


def _take(submission: Submission, due: Due) -> None:
    """A checked submission: its preview, the package to download, and the upload to an inbox, if any."""
    _show(preview(submission, due))
    said = "The two files in their canonical form, in correctly named folders."
    _show(heading("The checked package", said))
    name = f"{due_key(due)}-{submission.team}-{submission.system}.zip"
    _download("Download the package", zipped(submission, due.split), name, "application/zip", "package")
    if not due.takes(now()):
        _show(el("p", f"{due_key(due)} accepts no predictions at the moment: this was only a check."))
        return
    inbox = os.environ.get(VARIABLE)
    if inbox:
        _hand_in(submission, due, Inbox(Path(inbox)))
    _show(otherwise(submission, due))


def _hand_in(submission: Submission, due: Due, inbox: Inbox) -> None:
    _show(heading("Submit", "Maintainers copy it into the public folder of submissions, including your contact."))
    kept: dict[str, HandedIn] = st.session_state.setdefault("handed_in", {})
    mark = f"{due_key(due)}/{submission.team}/{submission.system}/{submission.sha256}"
    if st.button("Submit", type="primary", disabled=mark in kept):
        try:
            visitor = visitor_of(st.context.ip_address, st.context.headers.get("X-Real-IP"))
            kept[mark] = inbox.hand_in(submission, due, visitor=visitor)
        except SubmissionError as error:
            _show(notice(f"{visible(error.what[:1].upper() + error.what[1:], 300)}.", visible(error.fix, 300)))
        except HelloFreshError as error:
            logging.getLogger("leaderboard").error("%s", error)  # for the operator; visitors do not see paths
            what = "The inbox cannot accept submissions at the moment."
            _show(notice(what, "Try again later, or send a pull request."))
    if mark in kept:
        done = kept[mark]
        _show(received(done.receipt, new=done.new))
        content = json.dumps(done.receipt.to_json(), indent=2, sort_keys=True) + "\n"
        _download("Download the receipt", content, due.files.receipt, "application/json", "receipt")
