"""A model rates the responses of a closed study, blinded, with a journal and a budget.

Judging is a regime like others, with the journal, budget and dry run of every run. The model sees a fenced post and one
response, never a system's name. The order of criteria and the direction of options are random for each response, but
determined by its id.

`judges/<edition>/<task>/<run>/` holds `journal.sqlite` and, made from it, `judged.jsonl` with the parsed answers.
Ratings replace earlier ones by the same judge in the study's table; comparisons of pairs stay in the run's folder, for
the check of position bias.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from itertools import combinations
from pathlib import Path
from typing import ClassVar, Literal

import polars as pl

from hellofresh.core.errors import DataError, RunError, UsageError
from hellofresh.core.files import (
    BadJsonError,
    canonical_json,
    parse_toml,
    read_models,
    sha256_text,
    strict_json,
    write_jsonl,
)
from hellofresh.core.strict import Strict
from hellofresh.core.texts import fence
from hellofresh.judging.rubric import Criterion, Rubric
from hellofresh.judging.study import (
    RATINGS,
    UNREADABLE,
    JudgeKind,
    RatedStudy,
    Rating,
    StudySample,
    check_ratings,
    main_ratings,
    read_responses,
    read_samples,
    with_weights,
    write_table,
)
from hellofresh.models import Request
from hellofresh.models.catalogue import ModelContext, open_model
from hellofresh.runs.dry_run import Forecast, forecast
from hellofresh.runs.equipment import Equipment
from hellofresh.runs.journal import Journal, snapshot
from hellofresh.runs.pace import Patience
from hellofresh.runs.prompts import Prompt, PromptSet
from hellofresh.runs.record import model_identity
from hellofresh.runs.regimes import BaseRegime, Case, Outcome, RegimeSettings
from hellofresh.runs.runner import Assignment, Tally, run
from hellofresh.tasks.outputs import Response, Status
from hellofresh.tasks.samples import Sample

_PROMPT = "judge"
_MOST_TOKENS_A_CRITERION = 40  # a number, its criterion and some formatting
_MOST_TOKENS_AN_ANSWER = 15  # a word; more is a model that explains itself
# Which response an answer prefers, as in `PairChoice`: the post is text 1, so the responses are texts 2 and 3.
_PREFERRED = {"2": 1, "3": 2, "0": 0}
_PAIRS = "pairs.jsonl"


class _StepsFile(Strict):
    steps: dict[str, str]


class JudgeSettings(RegimeSettings):
    """How a model judges."""

    mode: Literal["together", "single", "pairs"] = "together"
    """All criteria in one question, one criterion per question, or two responses compared."""
    seed: str = "hellofresh"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedPost(Sample):
    """A post with one response to judge, or two to compare in both orders; its id combines theirs."""

    post: str
    responses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class JudgeRegime(BaseRegime):
    """Judges responses by a rubric; its outputs hold values by criterion as JSON."""

    settings: JudgeSettings = field(default_factory=JudgeSettings)
    rubric: Rubric | None = None
    name: str = "judge"
    one_prompt: ClassVar[bool] = True

    @property
    def criteria(self) -> Sequence[Criterion]:
        """The criteria about the response; those about links need a judge that can open pages."""
        if self.rubric is None:
            raise ValueError("a judge needs a rubric")
        return [criterion for criterion in self.rubric.criteria if criterion.unit == "response"]

    @property
    def parameters(self) -> Mapping[str, str | int | float | bool]:
        """The settings, and the rubric's hash."""
        return {**self.settings.model_dump(), "rubric": "" if self.rubric is None else self.rubric.sha256}

    def ceiling(self, prompts: int) -> int:
        """Most requests: one, one per criterion, or two orders."""
        return {"together": 1, "single": len(self.criteria), "pairs": 2}[self.settings.mode] * prompts

    def rehearse(self, step: str, turn: int) -> str:
        """The best answers."""
        if step.startswith("compare"):
            return "2"
        if step == "rate":
            return canonical_json({item.id: _spelled(item, item.limits[1]) for item in self.criteria})
        criterion = next(item for item in self.criteria if step == f"rate-one-{item.id}")
        return _spelled(criterion, criterion.limits[1])

    async def solve(self, case: Case) -> Outcome:
        """Judge one response, or compare two."""
        if not isinstance(case.sample, JudgedPost):
            raise TypeError(f"{type(case.sample).__name__} is not a response")
        solve = {"together": self._together, "single": self._one_by_one, "pairs": self._compare}[self.settings.mode]
        said = await solve(case, case.sample)
        status = Status.ANSWERED if any(value is not None for value in said.values()) else Status.NONE
        return Outcome([Response(prompt=_PROMPT, status=status, text=canonical_json(said))])

    async def _together(self, case: Case, sample: JudgedPost) -> dict[str, int | None]:
        chance = self._chance(sample.id)
        listed = "\n".join(_listed(item, chance) for item in _shuffled(self.criteria, chance))
        message = case.step("rate", shown=fence([sample.post, *sample.responses]).text, criteria=listed)
        most = _MOST_TOKENS_A_CRITERION * len(self.criteria)
        said = _kept_object((await case.ask("rate", "", Request((message,), most, sample=sample))).text)
        values: dict[str, int | None] = {}
        for criterion in self.criteria:
            if self.rubric is not None and self.rubric.asked(criterion, values):
                values[criterion.id] = _value(criterion, said.get(criterion.id))
        return values

    def unreadable(self, values: Mapping[str, int | None]) -> set[str]:
        """The criteria without a value because the answer could not be read rather than because they were skipped.

        Criteria that depend on such a criterion are included.
        """
        found: set[str] = set()
        for criterion in self.criteria:
            needed = None if criterion.ask_if is None else criterion.ask_if.criterion
            if needed in found or (criterion.id in values and values[criterion.id] is None):
                found.add(criterion.id)
        return found

    async def _one_by_one(self, case: Case, sample: JudgedPost) -> dict[str, int | None]:
        chance = self._chance(sample.id)
        values: dict[str, int | None] = {}
        shown = fence([sample.post, *sample.responses]).text
        for criterion in _shuffled(self.criteria, chance):
            listed = _listed(criterion, chance)
            if self.rubric is None or not self.rubric.asked(criterion, values):
                continue
            message = case.step("rate-one", shown=shown, criteria=listed)
            low, high = criterion.limits
            choices = tuple(_spelled(criterion, value) for value in range(low, high + 1))
            request = Request((message,), _MOST_TOKENS_AN_ANSWER, choices=choices, sample=sample)
            answer = await case.ask(f"rate-one-{criterion.id}", "", request)
            values[criterion.id] = _value(criterion, answer.text.strip().strip("\"'`.*"))
        return values

    async def _compare(self, case: Case, sample: JudgedPost) -> dict[str, int | None]:
        said: dict[str, int | None] = {}
        for step, responses in (("first", sample.responses), ("second", sample.responses[::-1])):
            message = case.step("compare", shown=fence([sample.post, *responses]).text)
            request = Request((message,), _MOST_TOKENS_AN_ANSWER, choices=tuple(_PREFERRED), sample=sample)
            answer = await case.ask(f"compare-{step}", "", request)
            found = re.search(r"[023]", answer.text)
            said[step] = None if found is None else _PREFERRED[found[0]]
        return said

    def _chance(self, name: str) -> random.Random:
        return random.Random(sha256_text(f"judge {self.settings.seed} {name}"))  # noqa: S311 - to be repeated


