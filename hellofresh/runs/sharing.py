"""What finished runs have asked already, for a run that asks the same: an answer is paid for once in a sweep.

An answer is the same if the same model with the same parameters got the same request. Of several, that of the first run
counts, and within a run the one that stands first in its order. It is stored in the new run's journal like any other,
so that a run never needs another one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hellofresh.core.files import canonical_json, sha256_text
from hellofresh.models import Answer, Model, ModelSpec, Request
from hellofresh.runs.journal import request_text, snapshot
from hellofresh.runs.record import model_identity, read_record


@dataclass(slots=True)
class SharedAnswers:
    """Answers by model and request.

    Attributes:
        known: the answers, by a hash of both.
        used: how many were given so far.
    """

    known: Mapping[str, Answer]
    used: int = 0

    @classmethod
    def of(cls, folders: Sequence[Path]) -> SharedAnswers:
        """The answers of finished runs.

        Raises:
            RunError: if a run's files are damaged.
        """
        known: dict[str, Answer] = {}
        for folder in folders:
            record = read_record(folder)
            if record is None:
                continue
            models = {
                role: canonical_json(model.model_dump(mode="json"))
                for role, model in {"main": record.model, **record.roles}.items()
            }
            with snapshot(folder) as journal:
                for entry in journal.entries():
                    model = models.get(entry.role, models["main"])
                    known.setdefault(_key(model, entry.request), entry.answer)
        return cls(known)


def _key(model: str, request: str) -> str:
    return sha256_text(f"{len(model)}:{model}{request}")


@dataclass(slots=True)
class SharedModel:
    """A model that is asked only what no earlier run has asked it."""

    model: Model
    answers: SharedAnswers
    _name: str = field(init=False)

    def __post_init__(self) -> None:
        self._name = canonical_json(model_identity(self.model.spec))

    @property
    def spec(self) -> ModelSpec:
        return self.model.spec

    async def ask(self, request: Request) -> Answer:
        known = self.answers.known.get(_key(self._name, request_text(request)))
        if known is None:
            return await self.model.ask(request)
        self.answers.used += 1
        return known

    async def close(self) -> None:
        await self.model.close()
