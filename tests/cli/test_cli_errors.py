"""What the command line says to wrong requests: one message, the right exit code, nothing written, no traceback."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hellofresh.cli import main
from hellofresh.runs.evaluation import OPTIONS
from tests.conftest import Cli

pytestmark = pytest.mark.usefixtures("place")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("evalute",), 2, "Did you mean 'evaluate'?"),
        (("evalute", "--model", "coin"), 2, "Did you mean 'evaluate'?"),
        (("release", "reveal"), 2, "'hellofresh release run' reveals what is due."),
        (("serve",), 2, "Did you mean 'board serve' or 'rate serve'?"),
        (("runs", "shw"), 2, "Did you mean 'show'?"),
        (("evaluate", "--quater", "2023Q2"), 2, "Did you mean --quarter?"),
        (("runs", "show", "--jsn"), 2, "Did you mean --json?"),
        (("--edition", "2026Q2", "score"), 2, "hellofresh score --edition 2026Q2"),
        (("compare", "absent.csv"), 2, "absent.csv does not exist; the current folder is"),
        (("dataset", "import", "publishers", "absent.csv"), 1, "absent.csv does not exist; the current folder is"),
        (("release", "run", "--yes"), 2, "unrecognized arguments: --yes. See"),
        (("score", "--edition", "2023Q2", "--chang", "a/b"), 2, "unrecognized arguments: --chang a/b. See"),
        (("evaluate", "--model", "coin", "--temp", "1"), 2, "Did you mean --temperature?"),
        (("release", "build", "--edition", "2023Q2"), 1, "hellofresh collect"),
        (("rate", "report", "--quarter", "2023Q2"), 1, "2023Q2"),
        (("board", "build", "all"), 2, "unrecognized arguments: all"),
        (("collect", "x-notes", "--quarter", "2023Q5", "--dump", "x"), 2, "a year and a quarter such as 2023Q2"),
        (("collect", "x-notes", "--quarter", "2023Q2", "--dump", "absent"), 2, "absent"),
        (("collect", "wikipedia-edits", "--quarter", "2008Q4", "--dump", "absent.xml"), 2, "absent.xml"),
        (("evaluate", "--quarter", "2023Q2", "--task", "x-note", "--model", "coin"), 2, "Did you mean 'x-notes'?"),
        (("evaluate", "--quarter", "2023Q2", "--task", "x-notes", "--model", "coin"), 1, "hellofresh release build"),
        (("evaluate", "--quarter", "2023Q2", "--task", "x-notes", "--model", "coin", "--limit", "0"), 2, "at least 1"),
        (
            ("evaluate", "--quarter", "2023Q2", "--task", "x-notes", "--model", "coin", "--regime", "zero"),
            2,
            "zero-shot",
        ),
        (("evaluate", "--quarter", "2023Q2", "--task", "x-notes", "--model", "coin", "--prompts", "man"), 2, "manual"),
        (("release", "build", "--quarter", "2023Q2"), 1, "hellofresh collect"),
        (("release", "run", "--quarter", "2019Q1"), 2, "2026Q2 or 2026Q3"),
        (("release", "run", "--models", "always-yes", "--limit", "0"), 2, "at least 1"),
        (("score", "--quarter", "2023Q2"), 1, "hellofresh release build"),
        (("board", "build"), 1, "hellofresh score"),
        (("submission", "check", "nowhere", "--quarter", "2023Q2"), 1, "no release of 2023Q2"),
        (("submission", "check", "nowhere"), 1, "no such file or folder"),
        (("evaluate",), 2, "missing: --model M (a name that 'hellofresh models' lists, or PROVIDER:NAME, such as"),
        (("evaluate", "gpt-4"), 2, "missing: --model M"),
        (("evaluate", "--model"), 2, "a value is missing: --model M"),
        (("evaluate", "--model", "openai"), 2, "--model openai:NAME --base-url"),
        (("evaluate", "--model", "gpt-4.1-mni"), 2, "Did you mean 'gpt-4.1-mini'?"),
        (("evaluate", "--model", "qwen3"), 2, "--model openai:qwen3 --base-url http://HOST:PORT/v1"),
        (("evaluate", "--model", "http://a:1/v1"), 2, "--model openai:NAME --base-url http://a:1/v1"),
        (("evaluate", "--model", "gpt-5"), 2, "--model openai:gpt-5"),
        (("respond", "--text", "x", "--model", "qwen3"), 2, "--model openai:qwen3"),
        (("prompts", "x-notes", "--rephrase", "qwen3", "--out", "p.toml"), 2, "--model openai:qwen3"),
        (
            ("models", "qwen3", "--base-url", "http://a:1/v1", "--check"),
            2,
            "--model openai:qwen3 --base-url http://a:1/v1",
        ),
        (
            ("evaluate", "--model", "coin", "--role", "summariser=q", "--base-url", "http://a:1/v1"),
            2,
            "write openai:q in place of q",
        ),
        (("dataset", "import", "liar", "--part", "absent"), 1, "absent does not exist"),
        (("release", "verify", "--known", "abc", "nowhere"), 2, "64 hexadecimal"),
        (("evaluate", "--model", "coin", "--limit", "ten"), 2, "'ten' is not a whole number: --limit N"),
        (("evaluate", "--model", "coin", "--budget", "5$"), 2, "'5$' is not a number: --budget USD"),
        (("evaluate", "--model", "coin", "--edition", "2026-Q2"), 2, "Did you mean 2026Q2?"),
        (("evaluate", "--model", "coin", "--edition", "Q2/2026"), 2, "Did you mean 2026Q2?"),
        (("evaluate", "--model", "coin", "--task", "X-notes"), 2, "Did you mean 'x-notes'?"),
        (("evaluate", "--model", "coin", "--task", "notes"), 2, "Did you mean 'x-notes'?"),
        (("evaluate", "--model", "openai:x", "--base-url", "ftp://a/v1"), 2, "http:// or https://"),
        (("evaluate", "--model", "gpt-4.1-mini", "--base-url", "http://a/v1"), 2, "is called openai:NAME"),
        (("score",), 2, "missing: --edition"),
        (("score", "--edition", "2026Q3"), 1, "hellofresh release build --quarter 2026Q3"),
        (("analyse", "all"), 2, "--edition, such as 2023Q2"),
        (("analyse", "rank", "--edition", "2023Q2"), 2, "Did you mean 'ranking'?"),
        (("board", "export"), 2, "missing: DIR (output folder"),
        (("runs", "export", "x"), 2, "missing: --format (jsonl or parquet: tables;"),
        (("dataset", "import", "fevr"), 2, "Did you mean 'fever'?"),
        (("corpus", "show", "nope"), 2, "hellofresh corpus import"),
        (("help",), 2, "hellofresh --help"),
        (("collect", "notes"), 2, "Did you mean 'x-notes'?"),
        (("collect", "wikipedia-edits", "--quarter", "2023Q2", "--kinds", "poetry"), 2, "poetry"),
        (("archive", "x-notes", "--date", "23.7.2026"), 2, "such as 2023-04-03"),
        (("archive", "x-notes", "--date", "2026-02-30"), 2, "2026-02-30: "),
        (("collect", "x-notes", "--quarter", "2026Q2"), 2, "--dump"),
        (("collect", "x-notes", "--quarter", "2026Q2", "--dump", "x", "--download"), 2, "two-sources"),
        (("collect", "x-notes", "--quarter", "2026Q2", "--dump", "x", "--ratings"), 2, "no-download"),
        (("release", "verify", "nowhere"), 2, "manifest.json"),
        (("release", "verify", "ftp://host/x"), 2, "https://HOST/PATH"),
        (("release", "verify", "--figure", "coin"), 2, "EDITION/TASK"),
        (("release", "verify", "--known", "abc"), 2, "64 hexadecimal"),
        (("release", "takedown", "xn-1"), 2, "--reason"),
        (("release", "takedown", "xn-1", "--reason", "x", "--gone"), 2, "--gone alone"),
        (("release", "takedown", "xn-1", "--reason", "x"), 2, "xn-1"),
        (("release", "takedown", "--gone"), 0, "Nothing to take down"),
    ],
)
def test_a_wrong_request_is_answered_with_what_to_do(
    arguments: tuple[str, ...], code: int, words: str, cli: Cli
) -> None:
    message = cli(*arguments, code=code)
    assert words in message
    assert "usage:" not in message  # fourteen lines of options are no answer


@pytest.mark.parametrize(("words", "verb"), [((), "evaluate"), (("runs",), "resume"), (("submission",), "check")])
def test_a_noun_alone_lists_what_can_follow(words: tuple[str, ...], verb: str, cli: Cli) -> None:
    cli(*words)
    assert f"    {verb} " in cli.out


def test_help_of_evaluate_has_every_field_under_a_title(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["evaluate", "--help"])
    shown = capsys.readouterr().out
    assert {field.flag_of(name) for name, field in OPTIONS.items()} <= {*re.findall(r"^  (--\S+)", shown, re.MULTILINE)}
    titles = re.findall(r"^([a-z][a-z, ]+):$", shown, re.MULTILINE)
    ours = ["options", "samples", "model, regime and prompts", "bounds", "result"]
    assert [title for title in titles if title != "further options"] == ours
    assert shown.count("\nhellofresh evaluate --") == 3


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="a folder that not even root can write to is /proc")
def test_an_unwritable_folder_is_named(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HELLOFRESH_DATA", "/proc/self/data")
    message = cli("release", "run", code=2)
    assert "HELLOFRESH_DATA" in message and "/proc/self/data" in message


def test_a_data_folder_that_is_a_file_is_named(cli: Cli, place: Path) -> None:
    (place / "data").write_text("not a folder")
    message = cli("release", "run", code=2)
    assert "HELLOFRESH_DATA" in message and str(place / "data") in message
