"""The site as `hellofresh board serve` and `streamlit run leaderboard/app.py` start it.

Streamlit serves one and the same document for all pages. Here its head gets the title and preview tags of the page that
the address names, and the scripts of the tables.
"""

from __future__ import annotations

from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware

from leaderboard.serving import DocumentHead

# Whatever configuration it is started with: nothing is reported about visitors.
st.config.set_option("browser.gatherUsageStats", False)
app = st.App(Path(__file__).with_name("visit.py"), middleware=[Middleware(DocumentHead)])
