"""What a release holds and how to verify it: dates, lengths, votes, licences, files, sources, parameters, commands."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime

from hellofresh.core.quarters import parse_utc
from hellofresh.results.board.schema import (
    Distribution,
    License,
    PeriodDates,
    Prospect,
    ReleaseFacts,
    ReleaseFile,
    SourceRow,
)
from leaderboard.components.charts import spread_bar
from leaderboard.components.labels import day
from leaderboard.components.markup import DASH, Html, el, join, link, named, visible
from leaderboard.components.pieces import cell, heading, table
from leaderboard.components.prospective import outcomes
from leaderboard.components.scale import class_name
from leaderboard.data.records import Days, Records
from leaderboard.data.tables import MAIN, PROSPECTIVE, SplitKey

__all__ = ["release_sections"]

_NAMES = {
    ("words", "post"): "Words of the post", ("words", "note"): "Words of the note",
    ("words", "paragraph"): "Words of the paragraph", ("words", "deleted"): "Words taken out",
    ("words", "added"): "Words put in", ("fact", "ratings"): "Ratings of the note",
    ("fact", "revert_delay_s"): "Hours until reverted", ("fact", "survived_edits"): "Later revisions survived",
    ("fact", "required_edits"): "Revisions to survive", ("fact", "distinct_users"): "Different later editors",
}  # fmt: skip
_HOURS = {"revert_delay_s"}
_LICENSES = {
    "CC-BY-SA-4.0": ("https://creativecommons.org/licenses/by-sa/4.0/", "free to share with attribution, alike"),
    "LicenseRef-X-content": ("https://x.com/en/tos", "X's terms: ids may be shared, texts may not"),
}


def release_sections(records: Records, split: SplitKey) -> Html:
    """Everything but the funnel and the balance."""
    release = records.release(split)
    found = records.distributions(split)
    return join(
        [
            _prospect(records.prospect(split), split),
            _dates(records.days(split), records.periods(split), split),
            _spreads("Lengths of texts", _lengths_said(release), found, "words", split),
            _spreads("Facts by label", _FACTS_SAID, found, "fact", split)
            if release is not None and release.revealed
            else _not_yet(release),
            _licenses(records.licenses(split)),
            _release(release, records.files(split), records.sources(split)),
            _verify(release, split),
        ]
    )


def _prospect(found: Prospect | None, split: SplitKey) -> Html | None:
    """On a prospective split, what became of its samples."""
    if found is None or split.kind == MAIN:
        return None
    decided = f"{found.decided:,}, {outcomes(found, split.task)}"
    decided += f", by {_day(parse_utc(found.resolved))}" if found.resolved else ""
    dropped = f"{found.undecided:,} still undecided, {found.no_label:,} decided neither way or deleted, "
    dropped += f"{found.early:,} decided before the deadline"
    lines = [
        ("Drawn", f"{found.drawn:,} samples that were undecided"),
        ("Decided since", decided if found.resolved else "not yet"),
        ("Dropped", dropped),
    ]
    return join([heading("Outcomes"), _facts(lines)])


def _facts(lines: Iterable[tuple[str, Html | str]]) -> Html:
    return el("dl", *(el("div", el("dt", term), el("dd", text)) for term, text in lines), class_="hf-facts")


def _dates(days: Days | None, periods: Sequence[PeriodDates], split: SplitKey) -> Html | None:
    if days is None and not periods:
        return None
    lines = [("Opens", _day(days.opens)), ("Deadline", _day(days.deadline))] if days else []
    lines += [("Revealed", _day(days.reveals))] if days and split.kind == MAIN else []
    columns = [("name", "Period"), ("text", "First day"), ("text", "Last day"), ("number", "Samples")]
    rows = (
        el("tr", cell("Period", visible(row.period, 20), None, "name"), cell("First day", row.first, None, "text"),
           cell("Last day", row.last, None, "text"), cell("Samples", f"{row.samples:,}"), role="row")
        for row in periods
    )  # fmt: skip
    body = el("tbody", *rows, role="rowgroup")
    listed = table("Samples by period and day", columns, [body], "hf-small")
    folded = el("details", el("summary", "First and last day of each period"), listed) if periods else None
    return el("section", heading("Dates", "All times are UTC."), _facts(lines) if lines else None, folded)


def _day(moment: datetime) -> str:
    clock = "" if moment.hour == moment.minute == 0 else f", {moment:%H:%M}"
    return f"{day(moment)}{clock}"


_FACTS_SAID = "Facts that would give the label away, by label; public since the reveal."
_LENGTHS = "Bars: the middle half of the samples dark, the middle 80% pale, the median a tick."


def _lengths_said(release: ReleaseFacts | None) -> str:
    if release is not None and not release.revealed:
        return f"{_LENGTHS} They are shown by class once the labels are revealed."
    return _LENGTHS


def _not_yet(release: ReleaseFacts | None) -> Html | None:
    if release is None:
        return None
    return join([heading("Facts by label"), el("p", "Shown once the labels are revealed.")])


def _spreads(title: str, said: str, found: Sequence[Distribution], kind: str, split: SplitKey) -> Html | None:
    rows = sorted((row for row in found if row.kind == kind), key=_place)
    if not rows:
        known = {"words": "The texts are not available here.", "fact": "The source has no such counts."}
        return join([heading(title), el("p", known[kind])])
    reach = {row.name: max(other.p90 for other in rows if other.name == row.name) for row in rows}
    columns = [("name", "What"), ("text", "Samples that are"), ("drawn", ""), ("number", "Median"), ("number", "Mean"),
               ("number", "10% to 90%"), ("number", "Largest"), ("number", "Known for")]  # fmt: skip
    body = el("tbody", *(_spread(row, reach[row.name], split) for row in rows), role="rowgroup")
    return el("section", heading(title, said), table(title, columns, [body], "hf-spreads"))


def _place(row: Distribution) -> tuple[int, str, int]:
    """Known names in the order above, then others; all samples first, then the classes from the last."""
    known = list(_NAMES)
    place = known.index((row.kind, row.name)) if (row.kind, row.name) in _NAMES else len(known)
    return place, row.name, -1_000 if row.label is None else -row.label


def _name(row: Distribution) -> str:
    usual = f"Words of the {row.name}" if row.kind == "words" else row.name.replace("_", " ")
    return _NAMES.get((row.kind, row.name), visible(usual[:1].upper() + usual[1:], 60))


def _spread(row: Distribution, reach: float, split: SplitKey) -> Html:
    unit = 3600 if row.name in _HOURS else 1
    known = f"of {row.n + row.missing:,}" if row.missing else None
    return el(
        "tr",
        cell("What", _name(row), None, "name"),
        cell("Samples that are", "all" if row.label is None else class_name(split.task, row.label), None, "text"),
        el("td", spread_bar(row, reach), class_="hf-drawn", role="cell"),
        cell("Median", _amount(row.median / unit)),
        cell("Mean", _amount(row.mean / unit)),
        cell("10% to 90%", f"{_amount(row.p10 / unit)}{DASH}{_amount(row.p90 / unit)}"),
        cell("Largest", _amount(row.largest / unit)),
        cell("Known for", f"{row.n:,}", known),
        class_="hf-total" if row.label is None else None,
        role="row",
    )


def _amount(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or value == round(value) else f"{value:,.1f}"


def _licenses(found: Sequence[License]) -> Html | None:
    if not found:
        return None
    lines: list[tuple[str, Html | str]] = []
    for row in found:
        address, meaning = _LICENSES.get(row.license, ("", ""))
        lines.append((f"{row.samples:,} samples", join([link(address, visible(row.license, 60)),
                                                        f": {meaning}" if meaning else None])))  # fmt: skip
    return el("section", heading("Licences"), _facts(lines))


def _release(release: ReleaseFacts | None, files: Sequence[ReleaseFile], sources: Sequence[SourceRow]) -> Html | None:
    """What the manifest says."""
    if release is None:
        return None
    lines: list[tuple[str, Html | str]] = [
        ("Manifest", join([f"version {release.version}, SHA-256 ", el("code", release.sha256)])),
        ("Built by", named(release.code, 80)),
        ("Texts", named(release.texts, 20)),
    ]
    if release.rule:
        lines.append(("Draw", join([named(release.rule, 200), "; seed ", el("code", visible(release.seed, 80))])))
        lines.append(("Draw key", _draw(release)))
    if release.commitments:
        lines.append(("Commitments", named(release.commitments, 200)))
    said = "Its samples are frozen from its opening; each version of the manifest names the previous one."
    return el(
        "section",
        heading("The release", said),
        _facts(lines),
        _hashes("Released files", "File", [(row.path, row.size, row.sha256, f"{row.rows:,}") for row in files]),
        _hashes("Made from", "Source", [(row.name, row.size, row.sha256, None) for row in sources]),
        el("details", el("summary", "Settings of the collection"), el("pre", _pretty(release.parameters))),
    )


def _draw(release: ReleaseFacts) -> Html:
    if not release.draw:
        return join(["none: drawn with the public seed alone"])
    known = "public now, in the manifest" if release.revealed else "secret until the reveal"
    return join([f"{known}; committed to by ", el("code", visible(release.draw, 64))])


def _pretty(text: str) -> str:
    return json.dumps(json.loads(text), indent=2, ensure_ascii=True, sort_keys=True)


def _hashes(title: str, what: str, rows: Sequence[tuple[str, int, str, str | None]]) -> Html | None:
    """A table of files with their sizes and hashes, and rows where they are counted."""
    if not rows:
        return None
    counted = rows[0][3] is not None
    columns = [("name", what), ("number", "Bytes"), *([("number", "Rows")] if counted else []), ("text", "SHA-256")]
    lines = (
        el("tr", cell(what, named(name, 120), None, "name"), cell("Bytes", f"{size:,}"),
           cell("Rows", number or DASH) if counted else None,
           cell("SHA-256", el("code", visible(sha256, 64)), None, "text"), role="row")
        for name, size, sha256, number in rows
    )  # fmt: skip
    body = el("tbody", *lines, role="rowgroup")
    return join([el("h3", title), table(title, columns, [body], "hf-hashes")])


def _verify(release: ReleaseFacts | None, split: SplitKey) -> Html | None:
    """The commands, ready to copy."""
    if release is None:
        return None
    place = f"data/releases/{visible(split.edition, 10)}/{visible(split.task, 60)}"
    place += f"/{PROSPECTIVE}" if split.kind == PROSPECTIVE else ""
    said = (
        "Anybody can verify the released files, here or in a copy: every file is the one in the manifest, every "
        "version names the previous one, labels match their commitments, and scores follow from predictions and "
        "labels."
    )
    known = f"hellofresh release verify {place} --known {release.sha256}"
    noted = "Write down the manifest's hash now; later this shows that it is still in the history:"
    return el("section", heading("How to verify", said), el("pre", f"hellofresh release verify {place}"),
              el("p", noted), el("pre", known))  # fmt: skip
