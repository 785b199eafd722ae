"""Models called through a client of OpenAI's SDK: classic Azure, Entra tokens, gateways with their own signatures.

The client sets the address, keys and signatures; this project's wire writes requests and reads replies. So the
client's retries and redirects are off, replies are not decompressed and are bounded, and messages contain no key.
"""

from __future__ import annotations

import asyncio
import json
import re
import runpy
import ssl
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

import aiohttp

from hellofresh.core.errors import HelloFreshError, UsageError, missing_extra
from hellofresh.core.net import may_carry_key
from hellofresh.core.net.http import HttpReply, UnusableReplyError, brief, read_bounded
from hellofresh.models import CallError, ModelSpec
from hellofresh.models.providers import MAX_BODY
from hellofresh.models.providers.chat import ChatModel
from hellofresh.models.tables import Abilities, Endpoint

if TYPE_CHECKING:
    from openai import APIConnectionError

_SECRET = re.compile(r"(?i)auth|key|token|secret|sign|cookie")


class SdkModel(ChatModel):
    """A model behind the `chat/completions` of a client.

    Raises:
        UsageError: if the client cannot be made, is not of the SDK, or would send a key that eavesdroppers can read.
    """

    def __init__(self, spec: ModelSpec, endpoint: Endpoint, abilities: Abilities) -> None:
        client: Any = _made(endpoint.client) if isinstance(endpoint.client, str) else endpoint.client
        if not asyncio.iscoroutinefunction(getattr(client, "post", None)) or not hasattr(client, "with_options"):
            raise UsageError(
                f"{type(client).__name__} is not an asynchronous client of OpenAI's SDK",
                where=spec.name,
                expected="openai.AsyncOpenAI, AsyncAzureOpenAI or a class of one's own on top of them",
                code="no-client",
            )
        address = str(client.base_url.copy_with(query=None, fragment=None, userinfo=b"")).rstrip("/")
        if not may_carry_key(address):
            raise UsageError("the client would send its key unencrypted", where=address, code="bad-endpoint")
        spec = replace(spec, parameters={**spec.parameters, "base_url": address})
        super().__init__(spec, replace(endpoint, base_url=address), abilities)
        self._client: Any = _SdkWire(self.where, client, endpoint.timeout_s)

    async def listed(self) -> list[str]:
        """Nothing: the client is asked for answers only."""
        return []


def _made(place: str) -> object:
    """Call the class of the SDK, or the function of the user's file, without arguments."""
    file, _, name = place.rpartition(":")
    try:
        return (getattr(import_module(file), name) if file == "openai" else runpy.run_path(file)[name])()
    except HelloFreshError:
        raise
    except Exception as error:  # the user's file may raise anything
        if isinstance(error, ImportError) and error.name == "openai":
            raise missing_extra("a model of the kind openai-sdk", "openai", "openai") from None
        what = f"the client cannot be made ({type(error).__name__}: {brief(error)})"
        raise UsageError(what, where=place, fix="The client reads its own settings.", code="no-client") from None


class _SdkWire:
    """Replaces `HttpClient` by a client of the SDK with its own connections, proxies and signatures."""

    def __init__(self, where: str, client: Any, timeout_s: float) -> None:
        self._where, self._timeout_s, self._http = where, timeout_s, client._client
        self._sdk = client.with_options(http_client=_bounded(self._http), max_retries=0, timeout=timeout_s)

    async def send(self, method: str, url: str, body: bytes, *, most_bytes: int) -> HttpReply:
        from openai import APIConnectionError, APIStatusError, APITimeoutError

        asked, create = json.loads(body), self._sdk.chat.completions.with_raw_response.create
        try:
            async with asyncio.timeout(self._timeout_s):
                response = (await create(model=asked["model"], messages=(), extra_body=asked)).http_response
        except APIStatusError as error:
            response = error.response
        except APITimeoutError:
            raise TimeoutError from None
        except APIConnectionError as error:
            raise self._broken(error) from None
        except (TimeoutError, UnusableReplyError):
            raise
        except Exception as error:  # from the client's tokens or signatures; its text may hold a key
            what, fix = f"the client failed ({type(error).__name__})", "Ask one question with the client alone."
            raise CallError(what, where=self._where, fix=fix, code="client-failed") from None
        return HttpReply(response.status_code, response.headers, response.content)

    async def close(self) -> None:
        """Close open connections, which belong to this event loop; the client stays usable."""
        for transport in filter(None, (self._http._transport, *self._http._mounts.values())):
            await transport.aclose()

    def _broken(self, error: APIConnectionError) -> Exception:
        """The error of our own wire for the cause of an SDK error."""
        causes = list(_causes(error.__cause__))
        names = [type(cause).__name__ for cause in causes]
        if any(isinstance(cause, ssl.SSLError) for cause in causes):
            return CallError(f"no safe connection ({names[-1]})", where=self._where, code="tls")
        cut = {"ReadError", "RemoteProtocolError", "WriteError"}.intersection(names)
        return aiohttp.ClientPayloadError(names[0]) if cut else OSError(names[0])


def _bounded(inner: Any) -> Any:
    """An HTTP client for the SDK over `inner`: no decompression, bounded replies, no redirects."""
    library: Any = next(base for base in type(inner).__mro__ if base.__name__ == "AsyncClient")

    class Bounded(library):  # type: ignore[misc]
        def build_request(self, *args: Any, **options: Any) -> Any:
            return inner.build_request(*args, **options)

        async def send(self, request: Any, **options: Any) -> Any:
            request.headers["Accept-Encoding"] = "identity"
            response = await inner.send(request, **{**options, "stream": True, "follow_redirects": False})
            sent, status, headers = response.request, response.status_code, response.headers
            try:
                content = await read_bounded(headers, status, response.aiter_raw(), MAX_BODY)
            finally:
                await response.aclose()
            for name, value in sent.headers.items():
                if _SECRET.search(name) and len(word := value.rpartition(" ")[2]) > 7:
                    content = content.replace(word.encode(), b"[key]")
            return type(response)(status, headers=headers, content=content, request=sent)

    return Bounded(transport=inner._transport)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
