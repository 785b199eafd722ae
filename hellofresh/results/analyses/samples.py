"""Kinds of samples: slices, subgroups, clear and narrow decisions, and what is older than a model's knowledge; and what
texts alone tell of labels, to a classifier that knows nothing but words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from hellofresh.core.errors import how_to_install
from hellofresh.results.analyses.base import (
    LEAST_SAMPLES,
    NO_SYSTEM,
    AnalysisResult,
    Cell,
    Findings,
    Where,
    about,
    analysis,
    limited,
    measure,
    missing,
    subgroups,
)
from hellofresh.results.analyses.voters import known_of_samples
from hellofresh.results.figures.charts import Axis, Chart, Mark, Series
from hellofresh.results.split.panel import NOT_ASKED, Panel, PromptOutputs, System, cutoff_end
from hellofresh.stats.metrics import Metric, balanced_accuracy, class_recall
from hellofresh.stats.paired import compare_parts
from hellofresh.tasks.samples import Sample

_LEAST_OF_SLICE = 8  # fewer samples give an interval as wide as the scale
_LEAST_OF_CLASS = 3
_LEAST_ASKED = 5
_TOPIC_WORDS = 6  # the most frequent words of a split; rarer ones name single samples
_WORD = re.compile(r"[^\W\d_]{5,}")
_HOST = re.compile(r"https?://([^\s/:?#]+)", re.ASCII)
_ADDRESS = re.compile(r"https?://\S+")
_OTHER_LANGUAGE = re.compile(
    r"(^|\.)(?!en\.|ww)[a-z]{2,3}\.wikipedia\.org$|\.(?!uk$|us$|au$|ca$|nz$|ie$|io$|tv$|co$|eu$|me$|ai$)[a-z]{2}$"
)
# Common in texts on any topic.
_PLAIN_WORDS = frozenset(
    """
    about above according actually after again against article because before being believe below between called
    could different during every first found given great however https including itself known large later little
    makes making means might never often other people person quite rather really right should since small still
    taken their there these thing things think those three through today under until using where which while
    whole whose within without world would years
    """.split()  # noqa: SIM905 - in a list each of these words would take a line
)

# By factor, the slice of each sample, None for samples that belong to none. A sample may be in one of each factor.
_Slices = Mapping[str, Sequence[str | None]]
_QUARTERS = ("lowest quarter", "second", "third", "highest quarter")
_LEAST_BY_QUARTERS = 16  # four samples in each quarter of a factor
_SIDES = {"before": "until the cutoff", "after": "after the cutoff"}
_CUTOFF = ("Both sides of the cutoff", "Difference")
_FOLDS = 5  # each sample is judged by a classifier that has not seen its group
# beyond these a classifier of words hardly improves, and takes minutes
_LEAST_LEARNT, _MOST, _WORDS = 20, 10_000, 50_000


@analysis(
    "subgroups",
    "Subgroups",
    "How well do systems do on groups of samples, divided by known facts?",
    "The headline metric of each system's leaderboard row on the samples of each bin, with its interval. Bins with "
    f"fewer than {LEAST_SAMPLES} samples are left out. Bins differ in their balance of classes, which the metric "
    "depends on: compare systems within a row before comparing rows.",
)
def by_subgroup(panel: Panel) -> AnalysisResult:
    """How well systems do on parts of the samples that the task names, such as possibility, attack or language."""
    parts, notes = subgroups(panel)
    if not parts:
        return missing("No known fact divides the samples into groups that are large enough.", notes)
    result = Findings(panel, notes=notes)
    for part in parts:
        for system in panel.systems:
            found = measure(panel, system.headline, part.where)
            if found is not None:
                row = {**about(system), "factor": part.factor, "bin": part.name, **found.cells}
                mark = found.mark(system.name, system.name, row=part.row, panel=part.factor)
                result.add(row, found.interval, mark)
    if not result.rows:
        return missing("No system answered samples of two classes in any part.", notes)
    return result.by_factor(Axis(panel.task.headline.title), (part.factor for part in parts))


@analysis(
    "slices",
    "Slices",
    "On which kinds of samples are systems strong or weak?",
    "{metric} of the best systems on parts of the samples: by length, topic words, sources, the kind of "
    "block or change, and "
    "whether a machine wrote the note. Classes are balanced in the quarter, not in each part, and {metric} "
    "depends on the "
    "balance: compare systems within a row before comparing rows. Among many rows, some stand out by chance.",
)
def slices(panel: Panel) -> AnalysisResult:
    """Kinds of samples: where systems are strong and where weak."""
    if not panel.systems:
        return missing(NO_SYSTEM)
    parts = [(factor, name, where) for factor, name, where in _parts(panel) if _enough(panel, where)]
    several = Counter(factor for factor, _, _ in parts)
    parts = [part for part in parts if several[part[0]] > 1]  # one slice alone compares nothing
    if not parts:
        return missing("There are too few samples of every kind, or their texts are not available.")
    result = Findings(panel)
    for factor, name, where in parts:
        sizes = zip(panel.task.classes, _sizes(panel, where), strict=False)
        samples, balance = int(where.sum()), ", ".join(f"{size:,} {label}" for label, size in sizes)
        for system in panel.systems:
            found = measure(panel, system.headline, where)
            if found is None or found.interval.n < _LEAST_ASKED:
                continue
            kind = {"factor": factor, "slice": name, "samples": samples, "balance": balance}
            mark = found.mark(system.name, system.name, row=f"{name} (n = {samples})", panel=factor, more=balance)
            result.add({**about(system), **kind, **found.cells}, found.interval, mark)
    if not result.rows:
        return missing(f"No system answered {_LEAST_ASKED} samples of a kind.")
    if panel.without_texts.any():
        result.notes.append(f"{int(panel.without_texts.sum())} samples without texts are left out of slices by text.")
    axis = Axis.share(panel.task.headline.title, result.marks)
    return result.by_factor(axis, (factor for factor, _, _ in parts))


def _enough(panel: Panel, where: Where) -> bool:
    """Whether a slice has some samples of two classes; otherwise its score would only show its balance."""
    enough = int(where.sum()) >= _LEAST_OF_SLICE
    return enough and (not panel.task.classes or sorted(_sizes(panel, where))[-2] >= _LEAST_OF_CLASS)


def _sizes(panel: Panel, where: Where) -> list[int]:
    """Samples of each class."""
    sizes: list[int] = np.bincount(panel.labels[where], minlength=len(panel.task.classes)).tolist()
    return sizes


def _parts(panel: Panel) -> list[tuple[str, str, Where]]:
    """All slices: factor, name, and shape (n,) of who belongs to it."""
    texts = [
        None if withheld else panel.task.text(sample)
        for sample, withheld in zip(panel.samples, panel.without_texts.tolist(), strict=True)
    ]
    found = []
    for factor, slices in (*_of_text(texts).items(), *_of_kind(panel, texts).items()):
        names = sorted({name for name in slices if name is not None})
        found += [(factor, name, np.array([one == name for one in slices], dtype=np.bool_)) for name in names]
    # The words of five letters or more that are in most texts, less those that are in every fifth.
    known = [text for text in texts if text is not None]
    times = Counter(word for text in known for word in _words(text))
    most = max(10, len(known) // 5)
    topical = [(number, word) for word, number in times.items() if _LEAST_OF_SLICE <= number <= most]
    for _, word in sorted(topical, key=lambda pair: (-pair[0], pair[1]))[:_TOPIC_WORDS]:
        belongs = [text is not None and word in _words(text) for text in texts]
        found.append(("topic word in the text", word, np.array(belongs, dtype=np.bool_)))
    return found


def _of_text(texts: Sequence[str | None]) -> _Slices:
    lengths = [len(text) for text in texts if text is not None]
    if not lengths:
        return {}
    one, two = (int(edge) for edge in np.quantile(lengths, (1 / 3, 2 / 3), method="lower"))
    names = (f"1. up to {one:,}", f"2. up to {two:,}", f"3. above {two:,}")
    parts = [None if text is None else names[(len(text) > one) + (len(text) > two)] for text in texts]
    return {"length of the text (characters)": parts}


def _of_kind(panel: Panel, texts: Sequence[str | None]) -> _Slices:
    known = panel.task.label_facts
    if "ai_writer" in known:
        return {
            "sources named in the note": [None if text is None else _sources(text) for text in texts],
            "who wrote the note": [_writer(facts) for facts in panel.facts],
        }
    if "paragraph_kind" not in known:
        return {}
    kinds = [facts.get("paragraph_kind") for facts in panel.facts]
    return {
        "kind of block": [kind if isinstance(kind, str) else None for kind in kinds],
        "kind of change": [_change(sample) for sample in panel.samples],
    }


def _change(sample: Sample) -> str:
    added, deleted = bool(getattr(sample, "added", "")), bool(getattr(sample, "deleted", ""))
    return "words exchanged" if added and deleted else "words added" if added else "words taken out"


def _writer(facts: Mapping[str, object]) -> str | None:
    if facts.get("ai_writer") is None and facts.get("collaborative") is None:
        return None
    return "machine (or with its help)" if facts.get("ai_writer") or facts.get("collaborative") else "people"


def _sources(text: str) -> str:
    """Sources by address alone: a country's domain or another edition of Wikipedia counts as another language."""
    hosts = [host.lower() for host in _HOST.findall(text)]
    if not hosts:
        return "none"
    return "foreign address" if any(_OTHER_LANGUAGE.search(host) for host in hosts) else "general address"


