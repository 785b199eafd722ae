"""A pull request may bring or change one team's submissions to an open quarter, and nothing else, by no trick."""

from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import pytest

from hellofresh.cli.submission.review import markdown
from hellofresh.core.errors import HelloFreshError
from hellofresh.core.quarters import utc_text
from hellofresh.submissions import add_submission
from hellofresh.submissions.review.pull_request import ReviewReport, merged_at, review

ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "A",
    "GIT_AUTHOR_EMAIL": "a@a.example",
    "GIT_COMMITTER_NAME": "A",
    "GIT_COMMITTER_EMAIL": "a@a.example",
}


@dataclass
class Repository:
    """A repository with a base, on which a request is made."""

    folder: Path
    base: str = ""

    def git(self, *arguments: str, content: bytes | None = None) -> str:
        done = subprocess.run(
            ["git", "-C", str(self.folder), *arguments], input=content, capture_output=True, check=True, env=ENVIRONMENT
        )
        return done.stdout.decode().strip()

    def commit(self) -> str:
        self.git("add", "--all", "--force")
        self.git("commit", "--quiet", "--allow-empty", "--message", "x")
        return self.git("rev-parse", "HEAD")

    def put(self, path: str, content: bytes = b"x") -> None:
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)

    def put_object(self, mode: str, path: str, content: bytes = b"x") -> str:
        """Commit a path that no file system need take; gives the commit."""
        name = self.git("hash-object", "-w", "--stdin", content=content) if mode != "160000" else self.base
        self.git("update-index", "-z", "--index-info", content=f"{mode} {name}\t{path}\0".encode())
        tree = self.git("write-tree")
        return self.git("commit-tree", tree, "-p", self.base, "-m", "x")


@pytest.fixture
def repository(tmp_path, due, hand_in, open_day) -> Repository:
    """At the base: a submission with its receipt, the table of teams, and code."""
    found = Repository(tmp_path / "repository")
    found.folder.mkdir()
    found.git("init", "--quiet", "--initial-branch", "main")
    root = found.folder / "submissions"
    add_submission(hand_in("acme/system", team="Acme"), due, root, open_day)
    found.put("submissions/TEAMS.toml", b'[acme]\naccounts = ["Alice"]\n')
    found.put("submissions/README.md")
    found.put("hellofresh/code.py")
    found.base = found.commit()
    return found


@pytest.fixture
def look(repository, due, open_day):
    """Reviews what stands at a commit, the latest by default."""

    def run(head: str = "", *, author: str = "", moment=open_day, dues=None) -> ReviewReport:
        head = head or repository.commit()
        known = {due.edition: due} if dues is None else dues
        return review(repository.folder, repository.base, head, known, author=author, moment=moment)

    return run


def codes(reviewed: ReviewReport) -> set[str]:
    return {fault.code for fault in reviewed.faults}


def test_a_new_submission_passes_and_is_shown(repository, look, hand_in, due) -> None:
    labels = {key: n % 3 % 2 for n, key in enumerate(due.ids["x-notes"])}
    hand_in("beta/one", labels, root=repository.folder / "submissions", team="Beta")
    reviewed = look()
    assert reviewed.faults == ()
    (entry,) = reviewed.entries
    assert (entry.team, entry.system, entry.action, entry.tasks) == ("beta", "one", "new", ("x-notes: no receipt",))
    assert {warning.code for warning in reviewed.warnings} == {"no-receipt"}


def test_faults_are_named_by_their_place_in_the_request(repository, look, tmp_path) -> None:
    repository.put("submissions/2023Q2/beta/one/system.toml", b"nope")
    places = {fault.where for fault in look().faults}
    assert "submissions/2023Q2/beta/one/system.toml" in places
    assert not any("/tmp" in place or "hellofresh-" in place for place in places)


