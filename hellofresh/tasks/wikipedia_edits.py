"""wikipedia-edits: will this edit of a paragraph stay, or be reverted?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hellofresh.core.net.addresses import links_in
from hellofresh.core.quarters import PeriodKind
from hellofresh.tasks._base import SamplePage, Task, TextPart
from hellofresh.tasks.samples import Candidate, Label, Sample

LICENSE = "CC-BY-SA-4.0"


@dataclass(frozen=True, slots=True)
class EditRevision:
    """The revision that made the edit, and the one it was made on."""

    id: int
    parent: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit(Sample):
    """A sample of wikipedia-edits; `group` is `w-<page id>`.

    Attributes:
        article: the page's title at the edit.
        section: heading of the section, empty for the lead.
        paragraph: the paragraph before the edit, as a reader sees it.
        deleted: the spans taken out, in order, joined by ` [...] `.
        added: the spans put in, in order, joined by ` [...] `.
        revision: ids of the revision and of its parent.
    """

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
    link = f"https://en.wikipedia.org/wiki/Special:Diff/{sample.revision.parent}/{sample.revision.id}"
    return SamplePage(title, changed, link)


def proposed(paragraph: str, sources: Sequence[str]) -> str:
    """A paragraph as raters see it, whoever wrote it: on one line, then the addresses of the sources put in."""
    cited = f"\n\nSources: {' '.join(dict.fromkeys(sources))}" if sources else ""
    return f"{' '.join(paragraph.split())}{cited}"


def _references(item: Candidate) -> Mapping[str, str]:
    """The paragraph as the edit left it; nothing where it was taken out whole, or collected by an earlier version."""
    after, before = (str(item.extras.get(name, "")) for name in ("paragraph_after", "wikitext_before"))
    added = [link for link in links_in(str(item.extras.get("wikitext_after", ""))) if link not in before]
    return {"edit-stayed" if item.label.label else "edit-reverted": proposed(after, added)} if after else {}


def _flip_cost(label: Label) -> int | None:
    """Colluding editors, with one revision each before anybody else acts, who turn the label into the other one.

    The rule counts revisions. An edit that stayed goes if one editor puts the old paragraph back and N more leave it
    there. One that stood for s revisions stays if N - s editors change something else first. Outlasting others does
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
    groups_tell=False,  # an article has many edits, on which different people decide
)