def _words(text: str) -> set[str]:
    return set(_WORD.findall(_ADDRESS.sub(" ", text.lower()))) - _PLAIN_WORDS


@dataclass(frozen=True, slots=True)
class _Factor:
    """A number known for samples, and the metric for its quarters.

    Attributes:
        name: what the number is.
        metric: the headline, or the recall of the one class that has the number.
        values: shape (n,), nan where it is not known.
        within: whether quarters are taken within each class, rather than of all samples.
    """

    name: str
    metric: Metric
    values: NDArray[np.float64]
    within: bool = True


@analysis(
    "votes",
    "Votes and survival",
    "Do systems do better where people agreed more?",
    "Samples are split into quarters by how much supports the decision: votes on a note, how clear they were, the "
    "share of readers whom X drew (others are volunteers), accounts that would flip the label; later edits that an "
    "accepted edit survived, time until a rejected one was reverted, length of the paragraph. Quarters are "
    "taken within each class, because notes rated helpful have more votes and the number alone would reveal the "
    "label; the quarters of all notes, as HelloFresh (2024) took them, are the last factor, with their shares of "
    "helpful notes. A system that does better in the highest quarter than in the lowest finds clear cases easier.",
)
def votes(panel: Panel) -> AnalysisResult:
    """Clear and narrow decisions: are systems better where people agreed more?"""
    factors = [factor for factor in _factors(panel) if np.isfinite(factor.values).sum() >= _LEAST_BY_QUARTERS]
    if not factors:
        return missing("The source has no vote counts, or too few samples have them.")
    if not panel.systems:
        return missing(NO_SYSTEM)
    result, charts = Findings(panel), []
    for factor in factors:
        quarter, before = _quarters(panel, factor), len(result.marks)
        shares = [_share_of_label_1(panel, quarter == number) for number in range(len(_QUARTERS))]
        if not factor.within:
            positive = ", ".join("none" if share is None else f"{share:.0%}" for share in shares)
            result.notes.append(
                f"In the quarters of all notes, {positive} are {panel.task.classes[1]}. {factor.metric.title} follows "
                "this share, whatever a system does; quarters within each class are free of it."
            )
        for system, number in product(panel.systems, range(len(_QUARTERS))):
            found = measure(panel, system.headline, quarter == number, factor.metric)
            if found is None:
                continue
            name, span = _QUARTERS[number], factor.values[quarter == number]
            low, high = float(span.min()), float(span.max())
            kind = {"factor": factor.name, "quarter_of": name, "from": low, "to": high}
            mark = found.mark(system.name, name, panel=factor.name, more=f"{low:,.6g} to {high:,.6g}")
            row = {**about(system), **kind, "share_of_label_1": shares[number], **found.cells}
            result.add(row, found.interval, mark)
        axis = Axis.share(factor.metric.title, result.marks[before:])
        charts.append(Chart("intervals", axis, series=Series("quarter", _QUARTERS), panel=factor.name))
    if not result.rows:
        return missing("No system answered samples of both classes.")
    if "survived_edits" in panel.task.label_facts:
        whole = "Releases hold the paragraph that was edited, not its article"
        result.notes.append(f"{whole}, so length is that of the paragraph.")
    return result.drawn(*charts, most=6, one_key=True)


