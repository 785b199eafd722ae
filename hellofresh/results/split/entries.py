"""Entries: finished runs and checked submissions in one form, for scoring.

A run represents its system if it judged the current samples of the release; of several runs of a system, the one with
most judged samples counts, then the newest. Runs that are left out are reported with the reason.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from statistics import fmean

from hellofresh.core.editions import Edition
from hellofresh.core.errors import RunError
from hellofresh.core.systems import MODEL_FACTS, Provenance, SystemId
from hellofresh.core.workspace import Workspace
from hellofresh.releases.life.load import Release, load_labels, load_release
from hellofresh.results.split.panel import MAJORITY, SINGLE
from hellofresh.runs.prompts import default_set
from hellofresh.runs.record import RunRecord, finished_runs, read_outputs, read_predictions, read_record
from hellofresh.runs.regimes.registry import REGIMES
from hellofresh.submissions.check import Due, Submission
from hellofresh.submissions.receipts import Receipt
from hellofresh.submissions.standings import EntryOutcome, standings
from hellofresh.tasks import get_task
from hellofresh.tasks.outputs import Choice, Output, Response, Status
from hellofresh.tasks.samples import MAIN, PROSPECTIVE, Label

Outputs = Mapping[str, Output]
"""By sample id."""


@dataclass(frozen=True, slots=True)
class Entry(SystemId):
    """A system's outputs for the samples of one release.

    Attributes:
        outputs: by prompt, then by sample id; the first prompt is the system's headline.
        numbers: by prompt, metric and sample id: the value of the output and its weight, for metrics that are means.
        cost_usd, tokens_in, tokens_out: of the whole run, None if unknown.
        receipt: receipt of a submission.
        repeated: outputs of further repetitions, without copies of an earlier one.
    """

    outputs: Mapping[str, Outputs] = field(repr=False)
    numbers: Mapping[str, Mapping[str, Mapping[str, tuple[float, float]]]] = field(default_factory=dict, repr=False)
    cost_usd: float | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    receipt: Receipt | None = None
    repeated: Sequence[Mapping[str, Outputs]] = field(default=(), repr=False)

    @property
    def published(self) -> Mapping[str, Outputs]:
        """The publishable outputs: those of submissions lack rationales and sources."""
        if self.kind != "submission":
            return self.outputs
        return {
            prompt: {
                key: replace(output, rationale="", sources=()) if output.rationale or output.sources else output
                for key, output in some.items()
            }
            for prompt, some in self.outputs.items()
        }


def run_records(workspace: Workspace, release: Release, split: str) -> tuple[list[tuple[Path, RunRecord]], list[str]]:
    """Finished runs on this release: for each system the one that answered most samples, the newest among equals."""
    best: dict[tuple[str, ...], tuple[tuple[int, int], Path, RunRecord]] = {}
    notes = []
    here = (release.task.name, str(release.edition), split)
    for folder, record in finished_runs(workspace.runs):
        asked = record.evaluation
        if (asked.task.name, str(asked.edition), asked.split) != here:
            continue
        regime = REGIMES.get(record.regime.name)
        if regime is not None and regime.gives not in (Output, release.task.output):
            continue  # responses are rated instead of scored
        if record.samples_sha256 != release.samples_sha256:
            notes.append(f"{folder.name} was run on other samples than those released now, so it is left out")
            continue
        key = record.system
        rank = (record.judged, record.number)
        if key in best:
            worse = folder if rank <= best[key][0] else best[key][1]
            notes.append(f"{worse.name} is superseded by another run of the same system, and is left out")
        if key not in best or rank > best[key][0]:
            best[key] = (rank, folder, record)
    return [(folder, record) for _, folder, record in best.values()], notes


def unscored_runs(workspace: Workspace, edition: Edition, scored: Collection[str]) -> list[str]:
    """Finished runs on the main split of an edition that would be scored now; responses are rated, not scored.

    Args:
        workspace: where runs and releases are.
        edition: the edition.
        scored: origins of the scores that there are.

    Raises:
        ReleaseError: if a release is damaged.
    """
    tasks = [get_task(task) for named, task in workspace.released() if named == edition]
    releases = [load_release(workspace, edition, task) for task in tasks if task.output is not Response]
    folders = [folder.name for release in releases for folder, _ in run_records(workspace, release, MAIN)[0]]
    return sorted(set(folders) - set(scored))


def entries_of_runs(workspace: Workspace, release: Release, *, split: str = MAIN) -> tuple[list[Entry], list[str]]:
    """The runs on a split that represent their systems, and sentences about the others.

    Raises:
        RunError: if a file of a run is damaged.
    """
    records, notes = run_records(workspace, release, split)
    entries = [_of_run(folder, record) for folder, record in records]
    if release.task.measured is None or not release.revealed:
        return entries, notes
    labels = load_labels(workspace, release.edition, release.task)
    return [measured_entry(entry, labels, release.task.measured) for entry in entries], notes


def measured_entry(
    entry: Entry, labels: Mapping[str, Label], measured: Callable[[Label, Output], Mapping[str, float]]
) -> Entry:
    """The entry with the value of each metric for each output, where the task knows how to measure one."""
    numbers: dict[str, dict[str, dict[str, tuple[float, float]]]] = {}
    for prompt, outputs in entry.outputs.items():
        of_prompt = numbers.setdefault(prompt, defaultdict(dict))
        for sample, output in outputs.items():
            values = measured(labels[sample], output) if sample in labels else {}
            for metric, value in values.items():
                of_prompt[metric][sample] = (value, 1.0)
    return replace(entry, numbers=numbers)


def entry_of_run(folder: Path) -> Entry:
    """A finished run as an entry.

    Raises:
        RunError: if it is not finished, or a file of it is damaged.
    """
    record = read_record(folder)
    if record is None:
        fix = f"Finish it first: hellofresh runs resume {folder.name}"
        raise RunError("the run is not finished", where=str(folder), fix=fix, code="unfinished-run")
    return _of_run(folder, record)


def lenient_entries(folder: Path) -> list[Entry]:
    """A run's entry with the answers read that state one elsewhere than the rule looks; none if there are none."""
    record = read_record(folder)
    if record is None or not record.elsewhere:
        return []
    entry = _of_run(folder, record)
    found = {(row.prompt, row.id): row.elsewhere for row in read_predictions(folder) if row.repetition == 1}
    outputs = {
        prompt: {
            sample: output if (label := found.get((prompt, sample))) is None else Choice(prompt=prompt, label=label)
            for sample, output in said.items()
        }
        for prompt, said in entry.outputs.items()
        if prompt != MAJORITY
    }
    voted, name = _with_majority(outputs), f"{entry.system}, answers read anywhere"
    return [replace(entry, system=name, origin=f"{entry.origin}*", outputs=voted)]


