"""The calls of the API as values: document, variables and how to read the result. Both clients send them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

from . import _operations as documents
from ._parsing import Json
from .document_models import Chunk, Comparison, ComparisonReport, Document, DocumentStatus, SearchSource
from .errors import NotFound, make_error
from .models import (
    Answer, Context, Entity, EntityType, Evidence, Fact, FactStatus, Forgotten, ImportedMessage, Message, Page,
    Resolution, RetrievalMethod, Role, Session, Stance, Viewer,
)  # fmt: skip

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One request to `POST /graphql`."""

    document: str
    variables: dict[str, Any]
    read: Callable[[Json], T]
    safe: bool = True
    """Whether the call may be repeated after a failure that leaves open whether the server did it."""


@dataclass(frozen=True, slots=True)
class State:
    """Where the server is with a message."""

    processing: bool
    asks: bool
    answer: Answer | None


def viewer() -> Call[Viewer]:
    return Call(documents.GET_VIEWER, {}, lambda data: Viewer.parse(data["viewer"]))


def memory_head() -> Call[str]:
    return Call(documents.MEMORY_HEAD, {}, lambda data: str(data["viewer"]["head"]))


def head(id: str, noun: str = "session") -> Call[str]:
    """Reads the head of a log: of a session, or of a document or a comparison with the same id."""
    return Call(documents.STREAM_HEAD, {"sessionId": id}, lambda data: str(_found(data["session"], noun)["head"]))


def create_session(title: str | None, shared: bool) -> Call[Session]:
    variables = {"input": _given(title=title, shared=shared or None)}
    return Call(documents.CREATE_SESSION, variables, lambda data: Session.parse(_payload(data, "createSession", "session")), safe=False)


def session(id: str) -> Call[Session | None]:
    return Call(documents.GET_SESSION, {"id": id}, lambda data: _optional(Session.parse, data["session"]))


def sessions(first: int, after: str | None, shared: bool) -> Call[Page[Session]]:
    variables = {"first": first, "after": after, "shared": shared}
    return Call(documents.GET_SESSIONS, variables, lambda data: _page(Session.parse, data["sessions"]))


def update_session(
    id: str, title: str | None, pinned: bool | None, archived: bool | None, paused: bool | None
) -> Call[Session]:
    variables = {"input": _given(sessionId=id, title=title, pinned=pinned, archived=archived, paused=paused)}
    return Call(documents.UPDATE_SESSION, variables, lambda data: Session.parse(_payload(data, "updateSession", "session")), safe=False)


def delete_session(id: str) -> Call[None]:
    def read(data: Json) -> None:
        _payload(data, "deleteSession", "deletedId")

    return Call(documents.DELETE_SESSION, {"input": {"id": id}}, read, safe=False)


def answer_from(
    sources: Iterable[SearchSource] | None, collections: Iterable[str] | None, document_ids: Iterable[str] | None
) -> Json:
    """What an answer may use."""
    return _given(sources=_list(sources), collections=_list(collections), documentIds=_list(document_ids))


def send_message(
    session_id: str, text: str, role: Role, speaker: str | None, sent_at: datetime | None, source_metadata: Any, client_message_id: str,
    answer_from: Json,
) -> Call[Message]:  # fmt: skip
    message = _given(
        sessionId=session_id, text=text, role=role, speaker=speaker, sentAt=_time(sent_at), sourceMetadata=source_metadata,
        clientMessageId=client_message_id, **answer_from,
    )  # fmt: skip
    return Call(documents.SEND_MESSAGE, {"input": message}, lambda data: Message.parse(_payload(data, "sendMessage", "message")))


