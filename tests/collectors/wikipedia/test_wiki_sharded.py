"""A collection in shards, by any executor and alone is the same to the byte; a merge needs all shards of one whole."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from collectors.wikipedia import merge_shards, write_shard
from collectors.wikipedia.collect import collect
from collectors.wikipedia.stability import EditsSettings
from hellofresh.cli import main
from hellofresh.core.errors import SourceError, UsageError
from hellofresh.core.executors import named_pool
from hellofresh.core.quarters import Quarter
from hellofresh.core.shards import shard_files
from hellofresh.core.workspace import Workspace

QUARTER = Quarter(2026, 2)
WORDS = "A mill stood on the river for many years, and its wheel turned day and night while the miller slept."


@pytest.fixture
def folder(wiki, tmp_path):
    """Five files; one page is cut into two of them."""
    place = tmp_path / "dump"
    place.mkdir()
    for page in range(1, 6):
        later = f"{WORDS} It was built of stone that came from the hills beyond the town."
        texts = [f"{WORDS}\n\nOne.", *(f"{later}\n\nNumber {n}." for n in range(3 + page)), f"{later} {WORDS}\n\nEnd."]
        shift = 100 * page
        history = [r._replace(id=r.id + shift, parent=r.parent and r.parent + shift) for r in wiki.history(texts)]
        if page == 3:
            for piece in (history[:3], history[3:]):
                xml = wiki.page_xml(f"P{page}", piece, id_=page)
                wiki.write(place / f"w-2026-07-01-p{page}r{piece[0].id}r{piece[-1].id}.xml", xml)
        else:
            wiki.write(place / f"w-2026-07-01-p{page}p{page}.xml", wiki.page_xml(f"P{page}", history, id_=page))
    return place


def quiet(_):
    pass


def shard(folder, dump, number, of=3, quarter=QUARTER, settings=None):
    settings = settings or EditsSettings()
    return write_shard(folder, (number, of), quarter, [dump], settings, progress=quiet, pending=True)


def merged(folder, settings=None):
    return merge_shards(shard_files(folder, "collect"), QUARTER, settings or EditsSettings(), pending=True)


@pytest.mark.parametrize("of", [1, 3, 9])
def test_shards_merge_to_what_one_machine_finds(folder, tmp_path, of):
    alone = collect(QUARTER, [folder], EditsSettings(), pending=True)
    assert alone.candidates and alone.pending
    for number in range(of, 0, -1):
        shard(tmp_path / "shards", folder, number, of)
    assert merged(tmp_path / "shards") == alone


def spoil(place, **changes):
    path = place / "shard.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize(
    ("spoiled", "code"),
    [
        (lambda run: run.missing.unlink(), "missing-shard"),
        (lambda run: spoil(run.place, quarter="2026Q1"), "other-shard"),
        (lambda run: spoil(run.place, of=4), "other-shard"),
        (lambda run: spoil(run.place, pending=False), "other-shard"),
        (lambda run: spoil(run.place, parameters={"max_paragraphs": 9}), "other-shard"),
        (lambda run: spoil(run.place, source={"other.xml": 5}), "other-shard"),
        (lambda run: spoil(run.place, version=2), "other-shard"),
        (lambda run: spoil(run.place, number=1), "missing-shard"),
        (lambda run: spoil(run.place, units=[]), "bad-shard"),
        (lambda run: spoil(run.place, units=5), "bad-shard"),
        (lambda run: (run.place / "pending.jsonl").write_text("{}\n"), "bad-shard"),
    ],
)
def test_a_merge_of_what_is_not_one_whole_is_refused(folder, tmp_path, spoiled, code):
    class Run:
        place = shard(tmp_path / "shards", folder, 2)
        missing = shard(tmp_path / "shards", folder, 1) / "shard.json"

    shard(tmp_path / "shards", folder, 3)
    spoiled(Run)
    with pytest.raises(SourceError, check=lambda error: error.code == code):
        merged(tmp_path / "shards")


def test_a_merge_has_the_settings_of_the_command(folder, tmp_path):
    place = shard(tmp_path / "shards", folder, 1, 1)
    with pytest.raises(SourceError, match="another parameters: whole_paragraphs"):
        merged(tmp_path / "shards", EditsSettings(whole_paragraphs=True))
    spoil(place, parameters={})
    with pytest.raises(SourceError, match=r"another parameters: \w"):
        merged(tmp_path / "shards")


def test_a_page_in_two_shards_is_refused(folder, tmp_path, wiki):
    extra = wiki.write(folder / "zz.xml", wiki.page_xml("P1", wiki.history([WORDS]), id_=1))
    for number in (1, 2, 3):
        shard(tmp_path / "shards", folder, number)
    with pytest.raises(SourceError, match="page 1 is also in") as caught:
        merged(tmp_path / "shards")
    assert caught.value.where == extra.name


def test_the_commands_collect_shards_and_merge_them(folder, tmp_path, monkeypatch):
    base = ["collect", "wikipedia-edits", "--quarter", str(QUARTER), "--pending"]
    tables = {}
    for name in ("alone", "shards"):
        monkeypatch.setenv("HELLOFRESH_DATA", str(tmp_path / name))
        if name == "alone":
            assert main([*base, "--dump", str(folder)]) == 0
        else:
            assert main([*base, "--merge"]) != 0
            for number in (1, 2):
                assert main([*base, "--dump", str(folder), "--shard", f"{number}/2"]) == 0
            assert main([*base, "--merge"]) == 0
        workspace = Workspace(tmp_path / name)
        places = (workspace.candidates, workspace.pending, workspace.collection)
        tables[name] = [place("wikipedia-edits", QUARTER).read_bytes() for place in places]
    assert tables["alone"] == tables["shards"]


@pytest.mark.parametrize(
    "options",
    [
        ["--shard", "4/3"],
        ["--shard", "0/3"],
        ["--shard", "x"],
        ["--shard", "1/2"],
        ["--merge", "--shard", "1/2"],
        ["--cluster", "tcp://127.0.0.1:1", "--executor", "os:x"],
    ],
)
def test_senseless_shards_are_refused(folder, tmp_path, monkeypatch, options):
    monkeypatch.setenv("HELLOFRESH_DATA", str(tmp_path))
    dump = [] if options == ["--shard", "1/2"] else ["--dump", str(folder)]
    try:
        code = main(["collect", "wikipedia-edits", "--quarter", str(QUARTER), *dump, *options])
    except SystemExit as ended:
        code = ended.code
    assert code == 2


def test_any_executor_gives_the_same(folder):
    pool = named_pool("concurrent.futures:ThreadPoolExecutor")
    assert isinstance(pool(), ThreadPoolExecutor)
    assert collect(QUARTER, [folder], EditsSettings(), pool=pool) == collect(QUARTER, [folder], EditsSettings())


@pytest.mark.parametrize("place", ["", "os", "os:nothing", "no.such.module:x", "builtins:dict"])
def test_what_is_no_executor_is_refused(place):
    with pytest.raises(UsageError) as caught, named_pool(place)():
        pass
    assert caught.value.code == "no-executor"
