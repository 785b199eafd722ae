"""Fixtures of parts, which are tested by what the core is tested by."""

from tests.leaderboard.conftest import make_board

__all__ = ["make_board"]
