"""Client of Relevantic Recall, a self-hosted memory server for chat applications."""

from ._lists import all_items, all_items_async
from .aio import AsyncRecall
from .aio_documents import AsyncComparisons, AsyncDocuments
from .client import Recall
from .document_models import (
    Chunk, Citation, Comparison, ComparisonPoint, ComparisonReport, Document, DocumentRef, DocumentStatus, PageRange, SearchSource,
)  # fmt: skip
from .documents import Comparisons, Documents
from .errors import (
    InvalidRequest, NotAllowed, NotAuthenticated, NotFound, RateLimited, RecallError, ServerUnavailable, TimedOut,
)  # fmt: skip
from .models import (
    Answer, Candidate, Context, DatePrecision, Entity, EntityRef, EntityType, Event, Evidence, Fact, FactStatus, FactValue, Forgotten,
    ImportedMessage, Message, MessageKind, MessageRole, MessageStatus, Page, RankedChunk, RankedFact, RankedMessage, Resolution,
    RetrievalMethod, Role, Session, Stance, Viewer, ViewerRole,
)  # fmt: skip

__all__ = [
    "Answer", "AsyncComparisons", "AsyncDocuments", "AsyncRecall", "Candidate", "Chunk", "Citation", "Comparison",
    "ComparisonPoint", "ComparisonReport", "Comparisons", "Context", "Document", "DocumentRef", "DocumentStatus", "Documents",
    "DatePrecision", "Entity", "EntityRef", "EntityType", "Event", "Evidence", "Fact", "FactStatus", "FactValue", "Forgotten", "ImportedMessage",
    "InvalidRequest", "Message", "MessageKind", "MessageRole", "MessageStatus", "NotAllowed", "NotAuthenticated", "NotFound",
    "Page", "PageRange", "RankedChunk", "RankedFact", "RankedMessage", "RateLimited", "Recall", "RecallError", "Resolution",
    "RetrievalMethod", "Role", "SearchSource", "ServerUnavailable", "Session", "Stance", "TimedOut", "Viewer", "ViewerRole",
    "all_items", "all_items_async",
]  # fmt: skip
