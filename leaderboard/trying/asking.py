"""Running `hellofresh respond` for the page Try: what is typed becomes arguments, never a command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

GIVEN = "HELLOFRESH_TRY_OPTIONS"
"""Variable with the options that every command gets, as a JSON list; what is chosen on the page goes before them."""
MOST_CHARACTERS = 20_000
_STEP = "step: "


@dataclass(frozen=True, slots=True)
class TriedPost:
    """What somebody typed and chose on the page.

    Attributes:
        text: of the post.
        date: when it was posted, empty for now.
        model: who responds.
        pictures: files of pictures.
        settings: of the regime, each as NAME=VALUE.
    """

    text: str
    date: str = ""
    model: str = ""
    pictures: tuple[bytes, ...] = ()
    settings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Answered:
    """What the command printed: its result, or what went wrong."""

    result: dict[str, object] | None
    problem: str = ""


def ask(post: TriedPost, tell: Callable[[str], None], *, command: Sequence[str] | None = None) -> Answered:
    """Run the command, telling each step as it begins.

    Args:
        post: what is asked.
        tell: given each step.
        command: the program, for tests.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        arguments = [_passable(argument) for argument in _arguments(post, folder)]
        program = command or (sys.executable, "-m", "hellofresh", "respond")
        with (folder / "out").open("w+b") as out:
            process = subprocess.Popen(  # noqa: S603 - our own module; what was typed stands behind `=`
                [*program, *arguments], stdout=out, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL
            )
            try:
                said = _follow(process, tell)
            finally:
                process.terminate()  # where the visitor has left; answers so far are kept
                code = process.wait()
            out.seek(0)
            printed = out.read()
    return _read(code, printed, said)


def _arguments(post: TriedPost, folder: Path) -> list[str]:
    arguments = [*json.loads(os.environ.get(GIVEN) or "[]"), "--json", f"--text={post.text[:MOST_CHARACTERS]}"]
    arguments += [f"--date={post.date}"] if post.date else []
    arguments += [f"--model={post.model}"] if post.model else []
    for number, content in enumerate(post.pictures):
        path = folder / f"picture-{number}"
        path.write_bytes(content)
        arguments.append(f"--image={path}")
    return arguments + [f"--set={setting}" for setting in post.settings]


def _passable(argument: str) -> str:
    """An argument without what no program can be told: zero characters, and halves of surrogate pairs."""
    return argument.replace("\0", "").encode("utf-8", "replace").decode()


def _follow(process: subprocess.Popen[bytes], tell: Callable[[str], None]) -> list[str]:
    """Read what the command says until it ends; gives what is no step."""
    assert process.stderr is not None
    others = []
    with process.stderr as lines:
        for raw in lines:
            line = raw.decode("utf-8", "replace").strip()
            if line.startswith(_STEP):
                tell(line.removeprefix(_STEP))
            elif line:
                others.append(line)
    return others


def _read(code: int, printed: bytes, said: Sequence[str]) -> Answered:
    try:
        result = json.loads(printed)
    except ValueError:
        result = None
    if code != 0 or not isinstance(result, dict):
        return Answered(None, "\n".join(said[-5:]) or f"The command ended with status {code}.")
    return Answered(result)