def _share_of_label_1(panel: Panel, where: NDArray[np.bool_]) -> float | None:
    return float((panel.labels[where] == 1).mean()) if where.any() else None


def _recall(panel: Panel, label: int) -> Metric:
    """The recall of a class."""
    classes = panel.task.classes
    return class_recall(len(classes), label, f"recall:{classes[label]}", f"share of {classes[label]} found")


def _factors(panel: Panel) -> list[_Factor]:
    positive, negative = panel.labels == 1, panel.labels == 0
    if "ratings" in panel.task.label_facts:
        known, received = known_of_samples(panel), "ratings that the note received"
        within = [
            _Factor(f"{name}, quarters within each class", panel.task.headline, values)
            for name, values in known.items()
            if np.unique(values[np.isfinite(values)]).size > 1
        ]
        of_all = _Factor(f"{received}, quarters of all notes", panel.task.headline, known[received], within=False)
        return [*within, of_all]
    if "survived_edits" not in panel.task.label_facts:
        return []
    survived, delay = panel.known("survived_edits"), panel.known("revert_delay_s")
    texts = zip(panel.samples, panel.without_texts.tolist(), strict=True)
    length = np.array([np.nan if withheld else len(getattr(one, "paragraph", "")) for one, withheld in texts])
    return [
        _Factor("accepted edits: later edits survived", _recall(panel, 1), np.where(positive, survived, np.nan)),
        _Factor("rejected edits: seconds until the revert", _recall(panel, 0), np.where(negative, delay, np.nan)),
        _Factor("paragraph length in characters, quarters within each class", panel.task.headline, length),
    ]


