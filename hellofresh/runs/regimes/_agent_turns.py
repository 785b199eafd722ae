"""Reading one turn of a model that may search: its query or its decision."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hellofresh.models import Answer, ToolCall
from hellofresh.runs.regimes._texts import one_line

__all__ = ["QUERY_CHARACTERS", "Turn", "normalised", "read_call", "read_turn"]

QUERY_CHARACTERS = 300
# At the beginning of a line in any case, whatever marks the line; within one only in capitals after a sentence.
_SEARCH = re.compile(
    r"(?:^[^\w\n]*(?:\d{1,2}[.)]\s*)?\W{0,4}(?i:search)|(?<=[.!?:;)\]\"]\s)\W{0,4}SEARCH|(?<=[.!?:;)\]\"]\s\s)\W{0,4}SEARCH)"
    r"\s?[*_`]{0,3}\s?[:\uff1a](?P<query>[^\n]*)",
    re.MULTILINE,
)
# Some models write the result themselves, on the same line.
_INVENTED = re.compile(r"\s*\bsearch results?\s*:.*$", re.IGNORECASE)
_AROUND = " \t*_`"
_WORD = re.compile(r"[^\W_]")


@dataclass(frozen=True, slots=True)
class Turn:
    """What a model wrote, as far as it counts.

    Attributes:
        text: up to the end of the first line that searches; what comes after it was written without a result.
        query: what to search for, empty if nothing.
        call: the call of a tool that the query came with.
    """

    text: str
    query: str = ""
    call: ToolCall | None = None


def read_turn(text: str) -> Turn:
    """The turn in an answer; a search line without a word in it is none."""
    for match in _SEARCH.finditer(text):
        line = _INVENTED.sub("", match["query"])
        query = one_line(line.strip(_AROUND), QUERY_CHARACTERS).strip(_AROUND)
        if _WORD.search(query):
            return Turn(text[: match.start("query") + len(line)].rstrip(), query)
    return Turn(text)


def read_call(answer: Answer) -> Turn:
    """The turn of a model that calls tools; one that writes a line that searches instead is understood too.

    A call without a word in it is none.
    """
    call = answer.call
    query = one_line(call.argument, QUERY_CHARACTERS) if call is not None else ""
    return Turn(answer.text, query, call) if _WORD.search(query) else read_turn(answer.text)


def normalised(query: str) -> str:
    """What two queries have in common that search for the same."""
    return " ".join(re.findall(r"\w+", query.casefold()))
