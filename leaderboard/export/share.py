"""The picture of a ranking for previews of links: question, who leads, and every system on one scale, as PNG."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from pathlib import Path
from textwrap import wrap

from leaderboard.components.labels import quarter_title, question_of, task_title
from leaderboard.components.markup import visible
from leaderboard.components.ranking import (
    NAMED_ON_SCALE,
    ends_on,
    front_of,
    maker_class,
    maker_colours,
    on_scale,
    opened,
    ticks_of,
)
from leaderboard.components.standings import ONLY_UPLOADS, Line, all_lines, is_hollow, only_uploads
from leaderboard.data.board import Board, SplitKey
from leaderboard.views.leaderboard import whole_scale

_STYLE = Path(__file__).parent.with_name("style.css")
_LEFT, _WIDTH, _TOP, _BOTTOM = 60, 1080, 265, 520
"""Of the scale, in a picture of 1200 by 630 pixels: services cut other shapes."""
_MOST = 10
_LETTERS, _SMALL = 46, 105
_SEALS = {True: ("lead is real", "#14704a"), False: ("too close to call", "#8a5000"), None: ("", "")}


def share_picture(board: Board, split: SplitKey) -> bytes:
    """Who leads a split, and its first systems with their intervals, as PNG of 1200 by 630 pixels."""
    import vl_convert

    parts = "".join([*_head(board, split), *_scale(board, split), *_foot(board, split)])
    head = '<svg xmlns="http://www.w3.org/2000/svg" width="1200" height="630" font-family="Liberation Sans, Arial">'
    return vl_convert.svg_to_png(f'{head}<rect width="1200" height="630" fill="#fff"/>{parts}</svg>', ppi=72)


def _text(x: float, y: float, said: str, size: int, *, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="#1b2430" {more}>{said}</text>'


def _head(board: Board, split: SplitKey) -> Iterator[str]:
    for number, line in enumerate(wrap(question_of(split.task), _LETTERS)[:2]):
        yield _text(_LEFT, 80 + 50 * number, escape(line), 42, more='font-weight="bold"')
    lines = all_lines(board, split)
    front = front_of(lines, whole_scale(board, split))
    if front is None:
        yield _text(_LEFT, 205, ONLY_UPLOADS if only_uploads(lines) else "No system is ranked yet", 30)
        return
    seal, colour = _SEALS[front.real]
    named = re.sub("<[^>]*>", "", str(front.title))
    yield _text(_LEFT, 205, f'{named}<tspan dx="24" font-size="26" fill="{colour}">{seal}</tspan>', 34,
                more='font-weight="bold"')  # fmt: skip


def _scale(board: Board, split: SplitKey) -> Iterator[str]:
    """The strip of the home page, drawn for a picture."""
    scale = whole_scale(board, split)
    shown = on_scale(all_lines(board, split), scale)[:_MOST]
    drawn, colours = opened(scale, shown), maker_colours(board)
    hues = dict(re.findall(r"\.(hf-maker-\w+) \{ --hf-maker: light-dark\((#\w+)", _STYLE.read_text(encoding="utf-8")))
    if drawn.reference is not None and drawn.rising:
        width = _WIDTH * max(0.0, min(1.0, drawn.share(drawn.reference)))
        yield f'<rect x="{_LEFT}" y="{_TOP - 20}" width="{width:.1f}" height="{_BOTTOM - _TOP + 20}" fill="#eceff2"/>'
        yield _text(_LEFT + 10, _BOTTOM - 10, f"no better than {escape(drawn.constant)}", 18)
    for number, line in enumerate(shown):
        y = _TOP + (_BOTTOM - _TOP) * number / max(len(shown), 5)
        low, at, high = (_LEFT + _WIDTH * share for share in ends_on(drawn, line.result.headline))
        hue = hues[maker_class(line, colours)]
        fill = "#fff" if is_hollow(line) else hue
        yield f'<rect x="{low:.1f}" y="{y - 3:.1f}" width="{high - low:.1f}" height="6" fill="{hue}" opacity="0.35"/>'
        yield f'<circle cx="{at:.1f}" cy="{y:.1f}" r="7" fill="{fill}" stroke="{hue}" stroke-width="3"/>'
        yield _name(line, low, high, y) if number < NAMED_ON_SCALE else ""
    yield f'<path d="M{_LEFT} {_BOTTOM}h{_WIDTH}" stroke="#88929d"/>'
    for share, text in ticks_of(drawn):
        yield _text(_LEFT + _WIDTH * share, _BOTTOM + 28, text, 20, more='text-anchor="middle"')


def _name(line: Line, low: float, high: float, y: float) -> str:
    name, left = escape(visible(line.result.entry.name, 28)), low - _LEFT > _LEFT + _WIDTH - high
    side = 'text-anchor="end" font-weight="bold"' if left else 'font-weight="bold"'
    return _text(low - 14 if left else high + 14, y + 8, name, 21, more=side)


def _foot(board: Board, split: SplitKey) -> Iterator[str]:
    only = ", for demonstration only" if board.is_bundled(split) else ""
    said = (
        f"HelloFresh: {whole_scale(board, split).title}, {task_title(split.task)}, {quarter_title(board, split)}{only}"
    )
    for number, line in enumerate(wrap(f"{said}; bars are 95% intervals.", _SMALL)[:2]):
        yield _text(_LEFT, 588 + 26 * number, escape(line), 20)
