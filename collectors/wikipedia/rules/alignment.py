"""What two sequences have in common, in order, as `difflib` finds it without its heuristic for common items.

`cydifflib` is its port to C. It gives the same blocks, which the tests hold it to.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

from cydifflib import SequenceMatcher


class Block(NamedTuple):
    """`old[old_start : old_start + size] == new[new_start : new_start + size]`."""

    old_start: int
    new_start: int
    size: int


class Gap(NamedTuple):
    """`new[new_start:new_stop]` stands where `old[old_start:old_stop]` stood; one of the two may be empty."""

    old_start: int
    old_stop: int
    new_start: int
    new_stop: int


def common_ends(old: Sequence[Hashable], new: Sequence[Hashable]) -> tuple[int, int]:
    """How many items the two have in common at the beginning, and how many of the others at the end."""
    shortest = min(len(old), len(new))
    start = 0
    for one, other in zip(old, new, strict=False):
        if one != other:
            break
        start += 1
    end = 0
    for place in range(-1, start - shortest - 1, -1):
        if old[place] != new[place]:
            break
        end += 1
    return start, end


def matching_blocks(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[Block]:
    """The blocks that both have in common, in order, neighbouring ones as one."""
    blocks = SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
    return [Block(*block) for block in blocks[:-1]]


def gaps(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[Gap]:
    """What lies between the blocks, in order."""
    codes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return [Gap(*places) for tag, *places in codes if tag != "equal"]
