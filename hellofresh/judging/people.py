"""Rating studies by people: assignment of responses to raters, setup, progress, closing and export.

`page/` in the study's private folder is the only input of the page Rate: `assignments.json` (raters by number, with the
hash of their token), the rubric and its guide, the samples, the blinded responses, and a file of submissions for each
rater. The key, the salt of the blinding, and raters' names and tokens are beside it. People who predict labels
(`hellofresh.judging.predicting`) are raters of empty responses.
"""

from __future__ import annotations

import hashlib
import hmac
import random
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import polars as pl

from hellofresh.core.clock import now
from hellofresh.core.errors import DataError, UsageError, WorkspaceError
from hellofresh.core.files import read_model, read_models, sha256_text, write_bytes, write_json, write_jsonl
from hellofresh.core.quarters import parse_utc
from hellofresh.judging.rubric import Rubric, RubricGuide, guide_source, parse_guide, parse_rubric, rubric_source
from hellofresh.judging.study import (
    KEY,
    RATINGS,
    BlindedResponse,
    JudgeKind,
    KeyRow,
    Rating,
    RatingPhase,
    StudyFiles,
    StudySample,
    check_ratings,
    read_table,
    with_weights,
    write_study,
    write_table,
)
from hellofresh.judging.submitted import RaterSheet
from hellofresh.tasks.samples import to_json

_FILE = "assignments.json"
_CLOSED = "closed.json"


@dataclass(frozen=True, slots=True)
class RatingTurn:
    """One sample for one rater, with its responses in order of display."""

    sample: str
    phase: str
    responses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RaterPlan:
    """The turns of one rater (such as `rater-1`) and the partner; turns of the onboarding come first."""

    rater: str
    pair: int
    token_sha256: str
    turns: tuple[RatingTurn, ...]

    @property
    def responses(self) -> Iterator[tuple[RatingTurn, str]]:
        """All responses in order, each with its turn."""
        return ((turn, response) for turn in self.turns for response in turn.responses)


@dataclass(frozen=True, slots=True)
class Assignments:
    """All raters of a study.

    Attributes:
        rubric_sha256: hash of the rubric.
        raters: in the order of their numbers.
        predicts: whether raters predict labels of samples instead of rating responses.
        until: end of submissions (ISO 8601, UTC), as labels may be public then; empty for no end.
        format: format of the file.
    """

    edition: str
    task: str
    rubric_sha256: str
    raters: tuple[RaterPlan, ...]
    predicts: bool = False
    until: str = ""
    format: int = 1

    def of_token(self, token: str) -> RaterPlan | None:
        """The rater with this token; None if unknown."""
        hashed = token_hash(token)
        found = [plan for plan in self.raters if hmac.compare_digest(plan.token_sha256, hashed)]
        return found[0] if found else None


def token_hash(token: str) -> str:
    """The hash of a token, which is stored where the page can read it."""
    return sha256_text(f"rate {token}")


