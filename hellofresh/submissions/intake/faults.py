"""What is wrong with something that was handed in, and how much of it is read at all."""

from __future__ import annotations

from dataclasses import dataclass

from hellofresh.core.files import MAX_DEPTH

__all__ = ["MAX_BYTES", "MAX_DEPTH", "MAX_FAULTS", "MAX_INFO_BYTES", "MAX_LINE_BYTES", "MAX_RECEIPT_BYTES", "Fault"]

MAX_BYTES = 10_000_000
MAX_INFO_BYTES = 16_000
"""Enough for the longest notes; the TOML parser's time grows with the square of a dotted key's length."""
MAX_RECEIPT_BYTES = 200_000
MAX_LINE_BYTES = 200_000
MAX_FAULTS = 100
"""After so many of a kind, the rest is only counted."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong: a stable code, the place, the fault, and what to do."""

    code: str
    where: str
    what: str
    fix: str = ""

    def __str__(self) -> str:
        return f"{self.where}: {self.what} [{self.code}]" + (f". {self.fix}" if self.fix else "")
