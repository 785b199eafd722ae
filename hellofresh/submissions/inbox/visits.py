"""Who handed something in within the last hour: not addresses, only a keyed hash of each, and not longer."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import json
import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from hellofresh.core.files import write_bytes, write_json
from hellofresh.core.quarters import parse_utc, utc_text

__all__ = ["WINDOW", "Visit", "Visits"]

WINDOW = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Visit:
    """An arrival's time, and the hash that stands for the visitor."""

    at: datetime
    visitor: str


@dataclass(frozen=True, slots=True)
class Visits:
    """The visits of an inbox; whoever uses them holds the inbox's lock.

    Attributes:
        folder: the inbox.
    """

    folder: Path

    def visitor(self, address: str | None) -> str:
        """What stands for a visitor in this inbox; all whose address is not known are one visitor."""
        return hmac.new(self._key(), _network(address).encode(), hashlib.sha256).hexdigest()

    def recent(self, moment: datetime) -> list[Visit]:
        """The visits of the last hour, the oldest first; what is older is dropped from the disk, too."""
        kept = self._read()
        found = sorted((visit for visit in kept if moment - WINDOW < visit.at <= moment), key=lambda visit: visit.at)
        if len(found) < len(kept):
            self.write(found)
        return found

    def write(self, visits: Sequence[Visit]) -> None:
        """Keep these visits and no others."""
        rows = [[utc_text(visit.at), visit.visitor] for visit in visits]
        write_json(self.folder / ".visits.json", rows, mode=0o600)

    def _read(self) -> list[Visit]:
        """What is kept; a file that cannot be read counts nobody, rather than keeping everybody out."""
        with suppress(OSError, ValueError, TypeError, RecursionError):
            rows = json.loads((self.folder / ".visits.json").read_bytes())
            return [Visit(parse_utc(at), str(visitor)) for at, visitor in rows]
        return []

    def _key(self) -> bytes:
        path = self.folder / ".secret"
        if not path.is_file():
            write_bytes(path, secrets.token_bytes(32), mode=0o600)
        return path.read_bytes()


def _network(address: str | None) -> str:
    """What one visitor shares: an IPv4 address, or the 64 bits of an IPv6 address that a household gets."""
    try:
        found = ipaddress.ip_address((address or "").partition("%")[0])
    except ValueError:
        return "unknown"
    if isinstance(found, ipaddress.IPv6Address):
        return str(found.ipv4_mapped or ipaddress.ip_network((int(found), 64), strict=False))
    return str(found)
