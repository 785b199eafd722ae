"""Samples and answers: a list with filters, and one sample opened with every system's answer.

Systems' own words are shown here too: texts and addresses that do not come from the project.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import polars as pl

from hellofresh.core.parquet import Row
from hellofresh.results.board.sample_rows import (
    PromptRow,
    QuestionRow,
    RatedResponse,
    SampleRow,
    ShownDocument,
    TranscriptStep,
)
from hellofresh.results.board.schema import SAMPLES
from hellofresh.results.split.panel import SINGLE
from hellofresh.results.split.tables import CHANCE, HAS_WORDS, AnswerRow
from hellofresh.tasks import TASKS, relevance_of
from hellofresh.tasks.samples import Label
from leaderboard.components.charts import histogram
from leaderboard.components.labels import FACTS, Links, day, entry_label, fact_name, fact_text, is_frozen, money
from leaderboard.components.markup import (
    DASH,
    Html,
    el,
    heading,
    inner_link,
    join,
    link,
    named,
    notice,
    visible,
)
from leaderboard.components.parts import ALL, DataColumn, DataTable, Filter
from leaderboard.components.scale import class_name, class_names
from leaderboard.components.tables import Cell, Column, definitions, table
from leaderboard.data.board import Board, BoardEntry, SplitKey, kept, table_of
from leaderboard.views.responses import side_by_side
from leaderboard.views.retrieval import DEPTH, documents_of, has_found
from leaderboard.views.visit import MOST_BYTES, Page, Visit, as_script_data, where

_LEDE = "What systems were asked, what people decided, and what each system said."
_MOST_ROWS = 25  # rows in the page itself; its script shows the others
_BETWEEN = " [...] "
_WAYS = "Requests, searches and pages in order, as the run recorded them."
_MOST = 6000  # characters; a hostile answer must not make a page of megabytes
_MOST_SOURCES = 20
_FEWEST_FOR_STEPS = 3  # systems from which on the share of those that were right has steps
_HARD = {(True, True): "All were right", (True, False): "Some were right", (False, False): "None was right"}
# Shares of systems that were right on a sample, as names of the steps of difficulty.
_STEPS = ("none", "to 25%", "to 50%", "to 75%", "below all", "all")
_TURNED = str.maketrans("01", "10")
_SHORT = 300  # texts up to this length are shown at once; longer ones are folded
_AT_ONCE = 20  # samples whose answers are in memory at once
_UNFOLDED = 12  # systems whose counts are shown at once: those of 60 stood before the samples, eight screens of a phone
_OWN_WORDS = "Texts that systems gave with their answers. Neither they nor the pages behind the links were checked."
_RANKING = "a ranking"
# Words for a missing class.
_INSTEAD = (
    pl.when(status="blocked").then(pl.lit("blocked")).when(pl.col("text").is_not_null()).then(pl.lit("a text"))
    .when(pl.col("documents").is_not_null()).then(pl.lit(_RANKING)).otherwise(pl.lit("no answer"))
)  # fmt: skip
# An answer without its texts.
_BARE: list[pl.Expr | str] = [
    "id",
    "origin",
    "prompt",
    "headline",
    "label",
    _INSTEAD.alias("instead"),
    CHANCE.alias("chance"),
]


def _compose(visit: Visit) -> None:
    visit.header("Samples", _LEDE)
    board = visit.board
    split = visit.split()
    rows, marks = samples_of(board, split), marks_of(board, split)
    standing: list[Html | None] = []
    if not all(row.revealed for row in rows):
        days = board.days(split)
        when = f" on {day(days.reveals)}" if days else ""
        said = f"Its labels and the systems' answers are shown once the labels are revealed{when}."
        standing.append(notice("Labels are not revealed yet.", said))
    if not all(map(_is_readable, rows)):
        said = "The terms of the source allow sharing ids, not texts; samples link to the original where there is one."
        said = "This quarter rehearses a source that allows sharing ids only." if board.is_bundled(split) else said
        standing.append(notice("Some texts withheld." if any(map(_is_readable, rows)) else "Texts withheld.", said))
    if gone := taken_down(board, split):
        why = "; ".join(dict.fromkeys(visible(reason, 120) for reason in gone.values()))
        standing.append(el("p", f"{len(gone):,} taken down: {why}."))
    if board.released(split):
        files = inner_link(visit.links.to("data", split), "as files")
        standing.append(el("p", "All of them ", files, ", on the page Data."))
    visit.show(*standing, _difficulty(marks))
    visit.handle(lambda: _browser(visit, split, rows), lambda: _samples_data(visit, split, rows))


def taken_down(board: Board, split: SplitKey) -> Mapping[str, str]:
    """Why samples of a release were taken down, by their ids."""
    path = board.released(split).get("tombstones.jsonl")
    lines = path.read_text(encoding="utf-8").splitlines() if path else []
    return {row["id"]: row["reason"] for row in map(json.loads, lines)}


def _difficulty(marks: Marks) -> Html | None:
    """Samples by the share of systems that were right; None before the reveal, and with too few systems for steps."""
    judged = [(right, of) for right, of in zip(marks.right, marks.judged, strict=True) if of]
    if max((of for _, of in judged), default=0) < _FEWEST_FOR_STEPS:
        return None
    counts = dict.fromkeys(_STEPS, 0)
    for right, of in judged:
        counts[_STEPS[min(math.ceil(right / of * (len(_STEPS) - 2)), len(_STEPS) - 2) if right < of else -1]] += 1
    said = f"Of {len(judged):,} samples, by the share of systems that were right."
    return join([heading("How hard they are", said), histogram(counts)])


def _samples_data(visit: Visit, split: SplitKey, rows: Sequence[SampleRow]) -> DataTable:
    """All samples as values, with filters; a ticked one is opened below."""
    known, marks = TASKS.get(split.task), marks_of(visit.board, split)
    labelled = known is None or bool(known.classes)
    columns = [DataColumn("Text", [_about(row) for row in rows], shown=any(map(_is_readable, rows)))]
    if labelled:
        columns += [
            DataColumn("Label", [_label_name(row.label, split.task) for row in rows]),
            DataColumn("Right", marks.right, help="Systems that were right"),
            DataColumn("Answered", marks.judged, help="Systems that answered it"),
        ]
    columns += [
        DataColumn("Period", [row.period for row in rows], shown=not is_frozen(split.edition)),
        DataColumn("Sample", [row.id for row in rows]),
    ]
    return DataTable(
        "Samples: tick one to open it",
        columns,
        keys=[row.id for row in rows],
        picks=["sample"],
        find="Search in texts",
        texts=[f"{row.id} {_searched(row)}".lower() for row in rows],
        filters=_sample_filters(visit, split, rows, labelled=labelled),
    )


def _sample_filters(visit: Visit, split: SplitKey, rows: Sequence[SampleRow], *, labelled: bool) -> list[Filter]:
    """By period, label, number of right systems, and where any one system was right or wrong."""
    entries, filters = visit.board.entries(split), [Filter.of("Period", [row.period for row in rows], "All periods")]
    marks = marks_of(visit.board, split)
    if not (right := marks.lines):
        return filters
    labels = ["" if row.label is None else class_name(split.task, row.label) for row in rows]
    hard = [_HARD[n > 0, n == of] if of else "" for n, of in zip(marks.right, marks.judged, strict=True)]
    filters += [Filter.of("Label", labels, "Any label"), Filter.of("Systems", hard, "Any")] if labelled else []
    systems = {ALL: "Any system"} | {origin: entry_label(entry) for origin, entry in entries.items()}
    wrong = {origin: line.translate(_TURNED) for origin, line in right.items()}
    titles = ("Right", "Wrong") if labelled else ("Evidence found by", "Not found by")
    return [*filters, Filter("right", titles[0], systems, right), Filter("wrong", titles[1], systems, wrong)]


def _show_sample(visit: Visit, keys: Sequence[str]) -> None:
    """One sample with all answers."""
    split, entries = visit.chosen, visit.board.entries(visit.chosen)
    row = visit.board.first(SampleRow, split, id=keys[0]) if keys else None
    if row is None:
        why = taken_down(visit.board, split).get(keys[0]) if keys else None
        text = f"This sample was taken down: {visible(why, 300)}." if why else "This edition has no such sample."
        visit.show(el("p", text) if keys else None)
        return
    reader = _Reader(visit.board, split, entries, _prompts(visit.board, split), pl.col("id") == row.id)
    found, systems = reader.opened(row), [entry_label(entry) for entry in entries.values()]
    visit.show(Html(found["html"]))
    for frame, text in found["asked"]:
        wordings = [one for one in _asked(visit.board, split, entries) if one["frame"] == frame]
        who = sorted({system for one in wordings for system in one["systems"]})
        of = f"{len(who)} systems" if len(who) > 3 else ", ".join(systems[number] for number in who)
        how = "these words" if len(wordings) == 1 else f"{len(wordings)} wordings"
        visit.show(heading("What was asked", f"Of {of}, in {how}."))
        for one in wordings:
            said = el("blockquote", Html(text + one["instruction"]), class_="hf-said")
            visit.show(el("details", el("summary", el("bdi", one["prompt"])), said))
    if found["said"]:
        answers = _said_table(found["said"], row, split.task, systems, list(reader.prompts))
        visit.show(heading("What systems said"), answers)
    words = [(number, "", source) for number, source in found["words"]]
    ways = [("In their own words", _OWN_WORDS, words), ("How systems came to their answers", _WAYS, found["ways"])]
    for title, about, parts in ways:
        folded = (
            el("details", el("summary", el("bdi", systems[number]), el("small", f" {small}")), Html(source))
            for number, small, source in parts
        )
        visit.show(heading(title, about) if parts else None, *folded)


def _said_table(said: Any, row: SampleRow, task: str, systems: Sequence[str], prompts: Sequence[str]) -> Html:
    """Each system's answer, whether it was right, and the same by prompt."""

    def worded(answer: int | str) -> str:
        return class_name(task, answer) if isinstance(answer, int) else answer

    def small(chance: float | None, raw: str | None) -> str:
        return ", ".join([*([] if chance is None else [f"{chance:.0%} sure"]), *([f"“{raw}”"] if raw else [])])

    lines: list[list[Cell]] = []
    for number, answer, chance, others, raw in said:
        judged: Cell = DASH
        if row.label is not None:
            right = answer == row.label
            judged = el("span", "\N{CHECK MARK} right" if right else "wrong", class_="hf-right" if right else None)
        ways = (
            el("div", f"{prompts[at]}: ", ", ".join(filter(None, (worded(one), small(sure, words)))))
            for at, one, sure, words in others
        )
        lines.append([el("bdi", systems[number]), (worded(answer), small(chance, raw) or None), judged, join(ways)])
    columns: list[Column] = [("name", "System"), ("text", "Answer"), ("text", "Right?"), ("text", "By prompt")]
    return table("Answers", columns, lines, "hf-answers", whole=True)


