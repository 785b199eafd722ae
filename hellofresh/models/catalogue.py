"""The models that can be named on the command line.

Those that run in this process stand in `CATALOGUE`: a new one is a file in this folder and an entry there. Those that
web services answer for stand in `catalogue.toml`, and in a user's `hellofresh.toml` in the same form.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from pkgutil import resolve_name
from typing import ClassVar

from pydantic import Field, ValidationError
from yarl import URL

from hellofresh.core.errors import ConfigError, UnknownNameError, UsageError
from hellofresh.core.files import as_model, model_fault, parse_toml
from hellofresh.core.net import may_carry_key
from hellofresh.core.strict import Strict, read_settings
from hellofresh.core.workspace import Workspace
from hellofresh.models import Limits, Model, ModelSpec, Price
from hellofresh.models.baselines import (
    AlwaysClass,
    AlwaysYes,
    Coin,
    Prior,
    TrainingSample,
    WordRegression,
    always_names,
)
from hellofresh.models.local import LOCAL_FOLDER
from hellofresh.models.local.folders import FolderModel
from hellofresh.models.scripted import PREFIX, ScriptedModel
from hellofresh.models.tables import (
    Abilities,
    AbilitiesTable,
    Endpoint,
    ModelTable,
    Name,
    ProviderKind,
    ProviderTable,
    listed_price,
)
from hellofresh.tasks import TASKS


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
        return self.service.kind

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
        return self.table.abilities.abilities(self.kind)

    @property
    def price(self) -> Price | None:
        """What its table says, else what genai-prices lists; not for models that search, whose searches cost more."""
        if self.table.price is not None:
            return self.table.price.price()
        if self.service.prices is None or self.free or self.abilities.search:
            return None
        return listed_price(self.service.prices, self.table.model)

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
        return self.table.cutoff

    @property
    def spec(self) -> ModelSpec:
        """What is known of it before it is asked; without its key."""
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

        To OpenAI alone, headers say which organisation and project pay, as its SDK does.

        Raises:
            UsageError: if a key is needed and not set, or is not one line of plain characters.
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
        )

    def open(self, context: ModelContext | None = None) -> Model:
        """Get it ready; its client is imported only now.

        Raises:
            UsageError: if the key or the extra that it needs is not there.
        """
        endpoint = self.endpoint(keyless=context is not None and context.only_known)
        client: Callable[[ModelSpec, Endpoint, Abilities], Model] = resolve_name(_CLIENTS[self.kind])
        return client(self.spec, endpoint, self.abilities)


_CLIENTS: Mapping[ProviderKind, str] = {
    "openai-compatible": "hellofresh.models.providers.chat:ChatModel",
    "openai-responses": "hellofresh.models.providers.responses:ResponsesModel",
    "gemini": "hellofresh.models.providers.gemini:GeminiModel",
    "anthropic": "hellofresh.models.providers.anthropic:AnthropicModel",
}


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
    from hellofresh.models.retrievers import RetrieverModel  # it imports the indexes

    return RetrieverModel(name, context.workspace or Workspace.from_environment(), _RETRIEVERS.get(name, ""))


_RETRIEVERS: Mapping[str, str] = {
    "tf-idf": "Retriever: TF-IDF, the cosine of weighted word counts.",
    "bm25": "Retriever: BM25 over stemmed words.",
    "minilm": "Retriever: all-MiniLM-L6-v2 on this machine, the nearest vectors.",
    "hybrid": "Retriever: BM25 and MiniLM, their rankings put together.",
    "bm25+minilm": "Retriever in two stages: BM25, its first 20 documents put in order by MiniLM.",
}
"""What the list of models says of those that need no file."""
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
}
CATALOGUE: Mapping[str, CatalogueEntry] = {
    "smollm2-135m": CatalogueEntry(
        "SmolLM2-135M-Instruct on this machine, held to the answers asked for: a smoke test at chance level.",
        partial(_embedded, True),
    ),
    "smollm2-135m-text": CatalogueEntry(
        "SmolLM2-135M-Instruct on this machine, answering in free text, of which little can be read as yes or no.",
        partial(_embedded, False),
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
"""What the names of models begin with that are asked at an address, without a table."""
IN_FLIGHT = 8
"""Requests under way at once, where neither model nor provider says how many."""
_ACCOUNT = {"OPENAI_ORG_ID": "OpenAI-Organization", "OPENAI_PROJECT_ID": "OpenAI-Project"}
_OPENAI, _KEY, _ADDRESS = "https://api.openai.com/v1", "OPENAI_API_KEY", "OPENAI_BASE_URL"


class HostedTables(Strict):
    """The tables of web services: `catalogue.toml`, and [providers] and [models] of `hellofresh.toml`."""

    providers: dict[Name, ProviderTable] = Field(default_factory=dict)
    models: dict[Name, ModelTable] = Field(default_factory=dict)


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
    bundled, hosted = _bundled(), {}
    providers = _providers(bundled.providers, own.providers)
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
    """All providers by name: OpenAI's service at the address that OPENAI_BASE_URL says, as every client of it does.

    A known provider's name at another address of the user's keeps the prices of the known service.
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
        return FolderModel(Path(name.removeprefix(LOCAL_FOLDER)))
    check_model_name(name)
    known = known_models()
    if name not in known and "+" in name:
        return _retriever(name, context)
    if name not in known:
        return AlwaysClass.of(context.task, name)
    return known[name].open(context)


