"""Shared parts of the tasks about statements: their samples, and how these are shown and published.

The living one, `CLAIMS`, is here, too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from hellofresh.core.files import sha256_text
from hellofresh.core.quarters import PeriodKind
from hellofresh.stats.metrics import class_metrics
from hellofresh.tasks._base import SamplePage, Task, TextPart
from hellofresh.tasks.samples import Sample, common_fields

_FACT_CHECKERS = ("fact-checkers",)  # the blocked group of sources with verdicts on statements
_CAP = 250
_USUAL = "Is the statement true?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement(Sample):
    """A statement that is true or false.

    Attributes:
        statement: its text.
        language: ISO 639 code; empty where not known.
        speaker: who said it; empty where not known.
        context: where or on what occasion, or a question that it answers; empty where not known.
    """

    statement: str
    language: str
    speaker: str
    context: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedStatement(Statement):
    """A statement to be judged by the given texts.

    Attributes:
        evidence: the texts.
    """

    evidence: tuple[str, ...]


def with_evidence(sample: Statement, evidence: tuple[str, ...]) -> CheckedStatement:
    """The statement with texts to judge it by."""
    return CheckedStatement(**common_fields(sample, Statement), evidence=evidence)


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicStatement(Sample):
    """A statement whose text may not be published."""

    statement_sha256: str
    language: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicCheckedStatement(PublicStatement):
    """A statement and texts that may not be published."""

    evidence_sha256: str


def _public(sample: Statement) -> PublicStatement:
    texts = "\n".join((sample.statement, sample.speaker, sample.context))
    return PublicStatement(**common_fields(sample), language=sample.language, statement_sha256=sha256_text(texts))


def _public_checked(sample: CheckedStatement) -> PublicCheckedStatement:
    shared = common_fields(_public(sample), PublicStatement)
    return PublicCheckedStatement(**shared, evidence_sha256=sha256_text("\n".join(sample.evidence)))


def _slots(sample: Statement) -> Mapping[str, str]:
    evidence = {"evidence": "\n".join(sample.evidence) or "(none)"} if isinstance(sample, CheckedStatement) else {}
    return {
        "statement": sample.statement,
        "speaker": sample.speaker or "(not known)",
        "context": sample.context or "(not known)",
        "date": f"{sample.date:%Y-%m-%d}",
        **evidence,
    }


def _text(sample: Statement) -> str:
    said = " ".join((sample.statement, sample.speaker, sample.context))
    return "\n".join((said, *sample.evidence)) if isinstance(sample, CheckedStatement) else said


def _page(sample: Statement | PublicStatement) -> SamplePage:
    if isinstance(sample, PublicStatement):
        return SamplePage()
    evidence = "\n".join(sample.evidence) if isinstance(sample, CheckedStatement) else ""
    around = (("speaker", sample.speaker), ("context", sample.context), ("evidence", evidence))
    texts = (TextPart(name, text, "context") for name, text in around if text)
    return SamplePage(parts=(TextPart("statement", sample.statement), *texts))


def statement_task(
    name: str,
    title: str,
    *,
    prefix: str,
    classes: tuple[str, ...],
    facts: tuple[str, ...] = (),
    subgroups: tuple[str, ...] = (),
    question: str = "",
    withheld: bool = False,
    evidence: bool = False,
    living: bool = False,
) -> Task:
    """A task about statements.

    Args:
        name, title: its names on the command line and on the site.
        prefix: prefix of its sample ids.
        classes: what each label means.
        facts: facts published with a label besides the original label.
        subgroups: the facts by which analyses divide the samples, besides the language.
        question: one sentence; a usual one if left out.
        withheld: whether releases hold hashes instead of texts.
        evidence: whether statements are judged by given texts.
        living: whether new statements come every quarter.
    """
    sample, public = (CheckedStatement, PublicCheckedStatement) if evidence else (Statement, PublicStatement)
    usual = "Do these texts support or refute the statement?" if evidence else _USUAL
    return Task(
        name=name,
        title=title,
        question=question or usual,
        classes=classes,
        id_prefix=prefix,
        period_kind=PeriodKind.MONTH,
        cap=_CAP,
        sample_type=sample,
        label_facts=("original_label", *facts),
        slots=_slots,
        page=_page,
        text=_text,
        own_texts=lambda sample: (sample.statement,),
        public_type=public if withheld else None,
        public=(_public_checked if evidence else _public) if withheld else lambda sample: sample,
        blocked_sources=_FACT_CHECKERS,
        extra_columns=("first_shown_at",) if living else (),
        first_shown="first_shown_at" if living else "",
        track="statements",
        is_living=living,
        metrics=class_metrics(classes),
        prompts="checked-statements" if evidence else "statements",
        subgroups=(*subgroups, "language"),
    )


def two_classes(task: Task, *, prefix: str, classes: tuple[str, str] = ("false", "true")) -> Task:
    """The task with the original labels merged into two classes."""
    return replace(
        task,
        name=f"{task.name}-binary",
        title=f"{task.title}, two classes",
        question=_USUAL,
        id_prefix=prefix,
        classes=classes,
        metrics=class_metrics(classes),
    )


UNSTATED = "not stated"
"""The licence of a review that names none."""
_OPEN = re.compile(r"CC0-1\.0|CC-BY(-SA)?-\d\.\d|CC-MARK-1\.0")  # licences under which a claim's text may be published
_CLAIMS = statement_task(
    "claims",
    "Claims that fact-checkers reviewed",
    prefix="cl-",
    classes=("false", "mixed", "true"),
    facts=(
        *("publisher", "reviewed_at", "review_url", "reviews"),
        *("first_seen", "last_seen", "corrections", "retracted"),
    ),
    subgroups=("publisher",),
    question="Did fact-checkers find this claim false, mixed or true?",
    withheld=True,
    living=True,
)
CLAIMS = replace(_CLAIMS, public=lambda sample: sample if _OPEN.fullmatch(sample.license) else _public(sample))
"""Is what somebody claimed false, mixed or true, as fact-checkers judged it this quarter?"""
