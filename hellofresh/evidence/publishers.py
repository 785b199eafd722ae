"""Ratings of publishers by domain, and their priority as sources, from the user's files.

A rating holds for a domain and its subdomains. `publishers.parquet` in the workspace has the imported ratings; the
project contains none. Domains that are not listed are unrated rather than average.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Literal, get_args

from hellofresh.core.errors import SourceError
from hellofresh.core.files import sha256_text
from hellofresh.core.net.addresses import AddressError, PageAddress, host_name
from hellofresh.core.workspace import Workspace

Priority = Literal["high", "medium", "low"]
"""Preference for a publisher as a source."""
PRIORITIES: tuple[Priority, ...] = get_args(Priority)
COLUMNS = ("domain", "bias", "factuality", "quality", "category")
_MOST_BYTES = 100_000_000
_MOST_STEPS = 8  # lists rate sites and their sections, never deeper pages
# Together with a query they stay within 50 words and 400 characters, the tightest limit of all providers (Brave's).
_GROUP_DOMAINS, _GROUP_CHARACTERS = 15, 240
_BIASES = {
    "extreme left": -3, "far left": -3, "left": -2, "left center": -1, "lean left": -1, "center": 0, "centre": 0,
    "least biased": 0, "pro science": 0, "right center": 1, "lean right": 1, "right": 2, "far right": 3,
    "extreme right": 3,
}  # fmt: skip
_FACTUALITIES = {
    "very low": 0.0, "low": 0.2, "mixed": 0.4, "mostly factual": 0.6, "high": 0.8, "very high": 1.0,
    "gr": 1.0, "generally reliable": 1.0, "nc": 0.5, "no consensus": 0.5, "m": 0.5, "gu": 0.0,
    "generally unreliable": 0.0, "d": 0.0, "deprecated": 0.0, "b": 0.0, "blacklisted": 0.0,
}  # fmt: skip
# Categories of publishers that are not usable as sources; some files give them in place of a bias.
_CATEGORIES = {
    "satire": "satire", "satirical": "satire", "questionable": "questionable", "fake": "questionable",
    "fake news": "questionable", "unreliable": "questionable", "rumor": "questionable", "conspiracy": "conspiracy",
    "conspiracy pseudoscience": "conspiracy", "pseudoscience": "conspiracy",
}  # fmt: skip
# Words that may follow a rating, as in `left-center bias` and `questionable source`.
_BESIDE = re.compile(r"\s+(?:bias|sources?|reporting)$")
_MOST_FACTUAL, _FACTUAL, _MOSTLY_FACTUAL, _NEAR_THE_CENTRE = 1.0, 0.8, 0.6, 1


@dataclass(frozen=True, slots=True)
class Publisher:
    """The ratings of a publisher.

    Attributes:
        domain: in ASCII, without `www`.
        bias: from -3 (left) to 3 (right), None where not rated.
        factuality, quality: from 0 to 1, None where not rated.
        category: `satire`, `questionable` or `conspiracy`, empty for all others.
        listed: the priority of the list that contains it, empty without one.
    """

    domain: str
    bias: float | None
    factuality: float | None
    quality: float | None
    category: str = ""
    listed: str = ""

    @property
    def priority(self) -> Priority | None:
        """The priority as a source, None for a publisher that is not usable as one.

        The priority of its list comes first; else its rating decides: a source is at least mostly factual and at most
        left-center or right-center. High: factuality very high and least biased; medium: factuality at least high. A
        publisher without a rated bias is never high. Satire, questionable and conspiracy are excluded.
        """
        if self.category:
            return None
        if self.listed:
            return next(priority for priority in PRIORITIES if priority == self.listed)
        factuality, bias = self.factuality or 0.0, self.bias
        if factuality < _MOSTLY_FACTUAL or (bias is not None and abs(bias) > _NEAR_THE_CENTRE):
            return None
        if factuality >= _MOST_FACTUAL and bias == 0:
            return "high"
        return "medium" if factuality >= _FACTUAL else "low"


@dataclass(frozen=True)
class Publishers:
    """Ratings by domain; `left_out` holds values of the column of domains that are not domains."""

    rated: Mapping[str, Publisher]
    left_out: tuple[str, ...] = field(default=(), compare=False)

    def of(self, url: str) -> Publisher | None:
        """The most specific rating for an address's domain; None if it is not rated.

        A rating of a part of a site, such as `one.example/news`, holds for that part only and overrides the site's.
        """
        labels = site_of(url).split(".")
        names = (".".join(labels[start:]) for start in range(len(labels) - 1))
        parts = _parts(url) if self._of_parts else ("",)
        return next((self.rated[name + part] for name in names for part in parts if name + part in self.rated), None)

    def site_groups(self, priority: Priority) -> list[str]:
        """The domains of a priority as parts of queries, in order, each of at most 15 domains and 240 characters."""
        groups: list[str] = []
        for name in sorted(name for name, one in self.rated.items() if one.priority == priority):
            longer = f"{groups[-1]} OR site:{name}" if groups else ""
            if longer and len(longer) <= _GROUP_CHARACTERS and longer.count("site:") <= _GROUP_DOMAINS:
                groups[-1] = longer
            else:
                groups.append(f"site:{name}")
        return groups

    @cached_property
    def _of_parts(self) -> bool:
        """Whether any rating is of a part of a site."""
        return any("/" in name for name in self.rated)

    @cached_property
    def sha256(self) -> str:
        return sha256_text(json.dumps(sorted(map(repr, self.rated.values()))))


def site_of(url: str) -> str:
    """The host of an address without `www`, empty if it cannot be parsed."""
    try:
        return PageAddress.parse(url).host.removeprefix("www.")
    except AddressError:
        return ""


def _parts(url: str) -> Sequence[str]:
    """The prefixes of an address's path, the longest first, ending with the empty one."""
    try:
        path = PageAddress.parse(url).target.partition("?")[0].lower()
    except AddressError:
        return ("",)
    steps = [step for step in path.split("/") if step]
    return ["".join(f"/{step}" for step in steps[:end]) for end in range(min(len(steps), _MOST_STEPS), -1, -1)]


