"""What the server returns about documents, as immutable values."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from ._parsing import Json, id_of, parse_time

DocumentStatus = Literal["PENDING", "PROCESSING", "COMPLETED", "FAILED"]
SearchSource = Literal["MESSAGES", "DOCUMENTS"]


@dataclass(frozen=True, slots=True)
class PageRange:
    """The pages of a document on which a text stands."""

    first: int
    last: int

    def __str__(self) -> str:
        return f"page {self.first}" if self.first == self.last else f"pages {self.first} to {self.last}"

    @classmethod
    def parse(cls, data: Json | None) -> PageRange | None:
        return None if data is None else cls(data["first"], data["last"])


@dataclass(frozen=True, slots=True)
class DocumentRef:
    """A document as citations and comparisons name it."""

    id: str
    filename: str
    version: int

    @classmethod
    def parse(cls, data: Json) -> DocumentRef:
        return cls(data["id"], data["filename"], data["version"])


@dataclass(frozen=True, slots=True)
class Document:
    """A file or a text whose chunks and facts are part of the memory."""

    id: str
    collection: str
    path: str | None
    """Where the owner keeps it. Documents of one collection with the same path are versions of each other."""
    version: int
    current: bool
    """Whether no newer version is searchable."""
    filename: str
    media_type: str | None
    """None until the document is parsed."""
    bytes: int
    status: DocumentStatus
    error: str | None
    """Why it failed."""
    done: int
    """The completed steps."""
    total: int
    """The number of steps; 0 until the document is parsed."""
    pages: int | None
    chunk_count: int
    title: str | None
    has_original: bool
    shared: bool
    created_at: datetime
    updated_at: datetime
    duplicate: bool = False
    """Whether the call that returned it stored nothing, because the collection has the same content already."""

    @classmethod
    def parse(cls, data: Json, *, duplicate: bool = False) -> Document:
        return cls(
            id=data["id"], collection=data["collection"], path=data["path"], version=data["version"], current=data["current"],
            filename=data["filename"], media_type=data["mediaType"], bytes=data["bytes"], status=data["status"], error=data["error"],
            done=data["done"], total=data["total"], pages=data["pages"], chunk_count=data["chunkCount"], title=data["title"],
            has_original=data["hasOriginal"], shared=data["shared"],
            created_at=parse_time(data["createdAt"]), updated_at=parse_time(data["updatedAt"]), duplicate=duplicate,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a document that is found and cited as one."""

    id: str
    document: DocumentRef
    position: int
    """The position in the document, from 0."""
    text: str
    heading: str | None
    pages: PageRange | None

    @classmethod
    def parse(cls, data: Json) -> Chunk:
        document, pages = DocumentRef.parse(data["document"]), PageRange.parse(data["pages"])
        return cls(data["id"], document, data["position"], data["text"], data["heading"], pages)


@dataclass(frozen=True, slots=True)
class Citation:
    """A source, with its number in the text."""

    index: int
    excerpt: str
    message_id: str | None
    fact_id: str | None
    shared: bool
    chunk_id: str | None = None
    """The cited chunk of a document, instead of a message."""
    document: DocumentRef | None = None
    pages: PageRange | None = None

    @classmethod
    def parse(cls, data: Json) -> Citation:
        document = data["document"]
        return cls(
            data["index"], data["excerpt"], id_of(data["message"]), id_of(data["fact"]), data["shared"], id_of(data["chunk"]),
            DocumentRef.parse(document) if document else None, PageRange.parse(data["pages"]),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class ComparisonPoint:
    """One statement about the compared documents."""

    text: str
    """The statement with marks such as `[1]`."""
    citations: tuple[Citation, ...]
    silent: tuple[DocumentRef, ...]
    """The compared documents that say nothing about it."""

    @classmethod
    def parse(cls, data: Json) -> ComparisonPoint:
        return cls(data["text"], tuple(map(Citation.parse, data["citations"])), tuple(map(DocumentRef.parse, data["silent"])))


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison of documents, without its points."""

    id: str
    question: str | None
    documents: tuple[DocumentRef, ...]
    status: DocumentStatus
    error: str | None
    """Why it failed."""
    done: int
    """The completed steps."""
    total: int
    """The number of steps; 0 until it is known."""
    comparer: str | None
    """`alignment`, or the name of a model."""
    created_at: datetime
    updated_at: datetime

    @classmethod
    def parse(cls, data: Json) -> Comparison:
        return Comparison(**_comparison_fields(data))


@dataclass(frozen=True, slots=True)
class ComparisonReport(Comparison):
    """A comparison of documents with the points found so far."""

    similarities: tuple[ComparisonPoint, ...]
    differences: tuple[ComparisonPoint, ...]
    insights: tuple[ComparisonPoint, ...]

    @classmethod
    def parse(cls, data: Json) -> ComparisonReport:
        similarities, differences, insights = (
            tuple(map(ComparisonPoint.parse, data[kind])) for kind in ("similarities", "differences", "insights")
        )
        return ComparisonReport(**_comparison_fields(data), similarities=similarities, differences=differences, insights=insights)


def _comparison_fields(data: Json) -> dict[str, Any]:
    return {
        "id": data["id"], "question": data["question"], "documents": tuple(map(DocumentRef.parse, data["documents"])),
        "status": data["status"], "error": data["error"], "done": data["done"], "total": data["total"], "comparer": data["comparer"],
        "created_at": parse_time(data["createdAt"]), "updated_at": parse_time(data["updatedAt"]),
    }  # fmt: skip


def is_ended(work: Document | Comparison | None) -> bool:
    """Returns whether the server has finished a document or a comparison, or it was deleted."""
    return work is None or work.status in ("COMPLETED", "FAILED")