def _browser(visit: Visit, split: SplitKey, rows: Sequence[SampleRow]) -> Html:
    """The first samples, and the data with which the script shows, filters and opens all of them: see `data.js`."""
    board, entries = visit.board, visit.board.entries(split)
    prompts, known = _prompts(board, split), TASKS.get(split.task)
    texts = any(row.published for row in rows)
    places: list[int] = []
    inside: dict[str, str] = {}
    size, file = 0, 0
    for start in range(0, len(rows), _AT_ONCE):
        some = rows[start : start + _AT_ONCE]
        reader = _Reader(board, split, entries, prompts, pl.col("id").is_in([row.id for row in some]))
        for row in some:
            places.append(file)
            inside[row.id] = opened = as_script_data(reader.opened(row))
            size += len(opened)
            if size > MOST_BYTES or row is rows[-1]:
                texts_of = ",".join(f"{as_script_data(key)}:{text}" for key, text in inside.items())
                visit.attach_text(f"samples/{file}", f"{{{texts_of}}}")
                size, inside, file = 0, {}, file + 1
    gists, marks = [gist(row) for row in rows], marks_of(board, split)
    listed = {
        "asked": _asked(board, split, entries),
        "gone": {key: visible(why, 300) for key, why in taken_down(board, split).items()},
        "classes": list(class_names(split.task)) if known is None or known.classes else [],
        "prompts": [visible(name, 24) for name in prompts],
        "right": list(marks.lines.values()),
        "samples": {
            "id": [row.id for row in rows],
            "period": [row.period for row in rows],
            "gist": [gist.source for gist, _ in gists],
            "small": [small.source if small else "" for _, small in gists],
            "label": [row.label for row in rows],
            "right": marks.right,
            "judged": marks.judged,
            "file": places,
            "text": [_searched(row) for row in rows],
        },
        "systems": [[origin, entry_label(entry)] for origin, entry in entries.items()],
        "ways": _WAYS,
        "words": _OWN_WORDS,
    }
    shown = sample_list(rows[:_MOST_ROWS], board, split, visit.links)
    place = el(
        "div",
        el("div", class_="hf-tools hf-filters", role="search"),
        el("p", f"{len(rows):,} samples.", role="status"),
        el("div", id="sample"),
        shown,
        data_hf="samples",
        data_src=visit.attach_data("samples/list", listed),
    )
    if texts:
        return place
    return el("details", el("summary", f"The {len(rows):,} samples by id, with what systems answered"), place)


