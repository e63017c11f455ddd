"""What the server returns, as immutable values."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, Literal, TypeVar

from ._parsing import Json, optional_time, parse_time
from .document_models import Chunk, Citation

T = TypeVar("T")

EntityType = Literal["PERSON", "ORGANIZATION", "PLACE", "PROJECT", "TOOL", "CONCEPT", "EVENT", "THING"]
FactStatus = Literal["ACTIVE", "ENDED", "RETRACTED"]
DatePrecision = Literal["UNKNOWN", "YEAR", "MONTH", "DAY"]
MessageKind = Literal["STATEMENT", "QUESTION", "MIXED", "OTHER"]
MessageRole = Literal["USER", "ASSISTANT", "DOCUMENT"]
"""`DOCUMENT`: a chunk of a document, as evidence of facts."""
MessageStatus = Literal["PROCESSING", "PROCESSED", "FAILED"]
RetrievalMethod = Literal["VECTOR", "KEYWORD", "GRAPH"]
Role = Literal["USER", "ASSISTANT"]
Stance = Literal["SUPPORTS", "OPPOSES", "ENDS"]
ValueType = Literal["TEXT", "NUMBER", "DATE", "MONEY", "CONTACT"]
ContactKind = Literal["EMAIL", "PHONE", "URL"]
ViewerRole = Literal["ADMIN", "USER", "ANONYMOUS"]


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """One page of a list."""

    items: tuple[T, ...]
    next: str | None
    """The cursor of the next page, for `after`. None: this is the last page."""


@dataclass(frozen=True, slots=True)
class EntityRef:
    """An entity as facts name it."""

    id: str
    name: str
    type: EntityType
    is_viewer: bool
    """Whether it represents the user."""

    @classmethod
    def parse(cls, data: Json) -> EntityRef:
        return cls(data["id"], data["name"], data["type"], data["isViewer"])


@dataclass(frozen=True, slots=True)
class Viewer:
    """The user who sends the requests."""

    id: str
    role: ViewerRole
    name: str | None
    entity: EntityRef | None

    @classmethod
    def parse(cls, data: Json) -> Viewer:
        entity = data["entity"]
        return cls(data["id"], data["role"], data["name"], EntityRef.parse(entity) if entity else None)


@dataclass(frozen=True, slots=True)
class Session:
    """One conversation with its messages and a numbered event log."""

    id: str
    title: str | None
    shared: bool
    created_at: datetime
    updated_at: datetime
    head: str
    """The cursor of the newest event. Pass it to `events` as `after`."""

    @classmethod
    def parse(cls, data: Json) -> Session:
        times = parse_time(data["createdAt"]), parse_time(data["updatedAt"])
        return cls(data["id"], data["title"], data["shared"], *times, data["head"])


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    id: str
    session_id: str
    external_id: str | None
    """The client's own id."""
    role: MessageRole
    speaker: str | None
    """The speaker, if it is not the user."""
    text: str
    kind: MessageKind | None
    """None until the message is processed."""
    status: MessageStatus
    sent_at: datetime
    created_at: datetime
    shared: bool
    source_metadata: Any = None
    """JSON that the client stored with the message. Only `message` reads it."""

    @classmethod
    def parse(cls, data: Json) -> Message:
        return cls(
            id=data["id"], session_id=data["session"]["id"], external_id=data["externalId"], role=data["role"],
            speaker=data["speaker"], text=data["text"], kind=data["kind"], status=data["status"],
            sent_at=parse_time(data["sentAt"]), created_at=parse_time(data["createdAt"]), shared=data["shared"],
            source_metadata=data.get("sourceMetadata"),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class ImportedMessage:
    """One message of a conversation that took place elsewhere."""

    text: str
    role: Role = "USER"
    speaker: str | None = None
    """The speaker, if it is not the user."""
    sent_at: datetime | None = None
    """When it was said. Default: now."""
    external_id: str | None = None
    """The id in the source system. Importing it again returns the first message."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer with its sources."""

    message: Message
    citations: tuple[Citation, ...]
    nearest: tuple[Citation, ...] = ()
    """What comes nearest to an answer, if nothing answers the question."""

    @property
    def text(self) -> str:
        """The text with marks such as `[1]`."""
        return self.message.text

    @classmethod
    def parse(cls, data: Json) -> Answer:
        return cls(Message.parse(data), *(tuple(map(Citation.parse, data[key])) for key in ("citations", "nearest")))


@dataclass(frozen=True, slots=True)
class Entity:
    """A person, thing or place in the memory."""

    id: str
    name: str
    type: EntityType
    aliases: tuple[str, ...]
    description: str | None
    mention_count: int
    confidence: float
    is_viewer: bool
    shared: bool
    created_at: datetime
    updated_at: datetime

    @classmethod
    def parse(cls, data: Json) -> Entity:
        return cls(
            id=data["id"], name=data["name"], type=data["type"], aliases=tuple(data["aliases"]),
            description=data["description"], mention_count=data["mentionCount"], confidence=data["confidence"],
            is_viewer=data["isViewer"], shared=data["shared"],
            created_at=parse_time(data["createdAt"]), updated_at=parse_time(data["updatedAt"]),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Candidate:
    """An entity that a name may refer to."""

    entity: Entity
    confidence: float
    reason: str

    @classmethod
    def parse(cls, data: Json) -> Candidate:
        return cls(Entity.parse(data["entity"]), data["confidence"], data["reason"])


@dataclass(frozen=True, slots=True)
class Resolution:
    """The entity that a name refers to, with the candidates, best first."""

    entity: Entity | None
    """None if no candidate is certain enough."""
    confidence: float
    candidates: tuple[Candidate, ...]

    @classmethod
    def parse(cls, data: Json) -> Resolution:
        entity = data["entity"]
        candidates = tuple(map(Candidate.parse, data["candidates"]))
        return cls(Entity.parse(entity) if entity else None, data["confidence"], candidates)


@dataclass(frozen=True, slots=True)
class FactValue:
    """A value that a fact states of its subject, such as an age."""

    type: ValueType
    text: str
    """The value as people read it, such as "7" or "€1,200"."""
    label: str | None = None
    """What of the subject it measures, such as "rent"."""
    number: float | None = None
    """The number, or the amount of money."""
    unit: str | None = None
    currency: str | None = None
    date: str | None = None
    """ISO 8601, as exact as it is known: `2026-03-01`, `2026-03`, `2026`, or `--03-01` for a yearly day."""
    contact: ContactKind | None = None
    address: str | None = None

    def __str__(self) -> str:
        return f"{self.label} {self.text}" if self.label else self.text

    @classmethod
    def parse(cls, data: Json) -> FactValue:
        return cls(
            data["type"], data["text"], data["label"], data["number"], data["unit"], data["currency"], data["date"], data["contact"],
            data["address"],
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact: subject, relation, and an object or a value."""

    id: str
    subject: EntityRef
    relation: str
    """The name in the ontology, such as `LIVES_IN`."""
    phrase: str
    """The relation in words, such as "lives in"."""
    object: EntityRef | None
    """None for facts with a value."""
    weight: float
    belief: float
    uncertainty: float
    relative_weight: float
    status: FactStatus
    flagged: bool
    shared: bool
    valid_from: datetime | None
    valid_to: datetime | None
    created_at: datetime
    updated_at: datetime
    value: FactValue | None = None
    """The value that the fact states of its subject, instead of an object."""
    valid_from_precision: DatePrecision | None = None
    """How exactly `valid_from` is known. UNKNOWN: no message tells it, and the moment is that of a message."""
    valid_to_precision: DatePrecision | None = None

    def __str__(self) -> str:
        return f"{self.subject.name} {self.phrase} {self.object.name if self.object else self.value or ''}".rstrip()

    @classmethod
    def parse(cls, data: Json) -> Fact:
        object_, value = data["object"], data.get("value")
        return cls(
            id=data["id"], subject=EntityRef.parse(data["subject"]), relation=data["relation"], phrase=data["phrase"],
            object=EntityRef.parse(object_) if object_ else None, weight=data["weight"], belief=data["belief"],
            uncertainty=data["uncertainty"], relative_weight=data["relativeWeight"], status=data["status"],
            flagged=data["flagged"], shared=data["shared"], valid_from=optional_time(data["validFrom"]),
            valid_to=optional_time(data["validTo"]), created_at=parse_time(data["createdAt"]),
            updated_at=parse_time(data["updatedAt"]), value=FactValue.parse(value) if value else None,
            valid_from_precision=data.get("validFromPrecision"), valid_to_precision=data.get("validToPrecision"),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one message says about a fact."""

    message: Message
    stance: Stance
    confidence: float
    excerpt: str | None
    created_at: datetime

    @classmethod
    def parse(cls, data: Json) -> Evidence:
        message, created_at = Message.parse(data["message"]), parse_time(data["createdAt"])
        return cls(message, data["stance"], data["confidence"], data["excerpt"], created_at)


@dataclass(frozen=True, slots=True)
class RankedMessage:
    """A message with its relevance, 0 to 1."""

    message: Message
    score: float
    methods: tuple[RetrievalMethod, ...]

    @classmethod
    def parse(cls, data: Json) -> RankedMessage:
        return cls(Message.parse(data["message"]), data["score"], tuple(data["methods"]))


@dataclass(frozen=True, slots=True)
class RankedChunk:
    """A chunk of a document with its relevance, comparable with that of messages."""

    chunk: Chunk
    score: float
    methods: tuple[RetrievalMethod, ...]
    shared: bool

    @classmethod
    def parse(cls, data: Json) -> RankedChunk:
        return cls(Chunk.parse(data["chunk"]), data["score"], tuple(data["methods"]), data["shared"])


@dataclass(frozen=True, slots=True)
class RankedFact:
    """A fact with its relevance, 0 to 1."""

    fact: Fact
    score: float

    @classmethod
    def parse(cls, data: Json) -> RankedFact:
        return cls(Fact.parse(data["fact"]), data["score"])


@dataclass(frozen=True, slots=True)
class Context:
    """The messages, chunks of documents, facts and entities found for a question, best first."""

    messages: tuple[RankedMessage, ...]
    facts: tuple[RankedFact, ...]
    entities: tuple[Entity, ...]
    methods_used: tuple[RetrievalMethod, ...]
    total_ms: float
    chunks: tuple[RankedChunk, ...] = ()

    @classmethod
    def parse(cls, data: Json) -> Context:
        return cls(
            messages=tuple(map(RankedMessage.parse, data["messages"])), facts=tuple(map(RankedFact.parse, data["facts"])),
            entities=tuple(map(Entity.parse, data["entities"])), methods_used=tuple(data["methodsUsed"]),
            total_ms=data["timings"]["totalMs"], chunks=tuple(map(RankedChunk.parse, data["chunks"])),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What is forgotten, would be forgotten, or was restored."""

    facts: tuple[Fact, ...]
    """At most 100."""
    messages: tuple[Message, ...]
    """At most 100, as they were before."""
    fact_count: int
    """The number of all these facts."""
    message_count: int
    """The number of all these messages."""
    token: str | None
    """For `undo_forget`. None after a dry run, and if nothing was found."""
    undo_until: datetime | None
    """Until when `token` undoes it."""

    @classmethod
    def parse(cls, data: Json) -> Forgotten:
        facts, messages = tuple(map(Fact.parse, data["facts"])), tuple(map(Message.parse, data["messages"]))
        return cls(facts, messages, data["factCount"], data["messageCount"], data["token"], optional_time(data["undoUntil"]))


@dataclass(frozen=True, slots=True)
class Event:
    """An entry of an event log: of a session, or of the whole memory."""

    type: str
    """The type, such as `fact_update`. `gap`: events could not be delivered, so read the state again, then continue."""
    data: dict[str, Any] = field(hash=False)
    """The content, as defined in `schema.events.json`. A `gap` has `from`, `to` and `reason`."""
    cursor: str | None
    """Pass it to `events` or `memory_events` as `after` to resume after this event. None: not numbered, and not delivered again."""

    @property
    def seq(self) -> int | None:
        """The number within the session, from 1. Events of the whole memory are told apart by their cursor only."""
        return None if self.cursor is None else int(self.cursor.rpartition(":")[2])
