"""The small dump of the tests of notes, for what is learnt from it."""

from __future__ import annotations

from tests.collectors.notes.conftest import dump

__all__ = ["dump"]