def is_baseline(name: str) -> bool:
    """Whether a name is a rule's or a model's of words, which answers in seconds and reads no prompt."""
    known = CATALOGUE.get(name)
    return (
        any(name in always_names(task.classes) for task in TASKS.values())
        if known is None
        else known.kind == "baseline"
    )


def check_model_name(name: str) -> None:
    """Whether a name may be a model's, before anything is done for it.

    Raises:
        UnknownNameError: if no model has the name.
        ConfigError: if the user's own tables are wrong.
    """
    if name.startswith((PREFIX, ENDPOINT, LOCAL_FOLDER)) or "+" in name:
        return
    if any(name in always_names(task.classes) for task in TASKS.values()):
        return
    known = known_models()
    if name not in known:
        fix = "A model of your own endpoint: --model openai:NAME --base-url http://HOST:PORT/v1"
        raise UnknownNameError("model", name, known, fix=fix)


_LOOPBACK = re.compile(r"(localhost|127(\.[0-9]{1,3}){3}|\[::1\])(:[0-9]+)?(/|$)")


def model_at(model: str, base_url: str | None) -> str:
    """The name of a model at an address; its own without an address. On this machine http:// may be left out.

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
        raise _bad_endpoint(f"an address without http:// or https://: {base_url!r}", "--base-url")
    return f"{model}@{base_url}"


def _bad_endpoint(what: str, where: str) -> UsageError:
    return UsageError(
        what,
        where=where,
        expected="openai:NAME, with --base-url such as http://127.0.0.1:8000/v1 or https://models.example.org/v1",
        fix="Write the name and the whole address, scheme and all: nothing was asked.",
        code="bad-endpoint",
    )


def endpoint_model(name: str) -> HostedModel:
    """A model that no table names: `openai:NAME`, or `openai:NAME@ADDRESS`, at an endpoint of OpenAI's form.

    Without an address it is that of the environment variable OPENAI_BASE_URL, or OpenAI's own. The key in
    OPENAI_API_KEY is sent if there is one and nothing on the way can read it.

    Raises:
        UsageError: if the name or the address cannot be used.
    """
    model, at, rest = name.removeprefix(ENDPOINT).partition("@http")
    if "@" in model or re.search(r":[0-9]{3,5}(/|$)", model):
        raise _bad_endpoint(f"an address without http:// or https:// in the model {model!r}", name)
    address = f"http{rest}" if at else os.environ.get(_ADDRESS, "").strip() or _OPENAI
    key = _KEY if os.environ.get(_KEY, "").strip() and may_carry_key(address) else None
    try:
        service = ProviderTable(kind="openai-compatible", base_url=address, key_variable=key)
        # Nothing is known of it: an endpoint that takes no images says so itself.
        table = ModelTable(provider="endpoint", model=model, abilities=AbilitiesTable(sees=True))
    except ValidationError as error:
        raise _bad_endpoint(model_fault(error), name) from None
    return HostedModel(f"{ENDPOINT}{model}", "endpoint", table, service)
