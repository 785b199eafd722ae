"""Batches of the Gemini API, through google-genai: requests go up within the wish, each with its id beside it.

Source of the format: https://ai.google.dev/gemini-api/docs/batch-api.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hellofresh.models._endpoint import Abilities, Endpoint
from hellofresh.models._http import bad_reply
from hellofresh.models.base import Answer, CallError, ModelSpec
from hellofresh.models.batches.base import BatchQuestion, BatchResult, BatchState, BatchStatus
from hellofresh.models.providers.gemini import (
    GeminiConnection,
    ask_config,
    ask_contents,
    check_installed,
    named_errors,
    read_response,
)

if TYPE_CHECKING:
    from google.genai.client import AsyncClient
    from google.genai.types import InlinedResponse


_MOST = 2_000  # a wish may have 20 MB, and a question takes up to 8 KB
_STATES = {
    "JOB_STATE_QUEUED": BatchState.RUNNING,
    "JOB_STATE_PENDING": BatchState.RUNNING,
    "JOB_STATE_RUNNING": BatchState.RUNNING,
    "JOB_STATE_CANCELLING": BatchState.RUNNING,
    "JOB_STATE_PAUSED": BatchState.RUNNING,
    "JOB_STATE_UPDATING": BatchState.RUNNING,
    "JOB_STATE_SUCCEEDED": BatchState.ENDED,
    "JOB_STATE_PARTIALLY_SUCCEEDED": BatchState.ENDED,
    "JOB_STATE_EXPIRED": BatchState.EXPIRED,
    "JOB_STATE_CANCELLED": BatchState.CANCELLED,
    "JOB_STATE_FAILED": BatchState.FAILED,
}
_RETRYABLE = frozenset({1, 4, 8, 10, 13, 14})
"""Codes of google.rpc.Code: cancelled, deadline exceeded, exhausted, aborted, internal, unavailable."""


class GeminiBatches:
    """Batches of a model of the Gemini API.

    Args:
        spec: what is known of the model.
        endpoint: where it is.
        abilities: what it takes.
        most: most questions of one batch.

    Raises:
        UsageError: if google-genai is not installed.
    """

    def __init__(self, spec: ModelSpec, endpoint: Endpoint, abilities: Abilities, *, most: int = _MOST) -> None:
        check_installed()
        self.spec, self.most = spec, most
        self._endpoint, self._abilities = endpoint, abilities
        self._connected: GeminiConnection | None = None

    async def submit(self, questions: Sequence[BatchQuestion], label: str) -> str:
        """Hand the questions in.

        Raises:
            CallError: if it was not taken, or it is not known whether it was.
        """
        from google.genai.types import InlinedRequest

        wishes = [
            InlinedRequest(
                contents=list(ask_contents(question.request)),
                config=ask_config(question.request, self._abilities),
                metadata={"key": question.custom_id},
            )
            for question in questions
        ]
        async with named_errors(self.spec.name, self._endpoint):
            job = await self._client.batches.create(
                model=self._endpoint.model, src=wishes, config={"display_name": label}
            )
        if not job.name:
            raise bad_reply(self.spec.name, "a batch without a name")
        return job.name

    async def find(self, label: str) -> str | None:
        """Look among the account's batches.

        Raises:
            CallError: if the provider does not say.
        """
        async with named_errors(self.spec.name, self._endpoint):
            async for job in await self._client.batches.list():
                if job.display_name == label and job.name:
                    return job.name
        return None

    async def status(self, batch: str) -> BatchStatus:
        """How a batch stands.

        Raises:
            CallError: if the provider does not say.
        """
        job = await self._job(batch)
        state = _STATES.get("" if job.state is None else str(job.state.value))
        if state is None:
            raise bad_reply(self.spec.name, "a batch in an unknown state")
        message = "" if job.error is None else str(job.error.message or "")[:300]
        return BatchStatus(state, message=message)

    async def results(self, batch: str) -> list[BatchResult]:
        """The answers and errors that stand in the batch itself.

        Raises:
            CallError: if the provider does not give them.
        """
        job = await self._job(batch)
        responses = job.dest.inlined_responses if job.dest is not None else None
        return [self._result(item) for item in responses or [] if item.metadata and item.metadata.get("key")]

    async def close(self) -> None:
        """Close all connections."""
        connected, self._connected = self._connected, None
        if connected is not None:
            await connected.close()

    @property
    def _client(self) -> AsyncClient:
        if self._connected is None:
            self._connected = GeminiConnection(self._endpoint)
        return self._connected.client.aio

    async def _job(self, batch: str) -> Any:
        async with named_errors(self.spec.name, self._endpoint):
            return await self._client.batches.get(name=batch)

    def _result(self, item: InlinedResponse) -> BatchResult:
        key = str((item.metadata or {})["key"])
        try:
            return BatchResult(key, self._answer(item))
        except CallError as error:
            return BatchResult(key, None, error)

    def _answer(self, item: InlinedResponse) -> Answer:
        if item.response is not None:
            return read_response(item.response, self.spec.name)
        code = item.error.code if item.error is not None else None
        said = str(item.error.message or "")[:300] if item.error is not None else "neither a response nor an error"
        raise CallError(
            said, where=self.spec.name, code="batch-error", retryable=item.error is None or code in _RETRYABLE
        )
