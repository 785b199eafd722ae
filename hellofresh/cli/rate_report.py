"""`hellofresh rate report`: a rated study in tables."""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import groupby

import polars as pl

from hellofresh.cli._output import CommandOutput, estimate, interval
from hellofresh.core.errors import UsageError
from hellofresh.core.workspace import Workspace
from hellofresh.judging.comparison import (
    BridgedMeans,
    Form,
    PairTest,
    agreement_by_criterion,
    bridged_means,
    compare_systems,
    of_systems,
    option_shares,
    system_means,
)
from hellofresh.judging.judges import (
    RANKS_FROM,
    JudgeQuality,
    judge_biases,
    judge_quality,
    known_judges,
    powered_means,
)
from hellofresh.judging.model_judge import (
    judgings,
    read_pairs,
)
from hellofresh.judging.people import export_study
from hellofresh.judging.references import labels_are_secret, refuse_before_reveal
from hellofresh.judging.rubric import Criterion
from hellofresh.judging.study import (
    RatedStudy,
    StudyFiles,
    read_responses,
    read_samples,
    read_study,
)
from hellofresh.releases.life.load import load_release
from hellofresh.releases.life.manifest import MANIFEST
from hellofresh.results.split.rated import rated_standings, samples_of_study
from hellofresh.stats.multiway import ClusteredMean
from hellofresh.tasks import get_task
from hellofresh.tasks.samples import to_json

_WHY = (
    "These p-values are far too small. A rating counts as two rows where one person rated alone and as one where two "
    "did, and all rows are treated as independent. --p-values honest takes one mean per post."
)


def run_report(options: argparse.Namespace, output: CommandOutput) -> int:
    """Show a study's results, or export its ratings."""
    workspace = Workspace.from_environment()
    files = StudyFiles(workspace, options.edition, options.task)
    if options.export is not None or options.kind != "agreement":
        refuse_before_reveal(files, private=options.private)
    if options.export is not None:
        count = export_study(files, options.export, mode=0o600 if labels_are_secret(files) else 0o644)
        output.result({"ratings": count, "file": str(options.export)})
        output.say(f"{count:,} ratings: {options.export}")
        return 0
    study = read_study(files)
    if options.kind == "agreement":
        _show_agreement(output, study)
    elif options.kind == "standings":
        _show_standings(output, workspace, study)
    elif options.kind == "judges":
        _report_judges(options, output, study)
    else:
        _report_all(output, study, Form(options.p_values))
    return 0


def _report_all(output: CommandOutput, study: RatedStudy, form: Form) -> None:
    rated = of_systems(study.ratings, study.key)
    overall = study.rubric.criterion(study.rubric.overall)
    means = system_means(rated, overall, study.main_systems)
    systems = [item.system for item in sorted(means, key=lambda item: -item.mean.value)]
    posts = study.key["sample"].n_unique()
    own = dict(study.key.filter(pl.col("same_as") == "").group_by("system").len().iter_rows())
    left_out = {}
    for system in sorted(set(study.key["system"]) - set(systems)):
        few = f"it has its own responses to {own.get(system, 0)} of {posts} posts, fewer than half"
        unrated = system in study.main_systems
        left_out[system] = "people have not rated it" if unrated else f"{few}; --kind standings shows it"
    output.result({"left_out": left_out})
    for system, why in left_out.items():
        output.say(f"{system} is left out: {why}")
    _show_means(output, rated, overall, systems)
    _show_bridged(output, bridged_means(rated.filter(pl.col("system").is_in(systems)), overall))
    _show_tests(output, compare_systems(rated, overall, systems, form=form), form)
    for part in ("modality", "domain"):
        _show_parts(output, study, rated, systems, part=part, form=form)
    for criterion in (item for item in study.rubric.criteria if item.id != overall.id):
        _show_criterion(output, rated, criterion, systems)
    _show_agreement(output, study)


def _show_standings(output: CommandOutput, workspace: Workspace, study: RatedStudy) -> None:
    """Show every system's rank: overall, by part of the samples, and by criterion."""
    task = get_task(study.files.task)
    there = (workspace.release(study.files.edition, task.name) / MANIFEST).is_file()
    samples = load_release(workspace, study.files.edition, task).samples if there else samples_of_study(study)
    found = rated_standings(study, task, samples, over_raters=True)
    output.result([to_json(item) for item in found])
    for (criterion, part, value), rows in groupby(found, key=lambda item: (item.criterion, item.part, item.value)):
        title = study.rubric.criterion(criterion).title + (f", {part}: {value}" if part else "")
        lines = []
        for item in rows:
            mean, limits = f"{item.mean:.2f}", interval(item.low, item.high, ".2f")
            ranks = "-" if item.rank is None else f"{item.rank_low}-{item.rank_high}"
            lines.append((item.rank or "-", item.system, mean, limits, ranks, item.tie_group or "-", item.n))
        output.table(title, ("rank", "system", "mean", "95%", "ranks", "tie group", "rated"), lines)