def test_with_a_receipt_it_counts(repository, look, hand_in, due, open_day) -> None:
    labels = {key: n % 3 % 2 for n, key in enumerate(due.ids["x-notes"])}
    source = hand_in("beta/one", labels, team="Beta")
    add_submission(source, due, repository.folder / "submissions", open_day)
    reviewed = look()
    assert (reviewed.faults, reviewed.warnings) == ((), ())
    assert reviewed.entries[0].tasks == ("x-notes: counts",)


def test_a_request_that_changes_nothing_has_no_fault(look) -> None:
    assert look() == ReviewReport((), (), ())


@pytest.mark.parametrize(
    "path",
    [
        "hellofresh/code.py",
        ".github/workflows/x.yml",
        "submissions/README.md",
        "submissions/TEAMS.toml",
        "submissions/example/x.py",
        "submissions/2023Q2/acme/predictions.jsonl",
        "submissions/2023Q2/acme/system/deeper/predictions.jsonl",
        "Submissions/2023Q2/acme/system/predictions.jsonl",
        "submissions/2023Q2/acme/system/\npredictions.jsonl/x",
    ],
)
def test_a_file_outside_of_submissions_is_refused(repository, look, path: str) -> None:
    repository.put(path, b"other")
    assert codes(look()) == {"outside-submissions"}


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("submissions/2023Q2/acme/system/\npredictions.jsonl", "unknown-file"),
        ("submissions/2023Q2/acme/system/predictions.jsonl\n", "unknown-file"),
        ("submissions/2023Q2/acme/system/conftest.py", "unknown-file"),
        ("submissions/2023Q2/acme/system/predictions.csv", "unknown-file"),
        ("submissions/2023Q2/acme/sys\ntem/predictions.jsonl", "bad-folder"),
        ("submissions/2023Q2/Acme/system/predictions.jsonl", "bad-folder"),
        ("submissions/2023Q2/acme/con/system.toml", "bad-folder"),
        ("submissions/2023Q2/acmе/system/system.toml", "bad-folder"),  # noqa: RUF001 - Cyrillic
        ("submissions/2023Q5/acme/system/system.toml", "bad-quarter"),
        ("submissions/2023Q3/acme/system/system.toml", "no-release"),
    ],
)
def test_a_path_of_another_form_is_refused_in_printable_words(repository, look, path: str, code: str) -> None:
    reviewed = look(repository.put_object("100644", path))
    assert codes(reviewed) == {code}
    assert all(str(fault).isprintable() and str(fault).isascii() for fault in reviewed.faults)


@pytest.mark.parametrize("mode", ["120000", "100755", "160000"])
def test_links_programs_and_repositories_are_refused(repository, look, mode: str) -> None:
    head = repository.put_object(mode, "submissions/2023Q2/beta/one/predictions.jsonl", b"/etc/passwd")
    assert codes(look(head)) == {"not-a-file"}


def test_a_path_that_climbs_out_reaches_no_file(repository, look, tmp_path) -> None:
    # git itself refuses such paths in an index, so the tree is written by hand
    blob = repository.git("hash-object", "-w", "--stdin", content=b"x")
    tree = repository.git("rev-parse", f"{repository.base}^{{tree}}")
    for name in ("system.toml", *("one", "..", "2023Q2", "submissions")):
        kind, mode, target = ("blob", "100644", blob) if name == "system.toml" else ("tree", "040000", tree)
        tree = repository.git("mktree", content=f"{mode} {kind} {target}\t{name}\n".encode())
    head = repository.git("commit-tree", tree, "-p", repository.base, "-m", "x")
    before = sorted(tmp_path.rglob("*.toml"))
    assert "bad-folder" in codes(look(head))
    assert sorted(tmp_path.rglob("*.toml")) == before


def test_nothing_of_a_closed_quarter_is_changed(repository, look, due) -> None:
    repository.put("submissions/2023Q2/acme/system/system.toml", b"x")
    head = repository.commit()
    assert codes(look(head, moment=due.deadline)) == {"closed"}
    assert "closed" not in codes(look(head, moment=due.deadline - timedelta(seconds=1)))
    assert codes(look(head, moment=due.calendars["x-notes"].opens - timedelta(seconds=1))) == {"not-open"}


