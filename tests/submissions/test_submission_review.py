"""A change of the submissions may bring or change one team's entries to an open quarter, and nothing else."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from hellofresh.core.errors import HelloFreshError
from hellofresh.core.quarters import utc_text
from hellofresh.submissions.changes import ChangeReport, check_changes, merged_at
from hellofresh.submissions.receipts import add_submission
from hellofresh.tasks.samples import MAIN

Look = Callable[..., ChangeReport]


def put(root: Path, path: str, content: bytes = b"x") -> None:
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)


@pytest.fixture
def root(tmp_path, due, hand_in, open_day) -> Path:
    """The folder that is changed; at first as it was before: a submission with its receipt, and the table of teams."""
    found = tmp_path / "before"
    add_submission(hand_in("acme/system", team="Acme"), due, found, open_day)
    put(found, "TEAMS.toml", b'[acme]\naccounts = ["Alice"]\n')
    put(found, "README.md")
    return shutil.copytree(found, tmp_path / "after")


@pytest.fixture
def look(root, due, open_day) -> Look:
    def run(*, author: str = "", moment=open_day, known=due) -> ChangeReport:
        def due_of(edition, split):
            if edition != due.edition or split is not MAIN:
                raise HelloFreshError("none", code="no-release")
            return known

        return check_changes(root, root.with_name("before"), due_of, author=author, moment=moment)

    return run


def codes(reviewed: ChangeReport) -> set[str]:
    return {fault.code for fault in reviewed.faults}


def test_faults_are_named_by_their_place_in_the_request(root, look, tmp_path) -> None:
    put(root, "2023Q2/beta/one/system.toml", b"nope")
    places = {fault.where for fault in look().faults}
    assert "submissions/2023Q2/beta/one/system.toml" in places
    assert not any("/tmp" in place or "hellofresh-" in place for place in places)


def test_with_a_receipt_it_counts(root, look, hand_in, due, open_day) -> None:
    labels = {key: n % 3 % 2 for n, key in enumerate(due.ids["x-notes"])}
    source = hand_in("beta/one", labels, team="Beta")
    add_submission(source, due, root, open_day)
    reviewed = look()
    assert (reviewed.faults, reviewed.warnings) == ([], [])
    assert reviewed.entries[0].tasks == ("x-notes: counts",)


@pytest.mark.parametrize(
    "path",
    [
        "README.md",
        "TEAMS.toml",
        "example/x.py",
        "2023Q2/acme/predictions.jsonl",
        "2023Q2/acme/system/deeper/predictions.jsonl",
        "2023Q2/acme/system/\npredictions.jsonl/x",
    ],
)
def test_a_file_outside_of_submissions_is_refused(root, look, path: str) -> None:
    put(root, path, b"other")
    assert codes(look()) == {"outside-submissions"}


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("2023Q2/acme/system/\npredictions.jsonl", "unknown-file"),
        ("2023Q2/acme/system/predictions.jsonl\n", "unknown-file"),
        ("2023Q2/acme/system/conftest.py", "unknown-file"),
        ("2023Q2/acme/system/predictions.csv", "unknown-file"),
        ("2023Q2/acme/sys\ntem/predictions.jsonl", "bad-folder"),
        ("2023Q2/Acme/system/predictions.jsonl", "bad-folder"),
        ("2023Q2/acme/con/system.toml", "bad-folder"),
        ("2023Q2/acmе/system/system.toml", "bad-folder"),  # noqa: RUF001 - Cyrillic
        ("2023Q5/acme/system/system.toml", "bad-quarter"),
        ("2023Q3/acme/system/system.toml", "no-release"),
    ],
)
def test_a_path_of_another_form_is_refused_in_printable_words(root, look, path: str, code: str) -> None:
    put(root, path)
    reviewed = look()
    assert codes(reviewed) == {code}
    assert all(str(fault).isprintable() and str(fault).isascii() for fault in reviewed.faults)


def test_links_and_programs_are_refused(root, look, tmp_path) -> None:
    put(root, "2023Q2/beta/one/predictions.jsonl")
    (root / "2023Q2/beta/one/predictions.jsonl").chmod(0o755)
    (root / "2023Q2/beta/one/system.toml").symlink_to("/etc/passwd")
    assert codes(look()) == {"not-a-file"}
    shutil.rmtree(root / "2023Q2/beta/one")
    (root / "2023Q2/beta/one").symlink_to(tmp_path)
    assert codes(look()) == {"outside-submissions"}


def test_nothing_of_a_closed_quarter_is_changed(root, look, due) -> None:
    put(root, "2023Q2/acme/system/system.toml", b"x")
    assert codes(look(moment=due.deadline)) == {"closed"}
    assert "closed" not in codes(look(moment=due.deadline - timedelta(seconds=1)))
    assert codes(look(moment=due.calendars["x-notes"].opens - timedelta(seconds=1))) == {"not-open"}


def test_nothing_of_a_revealed_quarter_is_changed_whatever_the_clock_says(root, look, due, open_day) -> None:
    put(root, "2023Q2/acme/system/system.toml", b"x")
    revealed = replace(due, revealed=frozenset({"x-notes"}))
    assert codes(look(moment=open_day, known=revealed)) == {"revealed"}


def test_a_rename_is_no_way_around(root, look, hand_in) -> None:
    (root / "2023Q2/beta").mkdir()
    (root / "2023Q2/acme/system").rename(root / "2023Q2/beta/system")
    assert "several-teams" in codes(look())


def test_a_removal_is_a_withdrawal_while_the_quarter_is_open_and_whole_or_none(root, look, due) -> None:
    folder = root / "2023Q2/acme/system"
    (folder / "receipt.json").unlink()
    assert codes(look()) == {"lost-receipt"}
    (folder / "predictions.jsonl").unlink()
    assert "missing-file" in codes(look())
    (folder / "system.toml").unlink()
    withdrawn = look()
    assert (withdrawn.faults, [entry.action for entry in withdrawn.entries]) == ([], ["withdrawn"])
    assert codes(look(moment=due.deadline)) == {"closed"}


def test_only_a_teams_own_accounts_change_its_folder(root, look, hand_in) -> None:
    hand_in("acme/other", root=root, team="Acme", name="Other")
    assert codes(look(author="alice")) == set()
    assert codes(look(author="mallory")) == {"other-team"}


def test_a_new_team_is_to_be_written_down(root, look, hand_in) -> None:
    hand_in("beta/one", root=root, team="Beta", name="Other")
    reviewed = look(author="mallory")
    assert codes(reviewed) == set()
    assert "new-team" in {warning.code for warning in reviewed.warnings}


def test_a_request_cannot_name_its_own_account_as_the_teams(root, look, hand_in) -> None:
    put(root, "TEAMS.toml", b'[acme]\naccounts = ["mallory"]\n')
    hand_in("acme/other", root=root, team="Acme", name="Other")
    assert codes(look(author="mallory")) == {"outside-submissions", "other-team"}


def test_a_look_alike_of_a_team_is_refused(root, look, hand_in) -> None:
    hand_in("beta/one", root=root, team="Асme", name="Other")  # noqa: RUF001 - Cyrillic
    assert codes(look()) == {"look-alike"}


def test_receipts_are_held_against_content_clock_and_history(root, look, due, hand_in, open_day) -> None:
    labels = {key: n % 3 % 2 for n, key in enumerate(due.ids["x-notes"])}
    hand_in("acme/system", labels, root=root, team="Acme")
    assert codes(look()) == {"altered"}
    (root / "2023Q2/acme/system/receipt.json").unlink()
    add_submission(root / "2023Q2/acme/system", due, root, open_day)
    assert codes(look()) == {"lost-receipt"}
    hand_in("acme/new", labels, root=root, team="Acme")
    add_submission(root / "2023Q2/acme/new", due, root, open_day + timedelta(seconds=1))
    assert codes(look()) == {"lost-receipt", "future-receipt"}


@pytest.mark.parametrize("change", ["backdated", "rewritten"])
def test_a_receipt_with_an_earlier_time_than_the_base_has_is_refused(
    root, look, due, hand_in, open_day, change: str
) -> None:
    """Of a team's entries the latest count, and of copies the first is the original: so times must not be chosen."""
    labels = {key: n % 3 % 2 for n, key in enumerate(due.ids["x-notes"])}
    add_submission(hand_in("acme/system", labels, team="Acme"), due, root, open_day)
    path = root / "2023Q2/acme/system/receipt.json"
    value = json.loads(path.read_text())
    assert codes(look()) == set()
    value["received"] = utc_text(open_day - timedelta(hours=1))
    if change == "rewritten":
        value["earlier"][0]["received"] = utc_text(open_day - timedelta(hours=2))
    path.write_text(json.dumps(value))
    assert ("bad-receipt" if change == "backdated" else "lost-receipt") in codes(look())


