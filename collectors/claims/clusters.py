"""Clusters of claims that say almost the same.

Two claims are near-equal where the Jaccard similarity of their sets of words is at least 0.8; pairs are proposed and
measured as for near-duplicates (`hellofresh.releases.draw.duplicates`). Clusters are what such pairs connect. The order
of the claims does not matter. Claims are short, so words are compared and not words in a row, as for longer texts.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations

from hellofresh.releases.draw.duplicates import JACCARD, shared_part, shingle_hashes, signature_bands

_WORDS = re.compile(r"\w+")
_MOST_IN_BUCKET = 40


def same_claim_key(claim: str) -> str:
    """Equal for claims that differ in case, punctuation and spaces only."""
    return " ".join(_WORDS.findall(unicodedata.normalize("NFKC", claim).casefold())) or claim


def claim_clusters(claims: Sequence[str]) -> list[int]:
    """The cluster of each claim: the position of its first member in the order of texts."""
    order = sorted(range(len(claims)), key=lambda position: claims[position])
    words = [shingle_hashes(claims[position], 1) for position in order]
    buckets: dict[tuple[int, bytes], list[int]] = defaultdict(list)
    for place, own in enumerate(words):
        for band in signature_bands(own):
            buckets[band].append(place)
    pairs: set[tuple[int, int]] = set()
    for members in buckets.values():
        pairs.update(combinations(members[:_MOST_IN_BUCKET], 2))
        pairs.update((members[0], later) for later in members[_MOST_IN_BUCKET:])
    parents = list(range(len(order)))

    def root(member: int) -> int:
        while parents[member] != member:
            parents[member] = parents[parents[member]]
            member = parents[member]
        return member

    for one, two in pairs:
        low, high = sorted((root(one), root(two)))
        if low != high and shared_part(words[one], words[two]) >= JACCARD:
            parents[high] = low
    clusters = [0] * len(claims)
    for place, position in enumerate(order):
        clusters[position] = order[root(place)]
    return clusters
