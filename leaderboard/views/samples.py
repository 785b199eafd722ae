"""What was asked, and who was right: a list to filter, and one sample opened with every system's answer.

What systems said in their own words stands here too: texts and addresses that do not come from the project.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby

import polars as pl

from hellofresh.results.board.schema import SAMPLES, SampleRow, TranscriptStep
from hellofresh.results.tables import AnswerRow
from hellofresh.tasks import TASKS
from leaderboard.components.labels import EVERY, Links, day, duration, entry_label, money
from leaderboard.components.markup import DASH, Html, el, inner_link, join, link, named, visible
from leaderboard.components.pieces import heading, notice
from leaderboard.components.scale import class_name, class_names
from leaderboard.components.tables import Cell, Column, table
from leaderboard.data.board import BoardEntry, SplitKey
from leaderboard.views.visit import Page, Visit, no_copy

_LEDE = "What systems were asked, what people decided, and what each system said."
_MOST_ROWS = 10
_BETWEEN = " [...] "
_MOST = 6000
_MOST_SOURCES = 20
_SHORT = 300
"""A text of so many characters is shown at once; a longer one behind a fold."""
_OWN_WORDS = "Texts that systems gave with their answers. Neither they nor the pages behind the links were checked."
_HARD = {
    "all were right": pl.col("right") == pl.col("judged"),
    "some were right": (pl.col("right") > 0) & (pl.col("right") < pl.col("judged")),
    "none was right": (pl.col("right") == 0) & (pl.col("judged") > 0),
}
_FACTS = {
    "revert_delay_s": "time until reverted",
    "survived_edits": "edits survived",
    "required_edits": "edits to survive",
    "distinct_users": "later editors",
    "page_hash_reverted": "whole page restored",
    "paragraph_kind": "kind of paragraph",
    "status_locked_at": "status locked",
}


def _compose(visit: Visit) -> None:
    visit.header("Samples", _LEDE)
    board = visit.board
    split = visit.split()
    rows = board.frame(SampleRow, split).sort("period", "id")
    if rows.is_empty():
        visit.show(el("p", "The board has no samples of this task and quarter. Run: ", el("code", "make release")))
        return
    revealed = bool(rows["revealed"].all())
    standing: list[Html] = []
    if not revealed:
        days = board.days(split)
        when = f" on {day(days.reveals)}" if days else ""
        said = f"Its labels and the systems' answers are shown once the labels are revealed{when}."
        standing.append(notice("Labels are not revealed yet.", said))
    if not rows["published"].any():
        said = "The terms of the source allow sharing ids, not texts; samples link to the original where there is one."
        standing.append(notice("Texts withheld.", said))
    if board.released(split):
        files = inner_link(visit.links.to("data", split), "as files")
        standing.append(el("p", "All of them ", files, ", on the page Data."))
    visit.show(*standing)
    entries = board.entries(split)
    found = _filtered(visit, rows, split, entries, revealed=revealed)
    visit.show(el("p", f"{found.height:,} of {rows.height:,} samples."))
    if found.is_empty():
        return
    starts = range(0, found.height, _MOST_ROWS)
    parts = {f"{k + 1}{DASH}{min(found.height, k + _MOST_ROWS)}": k for k in starts}
    part = next(iter(parts))
    if len(parts) > 1:
        part = visit.one("part", "Samples shown", {title: title for title in parts}, width=150, default=part)
    shown = SAMPLES.rows(found[parts[part] : parts[part] + _MOST_ROWS])
    visit.show(sample_list(shown, split.task, lambda key: visit.address_with("sample", key)))
    opened = [row for row in SAMPLES.rows(rows.filter(id=visit.asked("sample"))) if row not in shown]
    options = {}
    for row in (*opened, *shown):
        text = row.title or next(iter(row.texts), "")
        options[row.id] = f"{row.id} \N{MIDDLE DOT} {visible(text, 60)}" if text else row.id
    chosen = visit.one("sample", "Open a sample", options, width=640)
    sample = board.first(SampleRow, split, id=chosen)
    if sample is not None:
        answers = board.rows(AnswerRow, split, id=chosen)
        steps = sorted(board.rows(TranscriptStep, split, id=chosen), key=lambda step: (step.origin, step.place))
        visit.show(_opened(sample, split.task, answers, steps, entries))


def _filtered(
    visit: Visit, rows: pl.DataFrame, split: SplitKey, entries: Mapping[str, BoardEntry], *, revealed: bool
) -> pl.DataFrame:
    """The samples that fit what the visitor chose."""
    labels = {str(label): name for label, name in reversed(list(enumerate(class_names(split.task))))}
    systems = {origin: entry_label(entry) for origin, entry in entries.items()}
    periods = {name: visible(name, 20) for name in rows["period"].unique().sort()}

    def chosen(name: str, label: str, every: str, titles: Mapping[str, str], width: int) -> str:
        return visit.one(name, label, {EVERY: every, **titles}, width=width, default=EVERY)

    with visit.row():
        period = chosen("period", "Period", "Every period", periods, 150)
        text = visit.search("search", "Search in texts")
        label = right = wrong = EVERY
        if revealed:
            label = chosen("label", "Label", "Any label", labels, 150)
            right = chosen("right", "Who was right", "Any system", {name: name for name in _HARD}, 190)
            wrong = chosen("wrong", "Where this one was wrong", "Any system", systems, 260)
    kept = rows if period == EVERY else rows.filter(period=period)
    kept = kept if label == EVERY else kept.filter(label=int(label))
    kept = kept if right == EVERY else kept.filter(_HARD[right])
    if wrong != EVERY:
        said = visit.board.frame(AnswerRow, split, pl.col("headline"), origin=wrong).select("id", said="label")
        fell_short = said.join(rows, on="id").filter(~pl.col("said").eq_missing(pl.col("label")))
        kept = kept.join(fell_short, on="id", how="semi", maintain_order="left")
    if text:
        columns = (pl.col("id"), pl.col("title"), pl.col("texts").list.join("\n"))
        holds = (column.str.to_lowercase().str.contains(text.lower(), literal=True) for column in columns)
        kept = kept.filter(pl.any_horizontal(holds))
    return kept


def sample_list(samples: Sequence[SampleRow], task: str, address: Callable[[str], str | None]) -> Html:
    """A table of samples, each a way to its own page.

    Args:
        samples: the rows.
        task: whose they are.
        address: of the page that a sample is opened on.
    """
    columns = [("name", "Sample"), ("text", "Period"), ("text", "Text"), ("text", "Label"), ("number", "Right")]
    rows: Iterable[list[Cell]] = (
        [
            inner_link(address(row.id), visible(row.id, 40)),
            visible(row.period, 12),
            _gist(row),
            _label_name(row.label, task),
            DASH if row.right is None or not row.judged else f"{row.right} of {row.judged}",
        ]
        for row in samples
    )
    return table("Samples", columns, rows, "hf-samples hf-opens")


def _gist(row: SampleRow) -> tuple[Html, Html | None]:
    """The title or the text that is asked about; below it the change or, where there is one, the context."""
    by_kind = dict(zip(reversed(row.kinds), reversed(row.texts), strict=True))
    names = {"deleted": "del", "added": "ins"}
    change = [el(names[kind], named(by_kind[kind], 90)) for kind in names if by_kind.get(kind)]
    about = row.title or by_kind.get("text", "")
    if not about:
        return el("span", "text withheld"), None
    if change:
        return named(about, 60), join(part for one in change for part in (one, " "))
    return named(about, 140), named(by_kind["context"], 140) if "context" in by_kind else None


def _label_name(label: int | None, task: str) -> str:
    return "not revealed" if label is None else class_name(task, label)


def _opened(
    sample: SampleRow,
    task: str,
    answers: Sequence[AnswerRow],
    steps: Sequence[TranscriptStep],
    entries: Mapping[str, BoardEntry],
) -> Html:
    """A sample with all that is known of it."""
    source = link(sample.link, "Open the original") if sample.link else None
    facts = "; ".join(_fact(name, value) for name, value in sorted(json.loads(sample.facts).items()))
    known = TASKS.get(task)
    truth = "People decided" if known is not None and known.track == "decisions" else "Label"
    label = el("strong", _label_name(sample.label, task))
    return el(
        "section",
        heading("The sample", el("small", f"{sample.id}, {sample.date[:10]}, {visible(sample.license, 40)}. ", source)),
        _body(sample),
        el("p", f"{truth}: ", label, f". {visible(facts, 400)}") if sample.label is not None else None,
        _answers(answers, sample, task, entries) if answers else None,
        _reasons_of_sample(answers, entries),
        _transcripts(steps, entries) if steps else None,
        data_opened=sample.id,
    )


def _fact(name: str, value: str | float | bool) -> str:
    """A fact in words: lengths of time with their unit."""
    if name == "ai_writer":
        return "written by a machine" if value else "written by a person"
    said = duration(value) if name.endswith("_s") and isinstance(value, int | float) else str(value)
    return f"{_FACTS.get(name, name)}: {said}"


def _body(sample: SampleRow) -> Html:
    title = el("p", el("strong", named(sample.title, 160))) if sample.title else None
    change = dict(zip(sample.kinds, sample.texts, strict=True))
    parts: list[Html] = []
    if not sample.published:
        parts = [el("p", "The texts of this sample are not published.")]
    elif "before" in change:
        parts = [edit_html(change["before"], change.get("deleted", ""), change.get("added", ""))]
    else:
        for name, text in zip(sample.parts, sample.texts, strict=True):
            parts += [el("small", visible(name.capitalize(), 40)), el("p", long_text(text))]
    return el("article", title, *parts, class_="hf-sample")


def _answers(answers: Sequence[AnswerRow], sample: SampleRow, task: str, entries: Mapping[str, BoardEntry]) -> Html:
    """One row a system: its answer, whether it was right, and what it said in each wording."""
    rows: list[list[Cell]] = []
    for origin, entry in entries.items():
        said = [answer for answer in answers if answer.origin == origin]
        if not said:
            continue
        stands = next((answer for answer in said if answer.headline), said[0])
        wordings = "; ".join(
            f"{visible(answer.prompt, 24)}: {', '.join(filter(None, (_said(answer, task), _stated(answer))))}"
            for answer in said
            if not answer.headline
        )
        is_right = stands.label is not None and stands.label == sample.label
        right = el("span", "\N{CHECK MARK} right", class_="hf-right") if is_right else el("span", "wrong")
        # Team and regime tell systems of one name apart.
        regime = join([" \N{MIDDLE DOT} ", visible(entry.regime, 30)]) if entry.regime != "none" else None
        rows.append(
            [
                (named(entry.name), join([named(entry.team, 60), regime])),
                (_said(stands, task), _stated(stands)),
                right if sample.label is not None else el("span", DASH),
                wordings or DASH,
            ]
        )
    columns: list[Column] = [("name", "System"), ("text", "Answer"), ("text", "Right?"), ("text", "By prompt")]
    return join([heading("What systems said"), table("Answers", columns, rows, "hf-answers")])


def _stated(answer: AnswerRow) -> str | None:
    """How sure it called itself."""
    return None if answer.chance is None else f"{answer.chance:.0%} sure"


def _said(answer: AnswerRow, task: str) -> str:
    if answer.label is not None:
        return _label_name(answer.label, task)
    given = "a text" if answer.text is not None else "a ranking" if answer.documents is not None else "no answer"
    return "blocked" if answer.status == "blocked" else given


def _transcripts(steps: Sequence[TranscriptStep], entries: Mapping[str, BoardEntry]) -> Html:
    about = "Requests, searches and pages in order, as the run recorded them."
    parts: list[Html] = [heading("How systems came to their answers", about)]
    for origin, group in groupby(steps, key=lambda step: step.origin):
        entry, items = entries.get(origin), list(group)
        asked = [step for step in items if step.kind == "asked"]
        costs = [step.cost_usd for step in asked if step.cost_usd is not None]
        cost = f", {money(sum(costs))}" if costs and len(costs) == len(asked) else ""
        small = el("small", f" {len(asked)} requests{cost}")
        summary = el("summary", entry_label(entry) if entry else "a run", small)
        parts.append(el("details", summary, el("ol", *map(_step, items))))
    return join(parts)


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
    """A text of several lines, with all that hides or reorders disarmed; at most 6,000 characters."""
    lines = [visible(line, _MOST) for line in text[:_MOST].splitlines()]
    return el("bdi", *(part for line in lines for part in (line, el("br"))))


def edit_html(paragraph: str, deleted: str, added: str) -> Html:
    """The paragraph before the edit with the deleted spans marked in their places, then the added spans.

    Spans come in order, joined by ` [...] `. A span that the paragraph does not hold after the one before it is named
    below. Where the added spans stood is not part of a sample, so they stand in a line of their own.
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
            el("p", el("small", "Taken out besides"), *missing, class_="hf-edit") if missing else None,
            el("p", el("small", "Put in"), *(new or ["nothing"]), class_="hf-edit"),
        ]
    )


