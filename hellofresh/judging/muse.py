"""Reader of the released study of MUSE: posts, the responses of eight systems, and ratings by ten experts.

The files are those of the authors' repository, as a folder or packed (tar, also compressed): a CSV a question under
`eval/data`, one of responses for posts with pictures and one for those without, and one of the posts that count. What
is done with them:

- Posts that no list of counting posts has belong to the onboarding; their ratings are kept as such.
- In the files of responses a mark says that a column's response is that of another column. Such a response was rated
  once, under the other system's name; the key says whose it is.
- Two low levels of credibility differ in whether the rater knew the publisher; they are one level here, which gives the
  published kappa of .31 (so do two levels with known bad publishers the lowest; the other way round it is .29).
- Questions that were skipped hold nothing, or the lowest answer where the study filled it in.
- A page that one response cites twice was rated twice; the second address is marked `[2]`.
- Post texts are not in the files, and raters appear under their number in their pair.

Source: Zhou, Sharma, Zhang and Althoff, "Correcting misinformation on social media with a large language model" (2024).
"""

from __future__ import annotations

import hashlib
import tarfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from importlib import resources
from io import BytesIO
from pathlib import Path

import polars as pl
from pydantic import Field

from hellofresh.core.editions import ALL_ROWS, Frozen
from hellofresh.core.errors import SourceError
from hellofresh.core.files import as_model, parse_toml, sha256_text
from hellofresh.core.quarters import snowflake_time, utc_text
from hellofresh.core.strict import Strict
from hellofresh.core.workspace import Workspace
from hellofresh.judging.rubric import parse_rubric, rubric_source
from hellofresh.judging.study import (
    KEY,
    RATINGS,
    BlindedResponse,
    JudgeKind,
    KeyRow,
    RatedStudy,
    Rating,
    RatingPhase,
    StudyFiles,
    StudySample,
    check_ratings,
    with_weights,
    write_study,
)
from hellofresh.releases.candidates import Collection, SourceFile
from hellofresh.releases.draw.frozen import DatasetSource, freeze
from hellofresh.tasks import corrections, get_task
from hellofresh.tasks.corrections import MisleadingPost
from hellofresh.tasks.samples import Candidate, Label

_FOLDER = "eval/data/"
_MOST_BYTES = 64_000_000  # of one file; the largest has 1.5 MB
_RATED_COLUMNS = ("post_id", "response_id", "username", "label", "response_text", "response_type")
MUSE_EDITION = Frozen("muse-study", "94662cc")
"""The study at the commit of the authors' repository that released it."""
MUSE_TASK = corrections.TASK.name
MUSE_RUBRIC = corrections.RUBRIC
_SOURCE = DatasetSource(
    name="MUSE study (Zhou, Sharma, Zhang and Althoff 2024)",
    address="https://github.com/Social-Futures-Lab/MUSE, eval/data",
    published=date(2024, 3, 17),
    licence="Apache-2.0",
)


class _Question(Strict):
    file: str
    labels: list[str] = Field(default=[])
    also: dict[str, int] = Field(default={})
    undecided: list[str] = Field(default=[])


class _Layout(Strict):
    systems: dict[str, str]
    same_as: dict[str, str]
    questions: dict[str, _Question]


_LAYOUT = as_model(_Layout, parse_toml((resources.files(__package__) / "muse.toml").read_bytes()), where="muse.toml")
SYSTEMS, _SAME_AS = _LAYOUT.systems, _LAYOUT.same_as
"""Each system and its column; whose response a mark in a column stands for."""
# The file of each criterion and its labels, the worst first; numbers where there are none.
_QUESTIONS = {name: (asked.file, tuple(asked.labels)) for name, asked in _LAYOUT.questions.items()}
_MORE_LABELS: dict[str, dict[str, int | None]] = {
    name: {**asked.also, **dict.fromkeys(asked.undecided)} for name, asked in _LAYOUT.questions.items()
}
_KINDS = ("unimodal", "multimodal")  # posts without and with pictures


