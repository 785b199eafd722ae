"""Articles of a MediaWiki dump as the documents of a corpus: the newest text of each, whole or in chunks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from collectors.settings import Kind
from collectors.wikipedia.clean import read
from collectors.wikipedia.export import read_pages
from collectors.wikipedia.names import WikiNames
from collectors.wikipedia.wikitext import Splitter
from hellofresh.core.intake import Intake
from hellofresh.evidence.retrieval.corpora import FoundDocument
from hellofresh.evidence.retrieval.documents import CorpusDocument

LICENSE = "CC-BY-SA-4.0"
_KINDS = frozenset({Kind.PROSE, Kind.LIST, Kind.QUOTE})
_LONGEST = 900_000  # characters of a whole article; the rest is dropped


class DumpDocuments:
    """The articles in order, whole or in chunks, and what is left out of them; to be iterated over once.

    Args:
        dumps: exports; iterating raises SourceError if one cannot be read to its end.
        words: of a chunk, at most; 0 for whole articles.
    """

    def __init__(self, dumps: Iterable[Path], words: int) -> None:
        self._dumps, self._words = dumps, words
        self._articles: Counter[str] = Counter()
        self._paragraphs: Counter[str] = Counter()
        self._read = 0

    def __iter__(self) -> Iterator[FoundDocument]:
        for path in self._dumps:
            for page in read_pages(path):
                there = (revision for revision in page.revisions if revision.text is not None)
                newest = max(there, key=lambda revision: (revision.timestamp, revision.id), default=None)
                if newest is None or newest.text is None or newest.text.lstrip().lower().startswith("#redirect"):
                    self._articles["no-text" if newest is None else "redirect"] += 1
                    continue
                paragraphs = list(self._readable(newest.text, page.wiki))
                texts = chunks(paragraphs, self._words) if self._words else ["\n".join(paragraphs)[:_LONGEST]]
                self._articles["nothing-to-read"] += not any(texts)
                for number, text in enumerate(filter(None, texts), start=1):
                    name = f"{page.id}-{number}" if self._words else str(page.id)
                    document = CorpusDocument(name, page.title, text, newest.timestamp.date(), "wikipedia")
                    yield FoundDocument(document, f"{path.name}, page {page.id}")

    def left_out(self) -> Mapping[str, Mapping[str, int]]:
        """Articles left out, by reason."""
        return {"documents": self._articles}

    def paragraphs(self) -> list[Intake]:
        """What became of the paragraphs of prose, lists and quotes."""
        went_on = self._read - self._paragraphs.total()
        return [Intake("paragraphs", self._read, went_on, dict(self._paragraphs))]

    def _readable(self, wikitext: str, wiki: WikiNames) -> Iterator[str]:
        """Readable prose, lists and quotes, in order, without paragraphs that would have a hole."""
        split = Splitter(wiki).split(wikitext)
        for heading in split.order:
            alone = split.sections.get(heading)
            for section in [alone] if alone else split.repeated[heading]:
                for paragraph, kind in zip(section.paragraphs, section.kinds, strict=True):
                    if kind in _KINDS:
                        self._read += 1
                        reading = read(paragraph, wiki)
                        if reading.text and not reading.unknown:
                            yield reading.text
                        else:
                            self._paragraphs["unknown-template" if reading.unknown else "nothing-to-read"] += 1


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
