"""Articles of a MediaWiki dump as the documents of a corpus: the newest text of each, whole or in chunks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from collectors.settings import Kind
from collectors.wikipedia.clean import readable
from collectors.wikipedia.export import read_pages
from collectors.wikipedia.names import WikiNames
from collectors.wikipedia.wikitext import Splitter
from hellofresh.evidence.retrieval.corpora import FoundDocument
from hellofresh.evidence.retrieval.documents import CorpusDocument

LICENSE = "CC-BY-SA-4.0"
_KINDS = frozenset({Kind.PROSE, Kind.LIST, Kind.QUOTE})
_LONGEST = 900_000
"""Characters of a whole article; the rest is dropped."""


def dump_documents(dumps: Iterable[Path], words: int) -> Iterator[FoundDocument]:
    """The articles in order, whole (0) or in chunks of about this many words, without redirects and without empty ones.

    Raises:
        SourceError: if a file is not an export that can be read to its end.
    """
    for path in dumps:
        for page in read_pages(path):
            there = (revision for revision in page.revisions if revision.text is not None)
            newest = max(there, key=lambda revision: (revision.timestamp, revision.id), default=None)
            if newest is None or newest.text is None or newest.text.lstrip().lower().startswith("#redirect"):
                continue
            paragraphs = _paragraphs(newest.text, page.wiki)
            texts = chunks(paragraphs, words) if words else ["\n".join(paragraphs)[:_LONGEST]]
            for number, text in enumerate(filter(None, texts), start=1):
                name = f"{page.id}-{number}" if words else str(page.id)
                document = CorpusDocument(name, page.title, text, newest.timestamp.date(), "wikipedia")
                yield FoundDocument(document, f"{path.name}, page {page.id}")


def _paragraphs(wikitext: str, wiki: WikiNames) -> list[str]:
    """Readable prose, lists and quotes, in order."""
    split = Splitter(wiki).split(wikitext)
    sections = (
        section
        for heading in split.order
        for section in ([split.sections[heading]] if heading in split.sections else split.repeated[heading])
    )
    kept = (
        paragraph
        for section in sections
        for paragraph, kind in zip(section.paragraphs, section.kinds, strict=True)
        if kind in _KINDS
    )
    return [text for paragraph in kept if (text := readable(paragraph, wiki))]


def chunks(paragraphs: Sequence[str], words: int) -> list[str]:
    """Join paragraphs until they have enough words; longer ones are cut."""
    found: list[list[str]] = [[]]
    length = 0
    for paragraph in paragraphs:
        listed = paragraph.split()
        for start in range(0, len(listed), words):
            piece = listed[start : start + words]
            if length and length + len(piece) > words:
                found.append([])
                length = 0
            found[-1].append(" ".join(piece))
            length += len(piece)
    return ["\n".join(pieces) for pieces in found if pieces]