def _of_run(folder: Path, record: RunRecord) -> Entry:
    outputs, *repeated = _read_outputs(folder, record)
    name, asked, baseline = record.model.name, record.prompt_set.name, record.kind == "baseline"
    regime = REGIMES.get(record.regime.name)
    if not baseline and asked != default_set(
        record.evaluation.task.name, regime.prompts_from if regime else record.regime.name
    ):
        name += f" ({asked} prompts)"
    about = [record.about, "" if baseline else f"Its prompt set: {asked}."]
    about += [f"It searched with: {record.search_provider}."] if record.search_provider else []
    return Entry(
        system=name,
        team="HelloFresh",
        provenance=Provenance.RUN,
        kind=record.kind,
        regime="none" if baseline else record.regime.name,
        smoke_test=record.smoke_test,
        knowledge_cutoff=record.knowledge_cutoff,
        **record.facts.model_dump(),
        about=" ".join(filter(None, about)),
        origin=folder.name,
        outputs={SINGLE: next(iter(outputs.values()))} if baseline else _with_majority(outputs),
        cost_usd=record.cost_usd,
        tokens_in=record.tokens_in,
        tokens_out=record.tokens_out,
        settings=_settings(record),
        repeated=() if baseline else tuple(map(_with_majority, repeated)),
    )


