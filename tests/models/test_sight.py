"""Pictures in messages: what each provider is sent, who may be shown them, and what they are counted as."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hellofresh.models import Message, ModelSpec, Request, ToolCall
from hellofresh.models.baselines import AlwaysYes
from hellofresh.models.catalogue import endpoint_model, hosted_models
from hellofresh.models.scripted import ScriptedModel
from hellofresh.models.sight import check_images, image_tokens
from hellofresh.models.tables import Abilities
from hellofresh.models.wires import WIRES
from hellofresh.tasks.images import Image
from tests.fakes import fails_with
from tests.models.conftest import anthropic_reply, ask, chat_reply, gemini_reply, responses_reply, says

PIXELS = b"\xff\xd8\xffpixels of a picture"
YES = {"type": "text", "text": "Yes."}
REPLIES = {
    "openai-compatible": chat_reply(content="Yes."),
    "anthropic": anthropic_reply(YES),
    "openai-responses": responses_reply({"type": "message", "content": [YES | {"type": "output_text"}]}),
    "gemini": gemini_reply({"text": "Yes."}),
}


def picture(content: bytes = PIXELS, width: int = 640, height: int = 480) -> Image:
    return Image("image/jpeg", hashlib.sha256(content).hexdigest(), width, height, content)


def spec(speaks: str, *, sees: bool = True, tokens: int | None = None) -> ModelSpec:
    return ModelSpec("m", "language-model", "A fake.", {"speaks": speaks}, sees=sees, image_tokens=tokens)


def shown(*images: Image) -> Request:
    return Request((Message("system", ("Rules.",)), Message("user", ("What ", "is it?"), images=images)), 15)


@pytest.mark.parametrize("kind", REPLIES)
def test_every_provider_is_sent_the_bytes_before_the_text_in_its_own_form(chat, kind: str) -> None:
    says(chat, REPLIES[kind])
    name = {"openai-compatible": "chat", "openai-responses": "responses"}.get(kind, kind)
    assert ask(name, chat, shown(picture(), picture(b"second"))).text == "Yes."
    body = chat.bodies[0]
    packed = [base64.b64encode(content).decode() for content in (PIXELS, b"second")]
    urls = [f"data:image/jpeg;base64,{item}" for item in packed]
    parts = {
        "openai-compatible": lambda: body["messages"][1]["content"],
        "anthropic": lambda: body["messages"][0]["content"],
        "openai-responses": lambda: body["input"][1]["content"],
        "gemini": lambda: body["contents"][0]["parts"],
    }[kind]()
    expected: dict[str, list[Any]] = {
        "openai-compatible": [
            *({"type": "image_url", "image_url": {"url": url}} for url in urls), {"type": "text", "text": "What is it?"}
        ],
        "anthropic": [
            *(
                {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": item}}
                for item in packed
            ),
            {"type": "text", "text": "What is it?"},
        ],
        "openai-responses": [
            *({"type": "input_image", "image_url": url} for url in urls), {"type": "input_text", "text": "What is it?"}
        ],
        "gemini": [
            *({"inlineData": {"data": item, "mimeType": "image/jpeg"}} for item in packed),
            {"text": "What is it?"},
        ],
    }  # fmt: skip
    assert parts == expected[kind]


def test_rules_go_before_the_text_of_a_message_with_pictures_too(chat) -> None:
    says(chat, REPLIES["openai-compatible"])
    ask("chat", chat, shown(picture()), Abilities(system_messages=False))
    (message,) = chat.bodies[0]["messages"]
    assert [part["type"] for part in message["content"]] == ["image_url", "text"]
    assert message["content"][1]["text"] == "Rules.\n\nWhat is it?"


@pytest.mark.parametrize("kind", REPLIES)
def test_what_a_provider_would_refuse_is_refused_before_it_is_sent(kind: str) -> None:
    limits = WIRES[kind].images
    check_images(spec(kind), shown(picture(b"x" * limits.bytes_each)))
    check_images(spec(kind), shown(*[picture()] * limits.images))
    called = Message("user", ("Found.",), call=ToolCall("1", "search", "x"), images=(picture(),))
    several = limits.bytes_together // limits.bytes_each + 1
    for request in (
        shown(*[picture()] * (limits.images + 1)),
        shown(picture(b"x" * (limits.bytes_each + 1))),
        shown(*[picture(b"x" * limits.bytes_each)] * several),
        shown(picture(b"")),
        Request((Message("system", ("Rules.",), images=(picture(),)),), 15),
        Request((called,), 15),
    ):
        with fails_with("too-many-images"):
            check_images(spec(kind), request)


def test_a_model_that_does_not_see_is_named_and_a_baseline_is_left_in_peace() -> None:
    with fails_with("lacks-ability", match="cannot see the 2 pictures"):
        check_images(spec("anthropic", sees=False), shown(picture(), picture()))
    check_images(spec("anthropic", sees=False), shown())
    for other in (AlwaysYes().spec, ScriptedModel.load().spec):
        check_images(other, shown(picture()))
        assert image_tokens(other, picture()) == 0


def test_the_catalogue_says_who_sees_and_an_endpoint_without_a_table_may() -> None:
    hosted = hosted_models()
    assert {hosted[name].spec.sees for name in ("gpt-4.1-mini", "claude-haiku-4.5", "gemini-2.5-flash-lite")} == {True}
    assert not hosted["llama-3.3-70b"].spec.sees
    assert endpoint_model("openai:some-vl@http://127.0.0.1:8000/v1").spec.sees
    assert hosted["gpt-4.1-nano"].spec.image_tokens == 3779
    # Whether it sees decides no answer, so that answers from before there were pictures are found.
    assert "sees" not in hosted["gpt-4.1-mini"].spec.parameters


@pytest.mark.parametrize(
    ("kind", "width", "height", "tokens"),
    [
        # The providers' own worked examples.
        ("openai-compatible", 1024, 1024, 1659),  # 1,024 patches
        ("openai-compatible", 32, 32, 2),
        ("anthropic", 200, 200, 54),
        ("anthropic", 1000, 1000, 1334),
        ("anthropic", 1092, 1092, 1590),
        ("gemini", 384, 384, 258),
        ("gemini", 960, 540, 6 * 258),
    ],
)
def test_tokens_are_those_of_the_providers_examples(kind: str, width: int, height: int, tokens: int) -> None:
    assert image_tokens(spec(kind), picture(width=width, height=height)) == tokens
    assert image_tokens(spec(kind, tokens=77), picture(width=width, height=height)) == 77
    assert image_tokens(spec(kind, sees=False), picture(width=width, height=height)) == 0


@given(st.sampled_from(sorted(REPLIES)), st.integers(1, 30_000), st.integers(1, 30_000))
def test_tokens_of_any_picture_are_a_small_positive_number_and_alike_when_turned(
    kind: str, width: int, height: int
) -> None:
    tokens = image_tokens(spec(kind), picture(width=width, height=height))
    assert tokens == image_tokens(spec(kind), picture(width=height, height=width))
    most = {"anthropic": 1600, "gemini": 258 * 40 * max(width, height)}.get(kind, 2489)
    assert 1 <= tokens <= most
