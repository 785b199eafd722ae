"""post-domains: what is this post on X about? One of the six domains of MUSE's study.

MUSE (Zhou et al. 2024): misleading posts with the domain that people gave each. Their texts are not in the study's
repository; users who have them provide lines of JSON with id, text and domain.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path

from hellofresh.tasks._datasets import DataSet, OriginalFile, StatementRow, json_rows
from hellofresh.tasks._statements import statement_task

_LABELS = (
    "Health & medicine",
    "Politics & international affairs",
    "Economy & business",
    "Crime & law",
    "Social issues & human rights",
    "Other",
)


def _read(path: Path, language: str) -> Iterator[StatementRow]:
    for row in json_rows(path):
        yield StatementRow(
            key=row.text("tweet_id"),
            statement=row.text("text"),
            label=row.label("domain", _LABELS),
            language=language,
        )


TASK = replace(
    statement_task(
        "post-domains",
        "Domains of posts",
        prefix="pd-",
        classes=tuple(label.lower().replace("&", "and") for label in _LABELS),
        question="What is this post mainly about?",
        withheld=True,
    ),
    blocked_sources=(),
    prompts="post-domains",
)
DATASET = DataSet(
    name="post-domains",
    title="Domains of misleading posts (MUSE, Zhou et al. 2024)",
    home="the study's labels; texts of posts from X",
    licence="LicenseRef-not-stated",
    published=date(2024, 3, 17),
    labels=_LABELS,
    files=(OriginalFile(name="tweets.jsonl"),),
    read=_read,
    tasks={"post-domains": {label: number for number, label in enumerate(_LABELS)}},
    texts=False,
)
