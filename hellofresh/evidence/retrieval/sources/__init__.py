"""Corpora as others publish them, one file a format. A new format is a file here and a line in `SOURCES`.

All that is read is somebody else's: lines and fields are bounded, and what cannot be used is an error that names it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from hellofresh.core.errors import UnknownNameError
from hellofresh.evidence.retrieval.sources._base import CorpusSource
from hellofresh.evidence.retrieval.sources.beir import BeirSource
from hellofresh.evidence.retrieval.sources.check_covid import CheckCovidSource
from hellofresh.evidence.retrieval.sources.cord_19 import Cord19Source
from hellofresh.evidence.retrieval.sources.json_lines import JsonLinesSource
from hellofresh.evidence.retrieval.sources.litcovid import LitCovidSource
from hellofresh.evidence.retrieval.sources.scifact import SciFactSource

__all__ = ["SOURCES", "CorpusSource", "open_source"]

SOURCES: Mapping[str, Callable[[Path], CorpusSource]] = {
    "check-covid": CheckCovidSource,
    "scifact": SciFactSource,
    "beir": BeirSource,
    "cord-19": Cord19Source,
    "litcovid": LitCovidSource,
    "jsonl": JsonLinesSource,
}


def open_source(name: str, path: Path) -> CorpusSource:
    """The source of a format.

    Raises:
        UnknownNameError: if there is no such format.
        DataError: if its files are not there.
    """
    if name not in SOURCES:
        raise UnknownNameError("corpus format", name, SOURCES)
    return SOURCES[name](path)
