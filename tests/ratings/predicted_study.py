"""A study of people who predict, about an open quarter; all people in it are invented."""

from __future__ import annotations

import random
from pathlib import Path

from hellofresh.core.calendar import CalendarRule
from hellofresh.core.quarters import Quarter
from hellofresh.judging.people import open_study, page_folder
from hellofresh.judging.predicting import assign_predictions
from hellofresh.judging.rating import take_lines
from hellofresh.judging.study import StudyFiles
from hellofresh.releases.life.load import load_labels, load_release
from hellofresh.tasks import get_task
from tests.conftest import Maker

QUARTER, NOTES = Quarter(2023, 2), get_task("x-notes")
DAYS = CalendarRule().of(QUARTER)
OPEN = "2023-09-01T00:00:00Z"


def asked(folder: Path, people: int = 6, count: int = 60) -> StudyFiles:
    """An open quarter of 72 notes, and people who are asked about some."""
    make = Maker(folder)
    make.release(make.notes(12, 12))
    files = StudyFiles(make.workspace(), QUARTER, NOTES.name)
    names = [f"Name {k}" for k in range(people)]
    assign_predictions(files, load_release(files.workspace, QUARTER, NOTES), names, count=count)
    return files


def answer(files: StudyFiles, right: float = 0.7, known: float = 0.1, careless: tuple[str, ...] = ()) -> None:
    """Everybody answers everything; `careless` people fail the attention checks."""
    study, source = open_study(page_folder(files)), random.Random(1)
    labels = load_labels(files.workspace, QUARTER, NOTES)
    for plan in study.assignments.raters:
        lines = []
        for number, (turn, response) in enumerate(plan.responses):
            facts = study.samples[turn.sample].facts
            if facts:
                said = (int(facts["class"]), 0, int(facts["certainty"]) - (plan.rater in careless))
            else:
                label = labels[turn.sample].label
                said = (label if source.random() < right else 1 - label, int(source.random() < known), 60)
            values = dict(zip(("class", "known", "certainty"), said, strict=True))
            lines.append(line(response, number, values))
        assert take_lines(study, plan, lines, where="x") == len(lines)


def line(response: str, number: int, values: dict[str, int]) -> dict[str, object]:
    at = f"2023-09-01T10:{number // 60:02d}:{number % 60:02d}.000Z"
    said = {"answers": {"values": values, "links": {}, "comment": ""}, "seconds": 1, "at": at}
    return {"id": f"{number:032x}", "step": "submitted", "response": response, **said}
