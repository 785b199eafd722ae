"""The page Try: what is typed is an argument and nothing more, what comes back is text, and strangers get nothing."""

from __future__ import annotations

import asyncio
import base64
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import aiohttp
import pytest
from browsing import serious_findings
from playwright.sync_api import Browser, expect

from hellofresh.cli.arguments import command_line
from hellofresh.cli.respond import _passed_on
from hellofresh.core.errors import UsageError
from hellofresh.core.net.local_site import LocalSite
from hellofresh.runs.trying import TriedPost, TryPage

RESULT = {
    "text": "This post is misleading: <script>window.pwned=1</script> **no**", "status": "ok",
    "links": ["https://atlas.example/a", "javascript:window.pwned=1"],
    "evidence": [
        {"url": "https://atlas.example/a", "title": "<img src=x onerror=window.pwned=1>", "published": "2023-01-01",
         "priority": "high", "quotes": {"Against the post": ["It stands."], "Context": ["<b>bold</b>"]}},
    ],
    "pictures": ["a <i>chart</i>"], "queries": ["bridge"], "until": "2023-05-10T12:00:00Z", "seconds": 1.5,
    "cost_usd": 0.0123, "folder": "/data/respond/x", "notes": ["A smoke test."],
    "steps": [{"step": "queries", "model": "m", "requests": 1, "seconds": 1.0, "tokens_in": 5, "tokens_out": None,
               "cost_usd": 0.0}],
}  # fmt: skip


def page_of(folder: Path, body: str, *options: str) -> TryPage:
    """A page with a program of ours in the place of the command."""
    path = folder / "program.py"
    path.write_text(f"import json, os, pathlib, sys, time\n{body}", encoding="utf-8")
    return TryPage(options, 0, (sys.executable, str(path)))


async def events_of(page: TryPage, post: dict[str, object]) -> tuple[int, list[dict[str, object]]]:
    """The status and the events of what the page sends."""
    site = page.site()
    await site.start()
    try:
        headers = {"Authorization": f"Bearer {page.token}", "Origin": site.origin}
        async with (
            aiohttp.ClientSession() as session,
            session.post(f"{site.origin}/ask", json=post, headers=headers) as reply,
        ):
            text = await reply.text()
        parts = [part.removeprefix("data: ") for part in text.split("\n\n") if part]
        return reply.status, [json.loads(part) for part in parts]
    finally:
        await site.close()


def test_what_is_typed_reaches_the_command_as_arguments_only(tmp_path: Path) -> None:
    body = (
        "print('step: one', file=sys.stderr); print('note', file=sys.stderr)\n"
        "files = [pathlib.Path(a[8:]).read_bytes().hex() for a in sys.argv if a.startswith('--image=')]\n"
        "print(json.dumps({'arguments': sys.argv[1:], 'files': files}))\n"
    )
    pictures = [b"\x89PNG", b"jpg"]
    text = "--model=evil; $(touch x) `y`\n'\"\0 \ud800"
    post = {"text": text, "date": "2023-04-03", "model": "m\0",
            "pictures": [base64.b64encode(picture).decode() for picture in pictures]}  # fmt: skip
    page = page_of(tmp_path, body, "--role=describer=d", "--budget=0.5")
    status, events = asyncio.run(events_of(page, {**post, "text": text.replace("\ud800", "?")}))
    assert status == 200 and events[0] == {"step": "one"}
    result = events[1]["result"]
    typed = [argument for argument in result["arguments"] if not argument.startswith("--image=")]
    passed = "--model=evil; $(touch x) `y`\n'\" ?"
    assert typed == [
        "--role=describer=d",
        "--budget=0.5",
        "--json",
        f"--text={passed}",
        "--date=2023-04-03",
        "--model=m",
    ]
    assert result["files"] == [picture.hex() for picture in pictures]
    assert page.arguments(TriedPost(text=text), tmp_path)[-1] == f"--text={passed}"
    with pytest.raises(UsageError, match="Base64"):
        page.arguments(TriedPost(text="a", pictures=["%"]), tmp_path)


def test_options_of_the_page_are_those_of_the_command() -> None:
    words = ["respond", "--serve", "--model", "m", "--role", "describer=d", "--set", "pages=2", "--budget", "0.5"]
    options = command_line().parse_args([*words, "--port", "9"])
    passed_on = _passed_on(options)
    assert options.port == 9
    page = asyncio.run(TryPage((), 9, model='m"')._page(None, "")).text  # type: ignore[arg-type]
    assert 'placeholder="m&quot;"' in page
    assert sorted(passed_on) == ["--budget=0.5", "--model=m", "--role=describer=d", "--set=pages=2"]


@pytest.mark.parametrize(
    "body",
    ["print('error: no key [missing-key]', file=sys.stderr); sys.exit(2)", "print('no json')", "print('[]')", ""],
)
def test_a_command_that_fails_gives_its_reason_and_no_response(tmp_path: Path, body: str) -> None:
    _, events = asyncio.run(events_of(page_of(tmp_path, body), {"text": "x"}))
    assert list(events[-1]) == ["fault"] and events[-1]["fault"]
    assert "missing-key" in events[-1]["fault"] or "sys.exit" not in body


