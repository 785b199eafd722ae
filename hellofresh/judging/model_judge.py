"""A model rates the responses of a closed study, blinded, with a journal and a budget.

`judges/<edition>/<task>/<run>/` holds `journal.sqlite` and, made from it, `judged.jsonl`: what was read of each answer.
Ratings go into the study's one table, in place of earlier ones by the same judge; comparisons of pairs stay in the
run's folder, for the check of bias by position.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path

import polars as pl

from hellofresh.core.errors import DataError, RunError, UsageError
from hellofresh.core.files import canonical_json, read_models, sha256_text, write_jsonl
from hellofresh.core.quarters import parse_utc
from hellofresh.judging.judge_regime import (
    ComparedPair,
    JudgedResponse,
    JudgeRegime,
    JudgeSettings,
    judge_prompts,
    read_said,
    slots_of,
)
from hellofresh.judging.study import RatedStudy, StudySample, read_responses, read_samples
from hellofresh.judging.table import RATINGS, JudgeKind, Rating, RatingPhase, check_ratings, with_weights, write_table
from hellofresh.models.catalogue import ModelContext, open_model
from hellofresh.runs import Assignment, Forecast, Journal, Patience, RunResult, Tally, forecast, run, snapshot
from hellofresh.runs.record import model_identity
from hellofresh.tasks.outputs import Response
from hellofresh.tasks.samples import Sample

__all__ = [
    "Judging",
    "JudgingReport",
    "PairChoice",
    "foresee_judging",
    "judge_study",
    "judgings",
    "keep_ratings",
    "read_pairs",
]

_PAIRS = "pairs.jsonl"


@dataclass(frozen=True, slots=True)
class Judging:
    """Who judges what.

    Attributes:
        study: a closed study.
        model: name in the catalogue.
        settings: how it judges.
        limit: most samples (posts); None for all.
        budget_usd: most that it may cost.
        patience: how often failed questions are asked again.
    """

    study: RatedStudy
    model: str
    settings: JudgeSettings = field(default_factory=JudgeSettings)
    limit: int | None = None
    budget_usd: float | None = None
    patience: Patience = field(default_factory=Patience)


@dataclass(frozen=True, slots=True)
class JudgingReport:
    """What a judging came to: responses (or pairs) judged, those with nothing readable, and what failed."""

    folder: Path
    judge: str
    judged: int
    silent: int
    failed: int
    ratings: int
    tally: Tally


@dataclass(frozen=True, slots=True)
class PairChoice:
    """What a judge preferred of two responses: 1 the one shown first, 2 the other, 0 neither, None where unreadable.

    Attributes:
        sample: the post.
        one, two: blinded ids.
        first: with `one` shown first.
        second: with `two` shown first.
    """

    sample: str
    one: str
    two: str
    first: int | None
    second: int | None


def judge_study(judging: Judging, progress: Callable[[Tally], None]) -> JudgingReport:
    """Have a model judge, or go on where it was interrupted; answers that are stored are not asked for again.

    Raises:
        UsageError: if the model cannot judge, or its price is needed and not known.
        RunError: if the judging cannot go on; what was answered is kept.
    """
    assignment, samples, folder = _prepared(judging)
    with Journal(folder) as journal:
        result = run(assignment, samples, journal, progress)
    if result.failures and not result.judged:
        what = f"nothing could be judged; the first error: {result.failures[0].error}"
        raise RunError(what, where=folder.name, fix="Run the same command again to retry.", code="nothing-judged")
    said = [(item.sample, item.output) for item in result.judged if isinstance(item.output, Response)]
    write_jsonl(folder / "judged.jsonl", ({"id": name, **read_said(output)} for name, output in said))
    kept = _keep(judging, folder, samples, result)
    silent = sum(not any(value is not None for value in read_said(output).values()) for _, output in said)
    name = assignment.model.spec.name
    return JudgingReport(folder, name, len(said), silent, len(result.failures), kept, result.tally)


def foresee_judging(judging: Judging) -> Forecast:
    """What `judge_study` would ask; nothing is sent or written.

    Raises:
        UsageError: as `judge_study`.
    """
    assignment, samples, folder = _prepared(judging, only_known=True)
    with snapshot(folder) as journal:
        return forecast(assignment, samples, journal)


def _prepared(judging: Judging, *, only_known: bool = False) -> tuple[Assignment, Sequence[Sample], Path]:
    study = judging.study
    context = ModelContext(study.files.task, list, only_known=only_known)
    model = open_model(judging.model, context)
    if model.spec.kind != "language-model":
        raise UsageError(f"{model.spec.name} reads no prompt and cannot judge", code="baseline-judge")
    if judging.budget_usd is not None and model.spec.price is None and not model.spec.free:
        fix = "State its price in hellofresh.toml, or leave out --budget."
        raise UsageError(f"a budget for {model.spec.name}, whose price is unknown", fix=fix, code="unknown-price")
    regime = JudgeRegime(settings=judging.settings, rubric=study.rubric)
    prompts = judge_prompts(study.rubric, study.files.task)
    samples = _to_judge(judging)
    assignment = Assignment(
        model=model,
        regime=regime,
        prompt_set=prompts,
        prompts=prompts.prompts,
        slots=slots_of,
        budget_usd=judging.budget_usd,
        patience=judging.patience,
    )
    identity = [model_identity(model.spec), dict(regime.parameters), regime.version, prompts.sha256]
    root = study.files.workspace.root / "judges" / str(study.files.edition) / study.files.task
    name = model.spec.name.replace("/", "-")
    return assignment, samples, root / f"{name}_{regime.settings.mode}_{sha256_text(canonical_json(identity))[:12]}"


def _to_judge(judging: Judging) -> list[Sample]:
    """The responses of the posts that count, or all pairs of the main systems' responses to one post."""
    study = judging.study
    counted = set(study.ratings.filter(pl.col("phase") == str(RatingPhase.MAIN))["sample"])
    posts = [item for item in read_samples(study.files) if item.id in counted][: judging.limit]
    texts = {item.id: item.text for item in read_responses(study.files)}
    own = study.key.filter(pl.col("same_as") == "", pl.col("response").is_in(list(texts)))
    if judging.settings.mode == "pairs":
        own = own.filter(pl.col("system").is_in(study.main_systems))
    by_post: dict[str, list[str]] = {}
    for response, sample in own.select("response", "sample").sort("sample", "response").iter_rows():
        by_post.setdefault(sample, []).append(response)
    samples: list[Sample] = []
    for post in posts:
        mine = by_post.get(post.id, [])
        if judging.settings.mode == "pairs":
            samples += [_pair(study, post, one, two, texts) for one, two in combinations(mine, 2)]
        else:
            samples += [_judged(study, post, name, texts[name]) for name in mine]
    return samples