def _shuffled(criteria: Sequence[Criterion], chance: random.Random) -> Iterator[Criterion]:
    """The criteria in random order, each after the one that it depends on."""
    left, done = list(criteria), set[str]()
    while left:
        ready = [item for item in left if item.ask_if is None or item.ask_if.criterion in done]
        chosen = chance.choice(ready)
        left.remove(chosen)
        done.add(chosen.id)
        yield chosen


def _listed(criterion: Criterion, chance: random.Random) -> str:
    """A criterion as text for the model, with options in random direction."""
    head = f"- {criterion.id}: {criterion.title}. {criterion.definition}"
    if criterion.ask_if is not None:
        head += f" (Only if {criterion.ask_if.criterion} is one of: {', '.join(criterion.ask_if.is_)}.)"
    if criterion.range is not None:
        return f"{head} Answer: a whole number from {criterion.range[0]} to {criterion.range[1]}."
    options = [f"{option.id} ({option.words})" for option in criterion.options]
    if chance.random() < 0.5:
        options.reverse()
    return f"{head} Answers: {'; '.join(options)}."


def _spelled(criterion: Criterion, value: int) -> str:
    return criterion.options[value].id if criterion.options else str(value)


def _value(criterion: Criterion, said: object) -> int | None:
    """The value in an answer, None if unreadable."""
    if isinstance(said, str):
        text = said.strip().casefold()
        for place, option in enumerate(criterion.options):
            if text == option.id:
                return place
        if criterion.range is None or not re.fullmatch(r"[0-9]{1,3}", text):
            return None
        said = int(text)
    if isinstance(said, bool) or not isinstance(said, int | float) or criterion.range is None:
        return None
    return int(said) if criterion.accepts(said) else None


