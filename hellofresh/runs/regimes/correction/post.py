"""The post as prompts show it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from hellofresh.runs.regimes._base import Case
from hellofresh.runs.regimes._texts import one_line
from hellofresh.runs.regimes.correction.describe import DescribedPictures
from hellofresh.runs.regimes.correction.links import without_links

__all__ = ["plain", "plain_text", "shown_post"]

_EMOJI = re.compile(
    "[\U0001f000-\U0001faff\u2600-\u27bf\u2190-\u21ff\u2b00-\u2bff\u3030\u303d\u3297\u3299\ufe0f\u200d\u20e3"
    "\U000e0020-\U000e007f]+"
)


def shown_post(case: Case, pictures: DescribedPictures) -> Mapping[str, str]:
    """The slots `by` (whose post it is, where the task says so) and `pictures` (their descriptions, if any)."""
    author = one_line(case.slots.get("author", ""), 100)
    described = case.step("pictures", described=pictures.shown).text if pictures.shown else ""
    return {"by": f", by {author}" if author else "", "pictures": described}


def plain_text(case: Case, pictures: DescribedPictures) -> str:
    """Post and pictures without addresses and emojis, by which pages are compared with it."""
    texts = [case.slots.get("post", ""), *pictures.texts]
    return " ".join(map(plain, texts)).strip()


def plain(text: str) -> str:
    """A text without addresses and emojis, on one line."""
    return " ".join(_EMOJI.sub(" ", without_links(text).text).split())
