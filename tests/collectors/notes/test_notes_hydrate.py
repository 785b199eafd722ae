"""From a dump to a release without texts and back: who has the dump and the posts has the samples again."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from hellofresh.core.files import read_jsonl, sha256_file
from tests.conftest import Cli

PLACE, QUARTER = "2023Q2/x-notes", ("--quarter", "2023Q2")


class Released:
    """A release in its owner's workspace, whose public side is a reader's."""

    def __init__(self, dump: Any, place: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
        self.dump, self.cli, self.folder, self.patch = dump, cli, dump.write(), monkeypatch
        self.owner, self.reader = place / "owner", place / "reader"

    def __call__(self) -> Path:
        """Collect and release; gives the public samples."""
        self.patch.setenv("HELLOFRESH_DATA", str(self.owner))
        self.cli("collect", "x-notes", *QUARTER, "--dump", self.folder)
        self.cli("release", "build", *QUARTER)
        shutil.copytree(self.owner / "releases", self.reader / "releases")
        self.patch.setenv("HELLOFRESH_DATA", str(self.reader))
        return self.reader / "releases" / PLACE / "samples.jsonl"

    def hydrate(self, code: int = 0) -> Any:
        return self.cli.json("hydrate", *QUARTER, "--dump", self.dump.write(), code=code)

    @property
    def private(self) -> Path:
        return self.owner / "private" / PLACE / "samples.jsonl"

    @property
    def filled(self) -> Path:
        return self.reader / "hydrated" / PLACE / "samples.jsonl"


@pytest.fixture
def released(twelve: Any, place: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Released:
    return Released(twelve, place, cli, monkeypatch)


def test_the_same_dump_and_posts_give_the_owners_samples_byte_for_byte(released: Released) -> None:
    public = released().read_text()
    done = released.hydrate()
    assert (done["filled"], done["gone"], done["changed"], done["samples"]) == (12, [], [], 12)
    private = released.private.read_bytes()
    assert released.filled.read_bytes() == private
    assert b'Note 4 says \\"no\\" & why.' in private
    assert "says" not in public and "tower" not in public


def test_what_is_gone_and_what_has_changed_is_told_apart(released: Released) -> None:
    released()
    rows, posts = released.dump.rows["notes"], released.dump.posts
    del rows[0]
    rows[0]["summary"] = "Another text."
    posts[2]["text"] += " Edited."
    posts[3] = {"id_str": posts[3]["id_str"], "tombstone": {"text": {"text": "deleted"}}}
    posts[4]["note_tweet"] = {"id": "x"}
    posts[5] |= {"text": "The tower", "note_tweet": {"id": "x"}}
    del posts[6]
    done = released.hydrate(code=1)
    assert {item["id"]: item["why"] for item in done["changed"]} == {"xn-2": "note", "xn-3": "post"}
    assert {item["id"]: item["why"] for item in done["gone"]} == {
        "xn-1": "note: not in the dump",
        "xn-4": "post: deleted",
        "xn-6": "post: only its beginning",
        "xn-7": "post: unavailable",
    }
    assert sorted(row["id"] for row in read_jsonl(released.filled)) == [f"xn-{n}" for n in (10, 11, 12, 5, 8, 9)]


def test_gone_samples_alone_are_no_failure_and_the_rest_can_be_judged(released: Released, cli: Cli) -> None:
    released()
    evaluation = ["evaluate", *QUARTER, "--task", "x-notes", "--model", "always-yes"]
    assert "no-texts" in cli(*evaluation, code=1)
    del released.dump.posts[6:]
    assert released.hydrate()["filled"] == 6
    run = cli.json(*evaluation)
    assert (run["judged"], run["of"]) == (6, 12)


def test_a_switch_releases_texts(released: Released, place: Path) -> None:
    (place / "hellofresh.toml").write_text("[release]\nx_notes_texts = true\n")
    assert "The tower is 400 metres high!" in released().read_text()
    assert not released.private.exists()
    done = released.hydrate()
    assert (done["path"], done["filled"]) == (None, 12)


def test_ids_that_are_none_are_refused_before_anybody_is_asked(released: Released, cli: Cli) -> None:
    public = released()
    manifest, rows = public.with_name("manifest.json"), list(read_jsonl(public))
    for wrong in ("x", "007", "9" * 19, "1" * 20, "-1", "\u0661"):
        before = sha256_file(public)
        rows[0]["post"]["id"] = wrong
        public.write_text("".join(json.dumps(row, sort_keys=True, separators=(",", ":")) + "\n" for row in rows))
        manifest.write_text(manifest.read_text().replace(before, sha256_file(public)))
        cli("hydrate", *QUARTER, "--dump", released.folder, code=1)
        assert not (released.reader / "hydrated").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--dump", "nowhere"], "nowhere"),
        (["--dump", ".", "--posts-from", "twitter"], "unknown service of posts 'twitter'"),
        (["--dump", ".", "--posts-from", "api-v2,api-v2"], "several services of posts"),
    ],
)
def test_wrong_use_is_named(released: Released, cli: Cli, arguments: list[str], words: str) -> None:
    released()
    assert words in cli("hydrate", *QUARTER, *arguments, code=2)