def _show_means(output: CommandOutput, rated: pl.DataFrame, criterion: Criterion, systems: Sequence[str]) -> None:
    means = system_means(rated, criterion, systems)
    output.result({"means": to_json(means)})
    rows = [
        (item.system, f"{item.mean.value:.2f}", _limits(item.mean), f"{item.mean.spread:.2f}", item.posts)
        for item in sorted(means, key=lambda item: -item.mean.value)
    ]
    heads = ("system", "mean", _over([item.mean for item in means]), "SD", "posts")
    output.table(f"{criterion.title}: mean and standard deviation", heads, rows)


def _show_bridged(output: CommandOutput, found: BridgedMeans) -> None:
    output.result({"bridged": to_json(found)})
    if found.missing:
        output.say(found.missing)
        return
    rows = [(item.system, f"{item.mean.value:+.2f}", _limits(item.mean), item.posts) for item in found.systems]
    title = f"Helpful to people who disagree: mean intercept ({found.people} people, {found.responses} responses)"
    output.table(title, ("system", "intercept", "95% over other posts, by these people", "posts"), rows)


def _show_tests(output: CommandOutput, tests: Sequence[PairTest], form: Form) -> None:
    output.result({"tests": to_json(tests), "p_values": str(form)})
    if form is Form.PUBLISHED:
        rows = [
            (f"{item.first} - {item.second}", f"{item.ranks.p_value:.0e}", f"{item.ranks_adjusted:.0e}")
            for item in tests
        ]
        output.table("Every two systems, as the released study did", ("", "Mann-Whitney", "adjusted"), rows)
        output.say(_WHY)
        return
    both = [
        (
            f"{item.first} - {item.second}",
            "-" if item.difference is None else f"{item.difference.value:+.2f} {_limits(item.difference)}",
            f"{item.difference_adjusted:.2g}",
            f"{item.signed_adjusted:.0e}",
            f"{item.ranks_adjusted:.0e}",
            f"{item.ranks.p_value:.0e}",
        )
        for item in tests
    ]
    heads = ("", "difference by the same rater", "p", "Wilcoxon", "Mann-Whitney", "unadjusted")
    over = _over([item.difference for item in tests if item.difference is not None])
    output.table(f"Every two systems (p adjusted by Holm; differences, together: {over})", heads, both)


def _show_parts(
    output: CommandOutput, study: RatedStudy, rated: pl.DataFrame, systems: Sequence[str], *, part: str, form: Form
) -> None:
    parts = {sample.id: sample.facts.get(part, "") for sample in read_samples(study.files)}
    if not any(parts.values()):
        return
    overall = study.rubric.criterion(study.rubric.overall)
    means = system_means(rated, overall, systems, parts)
    output.result({part: to_json(means)})
    cells = {(item.part, item.system): f"{item.mean.value:.1f} (n = {item.posts})" for item in means}
    names = sorted({item.part for item in means})
    rows = [(name, *(cells.get((name, system), "-") for system in systems)) for name in names]
    output.table(f"Overall by {part}", (part, *systems), rows)
    best, *others = systems
    tested: dict[str, dict[str, PairTest]] = {}
    for name in names:
        own = rated.filter(pl.col("sample").is_in([key for key, value in parts.items() if value == name]))
        tests = compare_systems(own, overall, systems, form=form)
        tested[name] = {item.second: item for item in tests if item.first == best}
        output.result({"part": name, "tests": to_json(tests), "p_values": str(form)})
    rows = [
        (name, *(f"{of[other].ranks_adjusted:.0e} ({of[other].ranks.p_value:.0e})" if other in of else "-"
                 for other in others))
        for name, of in tested.items()
    ]  # fmt: skip
    title = f"{best} against the others by {part}: p by Mann-Whitney, adjusted by Holm within the part (unadjusted)"
    output.table(title, (part, *others), rows)
    if form is Form.PUBLISHED:
        output.say(_WHY)


def _show_criterion(output: CommandOutput, rated: pl.DataFrame, criterion: Criterion, systems: Sequence[str]) -> None:
    if criterion.range is not None:
        _show_means(output, rated, criterion, systems)
        return
    shares = option_shares(rated, criterion, systems)
    output.result({"criterion": criterion.id, "shares": to_json(shares)})
    cells = {(item.system, item.value): f"{item.share.value:.0%}" for item in shares}
    said = {value for (_, value), cell in cells.items() if value is not None or cell != "0%"}
    values = [value for value in dict.fromkeys(item.value for item in shares) if value in said]
    rows = [
        (
            "undecided" if value is None else criterion.words(value),
            *(cells.get((system, value), "-") for system in systems),
        )
        for value in values
    ]
    output.table(criterion.title, ("", *systems), rows)


