"""`hellofresh rate assign`, `serve` and `close`: studies that people rate, and predictions by people."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from hellofresh.cli._output import CommandOutput
from hellofresh.core.clock import now
from hellofresh.core.errors import UsageError
from hellofresh.core.files import read_models, write_jsonl
from hellofresh.core.quarters import utc_text
from hellofresh.core.workspace import Workspace
from hellofresh.judging.people import (
    RaterAccess,
    SystemResponse,
    assign,
    close_study,
    open_study,
    page_folder,
    progress,
    read_access,
)
from hellofresh.judging.predicting import VOTERS, PersonAnswer, asked_file, assign_predictions, people_answers
from hellofresh.judging.rating import rating_site, take_file, write_pages
from hellofresh.judging.references import labels_are_secret, reference_responses
from hellofresh.judging.rubric import RUBRICS, load_rubric
from hellofresh.judging.study import StudyFiles, StudySample
from hellofresh.releases.life.load import load_release
from hellofresh.results.scoring.people import LEAST_PEOPLE, LEAST_SAMPLES
from hellofresh.results.split.entries import Entry, entries_of_submissions, entry_of_run
from hellofresh.results.split.rated_entries import rated_names
from hellofresh.runs.plan import find_run
from hellofresh.submissions.released import due_in
from hellofresh.tasks import SamplePage, Task, TextPart, get_task
from hellofresh.tasks.images import media_of
from hellofresh.tasks.outputs import Choice, Response
from hellofresh.tasks.samples import Sample, to_json

_SAMPLES_FOR_PEOPLE = 60


def _files(options: argparse.Namespace) -> StudyFiles:
    return StudyFiles(Workspace.from_environment(), options.edition, options.task)


def _responses_of(entries: Sequence[Entry]) -> Iterator[SystemResponse]:
    """Responses of entries to their first prompts, under their short names if these are unique."""
    often = Counter(rated_names(entry)[0] for entry in entries)
    for entry in entries:
        short, long = rated_names(entry)
        for sample, given in sorted(next(iter(entry.outputs.values())).items()):
            if isinstance(given, Response) and given.text.strip():
                yield SystemResponse(sample, long if often[short] > 1 else short, given.text, given.sources)


def _prepare(options: argparse.Namespace, output: CommandOutput) -> int:
    """Write the files to rate: samples, people's texts for them, and responses of runs and submissions."""
    workspace, task = Workspace.from_environment(), get_task(options.task)
    if not task.takes(Response):
        expected = "a task of responses, such as x-posts, or wikipedia-edits"
        raise UsageError(f"{task.name} has no responses", expected=expected, code="no-responses")
    release = load_release(workspace, options.edition, task)
    shown, responses = _alike(
        [_study_sample(task, item) for item in release.with_texts()],
        reference_responses(workspace, options.edition, task),
    )
    known = {sample.id for sample in shown}
    due = due_in(workspace, options.edition)
    handed_in, notes = entries_of_submissions(workspace.submissions(), due, now(), {})
    entries = [entry_of_run(find_run(workspace.runs, name)) for name in options.runs] + [*handed_in[task.name]]
    responses = [item for item in (*responses, *_responses_of(entries)) if item.sample in known]
    write_jsonl(options.prepare / "samples.jsonl", map(to_json, shown), mode=0o600)
    write_jsonl(options.prepare / "responses.jsonl", map(to_json, responses), mode=0o600)
    counts = Counter(item.system for item in responses)
    output.result({"samples": len(shown), "responses": dict(sorted(counts.items()))})
    output.table("To be rated", ("system", "responses"), sorted(counts.items()))
    for note in notes:
        output.say(f"note: {note}")
    calendar = due.calendars.get(task.name)
    if calendar is not None and now() < calendar.deadline:
        until = utc_text(calendar.deadline)
        output.say(f"note: predictions are accepted until {until}; later ones are not included.")
    output.say(
        f"{options.prepare}: responses.jsonl says who wrote what; keep it private. Next: hellofresh rate assign "
        f"--edition {options.edition} --task {task.name} --samples {options.prepare / 'samples.jsonl'} "
        f"--responses {options.prepare / 'responses.jsonl'} --rater NAME --rater NAME"
    )
    return 0


