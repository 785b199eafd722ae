"""The models that can be named on the command line.

Those that run in this process stand in `CATALOGUE`: a new one is a file in this folder and an entry there. Those that
web services answer for stand in `catalogue.toml`, and in a user's `hellofresh.toml` in the same form.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import ClassVar

from pydantic import Field, ValidationError
from yarl import URL

from hellofresh.core.errors import ConfigError, UnknownNameError, UsageError
from hellofresh.core.files import as_model, model_fault, parse_toml
from hellofresh.core.net.keys import may_carry_key
from hellofresh.core.strict import Strict, read_settings
from hellofresh.core.workspace import Workspace
from hellofresh.models._endpoint import Abilities, Endpoint
from hellofresh.models.base import Limits, Model, ModelSpec, Price
from hellofresh.models.baselines import (
    AlwaysClass,
    AlwaysYes,
    Coin,
    Prior,
    TrainingSample,
    WordRegression,
    names_a_class,
)
from hellofresh.models.batches.base import Batches
from hellofresh.models.local import LOCAL_FOLDER
from hellofresh.models.scripted import PREFIX, ScriptedModel
from hellofresh.models.tables import AbilitiesTable, ModelTable, Name, ProviderKind, ProviderTable, listed_price


@dataclass(frozen=True, slots=True)
class ModelContext:
    """What a model may need to get ready.

    Attributes:
        task: name of the task that it will be asked about.
        training: gives the labelled samples of all earlier quarters, for models that learn from them.
        only_known: whether nothing will be asked, so that no key is needed.
        workspace: where corpora are; the one of the environment if left out.
    """

    task: str
    training: Callable[[], Sequence[TrainingSample]]
    only_known: bool = False
    workspace: Workspace | None = None


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """A model of this process that can be opened.

    Attributes:
        about: a sentence about it.
        open: gets it ready.
        kind: `in-process`, `retriever` or `baseline`.
        knowledge_cutoff: as in `ModelSpec`.
        provider, price, free, key_variable, has_key: as of `HostedModel`; it runs here, and costs nothing.
    """

    about: str
    open: Callable[[ModelContext], Model]
    kind: str = "in-process"
    knowledge_cutoff: str = "unknown"
    provider: ClassVar[str] = ""
    price: ClassVar[Price | None] = None
    free: ClassVar[bool] = True
    key_variable: ClassVar[str | None] = None
    has_key: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class HostedModel:
    """A model of a web service, all tables put together.

    Attributes:
        name: as on the command line.
        provider: name of the provider.
        table, service: the model's and the provider's table.
    """

    name: str
    provider: str
    table: ModelTable
    service: ProviderTable

    @property
    def kind(self) -> ProviderKind:
        """What the provider speaks."""
        return self.service.kind

    @property
    def free(self) -> bool:
        """Whether asking costs nothing."""
        if self.table.free is not None:
            return self.table.free
        return self.service.free and self.table.price is None

    @property
    def about(self) -> str:
        """A sentence for the list and the board."""
        return self.table.about or f"{self.table.model}, asked at {self.provider}."

    @property
    def abilities(self) -> Abilities:
        """What the model takes and gives."""
        return self.table.abilities.abilities(self.kind)

    @property
    def price(self) -> Price | None:
        """What its table says, else what genai-prices lists; not for models that search, whose searches cost more."""
        if self.table.price is not None:
            return self.table.price.price()
        if self.service.prices is None or self.free or self.abilities.search:
            return None
        return listed_price(self.service.prices, self.table.model, self.service.batch_factor)

    @property
    def key_variable(self) -> str | None:
        """The environment variable that must hold a key, None where none is needed."""
        return self.service.key_variable

    @property
    def has_key(self) -> bool:
        """Whether the key that it needs is there, or none is needed."""
        return self.key_variable is None or bool(os.environ.get(self.key_variable, "").strip())

    @property
    def knowledge_cutoff(self) -> str:
        """As in `ModelSpec`."""
        return self.table.cutoff

    @property
    def spec(self) -> ModelSpec:
        """What is known of it before it is asked; its key is no part of this."""
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
                "sent_parameters": abilities.sent_parameters,
                "dropped": abilities.dropped,
                "hidden_tokens": abilities.hidden_tokens,
                "logprobs": abilities.logprobs,
                "system_messages": abilities.system_messages,
            },
            limits=self.table.limits.over(self.service.limits.over(Limits(IN_FLIGHT))),
            price=self.price,
            free=self.free,
            default_limit=self.table.default_limit,
            knowledge_cutoff=self.table.cutoff,
            calls_tools=abilities.tools,
            searches=abilities.search,
            takes_options=self.kind == "openai-compatible",
            sees=abilities.sees,
            image_tokens=self.table.abilities.image_tokens,
            sampling=abilities.sampling,
        )

    def endpoint(self, *, keyless: bool = False) -> Endpoint:
        """Where it is asked, with the key from the environment unless `keyless`.

        Raises:
            UsageError: if a key is needed and not set, or is not one line of plain characters.
        """
        service = self.service
        return Endpoint(
            base_url=service.base_url.rstrip("/"),
            model=self.table.model,
            key=None if keyless or service.key_variable is None else _key(service.key_variable, self.name),
            headers={**_account(service.base_url), **service.headers},
            timeout_s=service.timeout_s,
        )

    def open(self, context: ModelContext | None = None) -> Model:
        """Get it ready; its client is imported only now.

        Raises:
            UsageError: if the key or the extra that it needs is not there.
        """
        endpoint = self.endpoint(keyless=context is not None and context.only_known)
        if self.kind == "gemini":
            from hellofresh.models.providers.gemini import GeminiModel

            return GeminiModel(self.spec, endpoint, self.abilities)
        if self.kind == "anthropic":
            from hellofresh.models.providers.anthropic import AnthropicModel

            return AnthropicModel(self.spec, endpoint, self.abilities)
        if self.kind == "openai-responses":
            from hellofresh.models.providers.responses import ResponsesModel

            return ResponsesModel(self.spec, endpoint, self.abilities)
        from hellofresh.models.providers.chat import ChatModel

        return ChatModel(self.spec, endpoint, self.abilities)

    def open_batches(self, *, only_known: bool = False) -> Batches:
        """Its provider's way of taking batches; without its key if nothing will be handed in.

        Raises:
            UsageError: if the provider takes none, or the key or the extra that it needs is not there.
        """
        if not self.service.batches:
            raise _no_batches(self.name, self.provider)
        endpoint = self.endpoint(keyless=only_known)
        if self.kind == "gemini":
            from hellofresh.models.batches.gemini import GeminiBatches

            return GeminiBatches(self.spec, endpoint, self.abilities)
        from hellofresh.models.batches.chat import ChatBatches

        return ChatBatches(self.spec, endpoint, self.abilities)


def _no_batches(name: str, provider: str) -> UsageError:
    return UsageError(
        f"{name!r} does not support batches",
        where=provider or "this machine",
        expected="a model of a provider with batches = true",
        fix="Leave --batch out.",
        code="no-batches",
    )


def _account(base_url: str) -> dict[str, str]:
    """Headers that say which organisation and project pay, from the variables of the OpenAI SDK; for OpenAI only."""
    if URL(base_url).host != "api.openai.com":
        return {}
    return {header: value for name, header in _ACCOUNT.items() if (value := os.environ.get(name, "").strip())}


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


def _embedded(*, held_to_choices: bool) -> Callable[[ModelContext], Model]:
    def opener(_: ModelContext) -> Model:
        from hellofresh.models.local.embedded import EmbeddedModel  # the engine is an extra and takes seconds to import

        return EmbeddedModel(held_to_choices=held_to_choices)

    return opener


def _retriever(name: str) -> Callable[[ModelContext], Model]:
    def opener(context: ModelContext) -> Model:
        from hellofresh.models.retrievers import RetrieverModel  # it imports the indexes

        workspace = context.workspace or Workspace.from_environment()
        return RetrieverModel(name, workspace, RETRIEVER_ABOUT.get(name, ""))

    return opener


RETRIEVER_ABOUT: Mapping[str, str] = {
    "tf-idf": "Retriever: TF-IDF, the cosine of weighted word counts.",
    "bm25": "Retriever: BM25 over stemmed words.",
    "minilm": "Retriever: all-MiniLM-L6-v2 on this machine, the nearest vectors.",
    "hybrid": "Retriever: BM25 and MiniLM, their rankings put together.",
    "bm25+minilm": "Retriever in two stages: BM25, its first 20 documents put in order by MiniLM.",
}
"""What the list of models says of those that need no file."""

CATALOGUE: Mapping[str, CatalogueEntry] = {
    "smollm2-135m": CatalogueEntry(
        "SmolLM2-135M-Instruct on this machine, held to the answers asked for: a smoke test at chance level.",
        _embedded(held_to_choices=True),
    ),
    "smollm2-135m-text": CatalogueEntry(
        "SmolLM2-135M-Instruct on this machine, answering in free text, of which little can be read as yes or no.",
        _embedded(held_to_choices=False),
    ),
    "scripted": CatalogueEntry(
        f"A script, not a model: answers by pattern from a file of the package, or from {PREFIX}FILE. A smoke test.",
        lambda _: ScriptedModel.load(),
        knowledge_cutoff="none",
    ),
    **{
        name: CatalogueEntry(about, _retriever(name), kind="retriever", knowledge_cutoff="none")
        for name, about in RETRIEVER_ABOUT.items()
    },
    "always-yes": CatalogueEntry(
        "Baseline: says yes to every sample; always-CLASS, such as always-false, says a class of the task.",
        lambda _: AlwaysYes(),
        kind="baseline",
        knowledge_cutoff="none",
    ),
    "coin": CatalogueEntry(
        "Baseline: throws a fair coin, seeded by the sample's id.",
        lambda _: Coin(),
        kind="baseline",
        knowledge_cutoff="none",
    ),
    "majority-class": CatalogueEntry(
        "Baseline: says the class that is most frequent among the labels of earlier editions.",
        lambda context: Prior.train(context.task, context.training(), draws=False),
        kind="baseline",
        knowledge_cutoff="none",
    ),
    "prior": CatalogueEntry(
        "Baseline: draws a class by its share among the labels of earlier editions.",
        lambda context: Prior.train(context.task, context.training(), draws=True),
        kind="baseline",
        knowledge_cutoff="none",
    ),
    "tfidf-logreg": CatalogueEntry(
        "Baseline: TF-IDF and logistic regression, trained on the labels of earlier editions.",
        lambda context: WordRegression.train(context.task, context.training()),
        kind="baseline",
        knowledge_cutoff="none",
    ),
}


ENDPOINT = "openai:"
"""What the names of models begin with that are asked at an address, without a table."""
IN_FLIGHT = 8
"""Requests under way at once, where neither model nor provider says how many."""
_ACCOUNT = {"OPENAI_ORG_ID": "OpenAI-Organization", "OPENAI_PROJECT_ID": "OpenAI-Project"}
_OPENAI, _KEY, _ADDRESS = "https://api.openai.com/v1", "OPENAI_API_KEY", "OPENAI_BASE_URL"


class HostedTables(Strict):
    """The tables of web services: `catalogue.toml`, and [providers] and [models] of `hellofresh.toml`."""

    providers: dict[Name, ProviderTable] = Field(default_factory=dict)
    models: dict[Name, ModelTable] = Field(default_factory=dict)


_PRICING = ("prices", "batch_factor")
"""What a table of the user's that has a known provider's name takes from it where it says nothing."""


@cache
def _bundled() -> HostedTables:
    content = parse_toml(files("hellofresh.models").joinpath("catalogue.toml").read_bytes())
    return as_model(HostedTables, content, where="catalogue.toml", error=ConfigError, code="bad-catalogue")


def hosted_models(own: HostedTables | None = None) -> dict[str, HostedModel]:
    """All models of web services by name, the user's own among them.

    Args:
        own: the user's tables, those of `hellofresh.toml` unless given.

    Raises:
        ConfigError: if a table names a provider that is not there, or a name that the project has taken.
    """
    own = own or read_settings(HostedTables, only=("providers", "models"))
    bundled = _bundled()
    providers = {**{name: _at_address(table) for name, table in bundled.providers.items()}, **own.providers}
    for name in own.providers.keys() & bundled.providers.keys():  # another address has the prices of the known service
        known, given = bundled.providers[name], own.providers[name]
        unsaid = {field: getattr(known, field) for field in _PRICING if field not in given.model_fields_set}
        providers[name] = given.model_copy(update=unsaid)
    tables = {**bundled.models, **own.models}
    for name in own.models:
        if name in CATALOGUE:
            raise ConfigError(
                "the name belongs to a built-in model",
                where=f"hellofresh.toml, [models.{name}]",
                fix="Give it another name.",
                code="taken-name",
            )
    return {name: _hosted(name, table, providers) for name, table in tables.items()}


def _at_address(service: ProviderTable) -> ProviderTable:
    """OpenAI's service at the address that OPENAI_BASE_URL says, as every client of it does; others as they are."""
    address = os.environ.get(_ADDRESS, "").strip()
    if service.base_url != _OPENAI or not address:
        return service
    return as_model(
        ProviderTable,
        service.model_dump(exclude_unset=True) | {"base_url": address},
        where=f"environment variable {_ADDRESS}",
        error=ConfigError,
        fix="Set it to an address such as https://models.example.org/v1, or unset it.",
        code="bad-endpoint",
    )


