"""What is searched for: a few queries by a model that reads the post, or none."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hellofresh.models import Answer, Finish, Request
from hellofresh.runs.regimes._base import Case
from hellofresh.runs.regimes._reading import is_refusal
from hellofresh.runs.regimes._texts import clean, cut_words, one_line
from hellofresh.runs.regimes.correction.describe import DescribedPictures
from hellofresh.runs.regimes.correction.post import plain_text, shown_post
from hellofresh.runs.regimes.correction.settings import CorrectionSettings
from hellofresh.tasks.transcripts import AskedEvent, Event, NotedEvent

__all__ = ["QUERIER", "Queries", "write_queries"]

QUERIER = "querier"
_TOKENS_A_QUERY = 40
_CHARACTERS = 300
_LABEL = re.compile(r"^(?:[-*\u2022]\s*|\(?\d{1,2}[.):]\s*)?(?:(?:search )?query(?: \d+)?\s*:\s*)?", re.IGNORECASE)
_AROUND = " \"'`*\u201c\u201d\u2018\u2019\u00ab\u00bb"
_NONE = re.compile(r"none\W*$", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]")
_MARK = re.compile(r"^\[?[0-9a-f]{12} (?:text \d+|end)\b")
"""A line around a text in the question, which small models repeat."""


@dataclass(frozen=True, slots=True)
class Queries:
    """What is searched for.

    Attributes:
        texts: the queries, all different.
        problem: `none` if the model says that there is nothing to look up, so that there are no queries; `refused` or
            `empty` if its answer holds none, so that the post's first words are searched for; empty otherwise.
        events: what happened.
    """

    texts: Sequence[str]
    problem: str
    events: Sequence[Event]


async def write_queries(case: Case, settings: CorrectionSettings, pictures: DescribedPictures) -> Queries:
    """Have the querier write queries, one a line."""
    most = settings.queries_images if pictures.count else settings.queries
    message = case.step("queries", **shown_post(case, pictures), number=str(most), words=str(settings.query_words))
    request = Request((message,), _TOKENS_A_QUERY * most, sample=case.sample)
    answer = await case.ask("queries", "", request, role=QUERIER)
    texts, problem = ((), "refused") if is_refusal(answer) else read_queries(_whole(answer), most, settings.query_words)
    if problem in ("refused", "empty"):
        words = cut_words(one_line(plain_text(case, pictures), _CHARACTERS), settings.query_words).text
        texts = (words,) if _WORD.search(words) else ()
    values = {"most": most, "words": settings.query_words, "queries": list(texts), "problem": problem}
    return Queries(
        texts, problem, (AskedEvent(step="queries", role=QUERIER), NotedEvent(name="queries", values=values))
    )


def _whole(answer: Answer) -> str:
    """An answer without a last line that was cut off, if it has others."""
    head, _, _ = answer.text.rpartition("\n")
    return head if answer.finish is Finish.LENGTH and head.strip() else answer.text


def read_queries(text: str, most: int, words: int) -> tuple[tuple[str, ...], str]:
    """The first so many queries in an answer, each cut to so many words; or why there are none.

    A line that ends with a colon only announces others; `none` alone says that nothing is to be searched for.
    """
    found: dict[str, str] = {}
    for raw in clean(text).split("\n"):
        line = one_line(_LABEL.sub("", raw.strip(_AROUND)).strip(_AROUND), _CHARACTERS)
        if not found and _NONE.match(line):
            return (), "none"
        if _WORD.search(line) and not line.endswith(":") and not _MARK.match(line):
            found.setdefault(line.casefold(), cut_words(line, words).text)
    return tuple(found.values())[:most], "" if found else "empty"
