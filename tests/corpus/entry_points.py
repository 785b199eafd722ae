"""Every place at which files of others come in, in one form: a folder to work in and a content go in, codes come out.

An entry point gives the codes of what is wrong with the content, none where it is taken. Anything that it raises is a
defect. Whatever else is needed around the content (a history for notes, a manifest for samples) is made here, valid.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from collectors.notes.posts.local import LocalPosts
from collectors.notes.tables import HISTORY, NOTES
from collectors.wikipedia.export import read_pages
from hellofresh import config
from hellofresh.core.errors import HelloFreshError
from hellofresh.core.files import canonical_json
from hellofresh.core.quarters import Quarter
from hellofresh.core.workspace import Workspace
from hellofresh.releases.life.load import Published, load_labels
from hellofresh.runs.prompts import load_prompt_set
from hellofresh.submissions.format import Fault
from hellofresh.submissions.receipts import read_receipt
from hellofresh.tasks import get_task
from tests.collectors.notes.conftest import Dump, run, tsv
from tests.submissions.checks import check_submission

QUARTER = Quarter(2023, 2)
SAMPLES = {"x-notes": ["xn-1", "xn-2"], "wikipedia-edits": ["we-1-0"]}
PREDICTIONS = b'{"id":"xn-1","label":1,"confidence":0.75}\n{"id":"xn-2","label":null}\n'
INFO = b"""name = "My system"
team = "My team"
contact = "me@team.example"
regime = "zero-shot"
models = ["model"]
knowledge_cutoff = 2022-12-31
"""

EntryPoint = Callable[[Path, str, bytes], set[str]]


def submission(folder: Path, name: str, content: bytes) -> set[str]:
    """Predictions as JSON lines or CSV, `system.toml`, or a receipt, by the name's end; the rest is without fault."""
    place = folder / str(QUARTER) / "team" / "system"
    place.mkdir(parents=True, exist_ok=True)
    for path in place.iterdir():
        path.unlink()
    kind = name.rpartition(".")[2]
    if kind != "csv":
        (place / "predictions.jsonl").write_bytes(content if kind == "jsonl" else PREDICTIONS)
    else:
        (place / "predictions.csv").write_bytes(content)
    (place / "system.toml").write_bytes(content if kind == "toml" else INFO)
    _, faults = check_submission(place, QUARTER, SAMPLES)
    if kind == "json":
        (place / "receipt.json").write_bytes(content)
        read_receipt(place, faults)
    return {_sound(fault).code for fault in faults}


def _sound(fault: Fault) -> Fault:
    assert fault.code and fault.where and fault.what
    assert str(fault).isprintable()
    return fault


def _codes(action: Callable[[], object]) -> set[str]:
    try:
        action()
    except HelloFreshError as error:
        assert error.code != "error" and error.what
        return {error.code}
    return set()


def settings(folder: Path, name: str, content: bytes) -> set[str]:
    path = folder / "hellofresh.toml"
    path.write_bytes(content)
    return _codes(lambda: config.Settings.load(path))


def prompts(folder: Path, name: str, content: bytes) -> set[str]:
    path = folder / "prompts.toml"
    path.write_bytes(content)
    return _codes(lambda: load_prompt_set("x-notes", "zero-shot", str(path)))


DUMP = Dump(Path())
for _number in (1, 2):
    DUMP.note(_number, post=9 + _number)
    DUMP.post(9 + _number, text=f"The tower number {_number} is 400 metres high!")
NOTES_TABLE, HISTORY_TABLE = (tsv(table.columns, DUMP.rows[table.stem]) for table in (NOTES, HISTORY))
POSTS = "".join(json.dumps(post) + "\n" for post in DUMP.posts).encode()


def notes(folder: Path, name: str, content: bytes) -> set[str]:
    """A table of a Community Notes dump: notes, or the status history where the name says so; plain or zipped."""
    dump = folder / "dump"
    dump.mkdir(exist_ok=True)
    for path in dump.iterdir():
        path.unlink()
    ending = name.rpartition(".")[2]
    stems = {"notes": NOTES_TABLE, "noteStatusHistory": HISTORY_TABLE}
    chosen = "noteStatusHistory" if "history" in name else "notes"
    for stem, valid in stems.items():
        file = dump / f"{stem}-00000.{ending if stem == chosen else 'tsv'}"
        file.write_bytes(content if stem == chosen else valid)
    (dump / "posts.jsonl").write_bytes(POSTS)
    return _codes(lambda: run(dump))


def posts(folder: Path, name: str, content: bytes) -> set[str]:
    path = folder / "posts.jsonl"
    path.write_bytes(content)
    return _codes(lambda: LocalPosts(path).find({"10", "11"}))


def history(folder: Path, name: str, content: bytes) -> set[str]:
    """A dump of revision histories, packed as the name says."""
    path = folder / f"history.{name.partition('.')[2]}"
    path.write_bytes(content)
    return _codes(lambda: [len(list(page.revisions)) for page in read_pages(path)])


