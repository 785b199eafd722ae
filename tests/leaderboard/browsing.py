"""What tests in a browser share: a site that runs, a page with what goes on behind it, and pictures to look at."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.error import URLError
from urllib.parse import parse_qs, urlsplit
from urllib.request import urlopen

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import ConsoleMessage, Page, Request, expect

from tests.fakes import free_port

START_S = 300
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run",
]  # fmt: skip
LOOKS = {
    "light": {"viewport": {"width": 1280, "height": 800}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1280, "height": 800}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}, "color_scheme": "light"},
    "tablet": {"viewport": {"width": 900, "height": 1100}, "color_scheme": "dark"},
    "narrow": {"viewport": {"width": 320, "height": 700}, "color_scheme": "dark"},
}
CONTRASTS = """() => {
  const channels = text => text.match(/[0-9.]+/g).map(Number);
  const luminance = colour => colour.slice(0, 3).map(value => value / 255)
    .map(value => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)
    .reduce((sum, value, k) => sum + value * [0.2126, 0.7152, 0.0722][k], 0);
  const behind = element => {
    for (let at = element; at; at = at.parentElement) {
      const colour = channels(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] > 0.99) return colour;
    }
    return [255, 255, 255];
  };
  const found = [];
  for (const element of document.querySelectorAll('.hf *, .hf')) {
    const own = [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim());
    if (!own || !element.checkVisibility()) continue;
    const [one, other] = [channels(getComputedStyle(element).color), behind(element)].map(luminance);
    found.push([(Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05), element.textContent.slice(0, 40)]);
  }
  return found.sort((a, b) => a[0] - b[0]);
}"""
SMALL_TARGETS = """() => [...document.querySelectorAll('button, input, select, summary, a')]
  .filter(one => one.checkVisibility({ visibilityProperty: true }) && (one.tagName !== 'A' ||
    getComputedStyle(one).display !== 'inline'))
  .map(one => [one.closest('label')?.contains(one) ? one.closest('label') : one, one.outerHTML.slice(0, 60)])
  .filter(([one]) => one.offsetWidth && Math.min(one.offsetWidth, one.offsetHeight) < 24).map(([, said]) => said)"""
CLIPPED = """() => [...document.querySelectorAll('.hf td, .hf th, .hf figcaption, .hf p, .hf-ticks, .hf-notice')]
  .filter(element => element.scrollWidth > element.clientWidth + 1 && element.clientWidth > 0)
  .filter(element => !element.closest('.hf-scroll'))
  .filter(element => getComputedStyle(element.closest('thead') || element).position !== 'absolute')
  .map(element => element.textContent.slice(0, 40))"""


@dataclass
class Visit:
    """A page in the browser, with what went on behind it."""

    page: Page
    address: str
    strangers: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("request", self._request)
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))

    def _request(self, request: Request) -> None:
        if urlsplit(request.url).scheme not in ("data", "blob") and not request.url.startswith(self.address):
            self.strangers.append(request.url)

    def _console(self, message: ConsoleMessage) -> None:
        # Streamlit looks for its own endpoints below the page's path first, and finds them at the root.
        probing = "/_stcore/" in message.location.get("url", "")
        if message.type == "error" and not probing:
            self.errors.append(message.text)

    def go(self, path: str, ready: str) -> Page:
        """Open a path and wait until the element `ready` is there and Streamlit is at rest."""
        self.page.goto(self.address + path)
        self.settle(ready)
        return self.page

    def settle(self, ready: str) -> None:
        """Wait for an element, and for the script's end."""
        expect(self.page.locator(ready).first).to_be_visible(timeout=120_000)
        expect(self.page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_visible(
            timeout=120_000
        )

    @property
    def query(self) -> dict[str, str]:
        """The query of the address bar."""
        return {name: values[0] for name, values in parse_qs(urlsplit(self.page.url).query).items()}


@contextmanager
def running_site(root: Path, data: Path, more: Mapping[str, str] | None = None) -> Iterator[str]:
    """The address of a site on the workspace `data`; in the end its log must be without traceback.

    Args:
        root: the project's folder.
        data: the workspace.
        more: further environment variables.
    """
    port = free_port()
    log = data / "site.log"
    command = [sys.executable, "-m", "streamlit", "run", "leaderboard/app.py", "--server.port", str(port)]
    environment = {**os.environ, "HELLOFRESH_DATA": str(data), **(more or {})}
    with log.open("wb") as output:
        server = subprocess.Popen(command, cwd=root, env=environment, stdout=output, stderr=output)
    try:
        wait_for_site(f"http://localhost:{port}/_stcore/health", server, log)
        yield f"http://localhost:{port}"
        assert "Traceback" not in log.read_text()
    finally:
        server.terminate()
        server.wait(timeout=120)


def wait_for_site(address: str, server: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until a site answers, or fail with its log."""
    until = time.monotonic() + START_S
    while time.monotonic() < until and server.poll() is None:
        try:
            with urlopen(address, timeout=2):
                return
        except (URLError, TimeoutError):
            time.sleep(0.2)
    pytest.fail(f"the site did not start: {log.read_text()}")


def keep_picture(page: Page, root: Path, name: str) -> None:
    """Make the screen as high as the page; with HELLOFRESH_PICTURES=1 save what fitted on it, and the whole page."""
    folder = root / "test-artifacts" if os.environ.get("HELLOFRESH_PICTURES") == "1" else None
    if folder:
        folder.mkdir(exist_ok=True)
        page.screenshot(path=folder / f"site-{name}.png")
    width = page.viewport_size["width"] if page.viewport_size else 1280
    height = page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight")
    page.set_viewport_size({"width": width, "height": min(int(height) + 60, 8000)})
    if folder:
        page.screenshot(path=folder / f"site-{name}-whole.png")


def serious_findings(page: Page, **options: object) -> list[str]:
    """What axe-core finds on the page as it is now that is serious or critical: the rule and the first place."""
    found = Axe().run(page, options=options).response["violations"]
    return [
        f"{rule['id']} ({len(rule['nodes'])}): {rule['nodes'][0]['html'][:200]}"
        for rule in found
        if rule["impact"] in ("serious", "critical")
    ]