def _line(text: str) -> Html:
    return el("bdi", visible(text, _MOST))


def _plain(text: str) -> Html:
    """A piece between spans, whose spaces at the ends stay."""
    inner = " ".join(text.split())
    if not inner:
        return join([" " if text else ""])
    return join([" " if text[0].isspace() else "", _line(inner), " " if text[-1].isspace() else ""])


def _reasons_of_sample(answers: Sequence[AnswerRow], entries: Mapping[str, BoardEntry]) -> Html | None:
    """What each system said of one sample besides its choice; None if no system did."""
    parts = []
    for origin, entry in entries.items():
        mine = (answer for answer in answers if answer.origin == origin)
        said = [answer for answer in mine if answer.rationale or answer.sources or answer.text or answer.documents]
        if said:
            reasons = (el("div", el("small", visible(one.prompt, 40)), reason(one)) for one in said)
            parts.append(el("details", el("summary", entry_label(entry)), *reasons))
    return join([heading("In their own words", _OWN_WORDS), *parts]) if parts else None


def reasons_of_system(answers: Sequence[AnswerRow], split: SplitKey, links: Links) -> Html | None:
    """What one system said of some samples; None where it gave no reasons."""
    if not answers:
        return None
    parts = []
    for one in answers:
        where = inner_link(links.to("samples", split, sample=one.id), visible(one.id, 60))
        title = el("summary", visible(one.id, 60), ", ", visible(one.prompt, 40))
        parts.append(el("details", title, reason(one), el("p", "The sample: ", where)))
    return join([heading("In its own words", _OWN_WORDS), *parts])


def reason(answer: AnswerRow) -> Html:
    """A response, a ranking, a rationale and sources, as far as there are any.

    Sources that are web addresses are links; anything else, such as the name of a document, is text.
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
    """A short text as it is; of a long one the beginning, and the whole behind a fold."""
    whole = el("blockquote", long_text(text), class_="hf-said")
    if len(text) <= _SHORT:
        return whole
    short = el("blockquote", el("bdi", visible(text, _SHORT)), class_="hf-said")
    return join([short, el("details", el("summary", "The whole text"), whole)])


PAGE = Page("Samples", "samples", _compose, _LEDE, no_copy)
