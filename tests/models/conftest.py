"""Fixtures for tests of models."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def loopback() -> ModuleType:
    """The module with the misbehaving endpoint."""
    path = Path(__file__).resolve().parent.parent / "loopback.py"
    spec = importlib.util.spec_from_file_location("loopback", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["loopback"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def chat(loopback: ModuleType) -> Iterator[object]:
    """An endpoint of one test."""
    server = loopback.Chat()
    yield server
    server.close()
