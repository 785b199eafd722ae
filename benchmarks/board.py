"""Speed of the site with a board of many systems, compared with plain Streamlit, gradio and a hand-made static page.

    python benchmarks/board.py [--systems 500] [--visits 5] [--sessions 20] [--only NAME ...] [--data DIR] [--json]

It makes a workspace (`made/field.py`; one quarter of edits, majority and five prompts, 13 weeks, all pairs), builds its
board with `hellofresh board build`, starts each site as a process of its own and visits it with the system's Chromium
(HELLOFRESH_CHROMIUM, else `chromium`), every visit in a fresh browser context, so that nothing is cached:

- start: from starting the server to its first response.
- first: the first visit to a fresh server, until all rows have arrived and the first is visible.
- warm: later visits, the median; chart: until an app's chart has arrived too; server, browser: the CPU time
  of each for such a visit, which depends less on other work on the machine than wall time does.
- search, regime: from pressing Enter, or choosing, to the filtered table. page: to another page with its content.
- MiB: memory of the server's processes (shared parts counted once) with 1 and with many open sessions.

`app` is `streamlit run leaderboard/app.py`, `site` is `hellofresh board serve`, which answers while it makes the pages;
`export` is the same on a plain server. `streamlit` reads one Parquet file and shows it with a chart.
The rivals have the same rows with fewer columns. Gradio is measured if installed. Results depend on the
machine's other work, shown as `load`; compare within one run.
"""

from __future__ import annotations

import argparse
import http.client
import importlib.util
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median

import polars as pl
from made.field import QUARTER, TASK, make_workspace
from made.rivals import GRADIO, STREAMLIT, write_page
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
             "--disable-sync", "--no-first-run"]  # fmt: skip
COLUMNS = ["system", "team", "f1", "f1_low", "f1_high", "precision", "recall", "accuracy", "n", "none", "regime",
           "provenance", "knowledge_cutoff"]  # fmt: skip
WORD, REGIME = "castle", "web-search"
"""The searched word and the chosen regime."""
HELLOFRESH = "import sys; from hellofresh.cli import main; sys.exit(main())"
LONG_MS = 60_000
VEGA = "[data-testid=stVegaLiteChart] :is(canvas, svg)"
REPEATED = ("warm", "chart", "search", "regime", "page", "cpu_server", "cpu_browser", "kib")


@dataclass(frozen=True, slots=True)
class Site:
    """A site to measure.

    Attributes:
        name: as printed.
        command: starts it; PORT stands for the port.
        environment: further variables.
        path: the page with the table.
        rows: a script that returns the number of visible rows, by the expected number.
        chart: a selector of the chart.
        search, choose: type a word, choose a regime.
        turn: opens another page and waits for its content; None if there is none.
        table: opens the table, where a page shows it only when asked; None if it is there at once.
    """

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    path: str
    rows: str
    chart: str | None
    search: Callable[[Page], None]
    choose: Callable[[Page], None]
    turn: Callable[[Page], None] | None = None
    table: Callable[[Page], None] | None = None


@dataclass(slots=True)
class Measured:
    """Seconds and MiB of one site; None if not applicable."""

    name: str
    start: float
    first: float
    warm: float = 0.0
    chart: float | None = None
    search: float = 0.0
    regime: float = 0.0
    page: float | None = None
    cpu_server: float = 0.0
    cpu_browser: float = 0.0
    mib_1: float = 0.0
    mib_many: float | None = None
    kib: float = 0.0
    load: float = field(default_factory=lambda: round(os.getloadavg()[0], 1))


# The sites


def fill(label: str) -> Callable[[Page], None]:
    def act(page: Page) -> None:
        page.get_by_label(label).first.fill(WORD)
        page.evaluate("performance.mark('asked')")
        page.keyboard.press("Enter")

    return act


def behind_filters(act: Callable[[Page], None]) -> Callable[[Page], None]:
    """An action on what the app keeps behind its button Filters."""

    def opened(page: Page) -> None:
        if not page.get_by_label("Find a system or team").first.is_visible():
            page.get_by_role("button", name="Filters").click()
        act(page)

    return opened


def to_table(page: Page) -> None:
    page.get_by_text("Table", exact=True).first.click(timeout=LONG_MS)


def fill_here(page: Page) -> None:
    """In this project's table, which the browser filters with each key."""
    page.locator(".hf-tools [type=search]").fill(WORD)


def pick_here(page: Page) -> None:
    page.locator("#regime").select_option(REGIME)


def pick_on_page(page: Page) -> None:
    page.get_by_label("Regime").select_option(REGIME)