def _quarters(panel: Panel, factor: _Factor) -> NDArray[np.int64]:
    """The quarter of each sample, from 0; equal values stay together; -1 without a value."""
    found = np.full(factor.values.shape, -1, dtype=np.int64)
    divided = panel.labels if factor.within else np.zeros_like(panel.labels)
    for label in np.unique(divided):
        own = (divided == label) & np.isfinite(factor.values)
        if own.any():
            edges = np.quantile(factor.values[own], (0.25, 0.5, 0.75))
            found[own] = np.searchsorted(edges, factor.values[own], side="left")
    return found


@analysis(
    "contamination",
    "Contamination",
    "Does a system do better on samples from before its knowledge cutoff?",
    "{metric} on samples from before and from after the system's knowledge cutoff, and the difference with its "
    "interval. A difference right of the dashed line may be memorisation, but also easier samples: check "
    "whether systems with other cutoffs show it at the same date. The date of a sample is that of the note or "
    "edit; its decision came later, so samples shortly before a cutoff are counted as known although they may "
    "not be. Systems that do not state a cutoff are in the table only.",
)
def contamination(panel: Panel) -> AnalysisResult:
    """Samples from before and after a model's knowledge cutoff."""
    models = [system for system in panel.systems if system.kind != "baseline"]
    if not models:
        return missing("Only baselines have answered, and they have no training data.")
    result = Findings(panel)
    for system in models:
        _add_sides(result, system)
    unknown = [str(row["system"]) for row in result.rows if row["status"] == "unknown cutoff"]
    result.notes += [f"Unknown knowledge cutoff: {', '.join(unknown)}."] if unknown else []
    if not result.marks:
        return result.missing("No system has samples on both sides of a known knowledge cutoff.")
    metric, sides = panel.task.headline.title, Series("samples", tuple(_SIDES.values()))
    gap = Axis(f"{metric} before minus after the cutoff", zero=True, ticks=5)
    return result.drawn(
        Chart("intervals", Axis(metric, ticks=5), series=sides, panel=_CUTOFF[0]),
        Chart("intervals", gap, panel=_CUTOFF[1]),
        columns=2,
    )


def _add_sides(result: Findings, system: System) -> None:
    """A system's row; where it has samples on both sides, marks of both and of their difference."""
    panel, said, end = result.panel, system.headline, cutoff_end(system.knowledge_cutoff)
    early = np.array([end is not None and sample.date < end for sample in panel.samples], dtype=np.bool_)
    status, sides, difference = "unknown cutoff", dict.fromkeys(_SIDES), limited("difference", None, None, ends="")
    if end is not None:
        sides = {side: measure(panel, said, where) for side, where in zip(_SIDES, (early, ~early), strict=True)}
        missing_side = "after" if sides["before"] is None else "until" if sides["after"] is None else ""
        status = f"all samples {missing_side} the cutoff" if missing_side else "both sides"
    if status == "both sides":
        more = f"cutoff {system.knowledge_cutoff}"
        before, after = (panel.part(said, said.asked, side) for side in (early, ~early))
        gap, made = compare_parts(before, after, panel.task.headline, n=int(said.asked.sum()))
        difference = limited("difference", gap, made, ends="")
        result.intervals.append(made)
        result.marks += [
            found.mark(system.name, _SIDES[side], panel=_CUTOFF[0], more=more) for side, found in sides.items() if found
        ]
        result.marks.append(
            Mark(system.name, "", gap, made.low, made.high, more=more, row=system.name, panel=_CUTOFF[1])
        )
    row: dict[str, Cell] = {**about(system), "knowledge_cutoff": system.knowledge_cutoff, "status": status}
    for side, one in sides.items():
        n, value, made_of = (one.interval.n, one.value, one.interval) if one else (None, None, None)
        row |= {f"{side}_n": n, **limited(side, value, made_of)}
    result.rows.append(row | difference)


