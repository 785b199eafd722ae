"""Figures of analyses: what they show, as Vega-Lite specifications, and as SVG and PNG.

An analysis describes its figure once, as a `Figure` and its marks. `vega` makes the specifications, which the site
shows; `image` renders them for files, with `vl-convert-python` from the extra `analyse`.
"""
