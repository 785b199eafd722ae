"""One sample at an endpoint: what a client asks is kept, bounded and replayed as an agent's own requests are."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace

from pydantic import ValidationError

from hellofresh.core.errors import HelloFreshError, RunError, UsageError
from hellofresh.core.files import BadJsonError, model_fault, sha256_text, strict_json
from hellofresh.models import Answer, Request
from hellofresh.runs.regimes.agent_tools import AgentTools, EndpointAddress, unfit
from hellofresh.submissions.format import Prediction, numbered
from hellofresh.tasks import get_task
from hellofresh.tasks.outputs import Output
from hellofresh.tasks.samples import to_json
from hellofresh.tasks.transcripts import AskedEvent
from hellofresh_parts.endpoint.questions import Question, calls_of, digest
from hellofresh_parts.endpoint.server import EndpointServer


class AgentSession:
    """The requests at an endpoint about one sample; `handed` receives another program's output, if any."""

    def __init__(self, tools: AgentTools, handed: asyncio.Future[Output] | None = None) -> None:
        self._tools, self._handed = tools, handed
        self._asked: dict[str, asyncio.Task[Answer]] = {}
        self._tokens: dict[str, str] = {}

    @property
    def roles(self) -> tuple[str, ...]:
        return self._tools.roles

    @property
    def created(self) -> int:
        """The sample's date, which is the same in every run."""
        return int(self._tools._case.sample.date.timestamp())

    def about(self) -> Mapping[str, object]:
        """The sample, the question about it, and what labels mean."""
        sample = self._tools._case.sample
        return {
            "id": sample.id,
            "question": self._tools.question,
            "classes": list(self._tools.classes),
            "sample": to_json(sample),
        }

    async def answer(self, question: Question, *, again: bool) -> Answer:
        """Ask, or answer a repeated question with its earlier answer.

        Raises:
            HelloFreshError: if it gets no answer.
        """
        tools, role = self._tools, question.role
        request = self._signed(replace(question.request, sample=tools._case.sample))
        name = f"chat-{role}-{sha256_text(digest(question.request))[:16]}"
        if not again or not tools._spent[name]:
            tools._spend("requests", tools.settings.requests)
            tools._spent[name] += 1
        step = f"{name}-{tools._spent[name]}"
        if step not in self._asked:
            said = sum(len(message.text) for message in request.messages)
            tools._lengths[step] = (len(request.messages), said, step)
            tools._events.append(AskedEvent(step=step, role=role))
            self._asked[step] = asyncio.create_task(tools._put(step, role, request))
        try:
            answer = await asyncio.shield(self._asked[step])
        except Exception as error:  # the request ends with it, and so must the waiting answer
            failure = tools.failure
            if failure is not None and self._handed is not None and not self._handed.done():
                self._handed.set_exception(failure)
            if isinstance(error, HelloFreshError):
                raise
            # The run is at its end, or the question got no answer: the runner says so.
            raise RunError("no answer, so the sample is given up", code="given-up") from None
        self._tokens |= {call.id: call.token for call in calls_of(answer) if call.token}
        return answer

    async def hand_in(self, body: bytes) -> None:
        """Take the output for the sample, as a line of a submission without its id.

        Raises:
            UsageError: if it is not what the task takes, or is there already.
        """
        sample = self._tools._case.sample
        if self._handed is None:
            raise _refused("the agent's own function returns the output", "nothing here")
        try:
            given = strict_json(body)
            row = Prediction.model_validate(numbered({**given, "id": sample.id}) if isinstance(given, dict) else given)
        except BadJsonError as error:
            raise _refused(str(error), 'such as {"label": 1}') from None
        except ValidationError as error:
            what = model_fault(error) if error.errors()[0]["loc"] else f"the whole: {model_fault(error)}"
            raise _refused(what, 'such as {"label": 1}') from None
        output = row.output("")
        if problem := unfit(output, get_task(sample.task)):
            raise _refused(problem, "an output of the task")
        if self._handed.done():
            raise _refused("the sample has an output already", "one output per sample")
        self._handed.set_result(output)

    def give_up(self, output: Output) -> None:
        """Hand back an output for a program that has ended without one."""
        if self._handed is not None and not self._handed.done():
            self._handed.set_result(output)

    async def settle(self) -> None:
        """Wait for requests under way; cancel them if the sample is cancelled."""
        current = asyncio.current_task()
        if current is not None and current.cancelling():
            for task in self._asked.values():
                task.cancel()
        await asyncio.gather(*self._asked.values(), return_exceptions=True)

    def _signed(self, request: Request) -> Request:
        """The request with what its provider expects back with tool calls, which clients do not pass on."""
        messages = []
        for message in request.messages:
            calls = [replace(call, token=self._tokens.get(call.id, "")) for call in calls_of(message)]
            messages.append(replace(message, call=calls[0], more_calls=tuple(calls[1:])) if calls else message)
        return replace(request, messages=tuple(messages))


def _refused(what: str, expected: str) -> UsageError:
    return UsageError(what, expected=expected, code="bad-output")


@dataclass(frozen=True, slots=True)
class AgentEndpoint:
    """The endpoint of an agent for one sample."""

    server: EndpointServer
    session: AgentSession
    sample: str

    def address(self, role: str) -> EndpointAddress:
        """The address with a role as the model."""
        return replace(self.server.address(self.sample), model=role)

    async def close(self) -> None:
        """Wait for what is under way, and close."""
        try:
            await self.session.settle()
        finally:
            await self.server.close()


async def open_endpoint(tools: AgentTools) -> AgentEndpoint:
    """Open the endpoint of `tools.endpoint()`."""
    session, sample = AgentSession(tools), tools._case.sample.id
    server = EndpointServer(sessions={sample: session})
    await server.start()
    return AgentEndpoint(server, session, sample)