@analysis(
    "text-alone",
    "Text alone",
    "How far do word counts alone predict the labels?",
    "Balanced accuracy (the mean share of each class that is found) of a classifier on word counts, less chance, which "
    "is 1 over the number of classes. It learns from four fifths of the samples and predicts the other fifth; samples "
    "of one group are always on the same side. Above 0, style or topic hints at the label, and a system that is not "
    "clearly better may have learnt no more. A part that predicts well alone may reveal the label.",
)
def text_alone(panel: Panel) -> AnalysisResult:
    """What a cross-fitted linear classifier on TF-IDF of words and word pairs reaches over chance."""
    classes, known = len(panel.task.classes), ~panel.without_texts
    if not classes:
        return missing("This task has no classes.")
    if min(np.bincount(panel.labels[known], minlength=classes)) < _LEAST_LEARNT:
        return missing(f"There are fewer than {_LEAST_LEARNT} samples of a class whose texts are available.")
    folds, result, metric = _folds(panel, known), Findings(panel), balanced_accuracy(classes)
    try:
        found = {name: _cross_fitted(panel, texts, folds) for name, texts in _texts(panel, known).items()}
    except ImportError:
        return missing(f"scikit-learn is not installed: {how_to_install('baselines')}.")
    for name, answers in found.items():
        said = None if answers is None else PromptOutputs.of("cross-fitted", answers, classes)
        made = None if said is None else measure(panel, said, metric=metric)
        if made is None:
            continue
        gain, low, high = (end - 1 / classes for end in (made.value, made.interval.low, made.interval.high))
        over = {"over_chance": gain, "over_chance_low": low, "over_chance_high": high}
        row = {"text": name, **made.cells, "chance": 1 / classes, **over}
        mark = Mark("words", "", gain, low, high, made.interval.n, row=f"{name} (n = {made.interval.n})")
        result.add(row, made.interval, mark)
    if not result.rows:
        return missing("No word occurs in two texts.")
    if int(known.sum()) > _MOST:
        result.notes.append(f"Drawn from all: groups with about {_MOST:,} of {int(known.sum()):,} samples.")
    axis = Axis("balanced accuracy over chance", zero=True)
    return result.drawn(Chart("intervals", axis), order="marks")


def _texts(panel: Panel, known: Where) -> dict[str, list[str]]:
    """By name, a text of each sample, empty where it is missing: all that baselines may read, then each part."""
    task = panel.task
    pairs = list(zip(panel.samples, known.tolist(), strict=True))
    found = {"all texts": [task.text(sample) if there else "" for sample, there in pairs]}
    parts = [{part.name: part.text for part in task.page_of(sample).parts} if there else {} for sample, there in pairs]
    names = dict.fromkeys(name for part in parts for name in part)
    if len(names) > 1:
        found |= {name: [part.get(name, "") for part in parts] for name in names}
    return found


def _folds(panel: Panel, known: Where) -> NDArray[np.int64]:
    """The fold of each sample, the same for all of a group; -1 where it has no text, or is beyond the most."""
    # groups in a random order, since the first are often of one kind
    order = np.random.default_rng(0).permutation(int(panel.groups.max()) + 1)
    sizes = np.bincount(panel.groups[known], minlength=order.size)[order]
    before = np.cumsum(sizes) - sizes
    fold = np.empty(order.size, dtype=np.int64)
    fold[order] = np.where(before < _MOST, before * _FOLDS // max(1, min(int(sizes.sum()), _MOST)), -1)
    return np.where(known, np.minimum(fold[panel.groups], _FOLDS - 1), -1)


def _cross_fitted(panel: Panel, texts: Sequence[str], folds: NDArray[np.int64]) -> NDArray[np.int8] | None:
    """The prediction for each sample, learnt from the other folds; None if a fold cannot be learnt from."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    words, answers = np.array(texts, dtype=object), np.full(folds.shape, NOT_ASKED, dtype=np.int8)
    for fold in range(_FOLDS):
        learnt, held = (folds >= 0) & (folds != fold), folds == fold
        if not held.any():
            continue
        model = make_pipeline(
            TfidfVectorizer(ngram_range=(1, 2), min_df=2, max_features=_WORDS, sublinear_tf=True),
            LogisticRegression(class_weight="balanced", max_iter=1_000),
        )
        try:
            answers[held] = model.fit(words[learnt], panel.labels[learnt]).predict(words[held])
        except ValueError:  # one class alone, or no word in two texts
            return None
    return answers