@dataclass(frozen=True, slots=True)
class MusePost:
    """A post: its id at X, its facts, whether it counts, and the times of its two notes."""

    tweet: str
    modality: str
    domain: str
    leaning: str
    phase: RatingPhase
    note_high: datetime | None = None
    note_average: datetime | None = None

    @property
    def sample(self) -> str:
        """Id of the sample."""
        return f"mp-{self.tweet}"

    @property
    def address(self) -> str:
        """Where it can be seen."""
        return f"https://x.com/i/status/{self.tweet}"

    @property
    def date(self) -> datetime:
        """Time of writing, from the milliseconds in its id."""
        return snowflake_time(int(self.tweet))


@dataclass(frozen=True, slots=True)
class MuseStudy:
    """The whole study: posts by id, rated responses, tables of `Rating` and `KeyRow`, and the files read."""

    posts: Sequence[MusePost]
    responses: Sequence[BlindedResponse]
    ratings: pl.DataFrame
    key: pl.DataFrame
    sources: Sequence[SourceFile] = ()


def read_muse(path: Path) -> MuseStudy:
    """Read the study from the folder of the repository, or from its packed data.

    Raises:
        SourceError: if a file or column is missing, or a label is not known.
    """
    files = _Files(path)
    written = [(kind, row) for kind in _KINDS for row in files.rows(f"responses_{kind}", "tweet_id", *SYSTEMS.values())]
    numbers = {row["post_id"]: row["tweet_id"] for row in files.rows("tweetid_postid", "post_id", "tweet_id")}
    tweets = {**numbers, **_onboarding(files, [row for _, row in written], numbers)}
    posts = _posts(files, {row["tweet_id"]: (kind, row) for kind, row in written}, set(numbers.values()))
    frame = with_weights(RATINGS.frame(_rated(files, tweets, set(numbers))))
    responses = _responses(files, tweets)
    key = KEY.frame(_key(responses, [row for _, row in written]))
    return MuseStudy(posts, [response for _, response in responses], frame, key, files.sources)


