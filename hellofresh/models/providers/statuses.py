"""What the status of a provider's refusal means, the same for every provider."""

from __future__ import annotations

from hellofresh.models.base import CallError

_RETRYABLE = frozenset({408, 409, 425, 429})
_CODES = {
    400: "bad-request",
    401: "not-authorised",
    402: "quota-spent",
    403: "not-authorised",
    404: "unknown-model",
    429: "rate-limit",
}
_FIXES = {
    401: "Check the key.",
    402: "Add credit at the provider, then run the same command again.",
    403: "Check what the key may do.",
    404: "Check the model's id and the base URL.",
}


def refusal(status: int | None, what: str, where: str, wait_s: float | None) -> CallError:
    """The error for a reply with that HTTP status; a status of 200 is of an error that came in place of an answer.

    Args:
        status: None where there is none.
        what: what the provider said.
        where: the model, for the message.
        wait_s: seconds that the provider asked to wait.
    """
    number = status or 0
    return CallError(
        what,
        where=where,
        fix=_FIXES.get(number, ""),
        code=_CODES.get(number, "call-failed"),
        retryable=number in _RETRYABLE or number >= 500 or number == 200,
        retry_after_s=wait_s,
        status=status,
    )
