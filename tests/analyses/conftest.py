"""Panels of synthetic samples and systems."""

from __future__ import annotations

import pytest

from hellofresh.results.split.panel import Panel
from tests.analyses.synthetic import Builder, full_entries


@pytest.fixture
def build() -> Builder:
    """Builders of synthetic panels."""
    return Builder()


@pytest.fixture(scope="session")
def full_panel() -> Panel:
    """Three models under three regimes, a submission, a baseline: data enough for every analysis."""
    build = Builder()
    release = build.release()
    return build.panel(full_entries(build, release), release)
