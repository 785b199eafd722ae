"""The static copy as files: every link leads somewhere, nothing acts, and no folder but its own is replaced."""

from __future__ import annotations

import json
import posixpath
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hellofresh.cli import main
from hellofresh.core.files import write_json
from hellofresh.core.folders import put_in_place
from hellofresh.core.quarters import Quarter
from hellofresh.core.workspace import Workspace
from hellofresh.results.board.build import build_board
from leaderboard.data.board import BoardEntry, load_board
from leaderboard.export import export_board
from leaderboard.export.copy import file_names
from leaderboard.export.folder import MARKER
from tests.fakes import contents, refused

HOME = "x-notes/2023Q2/index.html"
VOID = {"br", "img", "input", "link", "meta"}


@dataclass
class Parsed(HTMLParser):
    """A page's elements, in order, and what is wrong with their nesting."""

    source: str
    elements: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    _open: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.feed(self.source)
        self.close()
        self.problems += [f"never closed: {name}" for name in self._open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if len(dict(attrs)) < len(attrs):
            self.problems.append(f"an attribute twice: {tag}")
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open.pop() != tag:
            self.problems.append(f"closed out of turn: {tag}")

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def all(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.elements if tag == name]

    @property
    def title(self) -> str:
        return next(text for text in self.texts if text.strip())

    @property
    def ids(self) -> set[str]:
        return {str(attributes["id"]) for _, attributes in self.elements if "id" in attributes}

    @property
    def addresses(self) -> Iterator[tuple[str, dict[str, str | None], str]]:
        for tag, attributes in self.elements:
            for name in ("href", "src"):
                if attributes.get(name) is not None:
                    yield tag, attributes, str(attributes[name])


def pages(folder: Path) -> dict[str, Parsed]:
    return {name: Parsed(text.decode()) for name, text in contents(folder).items() if name.endswith(".html")}


@pytest.fixture(scope="module")
def copy(hostile_copy: Path) -> Path:
    """The copy that the tests look at, and leave as it is."""
    return hostile_copy


@pytest.fixture(scope="module")
def parsed(copy: Path) -> dict[str, Parsed]:
    return pages(copy)


def test_every_address_leads_to_a_file_of_the_copy_or_to_the_web(copy: Path, parsed: dict[str, Parsed]) -> None:
    outside = set()
    for name, page in parsed.items():
        for tag, attributes, address in page.addresses:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                assert (tag, parts.scheme) in {("a", "https"), ("a", "http")}, (name, address)
                assert "noopener" in str(attributes["rel"])
                outside.add(parts.netloc)
                continue
            target = posixpath.normpath(posixpath.join(posixpath.dirname(name), unquote(parts.path)))
            target = name if not parts.path else target
            assert not target.startswith(".."), (name, address)
            assert (copy / target).is_file(), (name, address)
            if parts.fragment and "=" not in parts.fragment:  # else it is for a script
                assert parts.fragment in parsed[target].ids, (name, address)
    assert "en.wikipedia.org" in outside


def test_every_page_can_be_reached_from_the_first(parsed: dict[str, Parsed]) -> None:
    seen, ahead = set(), ["index.html"]
    while ahead:
        name = ahead.pop()
        if name in seen or name not in parsed:
            continue
        seen.add(name)
        ways = (address for tag, _, address in parsed[name].addresses if tag == "a" and not urlsplit(address).scheme)
        ahead += [posixpath.normpath(posixpath.join(posixpath.dirname(name), way.partition("#")[0])) for way in ways]
    assert seen == set(parsed) - {"404.html"}


def test_every_page_is_well_formed_and_says_what_it_is(parsed: dict[str, Parsed]) -> None:
    titles = set()
    for name, page in parsed.items():
        assert page.problems == [], name
        metas = {str(meta.get("name", meta.get("http-equiv"))): meta.get("content") for meta in page.all("meta")}
        assert metas["viewport"] and metas["description"], name
        assert page.all("html") == [{"lang": "en"}]
        assert [len(page.all(tag)) for tag in ("title", "h1", "main")] == [1, 1, 1], name
        assert all(nav.get("aria-label") for nav in page.all("nav"))
        titles.add(page.title)
    assert len(titles) == len(parsed)


def test_an_unknown_address_offers_the_menu(parsed: dict[str, Parsed]) -> None:
    ways = {address for _, _, address in parsed["404.html"].addresses}
    assert {"./index.html", "./submit.html", "./about.html"} <= ways
    assert len([way for way in ways if way.endswith("/index.html") and way != "./index.html"]) == 2


def test_nothing_on_a_page_can_run_or_load_but_its_own_files(parsed: dict[str, Parsed]) -> None:
    for name, page in parsed.items():
        policy = next(meta["content"] for meta in page.all("meta") if "http-equiv" in meta)
        rules = dict(rule.strip().split(" ", 1) for rule in str(policy).split(";"))
        assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
        inline = name == "404.html"  # stands at any depth, so it holds its own style
        assert {rules["script-src"], rules["img-src"]} == {"'self'"}
        assert rules["style-src"] == ("'unsafe-inline'" if inline else "'self'")
        assert len(page.all("style")) == inline and page.all("form") == [] and page.all("iframe") == []
        assert all(script.get("src") for script in page.all("script"))
        assert not [key for _, attributes in page.elements for key in attributes if key.startswith("on")], name


def test_hostile_names_are_text_and_no_part_of_a_path(
    copy: Path, parsed: dict[str, Parsed], hostile: Sequence[str]
) -> None:
    for name, text in contents(copy).items():
        assert re.fullmatch(r"[A-Za-z0-9./_-]{1,160}", name) and ".." not in name
        if name.endswith(".html"):
            assert "\u202e" not in text.decode() and "\u0301" * 4 not in text.decode()
    said = parsed[HOME].texts
    assert {hostile[0], hostile[3], hostile[5]} <= set(said)
    systems = [name for name in parsed if name.startswith("x-notes/2023Q2/systems/")]
    assert len(systems) == len({name.lower() for name in systems}) == 16


def test_the_first_page_leads_to_the_newest_real_quarter_of_each_task(
    hostile_board: Workspace, parsed: dict[str, Parsed]
) -> None:
    board = load_board(hostile_board.board)
    newest = max(split.edition for split in board.splits if board.headlines(split) and not board.is_bundled(split))
    assert any(split.edition > newest or board.is_bundled(split) for split in board.splits)
    assert parsed["index.html"].title == "Home · HelloFresh"
    ways = [address for _, _, address in parsed["index.html"].addresses]
    assert {f"./{task}/{newest}/index.html" for task in ("x-notes", "wikipedia-edits")} <= set(ways)
    assert parsed[f"x-notes/{newest}/index.html"].title == f"Community Notes on X, {newest} · HelloFresh leaderboard"


def test_the_labels_that_the_style_gives_to_columns_are_those_of_the_table(copy: Path) -> None:
    table = (copy / HOME).read_text().partition("<tbody")[0].partition("<thead")[2]
    heads = [re.sub(r"<[^>]*>", "", head) for head in re.findall(r"<th [^>]*>(.*?)</th>", table)]
    style = (copy / "style.css").read_text()
    (kind,) = set(re.findall(r"hf-ranked-\w+", (copy / HOME).read_text()))  # each task's columns have a class
    said = dict(re.findall(rf'{kind} td:nth-child\((\d+)\)::before \{{ content: "([^"]*)"; \}}', style))
    assert len(said) > 8
    assert {number: heads[int(number) - 1] for number in said} == said
    boxes = re.findall(r'value="(\d+)"> ([\w ]+)</label>', (copy / HOME).read_text())
    assert dict(boxes) == {number: said[number] for number, _ in boxes}


def test_a_board_gives_the_same_bytes_whenever_and_wherever_it_is_exported(
    hostile_board: Workspace, copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HELLOFRESH_NOW", "2031-05-01T00:00:00Z")
    again = export_board(hostile_board.board, tmp_path / "again", instances=True)
    assert not again.skipped
    assert contents(tmp_path / "again") == contents(copy)
    assert (again.files, again.size) == (len(contents(copy)) - 1, sum(
        len(text) for name, text in contents(copy).items() if name != MARKER))  # fmt: skip


@pytest.fixture
def board(make_board: Callable[..., Any]) -> Path:
    """A small board."""
    return make_board(bundled=None).board


def test_a_rerun_with_nothing_changed_leaves_the_copy_as_it_is(board: Path, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "site"
    first = export_board(board, folder)
    stamp = (folder / "index.html").stat()
    second = export_board(board, folder)
    assert (first.skipped, second.skipped) == (False, True)
    kept = (folder / "index.html").stat()
    assert (kept.st_ino, kept.st_mtime_ns) == (stamp.st_ino, stamp.st_mtime_ns)
    assert [path.name for path in folder.parent.iterdir()] == ["site"]


@pytest.mark.parametrize("change", ["edited", "lost", "link"])
def test_a_copy_that_is_not_whole_is_made_anew(board: Path, tmp_path: Path, change: str) -> None:
    folder = tmp_path / "site"
    export_board(board, folder)
    before = contents(folder)
    (folder / "style.css").unlink()
    if change == "edited":
        (folder / "style.css").write_text("body { display: none }")
    elif change == "link":
        (folder / "style.css").symlink_to(board / "manifest.json")
    assert not export_board(board, folder).skipped
    assert contents(folder) == before
    assert not (folder / "style.css").is_symlink() and (board / "manifest.json").is_file()


def test_what_the_board_no_longer_has_is_gone_after_a_rerun(
    make_board: Callable[..., Any], system: Callable[..., Any], tmp_path: Path
) -> None:
    folder = tmp_path / "site"
    names = [{path for path in contents(folder) if "/systems/" in path} for _ in _exports(make_board, system, folder)]
    assert len(names[0]) == 4 and len(names[1]) == 2
    assert names[1] < names[0]


def _exports(make: Callable[..., Any], system: Callable[..., Any], folder: Path) -> Iterator[None]:
    for systems in ((system("one"), system("two")), (system("one"),)):
        export_board(make(systems=systems, bundled=None).board, folder)
        yield


def _fill(folder: Path, board: Path, how: str) -> None:
    if how in ("stray", "git"):
        export_board(board, folder)
        (folder / ".git").mkdir()
        (folder / ".git" / "config" if how == "git" else folder / "CNAME").write_text("mine")
        return
    folder.mkdir()
    (folder / "mine.txt").write_text("mine")
    marker = {"broken": "{", "other": '{"format": "another", "files": []}', "list": "[]", "none": None,
              "claims": '{"format": "hellofresh static copy 1", "files": [{"path": "mine.txt"}]}'}[how]  # fmt: skip
    if marker is not None:
        (folder / MARKER).write_text(marker)


@pytest.mark.parametrize("how", ["none", "broken", "other", "list", "claims", "stray", "git"])
def test_a_folder_with_anything_else_in_it_is_left_alone(board: Path, tmp_path: Path, how: str) -> None:
    folder = tmp_path / "site"
    _fill(folder, board, how)
    before = contents(folder)
    refused("foreign-folder", export_board, board, folder)
    assert contents(folder) == before


def test_a_file_in_the_place_of_the_folder_is_left_alone(board: Path, tmp_path: Path) -> None:
    (tmp_path / "site").write_text("mine")
    refused("foreign-folder", export_board, board, tmp_path / "site")
    refused("unwritable", export_board, board, tmp_path / "site" / "below")
    assert (tmp_path / "site").read_text() == "mine"


def test_the_folder_that_the_command_runs_in_is_not_replaced(
    board: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "site").mkdir()
    monkeypatch.chdir(tmp_path / "site")
    refused("folder-in-use", export_board, board, Path())


def test_if_the_new_copy_cannot_take_its_place_the_old_one_comes_back(
    board: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "site"
    export_board(board, folder)
    before, rename = contents(folder), Path.rename

    def refuse(self: Path, target: Path) -> Path:
        if self.name == "new":
            raise PermissionError(13, "Permission denied")
        return rename(self, target)

    (tmp_path / "new").mkdir()
    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(PermissionError):
        put_in_place(tmp_path / "new", folder)
    assert contents(folder) == before
    assert {path.name for path in tmp_path.iterdir()} >= {"site", "new"}
    assert not list(tmp_path.glob(".site.*"))


@pytest.mark.parametrize(("damage", "code"), [("gone", "no-board"), ("broken", "damaged-board")])
def test_without_a_sound_board_the_copy_stays_and_the_error_names_it(
    board: Path, tmp_path: Path, damage: str, code: str
) -> None:
    folder = tmp_path / "site"
    export_board(board, folder)
    before = contents(folder)
    if damage == "gone":
        shutil.rmtree(board)
    else:
        (board / "scores.parquet").write_bytes(b"PAR1")
    refused(code, export_board, board, folder)
    assert contents(folder) == before
    assert not list(tmp_path.glob(".site.*"))


def test_a_quarter_without_scores_says_so(make_board: Any, tmp_path: Path) -> None:
    make_board.release_only("2023Q3")
    export_board(make_board(bundled=None).board, tmp_path / "site")
    page = (tmp_path / "site/x-notes/2023Q3/index.html").read_text()
    assert "No system has been scored on this task and quarter yet." in page
    assert "<table" not in page
    first = (tmp_path / "site/index.html").read_text()
    assert "2023Q2/index.html" in first and "2023Q3/index.html" not in first


def test_many_systems_stay_small(make_board: Callable[..., Any], system: Callable[..., Any], tmp_path: Path) -> None:
    sizes = {}
    for count in (5, 45):
        systems = [system(f"system-{number}", right=number % 15 + 1) for number in range(count)]
        export_board(make_board(systems=systems, bundled=None).board, tmp_path / "site")
        sizes[count] = (tmp_path / "site/x-notes/2023Q2/index.html").stat().st_size
    assert (sizes[45] - sizes[5]) / 40 < 2_000


def test_as_a_space_the_copy_has_a_readme_with_front_matter(board: Path, tmp_path: Path) -> None:
    plain, space = (export_board(board, tmp_path / name, space=name == "space") for name in ("plain", "space"))
    assert space.files == plain.files + 1
    head = (tmp_path / "space" / "README.md").read_text().split("---\n")[1]
    assert "sdk: static\n" in head and "app_file: index.html\n" in head
    assert (tmp_path / "space" / ".nojekyll").is_file()


def test_the_command_says_what_it_wrote(
    board: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HELLOFRESH_DATA", str(board.parent))
    target = str(tmp_path / "site")
    assert main(["board", "export", target, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["folder"] == target and not said["skipped"] and said["pages"] == len(pages(tmp_path / "site"))
    assert main(["board", "export", target]) == 0
    assert "unchanged, skipped" in capsys.readouterr().out
    (tmp_path / "site" / "mine.txt").write_text("mine")
    assert main(["board", "export", target]) == 2
    assert "mine.txt" in capsys.readouterr().err
    monkeypatch.setenv("HELLOFRESH_DATA", str(tmp_path / "nothing"))
    assert main(["board", "export", str(tmp_path / "other")]) == 1
    assert "[no-board]" in capsys.readouterr().err
    assert not (tmp_path / "other").exists()


def test_the_copy_is_made_without_streamlit() -> None:
    code = "import sys, leaderboard.export; sys.exit('streamlit' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


NAMES = st.text(max_size=12) | st.sampled_from(["A" * 300, "con", "../../x", "Same", "same"])


@given(st.lists(st.tuples(NAMES, NAMES), min_size=1, max_size=6))
def test_file_names_are_safe_short_and_different(given: list[tuple[str, str]]) -> None:
    entries = [BoardEntry(name, "t", "uploaded", "submission", "other", origin, 0, name) for name, origin in given]
    names = file_names(entries)
    assert set(names) == {origin for _, origin in given}
    assert len({name.casefold() for name in names.values()}) == len(names)
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", name) and len(name) < 120 for name in names.values())


def test_analyses_come_with_figure_and_table(make_board: Any, hostile: Sequence[str], tmp_path: Path) -> None:
    workspace = make_board(bundled=None)
    folder = workspace.analyses(Quarter.parse("2023Q2"), "x-notes")
    folder.mkdir(parents=True)
    said = {
        "title": "Ranking",
        "question": "Who leads?",
        "how_to_read": "From left to right.",
        "notes": list(hostile[:2]),
    }
    where = {"edition": "2023Q2", "task": "x-notes", "columns": [], "rows": [], "figure": None}
    described = {**said, **where, "missing": "", "bundled": False, "systems": [hostile[0]], "row_count": 1}
    write_json(folder / "ranking.json", {**described, "name": "ranking"})
    nothing = {**described, "missing": "Nobody stated any.", "row_count": 0, "name": "calibration"}
    write_json(folder / "calibration.json", nothing)
    pl.DataFrame({"system": [hostile[0]], "rank": [1]}).write_parquet(folder / "ranking.parquet")
    (folder / "ranking.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')
    build_board(workspace)
    export_board(workspace.board, tmp_path / "site")
    there = tmp_path / "site" / "x-notes" / "2023Q2" / "analyses"
    assert {path.name for path in there.iterdir()} == {"index.html", "ranking.svg", "ranking.csv"}
    assert (there / "ranking.svg").read_bytes() == (folder / "ranking.svg").read_bytes()
    page = Parsed((there / "index.html").read_text())
    assert page.problems == [] and {"ranking", "calibration"} <= page.ids
    assert [image["src"] for image in page.all("img")] == ["./ranking.svg"] and page.all("img")[0]["alt"]
    assert {*hostile[:2], "Who leads?", "Nobody stated any."} <= {text.strip() for text in page.texts}
    leaderboard = Parsed((tmp_path / "site" / HOME).read_text())
    assert "./analyses/index.html" in [address for _, _, address in leaderboard.addresses]
    others = Parsed((tmp_path / "site" / "wikipedia-edits/2023Q2/index.html").read_text())
    assert not [address for _, _, address in others.addresses if "analyses" in address]


@pytest.mark.parametrize(("url", "draws", "picture"), [
    ("https://board.example.org/hf/", True, "https://board.example.org/hf/x-notes/share.png"),
    ("https://board.example.org", False, ""),
    ("", True, ""),
])  # fmt: skip
def test_pages_have_a_picture_for_previews_where_the_address_of_the_site_is_known(
    make_board: Callable[..., Workspace], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    url: str, draws: bool, picture: str,
) -> None:  # fmt: skip
    (tmp_path / "hellofresh.toml").write_text(f'[site]\nurl = "{url}"\n')
    monkeypatch.setenv("HELLOFRESH_CONFIG", str(tmp_path / "hellofresh.toml"))
    if not draws:
        monkeypatch.setattr("leaderboard.export.copy.find_spec", lambda _: None)
    copied = tmp_path / "copy"
    export_board(make_board(bundled=None).board, copied)
    page = (copied / "x-notes/2023Q2/index.html").read_text()
    said = dict(re.findall(r'<meta (?:property|name)="(og:url|og:image|twitter:card)" content="([^"]*)">', page))
    expected = {"og:url": f"{url.rstrip('/')}/x-notes/2023Q2/index.html"} if url else {}
    expected |= {"og:image": picture} if picture else {}
    assert said == {**expected, "twitter:card": "summary_large_image" if picture else "summary"}
    drawn = sorted(path.relative_to(copied).as_posix() for path in copied.rglob("*.png"))
    assert drawn == (["wikipedia-edits/share.png", "x-notes/share.png"] if picture else [])
    for path in drawn:
        content = (copied / path).read_bytes()
        assert content.startswith(b"\x89PNG") and content[16:24] == (1200).to_bytes(4) + (630).to_bytes(4)
