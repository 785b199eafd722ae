"""Access to the network, and files shared with other processes.

- `retry`: `RetryPolicy`, how often and when a request is sent again, and the server's wishes; `RateLimit`,
  how many requests may be sent per time.
- `http`: `HttpClient`, one request to a service that gets a key: no redirects, no compression, a bounded
  `HttpReply`, no key in messages.
- `public`: `PublicHttp`, one request to a public page, with every socket checked; `addresses` parses
  URLs unambiguously.
- `transfer`: `Transfer`, downloads a large file, resumes it after a break, and checks it before it gets its name.
- `database`: SQLite files with durable commits.
- `lock`: one process at a time.
- `may_carry_key`, here: whether a key may be sent to an address.

Nothing here repeats a request by itself: the caller decides by a policy.
"""

from __future__ import annotations

import logging
from urllib.parse import urlsplit

_THIS_MACHINE = frozenset({"localhost", "127.0.0.1", "::1"})


def may_carry_key(url: str) -> bool:
    """Whether a key is safe from eavesdroppers: the connection is encrypted, or does not leave this machine."""
    parts = urlsplit(url)
    return parts.scheme == "https" or parts.hostname in _THIS_MACHINE


def _is_ours(record: logging.LogRecord) -> bool:
    """Whether a log record is about our own failure; a client's malformed request gets status 400 and no log."""
    error = record.exc_info[1] if record.exc_info else None
    return type(error).__module__ != "aiohttp.http_exceptions"


logging.getLogger("aiohttp.server").addFilter(_is_ours)
