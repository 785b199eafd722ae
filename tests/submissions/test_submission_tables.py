"""CSV and TREC runs say what JSON lines say, or are refused: no quote swallows rows, no cell is guessed at."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hellofresh.cli import main
from hellofresh.core.editions import parse_edition
from hellofresh.core.errors import SubmissionError
from hellofresh.core.quarters import Quarter
from hellofresh.core.workspace import Workspace
from hellofresh.results.split.arrays import build_panel
from hellofresh.submissions.trec import read_run
from hellofresh.tasks import get_task
from tests.retrieval.conftest import small_documents, write_rows, write_small
from tests.submissions.checks import check_file, check_submission

QUARTER = Quarter(2023, 2)
SAMPLES = {"x-notes": ["xn-1", "xn-2"]}
INFO = (
    'name = "N"\nteam = "T"\ncontact = "c"\nregime = "other"\nmodels = ["NA", "0012"]\nknowledge_cutoff = "unknown"\n'
)


def codes(path: Path, content: bytes) -> set[str]:
    path.write_bytes(content)
    return {fault.code for fault in check_file(path, SAMPLES).faults}


@pytest.mark.parametrize(
    "content",
    [
        b"id,label\nxn-1,1\nxn-2,\n",
        b"label,id\n1,xn-1\nnull,xn-2\n",
        b"id,label,rationale\r\nxn-1,1,\r\n\r\nxn-2,,\r\n",
        b'"id","label"\n"xn-1","1"\n"xn-2",""',
        b"\xef\xbb\xbfid;label;rationale\r\nxn-1;1;a, b\r\nxn-2;;\r\n",
        f"id,label\nxn-1,{get_task('x-notes').classes[1]}\nxn-2,\n".encode(),
    ],
    ids=["plain", "another order of columns", "CRLF and empty cells", "quoted", "Excel's", "class names"],
)
def test_a_table_says_what_json_lines_say(tmp_path, content: bytes) -> None:
    path = tmp_path / "predictions.csv"
    path.write_bytes(content)
    found = {item.id: item.label for item in check_file(path, SAMPLES).predictions}
    assert found == {"xn-1": 1, "xn-2": None}


def test_cells_stay_as_they_are_and_nothing_is_taken_for_missing(tmp_path) -> None:
    path = tmp_path / "predictions.csv"
    path.write_bytes(
        b'id,label,confidence,rationale,sources\nxn-1,1,1e-3,"NA, or ""0012""",https://a.example https://b.example\n'
        b"xn-2,0,0.50,NA,\n"
    )
    first, second = check_file(path, SAMPLES).predictions
    assert (first.rationale, first.confidence, len(first.sources)) == ('NA, or "0012"', 0.001, 2)
    assert (second.rationale, second.confidence, second.sources) == ("NA", 0.5, [])


def test_lines_may_begin_with_a_mark_and_name_classes_but_not_those_of_another_task(tmp_path) -> None:
    other = get_task("wikipedia-edits").classes[1]
    for name, code in ((get_task("x-notes").classes[1], set()), (other, {"bad-field"}), ("yes", set())):
        lines = f'\ufeff{{"id":"xn-1","label":"{name}"}}\n{{"id":"xn-2","label":null}}\n'
        assert codes(tmp_path / "predictions.jsonl", lines.encode()) == code


def test_both_forms_at_once_are_refused(tmp_path) -> None:
    folder = tmp_path / "team" / "system"
    folder.mkdir(parents=True)
    (folder / "predictions.csv").write_bytes(b"id,label\nxn-1,1\nxn-2,\n")
    (folder / "predictions.jsonl").write_bytes(b'{"id":"xn-1","label":1}\n{"id":"xn-2","label":null}\n')
    (folder / "system.toml").write_text(INFO)
    _, faults = check_submission(folder, QUARTER, SAMPLES)
    assert [fault.code for fault in faults] == ["two-files"]


def test_every_bad_row_is_named_with_its_line(tmp_path) -> None:
    path = tmp_path / "predictions.csv"
    path.write_bytes(b"id,label,confidence\nxn-1,maybe,0.5\nxn-2,1\nxn-2,1,1_0\n")
    places = [(fault.code, fault.where.rpartition(" ")[2]) for fault in check_file(path, SAMPLES).faults]
    assert places == [("bad-cell", "2"), ("ragged-row", "3"), ("bad-cell", "4")]


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.sampled_from(['"', ",", "\n", "\r", "id", "label", "xn-1", "1", "=", "é"]), max_size=15).map("".join)
)
def test_whatever_a_table_holds_it_is_read_whole_or_refused(tmp_path, text: str) -> None:
    path = tmp_path / "p.csv"
    path.write_bytes(text.encode())
    checked = check_file(path, SAMPLES)
    assert bool(checked.predictions) != bool(checked.faults)


# --- A TREC run is a submission to a retrieval task, and scores as the same ranking in a file of predictions.


QUERIES = {"1": "sf-1", "2": "sf-2"}
DOCUMENTS = {"a", "b", "c", "d"}
GOOD = "1 Q0 a 1 2.5 own\n1 Q0 b 2 1 own\n2\t0 c 9 -1e3 own\n"


def read(tmp_path: Path, content: str | bytes) -> dict[str, list[str]]:
    path = tmp_path / "own.run"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_run(path, QUERIES, DOCUMENTS).rankings