def _show_agreement(output: CommandOutput, study: RatedStudy) -> None:
    found = agreement_by_criterion(study.ratings, study.rubric)
    output.result({"agreement": [{**to_json(item), "criterion": item.criterion.id} for item in found]})
    heads = ("criterion", "kappa", "95%", "pooled", "alpha", "observed", "twice rated")
    rows = [
        (
            item.criterion.id,
            f"{item.agreement.mean:.2f}",
            interval(item.agreement.mean_interval.low, item.agreement.mean_interval.high, ".2f"),
            f"{item.agreement.pooled:.2f}",
            f"{item.alpha.value:.2f}",
            f"{item.agreement.observed:.0%}" + (" *" if item.agreement.skewed else ""),
            item.units,
        )
        for item in found
        if item.agreement is not None and item.alpha is not None
    ]
    output.table("Agreement of raters (kappa: quadratic weights, mean over pairs of raters)", heads, rows)
    skewed = [item.criterion.id for item in found if item.agreement is not None and item.agreement.skewed]
    if skewed:
        output.say(
            f"* For {', '.join(skewed)} nearly all answers are the same: chance alone would agree as often, so that "
            "kappa is small or erratic. Read the observed agreement there."
        )


def _limits(mean: ClusteredMean) -> str:
    return "too few" if mean.few else interval(mean.low, mean.high, ".2f")


def _over(means: Sequence[ClusteredMean]) -> str:
    """The population of their intervals: with two raters they do not cover other raters."""
    alone = any(mean.over == "posts" for mean in means)
    return "95% over other posts, by these raters" if alone else "95% over other posts and raters"


def _report_judge(
    output: CommandOutput, study: RatedStudy, judge: str, kind: str, *, words: Mapping[str, int], own: Sequence[str]
) -> None:
    pairs = [choice for folder in judgings(study, judge) for choice in read_pairs(folder)]
    quality = judge_quality(study, judge)
    bias = judge_biases(study, judge, words, pairs=pairs, own_systems=own)
    powered = powered_means(study, judge)
    said = [to_json(item) | {"faults": item.faults} for item in quality]
    output.result({"judge": judge, "kind": kind, "quality": said, "bias": to_json(bias)})
    name = f"{judge} ({kind})"
    _show_quality(output, name, quality)
    swayed = [
        (f"position: share for the first of two, less a half ({len(pairs)} pairs)", _signed(bias.position)),
        ("length: points more at twice the length, people's score held fixed", _signed(bias.length)),
        ("its own responses: points more than people", _signed(bias.own)),
    ]
    output.table(f"{name}: what sways it", ("", "95%"), swayed)
    if any(item.predicted for item in powered.values()):
        rows = [
            (system, estimate(item.value, item.low, item.high, ".2f"), item.labelled, item.predicted)
            for system, item in powered.items()
        ]
        output.table(f"{name}: people on a part, it on the rest", ("system", "mean", "people", "judge"), rows)


def _report_judges(options: argparse.Namespace, output: CommandOutput, study: RatedStudy) -> None:
    """Show every judge that is not a person, compared with people."""
    own: dict[str, list[str]] = defaultdict(list)
    for text in options.own:
        judge, equals, system = text.partition("=")
        if not (judge and equals and system):
            raise UsageError(f"{text!r} names no system", expected="JUDGE=SYSTEM", code="bad-own")
        own[judge].append(system)
    words = {item.id: len(item.text.split()) for item in read_responses(study.files)}
    for judge, kind in known_judges(study):
        _report_judge(output, study, judge, kind, words=words, own=own.get(judge, ()))
    if not known_judges(study):
        output.say("No model, classifier or rule has judged yet: hellofresh judge --model M")


def _show_quality(output: CommandOutput, name: str, quality: Sequence[JudgeQuality]) -> None:
    heads = ("criterion", "rated", "unreadable", "kappa", "people", "Spearman", "pairs as people", "more than rules",
             "may rank")  # fmt: skip
    rows = [
        (
            item.criterion,
            item.responses,
            item.unreadable,
            estimate(item.kappa, item.kappa_interval.low, item.kappa_interval.high, ".2f"),
            "-" if item.people_kappa is None else f"{item.people_kappa:.2f}",
            estimate(item.correlation, item.correlation_low, item.correlation_high, ".2f"),
            _signed(item.accuracy),
            _signed(min(item.gains.values(), key=lambda gain: gain.low, default=None)),
            "yes" if item.ranks else "not validated",
        )
        for item in quality
    ]
    output.table(f"{name}: with people (it may rank where the lower limit exceeds {RANKS_FROM:g})", heads, rows)
    for item in quality:
        if item.faults:
            output.say(f"{item.criterion} is not validated: {'; '.join(item.faults)}")


def _signed(mean: ClusteredMean | None) -> str:
    if mean is None or mean.few:
        return "-" if mean is None else f"{mean.value:+.2f} (too few)"
    return estimate(mean.value, mean.low, mean.high, "+.2f")
