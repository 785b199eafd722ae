"""Check-COVID (Wang et al., Findings of ACL 2023): claims on COVID-19, each with the abstract that decides it.

Read are `corpus.jsonl` and `claims_train.jsonl`, `claims_dev.jsonl`, `claims_test.jsonl` in one folder, or the authors'
own folder with `corpus.json` and `train/covidCheck_train_*.json` and so on. The one relevant document of a claim is the
abstract it was written from, whatever the claim's label. Claims on one abstract are a group.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from hellofresh.core.errors import SourceError
from hellofresh.evidence.retrieval.corpora import FoundDocument
from hellofresh.evidence.retrieval.documents import CorpusDocument
from hellofresh.evidence.retrieval.judgements import Judgement, Query
from hellofresh.evidence.retrieval.sources._base import find_file, make_query, rows_of, text_of

__all__ = ["CheckCovidSource"]

_SPLITS = ("train", "dev", "test")
_KINDS = ("composed", "extracted")


class CheckCovidSource:
    """The data set's folder.

    Raises:
        SourceError: if there is no corpus or no claim in it.
    """

    name: ClassVar[str] = "check-covid"
    license: ClassVar[str] = "MIT"
    repeats: ClassVar[bool] = False

    def __init__(self, folder: Path) -> None:
        corpus = find_file(folder, "corpus.jsonl", "corpus.json")
        self._claims = list(_claim_files(folder))
        if corpus is None or not self._claims:
            raise SourceError(
                "not a folder of Check-COVID",
                where=str(folder),
                expected="corpus.jsonl and claims_train.jsonl, claims_dev.jsonl or claims_test.jsonl",
                code="missing-file",
            )
        self._corpus = corpus

    def documents(self) -> Iterator[FoundDocument]:
        """The abstracts."""
        for where, row in rows_of(self._corpus):
            name = text_of(row, where, "cord_id")
            document = CorpusDocument(
                name, text_of(row, where, "title").strip(), text_of(row, where, "abstract").strip(), None, self.name
            )
            yield FoundDocument(document, where)

    @cached_property
    def _rows(self) -> list[tuple[str, str, Mapping[str, object]]]:
        return [(split, where, row) for split, path in self._claims for where, row in rows_of(path)]

    def queries(self) -> Iterator[Query]:
        """The claims."""
        for split, where, row in self._rows:
            name, text, abstract = (text_of(row, where, field) for field in ("id", "claim", "cord_id"))
            yield make_query(where, id=name, text=text, split=split, group=abstract)

    def judgements(self) -> Iterator[Judgement]:
        """One for each claim."""
        for _, where, row in self._rows:
            yield Judgement(text_of(row, where, "id"), text_of(row, where, "cord_id"), 1)


def _claim_files(folder: Path) -> Iterator[tuple[str, Path]]:
    for split in _SPLITS:
        path = find_file(folder, f"claims_{split}.jsonl")
        names = [f"{split}/covidCheck_{split}_{kind}.json" for kind in _KINDS]
        found = [path] if path else [own for name in names if (own := find_file(folder, name))]
        yield from ((split, item) for item in found)
