"""Known people: a service is sent each picture once, and what it answers is kept where only its owner can read it."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import Sequence
from pathlib import Path

import pytest
from aiohttp import web

from hellofresh.core.errors import ConfigError, RunError
from hellofresh.evidence.vision.people import PEOPLE_KEY, PeopleService, open_people
from hellofresh.tasks.images import Image, Media

MEDIA = Media("photo", "https://pics.example/1.jpg")


def image(content: bytes = b"pixels", sha256: str = "0") -> Image:
    return Image("image/jpeg", sha256 * 64, 40, 30, content)


def served(replies: Sequence[web.Response], folder: Path, images: Sequence[Image]) -> tuple[list, list]:
    """What the service names in each picture, and the requests that came."""
    requests: list[tuple[bytes, dict[str, str]]] = []

    async def reply(request: web.Request) -> web.Response:
        requests.append((await request.read(), {name.lower(): value for name, value in request.headers.items()}))
        return replies[min(len(requests), len(replies)) - 1]

    async def run() -> list[Sequence[str]]:
        app = web.Application()
        app.router.add_post("/people", reply)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        try:
            service = PeopleService(f"http://127.0.0.1:{port}/people", folder)
            return [await service.names(MEDIA, item) for item in images]
        finally:
            await runner.cleanup()

    return asyncio.run(run()), requests


def test_a_picture_is_sent_once_with_the_key_and_its_answer_is_kept_private(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PEOPLE_KEY, "key-of-mine")
    answer = web.json_response({"people": ["Ada Lovelace"], "more": 1})
    named, requests = served([answer], tmp_path, [image(), image(), image(b"")])
    assert named == [("Ada Lovelace",), ("Ada Lovelace",), ()]
    ((body, headers),) = requests
    assert body == b"pixels" and headers["content-type"] == "image/jpeg"
    assert headers["authorization"] == "Bearer key-of-mine"
    assert stat.S_IMODE((tmp_path / "people.sqlite").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("status", "text"),
    [(200, '{"people": "Ada"}'), (200, "<html>"), (200, "{}"), (500, ""), (302, ""), (200, '{"people": [5]}')],
)
def test_a_wrong_answer_is_an_error_that_keeps_nothing(tmp_path: Path, status: int, text: str) -> None:
    with pytest.raises(RunError, match="gave no answer"):
        served([web.Response(status=status, text=text)], tmp_path, [image()])


def test_a_key_goes_over_encrypted_connections_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PEOPLE_KEY, "key-of-mine")
    with pytest.raises(ConfigError, match="unencrypted"):
        open_people("http://people.example/x", tmp_path)
    assert open_people("https://people.example/x", tmp_path) is not None
