"""The board as files: pages that need no server, made of the same parts as the live site."""

from leaderboard.export.export import Exported, export_board

__all__ = ["Exported", "export_board"]
