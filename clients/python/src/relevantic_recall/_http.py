"""What both clients share of HTTP: headers, reading of responses, and when to try again."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, TypeVar

import httpx

from ._calls import Call
from .errors import RateLimited, RecallError, ServerUnavailable, make_error

T = TypeVar("T")
Token = str | Callable[[], str | None] | None

DEFAULT_TIMEOUT = httpx.Timeout(30.0, connect=5.0)
MAX_SILENCE = 31.0
"""The server sends a comment after 15 quiet seconds. Two missing comments mean a lost connection."""
_BASE_WAIT = 0.3
_MAX_WAIT = 15.0


def event_timeout(read: float = MAX_SILENCE) -> httpx.Timeout:
    """Returns the limits of an event stream, which may be silent for `read` seconds."""
    return httpx.Timeout(connect=5.0, read=read, write=10.0, pool=10.0)


def headers(token: Token) -> dict[str, str]:
    """Returns the headers of a request."""
    value = token() if callable(token) else token
    return {"authorization": f"Bearer {value}"} if value else {}


def body(call: Call[Any]) -> dict[str, Any]:
    """Returns the JSON body of a call."""
    return {"query": call.document, "variables": call.variables}


def read_response(call: Call[T], response: httpx.Response) -> T:
    """Reads the result of a call, or raises its error."""
    content = _json(response)
    for error in content.get("errors") or ():
        extensions = error.get("extensions") or {}
        after = extensions.get("retryAfterMs")
        raise make_error(
            extensions.get("code", "INTERNAL"), error["message"], response.status_code, extensions.get("path", ()),
            retry_after(response) if after is None else after / 1000,
        )  # fmt: skip
    if response.is_error or not content.get("data"):
        raise response_error(response)
    return call.read(content["data"])


def response_error(response: httpx.Response) -> RecallError:
    """Returns the error of a response that has been read."""
    problem = _json(response)
    message = problem.get("detail", f"The server answered {response.status_code}.")
    return make_error(problem.get("code", "BAD_RESPONSE"), message, response.status_code, problem.get("path", ()), retry_after(response))


def unreachable(error: httpx.TransportError) -> RecallError:
    """Returns the error of a request without a response."""
    timed_out = isinstance(error, httpx.TimeoutException) and not isinstance(error, httpx.ConnectTimeout)
    if timed_out:
        return make_error("TIMEOUT", "The server did not answer in time.")
    return make_error("UNREACHABLE", "The server cannot be reached.")


def retry_after(response: httpx.Response) -> float | None:
    """Returns the seconds that the server asks to wait."""
    text = response.headers.get("retry-after", "")
    return float(text) if text.isdigit() else None


def wait_before_retry(attempt: int, asked: float | None = None) -> float:
    """Returns the seconds before attempt `attempt` (1 = first repetition): exponential backoff with full jitter."""
    return (asked or 0.0) + random.uniform(0, min(_MAX_WAIT, _BASE_WAIT * 2 ** min(attempt, 20)))


def may_repeat(call: Call[Any], error: RecallError, cause: BaseException | None) -> bool:
    """Returns whether a failed call may be sent again.

    A refused call and one that never reached the server were not done. After other failures only a safe call may be repeated.
    """
    if isinstance(error, RateLimited) or isinstance(cause, httpx.ConnectError | httpx.ConnectTimeout):
        return True
    return call.safe and (isinstance(error, ServerUnavailable) or isinstance(cause, httpx.TransportError))


def _json(response: httpx.Response) -> dict[str, Any]:
    try:
        content = response.json()
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}
