"""The settings of an evaluation: one type for the command line, `hf.evaluate`, `plan.json` and `run.json`.

A new option of a run is a field of `Evaluation`, with its help, and the code that uses it. Command line options, the
signature of `hf.evaluate`, both files and the run's identity follow from the fields: a run with another value is
another run, unless the option says otherwise by its `Part`. Only the standard library is imported here, so that help
is fast.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from enum import Enum, auto
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast, get_type_hints

from hellofresh.core.errors import UsageError

if TYPE_CHECKING:
    from hellofresh.core.editions import Edition
    from hellofresh.evidence.web import Web
    from hellofresh.runs.pace import Patience
    from hellofresh.tasks import Task


@dataclass(frozen=True, slots=True)
class WebAccess:
    """Web access of a run, not opened yet.

    Attributes:
        parameters: all settings that determine results, as for the opened web.
        open: opens it; all responses are stored in the folder of the run.
        user_agent: the user agent for fetching pages; empty if no pages come from the network.
    """

    parameters: Mapping[str, str | int | float | bool]
    open: Callable[[Path], Web]
    user_agent: str = ""


class Part(Enum):
    """What an option of a run decides, and so whether another value makes another run."""

    IDENTITY = auto()
    """What is asked, and how. It enters the run's identity under the field's name."""
    HELD = auto()
    """As `IDENTITY`, but an entry of another name or form holds it: the model's, the regime's, the web's."""
    EXTENT = auto()
    """How much is asked or scored: the same run grows, and keeps what it has."""
    PROCESS = auto()
    """How this process goes about it; neither stored nor part of the run."""


@dataclass(frozen=True, slots=True)
class Option:
    """The command line option of a field of `Evaluation` or of a collector's settings.

    Attributes:
        help: its help text.
        flag: its flag; `--` and the field's name if empty.
        metavar: placeholder of its value in help; empty for a switch.
        parse: parses one word of the command line.
        many: whether the option may be repeated.
        several: whether it takes several values at once.
        choices: the allowed values, if limited.
        read: converts a value from the command line or Python to the field's value.
        part: what it decides, for an option of a run.
        group: title of its group in help, if not the general one.
    """

    help: str
    metavar: str = ""
    flag: str = ""
    parse: Callable[[str], object] = str
    many: bool = False
    choices: tuple[str, ...] = ()
    read: Callable[[object], object] = lambda value: value
    part: Part = Part.IDENTITY
    several: bool = False
    group: str = ""

    def flag_of(self, name: str) -> str:
        return self.flag or f"--{name.replace('_', '-')}"


def _split(value: object) -> tuple[str, ...]:
    """Words of a list whose items may hold several words separated by commas."""
    given = [value] if isinstance(value, str) else cast("Iterable[str]", value)
    return tuple(word for text in given for word in text.split(",") if word)


def _joined(value: object) -> str:
    return ",".join(_split(value))


def _pairs(value: object) -> tuple[str, ...]:
    """Texts NAME=VALUE from a list of them or from a mapping."""
    if isinstance(value, Mapping):
        return tuple(f"{name}={said}" for name, said in value.items())
    return tuple(cast("Iterable[str]", value))


