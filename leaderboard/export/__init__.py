"""Static files of the board: pages that need no server, made of the same parts as the live site."""

from leaderboard.export.export import ExportReport, export_board, is_exported

__all__ = ["ExportReport", "export_board", "is_exported"]
