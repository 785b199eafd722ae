"""The files of a submission: their fields, a strict reader, and a writer of the canonical form.

Input is untrusted: it is bounded in size and depth, parsed strictly, and nothing in it is run or used as a path. A
folder has one `system.toml`; each split has a file of predictions and a receipt beside it, under names of its own.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, Self, get_args

from pydantic import Field, StringConstraints, ValidationError, ValidationInfo, field_validator, model_validator

from hellofresh.core.files import BadJsonError, parse_toml, strict_json
from hellofresh.core.net.addresses import AddressError, PageAddress, is_public
from hellofresh.core.strict import Strict
from hellofresh.core.systems import MODEL_FACTS, ModelFacts, Weights
from hellofresh.core.texts import FORMULA, hidden_character
from hellofresh.submissions.names import MAX_NAME, faults_of_name, plain_text_fault
from hellofresh.tasks import MOST_CLASSES, TASKS
from hellofresh.tasks.outputs import Choice, Output, Ranking, Response, Status
from hellofresh.tasks.samples import MAIN, PROSPECTIVE, Split

_REMEDIES = {
    "ragged-row": "Quote cells that hold a comma; give every row all columns.",
    "bad-csv": "Quote a cell as a whole and double the quotes within it; no line breaks within a cell.",
    "formula": "A spreadsheet would run it as a formula. Reword it, or submit JSON lines.",
    "bad-cell": "Write plain numbers: no surrounding spaces, no thousands separators, no NA.",
    "bad-json": "Give each sample a line of JSON with keys and texts in double quotes.",
    "not-utf8": "Save the file as UTF-8.",
    "too-deep": "Give plain fields; only sources is a list.",
    "not-finite": "Give a finite number, or leave the field out.",
    "huge-number": "Give a number of usual length, or leave the field out.",
    "repeated-key": "Give each key once.",
    "lone-surrogate": "Write the character itself, in UTF-8.",
    "long-line": "Give each sample a line of its own, and shorten long texts.",
}
MAX_BYTES = 10_000_000  # a split has at most thousands of lines; what is larger is another file
MAX_INFO_BYTES = 16_000
"""Enough for the longest notes; bounded as the TOML parser's time grows with the square of a dotted key's length."""
MAX_RECEIPT_BYTES = 200_000
MAX_LINE_BYTES = 200_000  # a ranking of a thousand documents fits
MAX_DOCUMENTS = 1000
"""Most documents in one ranking."""
MAX_FAULTS = 100
"""Most faults of a kind that are listed; the rest is only counted."""
# Offset of a magic number, the number, and the kind of file.
_KINDS = (
    *((0, b"PK\x03\x04", "a zip archive"), (0, b"\x1f\x8b", "gzip data"), (0, b"BZh", "bzip2 data")),
    *((0, b"\xfd7zXZ", "xz data"), (0, b"\x28\xb5\x2f\xfd", "zstd data"), (0, b"7z\xbc\xaf\x27\x1c", "a 7z archive")),
    *((0, bytes((0x80, version)), "a pickle") for version in range(2, 6)),
    (257, b"ustar", "a tar archive"),
)
SYSTEM = "system.toml"

Line = Annotated[str, StringConstraints(min_length=1, max_length=MAX_NAME, strip_whitespace=True)]
Regime = Literal["zero-shot", "web-search", "agent", "other"]
REGIMES: tuple[str, ...] = get_args(Regime)
WEIGHTS: tuple[str, ...] = get_args(Weights)
_LINE = f"Give a line of 1 to {MAX_NAME} characters."
_INFO_FIXES = {
    **dict.fromkeys(("name", "team", "contact"), _LINE),
    "regime": f"Give one of {', '.join(REGIMES)}.",
    "models": f"Name at most 20 models, each in a line of 1 to {MAX_NAME} characters; none for a system of rules.",
    "knowledge_cutoff": 'Give a date that is not in the future, such as 2026-01-31 without quotes, or "unknown".',
    "url": "Give an address that begins with https://, or nothing.",
    "notes": "Give a text of at most 2,000 characters, or nothing.",
    "maker": f"{_LINE[:-1]}, or leave it out.",
    "weights": 'Give "open" or "closed", or leave it out.',
    "size_billions": "Give the parameters of the model in billions, such as 0.135 or 70, or leave it out.",
    "released": 'Give a day such as 2024-11-30 without quotes, a month "2024-11" or a year "2024", or leave it out.',
}
ANSWERS: Mapping[type[Output], str] = {Choice: "label", Response: "text", Ranking: "documents"}
"""The field that holds an answer, by the task's type of output."""
MOST_REPETITIONS = 20
_OPTIONAL = ("probabilities", "certainty", "confidence", "rationale", "sources", "repetition", "status")
_COLUMNS = ("id", *ANSWERS.values(), *_OPTIONAL)
_LABELS: Mapping[str, int | None] = {
    **{f"{label}{end}": label for label in range(MOST_CLASSES) for end in ("", ".0")},
    "": None,
    "null": None,
}
_NUMBER = re.compile(r"[0-9]{1,20}(\.[0-9]{0,30})?([eE]-?[0-9]{1,3})?")
_WHOLE = re.compile(r"[0-9]{1,3}")
_SUM_TOLERANCE = 0.01  # probabilities are often rounded

