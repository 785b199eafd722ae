"""Predictions by people: raters answer the models' questions about samples before labels are public.

A subset of a quarter's samples is drawn once and its ids are published in
`releases/<edition>/ratings/<task>.asked.jsonl`: the first in the order of SHA-256 of `people:<id>`, independent of
labels. Each sample goes to three people or more, mixed with attention checks. Answers could reveal labels: they stay in
the private folder, also after the study is closed, and are published with the labels
(`hellofresh.results.scoring.people`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path

import polars as pl

from hellofresh.core.editions import Edition
from hellofresh.core.errors import UsageError
from hellofresh.core.files import read_ids, sha256_text, write_jsonl
from hellofresh.core.parquet import Table
from hellofresh.core.quarters import utc_text
from hellofresh.core.workspace import Workspace
from hellofresh.judging.people import RaterAccess, SystemResponse, seeded_random, set_up_study
from hellofresh.judging.study import (
    PREDICTIONS,
    RATINGS,
    RatingPhase,
    StudyFiles,
    StudySample,
    read_samples,
    read_table,
    study_rubric,
)
from hellofresh.releases.life.load import Release
from hellofresh.tasks import Task
from hellofresh.tasks.images import media_of
from hellofresh.tasks.samples import Sample

VOTERS = 3
"""Fewest people who predict each sample; the first of them vote."""
_SPARE = 2  # additional people per sample, if available, in case somebody knew the outcome or stops
_LEAST_EACH = 20  # with many people, each predicts about this many samples rather than fewer
_CHECKS = 2
LEVELS = {"surely": 95, "probably": 80, "rather": 60}
"""Words on the buttons of a question with two classes, and the certainty in percent that each stands for."""
_LABEL, _CERTAINTY, _KNOWN = "class", "certainty", "known"


@dataclass(frozen=True, slots=True)
class PersonAnswer:
    """One person's (such as `rater-1`) answer to one sample, with certainty in percent, or to an attention check."""

    sample: str
    judge: str
    label: int
    certainty: int
    known: bool
    asked_label: int | None = None
    asked_certainty: int | None = None

    @property
    def is_check(self) -> bool:
        """Whether it answers an attention check."""
        return self.asked_label is not None

    @property
    def fails_check(self) -> bool:
        """Whether it fails an attention check."""
        return self.is_check and (self.label, self.certainty) != (self.asked_label, self.asked_certainty)


ANSWERS = Table(PersonAnswer)


def asked_file(workspace: Workspace, edition: Edition, task: str) -> Path:
    """The file with the ids of the samples for people."""
    return workspace.root / "releases" / str(edition) / "ratings" / f"{task}.asked.jsonl"


def first_for_people(ids: Sequence[str], count: int) -> list[str]:
    """The first ids in the order of SHA-256 of `people:<id>`, which is reproducible and independent of labels."""
    return sorted(ids, key=lambda name: sha256_text(f"people:{name}"))[:count]


def deal_to_people(samples: Sequence[str], people: int, *, seed: str) -> list[list[str]]:
    """The samples of each person; each sample goes to the people with fewest samples so far.

    Args:
        samples: ids.
        people: how many.
        seed: the same seed deals the same.

    Raises:
        UsageError: if there are fewer than `VOTERS` people.
    """
    if people < VOTERS:
        expected = f"at least {VOTERS} --rater NAME; the board shows 5 or more"
        raise UsageError(f"{people} people for predictions", expected=expected, code="too-few-raters")
    source = seeded_random(seed, "people")
    dealt: list[list[str]] = [[] for _ in range(people)]
    each = min(people, max(VOTERS + _SPARE, ceil(_LEAST_EACH * people / len(samples))))
    for name in source.sample(sorted(samples), len(samples)):
        for place in sorted(range(people), key=lambda k: (len(dealt[k]), source.random()))[:each]:
            dealt[place].append(name)
    for own in dealt:
        source.shuffle(own)
    return dealt


def _subset(release: Release, count: int, path: Path) -> Sequence[str]:
    """Ids of the samples for people: the published ones, or else drawn now."""
    if not 1 <= count <= len(release.samples):
        expected = f"1 to {len(release.samples)}"
        raise UsageError(f"{count} samples for people", expected=expected, code="bad-samples")
    if not path.is_file():
        return first_for_people([sample.id for sample in release.samples], count)
    before = list(read_ids(path))
    if len(before) != count:
        fix = f"The subset is drawn once a quarter: --samples {len(before)}"
        raise UsageError(f"{count} samples", expected=f"{len(before)}, as published", fix=fix, code="drawn-before")
    return before


