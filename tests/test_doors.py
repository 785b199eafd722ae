"""Every door keeps a ledger: nothing is lost in silence between what came in and what went on."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path

import pytest

from collectors.datasets import DataSet, ImportRequest, OriginalFile, StatementRow, import_dataset
from hellofresh.core.errors import DataError
from hellofresh.core.files import read_jsonl, write_jsonl
from hellofresh.core.intake import Intake
from hellofresh.core.quarters import Quarter
from hellofresh.core.workspace import Workspace
from hellofresh.evidence.retrieval.corpora import CorpusContent, RetrievalCorpus, write_corpus
from hellofresh.evidence.retrieval.sources import open_source
from hellofresh.judging.submitted import RaterSheet
from hellofresh.results.score_files import ColumnNames, read_scores
from hellofresh.runs.counts import AnswerFate, counted
from hellofresh.submissions.check import Due, as_error, check_predictions
from hellofresh.tasks import TASKS, register_task, statement_task
from tests.doors import Door, Passed
from tests.fakes import fails_with

Cells = tuple[str, ...]
HEAD = ("number", "text", "verdict")
VERDICTS = ["denied"] * 20 + ["open"] * 10 + ["confirmed"] * 20
CLASSES = {"denied": 0, "open": 1, "confirmed": 2}


def test_a_ledger_that_does_not_add_up_is_refused_and_one_that_does_is_one_line() -> None:
    for counts in ((3, 2, {}), (3, 4, {"a": -1}), (2, 2, {"a": 1})):
        with fails_with("ledger"):
            Intake("rows", *counts)
    assert str(Intake("rows", 50, 33, {"few": 2, "none": 0, "most": 15})) == (
        "50 rows: 33 went on, 17 left out (15 most, 2 few)"
    )


def read_rumours(path: Path, language: str) -> Iterator[StatementRow]:
    """As a stranger reads a table: by the example of docs/own-task.md."""
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            yield StatementRow(key=row["number"], statement=row["text"], label=row["verdict"])


RUMOURS = DataSet(
    name="rumours", title="Rumours of a village", home="https://rumours.example", licence="CC-BY-4.0",
    published=date(2021, 3, 4), labels=("denied", "open", "confirmed", "joke"),
    files=(OriginalFile(name="rumours.csv"),), read=read_rumours, tasks={"rumours": CLASSES},
)  # fmt: skip
ROWS = [(str(k), f"Rumour {k} of the village.", verdict) for k, verdict in enumerate(VERDICTS)]


@pytest.fixture
def rumours() -> Iterator[None]:
    register_task(statement_task("rumours", "Rumours", prefix="ru-", classes=("false", "unproven", "true")))
    yield
    del TASKS["rumours"]


def import_rumours(folder: Path, rows: Sequence[Cells], head: Cells = HEAD) -> Passed:
    folder = folder / str(len(list(folder.iterdir())))
    folder.mkdir()
    with (folder / "rumours.csv").open("w", newline="") as file:
        csv.writer(file).writerows([head, *rows])
    done, found = import_dataset(Workspace(folder / "data"), RUMOURS, folder / "rumours.csv", ImportRequest())
    on = {str(row["id"]).removeprefix("ru-"): row["label"] for row in read_jsonl(done.folder / "labels.jsonl")}
    return Passed(found.funnel.ledger(), on, {"repeated": len([key for key in on if "-" in key])})


def test_a_data_set_of_somebody_loses_no_row_in_silence(rumours: None, tmp_path: Path) -> None:
    door = Door(
        lambda rows: import_rumours(tmp_path, rows), ROWS, lambda row: row[0],
        {"misspelt": lambda row: (*row[:2], "denyed"), "declared": lambda row: (*row[:2], "joke"),
         "without text": lambda row: (row[0], " ", row[2]), "without label": lambda row: (*row[:2], ""),
         "short": lambda row: row[:2], "shorter": lambda row: row[:1]},
    )  # fmt: skip
    assert door.answers() == {
        "deleted": {"came in"}, "doubled": {"repeated"}, "misspelt": {"unknown-label"}, "declared": {"no-class"},
        "without text": {"empty-row"}, "short": {"unknown-label"}, "shorter": {"empty-row"},
        "without label": {"unknown-label"},
    }  # fmt: skip


def test_a_misspelt_label_is_named_with_its_count_and_a_missing_column_by_its_name(
    rumours: None, tmp_path: Path
) -> None:
    rows = [(*row[:2], "denyed") if number < 17 else row for number, row in enumerate(ROWS)]
    with pytest.raises(DataError, match=r"17 of 50 rows have a label .*: 'denyed' \(17\)"):
        import_rumours(tmp_path, rows)
    with fails_with("missing-column") as caught:
        import_rumours(tmp_path, ROWS, ("number", "text", "label"))
    assert "'verdict'" in str(caught.value)


Row = dict[str, object]
DOCUMENTS: list[Row] = [{"_id": f"d{k}", "title": f"Title {k}", "text": f"Text {k}."} for k in range(12)]
QUERIES: list[Row] = [{"_id": f"q{k}", "text": f"Query {k}"} for k in range(9)]
QRELS = [*(f"q{k}\td{k}\t1" for k in range(8)), "q0\td9\t2", "q8\td8\t0", "q8\td7\t0"]
PARTS = {"documents": DOCUMENTS, "queries": QUERIES, "judgements": QRELS}


def import_beir(folder: Path, unit: str, records: Sequence[Row | str]) -> Passed:
    """A corpus in the layout of BEIR, in which one query has no relevant document; one of its parts is given."""
    documents, queries, judged = (records if unit == name else part for name, part in PARTS.items())
    write_jsonl(folder / "corpus.jsonl", documents)
    write_jsonl(folder / "queries.jsonl", queries)
    (folder / "qrels").mkdir(exist_ok=True)
    (folder / "qrels" / "test.tsv").write_text("\n".join(["query\tdocument\tscore", *map(str, judged)]))
    source = open_source("beir", folder)
    content = CorpusContent(
        source="beir", license="CC0-1.0", documents=source.documents(), queries=list(source.queries()),
        judgements=source.judgements(), left_out=source.left_out, drop_invalid=True, drop_duplicates=True,
    )  # fmt: skip
    made = RetrievalCorpus(folder / "made", write_corpus(folder / "made", content))
    on = {
        "documents": {one.id: one.text for one in made.documents()},
        "queries": {one.id: one.text for one in made.queries()},
        "judgements": {
            f"{query} {name}": value for query, some in made.qrels().items() for name, value in some.items()
        },
    }[unit]
    (ledger,) = (one for one in made.manifest.ledgers if one.unit == unit)
    return Passed(ledger, on)


CORPUS_HARMS = {
    "documents": (lambda row: row["_id"], {
        "empty": lambda row: {**row, "title": "", "text": ""}, "number for a title": lambda row: {**row, "title": 7},
        "without text": lambda row: {"_id": row["_id"]}, "bad name": lambda row: {**row, "_id": f"{row['_id']} x"},
        "same text": lambda row: {**DOCUMENTS[0], "_id": row["_id"]},
    }),
    "queries": (lambda row: row["_id"], {
        "no name": lambda row: {"text": row["text"]}, "empty": lambda row: {**row, "text": ""},
    }),
    "judgements": (lambda line: " ".join(line.split("\t")[:2]), {
        "other document": lambda line: line.replace("\td", "\tx"), "word": lambda line: f"{line}x",
        "short": lambda line: line.rpartition("\t")[0],
    }),
}  # fmt: skip
CORPUS_ANSWERS = {
    "documents": {
        "deleted": {"unknown-document"}, "doubled": {"duplicate-id"}, "bad name": {"unknown-document"},
        "empty": {"empty-document", "no-relevant-document"}, "number for a title": {"bad-field"},
        "without text": {"missing-field"}, "same text": {"duplicate-text", "contradicting-judgements"},
    },
    "queries": {
        "deleted": {"unknown-query"}, "doubled": {"duplicate-query", "no-relevant-document"}, "empty": {"bad-query"},
        "no name": {"missing-field"},
    },
    "judgements": {
        "deleted": {"came in"}, "doubled": {"repeated", "no-relevant-document"},
        "other document": {"unknown-document"}, "word": {"bad-qrels"}, "short": {"bad-qrels"},
    },
}  # fmt: skip


@pytest.mark.parametrize("unit", PARTS)
def test_a_corpus_of_somebody_loses_nothing_in_silence(unit: str, tmp_path: Path) -> None:
    key, harms = CORPUS_HARMS[unit]
    door = Door(lambda records: import_beir(tmp_path, unit, records), PARTS[unit], key, harms)
    assert door.answers() == CORPUS_ANSWERS[unit]


def test_a_table_of_strangers_scores_loses_no_cell_in_silence(tmp_path: Path) -> None:
    cells = [(f"i{k}", system, str(k % 2)) for k in range(8) for system in ("one", "two")]

    def compare(rows: Sequence[Cells]) -> Passed:
        paths = [tmp_path / f"{half}.csv" for half in range(2)]  # what only the second file lacks is counted, too
        for half, path in enumerate(paths):
            with path.open("w", newline="") as file:
                csv.writer(file).writerows([("item", "system", "score"), *rows[half * 8 : half * 8 + 8 + half * 99]])
        found = read_scores(paths, ColumnNames())
        on = {
            f"{item} {system}": value
            for system, values in zip(found.systems, found.values.tolist(), strict=True)
            for item, value in zip(found.items, values, strict=True)
            if value == value
        }
        assert found.ledger is not None and str(found.ledger) in found.said
        return Passed(found.ledger, on)

    door = Door(compare, cells, lambda row: f"{row[0]} {row[1]}", {
        "no item": lambda row: ("", *row[1:]), "no system": lambda row: (row[0], "", row[2]),
        "no score": lambda row: (*row[:2], ""), "a word": lambda row: (*row[:2], "good"),
    })  # fmt: skip
    assert door.answers() == {
        "deleted": {"came in"}, "doubled": {"duplicate-score"}, "no item": {"without item or system"},
        "no system": {"without item or system"}, "no score": {"without a score"}, "a word": {"bad-score"},
    }  # fmt: skip


def test_what_a_rater_submits_loses_no_line_in_silence(tmp_path: Path) -> None:
    answers = {"values": {"overall": 7}, "links": {}, "comment": ""}
    lines = [
        json.dumps({"step": "submitted", "response": f"r-{k}", "answers": answers, "seconds": 1.0,
                    "at": f"2023-07-01T00:00:{k:02d}Z", "id": f"{k:032x}"})
        for k in range(9)
    ]  # fmt: skip

    def read(some: Sequence[str]) -> Passed:
        (tmp_path / "sheet.jsonl").write_text("\n".join(some))
        state = RaterSheet(tmp_path / "sheet.jsonl", {f"r-{k}" for k in range(9)}).state()
        return Passed(state.ledger, {key: line.answers for key, line in state.submitted.items()})

    door = Door(read, lines, lambda line: json.loads(line)["response"], {
        "half": lambda line: line[:-9], "elsewhere": lambda line: line.replace("r-", "x-"),
        "draft": lambda line: line.replace("submitted", "draft"), "word": lambda line: line.replace("1.0", '"x"'),
    })  # fmt: skip
    assert door.answers() == {
        "deleted": {"came in"}, "doubled": {"replaced"}, "half": {"unreadable"}, "elsewhere": {"not-asked"},
        "draft": {"damaged-rating"}, "word": {"damaged-rating"},
    }  # fmt: skip


def test_a_submission_is_taken_whole_or_refused_by_name(tmp_path: Path) -> None:
    ids = tuple(f"xn-{k}" for k in range(9))
    due = Due(Quarter(2023, 2), {"x-notes": ids}, {})

    def check(lines: Sequence[str]) -> Passed:
        path = tmp_path / "predictions.jsonl"
        path.write_text("\n".join(lines))
        checked = check_predictions(path, due, [])
        if checked.faults:
            raise as_error(checked.faults, "Fix it.")
        taken = {one.id: one.label for one in checked.predictions}
        return Passed(Intake("lines", len(lines), len(taken)), taken)

    lines = [json.dumps({"id": key, "label": k % 2}) for k, key in enumerate(ids)]
    door = Door(check, lines, lambda line: json.loads(line)["id"], {
        "half": lambda line: line[:-3], "other id": lambda line: line.replace("xn-", "xn-1"),
        "word": lambda line: line[:-2] + '"x"}', "third class": lambda line: line[:-2] + "2}",
    })  # fmt: skip
    assert {harm: sorted(codes) for harm, codes in door.answers().items()} == {
        "deleted": ["missing-id"], "doubled": ["duplicate-id"], "half": ["bad-json"], "other id": ["unknown-id"],
        "word": ["bad-field"], "third class": ["bad-field"],
    }  # fmt: skip


def test_a_run_whose_outputs_are_not_those_asked_for_is_refused() -> None:
    assert counted(3, [AnswerFate.READ, AnswerFate.CUT], failed=1)["asked"] == 3
    for asked, failed in ((4, 1), (3, 2), (2, 1)):
        with fails_with("ledger"):
            counted(asked, [AnswerFate.READ, AnswerFate.CUT], failed)
