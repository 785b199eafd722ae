"""How much the wording of a claim alone reveals of its verdict.

The claim in a review is often the reviewer's headline: "Misleading post says ...", "Is it true that ...?
No." Publishers repeat such phrases; genuine claims share none. So a linear classifier learns, for each
language, which beginnings, endings and words beside punctuation predict the verdicts of each publisher and of all
together. It predicts unseen claims only. Words in the middle are left out, since they carry the claim's topic.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from hellofresh.core.errors import missing_extra
from hellofresh.core.files import sha256_text

# A word, a character of a script that is written without spaces, or a punctuation mark.
_TOKEN = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|\w+|[^\w\s]")
_LONGEST = 4  # words of a beginning or an ending
_FOLDS, _FEWEST, _MOST = 5, 20, 20_000
_TRUE = 2


class Worded(NamedTuple):
    """A claim and its reviewer: key (equal for equal claims), site, language, text, and label if decided."""

    key: str
    site: str
    language: str
    text: str
    label: int | None


def chances_of_true(claims: Sequence[Worded]) -> dict[Worded, float]:
    """The probability, predicted from the wording alone, that a claim was found true.

    Both classes have equal weight, however rare one is, so that 0.5 means an uninformative wording.

    Args:
        claims: including those of other quarters, whose verdicts are public; more claims give better predictions. At
            most 20,000 of each language are used for training.

    Returns:
        Claims in languages with at least 20 decided ones of either class; other languages have too little data.

    Raises:
        UsageError: if any language has enough data and scikit-learn is not installed.
    """
    languages: dict[str, dict[str, Worded]] = defaultdict(dict)
    for claim in sorted(
        claims, key=lambda claim: (claim.language, claim.key, claim.site, claim.text, str(claim.label))
    ):
        languages[claim.language].setdefault(f"{claim.site} {claim.key}", claim)
    found: dict[Worded, float] = {}
    for language, once in languages.items():
        decided = [claim for claim in once.values() if claim.label is not None]
        sides = np.bincount([claim.label == _TRUE for claim in decided], minlength=2)
        if min(sides) >= _FEWEST:
            drawn = sorted(decided, key=lambda claim: sha256_text(claim.key))[:_MOST]
            found |= _cross_fitted(drawn, [claim for claim in claims if claim.language == language])
    return found


def _cross_fitted(learnt: Sequence[Worded], asked: Sequence[Worded]) -> dict[Worded, float]:
    """Predictions for each claim by models trained on other folds; all reviews of a claim are in one fold."""
    try:
        from sklearn.feature_extraction.text import CountVectorizer
        from sklearn.linear_model import LogisticRegression
    except ImportError:
        raise missing_extra("telling claims from verdicts", "scikit-learn", "baselines") from None
    found: dict[Worded, float] = {}
    for fold in range(_FOLDS):
        others = [claim for claim in learnt if _fold(claim) != fold]
        held = [claim for claim in asked if _fold(claim) == fold]
        sides = np.array([claim.label == _TRUE for claim in others], dtype=np.intp)
        counts = np.bincount(sides, minlength=2)
        rarer = counts.min()
        if not held or not rarer:
            continue
        forms = CountVectorizer(analyzer=_forms, binary=True, min_df=2)
        # Both classes get the weight of the rarer one, and regularisation grows with the data, so that the share of
        # unremarkable claims flagged is similar for small and large, balanced and unbalanced languages.
        strength = min(1.5, 25 / (2 * rarer) ** 0.5)
        model = LogisticRegression(C=strength, solver="liblinear", random_state=0)
        try:
            model.fit(forms.fit_transform(others), sides, sample_weight=rarer / counts[sides])
        except ValueError:  # no phrase occurs twice
            continue
        chances = model.predict_proba(forms.transform(held)).max(axis=1)
        found |= dict(zip(held, chances.tolist(), strict=True))
    return found


def _fold(claim: Worded) -> int:
    return int(sha256_text(claim.key)[:8], 16) % _FOLDS


def _forms(claim: Worded) -> Iterator[str]:
    """Beginnings, endings, and words beside punctuation, each for all publishers and for this one."""
    words = _TOKEN.findall(unicodedata.normalize("NFKC", claim.text).casefold())
    end = len(words) - (words[-1:] == ["."])
    most = range(1, min(_LONGEST, end) + 1)
    forms = [f"^ {' '.join(words[:count])}" for count in most]
    forms += [f"{' '.join(words[end - count : end])} $" for count in most]
    forms += [f"{a} {b}" for a, b in pairwise(words) if not (a[0].isalnum() and b[0].isalnum())]
    for form in forms:
        yield form
        yield f"{claim.site} {form}"