def test_documents_stand_by_score_and_equal_ones_by_id_whatever_the_ranks_say(tmp_path: Path) -> None:
    assert read(tmp_path, GOOD) == {"sf-1": ["a", "b"], "sf-2": ["c"]}
    tied = "1 Q0 a 1 1 x\n2 Q0 a 1 7 x\n1 Q0 c 2 1.00000000001 x\n1 Q0 b 3 1 x\n1 Q0 d 4 2 x\n"
    assert read(tmp_path, tied) == {"sf-1": ["d", "c", "b", "a"], "sf-2": ["a"]}


@pytest.mark.parametrize(
    ("content", "code", "message"),
    [
        ("", "empty-file", "no line"),
        (b"\x1f\x8bxx", "wrong-kind", "gzip"),
        (f"{GOOD}3 Q0 a 1 1 own\n", "unknown-query", "line 4: '3'"),
        (f"{GOOD}2 Q0 z 1 1 own\n", "unknown-document", "line 4: 'z'"),
        (f"{GOOD}1 Q0 b 3 0 own\n", "duplicate-document", "line 4: 'b' is ranked twice for '1'"),
        (f"{GOOD}2 Q0 b 1\n", "wrong-columns", "4 columns, expected 6"),
        (f"{GOOD}2 Q0 b 1 1 own more\n", "wrong-columns", "7 columns"),
        *((f"{GOOD}2 Q0 b 1 {score} own\n", "bad-score", "line 4") for score in ("nan", "inf", "1e39", "1_0", "x")),
        (f"{GOOD}2 Q0 b 1 1 other\n", "other-tag", "'other' after 'own'"),
        (f"{GOOD}2 Q0 b 1 0.3", "wrong-columns", "no line break ends the file, which may be cut"),
        (f"{GOOD}2 Q0 b 1 0.3 ow", "other-tag", "may be cut"),
        ("".join(f"1 Q0 {n} {n} {n} x\n" for n in range(1001)), "unknown-document", "and 1000 more"),
    ],
)
def test_what_is_not_a_whole_run_is_refused_by_line(
    tmp_path: Path, content: str | bytes, code: str, message: str
) -> None:
    with pytest.raises(SubmissionError) as caught:
        read(tmp_path, content)
    assert caught.value.code == code and message in str(caught.value)


def test_a_ranking_has_at_most_a_thousand_documents(tmp_path: Path) -> None:
    path = tmp_path / "long.run"
    path.write_text("".join(f"1 Q0 {n} {n} {n} x\n" for n in range(1001)))
    with pytest.raises(SubmissionError, match="1,001 documents for 'sf-1'"):
        read_run(path, QUERIES, {str(n) for n in range(1001)})


@pytest.fixture
def edition(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    monkeypatch.setenv("HELLOFRESH_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    write_small(Workspace(tmp_path / "data"))
    freeze = ("corpus", "freeze", "small", "--task", "scifact-retrieval", "--split", "dev", "--published", "2020-05-01")
    assert main([*freeze, "--json"]) == 0
    return str(json.loads(capsys.readouterr().out)["edition"])


def test_a_run_goes_from_the_comparison_to_the_board_like_predictions(
    edition: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(*arguments: object) -> str:
        assert main(list(map(str, arguments))) == 0
        said = capsys.readouterr()
        return said.out + said.err

    compared = run(
        *["corpus", "compare", "small", "--split", "dev", "--retrievers", "bm25", "--runs", "runs", "--json"]
    )
    path, team = tmp_path / "runs" / "small.dev.bm25.run", tmp_path / "submissions" / edition / "own"
    new = (*f"submission new --edition {edition} --team Own --contact own@example.org".split(), "--name")
    run(*new, "Run", "--from-run", path)
    run(*new, "By hand")
    ranked: dict[str, list[str]] = {}
    for query, _, document, *_ in map(str.split, path.read_text().splitlines()):
        ranked.setdefault(query, []).append(document)
    rows = [{"id": f"sfe-{query}", "documents": documents} for query, documents in ranked.items()]
    write_rows(team / "by-hand" / "predictions.jsonl", rows)
    for name in ("run", "by-hand"):
        run("submission", "check", team / name)
        run("submission", "add", team / name)
    run("score", "--edition", edition)
    task, where = get_task("scifact-retrieval"), Workspace(tmp_path / "data")
    panel = build_panel(where, parse_edition(edition), task, tmp_path / "submissions")
    one, other = (
        panel.table(system.headline, system.headline.asked, task.metric("ndcg@10")) for system in panel.systems
    )
    assert one.tobytes() == other.tobytes()
    mean = json.loads(compared)["retrievers"]["bm25"]["ndcg@10"]["value"]
    assert 0.5 < mean == pytest.approx(float(task.metric("ndcg@10").value(one.sum(axis=0))))

    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if line.split()[0] != query))
    assert "1 of 16 queries have no line" in run(*new, "Short", "--from-run", path)
    run("submission", "check", team / "short")


def test_a_run_is_taken_for_rankings_of_the_corpus_at_hand_only(
    edition: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "own.run"
    path.write_text(GOOD)
    new = f"submission new --edition {edition} --from-run {path} --team Own --contact own@example.org"
    assert main([*new.split(), "--task", "x-notes"]) == 2
    assert "other-output" in capsys.readouterr().err
    write_small(Workspace(tmp_path / "data"), small_documents()[:40])
    assert main(new.split()) == 2
    assert "other-corpus" in capsys.readouterr().err
