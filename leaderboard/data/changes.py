"""The project's changelog, where it lies beside the code."""

from __future__ import annotations

from pathlib import Path

__all__ = ["read_changelog"]

_FILE = Path(__file__).resolve().parents[2] / "CHANGELOG.md"


def read_changelog() -> str:
    """Markdown; empty where only the package is installed."""
    return _FILE.read_text(encoding="utf-8") if _FILE.is_file() else ""
