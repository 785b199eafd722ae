"""Batches in the way of OpenAI: a file of requests goes up, a batch is made of it, and files of results come down.

Source of the format: https://platform.openai.com/docs/guides/batch. Requests are those of `ChatModel`, byte for byte,
so that a batch's answers are kept under the same keys.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, TypeVar

import aiohttp
from pydantic import ValidationError

from hellofresh.core.files import model_fault
from hellofresh.models._endpoint import Abilities, Endpoint
from hellofresh.models.base import CallError, ModelSpec
from hellofresh.models.batches.base import BatchQuestion, BatchResult, BatchState, BatchStatus
from hellofresh.models.providers.chat import payload, read_reply
from hellofresh.models.providers.wire import MAX_BODY, ModelHttp, Shape, bad_reply, failure

_MOST = 20_000
_MAX_RESULTS = 512 * 2**20
_PAGES = 20
_STATES = {
    **dict.fromkeys(("validating", "in_progress", "finalizing", "cancelling"), BatchState.RUNNING),
    "completed": BatchState.ENDED,
    "expired": BatchState.EXPIRED,
    "cancelled": BatchState.CANCELLED,
    "failed": BatchState.FAILED,
}
_T = TypeVar("_T", bound=Shape)


class _Named(Shape):
    id: str


class _Counts(Shape):
    completed: int = 0
    failed: int = 0


class _Fault(Shape):
    message: str | None = None


class _Faults(Shape):
    data: list[_Fault] | None = None


class _Batch(_Named):
    status: str
    output_file_id: str | None = None
    error_file_id: str | None = None
    request_counts: _Counts | None = None
    metadata: dict[str, str] | None = None
    errors: _Faults | None = None


class _Page(Shape):
    data: list[_Batch]
    has_more: bool = False


class _Response(Shape):
    status_code: int
    body: Any = None


class _LineError(Shape):
    code: str | None = None
    message: str | None = None


class _Line(Shape):
    custom_id: str
    response: _Response | None = None
    error: _LineError | None = None


class ChatBatches:
    """Batches of a model behind `<base_url>/batches`.

    Args:
        spec: what is known of the model.
        endpoint: where it is.
        abilities: what it takes.
        most: most questions of one batch.
    """

    def __init__(self, spec: ModelSpec, endpoint: Endpoint, abilities: Abilities, *, most: int = _MOST) -> None:
        self.spec, self.most = spec, most
        self._model, self._abilities = endpoint.model, abilities
        self._http = ModelHttp(endpoint, spec.name)

    async def submit(self, questions: Sequence[BatchQuestion], label: str) -> str:
        """Upload the questions and make a batch of them."""
        form = aiohttp.FormData()
        form.add_field("purpose", "batch")
        content = b"".join(self._line(question) for question in questions)
        form.add_field("file", content, filename=f"{label}.jsonl", content_type="application/jsonl")
        file = await self._take(_Named, "POST", "/files", form)
        wish = {
            "input_file_id": file.id,
            "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
            "metadata": {"hellofresh": label},
        }
        return (await self._take(_Named, "POST", "/batches", json.dumps(wish).encode())).id

    async def find(self, label: str) -> str | None:
        """Look among the account's newest batches."""
        after = ""
        for _ in range(_PAGES):
            page = await self._take(_Page, "GET", f"/batches?limit=100{after}")
            for batch in page.data:
                if (batch.metadata or {}).get("hellofresh") == label:
                    return batch.id
            if not page.has_more or not page.data:
                return None
            after = f"&after={_safe(page.data[-1].id, self.spec.name)}"
        return None

    async def status(self, batch: str) -> BatchStatus:
        """How a batch stands."""
        found = await self._take(_Batch, "GET", f"/batches/{_safe(batch, self.spec.name)}")
        state = _STATES.get(found.status)
        if state is None:
            raise bad_reply(self.spec.name, f"unknown status {found.status[:40]!r} of a batch")
        counts = found.request_counts or _Counts()
        faults = found.errors.data if found.errors is not None and found.errors.data else []
        message = "; ".join(fault.message[:200] for fault in faults[:3] if fault.message)
        return BatchStatus(state, max(0, counts.completed) + max(0, counts.failed), message)

    async def results(self, batch: str) -> list[BatchResult]:
        """Download the files of answers and of errors, as far as they are there."""
        found = await self._take(_Batch, "GET", f"/batches/{_safe(batch, self.spec.name)}")
        results: list[BatchResult] = []
        for file in (found.output_file_id, found.error_file_id):
            if file:
                path = f"/files/{_safe(file, self.spec.name)}/content"
                lines = (await self._fetch("GET", path, most_bytes=_MAX_RESULTS)).splitlines()
                results += [result for line in lines if (result := self._result(line)) is not None]
        return results

    async def close(self) -> None:
        """Close all connections."""
        await self._http.close()

    def _line(self, question: BatchQuestion) -> bytes:
        head = {"custom_id": question.custom_id, "method": "POST", "url": "/v1/chat/completions"}
        body = payload(question.request, self._model, self._abilities)
        return json.dumps(head).encode()[:-1] + b', "body": ' + body + b"}\n"

    async def _fetch(
        self, method: str, path: str, body: bytes | aiohttp.FormData | None = None, *, most_bytes: int = MAX_BODY
    ) -> bytes:
        """Send one request and take its reply of status 200; any other status is an error."""
        reply = await self._http.send(method, path, body, most_bytes=most_bytes)
        if reply.status != 200:
            where = self.spec.name
            answer = failure(reply.status, reply.body, where, reply.wait_s)
            raise CallError(f"refused ({answer.finish})", where=where, code="refused", status=reply.status)
        return reply.body

    async def _take(self, kind: type[_T], method: str, path: str, body: bytes | aiohttp.FormData | None = None) -> _T:
        try:
            return kind.model_validate_json(await self._fetch(method, path, body))
        except ValidationError as error:
            raise bad_reply(self.spec.name, model_fault(error)) from None

    def _result(self, content: bytes) -> BatchResult | None:
        """What a line says; None where it cannot be told whose it is, whose question is then without a result."""
        try:
            line = _Line.model_validate_json(content)
        except ValidationError:
            return None
        where, response = self.spec.name, line.response
        try:
            if response is None:
                error = line.error or _LineError()
                said = f"{error.code or 'no reason given'} {error.message or ''}".strip()[:300]
                raise CallError(said, where=where, code="batch-error", retryable=True)
            body = json.dumps(response.body).encode()
            if response.status_code == 200:
                return BatchResult(line.custom_id, read_reply(body, where))
            return BatchResult(line.custom_id, failure(response.status_code, body, where, None))
        except CallError as failed:
            return BatchResult(line.custom_id, None, failed)


def _safe(name: str, where: str) -> str:
    """An id that may stand in a path."""
    if not name or not all(c.isascii() and (c.isalnum() or c in "_-.") for c in name) or ".." in name:
        raise bad_reply(where, "an id with characters that ids never have")
    return name