def _searched(row: SampleRow) -> str:
    """The searched text, besides the visible id and title."""
    return visible(" ".join([row.title, *row.texts]), _MOST)


def _prompts(board: Board, split: SplitKey) -> dict[str, int]:
    """Numbers of the prompts whose answers are shown beside the headlines."""
    names = board.frame(AnswerRow, split, ~pl.col("headline"), columns=["prompt"]).to_series().unique()
    return {name: number for number, name in enumerate(sorted(names.to_list()))}


def _asked(board: Board, split: SplitKey, entries: Mapping[str, BoardEntry]) -> list[dict[str, Any]]:
    """The wordings: number of the frame, name, text as HTML, and the numbers of the systems that used them."""
    numbers = {origin: number for number, origin in enumerate(entries)}
    return [
        {
            "frame": one.frame,
            "prompt": visible(one.prompt, 40),
            "instruction": long_text(one.instruction).source,
            "systems": [numbers[origin] for origin in one.origins if origin in numbers],
        }
        for one in board.rows(PromptRow, split)
    ]


@dataclass(frozen=True, slots=True)
class Marks:
    """Who was right on which sample of a split.

    Attributes:
        ids: of the samples, in the order of the page.
        lines: by origin a character for each sample: 1 right, 0 wrong, - not judged; empty before the reveal.
        right, judged: how many of the shown systems were right on each sample, and how many judged it.
    """

    ids: Sequence[str]
    lines: Mapping[str, str]
    right: Sequence[int]
    judged: Sequence[int]

    @classmethod
    def of(cls, ids: Sequence[str], lines: Mapping[str, str]) -> Marks:
        """Count the marks of each sample."""
        columns = [*zip(*lines.values(), strict=True)] or [()] * len(ids)
        right, judged = (
            [column.count("1") for column in columns],
            [len(column) - column.count("-") for column in columns],
        )
        return cls(ids, lines, right, judged)

    def among(self, ids: Sequence[str]) -> Marks:
        """The marks of some samples, in their order."""
        places = {key: at for at, key in enumerate(self.ids)}
        lines = {origin: "".join(line[places[key]] for key in ids) for origin, line in self.lines.items()}
        return Marks.of(ids, lines)

    def only_wrong(self, origin: str) -> list[str]:
        """Samples on which this system was wrong and most others right, those that most got right first."""
        line = self.lines.get(origin, "")
        places = [at for at, mark in enumerate(line) if mark == "0" and 2 * self.right[at] > self.judged[at] - 1]
        return [self.ids[at] for at in sorted(places, key=lambda at: (-self.right[at] / self.judged[at], self.ids[at]))]


