"""The documents tell the truth: links lead somewhere, commands and options exist, tour and tutorial run."""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from hellofresh.cli import main
from hellofresh.cli.arguments import command_line
from hellofresh.cli.arguments.parser import CommandParser
from hellofresh.results.analyses import ANALYSES

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), ROOT / "submissions" / "README.md"])
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
PARSER = command_line()
PRODUCT = [path.name for path in sorted(ROOT.iterdir()) if (path / "__init__.py").is_file() and path.name != "tests"]
NO_COMMANDS = ("as hf", "static copy", "sample participant")
"""What follows `hellofresh` in constants of the product that are not commands."""
_IN_TEXT = re.compile(r"(?<![\w./-])hellofresh ([a-z][^`'\"\n.;,():]*)")
_COMMAND = re.compile(r"(?:^|[`\s/])hellofresh ([a-z][^`\n]*)")


def _anchors(path: Path) -> set[str]:
    """As the usual hosts make them of headings: lower case, punctuation gone, spaces as hyphens."""
    headings = re.findall(r"^#+ (.*)$", _FENCE.sub("", path.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_relative_link_and_anchor_leads_somewhere(document: Path) -> None:
    broken = []
    for target in _LINK.findall(_FENCE.sub("", document.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        path = (document.parent / name) if name else document
        if not path.exists() or (anchor and anchor not in _anchors(path)):
            broken.append(target)
    assert broken == []


def _subcommand(parser: argparse.ArgumentParser, words: list[str]) -> tuple[argparse.ArgumentParser, list[str]]:
    """The parser of the longest command that the words begin with, and the words after it."""
    while words:
        nouns = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
        choices = nouns[0].choices if nouns else {}
        if words[0] not in choices:
            break
        parser, words = choices[words[0]], words[1:]
    return parser, words


def _commands(document: Path) -> list[str]:
    text = document.read_text(encoding="utf-8").replace("import hellofresh as", "import")
    (nouns,) = (action.choices for action in PARSER._actions if isinstance(action, argparse._SubParsersAction))
    short = [
        command for command in re.findall(r"`([a-z]+ [^`\n]+)`", text) if command.split()[0] in {*nouns} - {"collect"}
    ]
    return [command.split("#")[0].split("&&")[0].strip() for command in [*_COMMAND.findall(text), *short]]


@pytest.mark.parametrize(
    "document",
    [path for path in DOCUMENTS if path.name != "CHANGELOG.md"],  # which names what was
    ids=lambda path: path.relative_to(ROOT).as_posix(),
)
def test_every_command_and_option_that_a_document_names_exists(document: Path) -> None:
    faults = {command: wrong for command in _commands(document) if (wrong := _unknown(command))}
    assert faults == {}


def _unknown(command: str) -> list[str]:
    """What in a command, as written after `hellofresh`, the command line does not know."""
    # `quarter status|run` names two commands; `...` and options in brackets stand for more.
    words = re.sub(r"[\[\],]", " ", command).split()
    wanted = {option.split("=")[0] for option in re.findall(r"(?<!\S)--[a-z][a-z-]*", " ".join(words))}
    unknown = []
    for first in words[0].split("|"):
        for second in words[1].split("|") if len(words) > 1 else [""]:
            chosen = [word for word in (first, second) if word]
            found, rest = _subcommand(PARSER, chosen)
            verbs = [action for action in found._actions if isinstance(action, argparse._SubParsersAction)]
            if found is PARSER or (verbs and rest and rest[0].islower()):
                unknown.append(" ".join(chosen))
            several = [found, *verbs[0].choices.values()] if verbs and rest else [found]  # `collect TASK`
            known = {option for one in several for action in one._actions for option in action.option_strings}
            known |= {"--json"} | ({"--submissions"} if "submissions_belong" in found._defaults else set())
            unknown += sorted(wanted - known)
            if isinstance(found, CommandParser) and found.variants and rest and rest[0].islower():
                unknown += sorted({rest[0]} - found.variants.handlers.keys())
    return unknown


@pytest.mark.parametrize("person", ["fact-checkers", "maintainers"])
def test_the_page_of_each_person_is_short_and_leads_on(person: str) -> None:
    text = (ROOT / "docs" / f"for-{person}.md").read_text(encoding="utf-8")
    assert len(text.split()) <= 800 and len(_LINK.findall(text)) >= 4
    assert f"for-{person}.md" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_all_pages_can_be_read_in_an_afternoon() -> None:
    """Words of all pages but the changelog, which nobody reads in order; and of README and docs with bars of tables."""
    pages = {path: path.read_text(encoding="utf-8") for path in DOCUMENTS if path.name != "CHANGELOG.md"}
    assert sum(len(re.findall(r"\S*\w\S*", page)) for page in pages.values()) <= 36_000
    front = [page for path, page in pages.items() if path.parent.name == "docs" or path == ROOT / "README.md"]
    assert sum(len(page.split()) for page in front) <= 33_000


def _texts(module: Path) -> Iterator[str]:
    """The string constants of a module, with {} in place of what is filled in."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    parts = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts |= set(map(id, node.values))
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            yield node.value


@pytest.mark.parametrize("package", PRODUCT)
def test_every_command_and_option_that_a_message_names_exists(package: str) -> None:
    modules = (ROOT / package).rglob("*.py")
    named = [(path, command) for path in modules for text in _texts(path) for command in _IN_TEXT.findall(text)]
    commands = [(path, command) for path, command in named if not command.startswith(NO_COMMANDS)]
    faults = {
        f"{path.relative_to(ROOT)}: {command}": wrong for path, command in commands if (wrong := _unknown(command))
    }
    assert faults == {}


@pytest.mark.parametrize("package", PRODUCT)
def test_no_message_says_make_which_only_a_clone_has(package: str) -> None:
    for module in (ROOT / package).rglob("*.py"):
        tree = ast.parse(module.read_text(encoding="utf-8"))
        notes = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings
        said = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in notes]
        assert not [text for text in said if re.search(r"\bmake (release|leaderboard|install|docs|space)\b", str(text))]


_ROW = re.compile(r"^\| (?!component|table|figure|headline|---)(.+?) \| (.+?) \| (.+?) \|(?: (.+?) \|)?$", re.M)


def test_every_row_of_the_map_of_papers_is_a_command_that_parses_or_says_why_not_and_names_tests_that_exist() -> None:
    whole = (ROOT / "docs/papers.md").read_text(encoding="utf-8")
    rows = _ROW.findall(whole.split("## HelloFresh")[1].split("On data of the package")[0])
    assert len(rows) > 55
    for name, command, *rest in rows:
        for path in re.findall(r"`((?:tests|benchmarks)/[\w/.]+)`", " ".join(rest)):
            assert (ROOT / path).exists(), (name, path)
        assert "`" in command or (command == "none" and rest[0].startswith("no")) or rest[0].startswith("`"), name
        for typed in re.findall(r"`([^`]+)`", f"{command} {rest[0]}"):
            first, _, more = typed.partition(" ")
            if first == "hellofresh":
                assert not _unknown(more), typed
            elif first == "evaluate":
                PARSER.parse_args(
                    ["evaluate", "--edition", "2026Q2", "--task", "x-notes", "--model", "M", *more.split()]
                )
            elif first == "analyse":
                assert PARSER.parse_args([first, more]).name in {"agents", *ANALYSES}, typed


# --- The commands of docs/tour.md and docs/papers.md, typed: every line of output that they show is printed.


@pytest.mark.parametrize(("page", "least"), [("tour", 25), pytest.param("papers", 8, marks=pytest.mark.slow)])
def test_a_page_shows_what_its_commands_print(
    page: str,
    least: int,
    root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HELLOFRESH_DATA", "data")
    for folder in ("docs", "collectors"):
        (tmp_path / folder).symlink_to(root / folder)
    blocks = re.findall(r"^```\n(\$ .*?)^```", (root / f"docs/{page}.md").read_text(encoding="utf-8"), re.S | re.M)
    shown, missing = 0, []
    for part in re.split(r"^\$ ", "".join(blocks), flags=re.M)[1:]:
        command, *lines = part.splitlines()
        config, _, typed = command.partition("hellofresh ")
        monkeypatch.setenv("HELLOFRESH_CONFIG", config.strip().partition("=")[2])
        assert main(shlex.split(typed)) == 0
        printed = " ".join("".join(capfd.readouterr()).split())
        # What is left out stands as three dots, at an end of a line or before its last cell.
        pieces = [" ".join(piece.split()) for line in lines for piece in line.removeprefix("...").split(" ...")]
        shown += len(pieces)
        missing += [piece for piece in pieces if piece.strip(". ") and piece not in printed]
    assert shown >= least
    assert missing == []


# --- The tutorial runs from its first cell to its last, and is stored without outputs.


_EXECUTE = """
import json, sys
import nbformat
from nbclient import NotebookClient

notebook = nbformat.read(sys.argv[1], as_version=4)
NotebookClient(notebook, timeout=800, kernel_name="python3", resources={"metadata": {"path": sys.argv[2]}}).execute()
print(json.dumps([[output for output in cell.get("outputs", [])] for cell in notebook.cells]))
"""


def test_it_is_stored_without_outputs(root: Path) -> None:
    cells = json.loads((root / "docs/tutorial.ipynb").read_text())["cells"]
    kept = [cell for cell in cells if cell["cell_type"] == "code" and (cell["outputs"] or cell["execution_count"])]
    assert cells and not kept


def test_every_cell_runs_and_shows_what_it_promises(root: Path, tmp_path: Path, needed) -> None:
    needed(find_spec("nbclient") is not None and find_spec("ipykernel") is not None, "what runs notebooks")
    environment = {
        **os.environ, "PYTHONPATH": str(root), "HOME": str(tmp_path), "TMPDIR": str(tmp_path),
        "PYTHONWARNINGS": "ignore", "JUPYTER_PLATFORM_DIRS": "1",
    }  # fmt: skip
    command = [sys.executable, "-c", _EXECUTE, str(root / "docs/tutorial.ipynb"), str(tmp_path)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment, timeout=850)
    assert done.returncode == 0, done.stderr[-3000:]
    outputs = [output for cell in json.loads(done.stdout) for output in cell]
    assert not [output for output in outputs if output["output_type"] == "error"]
    shown = json.dumps(outputs)
    for words in ("86 samples, labels are public", " samples answered, cost", "95% interval", "no faults"):
        assert words in shown, words
    kinds = {kind for output in outputs for kind in output.get("data", {})}
    assert {"text/html", "image/svg+xml", "application/vnd.vegalite.v6+json"} <= kinds
    assert "<progress" in shown  # evaluated within the notebook's own event loop
    assert "TqdmWarning" not in shown and "ipywidgets" not in shown
