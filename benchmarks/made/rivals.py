"""Rivals of the site: the same rows in a plain Streamlit app, in gradio, and on a hand-made page."""

from __future__ import annotations

from html import escape
from pathlib import Path

import polars as pl

__all__ = ["GRADIO", "STREAMLIT", "write_page"]

STREAMLIT = """
import os

import altair as alt
import pandas as pd
import streamlit as st

st.set_page_config(layout="wide")


@st.cache_data
def load():
    return pd.read_parquet(os.environ["ROWS"])


st.title("Leaderboard")
rows = load()
text = st.text_input("Find a system or team")
regime = st.selectbox("Regime", ["all", *sorted(rows["regime"].unique())])
if text:
    rows = rows[rows["system"].str.contains(text, regex=False) | rows["team"].str.contains(text, regex=False)]
if regime != "all":
    rows = rows[rows["regime"] == regime]
st.dataframe(rows, height=600)
base = alt.Chart(rows).encode(y=alt.Y("system", sort="-x"))
st.altair_chart(base.mark_point().encode(x="f1") + base.mark_rule().encode(x="f1_low", x2="f1_high"))
"""

GRADIO = """
import os

import gradio as gr
import pandas as pd

rows = pd.read_parquet(os.environ["ROWS"])


def find(text, regime):
    kept = rows if regime == "all" else rows[rows["regime"] == regime]
    return kept[kept["system"].str.contains(text, regex=False) | kept["team"].str.contains(text, regex=False)]


with gr.Blocks(analytics_enabled=False) as app:
    gr.Markdown("# Leaderboard")
    text = gr.Textbox(label="Find a system or team")
    regime = gr.Dropdown(["all", *sorted(rows["regime"].unique())], value="all", label="Regime")
    table = gr.Dataframe(rows, show_row_numbers=True)
    plot = gr.ScatterPlot(rows, x="f1", y="accuracy")
    text.submit(find, [text, regime], table)
    regime.change(find, [text, regime], table)
app.launch(server_name="localhost", server_port=int(os.environ["PORT"]), quiet=True)
"""

_HEAD = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Leaderboard</title>
<style>body { font: 16px sans-serif } td, th { padding: 4px 8px; text-align: left }</style></head><body>
<h1>Leaderboard</h1><input aria-label="Find a system or team"><select aria-label="Regime"><option>all</option>"""
_SCRIPT = """<script>
const rows = [...document.querySelectorAll('tbody tr')], text = document.querySelector('input');
const regime = document.querySelector('select');
const show = () => rows.forEach(row => row.hidden = !row.textContent.includes(text.value)
  || (regime.value !== 'all' && row.dataset.regime !== regime.value));
text.addEventListener('change', show); regime.addEventListener('change', show);
</script></body></html>"""


def write_page(rows: pl.DataFrame, path: Path) -> None:
    """A page with a table of the rows, filtered by a short script."""
    regimes = "".join(f"<option>{escape(name)}</option>" for name in rows["regime"].unique().sort())
    heads = "".join(f"<th>{escape(name)}</th>" for name in rows.columns)
    lines = (
        f'<tr data-regime="{escape(row["regime"])}">'
        + "".join(f"<td>{value:.3f}</td>" if isinstance(value, float) else f"<td>{escape(str(value))}</td>"
                  for value in row.values())
        + "</tr>"
        for row in rows.iter_rows(named=True)
    )  # fmt: skip
    table = f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
    path.write_text(f"{_HEAD}{regimes}</select>{table}{_SCRIPT}", encoding="utf-8")
