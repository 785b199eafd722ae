"""Predictions that other people hand in: their format, the check, and the receipt.

`submissions/<quarter>/<team>/<system>/` holds `predictions.jsonl` and `system.toml` (see submissions/README.md). The
check reads everything and names every fault, with the line, the field and what to do, all of them at once. What it
reads is untrusted: size and depth are bounded, JSON is parsed strictly, and nothing of it is run or used as a path.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, ValidationInfo, field_validator

from hellofresh.errors import SubmissionError
from hellofresh.files import Json, canonical_json, parse_toml, sha256_text
from hellofresh.quarters import Quarter
from hellofresh.tasks import TASKS

__all__ = ["Fault", "Prediction", "Submission", "SystemInfo", "check_submission", "find_submissions", "read_submission"]

MAX_BYTES = 10_000_000
MAX_INFO_BYTES = 16_000
"""Enough for the longest notes; the TOML parser's time grows with the square of a dotted key's length."""
MAX_LINE_BYTES = 200_000
MAX_DEPTH = 8
MAX_FAULTS = 100
"""After so many of a kind, the rest is only counted."""
_SPARE_LINES = 1000
"""Lines beyond the number of samples that are still read, so that each extra one is named."""
_FOLDER = re.compile(r"(?!(?:con|prn|aux|nul|com\d|lpt\d)$)[a-z0-9][a-z0-9-]{0,39}")
_KINDS = (
    (b"PK\x03\x04", "a zip archive"), (b"\x1f\x8b", "gzip data"), (b"BZh", "bzip2 data"), (b"\xfd7zXZ", "xz data"),
    (b"\x28\xb5\x2f\xfd", "zstd data"), *((bytes((0x80, version)), "a pickle") for version in range(2, 6)),
)  # fmt: skip
_BRACKETS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[\]{}]')
"""Strings, also unfinished ones, and brackets; nothing is ever read twice, whatever the text."""

Line = Annotated[str, StringConstraints(min_length=1, max_length=80, strip_whitespace=True)]
Address = Annotated[str, StringConstraints(max_length=2000, pattern=r"^https?://[^\s<>\"']+$")]


_INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Prediction(_Strict):
    """One line of `predictions.jsonl`; a label of None is no answer, which counts as wrong."""

    id: str = Field(min_length=1, max_length=80)
    label: Literal[0, 1] | None
    confidence: float | None = Field(default=None, ge=0, le=1, allow_inf_nan=False)
    rationale: str | None = Field(default=None, max_length=10_000)
    sources: list[Address] = Field(default=[], max_length=50)

    @field_validator("label", mode="before")
    @classmethod
    def _whole_numbers(cls, value: object) -> object:
        if isinstance(value, bool | float):
            raise ValueError("must be 0, 1 or null, neither true or false nor a number with a point")
        return value


class SystemInfo(_Strict):
    """`system.toml`: what the board shows of a system."""

    name: Line
    team: Line
    contact: Line
    regime: Literal["zero-shot", "web-search", "agent", "other"]
    models: list[Line] = Field(min_length=1, max_length=20)
    knowledge_cutoff: date | Literal["unknown"]
    url: str = Field(default="", max_length=300)
    notes: str = Field(default="", max_length=2000)

    @field_validator("name", "team", "contact", "models", "notes", mode="after")
    @classmethod
    def _plain(cls, value: str | list[str], field: ValidationInfo) -> str | list[str]:
        allowed = "\n" if field.field_name == "notes" else ""
        for text in [value] if isinstance(value, str) else value:
            if unicodedata.normalize("NFC", text) != text:
                raise ValueError("must be in Unicode form NFC")
            if any(unicodedata.category(char) in _INVISIBLE and char not in allowed for char in text):
                raise ValueError("must not have control, bidi or zero-width characters")
        return value

    @field_validator("url", mode="after")
    @classmethod
    def _web_address(cls, value: str) -> str:
        if value and not re.fullmatch(r"https?://[^\s<>\"']+", value):
            raise ValueError("must be empty or begin with https:// or http://")
        return value


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong: a stable code, the place, the fault, and what to do."""

    code: str
    where: str
    what: str
    fix: str = ""

    def __str__(self) -> str:
        return f"{self.where}: {self.what} [{self.code}]" + (f". {self.fix}" if self.fix else "")


@dataclass(frozen=True, slots=True)
class Submission:
    """A submission that passed the check.

    Attributes:
        quarter: the quarter that it is for.
        team, system: its folder names.
        info: what it says of itself.
        labels: label (1, 0 or None) by sample id, all tasks together.
        sha256: hash of its canonical content.
        predictions: the predictions, as they were handed in.
    """

    quarter: Quarter
    team: str
    system: str
    info: SystemInfo
    labels: Mapping[str, int | None]
    sha256: str
    predictions: tuple[Prediction, ...] = field(default=(), repr=False)


