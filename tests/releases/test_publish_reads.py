"""What is published is read by the programs that it is meant for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, date, datetime
from importlib.util import find_spec
from pathlib import Path

import pytest

from hellofresh.core.calendar import CalendarRule
from hellofresh.core.editions import Frozen
from hellofresh.core.files import canonical_json, read_json, read_jsonl, sha256_file
from hellofresh.core.workspace import Workspace
from hellofresh.evidence.retrieval.corpora import CorpusContent, FoundDocument, open_corpus, write_corpus
from hellofresh.evidence.retrieval.documents import CorpusDocument, Judgement, Query
from hellofresh.releases.candidates import Collection, Funnel
from hellofresh.releases.draw.frozen import DatasetSource, evidence_candidates, freeze
from hellofresh.releases.life.manifest import BUNDLED
from hellofresh.releases.life.state import reveal
from hellofresh.releases.publish.folder import publish_to_folder
from hellofresh.tasks import Statement, get_task
from hellofresh.tasks.corrections import MisleadingPost
from hellofresh.tasks.samples import Candidate, Label, Sample

_LOAD = """
import json, sys
from datasets import load_dataset
found = {}
for config, split in json.loads(sys.argv[2]):
    data = load_dataset(sys.argv[1], config, split=split)
    label = data.features.get("label")
    classes = None if label is None else label.names
    found[config + "/" + split] = {"rows": len(data), "last": json.dumps(data[-1], default=str), "classes": classes,
        "labels": sorted(set(data["label"]), key=str) if label else None}
print(json.dumps(found))
"""
_VALIDATE = """
import json, logging, sys
import mlcroissant
found = mlcroissant.Dataset(sys.argv[1] + "/croissant.json")
issues = found.metadata.ctx.issues
records = {one.id: list(found.records(one.id)) for one in found.metadata.record_sets}
print(json.dumps({"errors": sorted(issues.errors), "warnings": sorted(issues.warnings),
    "records": {name: len(rows) for name, rows in records.items()},
    "ids": {name: len({row[name + "/id"] for row in rows}) for name, rows in records.items()
            if not name.endswith("-classes")},
    "classes": [[row["x-notes-classes/label"], row["x-notes-classes/name"]] for row in records["x-notes-classes"]]},
    default=str))