@pytest.mark.parametrize("post", [{}, {"text": 1}, {"text": "a", "more": 1}, [], "x"])
def test_what_is_not_a_post_is_refused(tmp_path: Path, post: dict[str, object]) -> None:
    site_error = asyncio.run(events_of(page_of(tmp_path, "print('{}')"), post))
    assert site_error[0] == 400


async def test_a_visitor_who_leaves_ends_the_command_and_the_same_post_twice_is_refused_plainly(tmp_path: Path) -> None:
    body = "pathlib.Path(sys.argv[0]).with_name('pid').write_text(str(os.getpid()))\ntime.sleep(600)"
    page = page_of(tmp_path, body)
    site = page.site()
    await site.start()
    headers = {"Authorization": f"Bearer {page.token}", "Origin": site.origin}
    async with aiohttp.ClientSession(headers=headers) as session:
        async with session.post(f"{site.origin}/ask", json={"text": "x"}) as reply:
            while not (pid := tmp_path / "pid").is_file() or not pid.read_text():
                await asyncio.sleep(0.02)
            async with session.post(f"{site.origin}/ask", json={"text": "x"}) as again:
                assert again.status == 409 and "answered already" in (await again.json())["error"]
            reply.close()
        process = int(pid.read_text())
        until = time.monotonic() + 60
        while Path(f"/proc/{process}").exists() and time.monotonic() < until:
            await asyncio.sleep(0.05)
    await site.close()
    assert not Path(f"/proc/{process}").exists()


async def test_no_other_page_of_this_machine_can_ask(tmp_path: Path) -> None:
    page = page_of(tmp_path, "pathlib.Path(sys.argv[0]).with_name('asked').touch(); print('{}')")
    site, found = page.site(), []
    await site.start()
    own = f"127.0.0.1:{site.port}"
    async with aiohttp.ClientSession() as session:
        for host, origin, token in (
            (own, f"http://127.0.0.1:{site.port + 1}", page.token),
            (own, f"http://localhost:{site.port}", page.token),
            (own, None, page.token),
            (f"page.example:{site.port}", f"http://page.example:{site.port}", page.token),
            (own, site.origin, ""),
        ):
            headers = {"Host": host, "Authorization": f"Bearer {token}"} | ({"Origin": origin} if origin else {})
            async with session.post(f"{site.origin}/ask", json={"text": "x"}, headers=headers) as reply:
                found.append(reply.status)
        async with session.get(f"{site.origin}/") as reply:
            found.append(reply.status)
        async with session.get(f"{site.origin}/ask?token={page.token}") as reply:
            found.append(reply.status)
    await site.close()
    assert found == [403, 403, 403, 403, 401, 401, 405]
    assert not (tmp_path / "asked").exists()


@pytest.fixture
def running(tmp_path: Path) -> Iterator[tuple[TryPage, LocalSite]]:
    """A page that shows RESULT for any post, in a thread of its own."""
    (tmp_path / "result.json").write_text(json.dumps(RESULT))
    body = (
        "print('step: read: <script>window.pwned=1</script>', file=sys.stderr)\n"
        "print(pathlib.Path(sys.argv[0]).with_name('result.json').read_text())"
    )
    page = page_of(tmp_path, body)
    site, loop = page.site(), asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever, daemon=True)
    thread.start()
    asyncio.run_coroutine_threadsafe(site.start(), loop).result(60)
    yield page, site
    asyncio.run_coroutine_threadsafe(site.close(), loop).result(60)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


@pytest.mark.integration
def test_hostile_texts_stay_text_in_a_browser(running: tuple[TryPage, LocalSite], browser: Browser) -> None:
    page, site = running
    context = browser.new_context()
    shown, asked, errors = context.new_page(), list[str](), list[str]()
    shown.on("request", lambda request: asked.append(request.url))
    shown.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    shown.goto(f"{site.origin}/?token={page.token}")
    shown.get_by_role("button", name="Respond").click()
    expect(shown.get_by_text("Write a post, or add a picture.")).to_be_visible()
    shown.get_by_label("Post", exact=True).fill("The bridge fell!")
    shown.get_by_role("button", name="Respond").click()
    expect(shown.get_by_text("Against the post: It stands.")).to_be_visible()
    expect(shown.locator("#steps li")).to_have_text(["Read: <script>window.pwned=1</script>"])
    assert shown.evaluate("window.pwned") is None
    assert shown.locator("#answer img, #answer b, #answer i, #answer script").count() == 0
    assert [link.get_attribute("href") for link in shown.locator("a").all()] == ["https://atlas.example/a"] * 2
    assert all(address.startswith(site.origin) for address in asked) and errors == []
    assert serious_findings(shown) == []
    context.close()
