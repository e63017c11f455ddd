"""LlamaIndex: a chat memory. Needs the extra `relevantic-recall[llama-index]`."""

from __future__ import annotations

from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.memory import BaseMemory
from pydantic import ConfigDict, Field

from ._lists import all_items
from .client import Recall
from .models import ImportedMessage, Message


class RecallMemory(BaseMemory):
    """Remembers across sessions: the latest messages of one session, after what the memory holds about the input.

    The server finds facts in the user's messages and does not answer them: that is the application's part.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    client: Recall = Field(exclude=True)
    session_id: str
    last: int = 20
    """Number of latest messages, 1 to 100."""
    first: int = 10
    """The largest number of relevant messages and chunks of documents of the whole memory."""

    @classmethod
    def class_name(cls) -> str:
        """The name under which LlamaIndex serializes it."""
        return "RecallMemory"

    @classmethod
    def from_defaults(cls, **kwargs: Any) -> RecallMemory:
        """Creates a memory from `client` and, optionally, the `session_id` of an existing session."""
        client: Recall = kwargs.pop("client")
        session_id = kwargs.pop("session_id", None) or client.create_session().id
        return cls(client=client, session_id=session_id, **kwargs)

    def get(self, input: str | None = None, **kwargs: Any) -> list[ChatMessage]:
        """Returns what is known about the input as a system message, then the latest messages."""
        latest = self.client.latest_messages(self.session_id, last=self.last).items
        known = self._describe(input, {message.id for message in latest}) if input else ""
        system = [ChatMessage(role=MessageRole.SYSTEM, content=known)] if known else []
        return system + [_to_llama_index(message) for message in latest]

    def _describe(self, input: str, shown: set[str]) -> str:
        found = self.client.context(input, first=self.first)
        facts = [f"- {ranked.fact}" for ranked in found.facts if ranked.fact.status == "ACTIVE"]
        messages = [f"- {m.sent_at:%Y-%m-%d}: {m.text}" for m in (r.message for r in found.messages) if m.id not in shown]
        chunks = [f"- {ranked.chunk.document.filename}: {ranked.chunk.text}" for ranked in found.chunks]
        known = [*facts, *messages, *chunks]
        return "\n".join(["Memory:", *known]) if known else ""

    def get_all(self) -> list[ChatMessage]:
        """Returns all messages of the session, oldest first."""
        return [_to_llama_index(message) for message in all_items(self.client.messages, self.session_id, first=100)]

    def put(self, message: ChatMessage) -> None:
        """Stores a message of the user or the assistant; others are not stored."""
        self.put_messages([message])

    def put_messages(self, messages: list[ChatMessage]) -> None:
        """Stores messages in order."""
        self.client.import_messages(
            self.session_id,
            [
                ImportedMessage(text=message.content, role="USER" if message.role == MessageRole.USER else "ASSISTANT")
                for message in messages
                if message.role in (MessageRole.USER, MessageRole.ASSISTANT) and message.content and message.content.strip()
            ],
        )

    def set(self, messages: list[ChatMessage]) -> None:
        """Replaces the messages of the session."""
        self.reset()
        self.put_messages(messages)

    def reset(self) -> None:
        """Deletes the session with what was learned from it alone, and starts a new one with the same title."""
        session = self.client.session(self.session_id)
        self.client.delete_session(self.session_id)
        self.session_id = self.client.create_session(session.title if session else None).id


def _to_llama_index(message: Message) -> ChatMessage:
    role = MessageRole.USER if message.role == "USER" else MessageRole.ASSISTANT
    return ChatMessage(role=role, content=message.text)