def _settings(record: RunRecord) -> str:
    """What distinguishes the system besides model and regime, in words; empty for the defaults."""
    regime, asked = REGIMES.get(record.regime.name), record.evaluation
    usual = {} if regime is None else dict(regime.settings)  # a regime of a package that has been removed
    settings = sorted(record.settings.items())
    chosen = [f"{name}={value}" for name, value in settings if str(usual.get(name, value)) != str(value)]
    others = [(role, model) for role, model in sorted(record.roles.items()) if model.name != record.model.name]
    roles = [" ".join((role, model.name, *model.options)) for role, model in others]
    blocked = [f"without {domain}" for domain in asked.blocked] + [f"with {group}" for group in asked.allowed]
    heat = "" if asked.temperature is None else f"temperature {asked.temperature:g}"
    vote = f"vote of {asked.repeat - len(record.copies)} repetitions" if asked.vote else ""
    agent = str(record.regime.parameters.get("agent", ""))
    further = [name if value is True else f"{name}={value}" for name, value in sorted(asked.further.items())]
    provider = f"provider={record.search_provider}" if record.search_provider else ""
    asked_for = (agent, *record.model.options, provider, *chosen, *roles, *blocked, heat, vote, *further)
    return ", ".join(filter(None, asked_for))


def _read_outputs(folder: Path, record: RunRecord) -> list[dict[str, dict[str, Output]]]:
    """By prompt, then by sample id, of each repetition that is not a copy; or the vote of all of them."""
    found: dict[int, dict[str, dict[str, Output]]] = defaultdict(lambda: defaultdict(dict))
    for sample, repetition, output in read_outputs(folder):
        found[repetition][output.prompt][sample] = output
    judged = len({sample for of_prompt in found[1].values() for sample in of_prompt})
    if not judged or judged < record.judged:  # more are there where a run that goes on was stopped between its files
        raise RunError(
            f"predictions of {judged} samples",
            where=str(folder / "predictions.jsonl"),
            expected=f"those of {record.judged}, as run.json says",
            fix="Run the same evaluation again: the journal still has the answers.",
            code="damaged-run",
        )
    different = [outputs for number, outputs in sorted(found.items()) if number not in record.copies]
    asked = record.evaluation
    classes = len(asked.task.classes) if asked.split == PROSPECTIVE else 0
    return [_voted(different, classes)] if asked.vote else different


def _voted(repetitions: Sequence[Mapping[str, Outputs]], classes: int) -> dict[str, dict[str, Output]]:
    """The majority vote of repetitions on each sample, by prompt, with a forecast if `classes` is given.

    Outputs that are not choices, or are missing in a repetition, are taken from the first.
    """
    voted: dict[str, dict[str, Output]] = {}
    for prompt, by_sample in repetitions[0].items():
        voted[prompt] = {}
        for sample, first in by_sample.items():
            said = [outputs.get(prompt, {}).get(sample) for outputs in repetitions]
            choices = [output for output in said if isinstance(output, Choice)]
            whole = len(choices) == len(repetitions)
            stated = forecast_of(choices, classes) if classes else ()
            voted[prompt][sample] = replace(plurality(choices), prompt=prompt, probabilities=stated) if whole else first
    return voted


def _with_majority(outputs: Mapping[str, Outputs]) -> Mapping[str, Outputs]:
    """The prompts' outputs and, over the samples that every prompt answered, the vote of their choices.

    Without choices there is no vote, and the first prompt is the headline.
    """
    everywhere = set.intersection(*(set(by_sample) for by_sample in outputs.values()))
    votes: dict[str, Output] = {}
    for key in sorted(everywhere):
        choices = [output for by_sample in outputs.values() if isinstance(output := by_sample[key], Choice)]
        if len(choices) < len(outputs):
            return outputs
        votes[key] = plurality(choices)
    return {MAJORITY: votes, **outputs}


def plurality(choices: Sequence[Choice]) -> Choice:
    """The vote of several prompts on one sample.

    Only classes are counted, and a tie counts as no answer. Without votes the result is blocked if every choice was
    blocked, else none. If all choices state probabilities, the vote states their mean, unless it is a tie.
    """
    stated = [choice.probabilities for choice in choices if choice.probabilities]
    # a mean over some prompts would be another system's forecast
    means = tuple(fmean(some) for some in zip(*stated, strict=True)) if len(stated) == len(choices) else ()
    votes = Counter(choice.label for choice in choices if choice.label is not None).most_common(2)
    if votes and (len(votes) < 2 or votes[0][1] > votes[1][1]):
        return Choice(prompt=MAJORITY, label=votes[0][0], probabilities=means)
    blocked = bool(choices) and all(choice.status is Status.BLOCKED for choice in choices)
    silent = Status.BLOCKED if blocked else Status.NONE
    # a tie has no class, which probabilities would give it
    return Choice(prompt=MAJORITY, status=silent, probabilities=() if votes else means)


