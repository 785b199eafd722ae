"""Frozen quarterly splits: drawn, committed to, read back, revealed, taken down and published."""
