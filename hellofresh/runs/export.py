"""The files of a finished run, all made from its journal.

`run.json` is the record, `prompts.json` the wordings, `responses.jsonl` all answers, `predictions.jsonl` an output for
each sample, prompt and repetition, `transcripts.jsonl` the events of a regime, if any, and `errors.jsonl` the failed
samples, if any. None depends on the time, speed or order of answers, so that an interrupted run ends with the same
bytes.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path

from hellofresh.core.errors import DataError, RunError
from hellofresh.core.files import write_json, write_jsonl
from hellofresh.runs.counts import ASIDE, WIDER, counted, remedies
from hellofresh.runs.journal import Journal, JournalEntry, snapshot
from hellofresh.runs.ledger import Ledger, Ledgers, sum_known
from hellofresh.runs.prepare import PreparedRun
from hellofresh.runs.record import (
    ERRORS,
    PREDICTIONS,
    PROMPTS,
    RESPONSES,
    JournalFacts,
    RunRecord,
    Usage,
    file_entries,
    prediction_row,
    read_record,
)
from hellofresh.runs.regimes import MAIN
from hellofresh.runs.runner import RunResult, Tally
from hellofresh.tasks import Task
from hellofresh.tasks.outputs import Choice
from hellofresh.tasks.samples import to_json
from hellofresh.tasks.transcripts import (
    TRANSCRIPTS,
    AskedEvent,
    SearchedEvent,
    Transcript,
    parse_event,
    read_transcripts,
)

_NUMBERS = re.compile(rf"(?:-\d+)*(?:{WIDER})?$")


@dataclass(frozen=True, slots=True)
class EvaluationReport:
    """The result of an evaluation.

    Attributes:
        run_id: name of the run's folder.
        folder: the run's folder.
        judged: samples answered so far.
        of: samples in the release.
        tally: counts of questions asked now and recalled from the journal.
        verdicts: by prompt, counts of each class, `none` and `blocked` in the first repetition.
        failed: samples that could not be judged; the same command asks about them again.
        unsearched: samples (each repetition counts) judged without pages because the search failed.
        tokens_in, tokens_out: of the whole run, None unless known for every answer.
        cost_usd: of the whole run, None if unknown.
        copies: repetitions whose answers are identical to those of an earlier one.
        others: names of other models that answered, as reported by endpoints.
        counts: outputs asked for, and what became of them (see `hellofresh.runs.counts`).
        elsewhere: outputs without a readable answer whose text states one elsewhere.
        widened: questions asked again with a wider limit.
        failed_for_good: how many of `failed` no other attempt will help.
        commonest_error: of the samples that failed, with how many it concerns.
        remedies: for each kind of answer that did not come or could not be read, how many and what to do.
    """

    run_id: str
    folder: Path
    judged: int
    of: int
    tally: Tally
    verdicts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    failed: int = 0
    unsearched: int = 0
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost_usd: float | None = None
    copies: tuple[int, ...] = ()
    others: Mapping[str, Sequence[str]] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    elsewhere: int = 0
    widened: int = 0
    remedies: Sequence[str] = ()
    commonest_error: str = ""
    failed_for_good: int = 0


def export(prepared: PreparedRun, number: int, result: RunResult, journal: Journal) -> EvaluationReport:
    """Write the files of a run from its journal and return the report.

    Raises:
        RunError: if no sample could be judged.
    """
    folder, prompts = prepared.folder, prepared.evaluation.prompt_ids
    _write_some(folder / ERRORS, [to_json(failure) for failure in result.failures])
    judged = {item.sample for item in result.judged if item.repetition == 1}
    if result.failures and not judged:
        raise RunError(
            f"no sample could be answered; {_commonest([failure.error for failure in result.failures]).rstrip('.')}",
            where=str(folder / ERRORS),
            fix="Rerun the command to retry; this helps only after temporary faults.",
            code="nothing-judged",
        )
    specs = prepared.assignment.specs
    ledgers = Ledgers(specs)
    write_jsonl(folder / RESPONSES, _responses(journal, ledgers))
    prompt_set = prepared.assignment.equipment.prompt_set
    wordings = {prompt.id: prompt.instruction for prompt in prompt_set.prompts if prompt.id in prompts}
    write_json(folder / PROMPTS, {"frame": prompt_set.frame, "prompts": wordings})
    write_jsonl(folder / PREDICTIONS, _predictions(result, prompts))
    done = {(item.sample, item.repetition) for item in result.judged}
    transcripts = list(transcribe(journal, ledgers, done))
    _write_some(folder / TRANSCRIPTS, (item.model_dump(mode="json") for item in transcripts))
    whole, fates = _usage(ledgers), [item.fate for item in result.judged]
    each = len(prepared.assignment.prompts)
    counts = counted(result.tally.samples * each, fates, len(result.failures) * each)
    thinks = ledgers.of(MAIN).thoughts > 0
    report = EvaluationReport(
        run_id=folder.name,
        folder=folder,
        judged=len(judged),
        of=len(prepared.release.samples),
        tally=result.tally,
        verdicts=_counts(result, prompts, prepared.release.task),
        failed=len(result.failures),
        unsearched=sum(
            any(isinstance(event, SearchedEvent) and event.problem for event in item.events) for item in transcripts
        ),
        tokens_in=whole.tokens_in,
        tokens_out=whole.tokens_out,
        cost_usd=whole.cost_usd,
        copies=tuple(copies(journal.entries()) if prepared.evaluation.repeat > 1 else ()),
        others={ledger.spec.name: ledger.others for ledger in ledgers.by_role.values() if ledger.others},
        counts=counts,
        elsewhere=sum(item.elsewhere is not None for item in result.judged),
        widened=result.tally.widened,
        remedies=list(remedies(counts, result.tally.limit, thinks=thinks)),
        failed_for_good=sum(not failure.passing for failure in result.failures),
        commonest_error=_commonest([failure.error for failure in result.failures]),
    )
    usage = {role: _usage(ledger) for role, ledger in ledgers.by_role.items()}
    _record(prepared, number, report, usage, JournalFacts.model_validate(journal.facts())).write(folder)
    return report


def _record(
    prepared: PreparedRun, number: int, report: EvaluationReport, usage: Mapping[str, Usage], journal: JournalFacts
) -> RunRecord:
    spec, asked, regime = prepared.assignment.model.spec, prepared.evaluation, prepared.assignment.regime
    others = {role: model.spec for role, model in prepared.assignment.others.items()}
    named = replace(  # paths of the user's files and addresses stay private
        asked,
        model=spec.name,
        regime=regime.name,
        prompt_set=None,
        roles={role: other.name for role, other in others.items()},
        blocked=tuple(sorted(asked.blocked)),
        allowed=tuple(sorted(asked.allowed)),
        temperature=asked.temperature or None,  # 0 is the default
    )
    system = ("samples_sha256", "model", "roles", "regime", "web", "prompt_set")
    shared = (
        *("judged", "failed", "failed_for_good", "of", "tokens_in", "tokens_out", "cost_usd"),
        *("counts", "elsewhere", "widened"),
    )
    return RunRecord.model_validate(
        {
            "evaluation": named,
            "number": number,
            **{name: prepared.identity[name] for name in system if name in prepared.identity},
            "settings": regime.settings.model_dump(),
            **{name: getattr(report, name) for name in shared},
            "copies": list(report.copies),
            "usage": usage,
            "about": spec.about,
            "kind": spec.kind,
            "knowledge_cutoff": spec.knowledge_cutoff,
            "facts": spec.facts,
            "files": file_entries(report.folder),
            "journal": journal,
            "smoke_test": spec.smoke_test or any(other.smoke_test for other in others.values()),
        }
    )


def loosen(folder: Path) -> None:
    """Note in a run's record that its files are being cleared, until `seal`; a damaged record stays so."""
    with suppress(DataError):
        if (record := read_record(folder)) is not None:
            record.model_copy(update={"files": None}).write(folder)


