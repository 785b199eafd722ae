"""Known people in pictures, as a file or a service of the user's names them. Nothing here recognises a face.

It is biometric, so that it is off unless somebody asks for it. What a service answers is kept in a file that only its
owner may read, and the same picture is never sent twice.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Protocol

import aiohttp
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hellofresh.core.errors import ConfigError, DataError, RunError
from hellofresh.core.files import read_models, sha256_file
from hellofresh.core.net.database import open_database
from hellofresh.core.net.http import HttpClient, UnusableReplyError
from hellofresh.core.net.keys import may_carry_key
from hellofresh.evidence.retrieval.base import Parameters
from hellofresh.tasks.images import Image, Media

__all__ = ["PEOPLE_KEY", "PeopleFile", "PeopleService", "PeopleSource", "open_people"]

PEOPLE_KEY = "HELLOFRESH_PEOPLE_KEY"
"""The environment variable with the key of a service, sent as a bearer token where it is set."""
_TIMEOUT_S = 30.0
_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS people (service TEXT, image TEXT, names TEXT, PRIMARY KEY (service, image)) STRICT"
)


class PeopleSource(Protocol):
    """Names people in pictures."""

    @property
    def parameters(self) -> Parameters:
        """All that decides who is named."""

    async def names(self, media: Media, image: Image | None) -> Sequence[str]:
        """The known people of a picture; nobody where it is not known."""


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    image: str = Field(min_length=1, max_length=2000)
    people: list[str] = Field(max_length=50)


class _Reply(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)
    people: list[str] = Field(max_length=50)


@dataclass(frozen=True)
class PeopleFile:
    """A file of JSON lines: `image` (an address, or the SHA-256 of a picture's bytes) and `people` (names).

    Raises:
        DataError: when it is read first, if it is missing or a line is none.
    """

    path: Path

    @property
    def parameters(self) -> Parameters:
        """The file's hash."""
        return {"people_sha256": sha256_file(self.path)}

    @cached_property
    def _known(self) -> dict[str, list[str]]:
        return {line.image: line.people for line in read_models(self.path, _Line)}

    async def names(self, media: Media, image: Image | None) -> Sequence[str]:
        """Those of the first of address, hash as it came, and hash as it was written again."""
        keys = (media.address, media.sha256, image.sha256 if image else "")
        return next((tuple(self._known[key]) for key in keys if key and key in self._known), ())


@dataclass
class PeopleService:
    """A service: each picture is POSTed to it, and it answers `{"people": ["NAME", ...]}`.

    Args:
        address: of the service.
        folder: where its answers are kept.

    Raises:
        ConfigError: if a key would go over an unencrypted connection.
    """

    address: str
    folder: Path
    _database: sqlite3.Connection | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        if os.environ.get(PEOPLE_KEY) and not may_carry_key(self.address):
            raise ConfigError(
                "a key is not sent over an unencrypted connection",
                where="people", expected="https://...", code="insecure-url",
            )  # fmt: skip

    @property
    def parameters(self) -> Parameters:
        """The address."""
        return {"people_service": self.address}

    async def names(self, media: Media, image: Image | None) -> Sequence[str]:
        """What it says of the picture now, or said before.

        Raises:
            RunError: if it gives no answer of its form.
        """
        if image is None or not image.content:
            return ()
        if self._database is None:
            self._database = open_database(self.folder / "people.sqlite", _SCHEMA, wait_s=30, private=True)
        query = "SELECT names FROM people WHERE service = ? AND image = ?"
        row = self._database.execute(query, (self.address, image.sha256)).fetchone()
        if row is not None:
            return tuple(json.loads(row[0]))
        names = await self._ask(image)
        self._database.execute(
            "INSERT OR REPLACE INTO people VALUES (?, ?, ?)", (self.address, image.sha256, json.dumps(names))
        )
        return tuple(names)

    async def _ask(self, image: Image) -> list[str]:
        key = os.environ.get(PEOPLE_KEY, "").strip()
        client = HttpClient(
            "people", {"Authorization": f"Bearer {key}"} if key else {}, timeout_s=_TIMEOUT_S, key=key or None
        )
        try:
            reply = await client.send("POST", self.address, image.content, headers={"Content-Type": image.type})
            if reply.status != 200:
                raise self._failed(f"HTTP {reply.status}")
            return _Reply.model_validate_json(reply.body).people
        except ValidationError:
            raise self._failed("not the expected form") from None
        except (UnusableReplyError, aiohttp.ClientError, TimeoutError, OSError) as error:
            raise self._failed(type(error).__name__) from None
        finally:
            await client.close()

    def _failed(self, why: str) -> RunError:
        return RunError(
            f"the service that names people gave no answer ({why})",
            where=self.address, expected='{"people": ["NAME", ...]}',
            fix="Leave out --set people, or try again: stored answers are kept.", code="people-failed",
        )  # fmt: skip


def open_people(said: str, folder: Path) -> PeopleSource | None:
    """A source by its address or its file; None for an empty text.

    Args:
        said: `https://...`, or the path of a file.
        folder: where a service's answers are kept.

    Raises:
        ConfigError, DataError: if it cannot be used.
    """
    if not said:
        return None
    if said.startswith(("http://", "https://")):
        return PeopleService(said, folder)
    if not Path(said).is_file():
        raise DataError("no such file of people", where=said[:200], expected="JSON lines", code="missing-file")
    return PeopleFile(Path(said))
