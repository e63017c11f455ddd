"""Errors of the client. Each has a stable code for programs and a sentence for people."""

from __future__ import annotations

from collections.abc import Sequence


class RecallError(Exception):
    """A failed call."""

    code: str
    """The stable code, such as `TEXT_TOO_LONG`."""
    message: str
    """A sentence for people."""
    status: int
    """The HTTP status. 0: the server did not answer."""
    path: tuple[str, ...]
    """The names that lead to the wrong argument, such as `("input", "text")`. Empty if no single argument is wrong."""
    retry_after: float | None
    """Seconds after which the server accepts the call again, if it says so."""

    def __init__(self, code: str, message: str, status: int = 0, path: Sequence[str] = (), retry_after: float | None = None) -> None:
        super().__init__(f"{message} ({code})")
        self.code = code
        self.message = message
        self.status = status
        self.path = tuple(path)
        self.retry_after = retry_after


class InvalidRequest(RecallError):
    """The server refused an argument or the state does not allow the call. A repetition fails again."""


class NotAuthenticated(RecallError):
    """The token is missing, wrong or expired."""


class NotAllowed(RecallError):
    """The caller may not do this."""


class NotFound(RecallError):
    """The object does not exist in the caller's memory."""


class RateLimited(RecallError):
    """The caller sends too much. See `retry_after`."""


class ServerUnavailable(RecallError):
    """The server cannot be reached or cannot serve at the moment."""


class TimedOut(RecallError):
    """The server did not finish in time."""


_BY_CODE: dict[str, type[RecallError]] = {
    "UNAUTHENTICATED": NotAuthenticated,
    "FORBIDDEN": NotAllowed,
    "INSUFFICIENT_SCOPE": NotAllowed,
    "FOREIGN_HOST": NotAllowed,
    "NOT_FOUND": NotFound,
    "RATE_LIMITED": RateLimited,
    "TOO_MANY_STREAMS": RateLimited,
    "UNAVAILABLE": ServerUnavailable,
    "CONTENDED": ServerUnavailable,
    "UNREACHABLE": ServerUnavailable,
    "TIMEOUT": TimedOut,
    "INTERNAL": RecallError,
}
_BY_STATUS: dict[int, type[RecallError]] = {
    401: NotAuthenticated,
    403: NotAllowed,
    404: NotFound,
    429: RateLimited,
    502: ServerUnavailable,
    503: ServerUnavailable,
    504: TimedOut,
}


def make_error(code: str, message: str, status: int = 0, path: Sequence[str] = (), retry_after: float | None = None) -> RecallError:
    """Returns the error whose class fits the code, or else the status."""
    refused = 0 < status < 500 and code != "BAD_RESPONSE"
    kind = _BY_CODE.get(code) or _BY_STATUS.get(status) or (InvalidRequest if refused else RecallError)
    return kind(code, message, status, path, retry_after)
