"""How the project talks to the network, and shares files with other processes.

- `retry`: `RetryPolicy`, how often a request is sent again and after how long, and what the server asks; `RateLimit`,
  how many requests may be sent in a time.
- `http`: `HttpClient`, one request to a service that is trusted with a key: no redirect, nothing packed, a bounded
  `HttpReply`, the key in no message.
- `public`: `PublicHttp`, one request to a page of the public internet, whose every socket is checked; `addresses` reads
  URLs in one way only.
- `transfer`: `Transfer`, one large file to the disk, resumed where it was cut and checked before it has its name.
- `database`: SQLite files whose every commit is on disk.
- `lock`: one process at a time.
- `may_carry_key`, here: whether a key may be sent to an address.

Nothing here sends a request twice by itself: who asks decides by a policy whether to ask again.
"""

from __future__ import annotations

import logging
from urllib.parse import urlsplit

_THIS_MACHINE = frozenset({"localhost", "127.0.0.1", "::1"})


def may_carry_key(url: str) -> bool:
    """Whether what is sent cannot be read on the way: the connection is encrypted, or does not leave this machine."""
    parts = urlsplit(url)
    return parts.scheme == "https" or parts.hostname in _THIS_MACHINE


def _is_ours(record: logging.LogRecord) -> bool:
    """Whether something of ours failed: a client that sends what is no request gets status 400, and fills no log."""
    error = record.exc_info[1] if record.exc_info else None
    return type(error).__module__ != "aiohttp.http_exceptions"


logging.getLogger("aiohttp.server").addFilter(_is_ours)