def pick_from_list(page: Page) -> None:
    """In Streamlit's and gradio's own select boxes."""
    box = page.get_by_role("combobox", name="Regime").or_(page.get_by_role("listbox", name="Regime")).first
    box.click()
    option = page.get_by_role("option", name=REGIME).first
    option.wait_for()
    page.evaluate("performance.mark('asked')")
    option.click()


def to_compare(page: Page) -> None:
    page.get_by_role("link", name="Compare", exact=True).first.click()
    page.get_by_role("heading", name="Compare", exact=True).first.wait_for(timeout=LONG_MS)
    page.locator("table, [role=grid]").first.wait_for(timeout=LONG_MS, state="attached")


def streamlit(script: Path) -> list[str]:
    command = [sys.executable, "-m", "streamlit", "run", str(script), "--server.port", "PORT"]
    return [
        *command,
        "--server.headless",
        "true",
        "--server.address",
        "localhost",
        "--browser.gatherUsageStats",
        "false",
    ]


def sites(workspace: Path, folder: Path, page: str) -> dict[str, Site]:
    """All sites that can be measured here, by name; `page` is the path with the table."""
    scores = pl.read_parquet(workspace / "board" / "scores.parquet")
    of_metric = ("repetitions", "mean", "mean_low", "mean_high", "bootstrap_low", "bootstrap_high")
    whole = scores.filter("headline", pl.col("period") == "all").drop(of_metric)
    wide = whole.pivot(on="metric", values=["value", "low", "high"], separator="_of_")
    names = {name: name.removeprefix("value_of_") for name in wide.columns if name.startswith("value_of_")}
    names |= {f"{end}_of_f1": f"f1_{end}" for end in ("low", "high")}
    rows = wide.rename(names).sort("f1", descending=True).select(COLUMNS)
    rows.write_parquet(folder / "rows.parquet")
    write_page(rows, folder / "page" / "index.html")
    plain, gradio = folder / "plain.py", folder / "gradio_app.py"
    plain.write_text(STREAMLIT)
    gradio.write_text(GRADIO)
    files = {"ROWS": str(folder / "rows.parquet")}
    grid = "Number(document.querySelector('[role=grid]')?.getAttribute('aria-rowcount') ?? 0) - 1"
    ours = ".hf-standings tbody tr:not(.hf-group)"
    shown = f"[...document.querySelectorAll('{ours}')].filter(row => !row.hidden).length"
    served = [sys.executable, "-m", "http.server", "PORT", "--bind", "localhost", "--directory"]
    static = "[...document.querySelectorAll('tbody tr')].filter(row => !row.hidden).length"
    task, edition = page.strip("/").split("/")[:2]
    found = {
        "app": Site("app", streamlit(ROOT / "leaderboard" / "app.py"), {"HELLOFRESH_DATA": str(workspace)},
                    f"/leaderboard?task={task}&edition={edition}&provenance=all", grid, None,
                    behind_filters(fill("Find a system or team")), behind_filters(pick_from_list), to_compare,
                    to_table),
        "site": Site("site", [sys.executable, "-c", HELLOFRESH, "board", "serve", "--port", "PORT"],
                     {"HELLOFRESH_DATA": str(workspace)}, page, shown, None,
                     fill_here, pick_here, to_compare, to_table),
        "streamlit": Site("streamlit", streamlit(plain), files, "/", grid, VEGA, fill("Find a system or team"),
                          pick_from_list),
        "page": Site("page", [*served, str(folder / "page")], {}, "/", static, None, fill("Find a system or team"),
                     pick_on_page),
        "export": Site("export", [*served, str(folder / "copy")], {}, page, shown, None, fill_here, pick_here,
                       None, to_table),
    }  # fmt: skip
    if importlib.util.find_spec("gradio"):
        found["gradio"] = Site("gradio", [sys.executable, str(gradio)], {**files, "PORT": "PORT"}, "/", static, None,
                               fill("Find a system or team"), pick_from_list)  # fmt: skip
    return found


# Measuring