Address = Annotated[str, StringConstraints(max_length=2000, pattern=r"^https?://[^\s<>\"']+$")]
_Document = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\s\x00-\x1f\x7f]+$")]
_Probability = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
_LINE_FIXES = {
    "id": "Copy the sample's id as it is, in quotes.",
    "label": "Give the number of a class (with two classes 0 or 1, without quotes), its name, or null for no answer.",
    "text": "Give a text of at most 20,000 characters, or null for no answer.",
    "documents": f"Give a list of at most {MAX_DOCUMENTS:,} document ids, the best first, each once; or null.",
    "probabilities": "Give a list with the probability of each class, in the order of labels, or leave it out.",
    "certainty": "Give a number from 0 to 1, or leave it out.",
    "repetition": f"Give a whole number from 1 to {MOST_REPETITIONS}, or leave it out.",
    "status": "Give answered, none or blocked, or leave it out.",
    "confidence": "Give a number from 0 to 1, or leave it out.",
    "rationale": "Give a text of at most 10,000 characters, or leave it out.",
    "sources": "Give a list of at most 50 http(s) addresses, or leave it out.",
    "the whole": 'Give each sample a line such as {"id": "...", "label": 1}.',
}


class SplitFiles(NamedTuple):
    """Names of the files of a split: predictions as JSON lines or as a table, and the receipt."""

    jsonl: str
    csv: str
    receipt: str


FILES: Mapping[Split, SplitFiles] = {
    MAIN: SplitFiles("predictions.jsonl", "predictions.csv", "receipt.json"),
    PROSPECTIVE: SplitFiles("prospective.jsonl", "prospective.csv", "receipt_prospective.json"),
}


