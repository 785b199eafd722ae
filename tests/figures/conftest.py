"""Figures, each made once."""

from __future__ import annotations

import pytest

from tests.figures.hostile_names import HOSTILE, DrawnFigure, figures_of


@pytest.fixture(scope="session")
def figures() -> dict[str, DrawnFigure]:
    """With hostile names."""
    return figures_of(HOSTILE)


@pytest.fixture(scope="session")
def harmless() -> dict[str, DrawnFigure]:
    """The same with plain names in the same order."""
    return figures_of([f"system-{number:02d}" for number in range(len(HOSTILE))])
