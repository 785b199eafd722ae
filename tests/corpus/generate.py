"""Files of the corpus that are too large for a repository, or that its tools would alter; the same bytes every time."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import pickle
import tarfile
import warnings
import zipfile
from collections.abc import Callable

from entry_points import EXPORT, LABEL, NOTES_TABLE, POSTS, SAMPLE

from hellofresh.core.files import canonical_json


def zipped(*members: tuple[str, bytes]) -> bytes:
    """A zip of these members, in this order; names may repeat."""
    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        warnings.simplefilter("ignore")
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def tarred(*members: tarfile.TarInfo) -> bytes:
    """A tar of these empty members."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for member in members:
            archive.addfile(member)
    return buffer.getvalue()


def _link() -> tarfile.TarInfo:
    link = tarfile.TarInfo("predictions.jsonl")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    return link


def _half(content: bytes) -> bytes:
    return content[: len(content) // 2]


ID = b'{"id":"xn-1","label":1,"rationale":'
DEEP = b"[" * 100_000
LONG_KEY = b"a" * 10_000_000 + b" = 1\n"
DOTTED_KEY = b".".join([b"a"] * 100_000) + b" = 1\n"
MANY_REVISIONS = EXPORT * 50

GENERATED: dict[str, dict[str, Callable[[], bytes]]] = {
    "submissions": {
        "07-depth-100000.jsonl": lambda: ID + DEEP + b"]" * 100_000 + b"}",
        "21-ten-megabytes-in-a-line.jsonl": lambda: ID + b'"' + b"a" * 9_900_000 + b'"}',
        "66-nested-a-million-times.toml": lambda: b"x = " + b"[" * 1_000_000,
        "68-key-of-10-megabytes.toml": lambda: LONG_KEY,
        "69-tar.jsonl": lambda: tarred(tarfile.TarInfo("predictions.jsonl")),
        "70-gzip-bomb.jsonl": lambda: gzip.compress(bytes(50_000_000), mtime=0),
        "71-zip-slip.jsonl": lambda: zipped(("../../x", b"x")),
        "72-one-entry-twice.jsonl": lambda: zipped(("predictions.jsonl", b"1"), ("predictions.jsonl", b"2")),
        "73-link-in-a-tar.jsonl": lambda: tarred(_link()),
        "74-pickle-of-today.toml": lambda: pickle.dumps([1, "x"]),
    },
    "tables": {
        "40-leading-carriage-return.csv": lambda: b'id,label,rationale\nxn-1,1,"\rx"\nxn-2,0,x\n',
        "41-cell-of-200-kb.csv": lambda: b"id,label,rationale\nxn-1,1," + b"x" * 200_000 + b"\nxn-2,0,x\n",
        "69-spreadsheet.csv": lambda: zipped(("xl/workbook.xml", b"<workbook/>")),
        "21-rows-without-end.csv": lambda: b"id,label\n" + b"xn-1,1\n" * 1_000_000,
    },
    "receipts": {
        "07-depth-100000.json": lambda: DEEP,
        "04-receipts-without-end.json": lambda: b'{"earlier":[' + b"{}," * 100_000 + b"{}]}",
    },
    "settings": {
        "66-nested-a-million-times.toml": lambda: b"x = " + b"[" * 1_000_000,
        "68-key-of-10-megabytes.toml": lambda: LONG_KEY,
        "68-key-of-100000-parts.toml": lambda: DOTTED_KEY,
    },
    "prompts": {
        "66-nested-a-million-times.toml": lambda: b"x = " + b"[" * 1_000_000,
        "68-key-of-100000-parts.toml": lambda: DOTTED_KEY,
        "69-zip.toml": lambda: zipped(("prompts.toml", b"x")),
    },
    "notes": {
        "19-utf-16.tsv": lambda: NOTES_TABLE.decode().encode("utf-16"),
        "21-line-without-end.tsv": lambda: NOTES_TABLE + b"x" * (17 * 2**20),
        "69-tsv.zip": lambda: NOTES_TABLE,
        "70-bomb.zip": lambda: zipped(("notes-00000.tsv", b"\t" * 70_000_000)),
        "72-one-entry-twice.zip": lambda: zipped(("a.tsv", NOTES_TABLE), ("a.tsv", NOTES_TABLE)),
        "72-no-table.zip": lambda: zipped(("readme.txt", b"x")),
        "93-cut.zip": lambda: zipped(("notes-00000.tsv", NOTES_TABLE))[:-30],
    },
    "posts": {
        "07-depth-100000.jsonl": lambda: DEEP + b"\n",
        "19-utf-16.jsonl": lambda: POSTS.decode().encode("utf-16"),
        "21-line-without-end.jsonl": lambda: b'{"id_str":"' + b"1" * (17 * 2**20),
    },
    "histories": {
        "69-tar.xml": lambda: tarred(tarfile.TarInfo("history.xml")),
        "74-pickle.xml": lambda: pickle.dumps([1, "x"]),
        "93-cut.xml.gz": lambda: _half(gzip.compress(MANY_REVISIONS, mtime=0)),
        "93-cut.xml.bz2": lambda: _half(bz2.compress(MANY_REVISIONS)),
        "93-cut.xml.xz": lambda: _half(lzma.compress(MANY_REVISIONS)),
        "93-no-archive.xml.7z": lambda: b"7z\xbc\xaf\x27\x1c" + bytes(40),
        "70-gzip-bomb.xml.gz": lambda: gzip.compress(bytes(50_000_000), mtime=0),
        "86-depth-100000.xml": lambda: EXPORT.partition(b"<page>")[0] + b"<page>" + b"<a>" * 100_000,
        "68-attribute-of-10-megabytes.xml": lambda: b'<mediawiki a="' + b"a" * 10_000_000,
    },
    "releases": {
        "samples-07-depth-100000.jsonl": lambda: DEEP + b"\n",
        "samples-09-lone-surrogate.jsonl": lambda: _line({**SAMPLE, "group": "?"}).replace(b"?", b"\\ud800"),
        "labels-07-depth-100000.jsonl": lambda: DEEP + b"\n",
        "labels-09-lone-surrogate.jsonl": lambda: _line({**LABEL, "salt": "?"}).replace(b"?", b"\\ud800"),
        "manifest-07-depth-100000.json": lambda: DEEP,
        "manifest-74-pickle.json": lambda: pickle.dumps({"source": "dump"}),
        "commitments-07-depth-100000.jsonl": lambda: DEEP + b"\n",
    },
}
"""By folder and file name."""


def _line(value: object) -> bytes:
    return (canonical_json(value) + "\n").encode()
