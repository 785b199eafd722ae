"""A funnel adds up, or is no funnel."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hellofresh.candidates.collection import read_funnel
from hellofresh.candidates.funnel import Drop, Funnel
from hellofresh.errors import DataError
from hellofresh.files import canonical_json
from hellofresh.samples import to_json

COUNTS = st.integers(0, 1000)
DROPS = st.lists(COUNTS.map(lambda n: Drop("why", "what it means", n)), max_size=5).map(tuple)
KEPT = st.dictionaries(st.sampled_from(["2023-04", "2023-05"]), st.fixed_dictionaries({0: COUNTS, 1: COUNTS}))


@given(DROPS, KEPT, st.integers(-3, 3))
def test_it_adds_up_or_is_refused(drops: tuple[Drop, ...], kept: dict[str, dict[int, int]], off: int) -> None:
    total = sum(drop.count for drop in drops) + sum(sum(labels.values()) for labels in kept.values())
    if off == 0:
        funnel = Funnel("rows", total, drops, kept)
        assert funnel.dropped + funnel.total_kept == funnel.rows_in
    else:
        with pytest.raises(DataError) as caught:
            Funnel("rows", total + off, drops, kept)
        assert caught.value.code == "funnel"


@given(DROPS, KEPT)
def test_it_reads_back_from_json(drops: tuple[Drop, ...], kept: dict[str, dict[int, int]]) -> None:
    import json

    total = sum(drop.count for drop in drops) + sum(sum(labels.values()) for labels in kept.values())
    funnel = Funnel("rows", total, drops, kept, {"pages": 3})
    assert read_funnel(json.loads(canonical_json(to_json(funnel)))) == funnel


def test_both_labels_are_counted_in_every_period(make) -> None:
    candidates = make.notes(2, 0, months=(5,)) + make.notes(1, 3, months=(4,))
    assert Funnel.count_kept(candidates) == {"2023-04": {0: 3, 1: 1}, "2023-05": {0: 0, 1: 2}}
    assert list(Funnel.count_kept(candidates)) == ["2023-04", "2023-05"]