def test_too_many_files_are_not_looked_at(root, look) -> None:
    for number in range(201):
        put(root, f"2023Q2/beta/s{number}/system.toml")
    assert codes(look()) == {"too-many-files"}


def test_a_copy_is_flagged(root, look, hand_in) -> None:
    hand_in("beta/one", root=root, team="Beta")
    (entry,) = look().entries
    assert any("acme/system [same-labels]" in flag for flag in entry.flags)


BARE = """[core]
    repositoryformatversion = 0
    bare = false
    worktree = .
    fsmonitor = "touch {folder}/ran; false"
"""


def test_what_was_merged_in_time_gets_the_time_of_the_merge_and_not_the_claimed_one(tmp_path, hand_in) -> None:
    folder = tmp_path / "repository"
    folder.mkdir()

    def git(*arguments: str, at: str = "2023-07-01T00:00:00Z") -> None:
        environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1",
                       **{f"GIT_{who}_{what}": "a@a.example" for who in ("AUTHOR", "COMMITTER")
                          for what in ("NAME", "EMAIL")},
                       "GIT_COMMITTER_DATE": at, "GIT_AUTHOR_DATE": at}  # fmt: skip
        subprocess.run(["git", "-C", str(folder), *arguments], check=True, capture_output=True, env=environment)

    git("init", "--quiet", "--initial-branch", "main")
    git("commit", "--quiet", "--allow-empty", "--message", "base")
    git("switch", "--quiet", "--create", "request")
    handed = hand_in("beta/one", root=folder / "submissions", team="Beta")
    with pytest.raises(HelloFreshError, check=lambda error: error.code == "not-committed"):
        merged_at(handed)
    git("add", "--all")
    git("commit", "--quiet", "--message", "claimed", at="2023-08-01T00:00:00Z")
    git("switch", "--quiet", "main")
    git("merge", "--quiet", "--no-ff", "--no-edit", "request", at="2023-10-14T23:00:00+02:00")
    put(folder, "elsewhere")
    git("add", "--all")
    git("commit", "--quiet", "--message", "later", at="2023-12-01T00:00:00Z")
    assert utc_text(merged_at(handed)) == "2023-10-14T21:00:00Z"
    # A folder that is a bare repository with settings of its own runs none of their programs.
    for name, text in (("HEAD", "ref: refs/heads/main"), ("objects/one", ""), ("refs/one", ""), ("config", BARE)):
        (handed / name).parent.mkdir(exist_ok=True)
        (handed / name).write_text(text.format(folder=tmp_path))
    with pytest.raises(HelloFreshError, match="explicit"):
        merged_at(handed)
    assert not (tmp_path / "ran").exists()


def test_the_workflows_hold_no_secret_and_run_nobody_elses_code() -> None:
    for path in sorted((Path(__file__).parents[2] / ".github/workflows").iterdir()):
        text = path.read_text(encoding="utf-8")
        assert "pull_request_target" not in text
        assert "secrets." not in text
        used = set(re.findall(r"^\s*(?:- )?uses: *(\S+)", text, re.MULTILINE))
        # The workflow that looks at what strangers hand in uses nothing; the other keeps its screenshots.
        by_commit = {name for name in used if re.fullmatch(r"actions/upload-artifact@[0-9a-f]{40}", name)}
        assert used == (by_commit if path.name == "ci.yml" else set())
        assert re.search(r"^permissions:\n  contents: read\n\n", text, re.MULTILINE)
        scripts = re.findall(r"run: (\|\n(?: {10,}.*\n)+|.*)", text)
        assert scripts and all("${{" not in script for script in scripts)
