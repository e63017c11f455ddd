"""The client for programs without an event loop."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from datetime import datetime
from types import TracebackType
from typing import Any, TypeVar

import httpx

from . import _calls as calls
from ._events import MEMORY_PATH, Disconnected, Follower, Outcome, Parser, ServerSentEvent, session_path
from ._http import (
    DEFAULT_TIMEOUT, MAX_SILENCE, Token, Upload, Uploaded, body, check, event_timeout, headers, may_repeat, read_response,
    read_upload, remaining, response_error, unreachable, wait_before_retry,
)  # fmt: skip
from .document_models import SearchSource
from .documents import Comparisons, Documents
from .errors import RecallError, make_error
from .models import (
    Answer, Context, Entity, EntityType, Event, Evidence, Fact, FactStatus, Forgotten, ImportedMessage, Message, Page,
    Resolution, RetrievalMethod, Role, Session, Stance, Viewer,
)  # fmt: skip

S = TypeVar("S")
T = TypeVar("T")
_IMPORT_SIZE = 500


class Recall:
    """A client of one server.

    Calls that may be repeated are tried again after network failures and when the server is busy, with backoff. Failed calls raise a
    `RecallError`. One client serves many threads. Close it after use, or use it in `with`.
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:8080",
        token: Token = None,
        *,
        timeout: float | httpx.Timeout = DEFAULT_TIMEOUT,
        retries: int = 3,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """`token`: the access token, or a function that returns it before each request. `retries`: how often a call is repeated."""
        self._token = token
        self._retries = retries
        self._http = httpx.Client(base_url=url, timeout=timeout, transport=transport)
        self.documents = Documents(self)
        self.comparisons = Comparisons(self)

    def __enter__(self) -> Recall:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections."""
        self._http.close()

    def graphql(self, document: str, variables: dict[str, Any] | None = None) -> dict[str, Any]:
        """Runs any operation of the API and returns its `data`. It is not repeated after failures."""
        return self._run(calls.Call(document, variables or {}, dict, safe=False))

    def viewer(self) -> Viewer:
        """Returns the user who sends the requests."""
        return self._run(calls.viewer())

    def memory_head(self) -> str:
        """Returns the cursor of the newest event of all that the user may read. Pass it to `memory_events` as `after`."""
        return self._run(calls.memory_head())

    def create_session(self, title: str | None = None, *, shared: bool = False) -> Session:
        """Creates a session. All signed-in users read a shared one; only administrators create and write it."""
        return self._run(calls.create_session(title, shared))

    def session(self, id: str) -> Session | None:
        """Returns a session, or None if it does not exist."""
        return self._run(calls.session(id))

    def sessions(self, *, first: int = 20, after: str | None = None, shared: bool = False) -> Page[Session]:
        """Lists sessions, latest change first."""
        return self._run(calls.sessions(first, after, shared))

    def rename_session(self, id: str, title: str) -> Session:
        """Gives a session another title."""
        return self._run(calls.update_session(id, title, None, None, None))

    def update_session(
        self,
        id: str,
        *,
        title: str | None = None,
        pinned: bool | None = None,
        archived: bool | None = None,
        paused: bool | None = None,
    ) -> Session:
        """Changes the title of a session, pins or archives it, or pauses remembering in it. What is None stays."""
        return self._run(calls.update_session(id, title, pinned, archived, paused))

    def delete_session(self, id: str) -> None:
        """Deletes a session with its messages, events and evidence."""
        self._run(calls.delete_session(id))

    def send_message(
        self,
        session_id: str,
        text: str,
        *,
        role: Role = "USER",
        speaker: str | None = None,
        sent_at: datetime | None = None,
        source_metadata: Any = None,
        client_message_id: str | None = None,
        sources: Iterable[SearchSource] | None = None,
        collections: Iterable[str] | None = None,
        document_ids: Iterable[str] | None = None,
    ) -> Message:
        """Stores a message and returns at once. The server then finds its facts.

        `speaker`: who says it, if that is not the user. Sending a `client_message_id` again returns the first message. `sources`,
        `collections` and `document_ids`: what the answer may use.
        """
        id = client_message_id or str(uuid.uuid4())
        answer_from = calls.answer_from(sources, collections, document_ids)
        return self._run(calls.send_message(session_id, text, role, speaker, sent_at, source_metadata, id, answer_from))

    def send_and_wait(
        self,
        session_id: str,
        text: str,
        *,
        role: Role = "USER",
        speaker: str | None = None,
        sent_at: datetime | None = None,
        source_metadata: Any = None,
        client_message_id: str | None = None,
        timeout: float = 60.0,
    ) -> Message:
        """Stores a message and waits until its facts are stored.

        The limit is checked when the server sends something, at least every 15 seconds.
        """
        after = self._run(calls.head(session_id))
        message = self.send_message(
            session_id, text, role=role, speaker=speaker, sent_at=sent_at, source_metadata=source_metadata,
            client_message_id=client_message_id,
        )  # fmt: skip
        if message.status == "PROCESSING":
            outcome = Outcome(message.id, is_answered=False)
            self._wait(session_id, after, timeout, outcome.is_decided, calls.state(message.id), lambda state: not state.processing)
        return self._run(calls.message(message.id)) or message

    def ask(
        self,
        session_id: str,
        text: str,
        *,
        client_message_id: str | None = None,
        sources: Iterable[SearchSource] | None = None,
        collections: Iterable[str] | None = None,
        document_ids: Iterable[str] | None = None,
        timeout: float = 60.0,
        on_delta: Callable[[str], None] | None = None,
    ) -> Answer | None:
        """Sends a question and waits for its answer. Returns None if the message asks nothing.

        `sources`, `collections` and `document_ids`: what the answer may use. `on_delta` gets the parts of the answer while the server
        writes it. The limit is checked when the server sends something, at
        least every 15 seconds.
        """
        after = self._run(calls.head(session_id))
        message = self.send_message(
            session_id, text, client_message_id=client_message_id, sources=sources, collections=collections, document_ids=document_ids
        )

        def is_decided(state: calls.State) -> bool:
            return state.answer is not None or not (state.processing or state.asks)

        # A repeated `client_message_id` may have been answered before.
        if message.status == "PROCESSING" or not is_decided(self._run(calls.state(message.id))):
            outcome = Outcome(message.id, is_answered=True, on_delta=on_delta)
            self._wait(session_id, after, timeout, outcome.is_decided, calls.state(message.id), is_decided)
        return self._run(calls.state(message.id)).answer

    def import_messages(self, session_id: str, messages: Iterable[ImportedMessage]) -> list[Message]:
        """Stores messages of a conversation that took place elsewhere, 500 in a call. They are not answered.

        With an `external_id` in each message the import may be repeated.
        """
        items = list(messages)
        parts = [items[start : start + _IMPORT_SIZE] for start in range(0, len(items), _IMPORT_SIZE)]
        return [message for part in parts for message in self._run(calls.import_messages(session_id, part))]

    def message(self, id: str) -> Message | None:
        """Returns a message, or None if it does not exist."""
        return self._run(calls.message(id))

    def messages(self, session_id: str, *, first: int = 20, after: str | None = None) -> Page[Message]:
        """Lists the messages of a session, oldest first."""
        return self._run(calls.messages(session_id, first, after))

    def latest_messages(self, session_id: str, *, last: int = 20, before: str | None = None) -> Page[Message]:
        """Lists the latest messages of a session, oldest first. `next` is the cursor for `before`."""
        return self._run(calls.latest_messages(session_id, last, before))

    def delete_message(self, id: str) -> None:
        """Deletes a message for good, with its evidence and the answers that cite it. `forget` can be undone."""
        self._run(calls.delete_message(id))

    def cancel_answer(self, message_id: str) -> bool:
        """Cancels the answer to a question. Returns False if it was finished."""
        return self._run(calls.cancel_answer(message_id))

    def context(
        self,
        query: str,
        *,
        session_id: str | None = None,
        first: int = 10,
        methods: Iterable[RetrievalMethod] | None = None,
        as_of: datetime | None = None,
        shared: bool = True,
        sources: Iterable[SearchSource] | None = None,
        collections: Iterable[str] | None = None,
        document_ids: Iterable[str] | None = None,
    ) -> Context:
        """Finds the messages, chunks of documents, facts and entities that are relevant to a question.

        `session_id`: searches only this session. `sources`, `collections` and `document_ids`: which messages and documents to search.
        """
        return self._run(calls.context(query, session_id, first, methods, as_of, shared, sources, collections, document_ids))

    def resolve_entity(self, mention: str, *, type: EntityType | None = None, session_id: str | None = None) -> Resolution:
        """Finds the entity that a name refers to. `session_id`: prefers entities that this session mentions."""
        return self._run(calls.resolve_entity(mention, type, session_id))

    def entity(self, id: str) -> Entity | None:
        """Returns an entity, or None if it does not exist."""
        return self._run(calls.entity(id))

    def entities(
        self,
        *,
        type: EntityType | None = None,
        text: str | None = None,
        session_id: str | None = None,
        first: int = 20,
        after: str | None = None,
        shared: bool = False,
    ) -> Page[Entity]:
        """Lists entities that meet all conditions, most mentioned first."""
        return self._run(calls.entities(type, text, session_id, first, after, shared))

    def rename_entity(self, id: str, name: str) -> Entity:
        """Renames an entity. The old name becomes an alias."""
        return self._run(calls.rename_entity(id, name))

    def merge_entities(self, into_id: str, from_id: str) -> Entity:
        """Merges two entities that are the same."""
        return self._run(calls.merge_entities(into_id, from_id))

    def fact(self, id: str) -> Fact | None:
        """Returns a fact, or None if it does not exist."""
        return self._run(calls.fact(id))

    def facts(
        self,
        *,
        subject_id: str | None = None,
        object_id: str | None = None,
        entity_id: str | None = None,
        relation: str | None = None,
        status: FactStatus | None = None,
        session_id: str | None = None,
        min_belief: float | None = None,
        as_of: datetime | None = None,
        text: str | None = None,
        first: int = 20,
        after: str | None = None,
        shared: bool = False,
    ) -> Page[Fact]:
        """Lists facts that meet all conditions, latest change first."""
        return self._run(
            calls.facts(subject_id, object_id, entity_id, relation, status, session_id, min_belief, as_of, text, first, after, shared)
        )

    def evidence(self, fact_id: str, *, first: int = 20, after: str | None = None) -> Page[Evidence]:
        """Lists the messages that support, oppose or end a fact, latest first."""
        return self._run(calls.evidence(fact_id, first, after))

    def assert_fact(
        self,
        session_id: str,
        subject: str,
        relation: str,
        object: str | None = None,
        *,
        subject_type: EntityType | None = None,
        object_type: EntityType | None = None,
        value: str | None = None,
        label: str | None = None,
        stance: Stance = "SUPPORTS",
        reason: str | None = None,
    ) -> Fact:
        """Records a fact that the user states directly. `relation`: a name of the ontology, such as `LIVES_IN`.

        A relation with values takes `value` instead of `object`: "7", "12 kg", "€1,200". `label` says what it measures.
        `stance`: `OPPOSES` denies the fact, `ENDS` says that it no longer holds. `reason` is kept with the statement; no fact is read from it.
        """
        return self._run(calls.assert_fact(session_id, subject, relation, object, subject_type, object_type, value, label, stance, reason))

    def retract_fact(self, id: str) -> Fact:
        """Retracts a fact. It stays readable but no longer counts, until it is restored or stated again."""
        return self._run(calls.retract_fact(id))

    def restore_fact(self, id: str) -> Fact:
        """Undoes `retract_fact`: status, evidence and rivals become what they were. Refused if a message retracted the fact."""
        return self._run(calls.restore_fact(id))

    def forget(
        self,
        query: str | None = None,
        *,
        fact_ids: Iterable[str] | None = None,
        message_ids: Iterable[str] | None = None,
        dry_run: bool = True,
    ) -> Forgotten:
        """Forgets facts and messages, by words or ids. By default it only returns what would be forgotten."""
        return self._run(calls.forget(query, fact_ids, message_ids, dry_run))

    def undo_forget(self, token: str) -> Forgotten:
        """Restores what `forget` took, for ten minutes by default. `token`: its result."""
        return self._run(calls.undo_forget(token))

    def events(self, session_id: str, *, after: str | None = None) -> Generator[Event, None, None]:
        """Follows the events of a session, each once and in order, and reconnects after lost connections.

        `after`: the cursor of the state that you have, such as `session.head`. Default: new events only. Raises a `RecallError` when
        the stream has ended, for instance because the session was deleted.
        """
        return self._follow(session_path(session_id), Follower(after, self._retries), None)

    def memory_events(self, *, after: str | None = None) -> Generator[Event, None, None]:
        """Follows the events of all sessions, documents and comparisons, and of shared memory if the user may read it.

        `data` has the `session_id`, except for `viewer_update`, and `shared: True` for shared memory. `after`: the cursor of the state that you have, from
        `memory_head`. Default: new events only. Otherwise like `events`.
        """
        return self._follow(MEMORY_PATH, Follower(after, self._retries), None)

    def _follow(self, path: str, follower: Follower, deadline: float | None) -> Generator[Event, None, None]:
        while True:
            try:
                with closing(self._connect(path, follower, deadline)) as connection:
                    for sent in connection:
                        event = follower.accept(sent)
                        if event:
                            yield event
                raise Disconnected
            except (Disconnected, RecallError) as error:
                wait = follower.wait(error)
            except httpx.TransportError as error:
                wait = follower.wait(unreachable(error))
            check(deadline)
            time.sleep(remaining(deadline, wait))

    def _connect(self, path: str, follower: Follower, deadline: float | None) -> Generator[ServerSentEvent, None, None]:
        timeout = event_timeout(remaining(deadline, MAX_SILENCE))
        accept = {"accept": "text/event-stream", **headers(self._token)}
        with self._http.stream("GET", path, params=follower.params(), headers=accept, timeout=timeout) as response:
            if response.status_code != 200:
                response.read()
                raise response_error(response)
            parser = Parser()
            for piece in response.iter_bytes():
                yield from parser.feed(piece)
                check(deadline)

    def _wait(
        self,
        log: str,
        after: str,
        timeout: float,
        inspect: Callable[[Event], bool],
        state: calls.Call[S],
        is_decided: Callable[[S], bool],
    ) -> None:
        """Follows a log until an event decides, or after a gap the state."""
        with closing(self._follow(session_path(log), Follower(after, self._retries), time.monotonic() + timeout)) as events:
            for event in events:
                if inspect(event) or (event.type == "gap" and is_decided(self._run(state))):
                    return

    def _run(self, call: calls.Call[T]) -> T:
        def send() -> T:
            return read_response(call, self._http.post("/graphql", json=body(call), headers=headers(self._token)))

        return self._repeat(send, call.safe)

    def _upload(self, upload: Upload) -> Uploaded:
        def send() -> Uploaded:
            return read_upload(self._http.post("/documents", **upload.parts(), headers=headers(self._token)))

        # The same content is stored once.
        return self._repeat(send, True)

    def _repeat(self, send: Callable[[], T], safe: bool) -> T:
        for attempt in range(1, self._retries + 2):
            cause: BaseException | None = None
            try:
                return send()
            except RecallError as refused:
                error = refused
            except httpx.TransportError as failure:
                cause, error = failure, unreachable(failure)
            if attempt > self._retries or not may_repeat(safe, error, cause):
                raise error from cause
            time.sleep(wait_before_retry(attempt, error.retry_after))
        raise AssertionError("the last attempt returns or raises")
