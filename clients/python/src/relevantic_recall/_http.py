"""What both clients share of HTTP: headers, reading of responses, and when to try again."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Upload:
    """One request to `POST /documents`."""

    content: bytes
    filename: str
    form: dict[str, str]

    def parts(self) -> dict[str, Any]:
        """Returns the arguments of the request."""
        return {"data": self.form, "files": {"file": (self.filename, self.content, "application/octet-stream")}}


@dataclass(frozen=True, slots=True)
class Uploaded:
    """The document of an uploaded file."""

    id: str
    duplicate: bool


FilePath = str | os.PathLike[str]


def make_upload(
    file: FilePath | bytes, content: bytes, filename: str | None, path: str | None, collection: str | None, shared: bool
) -> Upload:
    """Returns the request that adds a file. `content`: what the file contains."""
    name = filename or ("document" if isinstance(file, bytes) else os.path.basename(os.fspath(file)))
    form = {"path": path, "collection": collection, "shared": "true" if shared else None}
    return Upload(content, name, {name: value for name, value in form.items() if value is not None})


def read_upload(response: httpx.Response) -> Uploaded:
    """Reads what became of an uploaded file, or raises its error."""
    if response.status_code != 202:
        raise response_error(response)
    content = _json(response)
    return Uploaded(str(content["id"]), content.get("duplicate_of") is not None)


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


def remaining(deadline: float | None, limit: float) -> float:
    """Returns the seconds until a deadline on the monotonic clock, at most `limit`."""
    return limit if deadline is None else min(limit, max(0.1, deadline - time.monotonic()))


def check(deadline: float | None) -> None:
    """Raises after a deadline."""
    if deadline is not None and time.monotonic() >= deadline:
        raise make_error("TIMEOUT", "The server did not finish in time.")


def may_repeat(safe: bool, error: RecallError, cause: BaseException | None) -> bool:
    """Returns whether a failed call may be sent again.

    A refused call and one that never reached the server were not done. After other failures only a `safe` call may be repeated.
    """
    if isinstance(error, RateLimited) or isinstance(cause, httpx.ConnectError | httpx.ConnectTimeout):
        return True
    return safe and (isinstance(error, ServerUnavailable) or isinstance(cause, httpx.TransportError))


def _json(response: httpx.Response) -> dict[str, Any]:
    try:
        content = response.json()
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}
