"""A key goes over encrypted connections, and unencrypted to this machine only."""

from __future__ import annotations

import pytest

from hellofresh.core.net import may_carry_key

SAFE = (
    "https://api.example/v1",
    "HTTPS://API.example",
    "http://127.0.0.1:8000/v1",
    "http://localhost",
    "http://[::1]:9/",
)
OPEN = (
    "http://api.example/v1", "ftp://api.example", "", "http://", "http://127.0.0.1.example", "http://localhost.example",
    "http://localhost@api.example", "http://api.example/https://", "http://api.example#@localhost", "http://127.0.0.2",
    "http://0.0.0.0", "http://[::ffff:127.0.0.1]",
)  # fmt: skip


@pytest.mark.parametrize("url", [*SAFE, *OPEN])
def test_a_key_may_go_exactly_where_nobody_on_the_way_reads_it(url: str) -> None:
    assert may_carry_key(url) == (url in SAFE)
