"""The models available on the command line.

Models of this process are in `CATALOGUE`: a new one is a file in this folder and an entry there. Models of
web services are in `catalogue.toml`, and in a user's `hellofresh.toml` in the same form.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from pkgutil import resolve_name
from typing import ClassVar

from pydantic import Field, ValidationError
from yarl import URL

from hellofresh.core.clock import now
from hellofresh.core.errors import ConfigError, UnknownNameError, UsageError
from hellofresh.core.files import as_model, canonical_json, model_fault, parse_toml
from hellofresh.core.net import may_carry_key
from hellofresh.core.strict import Strict, read_settings
from hellofresh.core.systems import ModelFacts
from hellofresh.core.workspace import Workspace
from hellofresh.models import Limits, Model, ModelSpec, Price
from hellofresh.models.baselines import (
    AlwaysClass,
    AlwaysYes,
    Coin,
    Prior,
    SentenceRegression,
    TrainingSample,
    WordRegression,
    always_names,
)
from hellofresh.models.local import LOCAL_FOLDER, SMOLLM2
from hellofresh.models.local.folders import FolderModel
from hellofresh.models.providers import HIDDEN_KEY
from hellofresh.models.scripted import PREFIX, ScriptedModel
from hellofresh.models.tables import (
    Abilities,
    AbilitiesTable,
    Endpoint,
    ModelTable,
    Name,
    ProviderTable,
    listed_price,
)
from hellofresh.models.wires import WIRES
from hellofresh.tasks import TASKS

# Descriptions of retrievers that need no file, for the list of models.
_RETRIEVERS: Mapping[str, str] = {
    "tf-idf": "Retriever: TF-IDF, the cosine of weighted word counts.",
    "bm25": "Retriever: BM25 over stemmed words.",
    "minilm": "Retriever: all-MiniLM-L6-v2 on this machine, the nearest vectors.",
    "hybrid": "Retriever: BM25 and MiniLM, their rankings put together.",
    "bm25+minilm": "Retriever in two stages: BM25, its first 20 documents put in order by MiniLM.",
}
IN_FLIGHT = 8
"""Default number of concurrent requests."""
# The abilities that are part of a model's identity.
_IDENTIFYING = ("sent_parameters", "dropped", "hidden_tokens", "logprobs", "system_messages")
_ACCOUNT = {"OPENAI_ORG_ID": "OpenAI-Organization", "OPENAI_PROJECT_ID": "OpenAI-Project"}
# Hosts at which a model is gone when its maker shuts it down.
_MAKERS = frozenset(
    {"api.openai.com", "api.anthropic.com", "generativelanguage.googleapis.com", "api.mistral.ai", "api.perplexity.ai"}
)
# The provider for each prefix of model ids.
_FAMILIES = {r"(chat)?gpt-|o\d": "openai", "claude-": "anthropic", "gemini-": "gemini"}
_LOOPBACK = re.compile(r"(localhost|127(\.[0-9]{1,3}){3}|\[::1\])(:[0-9]+)?(/|$)")


@dataclass(frozen=True, slots=True)
class ModelContext:
    """Inputs that opening a model may need.

    Attributes:
        task: name of the task of its requests.
        training: returns the labelled samples of all earlier quarters, for models that learn from them.
        only_known: whether only its spec is needed, so that no key is required.
        workspace: of the corpora; the one of the environment if left out.
        hidden_tokens: takes the place of the ability of that name of a web service's model; None to keep it.
    """

    task: str
    training: Callable[[], Sequence[TrainingSample]]
    only_known: bool = False
    workspace: Workspace | None = None
    hidden_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """A model of this process that can be opened.

    Attributes:
        about: a description in one sentence.
        open: opens the model.
        kind: `in-process`, `retriever` or `baseline`.
        knowledge_cutoff, facts: as in `ModelSpec`.
        provider, price, free, key_variable, has_key: as in `HostedModel`; the model runs here and costs nothing.
    """

    about: str
    open: Callable[[ModelContext], Model]
    kind: str = "in-process"
    knowledge_cutoff: str = "unknown"
    facts: ModelFacts = field(default_factory=ModelFacts)
    provider: ClassVar[str] = ""
    price: ClassVar[Price | None] = None
    free: ClassVar[bool] = True
    key_variable: ClassVar[str | None] = None
    has_key: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class HostedModel:
    """A model of a web service, with its tables merged.

    Attributes:
        name: its name on the command line.
        provider: name of the provider.
        table, service: the tables of the model and of the provider.
        client: the user's client of OpenAI's SDK, if any.
    """

    name: str
    provider: str
    table: ModelTable
    service: ProviderTable
    client: object = field(default=None, repr=False)

    @property
    def kind(self) -> str:
        return self.table.kind or self.service.kind

    @property
    def free(self) -> bool:
        if self.table.free is not None:
            return self.table.free
        return self.service.free and self.table.price is None

    @property
    def about(self) -> str:
        return self.table.about or f"{self.table.model}, asked at {self.provider}."

    @property
    def abilities(self) -> Abilities:
        found = self.table.abilities.abilities(self.kind)
        said = "token_parameter" in self.table.abilities.model_fields_set
        if said or self.kind != "openai-compatible" or self._host != "api.openai.com":
            return found
        return found.model_copy(update={"token_parameter": "max_completion_tokens"})

    @property
    def _host(self) -> str:
        return URL(self.service.base_url).host or ""

    @property
    def ends(self) -> str:
        """A sentence on the end of the model at its maker's own address, '' if none is known."""
        day = self.table.retires
        if day is None or self._host not in _MAKERS:
            return ""
        when = "was shut down" if day <= now().date() else "is shut down"
        instead = f"; its maker offers {self.table.successor}" if self.table.successor else ""
        return f"{self.table.model} {when} by its maker on {day.isoformat()}{instead}"

    @property
    def is_gone(self) -> bool:
        return bool(self.ends) and self.table.retires is not None and self.table.retires <= now().date()

    @property
    def _notes(self) -> tuple[str, ...]:
        key = os.environ.get(self.key_variable or "", "").strip()
        short = f"the key in {self.key_variable} has {len(key)} characters: taken as a placeholder, it is not hidden"
        return tuple(filter(None, (self.ends, short if 0 < len(key) < HIDDEN_KEY else "")))

    @property
    def price(self) -> Price | None:
        """The price in its table, else in genai-prices; None for models that search, whose searches cost extra."""
        if self.table.price is not None:
            return self.table.price
        if self.service.prices is None or self.free or self.abilities.search:
            return None
        return listed_price(self.service.prices, self.table.model)

    @property
    def key_variable(self) -> str | None:
        """The environment variable for its key, or None if it needs none."""
        return self.service.key_variable

    @property
    def has_key(self) -> bool:
        """Whether its key is set or not needed."""
        return self.key_variable is None or bool(os.environ.get(self.key_variable, "").strip())

    @property
    def knowledge_cutoff(self) -> str:
        return self.table.cutoff

    @property
    def facts(self) -> ModelFacts:
        return self.table.facts

    @property
    def spec(self) -> ModelSpec:
        """Its specification, without its key."""
        abilities = self.abilities
        return ModelSpec(
            name=self.name,
            kind="language-model",
            about=self.about,
            parameters={
                "provider": self.provider,
                "speaks": self.kind,
                "base_url": self.service.base_url.rstrip("/"),
                "model": self.table.model,
                **{name: getattr(abilities, name) for name in _IDENTIFYING},
                **({"options": canonical_json(self.table.options)} if self.table.options else {}),
            },
            limits=self.table.limits.over(self.service.limits.over(Limits(IN_FLIGHT))),
            price=self.price,
            free=self.free,
            default_limit=self.table.default_limit,
            knowledge_cutoff=self.table.cutoff,
            facts=self.table.facts,
            calls_tools=abilities.tools,
            searches=abilities.search,
            takes_options=WIRES[self.kind].is_chat,
            sees=abilities.sees,
            image_tokens=self.table.abilities.image_tokens,
            sampling=abilities.sampling,
            notes=self._notes,
        )

    def endpoint(self, *, keyless: bool = False) -> Endpoint:
        """Its endpoint, with the key from the environment unless `keyless`.

        For OpenAI only, headers name the paying organisation and project, as its SDK does.

        Raises:
            UsageError: if a required key is not set, or is not one line of plain characters.
        """
        service = self.service
        account = {name: os.environ.get(variable, "").strip() for variable, name in _ACCOUNT.items()}
        sent = account if URL(service.base_url).host == "api.openai.com" else {}
        return Endpoint(
            base_url=service.base_url.rstrip("/"),
            model=self.table.model,
            key=None if keyless or service.key_variable is None else _key(service.key_variable, self.name),
            headers={**{name: value for name, value in sent.items() if value}, **service.headers},
            timeout_s=service.timeout_s,
            options=self.table.options,
            client=self.client or (self.table.client if self.kind == "openai-sdk" else None),
        )

    def open(self, context: ModelContext | None = None) -> Model:
        """Open the model, importing its client only now.

        Raises:
            UsageError: if its key or extra is missing.
        """
        if self.is_gone and not (context is not None and context.only_known):
            fix = f"Ask {self.table.successor or 'another model'}, or the same model where others serve it."
            raise UsageError(self.ends, where=self.name, fix=fix, code="retired-model")
        asked = self if context is None or context.hidden_tokens is None else self._thinking(context.hidden_tokens)
        endpoint = self.endpoint(keyless=context is not None and context.only_known)
        client: Callable[[ModelSpec, Endpoint, Abilities], Model] = resolve_name(WIRES[self.kind].client)
        return client(asked.spec, endpoint, asked.abilities)

    def _thinking(self, hidden_tokens: int) -> HostedModel:
        """The same model with another limit of hidden reasoning."""
        said = self.table.abilities.model_dump(exclude_unset=True) | {"hidden_tokens": hidden_tokens}
        abilities = as_model(AbilitiesTable, said, where="--hidden-tokens", error=UsageError, code="bad-limit")
        return replace(self, table=self.table.model_copy(update={"abilities": abilities}))