def seal(folder: Path) -> None:
    """Write what the files of a loosened run are now into its record."""
    with suppress(DataError):
        record = read_record(folder)
        if record is not None and record.files is None:
            with snapshot(folder) as journal:
                facts = JournalFacts.model_validate(journal.facts())
            record.model_copy(update={"files": file_entries(folder), "journal": facts}).write(folder)


def _usage(ledger: Ledger | Ledgers) -> Usage:
    counted = ledger.unreported == 0
    return Usage(
        model=ledger.spec.name if isinstance(ledger, Ledger) else "",
        answers=ledger.answers,
        tokens_in=ledger.tokens_in if counted else None,
        tokens_out=ledger.tokens_out if counted else None,
        cost_usd=ledger.cost_usd,
        served_by=sorted(ledger.served) if isinstance(ledger, Ledger) else [],
    )


def _responses(journal: Journal, ledgers: Ledgers) -> Iterator[object]:
    for entry in journal.entries():
        ledgers.of(entry.role).add(entry.answer)
        names = {"sample": entry.sample, "step": entry.step, "prompt": entry.prompt, "repetition": entry.repetition}
        if entry.role != MAIN:
            names["role"] = entry.role
        yield {**names, **to_json(entry.answer)}


def _predictions(result: RunResult, prompts: Sequence[str]) -> Iterator[object]:
    order = {prompt: number for number, prompt in enumerate(prompts)}
    for item in sorted(result.judged, key=lambda item: (item.sample, order[item.output.prompt], item.repetition)):
        names = {"id": item.sample, "prompt": item.output.prompt, "repetition": item.repetition}
        more = {} if item.elsewhere is None else {"elsewhere": item.elsewhere}
        yield names | prediction_row(item.output) | more