def _kept_object(text: str) -> Mapping[str, object]:
    """The JSON object in an answer; empty if it has none."""
    start, end = text.find("{"), text.rfind("}")
    try:
        value = strict_json(text[start : end + 1].encode()) if 0 <= start < end else {}
    except (BadJsonError, UnicodeEncodeError):
        value = {}
    return value if isinstance(value, dict) else {}


@dataclass(frozen=True, slots=True)
class Judging:
    """The settings of a judging.

    Attributes:
        study: a closed study.
        model: name in the catalogue.
        limit: most samples (posts); None for all.
        budget_usd: most that it may cost.
        patience: limits of retries.
    """

    study: RatedStudy
    model: str
    settings: JudgeSettings = field(default_factory=JudgeSettings)
    limit: int | None = None
    budget_usd: float | None = None
    patience: Patience = field(default_factory=Patience)


@dataclass(frozen=True, slots=True)
class JudgingReport:
    """The outcome of a judging.

    Attributes:
        judge: the model.
        judged, silent, failed: responses (or pairs) that were judged, judged without a readable answer, and failed.
        ratings: number of stored ratings.
        unreadable: number of unreadable answers, by criterion.
        without_text: posts that were left out because their texts are unavailable.
        tally: counts of questions.
    """

    folder: Path
    judge: str
    judged: int
    silent: int
    failed: int
    ratings: int
    unreadable: Mapping[str, int]
    without_text: int
    tally: Tally


