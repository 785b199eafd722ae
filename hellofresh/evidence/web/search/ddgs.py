"""DuckDuckGo without a key, through the package `ddgs`, which reads result pages; fragile by nature."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from importlib.metadata import version

from pydantic import TypeAdapter, ValidationError

from hellofresh.core.errors import UsageError
from hellofresh.evidence.web import Found
from hellofresh.evidence.web.search import Hit, ProviderAnswer, ProviderReply, ranked

_DEADLINE_S = 30.0
_ENGINE = "duckduckgo"


class _Result(ProviderReply):
    title: str = ""
    href: str
    body: str = ""


_RESULTS = TypeAdapter(list[_Result])
Engine = Callable[[str, int], Sequence[Mapping[str, object]]]


class Ddgs:
    """DuckDuckGo; it cannot filter by day.

    Args:
        engine: query and count -> results as the package gives them; the package itself by default.

    Raises:
        UsageError: if the package is not installed.
    """

    name = "ddgs"

    def __init__(self, engine: Engine | None = None) -> None:
        self._engine = engine or _package()
        self.parameters: Mapping[str, str | int | float | bool] = {
            "provider": "ddgs",
            "engine": _ENGINE,
            "version": version("ddgs"),
            "dated": False,
        }

    async def search(self, query: str, count: int, before: date | None) -> ProviderAnswer:
        """Search once: whoever asks such a page again at once is shut out for longer."""
        try:
            async with asyncio.timeout(_DEADLINE_S):
                rows = await asyncio.to_thread(self._engine, query, count)
            raw = json.dumps(list(rows)).encode()
            results = _RESULTS.validate_json(raw)
        except TimeoutError:
            return ProviderAnswer(Found((), f"no answer in {_DEADLINE_S:g} s"))
        except ValidationError:
            return ProviderAnswer(Found((), "not the provider's format"), raw)
        except Exception as error:
            return ProviderAnswer(Found((), f"no answer ({type(error).__name__})"))
        return ProviderAnswer(
            ranked([Hit(url=r.href, title=r.title, snippet=r.body) for r in results], count, before), raw
        )

    async def close(self) -> None:
        """Nothing is held."""


def _package() -> Engine:
    try:
        from ddgs import DDGS
    except ImportError:
        raise UsageError(
            "the package ddgs is not installed",
            where="provider ddgs",
            fix="Install hellofresh[ddgs].",
            code="missing-extra",
        ) from None

    def ask(query: str, count: int) -> Sequence[Mapping[str, object]]:
        found: list[dict[str, object]] = DDGS(timeout=10).text(query, max_results=count, backend=_ENGINE)
        return found

    return ask