class _Files:
    """The CSV files, from a folder or an archive; nothing is unpacked to the disk."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._contents: Mapping[str, bytes] = self._packed() if path.is_file() else {}
        self._read: dict[str, SourceFile] = {}

    @property
    def sources(self) -> list[SourceFile]:
        """The files read so far, by name."""
        return [self._read[name] for name in sorted(self._read)]

    def _packed(self) -> Mapping[str, bytes]:
        found = {}
        try:
            with tarfile.open(self._path, "r:*") as archive:
                for member in archive:
                    wanted = member.isreg() and member.name.endswith(".csv") and _FOLDER in f"/{member.name}"
                    if wanted and (file := archive.extractfile(member)) is not None:
                        found[Path(member.name).stem] = self._bounded(file.read(_MOST_BYTES + 1), member.name)
        except (tarfile.TarError, OSError, EOFError) as error:
            raise SourceError(f"not a readable archive ({error})", where=str(self._path), code="bad-archive") from error
        return found

    def _bounded(self, content: bytes, name: str) -> bytes:
        if len(content) > _MOST_BYTES:
            raise SourceError(f"more than {_MOST_BYTES:,} bytes", where=f"{self._path}: {name}", code="too-large")
        return content

    def rows(self, name: str, *columns: str) -> list[dict[str, str]]:
        """The rows of a file with these columns among others, all cells as text; empty ones are empty."""
        content = self._content(name)
        self._read[name] = SourceFile(f"{name}.csv", len(content), hashlib.sha256(content).hexdigest())
        try:
            table = pl.read_csv(BytesIO(content), infer_schema=False).fill_null("")
        except pl.exceptions.PolarsError as error:
            raise SourceError(f"not readable as CSV ({error})", where=f"{name}.csv", code="bad-csv") from error
        missing = sorted(set(columns) - set(table.columns))
        if missing:
            raise SourceError(f"no column {missing[0]}", where=f"{name}.csv", code="missing-columns")
        return table.to_dicts()

    def _content(self, name: str) -> bytes:
        path = self._path / _FOLDER / f"{name}.csv"
        if name in self._contents:
            return self._contents[name]
        if not path.is_file():
            raise SourceError(
                f"no file {_FOLDER}{name}.csv",
                where=str(self._path),
                expected="the folder of the authors' repository, or an archive of it",
                code="missing-file",
            )
        with path.open("rb") as file:
            return self._bounded(file.read(_MOST_BYTES + 1), name)


def _onboarding(files: _Files, written: Sequence[Mapping[str, str]], numbers: Mapping[str, str]) -> Mapping[str, str]:
    """The post of each number that no list has: found by the texts of the responses to it."""
    of_text: dict[tuple[str, str], set[str]] = {}
    for row in written:
        for column in SYSTEMS.values():
            of_text.setdefault((column, row[column]), set()).add(row["tweet_id"])
    found: dict[str, set[str]] = {}
    for row in files.rows(_QUESTIONS["overall"][0], *_RATED_COLUMNS):
        posts = of_text.get((row["response_type"], row["response_text"]), set())
        # two posts got the same response: others of the post tell which
        if row["post_id"] not in numbers and len(posts) == 1:
            found.setdefault(row["post_id"], set()).update(posts)
    unclear = [number for number, posts in found.items() if len(posts) != 1]
    if unclear:
        raise SourceError(f"post {unclear[0]} has responses of several posts", where=_FOLDER, code="bad-study")
    return {number: next(iter(posts)) for number, posts in found.items()}


def _posts(files: _Files, written: Mapping[str, tuple[str, Mapping[str, str]]], counting: set[str]) -> list[MusePost]:
    domains = {row["tweet_id"]: row["tweet_domain"] for row in files.rows("tweetid_domain", "tweet_id", "tweet_domain")}
    leanings = {
        row["tweet_id"]: row["political_leaning"]
        for kind in _KINDS
        for row in files.rows(f"tweetid_politics_{kind}", "tweet_id", "political_leaning")
    }
    return [
        MusePost(
            tweet=tweet,
            modality=modality,
            domain=domains.get(tweet, ""),
            leaning=leanings.get(tweet, ""),
            phase=RatingPhase.MAIN if tweet in counting else RatingPhase.ONBOARDING,
            note_high=_time(row.get("note_1_created_time", "")),
            note_average=_time(row.get("note_2_created_time", "")),
        )
        for tweet, (modality, row) in sorted(written.items())
    ]


def _time(text: str) -> datetime | None:
    """A time as the files write it, UTC; None if it cannot be read."""
    try:
        return datetime.strptime(text.strip(), "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)  # hours have one digit or two
    except ValueError:
        return None


def _blinded(row: Mapping[str, str]) -> str:
    """A response's id, which reveals nothing about its system."""
    return "r-" + sha256_text(f"muse {row['post_id']} {row['response_id']}")[:12]


def _rated(files: _Files, tweets: Mapping[str, str], counting: set[str]) -> Iterator[Rating]:
    for criterion, (name, labels) in _QUESTIONS.items():
        numbers: dict[str, int | None] = {label: number for number, label in enumerate(labels)}
        values = {**numbers, "": None, **_MORE_LABELS[criterion]}
        more = ("url",) if name.startswith("Q8") else ()
        cited: Counter[tuple[str, str, str]] = Counter()
        for row in files.rows(name, *_RATED_COLUMNS, *more):
            response, link = _blinded(row), row["url"] if more else ""
            cited[response, row["username"], link] += 1
            times = cited[response, row["username"], link]  # a response may cite an address twice, and each was rated
            yield Rating(
                sample=f"mp-{tweets[row['post_id']]}",
                response=response,
                link=link if times == 1 else f"{link} [{times}]",
                judge=row["username"].replace("_user", "-rater").replace("group", "pair"),
                kind=JudgeKind.PERSON,
                criterion=criterion,
                value=_value(row["label"], values, of_number=not labels, where=f"{name}.csv"),
                phase=RatingPhase.MAIN if row["post_id"] in counting else RatingPhase.ONBOARDING,
            )