SAMPLE = {
    "date": "2023-05-01T12:00:00Z",
    "group": "x-10",
    "id": "xn-1",
    "license": "LicenseRef-X-content",
    "note": {"date": "2023-05-01T12:00:00Z", "id": "1", "text": "The tower is 330 metres high."},
    "period": "2023-05",
    "post": {"date": "2023-04-30T10:00:00Z", "id": "10", "text": "The tower is 400 metres high!"},
    "edition": "2023Q2",
    "task": "x-notes",
}
SALT = "a" * 64
LABEL = {"id": "xn-1", "label": 1, "salt": SALT}
MANIFEST = {
    "format": 1, "version": 1, "task": "x-notes", "edition": "2023Q2", "code": "hellofresh", "source": "dump",
    "commitments": "SHA-256", "collection": {
        "sources": [], "parameters": {}, "warnings": [],
        "funnel": {"unit": "notes", "rows_in": 0, "drops": [], "kept": {}, "context": {}},
    },
}  # fmt: skip
CALENDAR = {"opens": "2023-07-22T00:00:00Z", "deadline": "2023-10-15T00:00:00Z", "reveals": "2023-10-22T00:00:00Z"}


def release(folder: Path, name: str, content: bytes) -> set[str]:
    """A file of a release, by how the name begins: samples, labels, commitments or manifest; the rest is valid."""
    workspace = Workspace(folder)
    public, private = workspace.release(QUARTER, "x-notes"), workspace.private(QUARTER, "x-notes")
    for place in (public, private):
        place.mkdir(parents=True, exist_ok=True)
    files = {"samples.jsonl": (canonical_json(SAMPLE) + "\n").encode(), "labels.jsonl": _line(LABEL)}
    commitment = hashlib.sha256(canonical_json(LABEL).encode()).hexdigest()
    files["commitments.jsonl"] = _line({"id": "xn-1", "commitment": commitment})
    kind = name.partition("-")[0]
    if f"{kind}.jsonl" in files:
        files[f"{kind}.jsonl"] = content
    samples = files["samples.jsonl"]
    sha256 = hashlib.sha256(samples).hexdigest()
    entry = {"path": "samples.jsonl", "size": len(samples), "sha256": sha256, "rows": samples.count(b"\n")}
    manifest = _line({**MANIFEST, "files": [entry], "calendar": CALENDAR})
    (public / "manifest.json").write_bytes(content if kind == "manifest" else manifest)
    (private / "labels.jsonl").write_bytes(files.pop("labels.jsonl"))
    for file, data in files.items():
        (public / file).write_bytes(data)
    task = get_task("x-notes")
    read = _codes(lambda: Published.open(workspace, QUARTER, task.name).samples(task))
    return read | _codes(lambda: load_labels(workspace, QUARTER, task))


def _line(value: object) -> bytes:
    return (canonical_json(value) + "\n").encode()


ENTRY_POINTS: dict[str, EntryPoint] = {
    "submissions": submission,
    "tables": submission,
    "receipts": submission,
    "settings": settings,
    "prompts": prompts,
    "notes": notes,
    "posts": posts,
    "histories": history,
    "releases": release,
}
"""By the name of the corpus's folder."""

_PAGE = (
    "<page><title>Tea</title><ns>0</ns><id>5</id>"
    + "".join(
        f"<revision><id>{number}</id><timestamp>2023-04-0{number}T00:00:00Z</timestamp>"
        f"<contributor><username>A</username><id>7</id></contributor><model>wikitext</model>"
        f"<text xml:space='preserve'>Tea is drink number {number}.</text><sha1 /></revision>"
        for number in (1, 2)
    )
    + "</page>"
)
EXPORT = (
    '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en"><siteinfo><namespaces>'
    f'<namespace key="0"></namespace></namespaces></siteinfo>\n{_PAGE}</mediawiki>\n'
).encode()
RECEIPT = json.dumps(
    {
        "edition": "2023Q2",
        "tasks": ["x-notes"],
        "sha256": "0" * 64,
        "received": datetime(2023, 9, 1, tzinfo=UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "code": "hellofresh 0.1.0",
        "earlier": [],
    }
).encode()
VALID: dict[str, tuple[str, bytes]] = {
    "predictions": ("submissions", PREDICTIONS),
    "system": ("submissions", INFO),
    "receipt": ("receipts", RECEIPT),
    "table": ("tables", b"id,label,confidence\nxn-1,1,0.75\nxn-2,,\n"),
    "settings": ("settings", b"[evaluate]\nlimit = 40\n"),
    "notes": ("notes", NOTES_TABLE),
    "posts": ("posts", POSTS),
    "histories": ("histories", EXPORT),
    "samples": ("releases", _line(SAMPLE)),
    "labels": ("releases", _line(LABEL)),
}
"""A content that is taken at each entry point, by what it is."""
NAMES = {
    "predictions": "valid.jsonl", "system": "valid.toml", "receipt": "valid.json", "table": "valid.csv",
    "settings": "valid.toml", "notes": "valid.tsv", "posts": "valid.jsonl", "histories": "valid.xml",
    "samples": "samples-valid.jsonl", "labels": "labels-valid.jsonl",
}  # fmt: skip
"""The file name under which each is handed in."""
