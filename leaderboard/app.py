"""The leaderboard as a Streamlit app: `streamlit run leaderboard/app.py`, here, in an image, or on a host."""

import sys
from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware

ROOT = str(Path(__file__).resolve().parents[1])
if ROOT not in sys.path:  # a host that runs this file may have its requirements, but not this package
    sys.path.insert(0, ROOT)

from leaderboard.headers import SiteHeaders  # noqa: E402

# Whatever the configuration: no reports on visitors.
st.config.set_option("browser.gatherUsageStats", False)
if st.runtime.exists():
    from leaderboard.live import main

    main()
else:  # `streamlit run` looks for this name, serves it, and reruns the file for each visit
    app = st.App(__file__, middleware=[Middleware(SiteHeaders)])
