"""A process that reads pages, robots.txt files or pictures, started by `hellofresh.evidence.web._workers`.

Its arguments are the job and the CPU seconds that one request may take; the system ends it when they are over, whatever
it does then. It reads requests from standard input and writes replies to standard output. A request is a line of JSON
(`length`, `about`) and so many bytes; a reply is a line of JSON.
"""

from __future__ import annotations

import base64
import json
import logging
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from hellofresh.evidence.web.text import Extractor, main_text, picture_addresses

try:
    import resource
except ImportError:  # Windows: a reader's memory has no limit there
    resource = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from protego import Protego

_MEMORY_BYTES = 2 << 30  # a small file can unpack to any size: the worker ends, not the machine
_AGENT = "hellofresh"
_FILES = 16  # files of rules that are kept parsed; pages of one site are mostly asked about in a row
_MOST_PICTURES = 4  # of a page that are compared with those of a post
_Reader = Callable[[bytes, str], dict[str, object]]


def _read_page(extractor: Extractor, body: bytes, content_type: str) -> dict[str, object]:
    return asdict(main_text(body, content_type, extractor))


@lru_cache(_FILES)
def _rules(body: bytes) -> Protego:
    from protego import Protego

    return Protego.parse(body.decode("utf-8", "replace"))


def _read_robots(body: bytes, url: str) -> dict[str, object]:
    rules = _rules(body)
    delay = rules.crawl_delay(_AGENT)
    # What is not a number (`nan`) is greater than nothing.
    return {"allowed": rules.can_fetch(url, _AGENT), "delay_s": delay if delay is not None and delay > 0 else None}


def _read_picture(body: bytes, _about: str) -> dict[str, object]:
    from hellofresh.evidence.web._decoding import UnfitPictureError, decode

    try:
        found = decode(body)
    except UnfitPictureError as error:
        return {"problem": str(error)}
    return {"width": found.width, "height": found.height, "content": base64.b64encode(found.content).decode()}


_READERS: Mapping[str, _Reader] = {
    "trafilatura": partial(_read_page, "trafilatura"),
    "beautifulsoup": partial(_read_page, "beautifulsoup"),
    "addresses": lambda body, kind: {"pictures": picture_addresses(body, kind, _MOST_PICTURES)},
    "robots": _read_robots,
    "picture": _read_picture,
}


def _serve(read: _Reader, cpu_s: float) -> None:
    logging.disable()
    for limit, most in (("RLIMIT_AS", _MEMORY_BYTES), ("RLIMIT_CORE", 0)):
        with suppress(AttributeError, OSError, ValueError):  # Windows has none, macOS not all
            resource.setrlimit(getattr(resource, limit), (most, most))
    timed = hasattr(signal, "setitimer")
    if timed:
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
    read(b"<html><p></p></html>", "text/html")  # imports are not what a page costs
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    for line in source:
        asked = json.loads(line)
        body = source.read(asked["length"])
        if timed:
            signal.setitimer(signal.ITIMER_PROF, cpu_s)
        reply = read(body, asked["about"])
        if timed:
            signal.setitimer(signal.ITIMER_PROF, 0)
        sink.write(json.dumps(reply).encode() + b"\n")
        sink.flush()


if __name__ == "__main__":
    _serve(_READERS[sys.argv[1]], float(sys.argv[2]))