"""


def _python(script: str, folder, *arguments: str) -> dict:
    """Run a script without the network, in a process of its own (its libraries warn of each other)."""
    environment = {
        **os.environ,
        "HF_HUB_OFFLINE": "1",
        "HF_HOME": str(folder.parent / "home"),
        "PYTHONWARNINGS": "ignore",
    }
    command = [sys.executable, "-c", script, str(folder), *arguments]
    done = subprocess.run(command, check=False, env=environment, capture_output=True, text=True, timeout=800)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def _frozen(
    workspace: Workspace, task: str, sample: type[Sample], rows: list[dict[str, object]], **facts: object
) -> None:
    """Freeze made rows of a task; the first fields are the same in all of them."""
    common = {"task": task, "edition": "", "period": "", "date": datetime(2021, 3, 4, tzinfo=UTC), "license": "MIT"}
    found = []
    for number, row in enumerate(rows):
        key = f"{get_task(task).id_prefix}{number}"
        made = sample(id=key, group=key, **common, **row)  # type: ignore[arg-type]
        found.append(Candidate(made, Label(key, number % max(1, len(get_task(task).classes)), {**facts})))
    funnel = Funnel("rows", len(found), (), Funnel.count_kept(found))
    source = DatasetSource("Made", "https://example.org", date(2021, 3, 4), "MIT")
    freeze(workspace, Frozen(task, "6"), get_task(task), Collection(found, funnel, {}, []), source)


@pytest.fixture
def published(make, quarter, notes_task, tmp_path):
    """A revealed quarter with texts and an open one without, edits, and a made data set of each other track."""
    workspace, later = make.workspace(), quarter.next()
    make.release(make.notes(3, 3), source=BUNDLED)
    make.release([make.candidate(make.edit(20 + k, page=k), k % 2) for k in range(4)])
    notes = [make.candidate(make.note(9 + k, date=later.start), k % 2) for k in range(4)]
    make.release(notes, quarter=later)
    moment = CalendarRule().of(later).opens
    assert reveal(workspace, quarter, notes_task, moment)
    said = {"language": "en", "speaker": "", "context": ""}
    _frozen(workspace, "liar", Statement, [{"statement": f"Lake {k} is deep.", **said} for k in range(6)],
            original_label="true")  # fmt: skip
    post = {"address": "https://example.org/1", "modality": "unimodal", "domain": ""}
    _frozen(workspace, "corrections", MisleadingPost, [{"post": "1", "text": "Fish sleep in trees.", **post}])
    for name, licence in (("ponds", "CC-BY-4.0 AND ODC-By-1.0"), ("wells", "as its owner says")):
        _freeze_queries(workspace, name, licence)
    publish_to_folder(workspace, tmp_path / "out", moment)
    return tmp_path / "out"


def _freeze_queries(workspace: Workspace, name: str, licence: str) -> None:
    """A corpus of two documents, and an edition with its one query."""
    documents = [CorpusDocument(f"{name}-{k}", f"{name} {k}", "Deep and cold.", date(2020, 1, 1 + k)) for k in range(2)]
    write_corpus(
        workspace.corpora / name,
        CorpusContent(
            source="jsonl",
            license=licence,
            documents=[FoundDocument(document, name) for document in documents],
            queries=[Query(id="q1", text=f"Are {name} cold?", split="dev", group="g")],
            judgements=[Judgement("q1", f"{name}-1", 1)],
        ),
    )
    corpus, task = open_corpus(workspace, name), get_task("scifact-retrieval")
    found = evidence_candidates(corpus, "dev", task, date(2020, 5, 1))
    freeze(workspace, Frozen(task.name, f"dev-{name}"), task, found,
           DatasetSource("Made", "https://example.org", date(2020, 5, 1), licence))  # fmt: skip


def _corpus_config(published: Path, name: str) -> str:
    (folder,) = (published / "data").glob(f"corpus-{name}-*")
    return folder.name


def _shown(published: Path) -> str:
    """What a publication says of itself, without its prose and its hashes, a line for each table or field."""
    head, body = (published / "README.md").read_text().removeprefix("---\n").split("\n---\n", 1)
    lines = [*head.split("\n"), *(line for line in body.split("\n") if line.startswith(("#", "|", "- **")))]
    said = read_json(published / "croissant.json")
    sets, tables = said.pop("recordSet"), said.pop("distribution")
    fields = [field for one in sets for field in one.pop("field")]
    for table in tables:
        assert sha256_file(published / table["contentUrl"]) == table.pop("sha256")
        assert f"{(published / table['contentUrl']).stat().st_size} B" == table.pop("contentSize")
    lines += [canonical_json(part) for part in (said, *tables, *sets, *fields)]
    lines += (published / "eval.yaml").read_text().split("\n")
    corpus = {_corpus_config(published, "ponds"): "corpus-ponds-HASH"}
    hashes = {row["corpus_sha256"][:12]: "HASH" for path in published.rglob("samples.jsonl")
              for row in read_jsonl(path) if "corpus_sha256" in row}  # fmt: skip
    text = "\n".join(lines)
    for old, new in (corpus | hashes).items():
        text = text.replace(old, new)
    return text


def test_card_benchmark_and_metadata_show_every_part_as_it_is(published) -> None:
    """If they are to change, write what is shown now into the file, and look at what differs."""
    assert _shown(published) == (Path(__file__).parent / "data" / "publication.txt").read_text()


@pytest.mark.integration
def test_load_dataset_reads_every_configuration_and_split(published, quarter, needed) -> None:
    needed(find_spec("datasets") is not None, "the package datasets")
    corpus = _corpus_config(published, "ponds")
    asked = [
        ["x-notes", "2023Q2"], ["x-notes", "2023Q3"], ["wikipedia-edits", "2023Q2"], ["liar", "liar_v_6"],
        ["corrections", "corrections_v_6"], ["scifact-retrieval", "scifact_retrieval_v_dev_ponds"],
        [corpus, "documents"],
    ]  # fmt: skip
    found = _python(_LOAD, published, json.dumps(asked))
    said = {name: (one["rows"], one["labels"]) for name, one in found.items()}
    assert said == {
        "x-notes/2023Q2": (18, [0, 1]),
        "x-notes/2023Q3": (4, [None]),  # its labels are not public
        "wikipedia-edits/2023Q2": (4, [None]),
        "liar/liar_v_6": (6, [0, 1, 2, 3, 4, 5]),
        "corrections/corrections_v_6": (1, None),
        "scifact-retrieval/scifact_retrieval_v_dev_ponds": (1, None),
        f"{corpus}/documents": (2, None),
    }
    for name, one in found.items():
        config = name.split("/")[0]
        assert tuple(one["classes"] or ()) == (get_task(config).classes if config != corpus else ())
    last = {name: json.loads(one["last"]) for name, one in found.items()}
    released = list(read_jsonl(published / "releases/2023Q2/x-notes/samples.jsonl"))
    assert last["x-notes/2023Q2"]["note"]["text"] == released[-1]["note"]["text"]
    assert last["x-notes/2023Q2"]["note"]["text_sha256"] is None
    assert len(last["x-notes/2023Q3"]["note"]["text_sha256"]) == 64
    query = last["scifact-retrieval/scifact_retrieval_v_dev_ponds"]
    assert query["relevance"] == [{"document": "ponds-1", "relevance": 1}]
    assert last[f"{corpus}/documents"]["id"] == "ponds-1" and last[f"{corpus}/documents"]["date"] == "2020-01-02"


@pytest.mark.integration
def test_mlcroissant_finds_no_fault_and_reads_every_record(published, quarter, needed) -> None:
    needed(find_spec("mlcroissant") is not None, "the package mlcroissant")
    found = _python(_VALIDATE, published)
    assert found["errors"] == found["warnings"] == []
    assert found["records"] == {
        "x-notes-classes": 2,
        "liar-classes": 6,
        "x-notes-2023Q2-bundled-sample": 18,
        "x-notes-2023Q3": 4,
        "wikipedia-edits-2023Q2": 4,
        "liar-liar_v_6": 6,
        "corrections-corrections_v_6": 1,
        "scifact-retrieval-scifact_retrieval_v_dev_ponds": 1,
        "scifact-retrieval-scifact_retrieval_v_dev_wells": 1,
        _corpus_config(published, "ponds"): 2,
    }
    assert all(count == found["records"][name] for name, count in found["ids"].items())
    assert found["classes"] == [[0, "not helpful"], [1, "helpful"]]
    sets = {
        item["name"]: [field["name"] for field in item["field"]]
        for item in read_json(published / "croissant.json")["recordSet"]
    }
    assert ["label" in sets[name] for name in ("x-notes-2023Q2-bundled-sample", "x-notes-2023Q3")] == [True, False]


def test_a_corpus_whose_licence_does_not_let_it_be_passed_on_is_named_and_left_out(published) -> None:
    assert [path.name for path in (published / "data").glob("corpus-wells-*/*")] == ["corpus.json"]
    assert not [path for path in published.rglob("*") if path.is_file() and b"Deep and cold" in path.read_bytes()
                and "ponds" not in path.as_posix()]  # fmt: skip
    card = (published / "README.md").read_text()
    assert "| wells |" in card and "not every licence allows passing them on" in card
