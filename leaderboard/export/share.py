"""The picture of a ranking for previews of links: the chart of the app, as PNG."""

from __future__ import annotations

from leaderboard.components.labels import quarter_title, task_title
from leaderboard.components.scale import scale_of
from leaderboard.components.standings import ONLY_UPLOADS, all_lines, by_rank, only_uploads, ranked_data, usual
from leaderboard.data.board import Board, SplitKey

_WIDTH, _HEIGHT = 1200, 630
"""Pixels; services cut other shapes."""
_MOST = 10
_TEXT = {"labelFontSize": 22, "titleFontSize": 22, "labelLimit": 320}
_CONFIG = {
    "font": "Liberation Sans, Arial, Helvetica, sans-serif",
    "background": "white",
    "axis": {**_TEXT, "grid": False},
    "legend": {**_TEXT, "labelLimit": 600},
    "title": {"fontSize": 36, "subtitleFontSize": 24, "anchor": "start", "frame": "bounds", "offset": 16},
}


def share_picture(board: Board, split: SplitKey) -> bytes:
    """The first systems of a split with their intervals, as PNG of 1200 by 630 pixels."""
    import vl_convert

    from hellofresh.results.figures.image import VEGA_LITE

    scale = scale_of(board, split)
    there = all_lines(board, split)
    lines = sorted(usual(there) or there, key=by_rank(scale))[:_MOST]
    chart = ranked_data(lines, scale).charts[0]
    names = list(chart.values)
    rows = [dict(zip(names, row, strict=True)) for row in zip(*chart.values.values(), strict=True)]
    said = (
        f"HelloFresh: {scale.title} with 95% intervals{', for demonstration only' if board.is_bundled(split) else ''}"
        f"{f'. {ONLY_UPLOADS}' if only_uploads(there) else ''}"
    )
    spec = {
        **chart.spec,
        "params": [{"name": "bootstrap", "value": False}],
        "data": {"values": rows},
        "title": {"text": f"{task_title(split.task)}, {quarter_title(board, split)} ", "subtitle": said},
        "width": _WIDTH, "height": _HEIGHT, "padding": 30, "config": _CONFIG,
        "autosize": {"type": "fit", "contains": "padding"},
    }  # fmt: skip
    return vl_convert.vegalite_to_png(spec, vl_version=VEGA_LITE, allowed_base_urls=[])