def import_messages(session_id: str, messages: Sequence[ImportedMessage]) -> Call[list[Message]]:
    items = [_given(text=m.text, role=m.role, speaker=m.speaker, sentAt=_time(m.sent_at), externalId=m.external_id) for m in messages]
    variables = {"input": {"sessionId": session_id, "messages": items}}

    def read(data: Json) -> list[Message]:
        return [Message.parse(message) for message in _payload(data, "importMessages", "messages")]

    return Call(documents.IMPORT_MESSAGES, variables, read, safe=all(m.external_id for m in messages))


def message(id: str) -> Call[Message | None]:
    return Call(documents.GET_MESSAGE, {"id": id}, lambda data: _optional(Message.parse, data["message"]))


def state(message_id: str) -> Call[State]:
    def read(data: Json) -> State:
        found = _found(data["message"], "message")
        asks = found["kind"] in ("QUESTION", "MIXED")
        return State(found["status"] == "PROCESSING", asks, _optional(Answer.parse, found["answer"]))

    return Call(documents.GET_ANSWER, {"id": message_id}, read)


def messages(session_id: str, first: int, after: str | None) -> Call[Page[Message]]:
    def read(data: Json) -> Page[Message]:
        return _page(Message.parse, _found(data["session"], "session")["messages"])

    return Call(documents.GET_MESSAGES, {"sessionId": session_id, "first": first, "after": after}, read)


def latest_messages(session_id: str, last: int, before: str | None) -> Call[Page[Message]]:
    def read(data: Json) -> Page[Message]:
        connection = _found(data["session"], "session")["messages"]
        info = connection["pageInfo"]
        return Page(tuple(map(Message.parse, connection["nodes"])), info["startCursor"] if info["hasPreviousPage"] else None)

    return Call(documents.GET_LATEST_MESSAGES, {"sessionId": session_id, "last": last, "before": before}, read)


def delete_message(id: str) -> Call[None]:
    def read(data: Json) -> None:
        _payload(data, "deleteMessage", "deletedId")

    return Call(documents.DELETE_MESSAGE, {"input": {"messageId": id}}, read, safe=False)


def cancel_answer(message_id: str) -> Call[bool]:
    return Call(
        documents.CANCEL_ANSWER, {"input": {"messageId": message_id}}, lambda data: bool(_payload(data, "cancelAnswer", "cancelled"))
    )


def context(
    query: str, session_id: str | None, first: int, methods: Iterable[RetrievalMethod] | None, as_of: datetime | None, shared: bool,
    sources: Iterable[SearchSource] | None, collections: Iterable[str] | None, document_ids: Iterable[str] | None,
) -> Call[Context]:  # fmt: skip
    scope = None if session_id is None else "SESSION"
    search = _given(
        query=query, sessionId=session_id, scope=scope, first=first, methods=_list(methods), asOf=_time(as_of), shared=shared,
        sources=_list(sources), collections=_list(collections), documentIds=_list(document_ids),
    )  # fmt: skip
    return Call(documents.GET_CONTEXT, {"input": search}, lambda data: Context.parse(data["context"]))


def resolve_entity(mention: str, type: EntityType | None, session_id: str | None) -> Call[Resolution]:
    variables = {"input": _given(mention=mention, type=type, sessionId=session_id)}
    return Call(documents.RESOLVE_ENTITY, variables, lambda data: Resolution.parse(data["resolveEntity"]))


def entity(id: str) -> Call[Entity | None]:
    return Call(documents.GET_ENTITY, {"id": id}, lambda data: _optional(Entity.parse, data["entity"]))


def entities(
    type: EntityType | None, text: str | None, session_id: str | None, first: int, after: str | None, shared: bool
) -> Call[Page[Entity]]:
    variables = {"filter": _given(type=type, text=text, sessionId=session_id), "first": first, "after": after, "shared": shared}
    return Call(documents.GET_ENTITIES, variables, lambda data: _page(Entity.parse, data["entities"]))


def rename_entity(id: str, name: str) -> Call[Entity]:
    variables = {"input": {"id": id, "name": name}}
    return Call(documents.RENAME_ENTITY, variables, lambda data: Entity.parse(_payload(data, "renameEntity", "entity")), safe=False)


