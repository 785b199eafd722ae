"""A server on the loopback that answers as the Fact Check Tools API does."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from tests.conftest import answering


@pytest.fixture
def api_server(serve: Callable[..., str]) -> Callable[[list[bytes]], str]:
    """Starts a server that gives these bodies one after the other; gives its address."""

    def start(bodies: list[bytes]) -> str:
        waiting = list(bodies)

        def answer(path: str, headers: Mapping[str, str], _body: bytes) -> tuple[int, bytes]:
            known = headers.get("X-Goog-Api-Key") == "secret" and "secret" not in path
            return (200, waiting.pop(0)) if known else (403, b"{}")

        return f"{serve(answering(answer))}/claims"

    return start
