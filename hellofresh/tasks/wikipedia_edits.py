"""wikipedia-edits: will this edit of a paragraph stay, or be reverted?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from hellofresh.core.net.addresses import links_in
from hellofresh.core.quarters import PeriodKind
from hellofresh.tasks._base import SamplePage, Task, TextPart
from hellofresh.tasks.samples import Candidate, Label, Sample

_PROJECTS = ("wikipedia.org", "wiktionary.org", "wikiquote.org", "wikibooks.org", "wikisource.org", "wikiversity.org",
             "wikivoyage.org", "wikimedia.org")  # fmt: skip
# The licence that Wikimedia's terms of use required of contributions, from each day on.
#
# Source: https://foundation.wikimedia.org/wiki/Policy:Terms_of_Use (7 June 2023: 4.0) and the licensing update of 2009.
_LICENSES = (("2023-06-07", "CC-BY-SA-4.0"), ("2009-06-15", "CC-BY-SA-3.0"), ("", "GFDL-1.2-or-later"))
_SAMPLE_WIKI = "wiki.example"  # the host of the bundled sample, written for this project


def license_of(host: str, date: datetime) -> str:
    """The licence of an edit by wiki and time; unknown for wikis other than Wikimedia's."""
    if host == _SAMPLE_WIKI:
        return _LICENSES[0][1]
    if not f".{host}".endswith(tuple(f".{name}" for name in _PROJECTS)):
        return "LicenseRef-not-stated"
    return next(name for since, name in _LICENSES if f"{date:%Y-%m-%d}" >= since)


@dataclass(frozen=True, slots=True)
class EditRevision:
    """The edit's revision, without its parent: if that is another sample's revision, that one was not reverted."""

    id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit(Sample):
    """A sample of wikipedia-edits; `group` is `w-<page id>`.

    Attributes:
        host: host of the wiki, such as `en.wikipedia.org`; empty if the source does not give it.
        lineage: names of the paragraph's lineage in the history up to the edit: samples that share a name
            are of one paragraph. At most one of these is open at a time. A name is a hash of the page and of the
            text with which the lineage began; it names no revision, since that would tell that its edit stood.
        article: the page's title at the edit.
        section: heading of the section, empty for the lead.
        paragraph: the paragraph before the edit, as a reader sees it.
        deleted: the spans taken out, in order, joined by ` [...] `.
        added: the spans put in, in order, joined by ` [...] `.
        revision: id of the revision.
    """

    host: str
    lineage: tuple[str, ...]
    article: str
    section: str
    paragraph: str
    deleted: str
    added: str
    revision: EditRevision


def _slots(sample: Edit) -> Mapping[str, str]:
    return {
        "article": sample.article,
        "section": sample.section or "(introduction)",
        "date": f"{sample.date:%Y-%m-%d}",
        "paragraph": sample.paragraph,
        "deleted": sample.deleted or "(nothing)",
        "added": sample.added or "(nothing)",
    }


def _page(sample: Edit) -> SamplePage:
    changed = (
        TextPart("paragraph", sample.paragraph, "before"),
        TextPart("deleted", sample.deleted, "deleted"),
        TextPart("added", sample.added, "added"),
    )
    title = f"{sample.article}, {sample.section}" if sample.section else sample.article
    known = sample.host and sample.host != _SAMPLE_WIKI
    place = f"wiki/Special:Diff/{sample.revision.id}"
    return SamplePage(title, changed, f"https://{sample.host}/{place}" if known else "")


def proposed(paragraph: str, sources: Sequence[str]) -> str:
    """A paragraph as raters see it: on one line, then the addresses of the added sources."""
    cited = f"\n\nSources: {' '.join(dict.fromkeys(sources))}" if sources else ""
    return f"{' '.join(paragraph.split())}{cited}"


def _references(item: Candidate) -> Mapping[str, str]:
    """The paragraph after the edit; empty if it was removed whole, or collected by an earlier version."""
    after, before = (str(item.extras.get(name, "")) for name in ("paragraph_after", "wikitext_before"))
    added = [link for link in links_in(str(item.extras.get("wikitext_after", ""))) if link not in before]
    return {"edit-stayed" if item.label.label else "edit-reverted": proposed(after, added)} if after else {}


def _flip_cost(label: Label) -> int | None:
    """Number of colluding editors, each making one revision before others act, who can flip the label.

    The rule counts revisions. An edit that stayed goes if one editor puts the old paragraph back and N more leave it
    there. An edit that stood for s revisions stays if N - s editors change something else first. Outlasting others does
    not help: an old paragraph that is undone within N revisions leaves the edit without a label.
    """
    required, survived = label.facts.get("required_edits"), label.facts.get("survived_edits")
    if not isinstance(required, int) or not isinstance(survived, int):
        return None
    return required + 1 if label.label else required - survived


TASK = Task(
    name="wikipedia-edits",
    title="Edits of Wikipedia paragraphs",
    question="Will this edit of a Wikipedia paragraph stay, or be reverted?",
    classes=("rejected", "accepted"),
    id_prefix="we-",
    period_kind=PeriodKind.WEEK,
    cap=500,
    sample_type=Edit,
    label_facts=(
        "revert_delay_s",
        "survived_edits",
        "required_edits",
        "distinct_users",
        "page_hash_reverted",
        "paragraph_kind",
    ),
    slots=_slots,
    page=_page,
    text=lambda sample: f"{sample.article} {sample.section}\nDEL {sample.deleted}\nADD {sample.added}",
    own_texts=lambda sample: (sample.paragraph, sample.deleted, sample.added),
    extra_columns=("wikitext_before", "wikitext_after", "paragraph_after"),
    blocked_sources=("wikimedia", "wikipedia-mirrors"),
    subgroups=("paragraph_kind",),
    references=_references,
    rubric="proposal-5",
    flip_cost=_flip_cost,
    groups_tell=False,  # an article has many paragraphs, on which different people decide
    lineage=lambda sample: sample.lineage,
)