def _key(variable: str, model: str) -> str:
    key = os.environ.get(variable, "").strip()
    if not key:
        raise UsageError(
            f"the model {model!r} needs a key",
            where=f"environment variable {variable}",
            fix=f"Set it: export {variable}=... (the key stays in the environment and is written to no file).",
            code="missing-key",
        )
    if not key.isascii() or not key.isprintable() or " " in key:
        raise UsageError(
            "the key has characters that keys never have", where=f"environment variable {variable}", code="bad-key"
        )
    return key


def _embedded(held_to_choices: bool, _: ModelContext) -> Model:
    from hellofresh.models.local.embedded import EmbeddedModel  # the engine is an extra and takes seconds to import

    return EmbeddedModel(held_to_choices=held_to_choices)


def _retriever(name: str, context: ModelContext) -> Model:
    from hellofresh.models.retrievers import RetrieverModel  # imports the indexes

    return RetrieverModel(name, context.workspace or Workspace.from_environment(), _RETRIEVERS.get(name, ""))


_BASELINES: Mapping[str, tuple[str, Callable[[ModelContext], Model]]] = {
    "always-yes": (
        "Baseline: says yes to every sample; always-CLASS, such as always-false, says a class of the task.",
        lambda _: AlwaysYes(),
    ),
    "coin": ("Baseline: throws a fair coin, seeded by the sample's id.", lambda _: Coin()),
    "majority-class": (
        "Baseline: says the class that is most frequent among the labels of earlier editions.",
        lambda context: Prior.train(context.task, context.training(), draws=False),
    ),
    "prior": (
        "Baseline: draws a class by its share among the labels of earlier editions.",
        lambda context: Prior.train(context.task, context.training(), draws=True),
    ),
    "tfidf-logreg": (
        "Baseline: TF-IDF and logistic regression, trained on the labels of earlier editions.",
        lambda context: WordRegression.train(context.task, context.training()),
    ),
    "minilm-logreg": (
        "Baseline: MiniLM's vectors and logistic regression, trained on the labels of earlier editions.",
        lambda context: SentenceRegression.train(context.task, context.training()),
    ),
}
CATALOGUE: Mapping[str, CatalogueEntry] = {
    "smollm2-135m": CatalogueEntry(
        "SmolLM2-135M-Instruct on this machine, limited to the allowed answers: a smoke test, no better than chance.",
        partial(_embedded, True),
        facts=SMOLLM2,
    ),
    "smollm2-135m-text": CatalogueEntry(
        "SmolLM2-135M-Instruct on this machine, answering in free text, which can seldom be read as yes or no.",
        partial(_embedded, False),
        facts=SMOLLM2,
    ),
    "scripted": CatalogueEntry(
        f"A script, not a model: answers by pattern from a file of the package, or from {PREFIX}FILE. A smoke test.",
        lambda _: ScriptedModel.load(),
        knowledge_cutoff="none",
    ),
    **{
        name: CatalogueEntry(about, partial(_retriever, name), "retriever", "none")
        for name, about in _RETRIEVERS.items()
    },
    **{name: CatalogueEntry(about, opener, "baseline", "none") for name, (about, opener) in _BASELINES.items()},
}


