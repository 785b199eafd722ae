"""The dataset card: what is in the publication, where it comes from, what it cannot show, and how to check it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import PurePosixPath

from pydantic import TypeAdapter

from hellofresh.core.editions import benchmark_task
from hellofresh.core.files import parse_toml, read_jsonl
from hellofresh.core.strict import Strict
from hellofresh.releases.life.manifest import calendar_of
from hellofresh.releases.publish._parts import (
    CORPUS_COLUMNS,
    Column,
    PublishedPart,
    SearchedCorpus,
    answer_columns,
    columns_of,
    licences_in,
)
from hellofresh.tasks import Task
from hellofresh.tasks.outputs import Output, Ranking, Response
from hellofresh.tasks.samples import MAIN, PROSPECTIVE

_SAME_NAME = ["Apache-2.0", "CC-BY-3.0", "CC-BY-4.0", "CC-BY-NC-4.0", "CC-BY-SA-3.0", "CC-BY-SA-4.0", "CC0-1.0", "MIT"]
LICENCES = {
    **{name: name.lower() for name in _SAME_NAME},
    "ODC-By-1.0": "odc-by",
    **dict.fromkeys(("LicenseRef-X-content", "LicenseRef-research-only", "LicenseRef-not-stated"), "other"),
}
"""What the hub calls the licence that samples name."""


class DataStatement(Strict):
    """What is to be said of a task's data."""

    source: str
    people: str
    licence: str
    limits: list[str]


class CardTexts(Strict):
    """The paragraphs that every card has, or every one of its kind."""

    bundled: str
    partly: str
    about: str
    prospective: str
    checking: str
    taking_down: str


@cache
def card_texts() -> CardTexts:
    """The paragraphs."""
    return CardTexts.model_validate(parse_toml(_content("card.toml")))


def _content(name: str) -> bytes:
    return files("hellofresh.releases.publish").joinpath(name).read_bytes()


@cache
def _statements() -> dict[str, DataStatement]:
    return TypeAdapter(dict[str, DataStatement]).validate_python(parse_toml(_content("statements.toml")))


def has_statement(task: str) -> bool:
    """Whether there is a statement on a task's data; one that was added from outside has none."""
    return task.removesuffix("-binary") in _statements()


def statement_on(task: str) -> DataStatement:
    """The statement on a task's data; a task with fewer classes has that of its data set."""
    return _statements()[task.removesuffix("-binary")]


_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
_CATEGORIES: Mapping[type[Output], str] = {Response: "text-generation", Ranking: "text-retrieval"}


def title_of(parts: Sequence[PublishedPart]) -> str:
    """The name of the publication; the bundled sample has one of its own."""
    if all(part.bundled for part in parts):
        return "HelloFresh (bundled sample)"
    return "HelloFresh (partly bundled sample)" if any(part.bundled for part in parts) else "HelloFresh"


_BALANCED = (
    "In each period of a quarter all labels are equally frequent, which they are not in the world: rates cannot be "
    "read off."
)


def card(parts: Sequence[PublishedPart], corpora: Sequence[SearchedCorpus], rows: Mapping[PurePosixPath, int]) -> str:
    """The text of README.md; corpora are what queries are searched in, rows count the samples by place."""
    texts = card_texts()
    tasks = {part.task.name: part.task for part in parts}
    statements = {part.task.name: _statement(part) for part in parts}
    bundled = [part.bundled for part in parts]
    first = parts[0]
    about = texts.about.format(folder="path/to/this/folder", config=first.config, split=first.split)
    sections = [
        f"# {title_of(parts)}",
        *([texts.bundled] if all(bundled) else [texts.partly] if any(bundled) else []),
        about,
        "## What is in it",
        "\n".join(_on_task(task) for task in tasks.values()),
        _quarters(parts, rows),
        *([_corpora(corpora)] if corpora else []),
        *([texts.prospective] if any(part.prospective for part in parts) else []),
        "## Data statement",
        *(f"**{tasks[name].title}.** {said.source}\n\n{said.people}" for name, said in statements.items()),
        "## Limits",
        _limits(parts, statements),
        "## Licences",
        *(f"**{tasks[name].title}.** {said.licence}" for name, said in statements.items()),
        "What the project adds (the choice of samples, labels, commitments, manifests and tables) is under Apache-2.0.",
        "## What was left out",
        "Every row of the sources is accounted for.",
        *(_funnel(part) for part in parts if not part.prospective),
        texts.checking,
        texts.taking_down,
    ]
    passed_on = [one for one in corpora if one.is_published]
    return _front_matter(parts, passed_on, rows, licences_of(parts, passed_on)) + "\n" + "\n\n".join(sections) + "\n"


