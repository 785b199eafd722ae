"""One page with all analyses of a quarter: a single HTML file that needs nothing else.

Figures are inline SVG, texts of others are escaped, there is no script, and the page's own policy forbids to load
anything. It follows the reader's light or dark setting (figures keep their white ground) and prints.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from hellofresh import __version__
from hellofresh.analyses.registry import ANALYSES
from hellofresh.analyses.writing import make_analyses
from hellofresh.files import Json, read_json, sha256_file, sha256_text, write_bytes
from hellofresh.results.panel import Panel
from hellofresh.stages import Stage, input_key
from hellofresh.workspace import Workspace

__all__ = ["Reported", "make_report"]

_MOST_ROWS = 60
_STYLE = """
:root { color-scheme: light dark; --ink: #1d1d1f; --paper: #fdfdfc; --soft: #5f6368; --line: #d9d9d6; --tint: #f1f1ee; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8e6e3; --paper: #17181a; --soft: #a2a6ab; --line: #3a3c40; --tint: #222427; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1.2rem 4rem; max-width: 60rem; color: var(--ink); background: var(--paper);
  font: 16px/1.55 system-ui, "Segoe UI", Helvetica, Arial, sans-serif; }
h1 { font-size: 1.7rem; margin: 0 0 .3rem; }
h2 { font-size: 1.35rem; margin: 2.6rem 0 .4rem;
  border-top: 2px solid var(--line); padding-top: 1rem; } h3 { font-size: 1.1rem; margin: 2.2rem 0 .2rem; }