def _alike(
    samples: Sequence[StudySample], references: Sequence[SystemResponse]
) -> tuple[list[StudySample], list[SystemResponse]]:
    """Merge samples that look the same to raters, such as two edits of one paragraph: keep the first, with people's
    texts for any of them (of several by one system, the first).
    """
    first: dict[str, StudySample] = {}
    same = {sample.id: first.setdefault(sample.text, sample).id for sample in samples}
    kept: dict[tuple[str, str], SystemResponse] = {}
    for item in references:
        if item.sample in same:
            kept.setdefault((same[item.sample], item.system), replace(item, sample=same[item.sample]))
    return list(first.values()), list(kept.values())


def _study_sample(task: Task, sample: Sample) -> StudySample:
    """A sample as raters see it; for a change, only the text before it, since the changed text is rated."""
    page = task.page_of(sample)
    before = [part.text for part in page.parts if part.kind == "before"]
    if before:
        page = SamplePage(parts=tuple(TextPart("", text) for text in (page.title, *before)))
    facts = {name: str(getattr(sample, name)) for name in task.subgroups if hasattr(sample, name)}
    return StudySample(
        id=sample.id,
        text="\n\n".join(part.text for part in page.parts),
        address=page.link,
        date=utc_text(sample.date),
        media=tuple(item.address for item in media_of(sample)),
        facts=facts,
    )


def run_assign(options: argparse.Namespace, output: CommandOutput) -> int:
    """Assign responses to raters and write each one's page, or write the files to rate."""
    if options.prepare is not None:
        return _prepare(options, output)
    files = _files(options)
    if get_task(options.task).output is Choice and not options.responses:
        return _shown(files, _ask_people(files, options), output)
    missing = [name for name in ("samples", "responses", "rater") if not getattr(options, name)]
    if missing:
        raise UsageError(
            f"missing: {', '.join(f'--{name}' for name in missing)}",
            fix="Add them, or write the files of samples and responses first: --prepare DIR",
            code="not-said",
        )
    access = assign(
        files,
        list(read_models(Path(options.samples), StudySample)),
        list(read_models(options.responses, SystemResponse)),
        options.rater,
        rubric=options.rubric or _rubric_of(options.task),
        share=options.share,
        onboarding=options.onboarding,
    )
    return _shown(files, access, output)


def _ask_people(files: StudyFiles, options: argparse.Namespace) -> list[RaterAccess]:
    """Assign samples to people who predict their labels while these are secret."""
    task, number = get_task(options.task), options.samples or str(_SAMPLES_FOR_PEOPLE)
    if unused := [name for name in ("rubric", "onboarding") if getattr(options, name)]:
        expected = "--samples N and --rater NAME only: people predict labels of this task"
        raise UsageError(f"--{unused[0]} for {task.name}", expected=expected, code="not-for-predictions")
    if not number.isdecimal():
        expected = f"a number of samples of {task.name}, such as {_SAMPLES_FOR_PEOPLE}"
        raise UsageError(f"--samples {number[:80]}", expected=expected, code="bad-samples")
    release, moment = load_release(files.workspace, files.edition, task), now()
    if not labels_are_secret(files) or not release.days.opens <= moment < release.days.reveals:
        what = f"people predict {task.name} only while its samples are public and its labels are not"
        days = f"{utc_text(release.days.opens)} to {utc_text(release.days.reveals)}"
        raise UsageError(what, expected=f"{files.edition} from {days}", code="not-open")
    return assign_predictions(files, release, options.rater, count=int(number))