def merge_entities(into_id: str, from_id: str) -> Call[Entity]:
    variables = {"input": {"intoId": into_id, "fromId": from_id}}
    return Call(documents.MERGE_ENTITIES, variables, lambda data: Entity.parse(_payload(data, "mergeEntities", "entity")), safe=False)


def fact(id: str) -> Call[Fact | None]:
    return Call(documents.GET_FACT, {"id": id}, lambda data: _optional(Fact.parse, data["fact"]))


def facts(
    subject_id: str | None, object_id: str | None, entity_id: str | None, relation: str | None, status: FactStatus | None,
    session_id: str | None, min_belief: float | None, as_of: datetime | None, text: str | None, first: int, after: str | None, shared: bool,
) -> Call[Page[Fact]]:  # fmt: skip
    conditions = _given(
        subjectId=subject_id, objectId=object_id, entityId=entity_id, relation=relation, status=status, sessionId=session_id,
        minBelief=min_belief, asOf=_time(as_of), text=text,
    )  # fmt: skip
    variables = {"filter": conditions, "first": first, "after": after, "shared": shared}
    return Call(documents.GET_FACTS, variables, lambda data: _page(Fact.parse, data["facts"]))


def evidence(fact_id: str, first: int, after: str | None) -> Call[Page[Evidence]]:
    def read(data: Json) -> Page[Evidence]:
        return _page(Evidence.parse, _found(data["fact"], "fact")["evidence"])

    return Call(documents.GET_EVIDENCE, {"factId": fact_id, "first": first, "after": after}, read)


def assert_fact(
    session_id: str,
    subject: str,
    relation: str,
    object: str | None,
    subject_type: EntityType | None,
    object_type: EntityType | None,
    value: str | None,
    label: str | None,
    stance: Stance,
    reason: str | None,
) -> Call[Fact]:
    stated = _given(
        sessionId=session_id, subject=subject, relation=relation, object=object, subjectType=subject_type, objectType=object_type,
        value=None if value is None else _given(text=value, label=label), stance=stance, reason=reason,
    )  # fmt: skip
    return Call(documents.ASSERT_FACT, {"input": stated}, lambda data: Fact.parse(_payload(data, "assertFact", "fact")), safe=False)


def retract_fact(id: str) -> Call[Fact]:
    return Call(documents.RETRACT_FACT, {"input": {"id": id}}, lambda data: Fact.parse(_payload(data, "retractFact", "fact")), safe=False)


def restore_fact(id: str) -> Call[Fact]:
    return Call(documents.RESTORE_FACT, {"input": {"id": id}}, lambda data: Fact.parse(_payload(data, "restoreFact", "fact")), safe=False)


def forget(query: str | None, fact_ids: Iterable[str] | None, message_ids: Iterable[str] | None, dry_run: bool) -> Call[Forgotten]:
    variables = {"input": _given(query=query, factIds=_list(fact_ids), messageIds=_list(message_ids), dryRun=dry_run)}
    return Call(documents.FORGET, variables, lambda data: Forgotten.parse(_payload(data, "forget")), safe=dry_run)


def undo_forget(token: str) -> Call[Forgotten]:
    return Call(documents.UNDO_FORGET, {"input": {"token": token}}, lambda data: Forgotten.parse(_payload(data, "undoForget")), safe=False)


def add_document(text: str, path: str | None, collection: str | None, media_type: str | None, shared: bool) -> Call[Document]:
    variables = {"input": _given(text=text, path=path, collection=collection, mediaType=media_type, shared=shared)}

    def read(data: Json) -> Document:
        return Document.parse(_payload(data, "addDocument", "document"), duplicate=data["addDocument"]["duplicate"])

    # The same content is stored once.
    return Call(documents.ADD_DOCUMENT, variables, read)