@kept
def marks_of(board: Board, split: SplitKey) -> Marks:
    """Who was right on which sample; a ranking is right if a relevant document is among its first ones."""
    rows, entries = samples_of(board, split), board.entries(split)
    asked = (pl.col("headline"), pl.col("id").is_in([row.id for row in rows]))
    stated = board.frame(AnswerRow, split, *asked, columns=["origin", "id", "label", "documents"])
    by_origin, ids = stated.partition_by("origin", as_dict=True, include_key=False), [row.id for row in rows]
    if not by_origin or not all(row.revealed for row in rows):
        return Marks.of(ids, {})

    def marks(origin: str) -> str:
        said = {key: answer for key, *answer in by_origin[origin,].iter_rows()} if (origin,) in by_origin else {}
        return "".join(mark(row, *said[row.id]) if row.id in said else "-" for row in rows)

    def mark(row: SampleRow, label: int | None, documents: list[str] | None) -> str:
        if row.label is None and documents is None:
            return "-"
        return str(int(label == row.label if documents is None else has_found(row, documents)))

    found = {origin: marks(origin) for origin in entries}
    return Marks.of(ids, found if any(set(line) - {"-"} for line in found.values()) else {})


def samples_of(board: Board, split: SplitKey, *wanted: pl.Expr) -> list[SampleRow]:
    """The samples of a split in the order of the page."""
    return SAMPLES.rows(board.frame(SampleRow, split, *wanted).sort("period", "id"))


