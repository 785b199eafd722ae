"""Where a key may be sent."""

from __future__ import annotations

from urllib.parse import urlsplit

_THIS_MACHINE = frozenset({"localhost", "127.0.0.1", "::1"})


def may_carry_key(url: str) -> bool:
    """Whether what is sent cannot be read on the way: the connection is encrypted, or does not leave this machine."""
    parts = urlsplit(url)
    return parts.scheme == "https" or parts.hostname in _THIS_MACHINE
