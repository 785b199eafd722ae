"""`hellofresh models`: the available models, and whether they answer."""

from __future__ import annotations

import argparse
import time
from dataclasses import asdict
from datetime import date
from difflib import get_close_matches

from hellofresh.cli._output import CommandOutput
from hellofresh.cli.arguments.evaluating import QUESTION
from hellofresh.core.errors import UnknownNameError, UsageError
from hellofresh.core.executors import completed
from hellofresh.models import Answer, CallError, Finish, Message, Model, Request
from hellofresh.models.catalogue import (
    CatalogueEntry,
    HostedModel,
    ModelContext,
    check_model_name,
    find_model,
    known_models,
    models_at,
    open_model,
)
from hellofresh.models.providers import HttpModel
from hellofresh.models.thoughts import without_thought
from hellofresh.runs.counts import WIDER_TOKENS, AnswerFate, counted, fate_of, remedies
from hellofresh.runs.ledger import Ledger
from hellofresh.tasks.outputs import Choice, Status

_VISIBLE_TOKENS = 15  # as in zero-shot runs, so that a model that fails there fails here
_ENDS = ("checked", "retires", "successor", "context")


def run(options: argparse.Namespace, output: CommandOutput) -> int:
    """List the models, show one of them, or send it a question."""
    known = known_models()
    if options.check is not None:
        return _check(options, output)
    if options.name is not None:
        (name,) = models_at(options.base_url, options.name)
        check_model_name(name)
        found = find_model(name)
        if found is None:
            raise UnknownNameError("model", options.name, known)
        known = {found.name if isinstance(found, HostedModel) else name: found}
    output.result([_facts(name, entry) for name, entry in known.items()])
    columns = ("name", "provider", "kind", "cutoff", "USD per million tokens", "ready")
    rows = []
    for name, entry in known.items():
        price = "free" if entry.free else "unknown"
        if entry.price is not None and not entry.free:
            price = f"{entry.price.tokens_in:g} in, {entry.price.tokens_out:g} out"
        ready = "yes" if entry.has_key else f"needs {entry.key_variable}"
        if isinstance(entry, HostedModel) and entry.ends:
            ready = "shut down" if entry.is_gone else f"{ready}, until {entry.table.retires}"
        rows.append((name, entry.provider or "this machine", entry.kind, entry.knowledge_cutoff, price, ready))
    output.table("Models", columns, rows)
    output.text(
        "Prices are of the day that --json shows. More models and providers: docs/models.md, "
        '"Add your own models and providers".'
    )
    return 0


def _facts(name: str, entry: CatalogueEntry | HostedModel) -> object:
    return {
        "name": name,
        "about": entry.about,
        "provider": entry.provider or None,
        "kind": entry.kind,
        "knowledge_cutoff": entry.knowledge_cutoff,
        **entry.facts.model_dump(),
        "price": None if entry.price is None else asdict(entry.price),
        "free": entry.free,
        **({name: _day(getattr(entry.table, name)) for name in _ENDS} if isinstance(entry, HostedModel) else {}),
        "key_variable": entry.key_variable,
        "has_key": entry.has_key,
        "options": entry.table.options if isinstance(entry, HostedModel) else {},
    }


def _day(value: object) -> object:
    return value.isoformat() if isinstance(value, date) else value or None


def _check(options: argparse.Namespace, output: CommandOutput) -> int:
    if options.name is None:
        what, fix = "no model to check", "Name it before --check: hellofresh models NAME --check"
        raise UsageError(what, fix=fix, code="no-model")
    (name,) = models_at(options.base_url, options.name)
    check_model_name(name)
    entry = find_model(name)
    if entry is not None and entry.kind in {"baseline", "retriever"}:
        what = f"{name!r} is a {entry.kind}, which reads no question"
        raise UsageError(what, expected="a language model", code="no-language-model")
    model = open_model(name, ModelContext("", list))
    choices = ("yes", "no") if options.check == QUESTION else ()
    request = Request((Message("user", (options.check,)),), _VISIBLE_TOKENS, choices=choices)
    for note in model.spec.notes:
        output.say(f"note: {note}")
    answer, seconds = completed(_ask(model, request, output))
    ledger = Ledger(model.spec)
    ledger.add(answer)
    facts = _checked(model, answer, seconds, ledger.cost_usd)
    output.result(facts)
    output.table("Answer", ("", ""), [(name.replace("_", " "), _shown(value)) for name, value in facts.items()])
    fate = fate_of(Choice(status=Status.BLOCKED if answer.finish is Finish.BLOCKED else Status.NONE), answer)
    if not answer.is_silent and fate is not AnswerFate.TOOL:
        return 0
    limit = ledger.estimate(request).tokens_out
    for remedy in remedies(counted(1, [fate]), limit, thinks=ledger.thoughts > 0):
        output.say(f"note: {remedy}.")
    if fate is AnswerFate.CUT:
        output.say(f"note: a run asks such a question once more, with {WIDER_TOKENS:,} tokens more.")
    return 0


async def _ask(model: Model, request: Request, output: CommandOutput) -> tuple[Answer, float]:
    start = time.monotonic()
    try:
        answer = without_thought(await model.ask(request))
    except CallError as error:
        if not error.retryable and isinstance(model, HttpModel):
            _say_what_is_listed(output, str(model.spec.parameters.get("model", "")), await model.listed())
        raise
    finally:
        await model.close()
    return answer, time.monotonic() - start


def _say_what_is_listed(output: CommandOutput, asked: str, listed: list[str]) -> None:
    """Say whether the endpoint lists the model, and which come near it."""
    if asked in listed:
        output.say(f"note: the endpoint lists {asked} among {len(listed)} models")
    elif listed:
        near = ", ".join(get_close_matches(asked, listed, n=3)) or ", ".join(listed[:3])
        output.say(f"note: the endpoint lists {len(listed)} models, and not {asked}; nearest: {near}")


def _checked(model: Model, answer: Answer, seconds: float, cost_usd: float | None) -> dict[str, object]:
    parameters = model.spec.parameters
    return {
        "model": model.spec.name,
        "answer": answer.text,
        "reasoning": answer.thought or None,
        "tokens_of_reasoning": answer.thought_tokens,
        "finish": str(answer.finish),
        "served_by": answer.served_by,
        "tokens_in": answer.tokens_in,
        "tokens_out": answer.tokens_out,
        "seconds": round(seconds, 2),
        "cost_usd": cost_usd,
        "parameters_sent": _names(parameters.get("sent_parameters", "")),
        "parameters_dropped": _names(parameters.get("dropped", "")),
        "logprobs": None if answer.logprobs is None else dict(answer.logprobs),
    }


def _names(listed: object) -> list[str]:
    return [name for name in str(listed).split(",") if name]


def _shown(value: object) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, list):
        return ", ".join(value) or "none"
    return repr(value) if isinstance(value, str) and not value.isprintable() else str(value)