def _counts(result: RunResult, prompts: Sequence[str], task: Task) -> Mapping[str, Mapping[str, int]]:
    counts: dict[str, Counter[str]] = {prompt: Counter() for prompt in prompts}
    for item in result.judged:
        if item.repetition == 1:
            chosen = item.output.label if isinstance(item.output, Choice) else None
            counts[item.output.prompt][str(item.output.status) if chosen is None else task.classes[chosen]] += 1
    return counts


def _commonest(errors: Sequence[str]) -> str:
    """The commonest of some errors, which ends with what to do, and how many it is of."""
    found = Counter(errors).most_common(1)
    return f"{found[0][1]} of {len(errors)}: {found[0][0]}" if found else ""


def _write_some(path: Path, rows: Iterable[object]) -> None:
    """Write the rows, or remove the file if there are none."""
    if not write_jsonl(path, rows):
        path.unlink()


def copies(entries: Iterable[JournalEntry]) -> list[int]:
    """Repetitions whose answers are all identical to those of an earlier repetition."""
    digests = defaultdict[int, "hashlib._Hash"](hashlib.sha256)
    for entry in entries:
        names = (entry.sample, entry.prompt, entry.step, entry.role, entry.answer.text)
        digests[entry.repetition].update(repr(names).encode("utf-8", "surrogatepass"))
    found: dict[bytes, int] = {}
    for repetition in sorted(digests):
        found.setdefault(digests[repetition].digest(), repetition)
    return sorted(digests.keys() - found.values())


# Transcripts


