"""Where a key may be sent."""

from __future__ import annotations

from urllib.parse import urlsplit

__all__ = ["may_carry_key"]

_THIS_MACHINE = frozenset({"localhost", "127.0.0.1", "::1"})


def may_carry_key(url: str) -> bool:
    """Whether nobody on the way can read what is sent: the connection is encrypted, or does not leave this machine."""
    parts = urlsplit(url)
    return parts.scheme == "https" or parts.hostname in _THIS_MACHINE
