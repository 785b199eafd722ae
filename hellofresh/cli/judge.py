"""`hellofresh judge`: a model, a classifier, reward models or the rule of links rate the responses of a study."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from statistics import fmean

import polars as pl

from collectors.labelled import read_responses_column
from hellofresh.cli._output import CommandOutput, estimate, interval
from hellofresh.cli.arguments.judging import MUSE
from hellofresh.cli.evaluate import show_forecast
from hellofresh.core.editions import parse_edition
from hellofresh.core.errors import DataError, UnknownNameError, UsageError
from hellofresh.core.executors import completed
from hellofresh.core.files import read_models
from hellofresh.core.plugins import plugins
from hellofresh.core.workspace import Workspace
from hellofresh.evidence.retrieval.retrievers import find_evidence
from hellofresh.judging.judges import classify_study
from hellofresh.judging.links import rate_links
from hellofresh.judging.model_judge import (
    JudgeSettings,
    Judging,
    foresee_judging,
    judge_study,
    keep_ratings,
    without_text,
)
from hellofresh.judging.people import SystemResponse
from hellofresh.judging.reward_judges import (
    JudgedSystems,
    SystemDifference,
    judge_by_rewards,
    judge_name,
    reward_ratings,
)
from hellofresh.judging.rubric import load_rubric
from hellofresh.judging.study import SMOKE_TEST, JudgeKind, RatedStudy, Rating, StudyFiles, read_study
from hellofresh.models.catalogue import models_at
from hellofresh.releases.life.load import Release, load_release
from hellofresh.results.split.entries import entries_of_runs
from hellofresh.results.split.rated_entries import reasons_of, responses_of, study_of_responses
from hellofresh.rewards.base import RewardCard, read_card
from hellofresh.rewards.models import open_combined
from hellofresh.stats.agreement import answer_agreement
from hellofresh.stats.multiway import ClusteredMean
from hellofresh.tasks import EvidenceQuery, corrections, get_task
from hellofresh.tasks.evidence import CLAIM_RESPONSES, RESPONSE_RUBRIC
from hellofresh.tasks.samples import to_json

_NEXT = "How far it agrees with people: hellofresh rate report --kind judges"


_EVIDENCE = 3  # number of documents for judging the response to a claim
_OPENING, _TEMPLATE_WORDS = "Thank you for bringing this up. Research does not support it:", 60
# Judges that need only a study; other packages add some by entry points of the group `hellofresh.judges`.
_JUDGES: Mapping[str, Callable[[RatedStudy], Iterable[Rating]]] = {"links": rate_links, "classifier": classify_study}


def run_judge(options: argparse.Namespace, output: CommandOutput) -> int:
    """Judge the responses of a study."""
    if options.by == "rewards":
        return _by_rewards(options, output)
    edition, task = options.edition or parse_edition(MUSE), options.task or corrections.TASK.name
    workspace = Workspace.from_environment()
    if options.rubric is not None:
        study = _study_by_rubric(workspace, load_release(workspace, edition, get_task(task)), options.rubric)
        done = _by_model(options, study, output)
        if not options.dry_run:
            _show_by_rubric(output, read_study(study.files))
        return done
    study = read_study(StudyFiles(workspace, edition, task))
    return _by_model(options, study, output) if options.by == "model" else _by_name(options.by, study, output)


def _study_by_rubric(workspace: Workspace, release: Release, rubric: str) -> RatedStudy:
    """A study of its own of the reasons that runs gave for their choices, or of the posts of a task of responses."""
    texts = {sample.id: release.task.text(sample) for sample in release.with_texts()}
    if release.task.classes:
        responses = list(reasons_of(entries_of_runs(workspace, release)[0]))
        if not responses:
            raise UsageError(
                f"no run on {release.task.name} {release.edition} gave a reason",
                fix="hellofresh evaluate ... --set justify=true, or --regime search-agent",
                code="no-reasons",
            )
    else:
        responses = [SystemResponse(name, "posts", text) for name, text in texts.items()]
    return study_of_responses(workspace, release, responses, texts, rubric, apart=load_rubric(rubric).name)


def _show_by_rubric(output: CommandOutput, study: RatedStudy) -> None:
    """The share of each answer, or the mean on a range, by system and judge; and kappa where several models judged."""
    rated = study.ratings.join(study.key.select("response", "system"), on="response").drop_nulls("value")
    rows = []
    for (system, judge, criterion), own in sorted(rated.group_by("system", "judge", "criterion")):
        asked, values = study.rubric.criterion(str(criterion)), own["value"]
        counts = Counter(int(value) for value in values)
        shares = [f"{option.id} {counts[place] / len(values):.0%}" for place, option in enumerate(asked.options)]
        rows.append((system, judge, criterion, len(values), ", ".join(shares) or f"mean {fmean(values):.2f}"))
    output.table(study.rubric.title, ("system", "judge", "criterion", "n", "answers"), rows)
    by_judge = {name: own.select("response", "criterion", "value") for (name,), own in rated.group_by("judge")}
    for one, other in combinations(sorted(by_judge), 2):
        both = by_judge[one].join(by_judge[other], on=["response", "criterion"])
        for (criterion,), own in sorted(both.group_by("criterion")):
            found = answer_agreement(own["value"].to_numpy(), own["value_right"].to_numpy())
            output.say(f"{criterion}: Cohen's kappa of {one} and {other} is {found.kappa:.2f}, on {len(own)} responses")


def _by_model(options: argparse.Namespace, study: RatedStudy, output: CommandOutput) -> int:
    if options.model is None:
        raise UsageError(
            "no model is named",
            fix="Add --model M, or --by with another judge: links, classifier or rewards.",
            code="no-model",
        )
    settings = JudgeSettings(mode=options.mode)
    (model,) = models_at(options.base_url, options.model)
    judging = Judging(study, model, settings, options.limit, options.budget)
    if options.dry_run:
        _say_without_text(output, study)
        show_forecast(output, f"{options.model} judges {study.files.edition}", foresee_judging(judging))
        return 0
    with output.progress(f"{options.model} judges {study.files.edition}") as bar:
        done = judge_study(judging, bar.tally)
    output.result({**to_json(done), "folder": str(done.folder)})
    output.say(
        f"{done.judge}: {done.judged} judged, {done.silent} of them with nothing readable, {done.failed} failed; "
        f"{done.ratings} ratings; {done.tally.asked} answers asked for, {done.tally.recalled} already stored"
    )
    for criterion, count in sorted(done.unreadable.items()):
        output.say(f"{criterion}: {count} answers could not be read; they are missing from all figures")
    _say_without_text(output, study)
    output.say(_NEXT)
    return 1 if done.failed else 0


def _say_without_text(output: CommandOutput, study: RatedStudy) -> None:
    if bare := without_text(study):
        output.say(f"{len(bare)} posts have no text here: the responses to them are left out")


def _by_name(name: str, study: RatedStudy, output: CommandOutput) -> int:
    """Judge by a judge that needs only the study, from this or another package."""
    rate = _JUDGES.get(name) or plugins("hellofresh.judges", name, Callable).get(name)
    if rate is None:
        raise UnknownNameError("judge", name, (*_JUDGES, "model", "rewards", *plugins("hellofresh.judges")))
    ratings: list[Rating] = list(rate(study))
    judges = {item.judge for item in ratings}
    if len(judges) != 1 or {name} - {*judges, *_JUDGES} or JudgeKind.PERSON in {item.kind for item in ratings}:
        what = f"the judge {name} gave ratings by {', '.join(map(repr, judges)) or '0 judges'}"
        raise DataError(what, expected=f"ratings by {name}, which is not a person", code="bad-judge")
    (judge,) = judges
    kept = keep_ratings(study, judge, ratings)
    silent = sum(item.value is None for item in ratings)
    output.result({"judge": judge, "ratings": kept, "without_value": silent})
    smoke = " (a smoke test)" if judge == SMOKE_TEST else ""
    output.say(f"{judge}{smoke}: {kept} ratings, {silent} of them without a value. {_NEXT}")
    for criterion in study.rubric.criteria:
        counts = Counter(item.value for item in ratings if item.criterion == criterion.id and item.value is not None)
        if counts:
            said = ", ".join(f"{criterion.words(int(value))} {count}" for value, count in sorted(counts.items()))
            output.say(f"{criterion.title}: {said}")
    return 0


def _by_rewards(options: argparse.Namespace, output: CommandOutput) -> int:
    """Judge all systems that respond to claims by rewards, save the ratings, and show the tables."""
    if options.edition is None:
        raise UsageError(
            "no edition is named", fix="Add --edition E, an edition of claim-responses.", code="no-quarter"
        )
    workspace, task = Workspace.from_environment(), get_task(options.task or CLAIM_RESPONSES.name)
    if task.sample_type is not EvidenceQuery:
        raise UsageError(
            f"{task.name} is not about claims with a corpus", expected="claim-responses", code="other-task"
        )
    cards = [read_card(folder) for folder in options.rewards]
    release = load_release(workspace, options.edition, task)
    claims = {sample.id: sample for sample in release.samples if isinstance(sample, EvidenceQuery)}
    texts = {name: claim.query for name, claim in claims.items()}
    responses = list(responses_of(entries_of_runs(workspace, release)[0]))
    if options.responses is not None:
        responses += read_models(options.responses, SystemResponse)
    reward = open_combined(options.rewards)
    learnt = read_responses_column(options.learnt) if options.learnt is not None else []
    with output.progress("judge responses") as bar:
        bar.line(f"evidence for {len(claims):,} claims")
        evidence = _evidence(options, workspace, list(claims.values()))
        answered = {item.sample for item in responses}
        responses += [_template(name, found[0]) for name, found in evidence.items() if found and name in answered]
        study = study_of_responses(workspace, release, responses, texts, RESPONSE_RUBRIC)
        bar.line("reward models")
        groups = {name: claim.group for name, claim in claims.items()}
        judged = judge_by_rewards(study, reward, evidence, groups, learnt=learnt, cards=cards)
    judge = judge_name([card.sha256 for card in cards])
    kept = keep_ratings(study, judge, reward_ratings(judged, study.rubric, judge))
    _show(output, judged, cards)
    _show_others(output, study)
    output.result({"judge": judge, "ratings": kept, "file": str(study.files.ratings)})
    output.say(f"{judge}: {kept:,} ratings in {study.files.ratings}")
    return 0


def _template(claim: str, best: str) -> SystemResponse:
    """A baseline without a model: a fixed opening, and the beginning of the best evidence."""
    beginning = " ".join(best.split()[:_TEMPLATE_WORDS])
    return SystemResponse(claim, "template of the best evidence", f"{_OPENING} {beginning}")


def _evidence(
    options: argparse.Namespace, workspace: Workspace, claims: Sequence[EvidenceQuery]
) -> Mapping[str, Sequence[str]]:
    """Evidence by claim, retrieved by the judge itself and the same for every system."""

    async def found(claim: EvidenceQuery) -> list[str]:
        documents = await find_evidence(
            workspace, claim.corpus, claim.corpus_sha256, options.retriever, claim=claim.query, count=_EVIDENCE
        )
        return [item.document.content for item in documents]

    return {claim.id: completed(found(claim)) for claim in claims}


def _show(output: CommandOutput, judged: JudgedSystems, cards: Sequence[RewardCard]) -> None:
    systems = judged.systems
    means = {(name, measure): judged.mean(name, measure) for name in systems for measure in judged.measures}
    trained = judged.measures[: judged.measures.index("reward") + 1]
    for title, measures in (
        ("Judges that were trained, and equation 2", trained),
        ("Signs that nothing was trained on", judged.measures[len(trained) :]),
    ):
        rows = [
            (name, means[name, measures[0]].n, *(estimate(at.value, at.low, at.high) for at in cells))
            for name in systems
            for cells in [[means[name, one] for one in measures]]
        ]
        output.table(title, ("system", "claims", *measures), rows)
    rows = [
        (probe, measure, f"{gain.value:+.3f}", interval(gain.low, gain.high), "held" if gain.low > 0 else "fooled")
        for (probe, measure), gain in judged.held.items()
    ]
    heads = ("response that says nothing", "measure", "systems are better by", "95%", "")
    output.table("Compared with responses that say nothing, by claim", heads, rows)
    if judged.fooled_by:
        output.say(f"not validated: systems' responses are not rated higher than {', '.join(judged.fooled_by)}")
    if judged.weak:
        what = "too seldom places refutations above replies that refute nothing"
        output.say(f"not validated: by its own card, the reward for {', '.join(judged.weak)} {what}")
    differences = {measure: judged.differences(measure) for measure in judged.measures}
    _show_differences(output, differences, (*trained, "denies", "grounded"))
    for card in cards:
        accuracy = card.measure("balanced_accuracy")
        notes = "; ".join(dict.fromkeys(data.note for data in card.data if data.note))
        held_out = estimate(accuracy.value, accuracy.low, accuracy.high)
        output.text(f"{card.criterion}: balanced accuracy {held_out} held out" + f" ({notes})" * bool(notes))
    _give_judged(output, judged, means, differences)


def _show_differences(
    output: CommandOutput, differences: Mapping[str, Sequence[SystemDifference]], measures: Sequence[str]
) -> None:
    for measure in measures:
        compared = []
        for one in differences[measure]:
            cells = f"{one.mean.value:+.3f}", interval(one.mean.low, one.mean.high), f"{one.adjusted:.2g}"
            compared.append((f"{one.first} - {one.second}", *cells))
        if compared:
            output.table(f"{measure}: paired by claim, p by Holm", ("", "difference", "95%", "p"), compared)


def _give_judged(
    output: CommandOutput,
    judged: JudgedSystems,
    means: Mapping[tuple[str, str], ClusteredMean],
    differences: Mapping[str, Sequence[SystemDifference]],
) -> None:
    output.result({
        "systems": {
            name: {one: {"mean": means[name, one].value, "low": means[name, one].low, "high": means[name, one].high}
                   for one in judged.measures}
            for name in judged.systems
        },
        "held": [
            {"probe": probe, "measure": measure, "difference": gain.value, "low": gain.low, "high": gain.high}
            for (probe, measure), gain in judged.held.items()
        ],
        "fooled_by": judged.fooled_by,
        "weak": judged.weak,
        "differences": [
            {"measure": one.measure, "first": one.first, "second": one.second, "difference": one.mean.value,
             "low": one.mean.low, "high": one.mean.high, "p": one.mean.p_value, "adjusted": one.adjusted}
            for some in differences.values() for one in some
        ],
    })  # fmt: skip


def _show_others(output: CommandOutput, study: RatedStudy) -> None:
    """Show people and models that rated the same responses and were not trained on them."""
    kinds = [str(JudgeKind.PERSON), str(JudgeKind.MODEL)]
    rows = (
        study.ratings.filter(pl.col("kind").is_in(kinds), pl.col("value").is_not_null())
        .join(study.key.select("response", "system"), on="response")
        .group_by("judge", "kind", "criterion", "system")
        .agg(pl.col("value").mean(), pl.len().alias("count"))
        .sort("kind", "judge", "criterion", "system")
    )
    if rows.height:
        shown = [
            (judge if kind != str(JudgeKind.PERSON) else f"rater {judge}", criterion, system, f"{value:.2f}", count)
            for judge, kind, criterion, system, value, count in rows.iter_rows()
        ]
        output.table("Other judges", ("judge", "criterion", "system", "mean", "rated"), shown)
        return
    output.say("No model or person has rated these responses: hellofresh judge --model M --edition E --task T")
