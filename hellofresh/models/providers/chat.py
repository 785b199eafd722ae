"""Models behind an OpenAI-compatible endpoint, asked over its wire format without an SDK.

One attempt a call: waiting and asking again is the runner's work. Connections are kept and used again. Nothing is
followed elsewhere (a redirect is an error, so that the key goes to nobody else), and nothing is unpacked.
"""

from __future__ import annotations

from yarl import URL

from hellofresh.core.errors import ConfigError
from hellofresh.core.net.keys import may_carry_key
from hellofresh.models._endpoint import Abilities, Endpoint
from hellofresh.models._http import ModelHttp
from hellofresh.models.base import Answer, ModelSpec, Request
from hellofresh.models.providers.chat_wire import failure, payload, read_reply, whole_calls


class ChatModel:
    """A model behind `<base_url>/chat/completions`.

    Args:
        spec: what is known of it.
        endpoint: where it is.
        abilities: what it takes.

    Raises:
        ConfigError: if the address is not a http(s) URL, or would send a key unencrypted to another machine.
    """

    def __init__(self, spec: ModelSpec, endpoint: Endpoint, abilities: Abilities) -> None:
        self.spec = spec
        self._model, self._abilities = endpoint.model, abilities
        headers = {"Authorization": f"Bearer {endpoint.key}"} if endpoint.key else {}
        self._where = f"{spec.name} at {_checked_host(endpoint)}"
        self._http = ModelHttp(endpoint, self._where, headers)

    async def ask(self, request: Request) -> Answer:
        """Ask once.

        Raises:
            CallError: if no answer came; `retryable` says whether another attempt makes sense.
        """
        reply = await self._http.send("POST", "/chat/completions", payload(request, self._model, self._abilities))
        if reply.status == 200:
            return read_reply(reply.body, self._where, whole=whole_calls(request))
        return failure(reply.status, reply.body, self._where, reply.wait_s)

    async def close(self) -> None:
        """Close all connections; a later question opens new ones."""
        await self._http.close()


def _checked_host(endpoint: Endpoint) -> str:
    try:
        url = URL(endpoint.base_url.rstrip("/") + "/chat/completions")
        usable = url.scheme in ("http", "https") and bool(url.host) and url.user is None and not url.query_string
        usable = usable and not any(c.isspace() or not c.isprintable() for c in endpoint.base_url)
    except ValueError:
        usable = False
    if not usable:
        raise ConfigError(
            f"{endpoint.base_url!r} is not a base URL",
            expected="such as https://api.example.org/v1 or http://127.0.0.1:8000/v1",
            code="bad-base-url",
        )
    if endpoint.key and not may_carry_key(endpoint.base_url):
        raise ConfigError(
            "a key would be sent unencrypted", where=endpoint.base_url, fix="Use https.", code="unsafe-base-url"
        )
    return url.host or ""
