"""A process that takes main texts out of pages: a hostile page can cost it its life, and nobody else's.

It reads requests from standard input and writes answers to standard output. A request is a line of JSON (`length`,
`content_type`, `extractor`) and so many bytes; an answer is a line of JSON (`title`, `text`).
"""

from __future__ import annotations

import json
import logging
import resource
import sys

from hellofresh.web.text import main_text

_MEMORY_BYTES = 2 << 30


def _serve() -> None:
    logging.disable()
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    for line in source:
        asked = json.loads(line)
        body = source.read(asked["length"])
        found = main_text(body, asked["content_type"], asked["extractor"])
        sink.write(json.dumps({"title": found.title, "text": found.text}).encode() + b"\n")
        sink.flush()


if __name__ == "__main__":
    _serve()
