"""A model for tests, which says yes, or what a function makes of a request, and keeps what it was asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from hellofresh.models import Answer, Finish, ModelSpec, Request

SPEC = ModelSpec("fake", "language-model", "A fake.", {})


@dataclass
class FakeModel:
    spec: ModelSpec = SPEC
    say: Callable[[Request], Answer] = lambda _: Answer("yes", Finish.STOP, 10, 1)
    asked: list[Request] = field(default_factory=list)

    async def ask(self, request: Request) -> Answer:
        self.asked.append(request)
        return self.say(request)

    async def close(self) -> None:
        """Nothing to let go of."""
