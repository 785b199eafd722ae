"""Fixtures for all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def need(present: bool, what: str) -> None:
    """Skip a test whose real part is absent, or fail where integration tests must run."""
    if present:
        return
    if os.environ.get("HELLOFRESH_REQUIRE_INTEGRATION") == "1":
        pytest.fail(f"{what} is not there, and HELLOFRESH_REQUIRE_INTEGRATION=1 forbids to skip")
    pytest.skip(f"{what} is not there")


@pytest.fixture(scope="session")
def root() -> Path:
    """The project's folder."""
    return ROOT


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real Community Notes rows and revision histories, kept beside the project."""
    folder = ROOT.parent / "shared" / "data"
    need(folder.is_dir(), f"the folder of real data {folder}")
    return folder
