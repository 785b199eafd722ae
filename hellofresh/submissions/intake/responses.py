"""What deserves a second look in responses: their length, language, links, and texts that stand twice.

Nothing of it is a fault: a submission may mean it.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from hellofresh.submissions.intake.faults import Fault
from hellofresh.submissions.intake.predictions import Prediction

__all__ = ["about_responses"]

_SHORT, _LONG = 8, 400
"""Words; the responses of the released study have 10 to 250."""
_LINK = re.compile(r"https?://[^\s<>\"')\]]+")
_ENGLISH = frozenset({
    "the", "a", "an", "and", "or", "of", "to", "in", "is", "are", "was", "were", "be", "been", "that", "this", "it",
    "for", "on", "with", "as", "at", "by", "from", "not", "no", "has", "have",
})  # fmt: skip
_LEAST_ENGLISH = 0.08
"""Share of common words that an English text of some length has at least; usual are 0.3 to 0.5."""
_WORDS_TO_TELL = 20


def about_responses(path: Path, predictions: Sequence[Prediction]) -> Iterator[Fault]:
    """A line for each kind of oddity, with how many texts have it and the first of them."""
    texts = {item.id: item for item in predictions if item.text is not None and item.repetition == 1}
    kinds = (
        ("short-response", f"fewer than {_SHORT} words", lambda item: len(_words(item)) < _SHORT),
        ("long-response", f"more than {_LONG} words", lambda item: len(_words(item)) > _LONG),
        ("other-language", "no English text, as far as common words tell", _is_foreign),
        ("uncited-link", "a link in the text that is not among sources", _has_uncited),
    )
    for code, what, odd in kinds:
        found = [name for name, item in texts.items() if odd(item)]
        if found:
            yield Fault(code, str(path), f"{len(found)} responses have {what}, the first is that to {found[0]}",
                        "If this is intended, change nothing.")  # fmt: skip
    times = Counter(" ".join(_words(item)).casefold() for item in texts.values())
    repeated = sum(count for count in times.values() if count > 1)
    if repeated:
        what = f"{repeated} responses are word by word the same as another one"
        yield Fault("repeated-response", str(path), what, "If this is intended, change nothing.")


def _words(item: Prediction) -> list[str]:
    return (item.text or "").split()


def _is_foreign(item: Prediction) -> bool:
    text = _LINK.sub(" ", item.text or "")
    letters = [char for char in text if char.isalpha()]
    latin = sum("LATIN" in unicodedata.name(char, "") for char in letters)
    words = re.findall(r"[a-z]+", text.casefold())
    if letters and latin < 0.7 * len(letters):
        return True
    return len(words) >= _WORDS_TO_TELL and sum(word in _ENGLISH for word in words) < _LEAST_ENGLISH * len(words)


def _has_uncited(item: Prediction) -> bool:
    cited = {address.rstrip("/.,;") for address in item.sources}
    return any(found.rstrip("/.,;") not in cited for found in _LINK.findall(item.text or ""))
