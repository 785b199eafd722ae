"""What is asked of whom: one type for the command line, for `hf.evaluate`, for `plan.json` and for `run.json`.

A new option of a run is a field of `Evaluation`, with its words, and the place that uses its meaning. The options of
commands, the signature of `hf.evaluate` and what both files store follow from the fields. Nothing is imported here but
the standard library, so that help and completion come at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast, get_type_hints

from hellofresh.core.errors import UsageError

if TYPE_CHECKING:
    from hellofresh.core.editions import Edition
    from hellofresh.evidence.web import Web
    from hellofresh.runs.pace import Patience
    from hellofresh.tasks import Task


@dataclass(frozen=True, slots=True)
class WebAccess:
    """The outside world for a run, not opened yet.

    Attributes:
        parameters: all that decides what is found, as of the opened web.
        open: opens it, keeping all that comes back in the folder of the run.
        user_agent: how this program introduces itself where pages come from the network; empty where none do.
    """

    parameters: Mapping[str, str | int | float | bool]
    open: Callable[[Path], Web]
    user_agent: str = ""


@dataclass(frozen=True, slots=True)
class Option:
    """How a field of `Evaluation`, or of the settings of a collector, is given.

    Attributes:
        help: what it means.
        flag: on the command line; `--` and the field's name where it is empty.
        metavar: what stands for its value; empty for a switch.
        parse: makes a value of one word of the command line.
        many: whether the option may be repeated.
        several: whether it takes several values at once.
        choices: the only values.
        read: makes the field's value of what the command line or Python give.
        stored: whether it says what is asked of whom, and not how this process goes about it.
        group: title under which help shows it, if not the general one.
    """

    help: str
    metavar: str = ""
    flag: str = ""
    parse: Callable[[str], object] = str
    many: bool = False
    choices: tuple[str, ...] = ()
    read: Callable[[object], object] = lambda value: value
    stored: bool = True
    several: bool = False
    group: str = ""

    def flag_of(self, name: str) -> str:
        return self.flag or f"--{name.replace('_', '-')}"


def _split(value: object) -> tuple[str, ...]:
    """Words of a list, each of which may hold several with commas between them."""
    given = [value] if isinstance(value, str) else cast("Iterable[str]", value)
    return tuple(word for text in given for word in text.split(",") if word)


def _joined(value: object) -> str:
    return ",".join(_split(value))


def _pairs(value: object) -> tuple[str, ...]:
    """NAME=VALUE of a list of such texts, or of a mapping."""
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
    """What is asked of whom, and how this process goes about it.

    What each field with an `Option` means stands there. The others are for code: `resumes` is the id of a run that this
    must be the same as; `web` the way to the outside world, where it is not the configured one; `patience` says how
    often failed questions are asked again; `earlier` are folders of runs whose answers and pages are given where the
    same is asked for.
    """

    edition: Edition
    task: Annotated[Task, Option("name of the task, such as x-notes", "T")]
    model: Annotated[str, Option("a name from: hellofresh models; or PROVIDER:NAME, such as openai:NAME", "M")]
    regime: Annotated[str, Option("how the model is asked (default: zero-shot)", "R")] = "zero-shot"
    prompts: Annotated[
        str, Option("all, or ids such as manual,rephrased-1 (default: all usual ones)", "P", read=_joined)
    ] = ""
    limit: Annotated[int | None, Option("judge N samples (default: the model's own limit)", "N", parse=int)] = None
    prompt_set: Annotated[Path | None, Option("your own prompt set (TOML)", "FILE", parse=Path)] = None
    repeat: Annotated[
        int,
        Option("ask each question N times, with different seeds; needs --temperature (default: 1)", "N", parse=int),
    ] = 1
    temperature: Annotated[
        float | None, Option("temperature of all requests, such as 0.7 (default: 0)", "T", parse=float)
    ] = None
    vote: Annotated[bool, Option("score the vote of all repetitions, not the first of them")] = False
    budget_usd: Annotated[
        float | None, Option("stop before the run costs more than this", "USD", "--budget", parse=float, stored=False)
    ] = None
    drop_damaged: Annotated[
        bool, Option("delete damaged answers from the journal and ask for them again", stored=False)
    ] = False
    resumes: str | None = None
    web: WebAccess | None = None
    patience: Patience | None = None
    split: Annotated[
        str, Option("prospective: samples that were undecided when released", choices=("main", "prospective"))
    ] = "main"
    roles: Annotated[
        Mapping[str, str],
        Option("another model for a role of the regime", "ROLE=MODEL", "--role", many=True, read=_by_role),
    ] = field(default_factory=dict)
    settings: Annotated[
        tuple[str, ...],
        Option("a setting of the regime, such as pages=3", "NAME=VALUE", "--set", many=True, read=_pairs),
    ] = ()
    blocked: Annotated[
        tuple[str, ...],
        Option("never read pages of this domain (repeat it for each)", "DOMAIN", "--block", many=True, read=_split),
    ] = ()
    allowed: Annotated[
        tuple[str, ...],
        Option(
            "read this group of sources that hold the task's answers, such as fact-checkers, to see what it changes",
            "GROUP",
            "--allow",
            many=True,
            read=_split,
        ),
    ] = ()
    provider: Annotated[str, Option("search provider (default: as configured)", "P")] = ""
    replay: Annotated[bool, Option("replay the run's stored searches and pages, without the network", stored=False)] = (
        False
    )
    earlier: tuple[Path, ...] = ()

    @property
    def title(self) -> str:
        """Model, task, edition and regime, for people."""
        split = "" if self.split == "main" else f", {self.split}"
        return f"{self.model} on {self.task.name} {self.edition}, {self.regime}{split}"

    @property
    def prompt_ids(self) -> Sequence[str]:
        """Ids of the prompts, of a run that was begun."""
        return self.prompts.split(",")


_NAMED = {"Edition": str, "Task": str, "Patience": object, "WebAccess": object}
"""What files hold in place of objects: their names."""
HINTS = get_type_hints(Evaluation, localns=_NAMED, include_extras=True)
"""The fields' types as files have them, each with its `Option`, if it has one."""
OPTIONS: Mapping[str, Option] = {
    name: hint.__metadata__[0] for name, hint in HINTS.items() if hasattr(hint, "__metadata__")
}
"""How each field is given, by its name."""
STORED = ("edition", *(name for name, option in OPTIONS.items() if option.stored))
"""Names of the fields that `plan.json` and `run.json` hold."""


def given_values(given: Mapping[str, object]) -> dict[str, object]:
    """The fields among what a command line or Python gives, in the form that `Evaluation` has them."""
    return {name: option.read(given[name]) for name, option in OPTIONS.items() if name in given}