def test_nothing_of_a_revealed_quarter_is_changed_whatever_the_clock_says(repository, look, due, open_day) -> None:
    repository.put("submissions/2023Q2/acme/system/system.toml", b"x")
    revealed = replace(due, revealed=frozenset({"x-notes"}))
    assert codes(look(moment=open_day, dues={due.edition: revealed})) == {"revealed"}


def test_a_rename_is_no_way_around(repository, look, hand_in) -> None:
    (repository.folder / "submissions/2023Q2/beta").mkdir()
    (repository.folder / "submissions/2023Q2/acme/system").rename(repository.folder / "submissions/2023Q2/beta/system")
    assert "several-teams" in codes(look())


def test_a_removal_is_a_withdrawal_while_the_quarter_is_open_and_whole_or_none(repository, look, due) -> None:
    folder = repository.folder / "submissions/2023Q2/acme/system"
    (folder / "receipt.json").unlink()
    assert codes(look()) == {"lost-receipt"}
    (folder / "predictions.jsonl").unlink()
    assert "missing-file" in codes(look())
    (folder / "system.toml").unlink()
    head = repository.commit()
    withdrawn = look(head)
    assert (withdrawn.faults, [entry.action for entry in withdrawn.entries]) == ((), ["withdrawn"])
    assert codes(look(head, moment=due.deadline)) == {"closed"}


def test_only_a_teams_own_accounts_change_its_folder(repository, look, hand_in) -> None:
    hand_in("acme/other", root=repository.folder / "submissions", team="Acme", name="Other")
    head = repository.commit()
    assert codes(look(head, author="alice")) == set()
    assert codes(look(head, author="mallory")) == {"other-team"}


def test_a_new_team_is_to_be_written_down(repository, look, hand_in) -> None:
    hand_in("beta/one", root=repository.folder / "submissions", team="Beta", name="Other")
    reviewed = look(author="mallory")
    assert codes(reviewed) == set()
    assert "new-team" in {warning.code for warning in reviewed.warnings}


def test_a_request_cannot_name_its_own_account_as_the_teams(repository, look, hand_in) -> None:
    repository.put("submissions/TEAMS.toml", b'[acme]\naccounts = ["mallory"]\n')
    hand_in("acme/other", root=repository.folder / "submissions", team="Acme", name="Other")
    assert codes(look(author="mallory")) == {"outside-submissions", "other-team"}


def test_a_look_alike_of_a_team_is_refused(repository, look, hand_in) -> None:
    hand_in("beta/one", root=repository.folder / "submissions", team="Асme", name="Other")  # noqa: RUF001 - Cyrillic
    assert codes(look()) == {"look-alike"}


def test_receipts_are_held_against_content_clock_and_history(repository, look, due, hand_in, open_day) -> None:
    root = repository.folder / "submissions"
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
    repository, look, due, hand_in, open_day, change: str
) -> None:
    """Of a team's entries the latest count, and of copies the first is the original: so times must not be chosen."""
    root = repository.folder / "submissions"
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


def test_what_is_too_large_is_not_read(repository, look) -> None:
    repository.put("submissions/2023Q2/beta/one/system.toml", b"x" * 20_000)
    assert "too-large" in codes(look())


def test_too_many_files_are_not_looked_at(repository, look) -> None:
    for number in range(201):
        repository.put(f"submissions/2023Q2/beta/s{number}/system.toml")
    assert codes(look()) == {"too-many-files"}


def test_a_copy_is_flagged(repository, look, hand_in) -> None:
    hand_in("beta/one", root=repository.folder / "submissions", team="Beta")
    (entry,) = look().entries
    assert any("acme/system [same-labels]" in flag for flag in entry.flags)