class _Reader:
    """Answers to some samples of a split, in the script's format."""

    def __init__(
        self,
        board: Board,
        split: SplitKey,
        entries: Mapping[str, BoardEntry],
        prompts: Mapping[str, int],
        wanted: pl.Expr,
    ) -> None:
        """Read the answers to selected samples: all at once could be a gigabyte."""
        self._board, self._split, self.prompts = board, split, prompts
        self._numbers = {origin: number for number, origin in enumerate(entries)}
        known = pl.col("origin").is_in(list(entries))
        # Millions on a board of hundreds of systems: in the script's form at once, the headline apart from the others.
        self._bare = defaultdict[str, defaultdict[tuple[str, bool], list[list[Any]]]](lambda: defaultdict(list))
        bare = board.frame(AnswerRow, split, known, wanted, columns=_BARE)
        columns = bare.to_dict(as_series=False).values()
        for sample, origin, prompt, headline, label, instead, chance in zip(*columns, strict=True):
            said = instead if label is None else label
            self._bare[sample][origin, headline].append([prompts.get(prompt), said, chance, None])
        self._answers = _by_sample(AnswerRow, board.frame(AnswerRow, split, known, wanted, HAS_WORDS))
        self._steps = _by_sample(TranscriptStep, board.frame(TranscriptStep, split, known, wanted))
        self._responses = _by_sample(RatedResponse, board.frame(RatedResponse, split, wanted))
        self._questions = _by_sample(QuestionRow, board.frame(QuestionRow, split, wanted))

    def opened(self, row: SampleRow) -> dict[str, Any]:
        """The sample as HTML; answers as system, class or word, probability, the same by prompt and, for systems that
        send single requests only, the model's reply; the prompt, by frame, and the rest as HTML.
        """
        task, answers = self._split.task, self._answers[row.id]
        steps = sorted(self._steps[row.id], key=lambda step: (step.origin, step.place))
        by_origin = {origin: list(group) for origin, group in groupby(steps, key=lambda step: step.origin)}
        responses = sorted(self._responses[row.id], key=lambda item: item.system)
        by_system: defaultdict[str, list[AnswerRow]] = defaultdict(list)
        for answer in answers:
            by_system[answer.origin].append(answer)
        given, words, ways, bare = [], [], [], self._bare[row.id]
        for origin, number in self._numbers.items():
            others, raw = bare.get((origin, False), []), _raw(by_origin[origin]) if origin in by_origin else {}
            first = bare.get((origin, True), others)
            if first and not responses:
                texts = {self.prompts.get(prompt): text for prompt, text in raw.items()}
                for one in others if texts else ():
                    one[3] = texts.get(one[0])
                alone = next(iter(raw.values())) if len(raw) == 1 and first[0][1] != _RANKING else None  # shown below
                given.append([number, *first[0][1:3], others, alone])
            if origin in by_system and not responses:
                parts = (el("div", el("small", visible(one.prompt, 40)), reason(one)) for one in by_system[origin])
                words.append([number, join(parts).source])
            if origin in by_origin and not raw:
                small, listed = _way(by_origin[origin])
                ways.append([number, small, listed.source])
        whole = [_opened(row, task), side_by_side(responses) if responses else None]
        ranked = {key for one in answers for key in (one.documents or ())[:DEPTH]}
        if ranked:
            ranked |= set(relevance_of(json.loads(row.facts)))
            found = self._board.rows(ShownDocument, self._split, pl.col("id").is_in(sorted(ranked)))
            whole.append(documents_of(row, sorted(ranked), found))
        asked = [[one.frame, long_text(one.text).source] for one in self._questions[row.id]]
        return {"html": join(whole).source, "asked": asked, "said": given, "words": words, "ways": ways}


