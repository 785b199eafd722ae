"""What two sequences have in common, in order: the same blocks as `difflib`, found faster.

Ratcliff and Obershelp's way (https://docs.python.org/3/library/difflib.html, `autojunk=False`): the longest run that is
in both, the earliest of equal ones, then the same to the left and to the right of it. Each distinct item becomes one
character, and the length of the longest common run is found by halving, over sets of slices.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

__all__ = ["Block", "Gap", "common_ends", "gaps", "matching_blocks"]

_FIRST = 0x10000  # beyond the surrogates; room for a million distinct items of the shorter side
_NOWHERE = "\0"  # stands for every item that the shorter side has not
_SMALL = 3  # a stretch this short is not worth a set


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
    shorter = old if len(old) < len(new) else new
    distinct = dict.fromkeys(shorter)
    if distinct.keys().isdisjoint(new if shorter is old else old):
        return []
    codes = {item: chr(_FIRST + place) for place, item in enumerate(distinct)}
    left, right = _encoded(old, codes), _encoded(new, codes)
    found: list[Block] = []
    todo = [(0, len(left), 0, len(right))]
    while todo:
        a, b, c, d = todo.pop()
        i, j, size = _longest(left[a:b], right[c:d])
        if not size:
            continue
        i, j = a + i, c + j
        found.append(Block(i, j, size))
        if a < i and c < j:
            todo.append((a, i, c, j))
        if i + size < b and j + size < d:
            todo.append((i + size, b, j + size, d))
    return _joined(sorted(found))


def gaps(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[Gap]:
    """What lies between the blocks, in order."""
    found: list[Gap] = []
    i = j = 0
    for block in [*matching_blocks(old, new), Block(len(old), len(new), 0)]:
        if i < block.old_start or j < block.new_start:
            found.append(Gap(i, block.old_start, j, block.new_start))
        i, j = block.old_start + block.size, block.new_start + block.size
    return found


def _encoded(items: Sequence[Hashable], codes: Mapping[Hashable, str]) -> str:
    return "".join([codes.get(item, _NOWHERE) for item in items])


def _longest(left: str, right: str) -> tuple[int, int, int]:
    """Places and length of the longest common run: earliest on the left, then earliest on the right."""
    place, low, high = 0, 0, min(len(left), len(right))
    while low < high:
        size = (low + high + 1) // 2
        start = _first_common(left, right, size)
        if start is None:
            high = size - 1
        else:
            place, low = start, size
    return place, right.find(left[place : place + low]), low


def _first_common(left: str, right: str, size: int) -> int | None:
    """Where the first run of that length begins on the left that is on the right too."""
    runs = range(len(left) - size + 1)
    if len(left) - size < _SMALL:
        return next((i for i in runs if left[i : i + size] in right), None)
    known = {right[j : j + size] for j in range(len(right) - size + 1)}
    return next((i for i in runs if left[i : i + size] in known), None)


def _joined(blocks: list[Block]) -> list[Block]:
    """Blocks that touch on both sides made one."""
    joined: list[Block] = []
    for block in blocks:
        last = joined[-1] if joined else None
        if last is not None and (last.old_start + last.size, last.new_start + last.size) == block[:2]:
            joined[-1] = Block(last.old_start, last.new_start, last.size + block.size)
        else:
            joined.append(block)
    return joined