def transcribe(journal: Journal, ledgers: Ledgers, done: Set[tuple[str, int]]) -> Iterator[Transcript]:
    """The transcripts, in order, of samples with repetition in `done` whose regime returned events."""
    traces = {(sample, repetition): trace for sample, repetition, trace in journal.traces()}
    for sample, entries in groupby(journal.entries(), key=lambda entry: entry.sample):
        by_repetition: dict[int, list[JournalEntry]] = {}
        for entry in entries:
            by_repetition.setdefault(entry.repetition, []).append(entry)
        for repetition, asked in sorted(by_repetition.items()):
            if (sample, repetition) not in done or not traces.get((sample, repetition)):
                continue
            # Requests that the regime's events do not mention come last, by prompt and step.
            answers = {(entry.step, entry.prompt): _asked(entry, ledgers) for entry in asked}
            events = [
                answers.pop((event.step, event.prompt), event) if isinstance(event, AskedEvent) else event
                for event in map(parse_event, traces[sample, repetition])
            ]
            yield Transcript(id=sample, repetition=repetition, events=(*events, *answers.values()))


def _asked(entry: JournalEntry, ledgers: Ledgers) -> AskedEvent:
    ledger, answer = ledgers.of(entry.role), entry.answer
    known = answer.tokens_in is not None and answer.tokens_out is not None
    cost = ledger.price(answer.tokens_in or 0, answer.tokens_out or 0, answer.cached_in, answer.cache_writes)
    return AskedEvent(
        prompt=entry.prompt,
        step=entry.step,
        role=entry.role,
        model=ledger.spec.name,
        text=answer.text,
        finish=str(answer.finish),
        tokens_in=answer.tokens_in,
        tokens_out=answer.tokens_out,
        cost_usd=cost if known and cost is not None else None,
    )


def kind_of_step(step: str) -> str:
    """The name of a step without its number, the same for all turns of a conversation."""
    return _NUMBERS.sub("", step)


def deciding(entries: Iterable[JournalEntry]) -> dict[tuple[str, int, str], JournalEntry]:
    """The answer that decided each output, the last one asked, by sample, repetition and prompt ('' for all)."""
    found = (entry for entry in entries if entry.role == MAIN and kind_of_step(entry.step) not in ASIDE)
    asked = sorted(found, key=lambda entry: entry.number)
    return {(entry.sample, entry.repetition, entry.prompt): entry for entry in asked}


@dataclass(slots=True)
class StepUsage:
    """Usage of a step in a run.

    Attributes:
        step: kind of step.
        role: role that was asked.
        requests: number of stored answers.
        tokens_in, tokens_out: sums over all answers; None if one is unknown.
        seconds: sum of the times from request to answer.
        cost_usd: sum over all requests; None if one is unknown, or the run is not finished.
        model: the role's model, if known.
    """

    step: str
    role: str
    requests: int = 0
    tokens_in: int | None = 0
    tokens_out: int | None = 0
    seconds: float = 0.0
    cost_usd: float | None = None
    model: str = ""


def usage_by_step(folder: Path) -> tuple[list[StepUsage], int]:
    """Usage by step, in order of first occurrence, and the number of samples (each repetition counts).

    Raises:
        RunError: if the journal or the transcripts are damaged.
    """
    found: dict[tuple[str, str], StepUsage] = {}
    samples = set()
    with snapshot(folder) as journal:
        for entry in journal.entries():
            key = kind_of_step(entry.step), entry.role
            usage = found.setdefault(key, StepUsage(*key))
            usage.requests += 1
            for name in ("tokens_in", "tokens_out"):
                total, more = getattr(usage, name), getattr(entry.answer, name)
                setattr(usage, name, None if total is None or more is None else total + more)
            usage.seconds += entry.latency_s
            samples.add((entry.sample, entry.repetition))
    costs: defaultdict[tuple[str, str], list[float | None]] = defaultdict(list)
    for transcript in read_transcripts(folder):
        for event in transcript.events:
            if isinstance(event, AskedEvent):
                costs[kind_of_step(event.step), event.role].append(event.cost_usd)
    for key, usage in found.items():
        usage.cost_usd = sum_known(costs[key]) if len(costs[key]) == usage.requests else None
    order = dict.fromkeys([*(key for key in costs if key in found), *found])
    return [found[key] for key in order], len(samples)
