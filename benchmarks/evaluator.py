"""Speed of requests: the evaluator with its journal, compared with aiohttp's bare loop and the openai SDK.

    python benchmarks/evaluator.py [--server PATH] [--rounds 3] [--calls 2000] [--json]

It needs a local substitute for a chat endpoint: a script that takes `--port 0 --latency-ms N` and prints its address
(`http://127.0.0.1:PORT/v1`) on its first line. --server or HELLOFRESH_MOCK_LLM names it; the default
is ../shared/tools/mock_llm.py. The benchmark starts and stops it. The openai SDK is measured if installed
(`pip install openai`).

Clients alternate, round by round, each in a process of its own, and the table gives medians over rounds, so that a
busy machine slows all of them alike. Under web-search, every search and page takes 200 ms too. 100 requests run
at once. `limit` is the time of the server's latency alone; CPU time and peak memory are those of the
client's process; the time excludes imports. `refused` gets 429 for every fifth request, to be sent again at once, at
20 ms and with 32 requests at once; `not-refused` is the same without refusals.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hellofresh.evidence.web import Web

ROOT = Path(__file__).resolve().parent.parent
SERVER = Path(os.environ.get("HELLOFRESH_MOCK_LLM") or ROOT.parent / "shared" / "tools" / "mock_llm.py")
AT_ONCE = 100
WEB_LATENCY_S = 0.2
WEB_CALLS = 2200
"""For 200 samples: a query, five summaries and five prompts each."""
CLIENTS = ("hellofresh", "aiohttp", "openai", "openai-sdk", "web-search", "refused", "not-refused")
REFUSED_AT_ONCE = 32
"""`openai` is the SDK alone, and `openai-sdk` the evaluator with an SDK client."""
PAGE = "Rain fell on the hills all week, and the river rose until the lower road was closed to carts. " * 12
FILLER = "It was written down by a person who had been there and seen it with their own eyes. " * 12


@dataclass(frozen=True, slots=True)
class Row:
    """One client under one condition: medians over rounds, the largest peak."""

    client: str
    calls: int
    latency_ms: int
    wall_s: float
    limit_ratio: float | None
    calls_per_s: float
    cpu_s_per_1000: float
    peak_mib: float


def slow_web() -> Web:
    """A web whose every search and page takes 200 ms, as the server's answers do."""
    from hellofresh.evidence.web import Found, PageStatus, SearchResult, WebPage

    class SlowWeb:
        parameters: Mapping[str, str] = {}

        async def search(self, query: str, *, before: date | None = None) -> Found:
            await asyncio.sleep(WEB_LATENCY_S)
            return Found([SearchResult(f"https://page-{n}.example/", f"Page {n}", "", None, n) for n in range(1, 6)])

        async def read(self, url: str) -> WebPage:
            await asyncio.sleep(WEB_LATENCY_S)
            return WebPage(url, url, PageStatus.OK, text=f"{url} {PAGE}")

        async def close(self) -> None:
            pass

    return SlowWeb()