def read_publishers(path: Path, columns: Mapping[str, str] | None = None) -> Publishers:
    """Read a CSV file with a header, or JSON lines.

    Args:
        path: the file.
        columns: names of its columns if they differ from `domain`, `bias`, `factuality`, `quality`. The column of
            domains may hold a list of them.

    If two lines rate one domain, the first counts.

    Raises:
        SourceError: if it cannot be read, has no domains, or a rating is out of range.
    """
    named = {name: name for name in COLUMNS} | dict(columns or {})
    rated: dict[str, Publisher] = {}
    left_out: list[str] = []
    for number, row in _rows(path, named["domain"]):
        where = f"{path} line {number}"
        listed = row.get(named["domain"])
        for domain in listed if isinstance(listed, list) else [listed]:
            name = _domain(domain)
            if not name:
                left_out.append(str(domain)[:80])
                continue
            said = _words(row.get(named["bias"]))
            bias = None if said in _CATEGORIES else _number(row.get(named["bias"]), _BIASES, -3, 3, where)
            factuality, quality = (
                _number(row.get(named[name]), _FACTUALITIES, 0, 1, where) for name in ("factuality", "quality")
            )
            category = _CATEGORIES.get(_words(row.get(named["category"])), "") or _CATEGORIES.get(said, "")
            rated.setdefault(name, Publisher(name, bias, factuality, quality, category))
    if not rated:
        raise SourceError("no domains", where=str(path), expected="a row for each domain", code="bad-publishers")
    return Publishers(rated, tuple(left_out))


