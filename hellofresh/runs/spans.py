"""OpenTelemetry spans of the requests to models, by the semantic conventions of generative AI (`evaluate --otel`).

One span a request that is sent: which model, how it was sampled, tokens, why the answer ended, and which question of
which run it was. Spans hold no text unless the environment asks for it with
OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true; even then pictures are only counted. They go where
OTEL_EXPORTER_OTLP_ENDPOINT says (http://localhost:4318 by default), or to the provider of a program that has set its
own. Source: https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hellofresh import __version__
from hellofresh.core.errors import UsageError
from hellofresh.models import Answer, CallError, ModelSpec
from hellofresh.runs.journal import JournalKey

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

_CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_PROVIDERS = {"gemini": "gcp.gemini"}
"""Providers whose name in the conventions is another."""
_FINISHES = {"blocked": "content_filter"}


@dataclass(frozen=True, slots=True)
class RequestSpans:
    """Makes a span of each request.

    Attributes:
        tracer: OpenTelemetry's.
        close: sends what has not been sent yet.
        texts: whether spans hold what was asked and answered.
    """

    tracer: Tracer
    close: Callable[[], None]
    texts: bool

    @classmethod
    def open(cls) -> RequestSpans:
        """With the program's own tracer provider, or one that exports by OTLP over HTTP.

        Raises:
            UsageError: if OpenTelemetry is not installed.
        """
        try:
            from opentelemetry import trace
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.resources import Resource
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor
        except ImportError:
            fix = 'Install it: pip install "hellofresh[otel]"; or leave out --otel.'
            raise UsageError("OpenTelemetry is not installed", fix=fix, code="missing-package") from None
        texts = os.environ.get(_CAPTURE, "").lower() in {"1", "true", "span_only", "span_and_event"}
        own = trace.get_tracer_provider()
        if isinstance(own, TracerProvider):
            return cls(own.get_tracer("hellofresh", __version__), lambda: None, texts)
        named = Resource.create({"service.name": os.environ.get("OTEL_SERVICE_NAME", "hellofresh")})
        provider = TracerProvider(resource=named)
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        return cls(provider.get_tracer("hellofresh", __version__), provider.shutdown, texts)

    @contextmanager
    def of(self, spec: ModelSpec, question: JournalKey) -> Iterator[Callable[[Answer], None]]:
        """A span around one attempt to ask; what is yielded takes the answer."""
        from opentelemetry.trace import SpanKind, Status, StatusCode

        request, provider = question.request, str(spec.parameters.get("provider", spec.kind))
        model = str(spec.parameters.get("model", spec.name))
        asked: dict[str, str | int | float] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": _PROVIDERS.get(provider, provider),
            "gen_ai.request.model": model,
            "gen_ai.request.max_tokens": request.max_tokens,
            "gen_ai.request.temperature": request.temperature,
            "hellofresh.sample": question.sample,
            "hellofresh.step": question.step,
            "hellofresh.prompt": question.prompt,
            "hellofresh.role": question.role,
            "hellofresh.repetition": question.repetition,
        }
        if request.seed is not None:
            asked["gen_ai.request.seed"] = request.seed
        if self.texts:
            asked["gen_ai.input.messages"] = _messages((item.role, item.text) for item in request.messages)
        # An exception's text may quote what was asked: of an error only its kind is recorded, below.
        with self.tracer.start_as_current_span(
            f"chat {model}",
            kind=SpanKind.CLIENT,
            attributes=asked,
            record_exception=False,
            set_status_on_exception=False,
        ) as span:

            def answered(answer: Answer) -> None:
                finish = str(answer.finish)
                span.set_attribute("gen_ai.response.finish_reasons", [_FINISHES.get(finish, finish)])
                if answer.served_by is not None:
                    span.set_attribute("gen_ai.response.model", answer.served_by)
                for name, tokens in (("input", answer.tokens_in), ("output", answer.tokens_out)):
                    if tokens is not None:
                        span.set_attribute(f"gen_ai.usage.{name}_tokens", tokens)
                span.set_attribute("gen_ai.usage.cache_read.input_tokens", answer.cached_in)
                if self.texts:
                    span.set_attribute("gen_ai.output.messages", _messages([("assistant", answer.text)]))

            try:
                yield answered
            except BaseException as error:
                kind = str(error.status or error.code) if isinstance(error, CallError) else type(error).__qualname__
                span.set_attribute("error.type", kind)
                span.set_status(Status(StatusCode.ERROR))
                raise


def _messages(said: Iterator[tuple[str, str]] | list[tuple[str, str]]) -> str:
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]} for role, text in said])
