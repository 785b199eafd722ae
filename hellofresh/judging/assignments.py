"""Who rates what, and in which order: what the page Rate knows.

`page/` in the study's private folder is all that the page may read: `assignments.json` (raters by number, with the hash
of their token), the rubric, the samples, the blinded responses, and a file for each rater of what they submit. The key,
the salt of the blinding, and raters' names and tokens lie beside it, out of the page's reach.
"""

from __future__ import annotations

import hashlib
import hmac
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from hellofresh.core.errors import UsageError, WorkspaceError
from hellofresh.core.files import read_model, sha256_text, write_json
from hellofresh.judging.table import RatingPhase
from hellofresh.tasks.samples import to_json

__all__ = [
    "Assignments",
    "RaterPlan",
    "RatingTurn",
    "deal",
    "order_of",
    "read_assignments",
    "token_hash",
    "write_assignments",
]

_FILE = "assignments.json"


@dataclass(frozen=True, slots=True)
class RatingTurn:
    """One sample for one rater: its responses in the order in which they are shown."""

    sample: str
    phase: str
    responses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RaterPlan:
    """What one rater does.

    Attributes:
        rater: their number, such as `rater-1`.
        pair: number of the pair that they are one of.
        token_sha256: of the token that opens the page.
        turns: in order; those of the onboarding come first.
    """

    rater: str
    pair: int
    token_sha256: str
    turns: tuple[RatingTurn, ...]

    @property
    def responses(self) -> Iterator[tuple[RatingTurn, str]]:
        """All responses in order, each with its turn."""
        return ((turn, response) for turn in self.turns for response in turn.responses)


@dataclass(frozen=True, slots=True)
class Assignments:
    """All raters of a study.

    Attributes:
        edition, task: of the study.
        rubric_sha256: what they rate by.
        raters: in the order of their numbers.
        format: of the file.
    """

    edition: str
    task: str
    rubric_sha256: str
    raters: tuple[RaterPlan, ...]
    format: int = 1

    def of_token(self, token: str) -> RaterPlan | None:
        """Whose token it is; None where it is nobody's."""
        hashed = token_hash(token)
        found = [plan for plan in self.raters if hmac.compare_digest(plan.token_sha256, hashed)]
        return found[0] if found else None


def token_hash(token: str) -> str:
    """What is kept of a token where the page can read it."""
    return sha256_text(f"rate {token}")


def deal(
    samples: Sequence[str], raters: int, *, share: float, onboarding: int, seed: str
) -> list[list[tuple[str, RatingPhase]]]:
    """Deal samples to raters in pairs, at random.

    Each sample goes to one pair. Of what a rater gets, about `share` goes to both of the pair, the rest to one of them.
    Samples of the onboarding go to everybody, first.

    Args:
        samples: ids, in any order.
        raters: how many; an even number.
        share: of a rater's samples, between 0 and 1.
        onboarding: how many samples are for practice.
        seed: the same seed deals the same.

    Raises:
        UsageError: if a number makes no sense.
    """
    _check(len(samples), raters, share, onboarding)
    source = _random(seed, "deal")
    shuffled = source.sample(sorted(samples), len(samples))
    practice, rest = shuffled[:onboarding], shuffled[onboarding:]
    dealt: list[list[tuple[str, RatingPhase]]] = [[] for _ in range(raters)]
    for pair in range(raters // 2):
        own = rest[pair :: raters // 2]
        both = round(share * len(own) / (2 - share))
        for side in (0, 1):
            mine = own[:both] + own[both + side :: 2]
            source.shuffle(mine)
            dealt[2 * pair + side] = [(name, RatingPhase.ONBOARDING) for name in practice] + [
                (n, RatingPhase.MAIN) for n in mine
            ]
    return dealt


def _check(samples: int, raters: int, share: float, onboarding: int) -> None:
    if raters < 2 or raters % 2:
        raise UsageError(f"{raters} raters", expected="an even number: they work in pairs", code="odd-raters")
    if not 0 <= share <= 1:
        raise UsageError(f"a share of {share:g}", expected="0 to 1", code="bad-share")
    if not 0 <= onboarding < samples:
        raise UsageError(
            f"{onboarding} of {samples} samples for the onboarding", expected="fewer", code="bad-onboarding"
        )


def order_of(responses: Sequence[str], sample: str, rater: str, seed: str) -> tuple[str, ...]:
    """A sample's responses in the order that one rater sees."""
    return tuple(_random(seed, "order", sample, rater).sample(sorted(responses), len(responses)))


def _random(*parts: str) -> random.Random:
    digest = hashlib.sha256("\0".join(parts).encode()).digest()
    return random.Random(digest)  # noqa: S311 - to be repeated, not to be secret


def write_assignments(folder: Path, assignments: Assignments) -> None:
    """Keep them in the page's folder."""
    write_json(folder / _FILE, to_json(assignments), mode=0o600)


def read_assignments(folder: Path) -> Assignments:
    """The assignments in a page's folder.

    Raises:
        WorkspaceError: if there are none.
        DataError: if the file is damaged.
    """
    path = folder / _FILE
    if not path.is_file():
        fix = "Run 'hellofresh rate assign' first."
        raise WorkspaceError("nobody is assigned here", where=str(folder), fix=fix, code="no-assignments")
    return read_model(path, Assignments)
