"""Kinds of samples: where systems are strong and where weak."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from hellofresh.results.analyses._base import Analysis, AnalysisResult, missing, table_of
from hellofresh.results.analyses._measures import about, best_first, few_note, mark_of, measure, names_of
from hellofresh.results.figures.charts import Axis, Chart, Figure, Mark, Series
from hellofresh.results.panel import Panel
from hellofresh.tasks.samples import Sample

__all__ = ["ANALYSIS"]

_LEAST_SAMPLES = 8
_LEAST_OF_CLASS = 3
_LEAST_ASKED = 5
_TOPIC_WORDS = 6
_WORD = re.compile(r"[^\W\d_]{5,}")
_HOST = re.compile(r"https?://([^\s/:?#]+)", re.ASCII)
_ADDRESS = re.compile(r"https?://\S+")
_OTHER_LANGUAGE = re.compile(
    r"(^|\.)(?!en\.|ww)[a-z]{2,3}\.wikipedia\.org$|\.(?!uk$|us$|au$|ca$|nz$|ie$|io$|tv$|co$|eu$|me$|ai$)[a-z]{2}$"
)
_PLAIN_WORDS = frozenset(
    """
    about above according actually after again against article because before being believe below between called
    could different during every first found given great however https including itself known large later little
    makes making means might never often other people person quite rather really right should since small still
    taken their there these thing things think those three through today under until using where which while
    whole whose within without world would years
    """.split()  # noqa: SIM905 - a list of so many words takes a line each
)
"""Common in texts on any topic."""

Slices = Mapping[str, Sequence[str | None]]
"""By factor, the slice of each sample, None for samples that belong to none. A sample may be in one of each factor."""


def _run(panel: Panel) -> AnalysisResult:
    if not panel.systems:
        return missing("No system has answered.")
    parts = [(factor, name, where) for factor, name, where in _parts(panel) if _enough(panel, where)]
    slices = Counter(factor for factor, _, _ in parts)
    parts = [part for part in parts if slices[part[0]] > 1]  # one slice alone compares nothing
    if not parts:
        return missing("There are too few samples of every kind, or their texts are not available.")
    factors = list(dict.fromkeys(factor for factor, _, _ in parts))
    rows, intervals = [], []
    marks: list[Mark] = []
    for factor, name, where in parts:
        for system in panel.systems:
            found = measure(panel, system.headline, where)
            if found is None or found.interval.n < _LEAST_ASKED:
                continue
            rows.append({**about(system), "factor": factor, "slice": name, "samples": int(where.sum()),
                         "balance": _balance(panel, where), **found.cells})  # fmt: skip
            intervals.append(found.interval)
            row = f"{name} (n = {int(where.sum())})"
            marks.append(mark_of(found, system.name, system.name, row=row, panel=factor, more=_balance(panel, where)))
    if not rows:
        return missing(f"No system judged {_LEAST_ASKED} samples of a kind.")
    axis = Axis.share(panel.task.headline.title, marks)
    charts = tuple(Chart("intervals", axis, series=Series("system"), panel=factor) for factor in factors)
    drawn = {mark.who for mark in marks}
    order = names_of([system for system in best_first(panel, panel.systems) if system.name in drawn])
    figure = Figure(charts, order, most=4, one_key=True)
    notes = []
    if panel.without_texts.any():
        notes.append(f"{int(panel.without_texts.sum())} samples without texts are in no slice by text.")
    return AnalysisResult(table_of(rows), figure, [*notes, *few_note(intervals)], marks=marks)


def _enough(panel: Panel, where: NDArray[np.bool_]) -> bool:
    """Whether a slice has some samples of two classes: without, its score would be about its balance alone."""
    enough = int(where.sum()) >= _LEAST_SAMPLES
    return enough and (not panel.task.classes or sorted(_sizes(panel, where))[-2] >= _LEAST_OF_CLASS)


def _sizes(panel: Panel, where: NDArray[np.bool_]) -> list[int]:
    """Samples of each class."""
    sizes: list[int] = np.bincount(panel.labels[where], minlength=len(panel.task.classes)).tolist()
    return sizes


def _balance(panel: Panel, where: NDArray[np.bool_]) -> str:
    """How many samples each class has."""
    named = zip(panel.task.classes, _sizes(panel, where), strict=False)
    return ", ".join(f"{size:,} {name}" for name, size in named)


def _parts(panel: Panel) -> list[tuple[str, str, NDArray[np.bool_]]]:
    """All slices: factor, name, and shape (n,) of who belongs to it."""
    texts = [
        None if withheld else panel.task.text(sample)
        for sample, withheld in zip(panel.samples, panel.without_texts.tolist(), strict=True)
    ]
    found = []
    for factor, slices in (*_of_text(texts).items(), *_of_kind(panel, texts).items()):
        names = sorted({name for name in slices if name is not None})
        found += [(factor, name, np.array([one == name for one in slices], dtype=np.bool_)) for name in names]
    for word in _topic_words(texts):
        belongs = [text is not None and word in _words(text) for text in texts]
        found.append(("topic word in the text", word, np.array(belongs, dtype=np.bool_)))
    return found


def _of_text(texts: Sequence[str | None]) -> Slices:
    lengths = [len(text) for text in texts if text is not None]
    if not lengths:
        return {}
    one, two = (int(edge) for edge in np.quantile(lengths, (1 / 3, 2 / 3), method="lower"))
    names = (f"1. up to {one:,}", f"2. up to {two:,}", f"3. above {two:,}")

    def part(text: str | None) -> str | None:
        return None if text is None else names[(len(text) > one) + (len(text) > two)]

    return {"length of the text (characters)": [part(text) for text in texts]}


def _of_kind(panel: Panel, texts: Sequence[str | None]) -> Slices:
    known = panel.task.label_facts
    if "ai_writer" in known:
        return {
            "sources named in the note": [None if text is None else _sources(text) for text in texts],
            "who wrote the note": [_writer(facts) for facts in panel.facts],
        }
    change: Callable[[Sample], str] = _change
    if "paragraph_kind" not in known:
        return {}
    return {
        "kind of block": [_text_or_none(facts.get("paragraph_kind")) for facts in panel.facts],
        "kind of change": [change(sample) for sample in panel.samples],
    }


def _text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _change(sample: Sample) -> str:
    added, deleted = bool(getattr(sample, "added", "")), bool(getattr(sample, "deleted", ""))
    return "words exchanged" if added and deleted else "words added" if added else "words taken out"


def _writer(facts: Mapping[str, object]) -> str | None:
    if facts.get("ai_writer") is None and facts.get("collaborative") is None:
        return None
    return "machine (or with its help)" if facts.get("ai_writer") or facts.get("collaborative") else "people"


def _sources(text: str) -> str:
    """By the addresses alone: a country's ending or another edition of Wikipedia counts as another language."""
    hosts = [host.lower() for host in _HOST.findall(text)]
    if not hosts:
        return "none"
    return "foreign address" if any(_OTHER_LANGUAGE.search(host) for host in hosts) else "general address"


def _words(text: str) -> set[str]:
    return set(_WORD.findall(_ADDRESS.sub(" ", text.lower()))) - _PLAIN_WORDS


def _topic_words(texts: Sequence[str | None]) -> list[str]:
    """The words of five letters or more that are in most texts, less those that are in every fifth."""
    known = [text for text in texts if text is not None]
    times = Counter(word for text in known for word in _words(text))
    topical = [(number, word) for word, number in times.items() if _LEAST_SAMPLES <= number <= max(10, len(known) // 5)]
    return [word for _, word in sorted(topical, key=lambda pair: (-pair[0], pair[1]))[:_TOPIC_WORDS]]


ANALYSIS = Analysis(
    name="slices",
    title="Slices",
    question="On which kinds of samples are systems strong or weak?",
    how_to_read=(
        "{metric} of the best systems on parts of the samples: by length, topic words, sources, the kind of "
        "block or change, and "
        "whether a machine wrote the note. Classes are balanced in the quarter, not in each part, and {metric} "
        "depends on the "
        "balance: compare systems within a row before comparing rows. Looking at many rows, some stand out by chance."
    ),
    run=_run,
)
