"""Finding the same document twice: by id, by DOI, by title and text however they are spelt."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from dataclasses import dataclass, field
from enum import StrEnum

from hellofresh.evidence.retrieval.documents import CorpusDocument

__all__ = ["Duplicates", "SameBy", "normalised"]

_NO_WORD = re.compile(r"[\W_]+")
_DOI_PREFIX = re.compile(r"^(?:https?://(?:dx\.)?doi\.org/|doi:\s*)", re.IGNORECASE)


class SameBy(StrEnum):
    """What shows that two documents are one."""

    ID = "duplicate_id"
    DOI = "duplicate_doi"
    TEXT = "duplicate_text"


def normalised(text: str) -> str:
    """Letters and digits in one case, words apart by one space."""
    return _NO_WORD.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()


@dataclass(slots=True)
class Duplicates:
    """Remembers the documents of a corpus by 64 bits of hash a key: about 120 bytes of memory for each.

    Attributes:
        by_id_alone: whether only documents of one id are one.
        kept: by the id of a document that was left out, the id of the one that stays.
    """

    by_id_alone: bool = False
    kept: dict[str, str] = field(default_factory=dict)
    _ids: list[str] = field(default_factory=list)
    _seen: dict[int, int] = field(default_factory=dict)

    @property
    def ids(self) -> set[str]:
        """Ids of the documents that stay."""
        return set(self._ids)

    def find(self, document: CorpusDocument, doi: str = "") -> SameBy | None:
        """Why the document is one that is known already; None remembers it as new."""
        keys = {SameBy.ID: _hash("id", document.id)} if self.by_id_alone else _keys(document, doi)
        for same_by, key in keys.items():
            if key in self._seen:
                first = self._ids[self._seen[key]]
                if document.id != first:
                    self.kept.setdefault(document.id, first)
                return same_by
        self._seen.update(dict.fromkeys(keys.values(), len(self._ids)))
        self._ids.append(document.id)
        return None


def _keys(document: CorpusDocument, doi: str) -> dict[SameBy, int]:
    keys = {SameBy.ID: _hash("id", document.id)}
    name = _DOI_PREFIX.sub("", doi.strip()).casefold()
    if name:
        keys[SameBy.DOI] = _hash("doi", name)
    keys[SameBy.TEXT] = _hash("text", f"{normalised(document.title)}\n{normalised(document.text)}")
    return keys


def _hash(kind: str, text: str) -> int:
    return int.from_bytes(hashlib.blake2b(f"{kind}:{text}".encode(), digest_size=8).digest())