def forecast_of(choices: Sequence[Choice], classes: int) -> tuple[float, ...]:
    """The class probabilities of several answers to one question: the mean of their forecasts.

    The forecast of an answer is its stated probabilities; else its stated certainty for its class, with the rest
    divided equally among the others; else 1 for its class. Answers without class and probabilities are left out; if
    all are, the forecast is empty.
    """
    said = []
    for choice in choices:
        if choice.probabilities:
            said.append(choice.probabilities)
        elif choice.label is not None:
            own = 1.0 if choice.certainty is None else choice.certainty
            rest = (1 - own) / (classes - 1)
            said.append(tuple(own if label == choice.label else rest for label in range(classes)))
    return tuple(sum(column) / len(said) for column in zip(*said, strict=True))


def with_forecasts(entry: Entry, classes: int) -> Entry:
    """The entry with probabilities in every choice: those of a prompt over its repetitions, those of the vote over all
    prompts.

    Args:
        entry: outputs as they were read.
        classes: how many the task has; nothing is changed where it has none.
    """
    if not classes:
        return entry
    repetitions, prompts = (entry.outputs, *entry.repeated), [name for name in entry.outputs if name != MAJORITY]

    def pooled(prompt: str, key: str, output: Output) -> Output:
        asked = prompts if prompt == MAJORITY else [prompt]
        said = [each[name][key] for each in repetitions for name in asked if key in each.get(name, {})]
        choices = [one for one in said if isinstance(one, Choice)]
        return replace(output, probabilities=forecast_of(choices, classes)) if isinstance(output, Choice) else output

    outputs = {
        prompt: {key: pooled(prompt, key, output) for key, output in some.items()}
        for prompt, some in entry.outputs.items()
    }
    return replace(entry, outputs=outputs)


def entries_of_submissions(
    root: Path, due: Due, moment: datetime, truth: Mapping[str, Mapping[str, int]]
) -> tuple[Mapping[str, Sequence[Entry]], list[str]]:
    """The submissions that count, by the tasks that they take part in, and sentences about the others.

    Args:
        root: the folder of all submissions.
        due: what is due in the quarter.
        moment: the time that counts as now.
        truth: label by sample id, by task, to find copies by their errors; empty while nothing may be scored.
    """
    found: dict[str, list[Entry]] = {task: [] for task in due.ids}
    known = {task: set(samples) for task, samples in due.ids.items()}
    standing = standings(root, due, moment, truth)
    notes: list[str] = []
    for item in standing.entries:
        if item.faults:
            more = f" (and {len(item.faults) - 1} more)" if len(item.faults) > 1 else ""
            notes.append(f"the submission {item.origin} is left out: {item.faults[0]}{more}")
        for task, outcome in item.tasks.items():
            if outcome is not EntryOutcome.COUNTS:
                notes.append(f"the submission {item.origin} is not scored on {task}: {outcome}")
            elif item.submission is not None:
                found[task].append(of_submission(item.submission, known[task], item.flags, item.receipt))
        notes += [f"the submission {item.origin} is flagged: {flag}" for flag in item.flags]
    return found, [*notes, *standing.passed_over]


def of_submission(
    submission: Submission, ids: set[str], flags: Sequence[str] = (), receipt: Receipt | None = None
) -> Entry:
    """A submission as an entry on the task with these samples; what it is flagged for stands with what it says."""
    info = submission.info
    by_repetition: dict[int, dict[str, Output]] = defaultdict(dict)
    for item in submission.predictions:
        if item.id in ids:
            by_repetition[item.repetition][item.id] = item.output(SINGLE)
    repetitions = [{SINGLE: outputs} for _, outputs in sorted(by_repetition.items())] or [{SINGLE: {}}]
    return Entry(
        system=info.name,
        team=info.team,
        provenance=Provenance.UPLOADED,
        kind="submission",
        regime=info.regime,
        smoke_test=False,
        knowledge_cutoff=str(info.knowledge_cutoff),
        **info.model_dump(include=set(MODEL_FACTS)),
        about=" ".join([info.notes, *(f"Flagged: {flag}." for flag in flags)]).strip(),
        origin=f"{submission.team}/{submission.system}",
        outputs=repetitions[0],
        repeated=repetitions[1:],
        receipt=receipt,
    )
