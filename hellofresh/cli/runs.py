"""`hellofresh runs`: list started evaluations, show and export their contents, and resume them."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import polars as pl

from hellofresh.api.harnesses.inspect_logs import write_log
from hellofresh.cli._output import CommandOutput, estimate, known, readable
from hellofresh.cli.evaluate import carry_out
from hellofresh.cli.submission_new import need_inspect
from hellofresh.core.errors import DataError, UsageError
from hellofresh.core.files import write_jsonl
from hellofresh.core.parquet import write_parquet
from hellofresh.core.workspace import Workspace
from hellofresh.releases.life.load import load_labelled
from hellofresh.releases.life.phases import labels_are_public
from hellofresh.results.scoring.scores import beside_others
from hellofresh.results.split.tables import Score
from hellofresh.runs.evaluate import resumed
from hellofresh.runs.evaluation import given_values
from hellofresh.runs.export import usage_by_step
from hellofresh.runs.journal import JournalEntry, snapshot
from hellofresh.runs.plan import find_run, is_running, read_plan, stored_form
from hellofresh.runs.record import (
    RECORD,
    RUN_FILES,
    PredictionRow,
    RunRecord,
    is_whole,
    read_predictions,
    read_record,
    run_file,
)
from hellofresh.runs.regimes import MAIN, is_refusal, is_refusal_of_paper
from hellofresh.tasks.outputs import Status
from hellofresh.tasks.samples import to_json
from hellofresh.tasks.transcripts import Event, parse_event, read_transcripts

_Schema = dict[str, pl.DataType | type[pl.DataType]]

_PREDICTIONS: _Schema = {
    "run": pl.String,
    "id": pl.String,
    "prompt": pl.String,
    "repetition": pl.Int64,
    "status": pl.String,
    "label": pl.Int64,
    "probabilities": pl.List(pl.Float64),
    "certainty": pl.Float64,
    "text": pl.String,
    "documents": pl.List(pl.String),
    "scores": pl.List(pl.Float64),
    "rationale": pl.String,
    "sources": pl.List(pl.String),
}
# Columns of the responses, each with its type and its value from an answer.
_RESPONSES: Mapping[str, tuple[type[pl.DataType], Callable[[JournalEntry], object]]] = {
    "sample": (pl.String, lambda entry: entry.sample),
    "step": (pl.String, lambda entry: entry.step),
    "role": (pl.String, lambda entry: entry.role),
    "prompt": (pl.String, lambda entry: entry.prompt),
    "repetition": (pl.Int64, lambda entry: entry.repetition),
    "request": (pl.String, lambda entry: entry.request),
    "text": (pl.String, lambda entry: entry.answer.text),
    "finish": (pl.String, lambda entry: str(entry.answer.finish)),
    "tokens_in": (pl.Int64, lambda entry: entry.answer.tokens_in),
    "tokens_out": (pl.Int64, lambda entry: entry.answer.tokens_out),
    "logprob_yes": (pl.Float64, lambda entry: (entry.answer.logprobs or {}).get("yes")),
    "logprob_no": (pl.Float64, lambda entry: (entry.answer.logprobs or {}).get("no")),
    "served_by": (pl.String, lambda entry: entry.answer.served_by),
}
_TRANSCRIPTS: _Schema = {"run": pl.String, "sample": pl.String, "repetition": pl.Int64, "events": pl.String}


def _runs() -> Path:
    return Workspace.from_environment().runs


def _list_runs(output: CommandOutput) -> int:
    found = []
    for folder in (path.parent for path in _runs().glob("*/plan.json")):
        try:  # a run with a damaged plan must not hide others
            plan = read_plan(folder)
        except DataError:
            plan = None
        number, started, state = (plan.number, plan.started, _state(folder)) if plan else (0, "-", "damaged plan")
        found.append((number, folder.name, started, state, _record(folder)))
    found.sort(key=lambda item: item[:2])
    results, rows = [], []
    for number, name, started, state, record in found:
        numbers = _numbers(record)
        results.append({"run": name, "number": number, "started": started, "state": state, **numbers})
        cost = "-" if record is None else known(record.cost_usd, ".4f")
        judged = "-" if record is None else f"{numbers['judged']}/{numbers['of']}"
        rows.append((name, state, judged, cost, started))
    output.result(results)
    output.table("Runs", ("run", "state", "answered", "cost (USD)", "started"), rows)
    return 0


def _state(folder: Path) -> str:
    if is_running(folder):
        return "running"
    record = _record(folder)
    if record is None or not is_whole(folder):
        return "damaged: evaluate again" if (folder / RECORD).is_file() else "unfinished"
    return f"{record.failed} failed" if record.failed else "finished"


def _record(folder: Path) -> RunRecord | None:
    """The record of a finished run; None if it is unfinished, or its record is damaged."""
    try:
        return read_record(folder)
    except DataError:
        return None


def _numbers(record: RunRecord | None) -> dict[str, object]:
    names = ("judged", "failed", "of", "tokens_in", "tokens_out", "cost_usd")
    return {name: getattr(record, name, None) for name in names}


def show(options: argparse.Namespace, output: CommandOutput) -> int:
    if options.run_id is None:
        return _list_runs(output)
    folder = find_run(_runs(), options.run_id)
    if options.sample is None:
        _show_run(folder, output)
    else:
        _show_sample(folder, options.sample, output)
    return 0


def _show_run(folder: Path, output: CommandOutput) -> None:
    plan = read_plan(folder)
    identity = {} if plan is None else dict(plan.identity)
    said = {} if plan is None else stored_form(plan.evaluation)
    record = read_record(folder)
    for name in RUN_FILES:
        run_file(folder, name)
    with snapshot(folder) as journal:
        answers = len(journal)
        refused = _refused(entry for entry in journal.entries() if entry.step == "classify")
    workspace, scores = Workspace.from_environment(), list[Score]()
    if record is not None and _is_public(workspace, record):
        labelled = load_labelled(workspace, record.evaluation.edition, record.evaluation.task)
        scores = beside_others(workspace, *labelled, folder.name)
    own = next((one for one in scores if one.origin == folder.name), None)
    score = own and {name: getattr(own, name) for name in ("metric", "value", "low", "high", "n")}
    whole = {"run": folder.name, "state": _state(folder), "answers": answers, **_numbers(record), "score": score}
    steps, samples = usage_by_step(folder)
    output.result({**whole, "identity": identity, "evaluation": said, "steps": to_json(steps), "refused": refused})
    # Fields of both are shown in the run's form, with parameters and hashes.
    if own:
        whole["score"] = f"{own.metric} {estimate(own.value, own.low, own.high)} on {own.n} of {own.n_split} samples"
    facts = {**whole, **said, "prompt_set_file": said.get("prompt_set"), **identity}
    rows = [(name, _plain(value)) for name, value in facts.items() if value is not None]
    output.table(folder.name, ("", ""), rows)
    of, *ways = refused.items()
    if any(number for _, number in ways):
        output.table(f"Refusals among {of[1]:,} answers", ("counted", "refused"), ways)
    for line in _worth_a_look(folder, record):
        output.text(line)
    if len(steps) > 1:
        forms = {"requests": ".2f", "tokens_in": ",.0f", "tokens_out": ",.0f", "seconds": ".1f", "cost_usd": ".5f"}
        taken = [
            (item.step, item.role, *(_share(getattr(item, name), samples, form) for name, form in forms.items()))
            for item in steps
        ]
        heads = ("step", "role", "requests", "tokens in", "tokens out", "seconds", "cost (USD)")
        output.table(f"A sample takes on average ({samples:,} asked about)", heads, taken)


def _refused(deciding: Iterable[JournalEntry]) -> dict[str, int]:
    """Refusals among the answers to one question each, as this benchmark counts them and as HelloFresh (2024) does."""
    answers = [entry.answer for entry in deciding]
    ways = {"here": is_refusal, "as in HelloFresh (2024)": is_refusal_of_paper}
    return {"of": len(answers), **{name: sum(map(rule, answers)) for name, rule in ways.items()}}


def _worth_a_look(folder: Path, record: RunRecord | None) -> Iterator[str]:
    """A command for a sample without a readable answer, one refused, and one that was read."""
    kinds = {Status.NONE: "no readable answer", Status.BLOCKED: "refused", Status.ANSWERED: "read"}
    for row in read_predictions(folder) if record else ():
        if about := kinds.pop(row.status, None):
            yield f"look at: hellofresh runs show {folder.name} {row.id}  ({about})"


def _share(number: float | None, samples: int, form: str) -> str:
    return known(None if number is None else number / samples, form)


def _plain(value: object) -> str:
    return readable(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _show_sample(folder: Path, sample: str, output: CommandOutput) -> None:
    with snapshot(folder) as journal:
        entries = [entry for entry in journal.entries() if entry.sample == sample]
        entries.sort(key=lambda entry: entry.number)
        events = [(n, [parse_event(item) for item in trace]) for name, n, trace in journal.traces() if name == sample]
    if not entries:
        raise UsageError(
            f"no question was asked about {sample!r} in this run", where=folder.name, code="unknown-sample"
        )
    outputs = [row for row in read_predictions(folder) if row.id == sample]
    output.result(
        {
            "run": folder.name,
            "sample": sample,
            "entries": [{**_response(folder.name, entry), "request": json.loads(entry.request)} for entry in entries],
            "events": [
                {"repetition": n, "events": [item.model_dump(mode="json") for item in own]} for n, own in events
            ],
            "outputs": [row.model_dump(mode="json") for row in outputs],
        }
    )
    for line in _sample_lines(sample, entries, events, outputs):
        output.text(readable(line))


def _sample_lines(
    sample: str, entries: list[JournalEntry], events: list[tuple[int, list[Event]]], outputs: list[PredictionRow]
) -> Iterator[str]:
    shown: set[str] = set()
    for entry in entries:
        role = "" if entry.role == MAIN else f", role {entry.role}"
        yield f"== {sample}, step {entry.step}{role}, prompt {entry.prompt or '(all)'}, repetition {entry.repetition}"
        for message in json.loads(entry.request)["messages"]:
            for part in message["parts"]:
                yield f"[{message['role']}] {part}" if part not in shown else f"[{message['role']}] (as above)"
                shown.add(part)
        answer = entry.answer
        tokens = f"tokens in {known(answer.tokens_in, '')}, out {known(answer.tokens_out, '')}"
        served = f", served by {answer.served_by}" if answer.served_by else ""
        if answer.thought:
            yield f"[reasoning, not read as the answer] {answer.thought}"
        yield f"[answer: {answer.finish}, {tokens}, {entry.latency_s:.2f} s{served}] {answer.text}"
        yield ""
    for repetition, own in events:
        yield f"== on the way, repetition {repetition}"
        for event in own:
            rest = event.model_dump(mode="json", exclude_defaults=True, exclude={"kind"})
            yield f"[{event.kind}] {json.dumps(rest, ensure_ascii=False, indent=2)}"
        yield ""
    for row in outputs:
        yield f"output, prompt {row.prompt}, repetition {row.repetition}: {_output_text(row)}"


def _output_text(row: PredictionRow) -> str:
    if row.status is not Status.ANSWERED:
        return str(row.status)
    if row.label is None:
        return row.text or ", ".join(row.documents or ())
    chances = f" (probabilities {', '.join(f'{item:.3f}' for item in row.probabilities)})" if row.probabilities else ""
    return f"label {row.label}{chances}"


def resume(options: argparse.Namespace, output: CommandOutput) -> int:
    workspace = Workspace.from_environment()
    evaluation = resumed(workspace, options.run_id)
    bounded = replace(evaluation, **given_values(vars(options)))
    return carry_out(output, workspace, bounded, dry_run=False)


def export(options: argparse.Namespace, output: CommandOutput) -> int:
    folder = find_run(_runs(), options.run_id)
    record = _record(folder)
    if record is None:
        raise UsageError(
            "the run is not finished",
            where=folder.name,
            fix=f"Finish it first: hellofresh runs resume {folder.name}",
            code="unfinished-run",
        )
    if options.format == "inspect":
        return _export_log(folder, options.to, output)
    target = options.to or Path(folder.name)
    written = []
    for name, schema, rows in _tables(folder):
        path, cells = target / f"{name}.{options.format}", ({name: row.get(name) for name in schema} for row in rows)
        if options.format == "jsonl":
            count = write_jsonl(path, cells)
        else:
            table = pl.DataFrame(list(cells), schema=schema)
            write_parquet(path, table)
            count = table.height
        written.append({"file": str(path), "rows": count})
        output.text(f"{path}: {count:,} rows")
    output.result(written)
    return 0


def _export_log(folder: Path, to: Path | None, output: CommandOutput) -> int:
    need_inspect()
    path = to or Path(f"{folder.name}.eval")
    if path.suffix not in (".eval", ".json"):
        expected = "a name that ends with .eval or .json"
        raise UsageError(f"{path} is not a name of a log", expected=expected, code="bad-name")
    count = write_log(Workspace.from_environment(), folder, path)
    output.result({"file": str(path), "samples": count})
    output.text(f"{path}: {count:,} samples. Next: inspect view --log-dir {path.parent}")
    return 0


def _is_public(workspace: Workspace, record: RunRecord) -> bool:
    """Whether the labels of a run's samples are public and in the workspace."""
    named = record.evaluation.edition, record.evaluation.task.name
    return record.evaluation.split == "main" and named in workspace.released() and labels_are_public(workspace, *named)


def _tables(folder: Path) -> Iterator[tuple[str, _Schema, Iterator[Mapping[str, object]]]]:
    run = folder.name
    yield "predictions", _PREDICTIONS, ({"run": run, **row.model_dump(mode="json")} for row in read_predictions(folder))
    with snapshot(folder) as journal:
        columns: _Schema = {"run": pl.String, **{name: kind for name, (kind, _) in _RESPONSES.items()}}
        yield "responses", columns, (_response(run, entry) for entry in journal.entries())
    for_transcripts = (
        {"run": run, "sample": item.id, "repetition": item.repetition, "events": json.dumps(events, ensure_ascii=False)}
        for item in read_transcripts(folder)
        for events in [item.model_dump(mode="json")["events"]]
    )
    yield "transcripts", _TRANSCRIPTS, for_transcripts


def _response(run: str, entry: JournalEntry) -> dict[str, object]:
    return {"run": run, **{name: read(entry) for name, (_, read) in _RESPONSES.items()}}
