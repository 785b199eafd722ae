"""`hellofresh corpus`: from a source to figures, and plain errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.retrieval.conftest import small_documents, small_queries, write_rows


@pytest.fixture
def source(place: Path) -> Path:
    folder = place / "source"
    rows = [{"id": item.id, "title": item.title, "text": item.text} for item in small_documents()]
    write_rows(folder / "documents.jsonl", rows)
    write_rows(folder / "queries.jsonl", [query.model_dump() for query in small_queries()])
    qrels = (f"q{number} 0 {item.id} 1\n" for number, item in enumerate(small_documents()))
    (folder / "qrels").write_text("".join(qrels))
    return folder


def test_a_corpus_goes_from_its_source_to_figures(source: Path, cli: Cli) -> None:
    assert cli.json("corpus", "import", "jsonl", source, "--name", "small")["documents"] == 48
    assert "unchanged" in cli("corpus", "show", "small", "--check")
    assert "small" in cli("corpus", "show")
    assert "otters of the river" in cli("corpus", "show", "small", "otters-river")
    assert "Do otters come" in cli("corpus", "show", "small", "q0")
    cli("corpus", "compare", "small", "--retrievers", "bm25,tf-idf", "--index-only", "--jobs", "2")
    assert cli.json("corpus", "show", "small", "--search", "otters of the hill")[0]["document"] == "otters-hill"


def test_retrievers_are_compared_with_intervals_and_their_rankings_written(
    source: Path, cli: Cli, tmp_path: Path
) -> None:
    cli("corpus", "import", "jsonl", source, "--name", "small")
    command = ("corpus", "compare", "small", "--split", "dev", "--retrievers", "tf-idf,bm25")
    found = cli.json(*command, "--runs", tmp_path / "runs")
    assert found["queries"] == 16
    one = found["retrievers"]["bm25"]["ndcg@10"]
    assert 0.5 < one["low"] <= one["value"] <= one["high"] <= 1
    assert len(found["steps"]["ndcg@10"]) == 1
    first = (tmp_path / "runs" / "small.dev.bm25.run").read_text().splitlines()[0].split()
    assert first[:4] == ["q0", "Q0", "otters-river", "1"]
    assert "95% interval" in cli(*command)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("show", "nowhere", "--check"), 2, "no-corpus"),
        (("show", "small", "nowhere"), 2, "unknown-document"),
        (("compare", "small", "--split", "test"), 2, "unknown-split"),
        (("compare", "small", "--split", "dev", "--retrievers", "bm26"), 2, "unknown-name"),
        (("import", "pool", "small", "--name", "small"), 2, "same-corpus"),
        (("import", "beir", "."), 1, "missing-file"),
    ],
)
def test_what_is_not_there_is_a_plain_error(
    source: Path, cli: Cli, arguments: tuple[str, ...], code: int, message: str
) -> None:
    cli("corpus", "import", "jsonl", source, "--name", "small")
    assert message in cli("corpus", *arguments, code=code)


def test_claims_of_ones_own_are_frozen_with_a_corpus(source: Path, tmp_path: Path, cli: Cli) -> None:
    cli("corpus", "import", "jsonl", source, "--name", "small")
    path = tmp_path / "posts.csv"
    path.write_text("id,tweet,label\n1,Otters sing.,fake\n2,Kites vanish.,real\n3,otters sing.,fake\n4,No.,fake\n")
    command = ("corpus", "freeze", "small", "--task", "claim-responses", "--published", "2021-02-01")
    own = (*command, "--claims", path, "--columns", "claim=tweet")
    found = cli.json(*own, "--only", "label=fake")
    assert found["samples"] == 2
    assert cli.json(*own)["edition"] != found["edition"]
    assert cli.json(*command, "--split", "dev")["samples"] == 16
    cli(*own, "--only", "label=none", code=1)
    cli(*command, "--claims", path, code=1)


def test_runs_and_exports_carry_ir_metadata(source: Path, cli: Cli, tmp_path: Path) -> None:
    cli("corpus", "import", "jsonl", source, "--name", "small")
    cli("corpus", "compare", "small", "--split", "dev", "--retrievers", "bm25", "--runs", tmp_path / "runs")
    said = json.loads((tmp_path / "runs" / "small.dev.bm25.ir-metadata.yml").read_text())
    assert said["method"]["retrieval"][0]["name"] == "bm25" and said["data"]["test collection"]["split"] == "dev"
    cli("corpus", "show", "small", "--export", tmp_path / "out")
    assert json.loads((tmp_path / "out" / "ir-metadata.yml").read_text())["data"]["test collection"]["name"] == "small"
    cli("corpus", "import", "beir", tmp_path / "out", "--name", "again", "--ignore-identical-ids")
    frozen = ("corpus", "freeze", "again", "--task", "scifact-retrieval", "--split", "dev", "--published", "2020-01-01")
    assert "identical-ids" in cli(*frozen, code=2)