ENDPOINT = "openai:"
"""Prefix of models at an address, which need no table."""
_OPENAI, _KEY, _ADDRESS = "https://api.openai.com/v1", "OPENAI_API_KEY", "OPENAI_BASE_URL"


_SDK_PROVIDER = "openai-sdk"
# Provider table for a client of the SDK, which has its own address and keys.
_SDK = ProviderTable(kind="openai-sdk", base_url=_OPENAI)
_BROUGHT: dict[str, HostedModel] = {}  # models of the clients passed to this process, by name


class HostedTables(Strict):
    """The tables of web services: `catalogue.toml`, and [providers] and [models] of `hellofresh.toml`."""

    providers: dict[Name, ProviderTable] = Field(default_factory=dict)
    models: dict[Name, ModelTable] = Field(default_factory=dict)


@cache
def _bundled() -> HostedTables:
    content = parse_toml(files("hellofresh.models").joinpath("catalogue.toml").read_bytes())
    return as_model(HostedTables, content, where="catalogue.toml", error=ConfigError, code="bad-catalogue")


def _own() -> HostedTables:
    return read_settings(HostedTables, only=("providers", "models"))


def hosted_models(own: HostedTables | None = None) -> dict[str, HostedModel]:
    """All models of web services by name, including the user's own.

    Args:
        own: the user's tables, those of `hellofresh.toml` unless given.

    Raises:
        ConfigError: if a table names an unknown provider, or uses a reserved name.
    """
    own = own or _own()
    bundled, hosted = _bundled(), {}
    providers = {**_providers(bundled.providers, own.providers), _SDK_PROVIDER: _SDK}
    for name, table in {**bundled.models, **own.models}.items():
        where = f"hellofresh.toml, [models.{name}]"
        if name in CATALOGUE:
            what, fix = "the name belongs to a built-in model", "Give it another name."
            raise ConfigError(what, where=where, fix=fix, code="taken-name")
        if table.provider not in providers:
            raise ConfigError(
                f"unknown provider {table.provider!r}",
                where=where,
                expected=f"one of {', '.join(sorted(providers))}, or a table [providers.{table.provider}]",
                code="unknown-provider",
            )
        hosted[name] = HostedModel(name, table.provider, table, providers[table.provider])
        if fault := table.abilities.fault(hosted[name].kind):
            raise ConfigError(fault, where=f"[models.{name}.abilities]", code="bad-abilities")
    return hosted