def _by_sample(kind: type[Row], frame: pl.DataFrame) -> Mapping[str, list[Row]]:
    found = defaultdict[str, list[Row]](list)
    for sample, row in zip(frame["id"], table_of(kind).rows(frame), strict=True):
        found[sample].append(row)
    return found


def sample_list(samples: Sequence[SampleRow], board: Board, split: SplitKey, links: Links) -> Html:
    """A table of samples of a split, each a link to the page that opens it."""
    known, marks = TASKS.get(split.task), marks_of(board, split)
    labelled, places = known is None or bool(known.classes), {key: at for at, key in enumerate(marks.ids)}
    # Without texts, ids are the links; a data set has one period.
    texts, dated = any(map(_is_readable, samples)), not is_frozen(split.edition)
    columns: list[Column] = [("name", "Text" if texts else "Sample")]
    columns += [("text", "Label"), ("number", "Right")] if labelled else []
    columns += [*([("text", "Period")] if dated else []), *([("text", "Sample")] if texts else [])]
    rows: list[list[Cell]] = []
    for row in samples:
        at, (about, small) = places[row.id], gist(row)
        way = inner_link(links.to("samples", split, sample=row.id), about)
        more = [_label_name(row.label, split.task), _share(marks.right[at], marks.judged[at])] if labelled else []
        more += [*([visible(row.period, 12)] if dated else []), *([visible(row.id, 40)] if texts else [])]
        rows.append([(way, small), *more])
    return table("Samples", columns, rows, "hf-samples hf-opens", whole=True)


def _share(right: int, judged: int) -> str:
    return f"{right} of {judged}" if judged else DASH


def _is_readable(row: SampleRow) -> bool:
    """Whether the title or text in question may be shown."""
    texts = [text for kind, text in zip(row.kinds, row.texts, strict=True) if kind == "text"]
    return row.published and bool(row.title or texts) and all(texts)


def _about(row: SampleRow) -> str:
    """The title or text in question, and the change, as one text; the id where the text is withheld."""
    by_kind = dict(zip(reversed(row.kinds), reversed(row.texts), strict=True))
    if not _is_readable(row):
        return row.id
    about = row.title or by_kind["text"]
    signs = {"deleted": "\N{MINUS SIGN}", "added": "+"}
    return " ".join([about, *(f"{signs[kind]}{by_kind[kind]}" for kind in signs if by_kind.get(kind))])


def gist(row: SampleRow) -> tuple[Html, Html | None]:
    """The title or text in question, or the id where it is withheld; below it the change or, if any, the context."""
    if not _is_readable(row):
        return named(row.id, 40), None
    by_kind = dict(zip(reversed(row.kinds), reversed(row.texts), strict=True))
    names = {"deleted": "del", "added": "ins"}
    change = [el(names[kind], named(by_kind[kind], 90)) for kind in names if by_kind.get(kind)]
    about = row.title or by_kind["text"]
    if change:
        return named(about, 60), join(part for one in change for part in (one, " "))
    return named(about, 140), named(by_kind["context"], 140) if "context" in by_kind else None