p { margin: .45rem 0; } .question { font-style: italic; }
.soft, figcaption, .notes { color: var(--soft); font-size: .92rem; }
.missing { background: var(--tint); border-left: 4px solid var(--soft); padding: .6rem .9rem; }
figure { margin: .8rem 0; }
figure .ground { background: #fff; border: 1px solid var(--line); border-radius: 4px; padding: .3rem; }
figure svg { display: block; width: 100%; max-width: 880px; height: auto; margin: 0 auto; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: .8rem; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .5rem; border-bottom: 1px solid var(--line); text-align: left; white-space: nowrap;
  unicode-bidi: isolate; } td.number { text-align: right; } summary { cursor: pointer; color: var(--soft); }
nav ul { columns: 2; padding-left: 1.1rem; } a { color: inherit; }
@media print { body { max-width: none; font-size: 11pt; } nav, details { display: none; }
  section { break-inside: avoid-page; } }
"""


@dataclass(frozen=True, slots=True)
class Reported:
    """A report, and which analyses in it have no figure."""

    path: Path
    analyses: int
    missing: Sequence[str]
    skipped: bool


def make_report(workspace: Workspace, panels: Sequence[Panel]) -> Reported:
    """Make all analyses of a quarter's panels and put them on one page, `analyses/<quarter>/report.html`.

    Args:
        workspace: where to.
        panels: one a task, all of one quarter; at least one.
    """
    made = [(panel, make_analyses(workspace, panel, list(ANALYSES.values()))) for panel in panels]
    quarter = str(panels[0].quarter)
    missing = [f"{panel.task.name}: {one.name}" for panel, several in made for one in several if one.missing]
    private = any(panel.private for panel in panels)
    path = workspace.side(private=private) / "analyses" / quarter / "report.html"
    count = sum(len(several) for _, several in made)
    used = [path for _, several in made for one in several for path in _sources(one.folder, one.name)]
    name = f"report/{quarter}" + ("/private" if private else "")
    stage = Stage(workspace, name, input_key([[str(p.name), sha256_file(p)] for p in used] + [sha256_text(_STYLE)]))
    if stage.is_current():
        return Reported(path, count, missing, skipped=True)
    parts = [_section(panel, [_Part.read(one.folder, one.name) for one in several]) for panel, several in made]
    write_bytes(path, _page(quarter, panels, parts).encode())
    stage.record([path])
    return Reported(path, count, missing, skipped=False)


def _sources(folder: Path, name: str) -> list[Path]:
    return [path for ending in ("json", "svg") if (path := folder / f"{name}.{ending}").is_file()]


@dataclass(frozen=True, slots=True)
class _Part:
    """An analysis as it was written."""

    content: Json
    svg: str

    @classmethod
    def read(cls, folder: Path, name: str) -> _Part:
        figure = folder / f"{name}.svg"
        svg = figure.read_text(encoding="utf-8") if figure.is_file() else ""
        return cls(read_json(folder / f"{name}.json"), svg)


def _page(quarter: str, panels: Sequence[Panel], parts: Sequence[str]) -> str:
    title = f"HelloFresh {quarter}: analyses"
    bundled = any(panel.bundled for panel in panels)
    warning = (
        "<p class='missing'>This is the bundled sample: it shows the machinery and ranks nobody.</p>" if bundled else ""
    )
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    return (
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body><main>\n"
        f"<h1>{escape(title)}</h1>\n{_counts(panels)}{warning}"
        "<p>Every interval is of 95% and takes samples of one group (one post, one article) together. "
        "Silence counts as a "
        "wrong answer. Figures show at most twelve systems, tables all. What could not be made says why.</p>\n"
        f"{''.join(parts)}<p class='soft'>Made by hellofresh {escape(__version__)}.</p></main></body></html>\n"
    )


def _counts(panels: Sequence[Panel]) -> str:
    lines = []
    for panel in panels:
        groups, systems = len(set(panel.groups.tolist())), len(panel.systems)
        lines.append(
            f"<li><a href='#{panel.task.name}'>{escape(panel.task.title)}</a>: {len(panel.samples):,} samples in "
            f"{groups:,} groups, {len(panel.period_names)} {panel.task.period_kind}s, {systems} systems "
            f"and regimes</li>"
        )
    return f"<ul>{''.join(lines)}</ul>\n"


def _section(panel: Panel, parts: Sequence[_Part]) -> str:
    task = panel.task.name
    links = "".join(
        f"<li><a href='#{_anchor(task, part)}'>{escape(part.content['title'])}</a>"
        f"{' (not made)' if part.content['missing'] else ''}</li>"
        for part in parts
    )
    heads = f"<h2 id='{task}'>{escape(panel.task.title)}</h2>\n<p>{escape(panel.task.question)}</p>\n"
    about = "".join(f"<li>{escape(note)}</li>" for note in panel.notes)
    notes = f"<ul class='notes'>{about}</ul>\n" if about else ""
    return f"{heads}{notes}<nav><ul>{links}</ul></nav>\n{''.join(_analysis(task, panel, part) for part in parts)}"


def _anchor(task: str, part: _Part) -> str:
    return f"{task}-{part.content['name']}"


def _analysis(task: str, panel: Panel, part: _Part) -> str:
    content, anchor = part.content, _anchor(task, part)
    own = [note for note in content["notes"] if note not in panel.notes]
    notes = "".join(f"<li>{escape(note)}</li>" for note in own)
    table = "".join(_table(content["columns"], content["rows"]))
    return (
        f"<section><h3 id='{anchor}'>{escape(content['title'])}</h3>\n"
        f"<p class='question'>{escape(content['question'])}</p>\n"
        f"{_figure(anchor, part)}<p><strong>How to read it.</strong> {escape(content['how_to_read'])}</p>\n"
        f"{f'<ul class=notes>{notes}</ul>' if notes else ''}{table}</section>\n"
    )


def _figure(anchor: str, part: _Part) -> str:
    if not part.svg:
        return f"<p class='missing'>Not made: {escape(part.content['missing'])}</p>\n"
    svg = part.svg[part.svg.index("<svg") :]
    # The same analysis of two tasks has the same names within its figures.
    svg = re.sub(r'(\sid="|href="#|url\(#)', rf"\g<1>{anchor}-", svg)
    label = escape(f"{part.content['title']}: {part.content['question']}", quote=True)
    svg = svg.replace("<svg", f'<svg role="img" aria-label="{label}"', 1)
    return f"<figure><div class='ground'>{svg}</div></figure>\n"


def _table(columns: Sequence[str], rows: Sequence[Json]) -> Iterator[str]:
    """The table's first rows, folded away; nothing where there are none."""
    if not rows:
        return
    more = f", the first {_MOST_ROWS} of {len(rows):,} rows; all are in the CSV file" if len(rows) > _MOST_ROWS else ""
    yield f"<details><summary>Table{more}</summary><div class='wide'><table><thead><tr>"
    yield "".join(f"<th>{escape(name.replace('_', ' '))}</th>" for name in columns)
    yield "</tr></thead><tbody>"
    for row in rows[:_MOST_ROWS]:
        yield f"<tr>{''.join(_cell(row[name]) for name in columns)}</tr>"
    yield "</tbody></table></div></details>\n"


def _cell(value: Json) -> str:
    if value is None:
        return "<td>unknown</td>"
    if isinstance(value, bool):
        return f"<td>{'yes' if value else 'no'}</td>"
    if isinstance(value, float):
        return f"<td class='number'>{value:.4g}</td>"
    if isinstance(value, int):
        return f"<td class='number'>{value:,}</td>"
    return f"<td>{escape(value)}</td>"
