"""Claims whose wording alone tells their verdict are left out, and plain claims stay, those of fakes too."""

from __future__ import annotations

import gzip
import json
import random
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from hellofresh.core.quarters import Quarter
from hellofresh_parts.claims.collect import collect
from hellofresh_parts.claims.declared import ClaimsSettings
from hellofresh_parts.claims.wording import Worded, chances_of_true
from tests.fakes import refused

WORDS = (
    "mayor senator minister company union bank court hospital museum railway brewery sold closed bought hid copied "
    "faked repaired doctored doubled denied moved painted bridges vaccines records ballots photos gardens invoices "
    "taxes statues true fake no"
)
FORMS = {
    "a.example": (["Viral post wrongly says {}", "{}? Nothing points to that", "Old clip recycled: {}"], ["Right: {}"]),
    "b.example": (["Nothing to the tale that {}", "Satire taken at face value: {}", "So, {}? Nope."], ["So, {}? Yep."]),
}
Claim = tuple[str, int, bool]
"""Text, whether it is true, whether the reviewer's words are around it."""


def told(plain: Sequence[tuple[str, int]], chance: random.Random, share: float = 0.2) -> list[tuple[str, Claim]]:
    found = []
    for text, side in plain:
        site = chance.choice(sorted(FORMS))
        form = chance.choice(FORMS[site][side]) if chance.random() < share else ""
        found.append((site, (form.format(text.rstrip(".")) if form else text, side, bool(form))))
    return found


def worded(claims: Sequence[tuple[str, Claim]], language: str = "en") -> list[Worded]:
    return [Worded(text.casefold(), site, language, text, 2 * side) for site, (text, side, _) in claims]


def rates(claims: Sequence[tuple[str, Claim]]) -> tuple[float, float]:
    """The share of giveaways that are not told by their wording, and of plain claims that are."""
    known = chances_of_true(worded(claims))
    found = [(known[claim] > 0.9, around) for claim, (_, (_, _, around)) in zip(worded(claims), claims, strict=True)]
    around = [is_told for is_told, is_around in found if is_around]
    plain = [is_told for is_told, is_around in found if not is_around]
    return 1 - sum(around) / len(around), sum(plain) / len(plain)


def authored(count: int, chance: random.Random) -> list[tuple[str, int]]:
    """Claims in no particular order of words, so that only forms around them tell anything; three in ten are true."""
    texts = [" ".join(chance.sample(WORDS.split(), 5)) + "." for _ in range(count)]
    return [(text, int(chance.random() < 0.3)) for text in texts]


def test_what_publishers_say_around_claims_is_left_out_and_counted(tmp_path: Path) -> None:
    chance = random.Random(1)
    claims = told(authored(800, chance), chance)
    items = [
        {
            "claimReviewed": text,
            "url": f"https://{site}/{number}",
            "datePublished": f"2026-0{2 if number % 2 else 5}-03",
            "reviewRating": {"alternateName": ("False", "True")[side]},
            "inLanguage": "en",
        }
        for number, (site, (text, side, _)) in enumerate(claims)
    ]
    path = tmp_path / "feed.json"
    kept = []
    for feed in (items, items[::-1]):
        path.write_text(json.dumps(feed))
        found = collect(Quarter(2026, 2), [path], ClaimsSettings())
        kept.append({int(str(item.label.facts["review_url"]).rsplit("/", 1)[1]) for item in found.candidates})
    assert kept[0] == kept[1]
    around = [number in kept[0] for number, (_, (_, _, is_around)) in enumerate(claims) if is_around and not number % 2]
    plain = [number in kept[0] for number, (_, (_, _, is_around)) in enumerate(claims) if not is_around | number % 2]
    assert sum(around) <= len(around) / 10 and sum(plain) >= len(plain) * 0.95
    told_by, context = len(around) + len(plain) - len(kept[0]), found.funnel.context
    assert context["claims whose wording was weighed"] == 400
    assert context["claims whose wording tells the verdict"] == told_by
    assert [drop.count for drop in found.funnel.drops if drop.reason == "gives-away"] == [told_by]


def test_of_few_claims_or_of_one_side_alone_nothing_is_learnt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.feature_extraction.text", None)
    chance = random.Random(2)
    one_sided = [(text, int(place < 19)) for place, (text, _) in enumerate(authored(99, chance))]
    for plain in (authored(50, chance), one_sided):
        assert not chances_of_true(worded(told(plain, chance)))
    refused("missing-extra", chances_of_true, worded(told(authored(300, chance), chance)))


def test_a_claim_says_nothing_of_itself() -> None:
    """What only one claim says, however often it is reviewed, tells nothing of it."""
    chance = random.Random(3)
    again = [
        (site, ("The baker of Ulm flew to the moon, said he", 0, False)) for site in map("s{}.example".format, range(9))
    ]
    claims = [*told(authored(300, chance), chance, share=0), *again]
    known = chances_of_true(worded(claims))
    assert all(known[claim] < 0.9 for claim in worded(again))


@pytest.mark.integration
@pytest.mark.parametrize(("count", "true_share"), [(700, 0.4), (1500, 0.1), (4000, 0.4)])
def test_of_real_claims_at_most_a_tenth_of_giveaways_stay_and_a_twentieth_of_plain_ones_go(
    shared_data: Path, count: int, true_share: float
) -> None:
    chance = random.Random(count)
    lines = gzip.decompress((shared_data / "liar/train.tsv.gz").read_bytes()).decode().splitlines()
    by_side: tuple[list[str], list[str]] = ([], [])
    for cells in (line.split("\t") for line in lines):
        if len(cells[2].split()) > 3:
            by_side[cells[1] in {"true", "mostly-true"}].append(cells[2])
    trues = round(count * true_share)
    real = [(text, 1) for text in chance.sample(by_side[1], trues)]
    real += [(text, 0) for text in chance.sample(by_side[0], count - trues)]
    giveaways_kept, plain_lost = rates(told(real, chance))
    assert giveaways_kept <= 0.1
    assert plain_lost <= 0.05
