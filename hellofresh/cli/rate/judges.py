"""`hellofresh judge`, and `hellofresh rate links`, `classify` and `judges`: judges that are no people."""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Mapping, Sequence

from hellofresh.cli._output import CommandOutput, duration
from hellofresh.core.errors import UsageError
from hellofresh.core.net.public import PublicHttp
from hellofresh.core.workspace import Workspace
from hellofresh.judging.classifiers import SMOKE_TEST, classify_study
from hellofresh.judging.judge_regime import JudgeSettings
from hellofresh.judging.judges import (
    RANKS_FROM,
    JudgeBias,
    JudgeQuality,
    judge_biases,
    judge_quality,
    known_judges,
    powered_means,
)
from hellofresh.judging.model_judge import (
    Judging,
    PairChoice,
    foresee_judging,
    judge_study,
    judgings,
    keep_ratings,
    read_pairs,
)
from hellofresh.judging.rubric import load_rubric
from hellofresh.judging.rules import RULES, judge_links
from hellofresh.judging.study import RatedStudy, read_responses, read_study
from hellofresh.stats.judging import PoweredMean
from hellofresh.stats.multiway import ClusteredMean
from hellofresh.tasks.samples import to_json

__all__ = ["run_classify", "run_judge", "run_judges", "run_links"]

_AGENT = "HelloFresh link check"


def _study(options: argparse.Namespace) -> RatedStudy:
    return read_study(Workspace.from_environment(), options.edition, options.task)


def run_judge(options: argparse.Namespace, output: CommandOutput) -> int:
    """Have a model judge, or look ahead."""
    study = _study(options)
    if options.rubric is not None and load_rubric(options.rubric).sha256 != study.rubric.sha256:
        raise UsageError(
            f"{options.edition} is rated by {study.rubric.name}",
            expected="the same rubric: ratings by another one could not be compared",
            fix="Leave out --rubric.",
            code="other-rubric",
        )
    settings = JudgeSettings(mode=options.mode, seed=options.seed)
    judging = Judging(study, options.model, settings, options.limit, options.budget)
    if options.dry_run:
        _look_ahead(output, judging)
        return 0
    with output.progress(f"{options.model} judges {options.edition}") as bar:
        done = judge_study(judging, bar.tally)
    output.result({**to_json(done), "folder": str(done.folder)})
    output.say(
        f"{done.judge}: {done.judged} judged, {done.silent} of them with nothing readable, {done.failed} failed; "
        f"{done.ratings} ratings; {done.tally.asked} answers asked for, {done.tally.recalled} already stored"
    )
    output.say("How far it agrees with people: hellofresh rate judges")
    return 1 if done.failed else 0


def _look_ahead(output: CommandOutput, judging: Judging) -> None:
    ahead = foresee_judging(judging)
    output.result({**to_json(ahead), "calls": ahead.calls, "most_calls": ahead.most_calls, "cost_usd": ahead.cost_usd})
    cost, most = (
        "cost unknown" if value is None else f"about {value:.4f} USD" for value in (ahead.cost_usd, ahead.most_usd)
    )
    rows = [
        ("to judge", f"{ahead.samples:,}"),
        ("already stored", f"{ahead.known:,} answers"),
        ("time", f"about {duration(ahead.seconds)}"),
        ("expected", f"{ahead.calls:,} requests, {cost}"),
        ("ceiling", f"{ahead.most_calls:,} requests, {most}"),
    ]
    output.table(f"{judging.model} judges {judging.study.files.edition}: to come", ("", ""), rows)
    output.say("Nothing was sent or written.")


def run_links(options: argparse.Namespace, output: CommandOutput) -> int:
    """Judge every link by asking for it."""
    study = _study(options)
    ratings = judge_links(PublicHttp(_AGENT), study.rubric, read_responses(study.files))
    kept = keep_ratings(study, RULES, ratings)
    reached = sum(rating.value == 1 for rating in ratings)
    unclear = sum(rating.value is None for rating in ratings)
    output.result({"links": kept, "reachable": reached, "unclear": unclear})
    output.say(f"{kept} links: {reached} reachable, {unclear} unclear, {kept - reached - unclear} not")
    return 0


