"""A run as a self-contained HTML file: settings, score, cost, and every sample with its transcript.

All texts are escaped. The page's own policy forbids loading anything and running any script except its search, which
is identified by its hash.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from hellofresh import __version__
from leaderboard.components.markup import Html, el, heading, named, notice, page_header, visible
from leaderboard.export.copy import document, style

Row = Sequence[str]
_SEARCH = """
const box = document.querySelector("[type=search]"), kind = document.querySelector("select");
const samples = [...document.querySelectorAll("details[data-kind]")], shown = document.querySelector("output");
const texts = samples.map((one) => one.textContent.toLowerCase());
function narrow() {
  const words = box.value.toLowerCase().split(/\\s+/).filter(Boolean);
  let count = 0;
  samples.forEach((one, place) => {
    const fits = (!kind.value || one.dataset.kind === kind.value) && words.every((word) => texts[place].includes(word));
    one.hidden = !fits;
    count += fits;
  });
  shown.value = `${count} of ${samples.length} samples`;
}
box.addEventListener("input", narrow);
kind.addEventListener("change", narrow);
narrow();
"""
_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
    f"script-src 'sha256-{base64.b64encode(hashlib.sha256(_SEARCH.encode()).digest()).decode()}'"
)
_STYLE = """
main { padding: 1.25rem 1rem 3rem; max-width: 64rem; margin: 0 auto; }
.run-tools { display: flex; flex-wrap: wrap; gap: .75rem; align-items: end; margin: .75rem 0; }
.run-tools label { display: grid; gap: .25rem; font-size: .8125rem; }
.run-tools :is(input, select) { font: inherit; font-size: 1rem; min-height: 2.75rem; min-width: 0; padding: 0 .5rem; }
.run-sample { border-top: 1px solid var(--hf-line); }
.hf .run-sample > summary { font-size: 1rem; padding: .6rem 0; cursor: pointer; overflow-wrap: anywhere; }
.run-facts { display: grid; overflow-x: auto; }
.run-facts :is(th, td) { text-align: left; vertical-align: top; padding: .25rem 1rem .25rem 0; }
.hf .run-facts bdi { overflow-wrap: break-word; }
.hf h3 { font-size: .8125rem; margin: .75rem 0 .25rem; color: var(--hf-muted); }
"""


@dataclass(frozen=True, slots=True)
class RunSample:
    """A sample of a run.

    Attributes:
        id: of the sample.
        kind: `right`, `wrong`, `answered`, `none` or `blocked`: the choices of the search.
        answer: the result in a few words.
        texts: question, answers and retrieved texts, in order, each with a title.
    """

    id: str
    kind: str
    answer: str
    texts: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class RunTable:
    """A table of a run's page: its title, the heads of its columns, its rows."""

    title: str
    heads: Row
    rows: Sequence[Row]


def run_page(name: str, lede: str, tables: Sequence[RunTable], samples: Sequence[RunSample]) -> str:
    """The page of a run.

    Args:
        name: the run's id.
        lede: the questions and the system, in a sentence.
        tables: settings, score and cost; those without rows are left out.
        samples: in order.
    """
    kinds = sorted({sample.kind for sample in samples})
    search = el("input", type="search", placeholder="words of question, answer or id")
    choice = el("select", el("option", "all", value=""), *(el("option", kind, value=kind) for kind in kinds))
    body = el(
        "main",
        page_header(visible(name, 200), lede),
        notice("Private texts.", "The page holds texts of samples, whose licences may forbid publishing them."),
        *(_table(table) for table in tables if table.rows),
        heading("Samples"),
        el("div", el("label", "Search", search), el("label", "Outcome", choice), el("output"), class_="run-tools"),
        *(_sample(sample) for sample in samples),
        el("footer", el("p", f"Made by hellofresh {__version__}."), class_="hf-foot"),
        el("script", Html(_SEARCH)),
        class_="hf",
    )
    return document(visible(name, 200), lede, _POLICY, [el("style", Html(style() + _STYLE))], el("body", body))


def _table(table: RunTable) -> Html:
    head = el("thead", el("tr", *(el("th", text, scope="col") for text in table.heads))) if table.heads else None
    rows = (el("tr", *(el("td", named(cell, 2_000)) for cell in row)) for row in table.rows)
    return el("section", heading(table.title), el("div", el("table", head, el("tbody", *rows)), class_="run-facts"))


def _sample(sample: RunSample) -> Html:
    texts = ((el("h3", title), el("pre", _lines(text)) if text else None) for title, text in sample.texts)
    parts = [part for pair in texts for part in pair]
    summary = el("summary", named(sample.id, 200), ": ", sample.kind, ", ", named(sample.answer, 160))
    return el("details", summary, *parts, class_="run-sample", data_kind=sample.kind)


def _lines(text: str) -> str:
    """Keep the text's lines; sanitise characters that hide or reorder."""
    return "\n".join(visible(line, 100_000) if line.strip() else "" for line in text.splitlines())
