"""A small study in the released study's own files; all of it is invented."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ratings.rated_study import write_study


@pytest.fixture
def small_study(tmp_path: Path) -> Path:
    """The folder of the small study."""
    return write_study(tmp_path / "study")
