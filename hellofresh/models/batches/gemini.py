"""Batches of the Gemini API, through google-genai: requests go up within the wish, each with its id beside it.

Source of the format: https://ai.google.dev/gemini-api/docs/batch-api.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hellofresh.models.base import CallError
from hellofresh.models.batches.base import BatchQuestion, BatchResult, BatchState, BatchStatus
from hellofresh.models.providers.gemini import GeminiClient, ask_config, ask_contents, read_response
from hellofresh.models.providers.wire import bad_reply

if TYPE_CHECKING:
    from google.genai.types import InlinedResponse


_STATES = {
    **dict.fromkeys(("QUEUED", "PENDING", "RUNNING", "CANCELLING", "PAUSED", "UPDATING"), BatchState.RUNNING),
    **dict.fromkeys(("SUCCEEDED", "PARTIALLY_SUCCEEDED"), BatchState.ENDED),
    "EXPIRED": BatchState.EXPIRED,
    "CANCELLED": BatchState.CANCELLED,
    "FAILED": BatchState.FAILED,
}
_RETRYABLE = frozenset({1, 4, 8, 10, 13, 14})
"""Codes of google.rpc.Code: cancelled, deadline exceeded, exhausted, aborted, internal, unavailable."""


class GeminiBatches(GeminiClient):
    """Batches of a model of the Gemini API."""

    most = 2_000  # a wish may have 20 MB, and a question takes up to 8 KB

    async def submit(self, questions: Sequence[BatchQuestion], label: str) -> str:
        """Hand the questions in."""
        from google.genai.types import InlinedRequest

        wishes = [
            InlinedRequest(
                contents=list(ask_contents(question.request)),
                config=ask_config(question.request, self._abilities),
                metadata={"key": question.custom_id},
            )
            for question in questions
        ]
        async with self._named_errors():
            job = await self._client.aio.batches.create(
                model=self._endpoint.model, src=wishes, config={"display_name": label}
            )
        if not job.name:
            raise bad_reply(self.spec.name, "a batch without a name")
        return job.name

    async def find(self, label: str) -> str | None:
        """Look among the account's batches."""
        async with self._named_errors():
            async for job in await self._client.aio.batches.list():
                if job.display_name == label and job.name:
                    return job.name
        return None

    async def status(self, batch: str) -> BatchStatus:
        """How a batch stands."""
        job = await self._job(batch)
        state = _STATES.get("" if job.state is None else str(job.state.value).removeprefix("JOB_STATE_"))
        if state is None:
            raise bad_reply(self.spec.name, "a batch in an unknown state")
        message = "" if job.error is None else str(job.error.message or "")[:300]
        return BatchStatus(state, message=message)

    async def results(self, batch: str) -> list[BatchResult]:
        """The answers and errors that stand in the batch itself."""
        job = await self._job(batch)
        responses = job.dest.inlined_responses if job.dest is not None else None
        return [self._result(item) for item in responses or [] if item.metadata and item.metadata.get("key")]

    async def _job(self, batch: str) -> Any:
        async with self._named_errors():
            return await self._client.aio.batches.get(name=batch)

    def _result(self, item: InlinedResponse) -> BatchResult:
        key, error = str((item.metadata or {})["key"]), item.error
        try:
            if item.response is not None:
                return BatchResult(key, read_response(item.response, self.spec.name))
            said = "neither a response nor an error" if error is None else str(error.message or "")[:300]
            retryable = error is None or error.code in _RETRYABLE
            raise CallError(said, where=self.spec.name, code="batch-error", retryable=retryable)
        except CallError as failed:
            return BatchResult(key, None, failed)
