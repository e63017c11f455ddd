"""LangChain: a chat history and a retriever. Needs the extra `relevantic-recall[langchain]`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict

from ._lists import all_items
from .client import Recall
from .models import ImportedMessage, Message


class RecallChatMessageHistory(BaseChatMessageHistory):
    """The messages of one session.

    The server finds facts in the user's messages and does not answer them: that is the application's part. It does not store messages of
    the system and of tools.
    """

    def __init__(self, client: Recall, session_id: str) -> None:
        self.client = client
        self.session_id = session_id

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]
        """All messages, oldest first."""
        return [_to_langchain(message) for message in all_items(self.client.messages, self.session_id, first=100)]

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Stores messages in order. One with an id is stored once."""
        self.client.import_messages(
            self.session_id,
            [
                ImportedMessage(
                    text=message.text, role="USER" if isinstance(message, HumanMessage) else "ASSISTANT", external_id=message.id
                )
                for message in messages
                if isinstance(message, HumanMessage | AIMessage) and message.text.strip()
            ],
        )

    def clear(self) -> None:
        """Deletes the session with what was learned from it alone, and starts a new one with the same title."""
        session = self.client.session(self.session_id)
        self.client.delete_session(self.session_id)
        self.session_id = self.client.create_session(session.title if session else None).id


class RecallRetriever(BaseRetriever):
    """Finds what is relevant to a question: facts, messages and chunks of documents, each best first."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    client: Recall
    first: int = 10
    """The largest number of messages and chunks together."""
    session_id: str | None = None
    """Searches only this session."""

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        found = self.client.context(query, first=self.first, session_id=self.session_id)
        facts = [
            _document(str(ranked.fact), ranked.fact.id, type="fact", score=ranked.score, belief=ranked.fact.belief)
            for ranked in found.facts
        ]
        messages = [
            _document(
                ranked.message.text, ranked.message.id, type="message", score=ranked.score, session_id=ranked.message.session_id,
                sent_at=ranked.message.sent_at.isoformat(),
            )
            for ranked in found.messages
        ]  # fmt: skip
        chunks = [
            _document(
                ranked.chunk.text, ranked.chunk.id, type="chunk", score=ranked.score, document_id=ranked.chunk.document.id,
                filename=ranked.chunk.document.filename, pages=str(ranked.chunk.pages) if ranked.chunk.pages else None,
            )
            for ranked in found.chunks
        ]  # fmt: skip
        return facts + messages + chunks


def _document(text: str, id: str, **metadata: Any) -> Document:
    return Document(page_content=text, id=id, metadata=metadata)


def _to_langchain(message: Message) -> BaseMessage:
    kind = HumanMessage if message.role == "USER" else AIMessage
    return kind(content=message.text, id=message.external_id or message.id, name=message.speaker)
