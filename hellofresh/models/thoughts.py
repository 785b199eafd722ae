"""Takes a model's reasoning out of its text, where a server leaves it there.

Servers without a parser of reasoning (vLLM, SGLang, llama.cpp, Ollama, LM Studio by default) send it with the marks of
the model's template. Where the template opens it in the prompt, only the closing mark arrives.
"""

from __future__ import annotations

import re
from dataclasses import replace

from hellofresh.models import Answer, Finish

_NAME = r"(?:[a-z]{1,12}:)?(?:think|thinking|thoughts?|reasoning)"
_OPENING = re.compile(
    rf"<{_NAME}(?:\s[^<>]{{0,80}})?>|\[THINK\]|<\|channel\|>\s*(?:analysis|commentary)\b[^<]{{0,80}}<\|message\|>"
    r"|\u25c1think\u25b7|<\|START_THINKING\|>|<\|begin_of_thought\|>|<unused94>|<\|channel>\s*thought|\Aanalysis(?=[A-Z])",
    re.IGNORECASE,
)
_CLOSING = re.compile(
    rf"</{_NAME}\s*>|\[/THINK\]|<\|channel\|>\s*final\b[^<]{{0,80}}(?:<\|constrain\|>[^<]{{0,80}})?<\|message\|>"
    r"|\u25c1/think\u25b7|<\|END_THINKING\|>|<\|end_of_thought\|>|<unused95>|<channel\|>|\Aanalysis(?s:.*?)assistantfinal",
    re.IGNORECASE,
)


def visible_part(text: str) -> tuple[int, int]:
    """Beginning and end of the answer in a text: after the last closed thought, and before one that stays open."""
    start = max((match.end() for match in _CLOSING.finditer(text)), default=0)
    opened = _OPENING.search(text, start)
    return start, len(text) if opened is None else opened.start()


def without_thought(answer: Answer) -> Answer:
    """The answer with the reasoning in its text moved to `thought`; cut off if a thought stays open."""
    start, end = visible_part(answer.text)
    if (start, end) == (0, len(answer.text)):
        return answer
    thought = "\n".join(filter(None, (answer.thought, answer.text[:start].strip(), answer.text[end:].strip())))
    is_open = end < len(answer.text) and answer.finish is Finish.STOP and answer.call is None
    finish = Finish.LENGTH if is_open else answer.finish
    return replace(answer, text=answer.text[start:end].strip(), thought=thought, finish=finish)