def _value(label: str, values: Mapping[str, int | None], *, of_number: bool, where: str) -> float | None:
    if of_number and label.isascii() and label.isdigit() and int(label) <= 10:
        return float(label)
    if label not in values:
        raise SourceError(f"an unknown label {label[:80]!r}", where=where, code="unknown-label")
    value = values[label]
    return None if value is None else float(value)


def _responses(files: _Files, tweets: Mapping[str, str]) -> list[tuple[str, BlindedResponse]]:
    """Every response that was rated after its system, with its links in their order."""
    names = {column: system for system, column in SYSTEMS.items()}
    links: dict[str, dict[str, None]] = {}
    cited = files.rows(_QUESTIONS["reachability"][0], *_RATED_COLUMNS, "url", "response_url_id")
    # the files list links in any order; the ids give theirs
    for row in sorted(cited, key=lambda row: int(row["response_url_id"])):
        links.setdefault(_blinded(row), {})[row["url"]] = None
    found = {}
    for row in files.rows(_QUESTIONS["overall"][0], *_RATED_COLUMNS):
        response, column = _blinded(row), row["response_type"]
        if column not in names:
            raise SourceError(f"an unknown system {column[:80]!r}", where=_FOLDER, code="unknown-label")
        sources = tuple(links.get(response, ()))
        sample = f"mp-{tweets[row['post_id']]}"
        found[response] = names[column], BlindedResponse(response, sample, row["response_text"], sources)
    return [found[name] for name in sorted(found)]


def _key(responses: Sequence[tuple[str, BlindedResponse]], written: Sequence[Mapping[str, str]]) -> Iterator[KeyRow]:
    """Who wrote what, and which system has the response of another."""
    of_system = {(item.sample, system): item.id for system, item in responses}
    for system, item in responses:
        yield KeyRow(item.id, item.sample, system, "")
    for row in written:
        for system, column in SYSTEMS.items():
            other = _SAME_AS.get(row[column], "")
            response = of_system.get((f"mp-{row['tweet_id']}", other))
            if response is not None:
                yield KeyRow(response, f"mp-{row['tweet_id']}", system, other)


def _misleading(post: MusePost, edition: Frozen) -> MisleadingPost:
    return MisleadingPost(
        id=post.sample,
        task=MUSE_TASK,
        edition=str(edition),
        period=ALL_ROWS,
        date=post.date,
        group=f"x-{post.tweet}",
        license=_SOURCE.licence,
        post=post.tweet,
        address=post.address,
        text="",
        modality=post.modality,
        domain=post.domain,
        note_high=post.note_high,
        note_average=post.note_average,
    )


def import_muse(workspace: Workspace, study: MuseStudy, edition: Frozen = MUSE_EDITION) -> RatedStudy:
    """Keep the released study of MUSE in the workspace, in place of what was kept of it, and freeze its posts.

    Raises:
        DataError: if its ratings are not by the rubric.
        ReleaseError: if the edition is there with other posts.
    """
    files = StudyFiles(workspace, edition, MUSE_TASK)
    content = rubric_source(MUSE_RUBRIC)
    rubric = parse_rubric(content, where=MUSE_RUBRIC)
    check_ratings(study.ratings, rubric, where="the study")
    samples = (
        StudySample(
            id=post.sample,
            address=post.address,
            date=utc_text(post.date),
            facts={"modality": post.modality, "domain": post.domain, "leaning": post.leaning, "phase": post.phase},
        )
        for post in study.posts
    )
    write_study(files, content, samples, study.responses, study.ratings, study.key)
    posts = (_misleading(post, edition) for post in study.posts if post.phase is RatingPhase.MAIN)
    candidates = [Candidate(post, Label(post.id, 0, {})) for post in posts]
    found = Collection.whole(candidates, study.sources, unit="posts")
    freeze(workspace, edition, get_task(MUSE_TASK), found, _SOURCE)
    return RatedStudy(files, rubric, study.ratings, study.key)
