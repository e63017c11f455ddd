"""Following events of a session or of all: parsing of server-sent events, and the position in the log. Does no I/O."""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from ._http import wait_before_retry
from .errors import RateLimited, RecallError, ServerUnavailable, TimedOut, make_error
from .models import Event

_MAX_UNREAD = 4 * 1024 * 1024
"""No event is nearly as large. A server that sends more without a line end must not fill the memory."""


MEMORY_PATH = "/events"
"""The events of all sessions, documents and comparisons."""


def session_path(session_id: str) -> str:
    """Returns the path of the events of a session, or of a document or a comparison with the same id."""
    return f"/sessions/{quote(session_id, safe='')}/events"


@dataclass(frozen=True, slots=True)
class ServerSentEvent:
    """One server-sent event."""

    type: str
    id: str
    data: str


class Parser:
    """Parses a stream of server-sent events that arrives in pieces.

    `httpx` splits lines at every line separator of Unicode, which may be part of a message's text.
    """

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._unread = ""

    def feed(self, piece: bytes) -> list[ServerSentEvent]:
        """Returns the events that are complete."""
        *blocks, self._unread = (self._unread + self._decoder.decode(piece)).replace("\r\n", "\n").split("\n\n")
        if len(self._unread) > _MAX_UNREAD:
            raise make_error("BAD_RESPONSE", "A server-sent event is too large.")
        return [event for block in blocks if (event := _parse(block))]


def _parse(block: str) -> ServerSentEvent | None:
    fields = {"event": "message", "id": ""}
    data: list[str] = []
    for line in block.split("\n"):
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            data.append(value)
        elif name in fields:
            fields[name] = value
    return ServerSentEvent(fields["event"], fields["id"], "\n".join(data)) if data else None


class Disconnected(Exception):
    """The server ended the connection and accepts a new one."""

    def __init__(self, after: float = 0.0) -> None:
        super().__init__()
        self.after = after


class Follower:
    """The position in a log across connections. Drops events that arrive twice."""

    def __init__(self, after: str | None, retries: int) -> None:
        self.cursor = after
        self._retries = retries
        self._failures = 0
        self._was_connected = False

    def params(self) -> dict[str, str]:
        """Returns the parameters of the next connection."""
        return {} if self.cursor is None else {"after": self.cursor}

    def accept(self, sent: ServerSentEvent) -> Event | None:
        """Returns the event to deliver, if any. Raises if the stream or the connection has ended."""
        self._failures = 0
        self._was_connected = True
        data: dict[str, Any] = json.loads(sent.data)
        if sent.type == "bye":
            if data["reconnect"]:
                raise Disconnected(data.get("after_ms", 0) / 1000)
            raise make_error(str(data["code"]).upper(), f"The event stream has ended: {data['code']}.", 200)
        if not sent.id:
            return Event(sent.type, data, None)
        is_new = sent.type == "gap" or _is_later(sent.id, self.cursor)
        self.cursor = sent.id
        return Event(sent.type, data, sent.id) if is_new and sent.type != "caught_up" else None

    def wait(self, error: Exception) -> float:
        """Returns the seconds before the next connection, or raises an error that no repetition cures."""
        self._failures += 1
        temporary = not isinstance(error, RecallError) or isinstance(error, RateLimited | ServerUnavailable | TimedOut)
        # A stream that has worked reconnects for as long as it takes. One that never worked gives up like other calls.
        if not temporary or (not self._was_connected and self._failures > self._retries):
            raise error
        asked = error.after if isinstance(error, Disconnected) else getattr(error, "retry_after", None)
        return wait_before_retry(self._failures - 1, asked)


def _is_later(cursor: str, last: str | None) -> bool:
    """Compares two positions. In a new epoch every number is new; so it is if the other part of a memory's cursor has changed."""
    if last is None:
        return True
    (epoch, _, seq), (last_epoch, _, last_seq) = cursor.rpartition(":"), last.rpartition(":")
    return epoch != last_epoch or int(seq) > int(last_seq)


class Outcome:
    """Finds in events what became of a message."""

    def __init__(self, message_id: str, *, is_answered: bool, on_delta: Callable[[str], None] | None = None) -> None:
        self.message_id = message_id
        self._is_answered = is_answered
        self._on_delta = on_delta

    def is_decided(self, event: Event) -> bool:
        """Returns whether the event decides the outcome, which the state then tells. Raises if the server failed."""
        data = event.data
        if event.type == "answer_delta" and self._on_delta and data["answer_to"] == self.message_id:
            self._on_delta(data["text"])
        if event.type in ("message_failed", "answer_failed") and data["message_id"] == self.message_id:
            raise make_error(data["code"], data.get("message", "The message could not be processed."), 200)
        if event.type == "message_processed" and data["message_id"] == self.message_id:
            return not (self._is_answered and data["kind"] in ("question", "mixed"))
        return event.type == "answer_completed" and bool(data["answer_to"] == self.message_id)


WORK_TIMEOUT = 600.0
"""Seconds to wait for a document or a comparison, which take longer than messages."""
OnProgress = Callable[[int, int], None]
"""Gets the number of completed steps and of all steps, which is 0 until it is known."""


class Progress:
    """Finds in events whether the server has finished a document or a comparison."""

    def __init__(self, update: str, on_progress: OnProgress | None) -> None:
        self._update = update
        self._on_progress = on_progress

    def is_ended(self, event: Event) -> bool:
        """Returns whether the event is the last one."""
        if event.type != self._update:
            return False
        if self._on_progress:
            self._on_progress(event.data["done"], event.data["total"])
        return event.data["status"] in ("completed", "failed")
