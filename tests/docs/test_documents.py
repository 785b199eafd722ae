"""The documents tell the truth: links lead somewhere, and commands and options exist."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest

from hellofresh.cli.arguments import command_line

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), ROOT / "submissions" / "README.md"])
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
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
    return [
        command.split("#")[0].split("&&")[0].strip()
        for command in _COMMAND.findall(document.read_text(encoding="utf-8").replace("import hellofresh as", "import"))
    ]


@pytest.mark.parametrize(
    "document",
    [path for path in DOCUMENTS if path.name != "CHANGELOG.md"],  # which names what was
    ids=lambda path: path.relative_to(ROOT).as_posix(),
)
def test_every_command_and_option_that_a_document_names_exists(document: Path) -> None:
    parser, faults = command_line(), []
    for command in _commands(document):
        # `quarter status|run` names two commands; `...` and options in brackets stand for more.
        words = re.sub(r"[\[\]]", " ", command).split()
        for first in words[0].split("|"):
            for second in words[1].split("|") if len(words) > 1 else [""]:
                found, _ = _subcommand(parser, [word for word in (first, second) if word])
                known = {option for action in found._actions for option in action.option_strings}
                wanted = {option.split("=")[0] for option in re.findall(r"(?<!\S)--[a-z][a-z-]*", " ".join(words))}
                if found is parser or not wanted <= known:
                    faults.append((command, sorted(wanted - known)))
    assert faults == []