def _hosted(name: str, table: ModelTable, providers: Mapping[str, ProviderTable]) -> HostedModel:
    if table.provider not in providers:
        raise ConfigError(
            f"unknown provider {table.provider!r}",
            where=f"[models.{name}]",
            expected=f"one of {', '.join(sorted(providers))}, or a table [providers.{table.provider}]",
            code="unknown-provider",
        )
    kind, abilities = providers[table.provider].kind, table.abilities
    if kind in ("anthropic", "openai-responses") and (abilities.seed or abilities.logprobs):
        raise ConfigError(
            f"models of the kind {kind} take no seed and give no log-probabilities",
            where=f"[models.{name}.abilities]",
            code="bad-abilities",
        )
    if kind != "openai-compatible" and abilities.token_parameter != "max_tokens":  # noqa: S105 - counted, not secret
        raise ConfigError(
            "token_parameter is for providers of the kind openai-compatible",
            where=f"[models.{name}.abilities]",
            code="bad-abilities",
        )
    return HostedModel(name, table.provider, table, providers[table.provider])


def known_models(own: HostedTables | None = None) -> dict[str, CatalogueEntry | HostedModel]:
    """Every model that can be named.

    Raises:
        ConfigError: as `hosted_models`.
    """
    return {**CATALOGUE, **hosted_models(own)}


