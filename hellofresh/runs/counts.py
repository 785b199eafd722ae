"""What became of the questions of a run: a missing answer is counted apart from a wrong one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum

from hellofresh.core.intake import Intake
from hellofresh.models import Answer, Finish
from hellofresh.tasks.outputs import Choice, Output, Status

WIDER_TOKENS = 4096
"""By how many tokens the limit is wider when an answer that was cut off before its first word is asked for again."""
WIDER = "-wider"
"""The end of the name of the step of such a second question."""
ASIDE = frozenset({"certainty", "justify", "leaning", "result-certainty"})
"""Kinds of steps that decide nothing."""


class AnswerFate(StrEnum):
    """What became of one output that was asked for; all but the first and the last count as wrong."""

    READ = "read"
    UNREADABLE = "unreadable"
    CUT = "cut"
    EMPTY = "empty"
    TOOL = "tool"
    REFUSED = "refused"
    FAILED = "failed"


NEVER_CAME = frozenset({AnswerFate.CUT, AnswerFate.EMPTY, AnswerFate.TOOL})
# The marks of a call of a tool that a server without the model's parser leaves in the text.
_CALL = re.compile(
    r"</?tool_call\b|<function(?:=|_call)|<invoke name=|\[TOOL_CALLS?\]"
    r"|<\|(?:python_tag|tool_call)|<\uff5ctool\u2581call"
)


def fate_of(output: Output, answer: Answer | None) -> AnswerFate:
    """What became of an output, by the answer that decided it, if there is one."""
    is_forecast = isinstance(output, Choice) and len(set(output.probabilities)) == 1  # that it is too early to tell
    if output.status is Status.ANSWERED or (output.status is Status.NONE and is_forecast):
        return AnswerFate.READ
    if output.status is Status.BLOCKED:
        return AnswerFate.REFUSED
    if answer is not None and (answer.finish is Finish.PAUSED or _CALL.search(answer.text)):
        return AnswerFate.TOOL
    if answer is not None and answer.finish is Finish.LENGTH:
        return AnswerFate.CUT
    return AnswerFate.EMPTY if answer is not None and answer.is_silent else AnswerFate.UNREADABLE


def is_spent(answer: Answer) -> bool:
    """Whether the limit was reached before the first word, as when hidden reasoning takes all of it."""
    return answer.finish is Finish.LENGTH and answer.is_silent


def counted(asked: int, fates: Iterable[AnswerFate], failed: int = 0) -> dict[str, int]:
    """The number of outputs asked for, and of each fate; raises DataError unless these add up to it."""
    counts = dict.fromkeys(AnswerFate, 0)
    for fate in fates:
        counts[fate] += 1
    counts[AnswerFate.FAILED] += failed
    left_out = {str(fate): number for fate, number in counts.items() if fate is not AnswerFate.READ}
    Intake("outputs", asked, counts[AnswerFate.READ], left_out)
    return {"asked": asked, str(AnswerFate.READ): counts[AnswerFate.READ], **left_out}


def remedies(counts: Mapping[str, int], limit: int, *, thinks: bool) -> Iterator[str]:
    """A sentence for each kind of answer that did not come or could not be read, with what to do.

    Args:
        counts: as of `counted`.
        limit: of tokens, hidden ones included, at which answers were cut off.
        thinks: whether the model shows or reports reasoning.
    """
    asked, hidden = counts["asked"], ", spent on hidden reasoning" if thinks else ""
    more = WIDER_TOKENS if limit < WIDER_TOKENS else 4 * WIDER_TOKENS
    if cut := counts[AnswerFate.CUT]:
        yield (
            f"{cut} of {asked} answers ended at the limit of {limit:,} tokens{hidden}; set `hidden_tokens = {more}` "
            f"for this model ([models.NAME.abilities] in hellofresh.toml), or `--hidden-tokens {more}`"
        )
    if empty := counts[AnswerFate.EMPTY]:
        yield (
            f"{empty} of {asked} answers were empty{hidden}; ask one question (`hellofresh models NAME --check`), and "
            "look at the server's template and its parser of reasoning"
        )
    if tool := counts[AnswerFate.TOOL]:
        yield (
            f"{tool} of {asked} answers stopped for a tool (pause_turn, or a call in the text, such as <tool_call>) "
            "and count as wrong; ask without the model's own search, start the server with a parser of tool calls, or "
            "set `tools = false` for this model ([models.NAME.abilities] in hellofresh.toml)"
        )
    if refused := counts[AnswerFate.REFUSED]:
        yield f"{refused} of {asked} answers were refused by the model or its provider, and count as wrong"
    if unreadable := counts[AnswerFate.UNREADABLE]:
        yield f"{unreadable} of {asked} answers do not begin with one of the allowed answers, and count as wrong"