def assign_predictions(
    files: StudyFiles, release: Release, names: Sequence[str], *, count: int, seed: str = "hellofresh"
) -> list[RaterAccess]:
    """Draw and publish the subset unless done before, deal it to people, and give each a token.

    Args:
        release: whose samples are predicted; those without texts here are not asked about.
        names: of the people.
        count: how many samples are drawn.
        seed: the same seed deals the same.

    Raises:
        UsageError: if people are too few, a number makes no sense, or another number was drawn before.
    """
    task, path = release.task, asked_file(files.workspace, files.edition, files.task)
    asked = _subset(release, count, path)
    there = {sample.id: sample for sample in release.with_texts()}
    shown = [_shown(task, there[name]) for name in asked if name in there]
    if not shown:
        fix = f"Fill them in: hellofresh hydrate --quarter {files.edition}"
        raise UsageError("the drawn samples have no texts here", fix=fix, code="no-texts")
    checks = [_check(task, number) for number in range(1, _CHECKS + 1)]
    dealt = deal_to_people([item.id for item in shown], len(names), seed=seed)
    for number, own in enumerate(dealt):
        source = seeded_random(seed, "checks", str(number))
        for check in checks:
            own.insert(source.randint(0, len(own)), check.id)
    if not path.is_file():
        write_jsonl(path, [{"id": name} for name in asked])
    samples = [*shown, *checks]
    return set_up_study(
        files,
        samples,
        [SystemResponse(item.id, "", "") for item in samples],
        names,
        [[(name, RatingPhase.MAIN) for name in own] for own in dealt],
        _rubric(task),
        _guide(task),
        seed=seed,
        predicts=True,
        until=utc_text(release.days.reveals),
    )


def _shown(task: Task, sample: Sample) -> StudySample:
    """A sample as people see it: what its page shows, without a link to where its outcome can be seen."""
    return StudySample(
        sample.id,
        date=utc_text(sample.date),
        media=tuple(item.address for item in media_of(sample)),
        parts=tuple((part.name, part.text) for part in task.page_of(sample).parts if part.text),
    )


def _check(task: Task, number: int) -> StudySample:
    label, certainty = number % len(task.classes), 23 * number
    asked = f"Choose “{task.classes[label]}” and give {certainty} as your certainty"
    if len(task.classes) == 2:
        word, certainty = [*LEVELS.items()][number % len(LEVELS)]
        asked = f"Press “{word} {task.classes[label]}”"
    said = f"This one checks that you read. {asked}, and do not say that you knew it."
    facts = {_LABEL: str(label), _CERTAINTY: str(certainty)}
    return StudySample(f"check-{number}", parts=(("please read", said),), facts=facts)


def _rubric(task: Task) -> bytes:
    """The questions to people as a rubric; a JSON string is one of TOML, too."""
    options = ", ".join(
        f'{{ id = "class-{number}", words = {json.dumps(name, ensure_ascii=False)} }}'
        for number, name in enumerate(task.classes)
    )
    return f"""\
name = "{PREDICTIONS}"
title = {json.dumps(f"Predict: {task.title}", ensure_ascii=False)}
overall = "{_LABEL}"

[[criteria]]
id = "{_LABEL}"
group = "prediction"
title = {json.dumps(task.question, ensure_ascii=False)}
definition = "Choose what you expect, even where you are not sure."
options = [{options}]

[[criteria]]
id = "{_KNOWN}"
group = "prediction"
title = "Did you know the outcome?"
definition = "I knew this one: you remember what came of it, or have seen it somewhere."
options = [{{ id = "no", words = "No" }}, {{ id = "yes", words = "I knew this one" }}]

[[criteria]]
id = "{_CERTAINTY}"
group = "prediction"
title = "How certain are you, from 0 to 100?"
definition = "Your chance in percent of being right: 100 is certain, {round(100 / len(task.classes))} a guess."
range = [0, 100]
""".encode()


def _guide(task: Task) -> bytes:
    said = f"""\
You will see samples of “{task.title}”, one at a time, with the same texts that language models get, and the same \
question: {task.question}

For each one say what you expect and how certain you are, and whether you knew the outcome already. Answer from what \
you read and know: do not search, do not ask a chatbot, and do not look at what became of it. Nobody is graded, and \
your name appears nowhere.

A few of them only check that you read: do what they say."""
    return f"instructions = {json.dumps(said, ensure_ascii=False)}\n".encode()


def is_prediction_study(files: StudyFiles) -> bool:
    """Whether what was closed here are people's predictions."""
    return files.is_closed and study_rubric(files).name == PREDICTIONS


def people_answers(files: StudyFiles) -> list[PersonAnswer]:
    """What people predicted, from the closed study, in the order of people's numbers and samples.

    Raises:
        DataError: if a file of it is damaged.
    """
    checks = {item.id: item.facts for item in read_samples(files) if item.facts}
    values: dict[tuple[str, str], dict[str, int]] = {}
    for row in read_table(files.ratings, RATINGS).filter(pl.col("value").is_not_null()).iter_rows(named=True):
        values.setdefault((row["judge"], row["sample"]), {})[row["criterion"]] = int(row["value"])
    return [
        PersonAnswer(
            sample,
            judge,
            said[_LABEL],
            said[_CERTAINTY],
            bool(said[_KNOWN]),
            *(int(checks[sample][name]) if sample in checks else None for name in (_LABEL, _CERTAINTY)),
        )
        for (judge, sample), said in sorted(values.items(), key=lambda item: (rater_number(item[0][0]), item[0][1]))
    ]


def rater_number(judge: str) -> int:
    """The number in a rater's name, such as `rater-12`."""
    return int(judge.rpartition("-")[2])
