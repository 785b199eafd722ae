"""From the bytes of a page to its characters: byte order mark, header, meta element, then a guess."""

from __future__ import annotations

import re

__all__ = ["decode"]

_CODECS = {
    "utf8": "utf-8", "utf16": "utf-16-le", "utf16le": "utf-16-le", "utf16be": "utf-16-be",
    "ascii": "cp1252", "usascii": "cp1252", "latin1": "cp1252", "iso88591": "cp1252",
    "gb2312": "gb18030", "gbk": "gb18030", "gb18030": "gb18030", "big5": "big5hkscs", "big5hkscs": "big5hkscs",
    "shiftjis": "cp932", "sjis": "cp932", "xsjis": "cp932", "windows31j": "cp932", "eucjp": "euc_jp",
    "iso2022jp": "iso2022_jp", "euckr": "cp949", "ksc56011987": "cp949", "koi8r": "koi8-r", "koi8u": "koi8-u",
    "macintosh": "mac-roman", "tis620": "cp874", "windows874": "cp874",
    **{f"{name}{n}": f"cp{n}" for n in range(1250, 1259) for name in ("windows", "cp")},
    **{f"iso8859{n}": f"iso8859-{n}" for n in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)},
    "iso88599": "cp1254",
}  # fmt: skip
"""Names of character sets, without punctuation, and Python's codecs for them. Python knows other codecs that are no
character sets (base64, rot13, utf-7, unicode_escape ...); a page has no business with those."""
_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_META = re.compile(rb"(?i)<meta[^>]{0,500}?charset\s{0,9}=\s{0,9}[\"']?\s{0,9}([a-z0-9_:.-]{1,40})")
_HEADER = re.compile(r"(?i);\s*charset\s*=\s*[\"']?([a-z0-9_:.-]{1,40})")


def decode(body: bytes, content_type: str) -> str:
    """The characters of a body; bytes that fit nowhere become U+FFFD."""
    for mark, codec in _MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(codec, "replace")
    named = _named_in_header(content_type) or _named_in_meta(body)
    if named is not None:
        return body.decode(named, "replace")
    try:
        return body.decode()
    except UnicodeDecodeError:
        return body.decode("cp1252", "replace")


def _codec(name: str) -> str | None:
    return _CODECS.get(re.sub(r"[^a-z0-9]", "", name.lower()))


def _named_in_header(content_type: str) -> str | None:
    found = _HEADER.search(content_type)
    return None if found is None else _codec(found[1])


def _named_in_meta(body: bytes) -> str | None:
    found = _META.search(body[:1024])
    codec = None if found is None else _codec(found[1].decode())
    # What could be read as ASCII to find this is not in UTF-16, whatever it says.
    return "utf-8" if codec in ("utf-16-le", "utf-16-be") else codec