@contextmanager
def serving(site: Site) -> Iterator[tuple[str, int, float]]:
    """The site on its own port: address, process, and seconds until it responded."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    put_in = {"PORT": str(port)}
    command = [put_in.get(word, word) for word in site.command]
    given = {name: put_in.get(value, value) for name, value in site.environment.items()}
    begin = time.perf_counter()
    process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT), **given},
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
    try:
        while not answers(port):
            assert process.poll() is None, f"{site.name} did not start: {command}"
            assert time.perf_counter() - begin < 120, f"{site.name} does not answer"
            time.sleep(0.02)
        yield f"http://localhost:{port}", process.pid, time.perf_counter() - begin
    finally:
        process.terminate()
        process.wait(timeout=20)


def answers(port: int) -> bool:
    connection = http.client.HTTPConnection("localhost", port, timeout=5)
    try:
        connection.request("GET", "/")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


def family(pid: int) -> list[int]:
    """The process and its descendants."""
    children = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/children")]
    return [pid, *(one for text in children for child in text.split() for one in family(int(child)))]


def memory_mib(pid: int) -> float:
    """Proportional set size, which divides shared memory among processes; for one process, about its resident size."""
    lines = (line for one in family(pid) for line in Path(f"/proc/{one}/smaps_rollup").read_text().splitlines())
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def cpu_s(pids: Iterable[int]) -> float:
    """CPU seconds of the processes that still run."""
    ticks = 0
    for one in pids:
        with suppress(FileNotFoundError, ProcessLookupError):
            fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def browsing(servers: Iterable[int]) -> list[int]:
    """The browser's processes: all descendants except the servers."""
    others = {one for pid in servers for one in family(pid)}
    return [one for one in family(os.getpid())[1:] if one not in others]


def wait_rows(page: Page, site: Site, test: str) -> None:
    page.wait_for_function(f"() => {{ const shown = {site.rows}; return {test}; }}", timeout=LONG_MS)


def visit(page: Page, site: Site, address: str, rows: int) -> tuple[float, float | None]:
    """Seconds until all rows have arrived, and until the chart has."""
    begin = time.perf_counter()
    page.goto(address + site.path, wait_until="commit")
    if site.table:
        site.table(page)
    wait_rows(page, site, f"shown === {rows}")
    table = time.perf_counter() - begin
    if not site.chart:
        return table, None
    page.locator(site.chart).first.wait_for(timeout=LONG_MS, state="attached")
    return table, time.perf_counter() - begin


def settle(page: Page) -> None:
    """Wait until the page is idle, so that a measurement does not include the previous one."""
    page.wait_for_load_state("networkidle")
    if page.locator("[data-testid=stApp]").count():
        page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for(timeout=LONG_MS)


def ask(page: Page, site: Site, act: Callable[[Page], None], rows: int) -> float:
    """Seconds from the action to the filtered table; from the script's mark if it set one."""
    begin = time.perf_counter()
    page.evaluate("performance.clearMarks()")
    act(page)
    wait_rows(page, site, f"shown > 0 && shown < {rows}")
    marked = page.evaluate("performance.now() - (performance.getEntriesByName('asked')[0]?.startTime ?? Infinity)")
    return marked / 1000 if marked and marked > 0 else time.perf_counter() - begin


def received(page: Page) -> list[int]:
    """Bytes received from now on, by requests and messages."""
    sizes: list[int] = []
    page.on("websocket", lambda socket: socket.on("framereceived", lambda data: sizes.append(len(data))))
    return sizes


@dataclass(frozen=True, slots=True)
class Running:
    """A running site and its measurements."""

    site: Site
    address: str
    pid: int
    found: Measured
    times: dict[str, list[float]]


def measure(sites: Sequence[Site], browser: Browser, rows: int, visits: int, sessions: int) -> list[Measured]:
    """Measure all sites; visits alternate, so that a busy machine slows all of them alike."""
    with ExitStack() as servers:
        up: list[Running] = []
        for site in sites:
            address, pid, start = servers.enter_context(serving(site))
            page = browser.new_page()
            first, _ = visit(page, site, address, rows)
            settle(page)
            page.context.close()
            found = Measured(site.name, start, first, mib_1=memory_mib(pid))
            up.append(Running(site, address, pid, found, {name: [] for name in REPEATED}))
        for _ in range(visits):
            for one in up:
                one_visit(one, browser, rows, [other.pid for other in up])
        for one in up:
            for name, values in one.times.items():
                setattr(one.found, name, median(values) if values else None)
            one.found.load = round(os.getloadavg()[0], 1)
            one.found.mib_many = open_many(one, browser, rows, sessions) if sessions else None
    return [one.found for one in up]


def one_visit(one: Running, browser: Browser, rows: int, servers: Sequence[int]) -> None:
    """A visit, a search, a choice and another page; adds to the times."""
    site, times, page = one.site, one.times, browser.new_page()
    sizes, browser_s, server_s = received(page), cpu_s(browsing(servers)), cpu_s(family(one.pid))
    table, chart = visit(page, site, one.address, rows)
    settle(page)
    times["cpu_browser"].append(cpu_s(browsing(servers)) - browser_s)
    times["cpu_server"].append(cpu_s(family(one.pid)) - server_s)
    times["kib"].append(sum(sizes) / 1024)
    times["warm"].append(table)
    times["chart"] += [chart] if chart is not None else []
    times["search"].append(ask(page, site, site.search, rows))
    page.context.close()
    page = browser.new_page()
    visit(page, site, one.address, rows)
    settle(page)
    times["regime"].append(ask(page, site, site.choose, rows))
    settle(page)
    if site.turn:
        begin = time.perf_counter()
        page.keyboard.press("Escape")
        site.turn(page)
        times["page"].append(time.perf_counter() - begin)
    page.context.close()