def _providers(bundled: Mapping[str, ProviderTable], own: Mapping[str, ProviderTable]) -> dict[str, ProviderTable]:
    """All providers by name; OpenAI's address is taken from OPENAI_BASE_URL if set, as its clients do.

    A user's table with another address for a known provider keeps that provider's prices.
    """
    address = os.environ.get(_ADDRESS, "").strip()
    providers = {**bundled, **own}
    for name, known in bundled.items():
        if name in own and "prices" not in own[name].model_fields_set:
            providers[name] = own[name].model_copy(update={"prices": known.prices})
        elif name not in own and address and known.base_url == _OPENAI:
            providers[name] = as_model(
                ProviderTable,
                known.model_dump(exclude_unset=True) | {"base_url": address},
                where=f"environment variable {_ADDRESS}",
                error=ConfigError,
                fix="Set it to an address such as https://models.example.org/v1, or unset it.",
                code="bad-endpoint",
            )
    return providers


def known_models() -> dict[str, CatalogueEntry | HostedModel]:
    """All available models by name.

    Raises:
        ConfigError: as `hosted_models`.
    """
    return {**CATALOGUE, **hosted_models()}


def open_model(name: str, context: ModelContext) -> Model:
    """Open a model.

    Args:
        name: in the catalogue, `PROVIDER:NAME` or `PROVIDER/NAME` (of `openai` see `endpoint_model`), `scripted:` and
            the file of a script, `local-hf:` and a folder of weights, or two stages of retrieval such as
            `bm25+trained:FOLDER`.
        context: inputs that it may need.

    Raises:
        UnknownNameError: if no model has the name.
        UsageError: if something it needs is missing (an extra, weights, a key, labels to learn from).
        ConfigError: if the user's own tables are wrong.
    """
    if name.startswith(PREFIX):
        return ScriptedModel.load(Path(name.removeprefix(PREFIX)))
    if name.startswith(LOCAL_FOLDER):
        return FolderModel(Path(name.removeprefix(LOCAL_FOLDER)))
    check_model_name(name)
    known = find_model(name)
    if known is not None:
        return known.open(context)
    return _retriever(name, context) if "+" in name else AlwaysClass.of(context.task, name)


