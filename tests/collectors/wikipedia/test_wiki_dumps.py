"""Reading exports: the same history whatever it is wrapped in, and a named error for whatever is not an export."""

from __future__ import annotations

import bz2
import gc
import gzip
import io
import lzma
import sys
import threading
import tracemalloc
from datetime import UTC, datetime
from pathlib import Path

import py7zr
import pytest

from collectors.wikipedia.export import THREAD, ExportReader, read_pages
from collectors.wikipedia.wikitext import Revision
from hellofresh.core.errors import SourceError, UsageError


def seven_zip(raw: bytes, names=("dump.xml",)) -> bytes:
    target = io.BytesIO()
    with py7zr.SevenZipFile(target, "w") as archive:
        for name in names:
            archive.writestr(raw, name)
    return target.getvalue()


PACKINGS = {"xml": lambda raw: raw, "gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "7z": seven_zip}


def read(path: Path):
    return [(page.id, page.title, list(page.revisions)) for page in read_pages(path)]


def refused(path: Path) -> SourceError:
    with pytest.raises(SourceError) as info:
        read(path)
    assert path.name in str(info.value)
    return info.value


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("schema", ["0.3", "0.5", "0.10", "0.11"])
def test_packing_and_schema_make_no_difference(wiki, tmp_path, packing, schema):
    history = wiki.history(["one & <two>", "== H ==\n\nthree", ""])
    raw = wiki.export(wiki.page_xml("Tea", history), schema=schema).encode()
    path = tmp_path / "dump.dat"  # the name says nothing
    path.write_bytes(PACKINGS[packing](raw))
    assert read(path) == [(5, "Tea", history)]


def test_only_articles_are_given_with_or_without_namespace_numbers(wiki, tmp_path):
    history = wiki.history(["text"])
    pages = [
        wiki.page_xml("Kept", history, id_=1),
        wiki.page_xml("Talk:Kept", history, id_=2, ns="<ns>1</ns>"),
        wiki.page_xml("Talk:Kept", history, id_=3, ns=""),
        wiki.page_xml("Image:Kept.png", history, id_=4, ns=""),
        wiki.page_xml("Talk", history, id_=6, ns=""),
        wiki.page_xml("Ratio 3:1", history, id_=7, ns=""),
    ]
    reader = ExportReader(wiki.write(tmp_path / "d.xml", *pages))
    assert [(page.id, len(list(page.revisions))) for page in reader.pages()] == [(1, 1), (6, 1), (7, 1)]
    assert (reader.read.pages, reader.read.other, reader.read.revisions) == (3, 3, 3)


def test_hidden_parts_are_none_and_the_rest_is_read(wiki, tmp_path):
    history = wiki.history(["a", None, "c"], users=["X", None, "Z"])
    path = wiki.write(tmp_path / "d.xml", wiki.page_xml("Tea", history))
    assert read(path)[0][2] == history


@pytest.mark.parametrize(
    ("schema", "slot"), [("0.3", ""), ("0.11", "<content><role>mediainfo</role><text>other</text></content>")]
)
def test_addresses_are_users_missing_parents_none_times_utc_and_other_slots_not_the_text(tmp_path, wiki, schema, slot):
    path, time = tmp_path / "d.xml", "<timestamp>2005-01-01T02:00:00+02:00</timestamp>"
    revision = f"<id>9</id>{time}<contributor><ip>192.0.2.1</ip></contributor><text>x</text>{slot}"
    page = f"<page><title>T</title><id>1</id><revision>{revision}</revision></page>"
    path.write_text(wiki.export(page, schema=schema))
    [(_, _, found)] = read(path)
    assert found == [Revision(9, None, datetime(2005, 1, 1, tzinfo=UTC), "192.0.2.1", "x")]


def test_a_page_without_revisions_is_counted_and_harmless(wiki, tmp_path):
    pages = [wiki.page_xml("Empty", [], id_=1), wiki.page_xml("Full", wiki.history(["x"]), id_=2)]
    reader = ExportReader(wiki.write(tmp_path / "d.xml", *pages))
    assert [len(list(page.revisions)) for page in reader.pages()] == [0, 1]
    assert reader.read.empty == 1


@pytest.mark.parametrize("taken", [0, 1, 7])
def test_a_page_left_early_does_not_spoil_the_next(wiki, tmp_path, taken):
    texts = [f"text {n} " * 3000 for n in range(30)]
    pages = [wiki.page_xml(f"P{n}", wiki.history(texts), id_=n) for n in range(1, 5)]
    reader = ExportReader(wiki.write(tmp_path / "d.xml", *pages))
    seen = [[next(page.revisions).text for _ in range(taken)] for page in reader.pages()]
    assert seen == [texts[:taken]] * 4


def test_chosen_pages_come_in_order_of_time(wiki, tmp_path):
    history = wiki.history([f"text {n}" for n in range(9)])
    mixed = [history[n] for n in (3, 0, 8, 1, 2, 7, 4, 6, 5)]
    path = wiki.write(tmp_path / "d.xml", wiki.page_xml("A", mixed, id_=1), wiki.page_xml("B", mixed, id_=2))
    given = [(page.id, list(page.revisions)) for page in ExportReader(path).pages(only=[1])]
    assert given == [(2, history)]


def test_memory_does_not_grow_with_the_number_of_revisions(wiki, tmp_path):
    def peak(count: int) -> int:
        history = wiki.history([f"{n:04} " * 20_000 for n in range(count)])
        path = wiki.write(tmp_path / f"{count}.xml", wiki.page_xml("A", history))
        del history
        tracemalloc.start()
        for page in read_pages(path):
            for _ in page.revisions:
                pass
        used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return used

    few, many = peak(20), peak(120)
    assert many < 1.5 * few


@pytest.mark.parametrize("packing", ["gz", "bz2", "xz", "7z"])
def test_a_cut_or_damaged_archive_is_refused_with_how_far_it_came(wiki, tmp_path, packing):
    history = wiki.history([f"text {n} {hash((n, 1))}" * 50 for n in range(200)])
    whole = PACKINGS[packing](wiki.export(wiki.page_xml("Tea", history)).encode())
    path = tmp_path / f"bad.xml.{packing}"
    path.write_bytes(whole[: len(whole) * 2 // 3])
    error = refused(path)
    assert error.code in {"bad-archive", "bad-xml", "bad-structure"}
    if packing != "7z":  # its table of contents comes last, so that nothing of it can be read
        assert "bytes of XML" in str(error)
    half = len(whole) // 2
    path.write_bytes(whole[:half] + bytes([whole[half] ^ 0xFF]) + whole[half + 1 :])
    assert refused(path).code in {"bad-archive", "bad-xml", "bad-structure"}


def test_without_its_package_a_7z_archive_is_refused_with_what_to_install(wiki, tmp_path, monkeypatch):
    path = tmp_path / "d.7z"
    path.write_bytes(seven_zip(wiki.export().encode()))
    monkeypatch.setitem(sys.modules, "py7zr", None)
    with pytest.raises(UsageError, match="py7zr>=1"):
        read(path)


@pytest.mark.parametrize("names", [(), ("a.xml", "b.xml")])
def test_a_7z_archive_of_none_or_several_files_is_refused(tmp_path, names):
    path = tmp_path / "d.7z"
    path.write_bytes(seven_zip(b"<mediawiki version='0.11'/>", names))
    assert refused(path).code == "bad-archive"


def test_a_7z_archive_left_early_leaves_no_thread_behind(wiki, tmp_path):
    path = tmp_path / "d.7z"
    texts = [f"{n} {n * 7919} " * 20_000 for n in range(30)]
    path.write_bytes(seven_zip(wiki.export(wiki.page_xml("Tea", wiki.history(texts))).encode()))
    pages = read_pages(path)
    assert next(next(pages).revisions).text == texts[0]
    pages.close()
    gc.collect()
    assert THREAD not in {thread.name for thread in threading.enumerate()}


PAGE = '<mediawiki version="0.11"><page><title>T</title><ns>0</ns><id>1</id><revision><id>{}</id>{}</revision></page>'
TIME = "<timestamp>2026-01-01T00:00:00Z</timestamp>"


ENCODINGS = (
    "cp037 utf-7 utf-32 utf-16-le shift_jis euc-jp gb2312 gb18030 big5 hex base64 rot13 idna punycode zlib bz2 uu "
    "quopri undefined unicode_escape none x latin-2 mbcs koi8-r windows-1252"
)


@pytest.mark.parametrize("encoding", ENCODINGS.split())
def test_only_an_encoding_that_the_parser_itself_reads_is_taken(tmp_path, encoding):
    path = tmp_path / "other.xml"
    page = f"{PAGE.format('1', TIME)}</mediawiki>"
    path.write_text(f'<?xml version="1.0" encoding="{encoding}"?>{page}')
    assert refused(path).code == "bad-encoding"
    path.write_text(f'<?xml version="1.0" encoding="UTF-8"?>{page}')
    assert [found.title for found in read_pages(path)] == ["T"]


ROOT = '<mediawiki version="0.11">'
WRONG = [
    (f"<{'x' * 61}/>", f"the XML begins with <{'x' * 60}>", "a MediaWiki export (<mediawiki>)", ""),
    ("<mediawiki version='0.99'/>", "export schema 0.99", "0.3 to 0.11", ""),
    ("<mediawiki/>", "export schema not named", "0.3 to 0.11", ""),
    (f"<?xml version='1.0' encoding='{'x' * 41}'?>\n{ROOT}", f"the XML says that it is encoded in {'x' * 40!r}",
     "UTF-8, which MediaWiki writes", ""),
    (f"<!DOCTYPE a>{ROOT}", "a document type declaration", "none, as exports never have one", ""),
    (PAGE.format("1" * 19, TIME), f"revision id is '{'1' * 19}'", "a whole number", " (page 'T')"),
    (PAGE.format(" ", TIME), "revision id missing", "a whole number", " (page 'T')"),
    (PAGE.format("1", ""), "revision 1: timestamp is None", "a time such as 2008-01-31T12:00:00Z", " (page 'T')"),
    (PAGE.format("1", f"{TIME}<parentid>x</parentid>"), "parent id is 'x'", "a whole number", " (page 'T')"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "what", "expected", "page"), WRONG)
def test_what_is_wrong_with_an_export_is_said_with_its_place(tmp_path, content, what, expected, page):
    path = tmp_path / "bad.xml"
    path.write_text(content)
    error = refused(path)
    assert (error.what, error.expected, error.where) == (what, expected, f"{path} line 1{page}")


def test_numbers_may_have_eighteen_digits_and_the_host_is_the_wikis(tmp_path):
    path = tmp_path / "good.xml"
    site = "<siteinfo><sitename>http://a.example</sitename><base>https://en.wiki.example/A</base></siteinfo>"
    other = "<page><title>T</title><ns>0</ns><id>1</id><restrictions>https://b.example</restrictions></page>"
    content = PAGE.format("9" * 18, TIME).replace(ROOT, f"{ROOT}{site}{other}")
    path.write_text(f"{content}</mediawiki>")
    found = [(page.host, [revision.id for revision in page.revisions]) for page in read_pages(path)]
    assert found == [("en.wiki.example", []), ("en.wiki.example", [10**18 - 1])]


@pytest.mark.parametrize(
    ("names", "title", "is_article"),
    [
        ("Gallery", "Gallery:A", False), ("Gallery", "Portal:A", True), ("Gallery", "gallery:A", True),
        ("", "Portal:A", False),
        ("", " User_talk :A", False), ("", "Galleries:A", True), ("", "Portal", True),
    ],
)  # fmt: skip
def test_without_numbers_a_page_of_a_named_namespace_is_no_article(tmp_path, names, title, is_article):
    path = tmp_path / "d.xml"
    listed = f"<namespace key='0' /><namespace key='9'>{names}</namespace>"
    page = f"<page><title>{title}</title><id>1</id></page>"
    path.write_text(f"{ROOT}<siteinfo><namespaces>{listed}</namespaces></siteinfo>{page}{page}</mediawiki>")
    reader = ExportReader(path)
    assert len(list(reader.pages())) == 2 * is_article
    assert (reader.read.pages, reader.read.other) == ((2, 0) if is_article else (0, 2))
    assert reader.read.empty == 2 * is_article


def test_a_broken_export_says_how_far_it_was_read(tmp_path):
    path = tmp_path / "cut.xml"
    path.write_text(PAGE.format("1", TIME))
    size = path.stat().st_size
    where = f"after {size:,} bytes of XML, 1 revisions in page 'T'"
    assert refused(path).what == f"not whole XML (no element found, line 1) {where}"


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    assert refused(tmp_path / "none.xml").code == "unreadable"
    folder = tmp_path / "folder.xml"
    folder.mkdir()
    assert refused(folder).code == "unreadable"


def test_a_text_without_end_is_refused_before_it_fills_the_memory(tmp_path):
    path = tmp_path / "long.xml.gz"
    start = PAGE.format("1", TIME).replace("</revision></page>", "<text>").encode()
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(start)
        for _ in range(90):
            file.write(b"a" * (1 << 20))
    assert refused(path).code == "text-too-long"


@pytest.mark.integration
def test_every_page_of_a_whole_small_wiki_is_counted_once(shared_data):
    reader = ExportReader(shared_data / "wikipedia" / "aawiki-20260101-history.xml.xz")
    for page in reader.pages():
        assert page.title
    assert (reader.read.pages, reader.read.other, reader.read.revisions) == (2, 505, 86)