def run_classify(options: argparse.Namespace, output: CommandOutput) -> int:
    """Judge by the embedded classifier."""
    study = _study(options)
    kept = keep_ratings(study, SMOKE_TEST, classify_study(study))
    output.result({"ratings": kept, "judge": SMOKE_TEST})
    output.say(f"{SMOKE_TEST} (a smoke test): {kept} ratings. How far it agrees with people: hellofresh rate judges")
    return 0


def run_judges(options: argparse.Namespace, output: CommandOutput) -> int:
    """Compare every judge with people."""
    study = _study(options)
    own = _own(options.own)
    words = {item.id: len(item.text.split()) for item in read_responses(study.files)}
    for judge, kind in known_judges(study):
        pairs = [choice for folder in judgings(study, judge) for choice in read_pairs(folder)]
        quality = judge_quality(study, judge)
        bias = judge_biases(study, judge, words, pairs=pairs, own_systems=own.get(judge, ()))
        powered = powered_means(study, judge)
        output.result({"judge": judge, "kind": kind, "quality": to_json(quality), "bias": to_json(bias)})
        name = f"{judge} ({kind})"
        _show_quality(output, name, quality)
        _show_bias(output, name, bias, pairs)
        _show_powered(output, name, powered)
    if not known_judges(study):
        output.say("No model, classifier or rule has judged yet: hellofresh judge --model M")
    return 0


def _own(options: Sequence[str]) -> Mapping[str, Sequence[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for text in options:
        judge, equals, system = text.partition("=")
        if not (judge and equals and system):
            raise UsageError(f"{text!r} names no system", expected="JUDGE=SYSTEM", code="bad-own")
        found[judge].append(system)
    return found


def _show_quality(output: CommandOutput, name: str, quality: Sequence[JudgeQuality]) -> None:
    heads = ("criterion", "rated", "kappa", "people", "Spearman", "pairs as people", "may rank")
    rows = [
        (
            item.criterion,
            item.responses,
            f"{item.kappa:.2f} [{item.kappa_interval.low:.2f}, {item.kappa_interval.high:.2f}]",
            "-" if item.people_kappa is None else f"{item.people_kappa:.2f}",
            f"{item.correlation:.2f} [{item.correlation_low:.2f}, {item.correlation_high:.2f}]",
            _limits(item.accuracy),
            "yes" if item.ranks else "not validated",
        )
        for item in quality
    ]
    output.table(f"{name}: with people (it may rank where the lower limit exceeds {RANKS_FROM:g})", heads, rows)


def _show_bias(output: CommandOutput, name: str, bias: JudgeBias, pairs: Sequence[PairChoice]) -> None:
    rows = [
        (f"position: share for the first of two, less a half ({len(pairs)} pairs)", _limits(bias.position)),
        ("length: points more at twice the length, people's score held fixed", _limits(bias.length)),
        ("its own responses: points more than people", _limits(bias.own)),
    ]
    output.table(f"{name}: what sways it", ("", "95%"), rows)


def _show_powered(output: CommandOutput, name: str, powered: Mapping[str, PoweredMean]) -> None:
    if any(item.predicted for item in powered.values()):
        rows = [
            (system, f"{item.value:.2f} [{item.low:.2f}, {item.high:.2f}]", item.labelled, item.predicted)
            for system, item in powered.items()
        ]
        output.table(f"{name}: people on a part, it on the rest", ("system", "mean", "people", "judge"), rows)


def _limits(mean: ClusteredMean | None) -> str:
    return "-" if mean is None else f"{mean.value:+.2f} [{mean.low:+.2f}, {mean.high:+.2f}]"