def open_model(name: str, context: ModelContext) -> Model:
    """Get a model ready to be asked.

    Args:
        name: in the catalogue, `scripted:` and the file of a script, `openai:NAME` (see `endpoint_model`),
            `local-hf:` and a folder of weights, or two stages of retrieval such as `bm25+trained:FOLDER`.
        context: what it may need.

    Raises:
        UnknownNameError: if no model has the name.
        UsageError: if what it needs is not there (an extra, weights, a key, labels to learn from).
        ConfigError: if the user's own tables are wrong.
    """
    if name.startswith(PREFIX):
        return ScriptedModel.load(Path(name.removeprefix(PREFIX)))
    if name.startswith(ENDPOINT):
        return endpoint_model(name).open(context)
    if name.startswith(LOCAL_FOLDER):
        from hellofresh.models.local.folders import FolderModel

        return FolderModel(Path(name.removeprefix(LOCAL_FOLDER)))
    known = known_models()
    if name not in known and "+" in name:
        return _retriever(name)(context)
    if name not in known and names_a_class(name):
        return AlwaysClass.of(context.task, name)
    try:
        entry = known[name]
    except KeyError:
        raise UnknownNameError("model", name, known) from None
    return entry.open(context)


_LOOPBACK = re.compile(r"(localhost|127(\.[0-9]{1,3}){3}|\[::1\])(:[0-9]+)?(/|$)")