def find_model(name: str) -> CatalogueEntry | HostedModel | None:
    """The entry of a model by name, or None if no table and no provider has it.

    Raises:
        UsageError: if an endpoint's name or address is invalid, or a client must be passed again.
        ConfigError: if the user's own tables are wrong.
    """
    known = known_models()
    if name in known or name in _BROUGHT:
        return known.get(name) or _BROUGHT[name]
    provider, model = provider_and_id(name)
    if provider == "openai":
        return endpoint_model(name)
    if provider == _SDK_PROVIDER:
        fix = "Call hf.evaluate again with the client, or name who makes it in [models.NAME] of hellofresh.toml."
        raise UsageError("the client of an earlier process is gone", where=name, fix=fix, code="no-client")
    return _at_provider(provider, model) if provider else None


def provider_and_id(name: str) -> tuple[str, str]:
    """The parts of `PROVIDER:NAME` or `PROVIDER/NAME`; empty if no provider is named."""
    provider, model = re.match(r"([^:/]*)(?:[:/](.*))?", name, re.DOTALL).groups()  # type: ignore[union-attr]
    known = {*_bundled().providers, *_own().providers, _SDK_PROVIDER}
    return (provider, model) if model is not None and provider in known else ("", "")


def _at_provider(provider: str, model: str) -> HostedModel:
    """A provider's model by its id: from the first table with both, else with default settings."""
    name = f"{provider}:{model}"
    for hosted in hosted_models().values():
        if (hosted.provider, hosted.table.model) == (provider, model):
            return replace(hosted, name=name)
    content = {"provider": provider, "model": model, "abilities": {"sees": True}}
    table = as_model(ModelTable, content, where=name, error=UsageError, code="bad-endpoint")
    return HostedModel(name, provider, table, _providers(_bundled().providers, _own().providers)[provider])


def is_baseline(name: str) -> bool:
    """Whether a name is a baseline's (a rule or a word model), which answers in seconds and reads no prompt."""
    known = CATALOGUE.get(name)
    return (
        any(name in always_names(task.classes) for task in TASKS.values())
        if known is None
        else known.kind == "baseline"
    )


def learns(name: str) -> bool:
    """Whether a name is that of a baseline that fits a classifier to earlier labels, which takes seconds."""
    return name in (WordRegression.name, SentenceRegression.name)


def check_model_name(name: str) -> None:
    """Check a model's name before doing any work.

    Raises:
        UnknownNameError: if no model has the name.
        ConfigError: if the user's own tables are wrong.
    """
    if name.startswith((PREFIX, LOCAL_FOLDER)) or "+" in name or name in _BROUGHT or provider_and_id(name)[0]:
        return
    if any(name in always_names(task.classes) for task in TASKS.values()):
        return
    known = known_models()
    if name not in known:
        raise UnknownNameError("model", name, known, fix=_how_to_name(name))


def _how_to_name(name: str) -> str:
    """Advice on the full name of a model given by its id only."""
    provider = next((provider for family, provider in _FAMILIES.items() if re.match(family, name)), "")
    key = _bundled().providers[provider].key_variable if provider else None
    if key and os.environ.get(key, "").strip():
        return f"The key in {key} is set: --model {provider}:{name}"
    if key:
        return f"At its maker, with the key in {key}: --model {provider}:{name}"
    model, address = ("NAME", name) if "://" in name else (name, "http://HOST:PORT/v1")
    model = "NAME" if name in _bundled().providers else model
    return f"A model of your own endpoint: --model openai:{model} --base-url {address}"