def _date(post: StudySample) -> datetime:
    return parse_utc(post.date) if post.date else datetime(1970, 1, 1, tzinfo=UTC)


def _judged(study: RatedStudy, post: StudySample, name: str, text: str) -> JudgedResponse:
    return JudgedResponse(
        id=name, task=study.files.task, edition=str(study.files.edition), period="", date=_date(post), group=post.id,
        license="", post=post.text, response=text,
    )  # fmt: skip


def _pair(study: RatedStudy, post: StudySample, one: str, two: str, texts: dict[str, str]) -> ComparedPair:
    return ComparedPair(
        id=f"{one}+{two}", task=study.files.task, edition=str(study.files.edition), period="", date=_date(post),
        group=post.id, license="", post=post.text, first=texts[one], second=texts[two],
    )  # fmt: skip


def _keep(judging: Judging, folder: Path, samples: Sequence[Sample], result: RunResult) -> int:
    groups = {sample.id: sample.group for sample in samples}
    said = [(item.sample, read_said(item.output)) for item in result.judged if isinstance(item.output, Response)]
    if judging.settings.mode == "pairs":
        pairs = (
            {"sample": groups[name], "one": name.partition("+")[0], "two": name.partition("+")[2], **values}
            for name, values in said
        )
        write_jsonl(folder / _PAIRS, pairs)
        return 0
    regime = JudgeRegime(settings=judging.settings, rubric=judging.study.rubric)
    model = folder.name.rpartition("_")[0].rpartition("_")[0]

    def ratings() -> Iterator[Rating]:
        for name, values in said:
            for criterion in regime.criteria:
                value = values.get(criterion.id)
                yield Rating(groups[name], name, "", model, JudgeKind.MODEL, criterion.id,
                             None if value is None else float(value), 1.0, RatingPhase.MAIN, "", "")  # fmt: skip

    return keep_ratings(judging.study, model, ratings())


def keep_ratings(study: RatedStudy, judge: str, ratings: Iterable[Rating]) -> int:
    """Put a judge's ratings into the study's table, in place of earlier ones of its; returns how many.

    Raises:
        DataError: if one is not by the rubric.
    """
    found = RATINGS.frame(ratings)
    people = study.ratings.filter(pl.col("judge") == judge, pl.col("kind") == str(JudgeKind.PERSON))
    if people.height:
        raise DataError(f"a person among the raters is called {judge}, as the judge is", code="judge-name")
    others = study.ratings.filter(pl.col("judge") != judge)
    table = with_weights(pl.concat([others, found]))
    check_ratings(table, study.rubric, where=f"the judge {judge}")
    write_table(study.files.ratings, RATINGS, table)
    return found.height


def judgings(study: RatedStudy, judge: str) -> list[Path]:
    """The folders in which a model compared pairs, in order."""
    root = study.files.workspace.root / "judges" / str(study.files.edition) / study.files.task
    return sorted(path.parent for path in root.glob(f"{judge}_pairs_*/{_PAIRS}"))


def read_pairs(folder: Path) -> list[PairChoice]:
    """The comparisons of a judging by pairs.

    Raises:
        DataError: if the file is missing or damaged.
    """
    return list(read_models(folder / _PAIRS, PairChoice))
