"""Edits of one paragraph are of one lineage, whatever became of it in between, and whatever comes later."""

from __future__ import annotations

import pytest

from collectors.wikipedia.stability import Decision, EditsSettings
from tests.collectors.wikipedia.conftest import decide

LEAD = "The old mill by the river was built of grey stone in the year of the great flood, and it has two wheels."
MORE = "A second paragraph tells of the miller, who kept forty geese and a goat, and never once went to town."
ADDED = " Its roof was taken off in a storm and put on again by the miller's three daughters in one summer."
NEW = "Nobody now remembers when stones were first laid here, but deeds name a watermill as early as 1204, with a weir."
OTHER = "Nothing of this was ever here before, since people who came by wrote all they knew in books of their own."

BOTH = f"{LEAD}\n\n{MORE}"


def edits(wiki, *texts: str | None) -> list[Decision]:
    settings = EditsSettings(base_revisions=1, keep_restored=True)
    return [one for one in decide(wiki.history(texts), settings) if one.lineage]


@pytest.mark.parametrize(
    ("texts", "same"),
    [
        pytest.param((LEAD, LEAD + ADDED, LEAD), True, id="revert"),
        pytest.param((LEAD, LEAD + ADDED, LEAD + ADDED + NEW), True, id="next edit"),
        pytest.param((LEAD, LEAD + ADDED, NEW, NEW + OTHER), True, id="rewrite"),
        pytest.param((LEAD, LEAD + ADDED, f"== A ==\n{LEAD}{ADDED}", f"== A ==\n{LEAD}{ADDED}{NEW}"), True, id="move"),
        pytest.param((LEAD, LEAD + ADDED, None, LEAD + ADDED, NEW + LEAD), True, id="hidden in between"),
        pytest.param((LEAD, LEAD + ADDED, "", LEAD + ADDED, NEW + LEAD), True, id="blanked in between"),
        pytest.param((BOTH, f"{LEAD}{ADDED}\n\n{MORE}", f"{LEAD}{ADDED}\n\n{MORE}{NEW}"), False, id="other"),
        pytest.param(
            (BOTH, f"{LEAD}{ADDED}\n\n{MORE}", f"{LEAD}\n\n{MORE}{ADDED}", f"{LEAD}\n\n{MORE}{ADDED}{NEW}"),
            True,
            id="words moved",
        ),
    ],
)  # fmt: skip
def test_edits_of_one_paragraph_share_a_name(wiki, texts: tuple[str | None, ...], same: bool) -> None:
    found = edits(wiki, *texts)
    assert len(found) >= 2
    assert bool(set(found[0].lineage) & set(found[-1].lineage)) is same


def test_the_lineage_of_an_edit_does_not_depend_on_what_comes_after(wiki) -> None:
    texts = (BOTH, f"{LEAD}{ADDED}\n\n{MORE}", f"{LEAD}{ADDED}\n\n{MORE}{NEW}", f"{LEAD}{ADDED} {MORE}{NEW}", LEAD,
             f"{LEAD}\n\n{OTHER}{MORE}", f"{OTHER}{MORE}")  # fmt: skip
    whole = {(one.revision.id, one.number): one.lineage for one in edits(wiki, *texts)}
    assert len(whole) >= 3
    for count in range(2, len(texts)):
        for one in edits(wiki, *texts[:count]):
            assert one.lineage == whole[one.revision.id, one.number]
