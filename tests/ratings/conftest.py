"""A small study in the released study's own files; all of it is invented."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from rated_study import write_study


@pytest.fixture
def small_study(tmp_path: Path) -> Path:
    """The folder of the small study."""
    return write_study(tmp_path / "study")