def licences_of(parts: Iterable[PublishedPart], corpora: Iterable[SearchedCorpus] = ()) -> list[str]:
    """The licences that samples and corpora name, sorted."""
    phrases = {str(row["license"]) for part in parts for row in read_jsonl(part.folder / "samples.jsonl")}
    named = {name for phrase in phrases for name in licences_in(phrase)}
    return sorted(named.union(*(one.licences for one in corpora)))


def _on_task(task: Task) -> str:
    labels = ", ".join(f"{label}: {name}" for label, name in reversed([*enumerate(task.classes)]))
    return f"- **{task.name}**: {task.question}{f' Label {labels}.' if labels else ''}"


def _corpora(corpora: Sequence[SearchedCorpus]) -> str:
    """What the queries are searched in, with the reason where a corpus is not in here."""
    rows = [(one.name, f"`{one.sha256[:12]}`", " AND ".join(one.licences) or "unknown", _where(one)) for one in corpora]
    return "Queries are searched in these corpora:\n\n" + _table(("corpus", "content", "licence", "documents"), rows)


def _where(one: SearchedCorpus) -> str:
    if one.is_published:
        return f"configuration `{one.config}`, split `documents`"
    if one.corpus is None:
        return "not in here: the corpus was not at hand"
    return "not in here: not every licence lets us pass them on (hellofresh corpus import)"


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def _cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value).replace("|", "\\|").replace("\n", " ")


def _quarters(parts: Sequence[PublishedPart], rows: Mapping[PurePosixPath, int]) -> str:
    head = ("configuration", "split", "samples", "state", "opened", "last prediction", "labels", "texts", "source")
    lines = []
    for part in parts:
        source = "bundled sample" if part.bundled else part.manifest.source
        place = (f"`{part.config}`", f"`{part.split}`", rows[part.place], str(part.phase))
        lines.append((*place, *_times(part), part.manifest.texts, source))
    return _table(head, lines)


def _times(part: PublishedPart) -> tuple[str, str, str]:
    """When it opened, until when predictions are taken, and when labels are public."""
    if not part.edition.is_living:
        return f"{part.opened:%Y-%m-%d}", "at any time", "public"
    days = calendar_of(part.manifest, part.folder)
    labels = "public" if part.has_labels else "open" if part.prospective else f"on {days.reveals:%Y-%m-%d}"
    return f"{days.opens:%Y-%m-%d}", f"{days.deadline:%Y-%m-%d %H:%M} UTC", labels


def _limits(parts: Sequence[PublishedPart], statements: Mapping[str, DataStatement]) -> str:
    balanced = any(part.edition.is_living for part in parts)
    own = [f"- {name}: {limit}" for name, statement in statements.items() for limit in statement.limits]
    return "\n".join([*([f"- {_BALANCED}"] if balanced else []), *own])


def _statement(part: PublishedPart) -> DataStatement:
    """The statement on a task's data; for a data set that has none, what its manifest says."""
    dataset = part.manifest.dataset
    if dataset is None or has_statement(part.task.name):
        return statement_on(part.task.name)
    return DataStatement(
        source=f"{dataset.name}, from {dataset.address}.",
        people="Nothing is known here of who wrote it.",
        licence=dataset.licence,
        limits=[f"Labels have been public since {dataset.published}: models may have been trained on them."],
    )