def _shown(files: StudyFiles, access: Sequence[RaterAccess], output: CommandOutput) -> int:
    """Write the raters' pages, and report their place."""
    study = open_study(page_folder(files))
    pages = write_pages(files.private / "raters", study, {who.rater: who.token for who in access})
    rows = [
        (who.rater, who.name, plan.pair, len(plan.turns), sum(1 for _ in plan.responses), str(page))
        for who, plan, page in zip(access, study.assignments.raters, pages, strict=True)
    ]
    output.result({"raters": [{"rater": row[0], "responses": row[4], "page": row[5]} for row in rows]})
    output.table("Raters", ("rater", "name", "pair", "samples", "responses", "page"), rows)
    if study.assignments.predicts:
        output.say(f"The ids of the samples are published: {asked_file(files.workspace, files.edition, files.task)}")
        until = study.assignments.until
        output.say(
            f"Predictions are accepted until {until}, when labels are revealed. Close before: hellofresh rate close"
        )
    output.say(
        "Send each rater their page: it opens without a network, and at its end gives a file for 'hellofresh rate "
        "close --file'. Or serve the pages, which then send their answers by themselves: hellofresh rate serve"
    )
    return 0


def _rubric_of(task: str) -> str:
    """The package's rubric whose overall criterion ranks a task's systems."""
    if get_task(task).rubric:
        return get_task(task).rubric
    headline = get_task(task).headline
    for name in RUBRICS:
        rubric = load_rubric(name)
        if rubric.criterion(rubric.overall).limits == headline.limits and rubric.overall == headline.name:
            return name
    raise UsageError(f"no rubric of the package fits {task}", fix="Name one with --rubric.", code="no-rubric")


def run_serve(options: argparse.Namespace, output: CommandOutput) -> int:
    """Serve the pages of all raters until stopped."""
    files = _files(options)
    folder = page_folder(files)
    study = open_study(folder)
    rows = []
    for item in progress(study):
        median = "-" if item.median_s is None else f"{item.median_s / 60:.1f} min"
        rows.append((item.rater, item.submitted, item.responses, median))
    output.table("So far", ("rater", "rated", "of", "median time"), rows)
    site = rating_site(folder, port=options.port, origins=options.origin)

    def started() -> None:
        addresses = [(who.rater, who.name, f"{site.origin}/?token={who.token}") for who in read_access(files)]
        output.table("Until you press Ctrl+C", ("rater", "name", "address"), addresses)

    site.run(started)
    return 0


def run_close(options: argparse.Namespace, output: CommandOutput) -> int:
    """Close a study."""
    files = _files(options)
    study = open_study(page_folder(files))
    for path in options.file:
        output.say(f"{path}: {take_file(study, path)} new lines")
    for plan in study.assignments.raters:
        state = study.sheet(plan).state()
        output.say(f"{plan.rater}: {state.ledger}")
        for response in state.twice:
            output.say(
                f"warning: {plan.rater} submitted {response} twice with different answers; the later ones count."
            )
    # People's predictions stay private; their public part is published with the labels.
    secret = study.assignments.predicts or labels_are_secret(files)
    ratings = close_study(files, secret=secret, incomplete=options.incomplete)
    output.result({"ratings": ratings.height, "file": str(files.ratings)})
    output.say(f"{ratings.height:,} ratings: {files.ratings}")
    if study.assignments.predicts:
        output.say(_about_checks(people_answers(files)))
        output.say(
            f"They are published with the labels, when these are scored: hellofresh score --edition {files.edition}"
        )
        return 0
    output.say(f"Results: hellofresh rate report --edition {files.edition} --task {files.task}")
    return 0


def _about_checks(answers: Sequence[PersonAnswer]) -> str:
    """A message on failed attention checks, and on when the board shows people."""
    people, failures = {item.judge for item in answers}, [item for item in answers if item.fails_check]
    checks = sorted({item.sample for item in answers if item.is_check})
    failed = Counter(item.sample for item in failures)
    by_check = ", ".join(f"{failed[check]} failed check {number}" for number, check in enumerate(checks, start=1))
    return (
        f"{len(people)} people answered, of whom {len({item.judge for item in failures})} are left out for failing an "
        f"attention check ({by_check or 'nobody saw one'}). The board has a row of people from {LEAST_PEOPLE} "
        f"people and {LEAST_SAMPLES} samples with {VOTERS} answers on; below, it says what is missing."
    )