@dataclass(frozen=True, slots=True)
class PairChoice:
    """A judge's preference of two responses: 1 the one shown first, 2 the other, 0 neither, None if unreadable.

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
    """Run a judging, or resume it; stored answers are not requested again.

    Raises:
        UsageError: if the model cannot judge, or its price is needed but unknown.
        RunError: if the judging cannot go on; answers so far are kept.
    """
    assignment, samples, folder = _prepared(judging)
    with Journal(folder) as journal:
        result = run(assignment, samples, journal, progress)
    if result.failures and not result.judged:
        what = f"nothing could be judged; the first error: {result.failures[0].error}"
        raise RunError(what, where=folder.name, fix="Run the same command again to retry.", code="nothing-judged")
    said: dict[str, Mapping[str, int | None]] = {
        item.sample: json.loads(item.output.text)  # as `JudgeRegime.solve` wrote it
        for item in result.judged
        if isinstance(item.output, Response)
    }
    write_jsonl(folder / "judged.jsonl", ({"id": name, **values} for name, values in said.items()))
    groups, ratings = {sample.id: sample.group for sample in samples}, list[Rating]()
    if judging.settings.mode == "pairs":
        names = {name: name.partition("+") for name in said}
        rows = ({"sample": groups[name], "one": one, "two": two, **said[name]} for name, (one, _, two) in names.items())
        write_jsonl(folder / _PAIRS, rows)
    else:
        model = assignment.model.spec.name.replace("/", "-")
        ratings = _ratings_of(JudgeRegime(settings=judging.settings, rubric=judging.study.rubric), model, said, groups)
        keep_ratings(judging.study, model, ratings)
    return JudgingReport(
        folder=folder,
        judge=assignment.model.spec.name,
        judged=len(said),
        silent=sum(all(value is None for value in values.values()) for values in said.values()),
        failed=len(result.failures),
        ratings=len(ratings),
        unreadable=Counter(item.criterion for item in ratings if item.comment == UNREADABLE),
        without_text=len(without_text(judging.study)),
        tally=result.tally,
    )


def _ratings_of(
    regime: JudgeRegime, model: str, said: Mapping[str, Mapping[str, int | None]], groups: Mapping[str, str]
) -> list[Rating]:
    """A rating for each response and criterion; `said` is by response and criterion, `groups` by response."""
    return [
        Rating(
            sample=groups[name],
            response=name,
            judge=model,
            kind=JudgeKind.MODEL,
            criterion=criterion.id,
            value=None if (value := values.get(criterion.id)) is None else float(value),
            comment=UNREADABLE if criterion.id in regime.unreadable(values) else "",
        )
        for name, values in said.items()
        for criterion in regime.criteria
    ]


def foresee_judging(judging: Judging) -> Forecast:
    """Forecast of `judge_study`, without sending or writing anything; raises UsageError like `judge_study`."""
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
    steps = _StepsFile.model_validate(parse_toml((resources.files(__package__) / "judge.toml").read_bytes())).steps
    prompt = Prompt(_PROMPT, "HelloFresh", "-")
    prompts = PromptSet(study.rubric.name, study.files.task, "judge", "", (prompt,), steps)
    samples = _to_judge(judging)
    assignment = Assignment(
        model=model,
        equipment=Equipment(regime, prompts, prompts.prompts, lambda _: {}),  # the regime itself fences what is shown
        budget_usd=judging.budget_usd,
        patience=judging.patience,
    )
    identity = [model_identity(model.spec), dict(regime.parameters), regime.version, prompts.sha256]
    root = study.files.workspace.root / "judges" / str(study.files.edition) / study.files.task
    name = model.spec.name.replace("/", "-")
    return assignment, samples, root / f"{name}_{regime.settings.mode}_{sha256_text(canonical_json(identity))[:12]}"


def _counted(study: RatedStudy) -> list[StudySample]:
    counted = set((main_ratings(study.ratings) if study.ratings.height else study.key)["sample"])
    return [item for item in read_samples(study.files) if item.id in counted]


def without_text(study: RatedStudy) -> list[str]:
    """The counting posts whose texts are unavailable; responses to them are not judged."""
    return [item.id for item in _counted(study) if not item.text.strip()]


def _to_judge(judging: Judging) -> list[Sample]:
    """The responses of the posts that count, or all pairs of the main systems' responses to one post.

    Raises:
        UsageError: if no text of a post is available.
    """
    study = judging.study
    bare = set(without_text(study))
    posts = [item for item in _counted(study) if item.id not in bare][: judging.limit]
    if bare and not posts:
        raise UsageError(
            f"the texts of the {len(bare)} posts are missing, so responses to them cannot be judged",
            where=str(study.files.ratings.with_name(f"{study.files.task}.samples.jsonl")),
            fix="Fill in the field text of each line, from your own copy of the posts.",
            code="no-texts",
        )
    in_pairs, texts = judging.settings.mode == "pairs", {item.id: item.text for item in read_responses(study.files)}
    own = study.own_key.filter(pl.col("response").is_in(list(texts)))
    if in_pairs:
        own = own.filter(pl.col("system").is_in(study.main_systems))
    by_post: dict[str, list[str]] = dict(own.sort("response").group_by("sample").agg("response").iter_rows())
    return [
        JudgedPost(
            id="+".join(names),
            task=study.files.task,
            edition=str(study.files.edition),
            period="",
            date=post.moment,
            group=post.id,
            license="",
            post=post.text,
            responses=tuple(texts[name] for name in names),
        )
        for post in posts
        for names in combinations(by_post.get(post.id, []), 2 if in_pairs else 1)
    ]


def keep_ratings(study: RatedStudy, judge: str, ratings: Iterable[Rating]) -> int:
    """Store a judge's ratings in the study's table, replacing its earlier ones; returns their number.

    Raises:
        DataError: if a rating does not fit the rubric.
    """
    found = RATINGS.frame(ratings)
    people = study.ratings.filter(pl.col("judge") == judge, pl.col("kind") == str(JudgeKind.PERSON))
    if people.height:
        raise DataError(f"a rater has the name of the judge, {judge}", code="judge-name")
    others = study.ratings.filter(pl.col("judge") != judge)
    table = with_weights(pl.concat([others, found]))
    check_ratings(table, study.rubric, where=f"the judge {judge}")
    write_table(study.files.ratings, RATINGS, table, mode=study.files.mode)
    return found.height


def judgings(study: RatedStudy, judge: str) -> list[Path]:
    """The folders in which a model compared pairs, in order."""
    root = study.files.workspace.root / "judges" / str(study.files.edition) / study.files.task
    return sorted(path.parent for path in root.glob(f"{judge}_pairs_*/{_PAIRS}"))


def read_pairs(folder: Path) -> list[PairChoice]:
    """The comparisons of a judging by pairs; raises DataError if the file is missing or damaged."""
    return list(read_models(folder / _PAIRS, PairChoice))
