"""Client of Relevantic Recall, a self-hosted memory server for chat applications."""

from .aio import AsyncRecall, all_items_async
from .client import Recall, all_items
from .errors import (
    InvalidRequest, NotAllowed, NotAuthenticated, NotFound, RateLimited, RecallError, ServerUnavailable, TimedOut,
)  # fmt: skip
from .models import (
    Answer, Candidate, Citation, Context, Entity, EntityRef, EntityType, Event, Evidence, Fact, FactStatus, FactValue,
    Forgotten,
    ImportedMessage, Message, MessageKind, MessageStatus, Page, RankedFact, RankedMessage, Resolution, RetrievalMethod, Role, Session,
    Stance, Viewer, ViewerRole,
)  # fmt: skip

__all__ = [
    "Answer", "AsyncRecall", "Candidate", "Citation", "Context", "Entity", "EntityRef", "EntityType", "Event", "Evidence", "Fact", "FactValue",
    "FactStatus", "Forgotten", "ImportedMessage", "InvalidRequest", "Message", "MessageKind", "MessageStatus", "NotAllowed",
    "NotAuthenticated", "NotFound", "Page", "RankedFact", "RankedMessage", "RateLimited", "Recall", "RecallError",
    "Resolution", "RetrievalMethod", "Role", "ServerUnavailable", "Session", "Stance", "TimedOut", "Viewer", "ViewerRole",
    "all_items", "all_items_async",
]  # fmt: skip