def read_lists(lists: Mapping[Priority, Path], ratings: Publishers | None = None) -> Publishers:
    """Read lists of publishers, one domain or part of a site per line; the highest list of a publisher counts.

    Args:
        lists: a file for each priority.
        ratings: other ratings of publishers, which are kept.

    Raises:
        SourceError: if a file cannot be read, or has no domains.
    """
    rated = dict(ratings.rated) if ratings is not None else {}
    left_out = list(ratings.left_out) if ratings is not None else []
    listed: dict[str, Priority] = {}
    for priority in PRIORITIES:
        lines = _read(lists[priority]).split("\n") if priority in lists else []
        for line in (line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")):
            # A domain, or a part of a site such as `one.example/news`.
            host, _, path = line.lower().split("://")[-1].partition("/")
            steps = [step for step in path.partition("?")[0].split("/") if step]
            if domain := _domain(host):
                listed.setdefault("/".join([domain, *steps]), priority)
            else:
                left_out.append(line[:80])
    if not listed and lists:
        where = ", ".join(map(str, lists.values()))
        raise SourceError("no domains", where=where, expected="a domain a line", code="bad-publishers")
    for name, priority in listed.items():
        rated[name] = replace(rated.get(name, Publisher(name, None, None, None)), listed=priority)
    return Publishers(rated, tuple(left_out))


def import_publishers(
    workspace: Workspace,
    path: Path | None,
    columns: Mapping[str, str] | None = None,
    lists: Mapping[Priority, Path] | None = None,
) -> Publishers:
    """Read files and store their ratings in the workspace, replacing the earlier ones.

    Args:
        workspace: where they are stored.
        path: file of ratings, None if there are only lists.
        columns: as for `read_publishers`.
        lists: a file of domains for each priority.

    Raises:
        SourceError: like `read_publishers` and `read_lists`.
    """
    publishers = Publishers({}) if path is None else read_publishers(path, columns)
    publishers = read_lists(lists, publishers) if lists else publishers
    from hellofresh.core.parquet import Table, write_parquet  # imports polars, which few users of ratings need

    rows = [publishers.rated[domain] for domain in sorted(publishers.rated)]
    write_parquet(workspace.root / "publishers.parquet", Table(Publisher).frame(rows))
    return publishers


def load_publishers(workspace: Workspace) -> Publishers:
    """The imported ratings, empty without any.

    Raises:
        SourceError: if the table is damaged.
    """
    path = workspace.root / "publishers.parquet"
    if not path.is_file():
        return Publishers({})
    from hellofresh.core.parquet import BadTableError, Table

    table = Table(Publisher)
    try:
        return Publishers({row.domain: row for row in table.rows(table.read(path))})
    except BadTableError as error:
        fix = "Import the ratings again: hellofresh dataset import publishers FILE"
        raise SourceError(str(error), where=str(path), fix=fix, code="bad-publishers") from None


def _read(path: Path) -> str:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise SourceError(f"more than {_MOST_BYTES:,} bytes", where=str(path), code="bad-publishers")
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeError) as error:
        raise SourceError(f"cannot be read ({error})", where=str(path), code="bad-publishers") from None


def _rows(path: Path, domain: str) -> Iterator[tuple[int, Mapping[str, object]]]:
    text = _read(path)
    if text.lstrip().startswith("{"):
        for number, line in enumerate(text.rstrip().split("\n"), start=1):
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                row = None
            if not isinstance(row, dict):
                raise SourceError("not a JSON object", where=f"{path} line {number}", code="bad-publishers")
            yield number, row
        return
    try:
        reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
        if domain not in (reader.fieldnames or ()):
            expected = f"a header with the column {domain!r}"
            raise SourceError("no column of domains", where=str(path), expected=expected, code="bad-publishers")
        for cells in reader:
            yield reader.line_num, cells
    except csv.Error as error:
        raise SourceError(f"not CSV ({error})", where=str(path), code="bad-publishers") from None


def _domain(value: object) -> str:
    """The domain in a value that is a domain or an address, without its path; empty if invalid."""
    text = str(value or "").strip().lower()
    try:
        return host_name(text.split("://")[-1].split("/")[0]).removeprefix("www.")
    except AddressError:
        return ""


def _words(value: object) -> str:
    """A verbal rating in normalized spelling."""
    text = str("" if value is None else value).lower()
    return _BESIDE.sub("", " ".join(text.replace("-", " ").replace("_", " ").replace("/", " ").split()))


def _number(value: object, words: Mapping[str, float], low: float, high: float, where: str) -> float | None:
    text = _words(value)
    if text in ("", "na", "n a", "none", "null", "unknown"):
        return None
    if text in words:
        return float(words[text])
    try:
        number = float(str(value))
    except ValueError:
        number = float("nan")
    if not low <= number <= high:
        expected = f"a number from {low:g} to {high:g}, or one of {', '.join(words)}"
        raise SourceError(f"{str(value)[:40]!r} is not a rating", where=where, expected=expected, code="bad-publishers")
    return number