def find_submissions(root: Path, quarter: Quarter) -> list[Path]:
    """Folders of all submissions for a quarter, in order; links and misnamed folders are left out."""
    folders = (path.parent for path in root.glob(f"{quarter}/*/*/system.toml"))
    return sorted(path for path in folders if not _misnamed(path) and not _linked(path))


def _linked(folder: Path) -> bool:
    return any(path.is_symlink() for path in (folder, folder.parent, folder.parent.parent))


def _misnamed(folder: Path) -> bool:
    return not all(_FOLDER.fullmatch(name) for name in (folder.name, folder.parent.name))


def read_submission(folder: Path, quarter: Quarter, samples: Mapping[str, Iterable[str]]) -> Submission:
    """Read a submission that must be without fault.

    Raises:
        SubmissionError: naming the first fault and the number of others.
    """
    submission, faults = check_submission(folder, quarter, samples)
    if submission is None:
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        raise SubmissionError(
            f"{faults[0].what}{more}",
            where=faults[0].where,
            fix=faults[0].fix or f"See all with: hellofresh submission check {folder} --quarter {quarter}",
            code=faults[0].code,
        )
    return submission


def check_submission(
    folder: Path, quarter: Quarter, samples: Mapping[str, Iterable[str]]
) -> tuple[Submission | None, list[Fault]]:
    """Check a submission and name all its faults.

    Args:
        folder: holds `predictions.jsonl` and `system.toml`.
        quarter: the quarter that it is for.
        samples: ids of the released samples, by task.

    Returns:
        The submission, or None where there is a fault; and the faults.
    """
    faults: list[Fault] = []
    if _misnamed(folder.absolute()):
        what = f"folders {folder.absolute().parent.name!r} / {folder.absolute().name!r}"
        faults.append(Fault("bad-folder", str(folder), what, "Name them in lower-case letters, digits and hyphens."))
    info = _read_info(folder / "system.toml", faults)
    most_lines = sum(len(set(ids)) for ids in samples.values()) + _SPARE_LINES
    predictions = _read_predictions(folder / "predictions.jsonl", most_lines, faults)
    if predictions is not None:
        _check_ids(folder / "predictions.jsonl", predictions, samples, faults)
    if faults or info is None or predictions is None:
        return None, faults
    labels = {item.id: item.label for item in predictions}
    content = [info.model_dump(mode="json"), [item.model_dump(mode="json") for item in predictions]]
    where = folder.absolute()
    names, sha256 = (where.parent.name, where.name), sha256_text(canonical_json(content))
    return Submission(quarter, *names, info, labels, sha256, tuple(predictions)), []


def _read_bytes(path: Path, most: int, faults: list[Fault]) -> bytes | None:
    """The content of a plain file of text, or None and a fault."""
    if path.is_symlink() or (path.exists() and not path.is_file()):
        faults.append(Fault("not-a-file", str(path), "a link or folder", "Hand in the file itself."))
        return None
    if not path.exists():
        faults.append(Fault("missing-file", str(path), "no such file", "Hand in predictions.jsonl and system.toml."))
        return None
    size = path.stat().st_size
    if size > most:
        faults.append(Fault("too-large", str(path), f"{size:,} bytes", f"At most {most:,} bytes are taken."))
        return None
    content = path.read_bytes()
    fault = _no_text(content)
    if fault is not None:
        code, what, fix = fault
        faults.append(Fault(code, str(path), what, fix))
        return None
    return content


def _no_text(content: bytes) -> tuple[str, str, str] | None:
    """Code, fault and remedy where the content cannot be a text in UTF-8."""
    for mark, name in _KINDS:
        if content.startswith(mark):
            return "wrong-kind", f"this is {name}", "Hand in the plain text file."
    if content[257:262] == b"ustar":
        return "wrong-kind", "this is a tar archive", "Hand in the plain text file."
    if content.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\x00" in content:
        return "not-utf8", "UTF-16 or NUL bytes", "Save the file as UTF-8."
    if content.startswith(b"\xef\xbb\xbf"):
        return "byte-order-mark", "a byte-order mark before the text", "Save the file as UTF-8 without it."
    return None


def _read_info(path: Path, faults: list[Fault]) -> SystemInfo | None:
    content = _read_bytes(path, MAX_INFO_BYTES, faults)
    if content is None:
        return None
    try:
        return SystemInfo.model_validate(parse_toml(content))
    except UnicodeDecodeError as error:
        faults.append(Fault("not-utf8", str(path), f"byte {error.start} is not UTF-8", "Save the file as UTF-8."))
    except ValidationError as error:
        faults += (Fault("bad-field", f"{path}, {field}", what) for field, what in _problems(error))
    except ValueError as error:
        faults.append(Fault("bad-toml", str(path), f"not TOML ({error})"))
    return None


def _problems(error: ValidationError) -> Iterator[tuple[str, str]]:
    for item in error.errors(include_url=False, include_input=False)[:MAX_FAULTS]:
        field = ".".join(str(part) for part in item["loc"] if not isinstance(part, str) or part.isidentifier())
        yield field or "the whole", item["msg"].removeprefix("Value error, ")