def deal(
    samples: Sequence[str], raters: int, *, share: float, onboarding: int, seed: str
) -> list[list[tuple[str, RatingPhase]]]:
    """Deal samples to raters in pairs, at random.

    Each sample goes to one pair. About `share` of a rater's samples go to both of the pair, the rest to one of them.
    Samples of the onboarding go to all raters first.

    Args:
        samples: ids, in any order.
        raters: how many; an even number.
        share: of a rater's samples, between 0 and 1.
        onboarding: how many samples are for practice.
        seed: the same seed deals the same.

    Raises:
        UsageError: if a number is out of range.
    """
    if raters < 2 or raters % 2:
        raise UsageError(f"{raters} raters", expected="an even number: they work in pairs", code="odd-raters")
    if not 0 <= share <= 1:
        raise UsageError(f"a share of {share:g}", expected="0 to 1", code="bad-share")
    if not 0 <= onboarding < len(samples):
        what = f"{onboarding} of {len(samples)} samples for the onboarding"
        raise UsageError(what, expected="fewer", code="bad-onboarding")
    source = seeded_random(seed, "deal")
    shuffled = source.sample(sorted(samples), len(samples))
    practice, rest = shuffled[:onboarding], shuffled[onboarding:]
    dealt: list[list[tuple[str, RatingPhase]]] = [[] for _ in range(raters)]
    for pair in range(raters // 2):
        own = rest[pair :: raters // 2]
        # `both` is this share of what one of the pair gets: both + (own - both) / 2
        both = round(share * len(own) / (2 - share))
        for side in (0, 1):
            mine = own[:both] + own[both + side :: 2]
            source.shuffle(mine)
            dealt[2 * pair + side] = [(name, RatingPhase.ONBOARDING) for name in practice]
            dealt[2 * pair + side] += [(name, RatingPhase.MAIN) for name in mine]
    return dealt


def seeded_random(*parts: str) -> random.Random:
    """A random generator seeded by these parts."""
    digest = hashlib.sha256("\0".join(parts).encode()).digest()
    return random.Random(digest)  # noqa: S311 - to be repeated, not to be secret


@dataclass(frozen=True, slots=True)
class SystemResponse:
    """A response to be rated, with its system."""

    sample: str
    system: str
    text: str
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RaterAccess:
    """A rater's name and token; kept in the private folder only."""

    rater: str
    name: str
    token: str


@dataclass(frozen=True, slots=True)
class _Raters:
    raters: tuple[RaterAccess, ...]


@dataclass(frozen=True, slots=True)
class OpenStudy:
    """The data of the page Rate, which do not reveal the systems of responses.

    Attributes:
        folder: the page's folder.
        assignments: who rates what.
        samples, responses: by id.
        guide: what raters read first.
    """

    folder: Path
    assignments: Assignments
    rubric: Rubric
    samples: Mapping[str, StudySample]
    responses: Mapping[str, BlindedResponse]
    guide: RubricGuide

    def sheet(self, plan: RaterPlan) -> RaterSheet:
        """The file of what a rater submits."""
        asked = frozenset(response for _, response in plan.responses)
        return RaterSheet(self.folder / "submitted" / f"{plan.rater}.jsonl", asked)

    @property
    def is_closed(self) -> bool:
        """Whether submissions have ended."""
        until = self.assignments.until
        return (self.folder / _CLOSED).is_file() or (until != "" and now() >= parse_utc(until))


@dataclass(frozen=True, slots=True)
class Progress:
    """A rater's progress: responses submitted, their total, and the median time of one."""

    rater: str
    submitted: int
    responses: int
    median_s: float | None


def page_folder(files: StudyFiles) -> Path:
    """All that the page may read."""
    return files.private / "page"


def _key_file(files: StudyFiles) -> Path:
    return files.private / "key.parquet"


def assign(
    files: StudyFiles,
    samples: Sequence[StudySample],
    responses: Sequence[SystemResponse],
    names: Sequence[str],
    *,
    rubric: str,
    share: float = 0.3,
    onboarding: int = 0,
    seed: str = "hellofresh",
) -> list[RaterAccess]:
    """Blind the responses, deal the samples to raters in pairs, and give each a token.

    Args:
        samples: what was responded to.
        responses: of all systems.
        names: of the raters; an even number.
        rubric: name or file.
        share: of a rater's samples that the other of the pair rates too.
        onboarding: samples that every rater starts with; their ratings are kept apart.
        seed: the same seed deals the same.

    Raises:
        UsageError: if a number is out of range, a name is duplicated, or rating has begun.
        DataError: if a response has no sample, or a system has two responses to one.
    """
    dealt = deal(sorted({item.sample for item in responses}), len(names), share=share, onboarding=onboarding, seed=seed)
    return set_up_study(files, samples, responses, names, dealt, rubric_source(rubric), guide_source(rubric), seed=seed)


def set_up_study(  # noqa: PLR0917 - as `assign`, with what it has read
    files: StudyFiles,
    samples: Sequence[StudySample],
    responses: Sequence[SystemResponse],
    names: Sequence[str],
    dealt: Sequence[Sequence[tuple[str, RatingPhase]]],
    rubric: bytes,
    guide: bytes,
    *,
    seed: str,
    predicts: bool = False,
    until: str = "",
) -> list[RaterAccess]:
    """Write the inputs of the pages; arguments, results and errors as for `assign`.

    Args:
        dealt: for each rater, samples in order, each with its phase.
        rubric, guide: the content of their files.
        seed: of the order of responses to one sample.
        predicts, until: as of `Assignments`.
    """
    folder = page_folder(files)
    if any((folder / "submitted").glob("*")) or (folder / _CLOSED).is_file():
        fix = "Close the study, or give it another version."
        raise UsageError("ratings have been submitted already", where=str(files.edition), fix=fix, code="has-ratings")
    if len(set(names)) < len(names):
        raise UsageError("a rater's name appears twice", code="repeated-rater")
    blinded, key = _blind(samples, responses, secrets.token_bytes(32))
    by_sample: dict[str, list[str]] = {}
    for item in blinded:
        by_sample.setdefault(item.sample, []).append(item.id)
    access = [RaterAccess(f"rater-{k}", name, secrets.token_urlsafe(24)) for k, name in enumerate(names, start=1)]
    plans = []
    for number, (who, own) in enumerate(zip(access, dealt, strict=True)):
        turns = []
        for name, phase in own:
            order = seeded_random(seed, "order", name, who.rater).sample(sorted(by_sample[name]), len(by_sample[name]))
            turns.append(RatingTurn(name, phase, tuple(order)))
        plans.append(RaterPlan(who.rater, number // 2 + 1, token_hash(who.token), tuple(turns)))
    parsed = parse_rubric(rubric, where="the rubric")
    parse_guide(guide, parsed, where=f"the guide of {parsed.name}")
    write_bytes(folder / "rubric.toml", rubric, mode=0o600)
    write_bytes(folder / "guide.toml", guide, mode=0o600)
    write_table(_key_file(files), KEY, KEY.frame(key), mode=0o600)
    write_json(files.private / "raters.json", to_json(_Raters(tuple(access))), mode=0o600)
    write_jsonl(folder / "samples.jsonl", [to_json(item) for item in samples if item.id in by_sample], mode=0o600)
    write_jsonl(folder / "responses.jsonl", map(to_json, blinded), mode=0o600)
    assignments = Assignments(str(files.edition), files.task, parsed.sha256, tuple(plans), predicts, until)
    write_json(folder / _FILE, to_json(assignments), mode=0o600)
    return access


def read_access(files: StudyFiles) -> tuple[RaterAccess, ...]:
    """Raters' names and tokens; raises DataError if the file is missing or damaged."""
    return read_model(files.private / "raters.json", _Raters).raters


def _blind(
    samples: Sequence[StudySample], responses: Sequence[SystemResponse], salt: bytes
) -> tuple[list[BlindedResponse], list[KeyRow]]:
    """Responses under salted ids, sorted by id, and the key."""
    known = {sample.id for sample in samples}
    blinded, key = [], []
    seen: set[tuple[str, str]] = set()
    for item in responses:
        place = f"{item.system[:60]} on {item.sample[:60]}"
        if item.sample not in known:
            raise DataError("a response to an unknown sample", where=place, code="unknown-sample")
        if (item.sample, item.system) in seen:
            raise DataError("two responses of one system", where=place, code="duplicate-id")
        seen.add((item.sample, item.system))
        name = "r-" + hmac.new(salt, f"{item.sample}\0{item.system}".encode(), "sha256").hexdigest()[:16]
        blinded.append(BlindedResponse(name, item.sample, item.text, tuple(dict.fromkeys(item.sources))))
        key.append(KeyRow(name, item.sample, item.system, ""))
    return sorted(blinded, key=lambda item: item.id), key


def open_study(folder: Path) -> OpenStudy:
    """Read the data of the page from its own folder only.

    Raises:
        WorkspaceError: if no raters are assigned.
        DataError: if a file is damaged, or the rubric has changed since raters were assigned.
    """
    if not (folder / _FILE).is_file():
        fix = "Run 'hellofresh rate assign' first."
        raise WorkspaceError("no raters are assigned here", where=str(folder), fix=fix, code="no-assignments")
    assignments = read_model(folder / _FILE, Assignments)
    rubric = parse_rubric((folder / "rubric.toml").read_bytes(), where="rubric.toml")
    if rubric.sha256 != assignments.rubric_sha256:
        raise DataError("the rubric was changed after raters were assigned", where="rubric.toml", code="other-rubric")
    guide = folder / "guide.toml"
    return OpenStudy(
        folder,
        assignments,
        rubric,
        {item.id: item for item in read_models(folder / "samples.jsonl", StudySample)},
        {item.id: item for item in read_models(folder / "responses.jsonl", BlindedResponse)},
        parse_guide(guide.read_bytes() if guide.is_file() else b"", rubric, where="guide.toml"),
    )


def progress(study: OpenStudy) -> list[Progress]:
    """The progress of every rater."""
    found = []
    for plan in study.assignments.raters:
        done = study.sheet(plan).state().submitted
        seconds = [line.seconds for line in done.values()]
        total = sum(1 for _ in plan.responses)
        found.append(Progress(plan.rater, len(done), total, median(seconds) if seconds else None))
    return found


def close_study(files: StudyFiles, *, secret: bool, incomplete: bool = False) -> pl.DataFrame:
    """Close a study: write the table of ratings and the key, in private while labels are secret.

    Args:
        secret: whether labels are secret, so that all files stay in the private folder.
        incomplete: close although some responses are not rated.

    Raises:
        UsageError: if responses are not rated and `incomplete` is not set.
        DataError: if a file is damaged.
    """
    folder = page_folder(files)
    study = open_study(folder)
    left = sum(item.responses - item.submitted for item in progress(study))
    if left and not incomplete:
        fix = "Wait for them, or add --incomplete."
        raise UsageError(f"{left} responses are not rated yet", where=str(files.edition), fix=fix, code="incomplete")
    ledgers = {plan.rater: to_json(study.sheet(plan).state().ledger) for plan in study.assignments.raters}
    write_json(folder / _CLOSED, {"format": 1, "left": left, "ledgers": ledgers})
    ratings = RATINGS.frame(_ratings(study))
    if files.ratings.is_file():  # closed before: keep ratings by other judges
        others = read_table(files.ratings, RATINGS).filter(pl.col("kind") != str(JudgeKind.PERSON))
        ratings = pl.concat([ratings, others.filter(pl.col("response").is_in(list(study.responses)))])
    ratings = with_weights(ratings)
    check_ratings(ratings, study.rubric, where="what raters submitted")
    key = read_table(_key_file(files), KEY)
    if secret:
        files.closed.mkdir(mode=0o700, exist_ok=True)
    rubric = (folder / "rubric.toml").read_bytes()
    write_study(files, rubric, study.samples.values(), study.responses.values(), ratings, key)
    return ratings


def _ratings(study: OpenStudy) -> Iterator[Rating]:
    for plan in study.assignments.raters:
        submitted = study.sheet(plan).state().submitted
        for turn, response in plan.responses:
            if response not in submitted:
                continue
            line, links = submitted[response], study.responses[response].sources
            asked = [
                (item.id, link) for item in study.rubric.criteria for link in (links if item.unit == "link" else [""])
            ]
            for criterion, link in asked:
                value = (line.answers.links.get(link, {}) if link else line.answers.values).get(criterion)
                yield Rating(
                    sample=turn.sample,
                    response=response,
                    link=link,
                    judge=plan.rater,
                    kind=JudgeKind.PERSON,
                    criterion=criterion,
                    value=None if value is None else float(value),
                    phase=turn.phase,
                    comment=line.answers.comment if criterion == study.rubric.overall else "",
                    at=line.at,
                )


def export_study(files: StudyFiles, path: Path, *, mode: int = 0o644) -> int:
    """Write the ratings of a closed study as JSONL, each with its system; returns how many.

    Raises:
        DataError: if it is not closed.
    """
    ratings, key = read_table(files.ratings, RATINGS), read_table(files.key, KEY)
    own = key.filter(pl.col("same_as") == "").select("response", "system")
    joined = ratings.join(own, on="response", how="left", maintain_order="left")
    return write_jsonl(path, joined.to_dicts(), mode=mode)