def model_at(model: str, base_url: str | None) -> str:
    """The name of a model at an address; its own where there is none. On this machine http:// may be left out.

    Raises:
        UsageError: if the address cannot be used, or the model has one of its own.
    """
    if not base_url:
        return model
    if not model.startswith(ENDPOINT) or "@http" in model:
        raise UsageError(
            f"an address for the model {model!r}", expected="a model such as openai:NAME", code="no-endpoint-model"
        )
    if "://" not in base_url and _LOOPBACK.match(base_url):
        base_url = f"http://{base_url}"
    if not base_url.startswith(("http://", "https://")):
        raise UsageError(
            f"an address without http:// or https://: {base_url!r}",
            where="--base-url",
            expected="an address such as https://models.example.org/v1",
            fix="Write the scheme before it: nothing was asked.",
            code="bad-endpoint",
        )
    return f"{model}@{base_url}"


def endpoint_model(name: str) -> HostedModel:
    """A model that no table names: `openai:NAME`, or `openai:NAME@ADDRESS`, at an endpoint of OpenAI's form.

    Without an address it is that of the environment variable OPENAI_BASE_URL, or OpenAI's own. The key in
    OPENAI_API_KEY is sent if there is one and nobody on the way can read it.

    Raises:
        UsageError: if the name or the address cannot be used.
    """
    model, at, rest = name.removeprefix(ENDPOINT).partition("@http")
    if "@" in model or re.search(r":[0-9]{3,5}(/|$)", model):
        raise UsageError(
            f"an address without http:// or https:// in the model {model!r}",
            where=name,
            expected="openai:NAME, with --base-url such as http://127.0.0.1:8000/v1",
            fix="Write the scheme before the address: nothing was asked.",
            code="bad-endpoint",
        )
    address = f"http{rest}" if at else os.environ.get(_ADDRESS, "").strip() or _OPENAI
    key = _KEY if os.environ.get(_KEY, "").strip() and may_carry_key(address) else None
    try:
        service = ProviderTable(kind="openai-compatible", base_url=address, key_variable=key)
        # Nothing is known of it: an endpoint that takes no images says so itself.
        table = ModelTable(provider="endpoint", model=model, abilities=AbilitiesTable(sees=True))
    except ValidationError as error:
        raise UsageError(
            model_fault(error),
            where=name,
            expected="openai:NAME, with --base-url such as http://127.0.0.1:8000/v1",
            code="bad-endpoint",
        ) from None
    return HostedModel(f"{ENDPOINT}{model}", "endpoint", table, service)


def open_batches(name: str, *, only_known: bool = False) -> Batches:
    """Get a model's batches ready; without its key if nothing will be handed in.

    Raises:
        UsageError: if it takes none, or what it needs is not there.
        ConfigError: if the user's own tables are wrong.
    """
    hosted = hosted_models()
    if name not in hosted:
        raise _no_batches(name, "")
    return hosted[name].open_batches(only_known=only_known)