def has_split(folder: Path, split: Split) -> bool:
    """Whether a folder has any file of a split."""
    return any((folder / name).exists() or (folder / name).is_symlink() for name in FILES[split])


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault in a file: a stable code, the place, what is wrong, and what to do."""

    code: str
    where: str
    what: str
    fix: str = ""

    def __str__(self) -> str:
        return f"{self.where}: {self.what} [{self.code}]" + (f". {self.fix}" if self.fix else "")


def read_plain(path: Path, most: int, faults: list[Fault]) -> bytes | None:
    """The content of a plain text file; None, with a fault added, if it is not one."""
    if path.is_symlink() or (path.exists() and not path.is_file()):
        faults.append(Fault("not-a-file", str(path), "a link or folder", "Submit the file itself."))
        return None
    if not path.exists():
        what = "no such file" if path.parent.is_dir() else f"no such folder as {path.parent}"
        faults.append(Fault("missing-file", str(path), what, "Submit predictions.jsonl and system.toml."))
        return None
    size = path.stat().st_size
    if size > most:
        faults.append(Fault("too-large", str(path), f"{size:,} bytes", f"At most {most:,} bytes are accepted."))
        return None
    content = path.read_bytes()
    kind = next((name for at, mark, name in _KINDS if content[at:].startswith(mark)), "")
    if kind:
        faults.append(Fault("wrong-kind", str(path), f"this is {kind}", "Submit the plain text file."))
    elif content.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\x00" in content:
        faults.append(Fault("not-utf8", str(path), "UTF-16 or NUL bytes", "Save the file as UTF-8."))
    else:
        return content.removeprefix(b"\xef\xbb\xbf")  # the byte order mark, which Excel and Notepad write
    return None


def problems(error: ValidationError) -> Iterator[tuple[str, str]]:
    """Field and fault of each validation error; an unknown field is named only if it is a plain name."""
    for item in error.errors(include_url=False, include_input=False)[:MAX_FAULTS]:
        field = ".".join(str(part)[:80] for part in item["loc"] if not isinstance(part, str) or part.isidentifier())
        yield field or "the whole", item["msg"].removeprefix("Value error, ")


class SystemInfo(ModelFacts):
    """`system.toml`: the description of a system that the board shows; facts on its main model are optional."""

    name: Line
    team: Line
    contact: Line
    regime: Regime
    models: list[Line] = Field(max_length=20)
    knowledge_cutoff: date | Literal["unknown"]
    url: str = Field(default="", max_length=300)
    notes: str = Field(default="", max_length=2000)

    @field_validator("name", "team", "contact", "models", "notes", "maker", mode="after")
    @classmethod
    def _plain(cls, value: str | list[str] | None, field: ValidationInfo) -> str | list[str] | None:
        allowed = "\n" if field.field_name == "notes" else ""
        for text in [value] if isinstance(value, str) else value or []:
            fault = plain_text_fault(text, allowed)
            if not fault and field.field_name in {"name", "team", "models", "maker"}:
                fault = faults_of_name(text)
            if fault:
                raise ValueError(fault)
        return value

    @field_validator("knowledge_cutoff", mode="after")
    @classmethod
    def _not_in_the_future(cls, value: date | str, field: ValidationInfo) -> date | str:
        today = (field.context or {}).get("today")
        if isinstance(value, date) and isinstance(today, date) and value > today:
            raise ValueError(f"must not be in the future, it is {today} (UTC)")
        return value

    @field_validator("url", mode="after")
    @classmethod
    def _web_address(cls, value: str) -> str:
        if value and not re.fullmatch(r"https?://[^\s<>\"']+", value):
            raise ValueError("must be empty or begin with https:// or http://")
        if value and (fault := plain_text_fault(value)):
            raise ValueError(fault)
        try:
            host = PageAddress.parse(value).host if value else ""
        except AddressError as error:
            raise ValueError(f"must be an address that every reader takes alike: this is {error}") from None
        is_number = host.replace(".", "").isdecimal() or ":" in host
        if host.split(".")[-1] in ("localhost", "local", "internal") or (is_number and not is_public(host)):
            raise ValueError("must be an address on the public internet")
        return value


def read_info(path: Path, today: date, faults: list[Fault]) -> SystemInfo | None:
    """Read `system.toml`; None, with faults added, if it is invalid or its knowledge cutoff is after today."""
    content = read_plain(path, MAX_INFO_BYTES, faults)
    if content is None:
        return None
    try:
        return SystemInfo.model_validate(parse_toml(content), context={"today": today})
    except UnicodeDecodeError as error:
        faults.append(Fault("not-utf8", str(path), f"byte {error.start} is not UTF-8", "Save the file as UTF-8."))
    except ValidationError as error:
        faults += _field_faults(error, str(path), _INFO_FIXES, SystemInfo.model_fields)
    except ValueError as error:
        fix = "Put texts in double quotes and the date without any; submissions/README.md shows a whole file."
        faults.append(Fault("bad-toml", str(path), f"not TOML ({error})", fix))
    return None


def _field_faults(
    error: ValidationError, where: str, fixes: Mapping[str, str], fields: Iterable[str]
) -> Iterator[Fault]:
    """A fault for each field that pydantic refuses, with what to do."""
    other = f"The fields are {', '.join(fields)}; take others out."
    for field, what in problems(error):
        yield Fault("bad-field", f"{where}, {field}", what, fixes.get(field.partition(".")[0], other))


def system_toml(info: SystemInfo) -> str:
    """The text of `system.toml` for this description."""

    def value(said: object) -> str:  # JSON's escapes are valid in TOML
        return said.isoformat() if isinstance(said, date) else json.dumps(said, ensure_ascii=False)

    names = sorted(SystemInfo.model_fields, key=MODEL_FACTS.__contains__)  # optional ones last
    said = ((name, getattr(info, name)) for name in names)
    return "".join(f"{name} = {value(text)}\n" for name, text in said if text is not None)


class Prediction(Strict):
    """One line of `predictions.jsonl`.

    It has one of `label`, `text` and `documents`, depending on the task; null means no answer, which counts as wrong.
    `confidence`, the probability of label 1 of two classes, is the older form of `probabilities`.
    """

    id: str = Field(min_length=1, max_length=80)
    label: int | None = Field(default=None, ge=0, lt=MOST_CLASSES)
    text: str | None = Field(default=None, min_length=1, max_length=20_000)
    documents: list[_Document] | None = Field(default=None, max_length=MAX_DOCUMENTS)
    probabilities: list[_Probability] = Field(default=[], max_length=MOST_CLASSES)
    certainty: _Probability | None = None
    confidence: _Probability | None = None
    rationale: str | None = Field(default=None, max_length=10_000)
    sources: list[Address] = Field(default=[], max_length=50)
    repetition: int = Field(default=1, ge=1, le=MOST_REPETITIONS)
    status: Literal["answered", "none", "blocked"] | None = None

    @field_validator("label", mode="before")
    @classmethod
    def _whole_numbers(cls, value: object) -> object:
        if isinstance(value, bool | float | str):
            raise ValueError(f"{str(value)[:40]!r} is neither a class nor the number of one")
        return value

    @field_validator("probabilities")
    @classmethod
    def _whole(cls, value: list[float]) -> list[float]:
        if value and abs(sum(value) - 1) > _SUM_TOLERANCE:
            raise ValueError(f"the probabilities of all classes must add up to 1, not {sum(value):.3g}")
        return value

    @field_validator("text", "rationale")
    @classmethod
    def _nothing_hidden(cls, value: str | None) -> str | None:
        if hidden := hidden_character(value or ""):
            raise ValueError(f"must not have {hidden}, a character that is not shown")
        return value

    @field_validator("documents")
    @classmethod
    def _each_once(cls, value: list[str] | None) -> list[str] | None:
        if value is not None and len(set(value)) < len(value):
            raise ValueError("a document appears twice")
        return value

    @model_validator(mode="after")
    def _one_answer(self) -> Self:
        given = [name for name in ANSWERS.values() if name in self.model_fields_set]
        if len(given) != 1:
            raise ValueError(f"must have one of label, text and documents, not {' and '.join(given) or 'none'}")
        if self.status is not None and (self.status == "answered") is (self.answer is None):
            raise ValueError(
                f"the status {self.status} does not fit {given[0]}, which is null where there is no answer"
            )
        if self.probabilities and self.confidence is not None:
            raise ValueError("must have probabilities or confidence, not both")
        return self

    @property
    def field(self) -> str:
        """The one of `label`, `text` and `documents` that it has."""
        return next(name for name in ANSWERS.values() if name in self.model_fields_set)

    @property
    def answer(self) -> int | str | tuple[str, ...] | None:
        """The value of that field; None without an answer."""
        if self.documents is not None:
            return tuple(self.documents)
        return self.text if self.text is not None else self.label

    def output(self, prompt: str) -> Output:
        """The answer as an output."""
        silent = Status.BLOCKED if self.status == "blocked" else Status.NONE
        status = silent if self.answer is None else Status.ANSWERED
        stated = () if self.confidence is None else (1 - self.confidence, self.confidence)
        chances, documents = tuple(self.probabilities) or stated, tuple(self.documents or ())
        bare: Output = Choice(label=self.label, probabilities=chances, certainty=self.certainty)
        if self.field == "text":
            bare = Response(text=self.text or "")
        elif self.field == "documents":
            bare = Ranking(documents=documents, scores=tuple(map(float, range(len(documents), 0, -1))))
        sources = tuple(self.sources)
        return replace(bare, prompt=prompt, status=status, rationale=self.rationale or "", sources=sources)


class PredictionLine(NamedTuple):
    """A prediction and its line number in the file, from 1."""

    number: int
    prediction: Prediction


class ReadPredictions(NamedTuple):
    """The valid predictions of a file.

    Attributes:
        lines: the predictions on lines without a fault.
        faulty: ids on the other lines; None if one of these has no readable id or was not read.
    """

    lines: Sequence[PredictionLine]
    faulty: set[str] | None


def canonical_row(prediction: Prediction) -> dict[str, object]:
    """The fields of a prediction without the empty ones."""
    row = prediction.model_dump(mode="json", exclude_defaults=True)
    return {"id": prediction.id, prediction.field: None} | row


def predictions_file(folder: Path, faults: list[Fault], split: Split = MAIN) -> Path:
    """The file of predictions in a folder: JSONL if it exists, else CSV."""
    lines, table = folder / FILES[split].jsonl, folder / FILES[split].csv
    there = [path for path in (lines, table) if path.exists() or path.is_symlink()]
    if len(there) == 2:
        what = f"both {lines.name} and {table.name}"
        faults.append(Fault("two-files", str(folder), what, "Submit only one of them."))
    return there[0] if there else lines


def read_predictions(
    path: Path, most_lines: int, faults: list[Fault], *, first: int | None = None
) -> ReadPredictions | None:
    """Read the predictions without faults from a file; None if the file cannot be read at all.

    Args:
        path: a CSV file if it ends in `.csv`, else JSON lines.
        most_lines: a file with more lines is not read.
        first: how many lines to read; all if left out.
    """
    content = read_plain(path, MAX_BYTES, faults)
    if content is None:
        return None
    fix = "Give every sample of a task one line."
    ends = content.count(b"\n")
    if ends > most_lines:
        faults.append(Fault("too-many-lines", str(path), f"{ends:,} lines", fix))
        return None
    lines = content.split(b"\n") if first is None else content.split(b"\n", first)[:first]
    before = len(faults)
    found: ReadPredictions | None = ReadPredictions((), None)
    if content.strip() and path.suffix.lower() == ".csv":
        separator = ";" if b";" in lines[0] and b"," not in lines[0] else ","  # Excel's separator in much of Europe
        columns = _read_header(lines[0], separator, f"{path} line 1", faults)
        found = _each_line(path, lines, 1, partial(_read_row, columns, separator), faults) if columns else None
    elif content.strip():
        found = _each_line(path, lines, 0, strict_json, faults)
    if found is not None and not found.lines and len(faults) == before:
        faults.append(Fault("empty-file", str(path), "no predictions", fix))
    return found if content.strip() else None


def _each_line(
    path: Path, lines: Sequence[bytes], start: int, read: Callable[[bytes], object], faults: list[Fault]
) -> ReadPredictions:
    before = len(faults)
    predictions: list[PredictionLine] = []
    faulty: set[str] | None = set()
    for number, line in enumerate(lines[start:], start=start + 1):
        if len(faults) - before >= MAX_FAULTS:
            what = f"the lines from {number} on were not read"
            faults.append(Fault("many-faults", str(path), what, "Fix these faults and check again."))
            return ReadPredictions(predictions, None)
        if not line.strip():
            continue
        found = _read_line(line, f"{path} line {number}", read, faults)
        if isinstance(found, Prediction):
            predictions.append(PredictionLine(number, found))
        elif found is None or faulty is None:
            faulty = None
        else:
            faulty.add(found)
    return ReadPredictions(predictions, faulty)


def _read_line(
    line: bytes, where: str, read: Callable[[bytes], object], faults: list[Fault]
) -> Prediction | str | None:
    """The prediction on a line; only its id if the line has a fault; None if the id cannot be read either."""
    if len(line) > MAX_LINE_BYTES:
        what = f"a line of {len(line):,} bytes"
        faults.append(Fault("long-line", where, what, f"At most {MAX_LINE_BYTES:,} bytes are accepted."))
        return None
    row: object = None
    try:
        row = read(line)
        return Prediction.model_validate(numbered(row) if isinstance(row, dict) else row)
    except BadJsonError as error:
        faults.append(Fault(error.code, where, str(error), _REMEDIES.get(error.code, "")))
    except ValidationError as error:
        faults += _field_faults(error, where, _LINE_FIXES, _COLUMNS)
    name = row.get("id") if isinstance(row, dict) else None
    return name if isinstance(name, str) else None


def label_of(value: object, classes: Sequence[str]) -> object:
    """A class's number, from 1, 1.0 or its name in any case; of two classes also from yes and no.

    Anything else is given back as it is, for the caller to refuse.
    """
    if isinstance(value, float) and value.is_integer() and str(value) != "-0.0":  # as pandas writes whole numbers
        return int(value)
    names = {name.casefold(): number for number, name in enumerate(classes)}
    words = {"no": 0, "yes": 1} | names if len(classes) == 2 else names
    return words.get(value.strip().casefold(), value) if isinstance(value, str) else value


def numbered(row: Mapping[str, object]) -> Mapping[str, object]:
    """A row with the number of its class; the prefix of the id names the task."""
    own = (task.classes for task in TASKS.values() if str(row.get("id")).startswith(task.id_prefix))
    return {**row, "label": label_of(row["label"], next(own, ()))} if "label" in row else row


def _read_header(line: bytes, separator: str, where: str, faults: list[Fault]) -> tuple[str, ...]:
    """Names of the columns; empty, with faults added, if they are wrong."""
    try:
        names = _cells(line, separator)
    except BadJsonError as error:
        faults.append(Fault(error.code, where, str(error), _REMEDIES.get(error.code, "")))
        return ()
    before = len(faults)
    if len(names) == 1 and "\t" in names[0]:
        faults.append(Fault("not-commas", where, "columns separated by tabs", "Separate them by commas."))
        return ()
    for name in dict.fromkeys(names):
        if names.count(name) > 1:
            faults.append(Fault("repeated-column", where, f"{name[:80]!r} appears twice", "Take one out."))
        if name not in _COLUMNS:
            fix = f"The columns are {', '.join(_COLUMNS)}; id and one of label, text and documents are needed."
            faults.append(Fault("unknown-column", where, f"a column {name[:80]!r}", fix))
    fix = "The first line names the columns."
    if "id" not in names:
        faults.append(Fault("missing-column", where, "no column 'id'", fix))
    if not set(names) & set(ANSWERS.values()):
        faults.append(Fault("missing-column", where, "no column 'label', 'text' or 'documents'", fix))
    return tuple(names) if len(faults) == before else ()


def _cells(line: bytes, separator: str) -> list[str]:
    """Cells of one line; a quoted cell must end on its line, so that a stray quote cannot swallow rows."""
    if len(line) > MAX_LINE_BYTES:
        raise BadJsonError("long-line", f"a line of {len(line):,} bytes")
    try:
        text = line.decode().removesuffix("\r")
    except UnicodeDecodeError as error:
        raise BadJsonError("not-utf8", f"byte {error.start} is not UTF-8") from None
    if "\r" in text:
        raise BadJsonError("bad-csv", "a carriage return within a line")
    try:
        (cells,) = csv.reader([text], delimiter=separator, strict=True)
    except (csv.Error, ValueError) as error:
        raise BadJsonError("bad-csv", f"not CSV ({error})") from None
    return cells


def _read_row(columns: Sequence[str], separator: str, line: bytes) -> object:
    """The fields of a row; of several answer columns only the filled one is kept, or the first if all are empty."""
    cells = _cells(line, separator)
    if len(cells) != len(columns):
        raise BadJsonError("ragged-row", f"{len(cells)} cells, expected {len(columns)}")
    row = numbered({name: _cell_value(name, cell) for name, cell in zip(columns, cells, strict=True)})
    if isinstance(label := row.get("label"), str):
        what = f"label: {label[:40]!r}, expected a class's number or name, or nothing for no answer"
        raise BadJsonError("bad-cell", what)
    there = [name for name in ANSWERS.values() if name in row]
    filled = [name for name in there if row[name] is not None] or there[:1]
    return {name: value for name, value in row.items() if name not in there or name in filled}


def _cell_value(column: str, cell: str) -> object:
    """A cell's value as in JSON; ids and texts always stay strings."""
    if cell.startswith(FORMULA):
        raise BadJsonError("formula", f"{column}: a cell that begins with {cell[0]!r}")
    if column == "repetition" and not _WHOLE.fullmatch(cell or "1"):
        raise BadJsonError("bad-cell", f"repetition: {cell[:40]!r}, expected a whole number")
    read = _READERS.get(column)
    return read(column, cell) if read is not None else cell if column == "id" or cell else None


def _number(column: str, cell: str) -> float:
    if not _NUMBER.fullmatch(cell):
        raise BadJsonError("bad-cell", f"{column}: {cell[:40]!r}, expected a number from 0 to 1")
    return float(cell)


_READERS: Mapping[str, Callable[[str, str], object]] = {
    "label": lambda _, cell: _LABELS.get(cell, cell),
    "documents": lambda _, cell: cell.split() or None,
    "sources": lambda _, cell: cell.split(),
    "probabilities": lambda column, cell: [_number(column, part) for part in cell.split()],
    "certainty": lambda column, cell: _number(column, cell) if cell else None,
    "confidence": lambda column, cell: _number(column, cell) if cell else None,
    "repetition": lambda _, cell: int(cell or "1"),
}