def _by_role(value: object) -> dict[str, str]:
    if isinstance(value, Mapping):
        return dict(value)
    pairs = {text: text.partition("=") for text in cast("Iterable[str]", value)}
    for text, (role, _, model) in pairs.items():
        if not (role and model):
            raise UsageError(f"the role {text!r} names no model", expected="ROLE=MODEL", code="bad-role")
    return {role: model for role, _, model in pairs.values()}


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The settings of an evaluation, and how this process runs it.

    Fields with an `Option` are explained there. The others are for code: `resumes` is the id of the run that this must
    resume; `web` replaces the configured web access; `patience` limits how often failed questions are asked again.
    """

    # What is asked, and how.
    edition: Edition
    task: Annotated[Task, Option("name of the task, such as x-notes", "T", part=Part.HELD)]
    model: Annotated[
        str, Option("a name that 'hellofresh models' lists, or PROVIDER:NAME, such as openai:NAME", "M", part=Part.HELD)
    ]
    regime: Annotated[str, Option("how the model is asked (default: zero-shot)", "R", part=Part.HELD)] = "zero-shot"
    prompt_set: Annotated[
        str | None,
        Option(
            "paper (the papers' prompts; default where they have any), standard (predict the vote), or a TOML file",
            "SET",
            read=lambda value: None if value is None else str(value),
            part=Part.HELD,
        ),
    ] = None
    temperature: Annotated[
        float | None, Option("temperature of all requests, such as 0.7 (default: 0)", "T", parse=float, part=Part.HELD)
    ] = None
    hidden_tokens: Annotated[
        int | None,
        Option(
            "maximum tokens of hidden reasoning, beyond the limit of each answer (default: the model's)",
            "N",
            parse=int,
            part=Part.HELD,
        ),
    ] = None
    split: Annotated[
        str,
        Option(
            "prospective: samples that were undecided when released", choices=("main", "prospective"), part=Part.HELD
        ),
    ] = "main"
    roles: Annotated[
        Mapping[str, str],
        Option(
            "another model for a role of the regime", "ROLE=MODEL", "--role", many=True, read=_by_role, part=Part.HELD
        ),
    ] = field(default_factory=dict)
    settings: Annotated[
        tuple[str, ...],
        Option(
            "a setting of the regime, such as pages=3", "NAME=VALUE", "--set", many=True, read=_pairs, part=Part.HELD
        ),
    ] = ()
    blocked: Annotated[
        tuple[str, ...],
        Option(
            "never read pages of this domain (repeat it for each)",
            "DOMAIN",
            "--block",
            many=True,
            read=_split,
            part=Part.HELD,
        ),
    ] = ()
    allowed: Annotated[
        tuple[str, ...],
        Option(
            "do not block this group of sources, such as fact-checkers, to measure its effect",
            "GROUP",
            "--allow",
            many=True,
            read=_split,
            part=Part.HELD,
        ),
    ] = ()
    provider: Annotated[str, Option("search provider (default: as configured)", "P", part=Part.HELD)] = ""
    # How much is asked and scored.
    prompts: Annotated[
        str,
        Option("all, or ids such as manual,rephrased-1 (default: the regime's)", "P", read=_joined, part=Part.EXTENT),
    ] = ""
    limit: Annotated[
        int | None, Option("evaluate N samples (default: the model's own limit)", "N", parse=int, part=Part.EXTENT)
    ] = None
    repeat: Annotated[
        int,
        Option(
            "ask each question N times, with different seeds; needs --temperature (default: 1)",
            "N",
            parse=int,
            part=Part.EXTENT,
        ),
    ] = 1
    vote: Annotated[bool, Option("score the vote of all repetitions, not the first of them", part=Part.EXTENT)] = False
    # How this process goes about it.
    budget_usd: Annotated[
        float | None,
        Option("stop before the run costs more than this", "USD", "--budget", parse=float, part=Part.PROCESS),
    ] = None
    drop_damaged: Annotated[
        bool, Option("delete damaged answers from the journal and ask for them again", part=Part.PROCESS)
    ] = False
    stored_only: Annotated[
        bool,
        Option("ask nothing; score the samples with stored answers, such as a retired model's", part=Part.PROCESS),
    ] = False
    go_on: Annotated[
        bool,
        Option("continue if the first answers are cut off or empty, which count as wrong", part=Part.PROCESS),
    ] = False
    replay: Annotated[
        bool, Option("replay the run's stored searches and pages, without the network", part=Part.PROCESS)
    ] = False
    resumes: str | None = None
    web: WebAccess | None = None
    patience: Patience | None = None

    @property
    def title(self) -> str:
        """Model, task, edition and regime, for people."""
        split = "" if self.split == "main" else f", {self.split}"
        return f"{self.model} on {self.task.name} {self.edition}, {self.regime}{split}"

    @property
    def further(self) -> dict[str, object]:
        """The options that enter the identity under their own names, by name.

        Only where they differ from their defaults, so that a new option changes no run that was made without it.
        """
        values = {item.name: (getattr(self, item.name), item) for item in fields(self) if item.name in _FURTHER}
        return {
            name: dict(value) if isinstance(value, Mapping) else value if isinstance(value, int | float) else str(value)
            for name, (value, item) in values.items()
            if value != (item.default if item.default_factory is MISSING else item.default_factory())
        }

    @property
    def prompt_ids(self) -> Sequence[str]:
        """Ids of the prompts of a run that has begun."""
        return self.prompts.split(",")


# Types in files for fields whose objects are stored by name.
_NAMED = {"Edition": str, "Task": str, "Patience": object, "WebAccess": object}
HINTS = get_type_hints(Evaluation, localns=_NAMED, include_extras=True)
"""The fields' types in files, with their `Option` if they have one."""
OPTIONS: Mapping[str, Option] = {
    name: hint.__metadata__[0] for name, hint in HINTS.items() if hasattr(hint, "__metadata__")
}
"""The option of each field, by name."""
_FURTHER = frozenset(name for name, option in OPTIONS.items() if option.part is Part.IDENTITY)
STORED = ("edition", *(name for name, option in OPTIONS.items() if option.part is not Part.PROCESS))
"""Names of the fields that `plan.json` and `run.json` hold."""


def given_values(given: Mapping[str, object]) -> dict[str, Any]:
    """The given values that are fields, converted to the fields' own types, which differ; so their type is `Any`."""
    return {name: option.read(given[name]) for name, option in OPTIONS.items() if name in given}
