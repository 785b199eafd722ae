"""The picture of a ranking for previews of links: question, who leads, and every system on one scale, as PNG."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from pathlib import Path
from textwrap import wrap

from leaderboard.components import ranking
from leaderboard.components.labels import quarter_title, question_of, task_title
from leaderboard.components.markup import visible
from leaderboard.components.standings import ONLY_UPLOADS, all_lines, is_hollow, only_uploads
from leaderboard.data.board import Board, SplitKey
from leaderboard.views.leaderboard import whole_scale

_STYLE = Path(__file__).parent.with_name("style.css")
_COLOUR = re.compile(r"\.(hf-maker-\w+) \{ --hf-maker: light-dark\((#\w+)")
_TAGS = re.compile("<[^>]*>")
# Of the scale, in a picture of 1200 by 630 pixels: services cut other shapes.
_LEFT, _WIDTH, _TOP, _BOTTOM = 60, 1080, 265, 520
_MOST, _LETTERS, _SMALL = 10, 46, 105
_HEAD = '<svg xmlns="http://www.w3.org/2000/svg" width="1200" height="630" font-family="Liberation Sans, Arial">'
_BOLD = 'font-weight="bold"'


def share_picture(board: Board, split: SplitKey) -> bytes:
    """Who leads a split, and its first systems with their intervals, as PNG of 1200 by 630 pixels."""
    import vl_convert

    parts = "".join([*_said(board, split), *_strip(board, split)])
    return vl_convert.svg_to_png(f'{_HEAD}<rect width="1200" height="630" fill="#fff"/>{parts}</svg>', ppi=72)


def _text(x: float, y: float, said: str, size: int, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="#1b2430" {more}>{said}</text>'


def _said(board: Board, split: SplitKey) -> Iterator[str]:
    """The question, who leads and how surely, and what was measured."""
    lines, scale = all_lines(board, split), whole_scale(board, split)
    front = ranking.front_of(lines, scale)
    lead = ONLY_UPLOADS if only_uploads(lines) else "No system is ranked yet"
    if front is not None:
        seal, colour = _TAGS.sub("", str(front.seal or "")), "#14704a" if front.real else "#8a5000"
        lead = f'{_TAGS.sub("", str(front.title))}<tspan dx="24" font-size="26" fill="{colour}">{seal}</tspan>'
    yield _text(_LEFT, 205, lead, 34, _BOLD)
    only = ", for demonstration only" if board.is_bundled(split) else ""
    foot = f"HelloFresh: {scale.title}, {task_title(split.task)}, {quarter_title(board, split)}{only}; "
    for top, step, size, width, text, more in (
        (80, 50, 42, _LETTERS, question_of(split.task), _BOLD),
        (588, 26, 20, _SMALL, f"{foot}bars are 95% intervals.", ""),
    ):
        for number, line in enumerate(wrap(text, width)[:2]):
            yield _text(_LEFT, top + step * number, escape(line), size, more)


def _strip(board: Board, split: SplitKey) -> Iterator[str]:
    """The strip of the home page, drawn for a picture."""
    scale = whole_scale(board, split)
    shown = ranking.on_scale(all_lines(board, split), scale)[:_MOST]
    drawn, makers = ranking.opened(scale, shown), ranking.maker_colours(board)
    colours = dict(_COLOUR.findall(_STYLE.read_text(encoding="utf-8")))
    if drawn.reference is not None and drawn.rising:
        width = _WIDTH * max(0.0, min(1.0, drawn.share(drawn.reference)))
        yield f'<rect x="{_LEFT}" y="{_TOP - 20}" width="{width:.1f}" height="{_BOTTOM - _TOP + 20}" fill="#eceff2"/>'
        yield _text(_LEFT + 10, _BOTTOM - 10, f"no better than {escape(drawn.constant)}", 18)
    for number, line in enumerate(shown):
        y = _TOP + (_BOTTOM - _TOP) * number / max(len(shown), 5)
        low, at, high = (_LEFT + _WIDTH * share for share in ranking.ends_on(drawn, line.result.headline))
        colour = colours[ranking.maker_class(line, makers)]
        fill = "#fff" if is_hollow(line) else colour
        yield f'<path d="M{low:.1f} {y:.1f}H{high:.1f}" stroke="{colour}" stroke-width="6" opacity="0.35"/>'
        yield f'<circle cx="{at:.1f}" cy="{y:.1f}" r="7" fill="{fill}" stroke="{colour}" stroke-width="3"/>'
        if number < ranking.NAMED_ON_SCALE:
            is_left = low - _LEFT > _LEFT + _WIDTH - high
            place, side = (low - 14, 'text-anchor="end"') if is_left else (high + 14, "")
            yield _text(place, y + 8, escape(visible(line.result.entry.name, 28)), 21, f"{_BOLD} {side}")
    yield f'<path d="M{_LEFT} {_BOTTOM}h{_WIDTH}" stroke="#88929d"/>'
    for share, text in ranking.ticks_of(drawn):
        yield _text(_LEFT + _WIDTH * share, _BOTTOM + 28, text, 20, 'text-anchor="middle"')