def ask_with_hellofresh(
    base_url: str, calls: int, *, searching: bool = False, sdk: bool = False, at_once: int = AT_ONCE
) -> None:
    """Synthetic notes, five prompts each, through the runner and a journal on disk.

    With `searching`, under web-search, eleven requests a sample, else under zero-shot, five; with `sdk` by its client.
    """
    from hellofresh.models import Limits, ModelSpec
    from hellofresh.models.providers.chat import ChatModel
    from hellofresh.models.tables import Abilities, Endpoint
    from hellofresh.runs.equipment import Equipment
    from hellofresh.runs.journal import Journal
    from hellofresh.runs.pace import Patience
    from hellofresh.runs.prompts import load_prompt_set
    from hellofresh.runs.regimes import get_regime
    from hellofresh.runs.runner import Assignment, Tally, run
    from hellofresh.tasks import get_task
    from hellofresh.tasks.x_notes import Note, NoteText, Post

    regime = get_regime("web-search" if searching else "zero-shot")
    moment = datetime(2023, 4, 3, tzinfo=UTC)
    names = {"task": "x-notes", "edition": "2023Q2", "period": "2023-04", "date": moment, "license": "none"}
    prompts = load_prompt_set("x-notes", regime.name)
    each = regime.ceiling(len(prompts.prompts))
    samples = [
        Note(
            id=f"xn-{n}",
            group=f"x-{n}",
            post=Post(str(n), moment, f"Post {n}. {FILLER}"),
            note=NoteText(str(n), moment, f"Note {n}."),
            **names,
        )
        for n in range(calls // each)
    ]
    spec = ModelSpec("m", "language-model", "A stand-in.", {}, limits=Limits(at_once))
    if sdk:
        from openai import AsyncOpenAI

        from hellofresh.models.providers.sdk import SdkModel

        client = AsyncOpenAI(base_url=base_url, api_key="none")
        model: ChatModel = SdkModel(spec, Endpoint(base_url, "m", client=client), Abilities())
    else:
        model = ChatModel(spec, Endpoint(base_url, "m"), Abilities())
    slots, web = get_task("x-notes").slots, slow_web() if searching else None
    patience = Patience(attempts=20)  # of thousands of questions, one may be refused six times in a row
    assignment = Assignment(model, Equipment(regime, prompts, prompts.prompts, slots, web), patience=patience)

    def progress(_: Tally) -> None:
        """Discard progress."""

    with tempfile.TemporaryDirectory(dir=ROOT) as folder, Journal(Path(folder)) as journal:
        with measured(calls):
            result = run(assignment, samples, journal, progress)
        assert len(result.judged) == len(samples) * len(prompts.prompts)
        assert len(journal) == len(samples) * each


def ask_with_aiohttp(base_url: str, calls: int) -> None:
    """The minimum: a loop over posts without checks and storage."""
    import aiohttp

    async def main() -> None:
        connector = aiohttp.TCPConnector(limit=AT_ONCE)
        async with aiohttp.ClientSession(connector=connector) as session:

            async def ask(number: int) -> None:
                async with session.post(f"{base_url}/chat/completions", json=body(number)) as response:
                    assert (await response.json())["choices"][0]["message"]["content"] in ("yes", "no")

            await at_once(ask, calls)

    with measured(calls):
        asyncio.run(main())


def ask_with_openai(base_url: str, calls: int) -> None:
    """The SDK's async client, used as in its documentation."""
    from openai import AsyncOpenAI

    async def main() -> None:
        async with AsyncOpenAI(base_url=base_url, api_key="none") as client:

            async def ask(number: int) -> None:
                reply = await client.chat.completions.create(**body(number))
                assert reply.choices[0].message.content in ("yes", "no")

            await at_once(ask, calls)

    with measured(calls):
        asyncio.run(main())


def body(number: int) -> dict[str, object]:
    """A request as long as the evaluator's."""
    text = f"Post {number}. {FILLER} Was the note helpful? Answer only with 'yes' or 'no'."
    return {"model": "m", "messages": [{"role": "user", "content": text}], "max_tokens": 15, "temperature": 0.0}


async def at_once(ask: Callable[[int], object], calls: int) -> None:
    """Send all requests, a hundred at a time."""
    waiting = iter(range(calls))

    async def work() -> None:
        for number in waiting:
            await ask(number)

    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(work())


@contextmanager
def measured(calls: int) -> Iterator[None]:
    """Print wall time, CPU time and peak memory of the block."""
    wall, cpu = time.perf_counter(), time.process_time()
    yield
    found = {
        "wall_s": time.perf_counter() - wall,
        "cpu_s_per_1000": (time.process_time() - cpu) / calls * 1000,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    print(json.dumps(found), flush=True)


@contextmanager
def serving(script: Path, latency_ms: int, *more: str) -> Iterator[str]:
    """Start the substitute on a free port, with more arguments; gives its base URL."""
    command = [sys.executable, str(script), "--port", "0", "--latency-ms", str(latency_ms), *more]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"http://127\.0\.0\.1:\d+/v1", process.stdout.readline())
            assert found, "the server did not print its address"
            yield found[0]
        finally:
            process.terminate()


def measure(client: str, base_url: str, calls: int) -> dict[str, float]:
    """Run one client in a process of its own."""
    command = [sys.executable, __file__, "--client", client, "--base-url", base_url, "--calls", str(calls)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def compare(script: Path, clients: list[str], calls: int, latency_ms: int, rounds: int) -> list[Row]:
    """All clients alternating, for several rounds."""
    found: dict[str, list[dict[str, float]]] = {client: [] for client in clients}
    refusing = ("--fault", "429:5", "--retry-after", "0")
    with serving(script, latency_ms) as base_url, serving(script, latency_ms, *refusing) as refusing_url:
        for _ in range(rounds):
            for client in clients:
                found[client].append(measure(client, refusing_url if client == "refused" else base_url, calls))
    limit_s = calls / (REFUSED_AT_ONCE if "refused" in clients else AT_ONCE) * latency_ms / 1000
    rows = []
    for client, measurements in found.items():
        wall_s = median(item["wall_s"] for item in measurements)
        rows.append(
            Row(
                client=client,
                calls=calls,
                latency_ms=latency_ms,
                wall_s=round(wall_s, 2),
                limit_ratio=round(wall_s / limit_s, 3) if limit_s else None,
                calls_per_s=round(calls / wall_s),
                cpu_s_per_1000=round(median(item["cpu_s_per_1000"] for item in measurements), 3),
                peak_mib=round(max(item["peak_mib"] for item in measurements)),
            )
        )
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", type=Path, default=SERVER)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--long", type=int, default=30_000, help="calls of a run for its memory; 0 for none")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--client", choices=CLIENTS, help=argparse.SUPPRESS)
    parser.add_argument("--base-url", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.client:
        asks = {"aiohttp": ask_with_aiohttp, "openai": ask_with_openai, "hellofresh": ask_with_hellofresh}
        if options.client in ("web-search", "openai-sdk"):
            searching = options.client == "web-search"
            ask_with_hellofresh(options.base_url, options.calls, searching=searching, sdk=not searching)
        elif options.client.endswith("refused"):
            ask_with_hellofresh(options.base_url, options.calls, at_once=REFUSED_AT_ONCE)
        else:
            asks[options.client](options.base_url, options.calls)
        return 0
    if not options.server.is_file():
        print(f"no stand-in for a chat endpoint at {options.server}: name one with --server (see --help)")
        return 0
    clients = [name for name in CLIENTS[:4] if "openai" not in name or importlib.util.find_spec("openai")]
    rows = compare(options.server, clients, options.calls, 200, options.rounds)
    rows += compare(options.server, ["web-search"], WEB_CALLS, 200, options.rounds)
    rows += compare(options.server, clients, options.calls, 0, options.rounds)
    rows += compare(options.server, ["refused", "not-refused"], options.calls, 20, options.rounds)
    if options.long:
        rows += compare(options.server, ["hellofresh"], options.long, 0, 1)
    if options.json:
        print(json.dumps({**asdict(rows[0]), "rows": [asdict(row) for row in rows]}, indent=2))
        return 0
    print(
        f"{'client':18} {'calls':>7} {'latency':>8} {'wall s':>7} {'/limit':>7} {'calls/s':>8} {'CPU s/1000':>11} MiB"
    )
    for row in rows:
        ratio = "-" if row.limit_ratio is None else f"{row.limit_ratio:.3f}"
        asked = f"{row.client:18} {row.calls:7,} {row.latency_ms:5} ms"
        used = f"{row.cpu_s_per_1000:10.2f} {row.peak_mib:4.0f}"
        print(f"{asked} {row.wall_s:7.2f} {ratio:>7} {row.calls_per_s:8,.0f} {used}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