def _funnel(part: PublishedPart) -> str:
    funnel, selection = part.manifest.collection.funnel, part.manifest.selection
    taken = selection.samples if selection else 0
    rows: list[tuple[str, object]] = [(f"{funnel.unit} found", funnel.rows_in)]
    rows += [(f"left out: {drop.meaning}", drop.count) for drop in funnel.drops if drop.count]
    drawn = [("samples drawn, all labels in equal numbers", taken)] if part.edition.is_living else []
    rows += [("candidates", funnel.total_kept), *drawn]
    source = " (bundled sample)" if part.bundled else ""
    return f"### {part.task.name} {part.edition}{source}\n\n" + _table(("", funnel.unit), rows)


def _front_matter(
    parts: Sequence[PublishedPart],
    corpora: Sequence[SearchedCorpus],
    rows: Mapping[PurePosixPath, int],
    licences: Sequence[str],
) -> str:
    """The card's head, between its two lines of dashes."""
    from huggingface_hub import DatasetCardData  # a third of a second, which no other command waits for

    total = sum(rows.values())
    tags = ["community-notes", "wikipedia", "fact-checking", "forecasting", "benchmark"]
    data = DatasetCardData(
        pretty_name=title_of(parts),
        license=sorted({"apache-2.0", *(LICENCES[name] for name in licences if name in LICENCES)}),
        language=["en"],
        task_categories=sorted({_CATEGORIES.get(part.task.output, "text-classification") for part in parts}),
        tags=[*tags, "bundled-sample"] if any(part.bundled for part in parts) else tags,
        size_categories=[next((name for limit, name in _SIZES if total < limit), "n>1M")],
        configs=[
            *(_config(name, of_config) for name, of_config in _by_config(parts).items()),
            *({"config_name": one.config, "data_files": [_file("documents", one.table)]} for one in corpora),
        ],
        dataset_info=[
            *(_info(name, _columns(of_config[0].task)) for name, of_config in _by_config(parts).items()),
            *(_info(one.config, CORPUS_COLUMNS) for one in corpora),
        ],
    )
    return f"---\n{data.to_yaml()}\n---\n"


def benchmark(parts: Sequence[PublishedPart]) -> str:
    """The text of `eval.yaml`, which has the hub show the data set as a benchmark with a task for each split.

    Source of the fields: https://huggingface.co/docs/hub/eval-results.
    """
    from huggingface_hub.utils import yaml_dump  # type: ignore[attr-defined]  # not in its list of names

    title = title_of(parts)
    tasks = [
        {
            "id": benchmark_task(part.task.name, str(part.edition), PROSPECTIVE if part.prospective else MAIN),
            "config": part.config,
            "split": part.split,
        }
        for part in parts
    ]
    about = "A living benchmark: language models predict fresh, real decisions of people."
    said = {"name": title, "description": about, "evaluation_framework": "hellofresh", "tasks": tasks}
    return str(yaml_dump(said, sort_keys=False, width=1000))


def _by_config(parts: Sequence[PublishedPart]) -> Mapping[str, list[PublishedPart]]:
    names = sorted({part.config for part in parts}, key=lambda name: (name.count("prospective"), name))
    return {name: [part for part in parts if part.config == name] for name in names}


def _config(name: str, parts: Sequence[PublishedPart]) -> object:
    return {"config_name": name, "data_files": [_file(part.split, part.table) for part in parts]}


def _file(split: str, table: PurePosixPath) -> object:
    return {"split": split, "path": table.as_posix()}


def _columns(task: Task) -> Sequence[Column]:
    return (*columns_of(task), *answer_columns(task))


def _info(name: str, columns: Sequence[Column]) -> object:
    return {"config_name": name, "features": [_feature(column) for column in columns]}


def _feature(column: Column) -> object:
    if column.parts:
        return {"name": column.name, "list" if column.many else "struct": [_feature(part) for part in column.parts]}
    if column.classes:
        names = {str(number): name for number, name in enumerate(column.classes)}
        return {"name": column.name, "dtype": {"class_label": {"names": names}}}
    if column.kind == "strings":
        return {"name": column.name, "sequence": "string"}
    return {"name": column.name, "dtype": column.kind}
