"""Small wikis made in the test, as revisions and as exports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from xml.sax.saxutils import escape

import pytest

from collectors.settings import EditsSettings
from collectors.wikipedia.stability import Decision, Follower
from collectors.wikipedia.wikitext import Revision
from hellofresh.core.quarters import Quarter

EPOCH = datetime(2026, 4, 2, tzinfo=UTC)


def decide(
    revisions: Iterable[Revision], settings: EditsSettings, quarter: Quarter | None = None
) -> Iterator[Decision]:
    """The fates of all paragraph edits of one page, of a quarter or of all times."""
    return Follower(settings, quarter).decisions(revisions)


@dataclass(frozen=True)
class Wiki:
    epoch: datetime = EPOCH

    def history(self, texts: Iterable[str | None], users: Sequence[str | None] | None = None) -> list[Revision]:
        """Revisions an hour apart, each on the one before, by users A, B, A, B, ... unless named."""
        given = list(texts)
        names = users if users is not None else [f"User {'AB'[number % 2]}" for number in range(len(given))]
        return [
            Revision(100 + n, 99 + n if n else None, self.epoch + timedelta(hours=n), names[n], text)
            for n, text in enumerate(given)
        ]

    def revision_xml(self, revision: Revision) -> str:
        who = "<contributor deleted='deleted' />"
        if revision.user is not None:
            who = f"<contributor><username>{escape(revision.user)}</username><id>7</id></contributor>"
        text = "<text bytes='0' deleted='deleted' />"
        if revision.text is not None:
            text = f"<text xml:space='preserve'>{escape(revision.text)}</text>"
        parent = f"<parentid>{revision.parent}</parentid>" if revision.parent else ""
        return (
            f"<revision><id>{revision.id}</id>{parent}"
            f"<timestamp>{revision.timestamp:%Y-%m-%dT%H:%M:%SZ}</timestamp>{who}"
            f"<comment>of no account</comment><model>wikitext</model>{text}<sha1 /></revision>"
        )

    def page_xml(self, title: str, revisions: Iterable[Revision], *, id_: int = 5, ns: str = "<ns>0</ns>") -> str:
        body = "\n".join(self.revision_xml(revision) for revision in revisions)
        return f"<page><title>{escape(title)}</title>{ns}<id>{id_}</id>{body}</page>\n"

    def export(self, *pages: str, schema: str = "0.11") -> str:
        names = "".join(
            f'<namespace key="{key}">{name}</namespace>' for key, name in ((0, ""), (1, "Talk"), (6, "Image"))
        )
        return (
            f'<mediawiki xmlns="http://www.mediawiki.org/xml/export-{schema}/" version="{schema}" xml:lang="en">'
            f"<siteinfo><namespaces>{names}</namespaces></siteinfo>\n{''.join(pages)}</mediawiki>\n"
        )

    def write(self, path: Path, *pages: str, schema: str = "0.11") -> Path:
        path.write_text(self.export(*pages, schema=schema), encoding="utf-8")
        return path


@pytest.fixture(scope="session")
def wiki() -> Wiki:
    return Wiki()
