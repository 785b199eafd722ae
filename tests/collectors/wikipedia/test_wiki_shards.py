"""Folders of dumps and the checksums beside them."""

from __future__ import annotations

import hashlib

import pytest

from collectors.wikipedia.collect import collect
from collectors.wikipedia.export import shards
from collectors.wikipedia.stability import EditsSettings
from hellofresh.core.errors import UsageError
from hellofresh.core.quarters import Quarter
from tests.fakes import fails_with, refused

QUARTER = Quarter(2026, 2)


@pytest.fixture
def folder(wiki, tmp_path):
    place = tmp_path / "dump"
    place.mkdir()
    for n in (2, 1):
        wiki.write(place / f"shard-{n}.xml", wiki.page_xml(f"P{n}", wiki.history(["text"]), id_=n))
    (place / "README.txt").write_text("not an export")
    (place / ".shard-3.xml").write_text("being fetched")
    return place


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def checked(folder):
    found = collect(QUARTER, [folder], EditsSettings())
    return found.funnel.context["files that are what their checksums say"]


def test_a_folder_stands_for_the_exports_in_it(folder):
    assert [path.name for path in shards([folder])] == ["shard-1.xml", "shard-2.xml"]
    assert shards([folder]) == shards([folder / "shard-2.xml", folder / "shard-1.xml"])
    assert [source.name for source in collect(QUARTER, [folder], EditsSettings()).sources] == [
        "shard-1.xml",
        "shard-2.xml",
    ]


def test_a_folder_without_an_export_is_refused(tmp_path):
    with pytest.raises(UsageError, match="no export in the folder"):
        shards([tmp_path])


def test_a_folder_and_a_file_of_it_are_one_file_named_twice(folder):
    with pytest.raises(UsageError, match="named twice"):
        collect(QUARTER, [folder, folder / "shard-1.xml"], EditsSettings())


@pytest.mark.parametrize("line", ["{digest}  {name}", "{digest} *{name}", "{DIGEST}  xml/{name}"])
def test_files_are_checked_against_the_list_beside_them(folder, line):
    digest = sha256(folder / "shard-2.xml")
    text = line.format(digest=digest, DIGEST=digest.upper(), name="shard-2.xml")
    (folder / "SHA256SUMS").write_text(f"{'0' * 64}  other.xml\n{text}\nno such line\n")
    assert checked(folder) == 1


@pytest.mark.parametrize("line", ["{digest}", "{digest}  shard-1.xml\n"])
def test_a_checksum_of_the_files_own_comes_first(folder, line):
    (folder / "SHA256SUMS").write_text(f"{'0' * 64}  shard-1.xml\n")
    (folder / "shard-1.xml.sha256").write_text(line.format(digest=sha256(folder / "shard-1.xml")))
    assert checked(folder) == 1


@pytest.mark.parametrize(("name", "jobs"), [("SHA256SUMS", 1), ("SHA256SUMS", 2), ("shard-1.xml.sha256", 1)])
def test_a_file_that_is_not_what_it_should_be_is_refused(folder, name, jobs):
    (folder / name).write_text(f"{'0' * 64}  shard-1.xml\n")
    with fails_with("checksum-mismatch", r"shard-1\.xml.*expected 0000"):
        collect(QUARTER, [folder], EditsSettings(), jobs=jobs)


@pytest.mark.parametrize("content", [b"", b"abc", b"\xff\xfe", ("0" * 64 + "  other.xml").encode()])
def test_a_checksum_file_that_says_nothing_is_refused(folder, content):
    (folder / "shard-1.xml.sha256").write_bytes(content)
    refused("bad-checksums", collect, QUARTER, [folder], EditsSettings())
