"""Judged responses from other people's files: each layout's labels, and refusals that name the row."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from collectors.labelled import read_judged
from hellofresh.cli.arguments.training import CRITERIA
from hellofresh.core.files import sha256_text
from hellofresh.rewards.base import RewardCase
from tests.fakes import refused

ROWS = [("Tea cures colds", "It does not, sorry.", "1"), ("Tea cures colds", "Yes!", "no")]


@pytest.mark.parametrize("end", ["csv", "tsv", "jsonl"])
def test_a_table_reads_alike_in_every_form_and_under_other_names(end: str, tmp_path: Path) -> None:
    path = tmp_path / f"own.{end}"
    names = ("post", "reply", "ok")
    if end == "jsonl":
        path.write_text("".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in ROWS))
    else:
        comma = "," if end == "csv" else "\t"
        lines = [comma.join(f'"{cell}"' for cell in row) for row in (names, *ROWS)]
        path.write_text("\n".join(lines) + "\n")
    found = read_judged("table", path, "refutation", {"claim": "post", "response": "reply", "label": "ok"})
    assert [example.case for example in found.examples] == [RewardCase(a, (), b) for a, b, _ in ROWS]
    assert [example.label for example in found.examples] == [1, 0]
    assert (found.data.rows, found.data.positives, found.data.note) == (2, 1, "")


def test_a_table_groups_by_its_group_else_its_claim_else_the_response(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text("claim,response,label,evidence,group\nA  b,c,YES,,\n,D e,0,seen,\na,b,False,,G  h\n")
    found = read_judged("table", path, "refutation").examples
    assert [item.group for item in found] == [sha256_text(text)[:16] for text in ("a b", "d e", "g h")]
    assert [(item.label, item.case.evidence) for item in found] == [(1, ()), (0, ("seen",)), (0, ())]
    path.write_text(f"claim,response,label\na,b,{'m' * 41}\n")
    assert f"unknown label '{'m' * 40}'" in refused("unknown-label", read_judged, "table", path, "refutation")


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("claim,response\na,b\n", "missing-field"),
        ("claim,response,label\na,b,maybe\n", "unknown-label"),
        ("claim,response,label\na,,1\n", "bad-field"),
        ("claim,response,label\na,b\n", "bad-columns"),
        ("claim,claim,label\na,b,1\n", "bad-columns"),
        ("claim,response,label\n", "empty-source"),
        ("", "bad-columns"),
    ],
)
def test_a_table_that_cannot_be_read_is_refused(content: str, code: str, tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text(content)
    assert "own.csv" in refused(code, read_judged, "table", tmp_path / "own.csv", "refutation")


def test_the_top_quarter_is_polite_and_the_bottom_quarter_impolite(tmp_path: Path) -> None:
    scores = np.random.default_rng(1).normal(size=40).tolist()
    lines = [json.dumps({"text": f"request {n}", "score": score}) for n, score in enumerate(scores)]
    (tmp_path / "wikipedia.jsonl").write_text("\n".join(lines))
    found = read_judged("politeness", tmp_path / "wikipedia.jsonl", "politeness")
    ordered = [f"request {n}" for n in np.argsort(scores)]
    assert {item.case.response for item in found.examples if item.label} == set(ordered[30:])
    assert {item.case.response for item in found.examples if not item.label} == set(ordered[:10])
    original = "".join(f'{n},"request {n}",{score}\n' for n, score in enumerate(scores))
    (tmp_path / "wikipedia.annotated.csv").write_text(f"Id,Request,Normalized Score\n{original}")
    again = read_judged("politeness", tmp_path / "wikipedia.annotated.csv", "politeness")
    assert again.examples == found.examples
    refused("no-label", read_judged, "politeness", tmp_path / "wikipedia.jsonl", "factuality")
    for count, expected in ((5, {0: 0, 1: 0, 3: 1, 4: 1}), (1, {0: 1})):  # whoever is on a border is beyond it
        lines = [json.dumps({"text": str(number), "score": number}) for number in range(count)]
        (tmp_path / "few.jsonl").write_text("\n".join(lines))
        few = read_judged("politeness", tmp_path / "few.jsonl", "politeness").examples
        assert {int(item.case.response): item.label for item in few} == expected


def test_replies_of_misinfocorrect_meet_all_criteria_and_strategies_tell_those_that_do_not(tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv").write_text("5G makes ill\tNo study found that.\n5G makes ill\tIt does not.\n")
    for criterion in CRITERIA:
        found = read_judged("misinfocorrect", tmp_path / "pairs.tsv", criterion)
        assert [item.label for item in found.examples] == [1, 1]
        assert found.examples[0].case == RewardCase("5G makes ill", (), "No study found that.")
        assert len({item.group for item in found.examples}) == 1
    replies = [("['Presenting facts']", (1, 1, 1)), ("['Denouncing', 'Hostile language']", (1, 0, 0))]
    rows = [f'{n},a reply,"{strategy}"\n' for n, (strategy, _) in enumerate(replies)]
    (tmp_path / "replies.csv").write_text("id,reply,turn_strategy\n" + "".join(rows))
    for place, criterion in enumerate(CRITERIA):
        found = read_judged("misinfocorrect", tmp_path / "replies.csv", criterion)
        assert [item.label for item in found.examples] == [labels[place] for _, labels in replies]
    (tmp_path / "other.tsv").write_text("only one column\n")
    refused("bad-columns", read_judged, "misinfocorrect", tmp_path / "other.tsv", "refutation")


def healthver(folder: Path) -> Path:
    labels = ("Refutes", "Supports", "Neutral")
    rows = "".join(f"{n},passage {n},claim {n},{label},{n},why\n" for n, label in enumerate(labels))
    (folder / "healthver_dev.csv").write_text(f"id,evidence,claim,label,topic_ip,question\n{rows}")
    return folder / "healthver_dev.csv"


def check_covid(folder: Path) -> Path:
    documents = [{"cord_id": f"d{n}", "title": "t", "abstract": ["before", f"passage {n}", "after"]} for n in range(2)]
    documents.append({"cord_id": "d2", "title": "t", "abstract": ["passage 2"]})
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, documents)))
    labels = ("REFUTE", "SUPPORT", "NOTENOUGHINFO")
    rows = [
        {"id": str(n), "claim": f"claim {n}", "cord_id": f"d{n}", "label": label, "kind": "composed",
         "evidence_set": [{"sent_index": 1}] if n < 2 else None}
        for n, label in enumerate(labels)
    ]  # fmt: skip
    (folder / "claims_train.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return folder / "claims_train.jsonl"


@pytest.mark.parametrize(
    ("places", "chosen"), [([0], "0"), ([2, 1], "2 1"), ([-1, 3, "1", None], "0 1 2"), ([], "0 1 2")]
)
def test_evidence_is_the_named_sentences_or_the_whole_abstract(
    places: list[object], chosen: str, tmp_path: Path
) -> None:
    (tmp_path / "corpus.jsonl").write_text(json.dumps({"cord_id": "d", "title": "t", "abstract": list("012")}))
    row = {"id": "1", "claim": "a claim", "cord_id": "d", "label": "REFUTE", "kind": "composed",
           "evidence_set": [{"sent_index": place} for place in places]}  # fmt: skip
    (tmp_path / "claims_dev.jsonl").write_text(json.dumps(row))
    (found,) = read_judged("check-covid", tmp_path / "claims_dev.jsonl", "refutation").examples
    assert (found.case.response, found.group) == (chosen, "document d")


@pytest.mark.parametrize("name", ["healthver", "check-covid"])
def test_evidence_stands_in_for_responses_and_says_so(name: str, tmp_path: Path) -> None:
    path = {"healthver": healthver, "check-covid": check_covid}[name](tmp_path)
    refuting = read_judged(name, path, "refutation")
    assert [item.case for item in refuting.examples] == [RewardCase(f"claim {n}", (), f"passage {n}") for n in range(3)]
    assert [item.label for item in refuting.examples] == [1, 0, 0]
    factual = read_judged(name, path, "factuality")
    expected = [RewardCase(f"claim {n}", (f"passage {n}",), f"claim {n}") for n in range(3)]
    assert [item.case for item in factual.examples] == expected
    assert [item.label for item in factual.examples] == [0, 1, 0]
    assert "stand-in" in refuting.data.note
    assert "stand-in" in factual.data.note