def _read_predictions(path: Path, most_lines: int, faults: list[Fault]) -> list[Prediction] | None:
    content = _read_bytes(path, MAX_BYTES, faults)
    if content is None:
        return None
    if not content.strip():
        faults.append(Fault("empty-file", str(path), "no predictions"))
        return None
    ends = content.count(b"\n")
    if ends > most_lines:
        faults.append(
            Fault("too-many-lines", str(path), f"{ends:,} lines", "Give every sample of the quarter one line.")
        )
        return None
    before = len(faults)
    predictions = []
    for number, line in enumerate(content.split(b"\n"), start=1):
        if len(faults) - before >= MAX_FAULTS:
            what = f"the lines from {number} on were not read any more"
            faults.append(Fault("many-faults", str(path), what, "Mend these faults and check again."))
            break
        if line.strip():
            prediction = _read_line(line, f"{path} line {number}", faults)
            predictions += [prediction] if prediction is not None else []
    return predictions if len(faults) == before else None


def _read_line(line: bytes, where: str, faults: list[Fault]) -> Prediction | None:
    if len(line) > MAX_LINE_BYTES:
        what = f"a line of {len(line):,} bytes"
        faults.append(Fault("long-line", where, what, f"At most {MAX_LINE_BYTES:,} bytes are taken."))
        return None
    try:
        value = _strict_json(line)
        return Prediction.model_validate(value)
    except _BadJsonError as error:
        faults.append(Fault(error.code, where, str(error)))
    except ValidationError as error:
        faults += (Fault("bad-field", f"{where}, {field}", what) for field, what in _problems(error))
    return None


class _BadJsonError(ValueError):
    def __init__(self, code: str, what: str) -> None:
        super().__init__(what)
        self.code = code


def _strict_json(line: bytes) -> Json:
    """Parse one line, refusing what Python's parser lets pass: NaN, repeated keys, huge numbers, half surrogates."""
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        raise _BadJsonError("not-utf8", f"byte {error.start} is not UTF-8") from None
    if _depth(text) > MAX_DEPTH:
        raise _BadJsonError("too-deep", f"nested more than {MAX_DEPTH} levels")
    try:
        value = json.loads(
            text, parse_constant=_no_constant, object_pairs_hook=_no_repeats, parse_int=_short_int, parse_float=_finite
        )
    except _BadJsonError:
        raise
    except ValueError as error:
        raise _BadJsonError("bad-json", f"not JSON ({error})") from None
    try:
        canonical_json(value).encode()
    except UnicodeEncodeError:
        raise _BadJsonError("lone-surrogate", "half of a surrogate pair") from None
    return value


def _depth(text: str) -> int:
    """How deeply brackets outside strings are nested."""
    depth = deepest = 0
    for bracket in _BRACKETS.findall(text):
        if bracket in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif bracket in "]}":
            depth -= 1
    return deepest


def _no_constant(name: str) -> Json:
    raise _BadJsonError("not-finite", f"{name} is not a JSON number")


def _no_repeats(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    repeated = [key for key, times in Counter(key for key, _ in pairs).items() if times > 1]
    if repeated:
        raise _BadJsonError("repeated-key", f"the key {repeated[0][:80]!r} is there twice")
    return dict(pairs)


def _short_int(digits: str) -> int:
    if len(digits) > 20:
        raise _BadJsonError("huge-number", f"a number of {len(digits)} digits")
    return int(digits)


def _finite(digits: str) -> float:
    value = float(digits) if len(digits) <= 400 else float("inf")
    if abs(value) == float("inf"):
        raise _BadJsonError("not-finite", "a number beyond the range of floats")
    return value


def _check_ids(
    path: Path, predictions: list[Prediction], samples: Mapping[str, Iterable[str]], faults: list[Fault]
) -> None:
    times = Counter(item.id for item in predictions)
    repeated = sorted(key for key, number in times.items() if number > 1)
    faults += _each("duplicate-id", path, repeated, "is there more than once")
    covered = {
        name: set(ids) for name, ids in samples.items() if any(k.startswith(TASKS[name].id_prefix) for k in times)
    }
    known = set().union(*covered.values())
    faults += _each("unknown-id", path, sorted(times.keys() - known), "is no sample of this quarter")
    for name, ids in covered.items():
        missing = sorted(ids - times.keys())
        if missing:
            what = f"{len(missing)} of {len(ids)} samples of {name} are missing, the first is {missing[0]}"
            fix = "Give every sample a line; a label of null means no answer."
            faults.append(Fault("missing-id", str(path), what, fix))


def _each(code: str, path: Path, ids: list[str], what: str) -> Iterator[Fault]:
    """A fault for each id, which may hold anything, and the number of those beyond the first hundred."""
    for sample_id in ids[:MAX_FAULTS]:
        yield Fault(code, str(path), f"{sample_id!r} {what}", "Take it out.")
    if len(ids) > MAX_FAULTS:
        yield Fault(code, str(path), f"{len(ids) - MAX_FAULTS:,} more ids like these", "Take them out.")
