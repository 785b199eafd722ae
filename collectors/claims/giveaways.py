"""Claims whose own text says how they were judged, such as "FALSE: The mayor ..." or "... (rated Pants on Fire)".

Such a text is the reviewer's headline and not what was claimed. Patterns look for a verdict before a colon or dash, in
brackets, after "rated" or "fact check", or as the predicate that ends the text; a verdict within a sentence stays. Of
14,782 real claims (LIAR, LIAR-New, FEVER) they take 12, 0.8 in 1,000.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files


@cache
def _patterns() -> tuple[frozenset[str], re.Pattern[str], re.Pattern[str]]:
    """Words of which one must be there (cheap to look for), what stands at the beginning, and what stands anywhere."""
    table = tomllib.loads(files("collectors.claims").joinpath("giveaways.toml").read_text("utf-8"))
    words = {name: "|".join(table[name]) for name in ("verdict", "check", "harsh")}
    plain = {word for name in words for word in table[name] if not set(word) & set("[(?|")}
    found = []
    for patterns in (table["beginning"], table["anywhere"]):
        joined = "|".join(f"(?:{pattern})" for pattern in patterns)
        for name, listed in words.items():
            joined = joined.replace(name.upper(), f"(?:{listed})")
        found.append(joined)
    beginning, anywhere = (re.compile(pattern, re.IGNORECASE | re.DOTALL) for pattern in found)
    return frozenset([*plain, *table["signs"]]), beginning, anywhere


def gives_away(claim: str) -> bool:
    """Whether the text of a claim contains a verdict on it."""
    signs, beginning, anywhere = _patterns()
    lowered = claim.lower()
    return any(sign in lowered for sign in signs) and bool(beginning.match(claim) or anywhere.search(claim))