def open_many(one: Running, browser: Browser, rows: int, sessions: int) -> float:
    """Memory of the server while this many visitors look at the table."""
    pages = [browser.new_page() for _ in range(sessions)]
    for page in pages:
        visit(page, one.site, one.address, rows)
    settle(pages[-1])
    used = memory_mib(one.pid)
    for page in pages:
        page.context.close()
    return used


def build(workspace: Path, systems: int, samples: int) -> dict[str, float]:
    """Fill the workspace and build its board; returns the costs of the build."""
    from hellofresh.core.workspace import Workspace

    make_workspace(Workspace(workspace), systems=systems, samples=samples, prompts=5)
    return timed(workspace, workspace / "board", "build")


def timed(workspace: Path, folder: Path, *words: str) -> dict[str, float]:
    """Costs of a command of the board, and the size of its folder."""
    begin = time.perf_counter()
    environment = {**os.environ, "HELLOFRESH_DATA": str(workspace), "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen([sys.executable, "-c", HELLOFRESH, "board", *words], env=environment, cwd=ROOT,
                               stdout=subprocess.DEVNULL)  # fmt: skip
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, f"hellofresh board {words[0]} failed"
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return {
        "wall_s": round(time.perf_counter() - begin, 1), "cpu_s": round(usage.ru_utime + usage.ru_stime, 1),
        "peak_mib": round(usage.ru_maxrss / 1024), "size_mib": round(size / 2**20, 1),
    }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--systems", type=int, default=500)
    parser.add_argument("--samples", type=int, default=60, help="a week")
    parser.add_argument("--visits", type=int, default=5, help="warm visits, of which the median is given")
    parser.add_argument("--sessions", type=int, default=20, help="open at once for the memory; 0 for none")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="sites to measure")
    parser.add_argument("--data", type=Path, help="a workspace made before, instead of making one")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    chromium = os.environ.get("HELLOFRESH_CHROMIUM") or shutil.which("chromium")
    if not chromium or not importlib.util.find_spec("streamlit"):
        print("it needs Chromium (name one with HELLOFRESH_CHROMIUM) and streamlit")
        return 0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "page").mkdir()
        workspace = options.data or folder / "data"
        built = None if options.data else build(workspace, options.systems, options.samples)
        copied = timed(workspace, folder / "copy", "export", str(folder / "copy"))
        known = sites(workspace, folder, f"/{TASK.name}/{QUARTER}/index.html#provenance=all")
        rows = pl.read_parquet(folder / "rows.parquet").height
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
            chosen = [site for name, site in known.items() if not options.only or name in options.only]
            found = measure(chosen, browser, rows, options.visits, options.sessions)
            browser.close()
    report(found, {"build": built, "export": copied}, rows, options.sessions, as_json=options.json)
    return 0


def report(
    found: Sequence[Measured],
    took: Mapping[str, Mapping[str, float] | None],
    rows: int,
    sessions: int,
    *,
    as_json: bool,
) -> None:
    if as_json:
        print(json.dumps({"systems": rows, **took, "rows": [asdict(item) for item in found]}, indent=2))
        return
    for what, one in took.items():
        if one:
            print(f"board {what}, {rows} systems: {one['wall_s']} s, {one['cpu_s']} s CPU, {one['peak_mib']} MiB, "
                  f"{one['size_mib']} MiB written")  # fmt: skip
    print(f"{'site':10} {'start':>6} {'first':>6} {'warm':>6} {'chart':>6} {'search':>6} {'regime':>6} {'page':>6} "
          f"{'server':>6} {'browser':>7} {'KiB':>6} {'MiB':>5} {f'MiB {sessions}':>6} {'load':>5}")  # fmt: skip
    for item in found:
        seconds = (item.start, item.first, item.warm, item.chart, item.search, item.regime, item.page)
        shown = " ".join(f"{'-':>6}" if value is None else f"{value:6.2f}" for value in seconds)
        many = "-" if item.mib_many is None else f"{item.mib_many:.0f}"
        used = f"{item.cpu_server:6.2f} {item.cpu_browser:7.2f} {item.kib:6,.0f} {item.mib_1:5.0f} {many:>6}"
        print(f"{item.name:10} {shown} {used} {item.load:5.1f}")


if __name__ == "__main__":
    sys.exit(main())
