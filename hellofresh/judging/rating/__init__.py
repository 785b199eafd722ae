"""The page Rate: an offline HTML file for each rater, and a server that receives raters' submissions.

A page holds only the blinded responses of its rater (or the samples to predict), loads nothing, and contacts only the
host that served it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from aiohttp import web

from hellofresh.core.errors import SubmissionError, UsageError
from hellofresh.core.files import BadJsonError, as_model, read_model, strict_json, write_bytes
from hellofresh.core.net.local_site import LocalSite, one_file_page
from hellofresh.core.strict import Strict
from hellofresh.core.texts import without_hidden
from hellofresh.judging.people import OpenStudy, RaterPlan, open_study
from hellofresh.judging.predicting import LEVELS
from hellofresh.judging.rubric import Criterion, Rubric, WorkedExample
from hellofresh.judging.submitted import MOST_COMMENT, SubmittedRating, check_line
from hellofresh.tasks import get_task
from hellofresh.tasks.samples import to_json

_MOST_BYTES = 8 * 2**20
_MOST_BUTTONS = 20  # a longer scale is typed


def _example(rubric: Rubric, item: WorkedExample) -> dict[str, object]:
    answers = [(rubric.criterion(name).title, rubric.words(name, value)) for name, value in item.answers.items()]
    return {"post": item.post, "response": item.response, "why": item.why, "answers": answers}


def rater_page(study: OpenStudy, plan: RaterPlan, token: str) -> str:
    """The page of one rater as self-contained HTML; the token authorizes submissions."""
    own = [response for _, response in plan.responses]
    content = {
        "key": f"{study.assignments.edition}/{study.assignments.task}/{plan.rater}/{plan.token_sha256[:16]}",
        "edition": study.assignments.edition,
        "task": study.assignments.task,
        "rater": plan.rater,
        "token": token,
        "title": study.rubric.title,
        "question": get_task(study.assignments.task).question,
        "predicts": study.assignments.predicts,
        "criteria": [_criterion(study.rubric, item) for item in study.rubric.criteria],
        "instructions": study.guide.instructions.strip(),
        "examples": [_example(study.rubric, item) for item in study.guide.examples],
        "turns": [to_json(turn) for turn in plan.turns],
        "samples": {
            name: {
                "parts": study.samples[name].parts or [("post", study.samples[name].text)],
                "address": study.samples[name].address,
                "media": study.samples[name].media,
            }
            for name in (turn.sample for turn in plan.turns)
        },
        "responses": {
            name: {"text": study.responses[name].text, "sources": study.responses[name].sources} for name in own
        },
        "most_comment": MOST_COMMENT,
        "levels": [*LEVELS.items()] if study.assignments.predicts else [],
        "until": study.assignments.until,
    }
    # Within a script, `<` could end it.
    return one_file_page(__package__, study=json.dumps(content, ensure_ascii=False).replace("<", "\\u003c"))


def _criterion(rubric: Rubric, criterion: Criterion) -> dict[str, object]:
    low, high = criterion.limits
    condition = criterion.ask_if
    number = criterion.range is not None and criterion.answers > _MOST_BUTTONS and criterion.unit == "response"
    return {
        **{name: getattr(criterion, name) for name in ("id", "title", "definition", "unit")},
        "low": low,
        "high": high,
        "range": criterion.range is not None,
        "number": number,
        "options": [] if number else [criterion.words(value) for value in range(low, high + 1)],
        "undecided": criterion.undecided,
        "ask_if": condition
        and {
            "criterion": condition.criterion,
            "values": [rubric.criterion(condition.criterion).value_of(option) for option in condition.is_],
        },
    }


def write_pages(folder: Path, study: OpenStudy, tokens: Mapping[str, str]) -> list[Path]:
    """Write the page of each rater."""
    paths = []
    for plan in study.assignments.raters:
        path = folder / f"{plan.rater}.html"
        write_bytes(path, rater_page(study, plan, tokens[plan.rater]).encode(), mode=0o600)
        paths.append(path)
    return paths


class RatingFile(Strict):
    """The file that a rater sends at the end: all submissions and undoings, and the token for identification."""

    edition: str
    task: str
    rater: str
    token: str
    lines: list[dict[str, object]]
    format: int = 1


def take_file(study: OpenStudy, path: Path) -> int:
    """Import a rater's file, skipping known lines; returns the number of new lines.

    Raises:
        DataError, SubmissionError: if it is not such a file, of another study, or not by a rater of this one.
    """
    handed = read_model(path, RatingFile)
    where, assignments = path.name, study.assignments
    if (handed.edition, handed.task) != (assignments.edition, assignments.task):
        raise SubmissionError(
            f"ratings of {handed.edition[:60]}, {handed.task[:60]}",
            where=where,
            expected=f"{assignments.edition}, {assignments.task}",
            code="other-study",
        )
    plan = assignments.of_token(handed.token)
    if plan is None or plan.rater != handed.rater:
        fix = "Raters may have been assigned again since; ask for a rating of the page that they have now."
        raise SubmissionError(
            "not by a rater of this study: the token is unknown", where=where, fix=fix, code="unknown-token"
        )
    return take_lines(study, plan, handed.lines, where=where)


def take_lines(study: OpenStudy, plan: RaterPlan, lines: list[dict[str, object]], *, where: str) -> int:
    """Check a rater's lines and add the new ones to their sheet, all or none; returns the number of new lines.

    Raises:
        DataError, SubmissionError: if a line is not what the page writes, or rates what is not the rater's.
        UsageError: if the study is closed, and there is a new line.
    """
    phases = {response: turn.phase for turn, response in plan.responses}
    read = []
    for number, line in enumerate(lines, start=1):
        rating = as_model(SubmittedRating, without_hidden(line), where=f"{where} line {number}")
        if rating.response not in phases:
            raise SubmissionError(
                "a response that is not the rater's", where=f"{where} line {number}", code="other-response"
            )
        check_line(study.rubric, rating, study.responses[rating.response].sources, phases[rating.response])
        read.append(rating)
    sheet = study.sheet(plan)
    known = {line.id for line in sheet.lines()}
    new = [line for line in {line.id: line for line in read}.values() if line.id not in known]
    if new and study.is_closed:
        raise UsageError("This study is closed.", code="closed")
    sheet.extend(new)
    return len(new)


def rating_site(folder: Path, *, port: int, origins: list[str]) -> LocalSite:
    """The server of a study's pages, which reads only the page's folder.

    Raises:
        WorkspaceError, DataError: as `open_study`.
    """
    study = open_study(folder)

    def plan_of(token: str) -> RaterPlan:
        plan = study.assignments.of_token(token)
        assert plan is not None  # the site lets only raters in
        return plan

    async def page(_: web.Request, token: str) -> web.StreamResponse:
        return web.Response(text=rater_page(study, plan_of(token), token), content_type="text/html")

    async def lines(request: web.Request, token: str) -> web.StreamResponse:
        plan = plan_of(token)
        try:
            body = strict_json(await request.read())
        except BadJsonError as error:
            raise SubmissionError(f"not JSON: {error}", code="bad-json") from None
        handed = as_model(_HandedLines, body, where="what the page sent")
        take_lines(study, plan, handed.lines, where="what the page sent")
        kept = [to_json(line) for line in study.sheet(plan).lines() if line.id] if handed.all else []
        return web.json_response({"lines": kept})

    def opens(token: str) -> bool:
        return study.assignments.of_token(token) is not None

    return LocalSite(opens, page, {"/lines": lines}, port=port, origins=origins, most_bytes=_MOST_BYTES)


class _HandedLines(Strict):
    """A page's request: new lines, and whether it wants all stored lines."""

    lines: list[dict[str, object]]
    all: bool = False