def _label_name(label: int | None, task: str) -> str:
    return "not revealed" if label is None else class_name(task, label)


def _opened(sample: SampleRow, task: str) -> Html:
    """A sample with all known data."""
    source = link(sample.link, "Open the original") if sample.link else None
    known, facts = TASKS.get(task), json.loads(sample.facts)
    cost = known.flip_cost(Label(sample.id, sample.label, facts)) if known and sample.label is not None else None
    facts |= {} if cost is None else {"flip_cost": cost}
    order = {name: place for place, name in enumerate(FACTS)}
    given = sorted((name for name in facts if facts[name] is not None), key=lambda name: order.get(name, len(order)))
    said = [(fact_name(name), fact_text(name, facts[name])) for name in given]
    truth = "People decided" if known is not None and known.track == "decisions" else "Label"
    label = el("strong", _label_name(sample.label, task))
    return join(
        [
            heading(
                "The sample", el("small", f"{sample.id}, {sample.date[:10]}, {visible(sample.license, 40)}. ", source)
            ),
            sample_body(sample),
            definitions([(truth, label), *said], "hf-truth") if sample.label is not None else None,
        ]
    )


def sample_body(sample: SampleRow) -> Html:
    """The content of a sample, or a note that its texts are not published."""
    title = el("p", el("strong", named(sample.title, 160))) if sample.title else None
    change = dict(zip(sample.kinds, sample.texts, strict=True))
    parts: list[Html] = []
    if not sample.published:
        parts = [el("p", "The texts of this sample are not published.")]
    elif "before" in change:
        parts = [edit_html(change["before"], change.get("deleted", ""), change.get("added", ""))]
    else:
        for name, text in zip(sample.parts, sample.texts, strict=True):
            said = visible(name.replace("_", " ").capitalize(), 40)
            parts += [el("small", said), el("p", long_text(text))] if text else []
    return el("article", title, *parts, class_="hf-sample")


def _raw(steps: Sequence[TranscriptStep]) -> dict[str, str]:
    """By prompt, a model's reply, for systems that send each prompt once and nothing else; empty for others."""
    said = {step.prompt: visible(step.text, 1500) for step in steps if step.kind == "asked" and step.prompt}
    return said if len(said) == len(steps) else {}


def _way(steps: Sequence[TranscriptStep]) -> tuple[str, Html]:
    """One system's path to its answer: requests and their cost in words, then every step."""
    asked = [step for step in steps if step.kind == "asked"]
    costs = [step.cost_usd for step in asked if step.cost_usd is not None]
    cost = f", {money(sum(costs))}" if costs and len(costs) == len(asked) else ""
    return f"{len(asked)} requests{cost}", el("ol", *map(_step, steps))


def _step(step: TranscriptStep) -> Html:
    text = named(step.text, 1500) if step.text else None
    match step.kind:
        case "asked":
            who = " \N{MIDDLE DOT} ".join(filter(None, (step.name, step.prompt, step.role, step.model)))
            cost = "" if step.cost_usd is None else f", {money(step.cost_usd)}"
            taken = f"{step.tokens_in:,} tokens in, {step.tokens_out:,} out{cost}"
            taken = "tokens unknown" if step.tokens_in is None or step.tokens_out is None else taken
            return el("li", el("strong", visible(who, 200)), el("small", f" {taken}"), el("p", text or DASH))
        case "searched":
            problem = f" ({visible(step.problem, 80)})" if step.problem else ""
            return el("li", el("strong", "Searched for: "), text or DASH, problem)
        case "read":
            used = "summarised: " if step.text else "used"
            fate = f"not used: {visible(step.problem, 60)}" if step.problem else used
            title = visible(step.title, 160) or visible(step.url, 160)
            address = el("small", f" {visible(step.url, 120)} ")
            return el("li", link(step.url, title), address, el("p", fate, text))
        case "quoted":
            source = link(step.url, visible(step.url, 160))
            return el("li", el("strong", "Quoted from "), source, el("p", text or DASH))
    return el("li", el("strong", visible(step.name, 60)), el("p", text or DASH))