def bring_client(client: object, model: str | None) -> str:
    """Register a client of OpenAI's SDK for a model in this process; returns its name, which a later one may take.

    Args:
        client: a client, such as `AsyncAzureOpenAI(...)`.
        model: the id of the model or deployment at the service; tables with that id apply to it.

    Raises:
        UsageError: if the id is missing or invalid.
    """
    known = hosted_models().get(model or "")
    said = known.table if known is not None and WIRES[known.kind].is_chat and known.table.model == model else None
    content = (
        {"abilities": {"sees": True}} if said is None else said.model_dump(exclude_unset=True, exclude={"provider"})
    )
    content |= {"model": model or "", "kind": "openai-sdk"}
    fix = 'Give its id: hf.evaluate(..., model=client, name="gpt-6-luna")'
    table = as_model(ModelTable, content, where="name", error=UsageError, fix=fix, code="bad-name")
    name = f"{_SDK_PROVIDER}:{model}"
    _BROUGHT[name] = HostedModel(name, _SDK_PROVIDER, table, _SDK, client)
    return name


def models_at(base_url: str | None, *models: str) -> list[str]:
    """Names of models, with the address added to those of the form `openai:NAME`; unchanged without an address.

    For this machine, http:// may be left out.

    Raises:
        UsageError: if the address is invalid, or applies to none of the models.
    """
    if not base_url:
        return [*models]
    if not any(map(_takes_address, models)):
        meant = next((name for name in models if name not in CATALOGUE), (*models, "NAME")[0])
        what, named = f"an address for the model {', '.join(models)!r}", provider_and_id(meant)[1] or meant
        line = f"--model openai:{named} --base-url {base_url}"
        fix = f"A model at an address is called openai:NAME: {line}"
        if len(models) > 1:
            fix = f"A model at an address is called openai:NAME: write openai:{named} in place of {meant}."
        raise UsageError(what, fix=fix, code="no-endpoint-model")
    if "://" not in base_url and _LOOPBACK.match(base_url):
        base_url = f"http://{base_url}"
    if not base_url.startswith(("http://", "https://")):
        raise _bad_endpoint(f"an address without http:// or https://: {base_url!r}", "--base-url")
    return [f"{model}@{base_url}" if _takes_address(model) else model for model in models]


def _takes_address(model: str) -> bool:
    return provider_and_id(model)[0] == "openai" and "@http" not in model


def _bad_endpoint(what: str, where: str) -> UsageError:
    return UsageError(
        what,
        where=where,
        expected="openai:NAME, with --base-url such as http://127.0.0.1:8000/v1 or https://models.example.org/v1",
        fix="Write the name and the full address with its scheme; no request was sent.",
        code="bad-endpoint",
    )


def endpoint_model(name: str) -> HostedModel:
    """A model at an OpenAI-compatible endpoint: `openai:NAME` or `openai/NAME`, optionally followed by `@ADDRESS`.

    The default address is in the environment variable OPENAI_BASE_URL; without it, the model belongs to the
    provider `openai` of the tables and price lists. Another address gets the key in OPENAI_API_KEY if there
    is one and the connection is safe from eavesdroppers.

    Raises:
        UsageError: if the name or the address is invalid.
    """
    model, at, rest = name[len(ENDPOINT) :].partition("@http")
    if "@" in model or re.search(r":[0-9]{3,5}(/|$)", model):
        raise _bad_endpoint(f"an address without http:// or https:// in the model {model!r}", name)
    address = f"http{rest}" if at else os.environ.get(_ADDRESS, "").strip()
    if not address:
        return _at_provider("openai", model)
    key = _KEY if os.environ.get(_KEY, "").strip() and may_carry_key(address) else None
    try:
        service = ProviderTable(kind="openai-compatible", base_url=address, key_variable=key)
        # Abilities are unknown: an endpoint without support for images reports it itself.
        table = ModelTable(provider="endpoint", model=model, abilities=AbilitiesTable(sees=True))
    except ValidationError as error:
        raise _bad_endpoint(model_fault(error), name) from None
    return HostedModel(f"{ENDPOINT}{model}", "endpoint", table, service)