def document(id: str) -> Call[Document | None]:
    return Call(documents.GET_DOCUMENT, {"id": id}, lambda data: _optional(Document.parse, data["document"]))


def added_document(id: str, duplicate: bool) -> Call[Document]:
    def read(data: Json) -> Document:
        return Document.parse(_found(data["document"], "document"), duplicate=duplicate)

    return Call(documents.GET_DOCUMENT, {"id": id}, read)


def list_documents(
    collection: str | None, status: DocumentStatus | None, text: str | None, current: bool, first: int, after: str | None, shared: bool
) -> Call[Page[Document]]:
    conditions = _given(collection=collection, status=status, text=text, current=current)
    variables = {"filter": conditions, "first": first, "after": after, "shared": shared}
    return Call(documents.GET_DOCUMENTS, variables, lambda data: _page(Document.parse, data["documents"]))


def chunks(document_id: str, first: int, after: str | None) -> Call[Page[Chunk]]:
    def read(data: Json) -> Page[Chunk]:
        return _page(Chunk.parse, _found(data["document"], "document")["chunks"])

    return Call(documents.GET_CHUNKS, {"documentId": document_id, "first": first, "after": after}, read)


def delete_document(id: str, original_only: bool) -> Call[None]:
    def read(data: Json) -> None:
        _payload(data, "deleteDocument", "deletedId")

    return Call(documents.DELETE_DOCUMENT, {"input": {"id": id, "originalOnly": original_only}}, read, safe=False)


def compare_documents(ids: Iterable[str], question: str | None) -> Call[Comparison]:
    variables = {"input": _given(documentIds=list(ids), question=question)}

    def read(data: Json) -> Comparison:
        return Comparison.parse(_payload(data, "compareDocuments", "comparison"))

    return Call(documents.COMPARE_DOCUMENTS, variables, read, safe=False)


def comparison(id: str) -> Call[ComparisonReport | None]:
    return Call(documents.GET_COMPARISON, {"id": id}, lambda data: _optional(ComparisonReport.parse, data["comparison"]))


def comparisons(document_id: str | None, first: int, after: str | None) -> Call[Page[Comparison]]:
    variables = {"documentId": document_id, "first": first, "after": after}
    return Call(documents.GET_COMPARISONS, variables, lambda data: _page(Comparison.parse, data["comparisons"]))


def delete_comparison(id: str) -> Call[None]:
    def read(data: Json) -> None:
        _payload(data, "deleteComparison", "deletedId")

    return Call(documents.DELETE_COMPARISON, {"input": {"id": id}}, read, safe=False)


def _given(**arguments: Any) -> dict[str, Any]:
    """Leaves out what is None, so that the server's defaults apply."""
    return {name: value for name, value in arguments.items() if value is not None}


def _list(items: Iterable[T] | None) -> list[T] | None:
    return None if items is None else list(items)


def _time(time: datetime | None) -> str | None:
    """Converts a time; one without a zone is local time."""
    return None if time is None else time.astimezone().isoformat()


def _optional(parse: Callable[[Json], T], data: Json | None) -> T | None:
    return None if data is None else parse(data)


def _page(parse: Callable[[Json], T], connection: Json) -> Page[T]:
    info = connection["pageInfo"]
    return Page(tuple(map(parse, connection["nodes"])), info["endCursor"] if info["hasNextPage"] else None)


def _found(data: Json | None, noun: str) -> Json:
    if data is None:
        raise NotFound("NOT_FOUND", f"There is no such {noun}. Check its id.", 200)
    return data


def _payload(data: Json, mutation: str, field: str | None = None) -> Any:
    """Returns the result of a mutation, or raises its first error."""
    payload = data[mutation]
    for error in payload["errors"]:
        raise make_error(error["code"], error["message"], 200, error["path"])
    result = payload if field is None else payload[field]
    if result is None:
        raise make_error("BAD_RESPONSE", "The server sent no result.", 200)
    return result