@pytest.mark.parametrize("base", ["nowhere", "--output=/tmp/x", "HEAD; ls"])
def test_a_name_that_is_no_commit_is_refused(repository, base: str, due) -> None:
    with pytest.raises(HelloFreshError) as caught:
        review(repository.folder, base, "HEAD", {due.edition: due})
    assert caught.value.code == "no-commit"
    assert repr(base) in str(caught.value)


def test_a_request_without_history_in_common_is_refused_with_the_reason(repository, due) -> None:
    tree = repository.git("write-tree")
    stranger = repository.git("commit-tree", tree, "-m", "of nowhere")
    with pytest.raises(HelloFreshError) as caught:
        review(repository.folder, repository.base, stranger, {due.edition: due})
    assert caught.value.code == "unrelated-history"
    for part in (repository.base[:12], stranger[:12], "no history in common", "git fetch --unshallow"):
        assert part in str(caught.value)


def test_the_preview_shows_what_was_handed_in_as_text_only(repository, look, hand_in) -> None:
    name = "a_b *c* [d](e) &amp; ~f~ #1"
    hand_in("beta/one", root=repository.folder / "submissions", team="Beta &lt; @all", name="x")
    path = repository.folder / "submissions/2023Q2/beta/one/system.toml"
    path.write_text(path.read_text().replace('"x"', f'"{name}"').replace("](e)", "] (e)"))
    repository.put("submissions/2023Q2/<b>|x\n## y/z/system.toml")
    text = markdown(look())
    rows = [line for line in text.splitlines() if line.startswith("| 2023Q2")]
    assert len(rows) == 1
    shown = re.sub(r"&#\d+;", "", text)
    for sign in ("*c", "[d", "<b>", "@all", "&amp;", "&lt;", "~f", "## y"):
        assert sign not in shown
    assert all(line == line.strip() and line.isprintable() for line in text.splitlines())


def commit_at(repository: Repository, moment: str, *arguments: str) -> None:
    environment = ENVIRONMENT | {"GIT_COMMITTER_DATE": moment, "GIT_AUTHOR_DATE": moment}
    subprocess.run(["git", "-C", str(repository.folder), *arguments], check=True, capture_output=True, env=environment)


def test_what_was_merged_in_time_gets_the_time_of_the_merge_and_not_the_claimed_one(repository, hand_in) -> None:
    folder = repository.folder / "submissions/2023Q2/beta/one"
    repository.git("switch", "--quiet", "--create", "request")
    hand_in("beta/one", root=repository.folder / "submissions", team="Beta")
    with pytest.raises(HelloFreshError) as caught:
        merged_at(folder)
    assert caught.value.code == "not-committed"
    repository.git("add", "--all")
    commit_at(repository, "2023-08-01T00:00:00Z", "commit", "--quiet", "--message", "claimed")
    repository.git("switch", "--quiet", "main")
    commit_at(repository, "2023-10-14T23:00:00+02:00", "merge", "--quiet", "--no-ff", "--no-edit", "request")
    repository.put("elsewhere")
    repository.git("add", "--all")
    commit_at(repository, "2023-12-01T00:00:00Z", "commit", "--quiet", "--message", "later")
    assert utc_text(merged_at(folder)) == "2023-10-14T21:00:00Z"


def test_the_workflows_hold_no_secret_and_run_nobody_elses_code(root) -> None:
    for path in sorted((root / ".github/workflows").iterdir()):
        text = path.read_text(encoding="utf-8")
        assert "pull_request_target" not in text
        assert "secrets." not in text
        used = set(re.findall(r"^\s*(?:- )?uses: *(\S+)", text, re.MULTILINE))
        # The workflow that looks at what strangers hand in uses nothing; the other keeps its screenshots.
        assert used <= ({"actions/upload-artifact@v4"} if path.name == "ci.yml" else set())
        assert re.search(r"^permissions:\n  contents: read\n\n", text, re.MULTILINE)
        scripts = re.findall(r"run: (\|\n(?: {10,}.*\n)+|.*)", text)
        assert scripts and all("${{" not in script for script in scripts)
