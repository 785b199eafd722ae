"""From a dump to a release without texts and back: who has the dump and the posts has the samples again."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from hellofresh.cli import main
from hellofresh.core.files import read_json, read_jsonl

PLACE = "2023Q2/x-notes"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder without settings; HELLOFRESH_DATA names its reader's workspace."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HELLOFRESH_CONFIG", raising=False)
    monkeypatch.setenv("HELLOFRESH_DATA", str(tmp_path / "reader"))
    return tmp_path


def release(folder: Path, here: Path, monkeypatch: pytest.MonkeyPatch, quarter: str = "2023Q2") -> Path:
    """Collect and release in the owner's workspace, and give the public side to the reader."""
    owner, reader = here / "owner", here / "reader"
    with monkeypatch.context() as patch:
        patch.setenv("HELLOFRESH_DATA", str(owner))
        assert main(["collect", "x-notes", "--quarter", quarter, "--dump", str(folder)]) == 0
        assert main(["release", "build", "--quarter", quarter]) == 0
    shutil.copytree(owner / "releases", reader / "releases")
    return owner


def hydrate(folder: Path, capsys: pytest.CaptureFixture[str], *more: str, quarter: str = "2023Q2") -> tuple[int, Any]:
    capsys.readouterr()
    code = main(["hydrate", "--quarter", quarter, "--dump", str(folder), "--json", *more])
    return code, json.loads(capsys.readouterr().out or "null")


def test_the_same_dump_and_posts_give_the_owners_samples_byte_for_byte(
    twelve: Any, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = twelve.write()
    owner = release(folder, here, monkeypatch)
    code, done = hydrate(folder, capsys)
    assert (code, done["filled"], done["gone"], done["changed"]) == (0, done["samples"], [], [])
    assert done["samples"] == 12
    private = (owner / "private" / PLACE / "samples.jsonl").read_bytes()
    assert (here / "reader" / "hydrated" / PLACE / "samples.jsonl").read_bytes() == private
    assert b'Note 4 says \\"no\\" & why.' in private
    public = (here / "reader" / "releases" / PLACE / "samples.jsonl").read_text()
    assert "says" not in public and "tower" not in public


def test_what_is_gone_and_what_has_changed_is_told_apart(
    twelve: Any, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = twelve.write()
    release(folder, here, monkeypatch)
    rows = twelve.rows["notes"]
    del rows[0]
    rows[0]["summary"] = "Another text."
    twelve.posts[2]["text"] += " Edited."
    twelve.posts[3] = {"id_str": twelve.posts[3]["id_str"], "tombstone": {"text": {"text": "deleted"}}}
    twelve.posts[4]["note_tweet"] = {"id": "x"}
    twelve.posts[5] |= {"text": "The tower", "note_tweet": {"id": "x"}}
    del twelve.posts[6]
    code, done = hydrate(twelve.write(), capsys)
    assert code == 1
    assert {item["id"]: item["why"] for item in done["changed"]} == {"xn-2": "note", "xn-3": "post"}
    assert {item["id"]: item["why"] for item in done["gone"]} == {
        "xn-1": "note: not in the dump",
        "xn-4": "post: deleted",
        "xn-6": "post: only its beginning",
        "xn-7": "post: unavailable",
    }
    kept = [row["id"] for row in read_jsonl(here / "reader" / "hydrated" / PLACE / "samples.jsonl")]
    assert sorted(kept) == ["xn-10", "xn-11", "xn-12", "xn-5", "xn-8", "xn-9"]


def test_gone_samples_alone_are_no_failure_and_the_rest_can_be_judged(
    twelve: Any, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = twelve.write()
    release(folder, here, monkeypatch)
    evaluation = ["evaluate", "--quarter", "2023Q2", "--task", "x-notes", "--model", "always-yes"]
    assert main(evaluation) == 1
    assert "no-texts" in capsys.readouterr().err
    del twelve.posts[6:]
    code, done = hydrate(twelve.write(), capsys)
    assert (code, done["filled"]) == (0, 6)
    assert main(evaluation) == 0
    (run,) = (here / "reader" / "runs").iterdir()
    assert (read_json(run / "run.json")["judged"], read_json(run / "run.json")["of"]) == (6, 12)


def test_a_switch_releases_texts(
    twelve: Any, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "hellofresh.toml").write_text("[release]\nx_notes_texts = true\n")
    folder = twelve.write()
    owner = release(folder, here, monkeypatch)
    assert "The tower is 400 metres high!" in (owner / "releases" / PLACE / "samples.jsonl").read_text()
    assert not (owner / "private" / PLACE / "samples.jsonl").exists()
    code, done = hydrate(folder, capsys)
    assert (code, done["path"], done["filled"]) == (0, None, 12)


@pytest.mark.parametrize("wrong", ["x", "007", "9" * 19, "1" * 20, "-1", "\u0661"])
def test_ids_that_are_none_are_refused_before_anybody_is_asked(
    twelve: Any, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], wrong: str
) -> None:
    folder = twelve.write()
    release(folder, here, monkeypatch)
    public = here / "reader" / "releases" / PLACE / "samples.jsonl"
    before = public.read_bytes()
    rows = list(read_jsonl(public))
    rows[0]["post"]["id"] = wrong
    content = "".join(json.dumps(row, sort_keys=True, separators=(",", ":")) + "\n" for row in rows).encode()
    manifest = public.with_name("manifest.json")
    hashes = [hashlib.sha256(part).hexdigest() for part in (before, content)]
    manifest.write_text(manifest.read_text().replace(*hashes))
    public.write_bytes(content)
    code, _ = hydrate(folder, capsys)
    assert code == 1
    assert not (here / "reader" / "hydrated").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--dump", "nowhere"], 2, "nowhere"),
        (["--dump", ".", "--posts-from", "twitter"], 2, "unknown service of posts 'twitter'"),
        (["--dump", ".", "--posts-from", "api-v2,api-v2"], 2, "named twice"),
    ],
)
def test_wrong_use_is_named(
    twelve: Any,
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    code: int,
    words: str,
) -> None:
    release(twelve.write(), here, monkeypatch)
    capsys.readouterr()
    assert main(["hydrate", "--quarter", "2023Q2", *arguments]) == code
    assert words in capsys.readouterr().err