def long_text(text: str) -> Html:
    """A text of several lines, sanitised; at most 6,000 characters."""
    lines = [visible(line, _MOST) for line in text[:_MOST].splitlines()]
    return el("bdi", *(part for line in lines for part in (line, el("br"))))


def edit_html(paragraph: str, deleted: str, added: str) -> Html:
    """The paragraph before the edit with the deleted spans marked in place, then the added spans.

    Spans are in order, joined by ` [...] `. A span that does not follow the one before it in the paragraph is shown
    below. A sample lacks the places of added spans, so they are shown in a separate line.
    """
    paragraph, at = paragraph[:_MOST], 0
    pieces: list[Html] = []
    missing: list[Html] = []
    for span in (span.strip() for span in deleted.split(_BETWEEN)):
        start = paragraph.find(span, at)
        if span and start < 0:
            missing.append(el("del", _line(span)))
        elif span:
            pieces += [_plain(paragraph[at:start]), el("del", _line(span))]
            at = start + len(span)
    spans = [span for span in added.split(_BETWEEN) if span.strip()]
    new = [part for span in spans for part in (el("ins", _line(span)), " ")]
    return join(
        [
            el("p", *pieces, _plain(paragraph[at:]), class_="hf-edit"),
            el("p", el("small", "Also removed"), *missing, class_="hf-edit") if missing else None,
            el("p", el("small", "Added"), *(new or ["nothing"]), class_="hf-edit"),
        ]
    )


def _line(text: str) -> Html:
    return el("bdi", visible(text, _MOST))


def _plain(text: str) -> Html:
    """A piece between spans; its outer spaces are kept."""
    inner = " ".join(text.split())
    if not inner:
        return join([" " if text else ""])
    return join([" " if text[0].isspace() else "", _line(inner), " " if text[-1].isspace() else ""])


def reasons_of_system(answers: Sequence[AnswerRow], split: SplitKey, links: Links) -> Html | None:
    """One system's reasons for some samples; None if it gave none."""
    if not answers:
        return None
    parts = []
    for one in answers:
        where = inner_link(links.to("samples", split, sample=one.id), visible(one.id, 60))
        asked = "" if one.prompt == SINGLE else f", {visible(one.prompt, 40)}"
        title = el("summary", visible(one.id, 60), asked)
        parts.append(el("details", title, reason(one), el("p", "The sample: ", where)))
    return join([heading("In its own words", _OWN_WORDS), *parts])


def reason(answer: AnswerRow) -> Html:
    """A response, a ranking, a rationale and sources, if any.

    Sources with web addresses are links; others, such as names of documents, are plain text.
    """
    ranking = [visible(name, 60) for name in (answer.documents or ())[:_MOST_SOURCES]]
    items = [el("li", link(source, visible(source, 120))) for source in answer.sources[:_MOST_SOURCES]]
    more = len(answer.sources) - _MOST_SOURCES
    items += [el("li", f"{more:,} more")] if more > 0 else []
    return join(
        [
            _folded(answer.text) if answer.text else None,
            el("p", "Ranking: ", ", ".join(ranking)) if ranking else None,
            _folded(answer.rationale) if answer.rationale else None,
            join([el("p", "Sources"), el("ul", *items, class_="hf-sources")]) if items else None,
        ]
    )


def _folded(text: str) -> Html:
    """A short text unchanged; the beginning of a long one, with the whole in a fold."""
    whole = el("blockquote", long_text(text), class_="hf-said")
    if len(text) <= _SHORT:
        return whole
    short = el("blockquote", el("bdi", visible(text, _SHORT)), class_="hf-said")
    return join([short, el("details", el("summary", "The whole text"), whole)])


_THERE = where(lambda board, split: board.has(SampleRow, split))
PAGE = Page("Samples", "samples", _compose, _LEDE, _THERE, opened=_show_sample)
