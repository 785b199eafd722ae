"""Models of Google's Gemini API, called without an SDK.

Source of the format: https://ai.google.dev/api/generate-content. Options have the names of the API's settings
(`thinkingConfig`, `safetySettings`), or the same in lower case with underscores.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator

from hellofresh.core.net.http import HttpReply
from hellofresh.models import Answer, Finish, Message, ModelSpec, Request
from hellofresh.models.providers import (
    HttpModel,
    addresses_in,
    answer_chances,
    bad_reply,
    call_arguments,
    encoded,
    failure,
    found,
    found_count,
    found_rows,
    found_text,
    read_call,
    said_by,
    tool_schema,
    whole_calls,
)
from hellofresh.models.tables import Abilities, Endpoint

_BLOCKING = re.compile(r"SAFETY|PROHIBITED|RECITATION|LANGUAGE|BLOCKLIST|SPII|MODEL_ARMOR")
_TOP_LOGPROBS = 5
_SITE = re.compile(r"[a-z0-9-]+(?:\.[a-z0-9-]+)+", re.IGNORECASE)
# Options of a whole request; all others are of `generationConfig`.
_WHOLE = frozenset({"safetySettings", "toolConfig", "cachedContent", "labels", "serviceTier"})


class GeminiModel(HttpModel):
    """A model behind `<base_url>/v1beta/models/<model>:generateContent`."""

    path = "/v1beta/models/{model}:generateContent"
    list_path = "/v1beta/models?pageSize=1000"

    def __init__(self, spec: ModelSpec, endpoint: Endpoint, abilities: Abilities) -> None:
        super().__init__(spec, endpoint, abilities, {"x-goog-api-key": endpoint.key} if endpoint.key else {})

    def body(self, request: Request) -> bytes:
        """The body, with only the parameters that the model accepts."""
        abilities = self._abilities
        rules = "\n\n".join(message.text for message in request.messages if message.role == "system")
        config: dict[str, object] = {
            "maxOutputTokens": request.max_tokens + abilities.hidden_tokens,
            "candidateCount": 1,
        }
        if abilities.temperature:
            config["temperature"] = request.temperature
        if abilities.seed and request.seed is not None:
            config["seed"] = request.seed
        if abilities.logprobs:
            config |= {"responseLogprobs": True, "logprobs": _TOP_LOGPROBS}
        options = {_camel(name): value for name, value in self._options.items()}
        body: dict[str, object] = {
            **{name: value for name, value in options.items() if name in _WHOLE},
            "contents": [_turn(message) for message in request.messages if message.role != "system"],
            "generationConfig": {**{name: value for name, value in options.items() if name not in _WHOLE}, **config},
        }
        if rules:
            body["systemInstruction"] = {"parts": [{"text": rules}]}
        functions = [
            {"name": tool.name, "description": tool.about, "parametersJsonSchema": tool_schema(tool)}
            for tool in request.tools
        ]
        tools: list[dict[str, object]] = [{"functionDeclarations": functions}] if functions else []
        tools += [{"googleSearch": {}}] if request.searches else []
        return encoded(body | ({"tools": tools} if tools else {}))

    def read(self, reply: HttpReply, request: Request) -> Answer:
        said = said_by(reply, self.where)
        if reply.status != 200 or found(said, "error"):
            return failure(reply.status, reply.body, self.where, reply.wait_s)
        return self._answer(said, whole_calls(request))

    def _answer(self, said: object, whole: bool) -> Answer:
        candidate, usage = found(said, "candidates", 0), found(said, "usageMetadata")
        blocked = not isinstance(candidate, dict) and found_text(said, "promptFeedback", "blockReason") != ""
        if not isinstance(candidate, dict) and not blocked:
            raise bad_reply(self.where, "no candidates, and no reason for it")
        reason, parts = found_text(candidate, "finishReason"), found_rows(candidate, "content", "parts")
        if not reason and not parts and not blocked:
            raise bad_reply(self.where, "a candidate without content and finish reason")
        blocked = blocked or _BLOCKING.search(reason) is not None
        if any("text" in part and not isinstance(part["text"], str) for part in parts):
            raise bad_reply(self.where, "a part's text is not a string")
        called = (part for part in parts if isinstance(part.get("functionCall"), dict))
        calls = [
            read_call(
                (name := found_text(part, "functionCall", "name")) + (f"-{number}" if number else ""),
                name,
                found(part, "functionCall", "args"),
                found_text(part, "thoughtSignature"),
                whole=whole,
            )
            for number, part in enumerate(called)
        ]
        tokens_in = found_count(usage, "promptTokenCount")
        hidden, visible = found_count(usage, "thoughtsTokenCount") or 0, usage and usage.get("candidatesTokenCount", 0)
        counted = tokens_in is not None and type(visible) is int and visible >= 0
        return Answer(
            text="".join(part.get("text", "") for part in parts if not part.get("thought")),
            finish=Finish.BLOCKED if blocked else Finish.LENGTH if reason == "MAX_TOKENS" else Finish.STOP,
            tokens_in=tokens_in if counted else None,
            tokens_out=visible + hidden if counted else None,
            logprobs=_logprobs(candidate),
            served_by=found_text(said, "modelVersion") or None,
            call=next(iter(calls), None),
            more_calls=tuple(calls[1:]) if whole else (),
            sources=addresses_in(_cited(candidate)),
            cached_in=min(found_count(usage, "cachedContentTokenCount") or 0, tokens_in or 0) if counted else 0,
            thought="".join(part.get("text", "") for part in parts if part.get("thought")),
            thought_tokens=hidden,
        )


def _camel(name: str) -> str:
    return re.sub(r"_([a-z0-9])", lambda match: match[1].upper(), name)


def _turn(message: Message) -> dict[str, object]:
    return {"role": "model" if message.role == "assistant" else "user", "parts": _parts(message)}


def _parts(message: Message) -> list[dict[str, object]]:
    call = message.call
    if call is None:
        shown: list[dict[str, object]] = [
            {"inlineData": {"data": base64.b64encode(image.content).decode(), "mimeType": image.type}}
            for image in message.images
        ]
        return [*shown, {"text": message.text}]
    if message.role == "user":
        return [{"functionResponse": {"name": call.name, "response": {"result": message.text}}}]
    said: list[dict[str, object]] = [{"text": message.text}] if message.text.strip() else []
    called: list[dict[str, object]] = [
        {
            "functionCall": {"name": item.name, "args": json.loads(call_arguments(item))},
            **({"thoughtSignature": item.token} if item.token else {}),
        }
        for item in (call, *message.more_calls)
    ]
    return [*said, *called]


def _cited(candidate: object) -> Iterator[str]:
    """The sources of the answer. Their addresses redirect through Google; only the title may name the site."""
    for chunk in found_rows(candidate, "groundingMetadata", "groundingChunks"):
        site = found_text(chunk, "web", "domain") or found_text(chunk, "web", "title")
        yield f"https://{site}/" if _SITE.fullmatch(site) else found_text(chunk, "web", "uri")


def _logprobs(candidate: object) -> dict[str, float] | None:
    tops = found_rows(candidate, "logprobsResult", "topCandidates")
    chosen = found_rows(candidate, "logprobsResult", "chosenCandidates")
    texts = [found_text(item, "token") for item in chosen] or [
        found_text(top, "candidates", 0, "token") for top in tops
    ]
    tokens = [
        (text, [(item.get("token"), item.get("logProbability")) for item in found_rows(top, "candidates")])
        for text, top in zip(texts, tops, strict=False)
    ]
    chances = answer_chances(tokens)
    return None if chances is None else dict(chances)
