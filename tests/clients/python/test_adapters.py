"""The adapters for LangChain and LlamaIndex against the real server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from llama_index.core.base.llms.types import ChatMessage, MessageRole

from relevantic_recall import Recall
from relevantic_recall.langchain import RecallChatMessageHistory, RecallRetriever
from relevantic_recall.llama_index import RecallMemory


def _wait_until_processed(recall: Recall, session_id: str) -> None:
    # The jobs of a session run in order, so this message is processed after all others.
    recall.send_and_wait(session_id, "Hello.")


def test_langchain_history_keeps_messages_in_order(recall: Recall, new_session: Callable[[], str]) -> None:
    history = RecallChatMessageHistory(recall, new_session())
    said = [HumanMessage("Hugo likes Nina.", id="1"), SystemMessage("Be brief."), AIMessage("Noted.", id="2")]
    history.add_messages(said)
    history.add_messages(said[:1])
    assert [(type(message), message.content, message.id) for message in history.messages] == [
        (HumanMessage, "Hugo likes Nina.", "1"),
        (AIMessage, "Noted.", "2"),
    ]
    before = history.session_id
    history.clear()
    assert history.messages == []
    assert recall.session(before) is None


def test_langchain_retriever_finds_facts_and_messages(recall: Recall, new_session: Callable[[], str]) -> None:
    session_id = new_session()
    RecallChatMessageHistory(recall, session_id).add_messages([HumanMessage("Hugo likes Nina.")])
    _wait_until_processed(recall, session_id)
    documents = RecallRetriever(client=recall, session_id=session_id).invoke("Who does Hugo like?")
    assert (documents[0].page_content, documents[0].metadata["type"]) == ("Hugo likes Nina", "fact")
    assert any(document.metadata["type"] == "message" for document in documents)


def test_llama_index_memory_adds_what_is_known(recall: Recall, new_session: Callable[[], str]) -> None:
    earlier = new_session()
    recall.send_and_wait(earlier, "Vera lives in Oslo.")
    memory = RecallMemory.from_defaults(client=recall)
    memory.put_messages(
        [
            ChatMessage(role=MessageRole.USER, content="Hi!"),
            ChatMessage(role=MessageRole.TOOL, content="ignored"),
            ChatMessage(role=MessageRole.ASSISTANT, content="Hello."),
        ]
    )
    known, *latest = memory.get("Where does Vera live?")
    assert known.role == MessageRole.SYSTEM
    assert known.content and known.content.startswith("Memory:") and "Vera lives in Oslo" in known.content
    expected: list[tuple[Any, str]] = [(MessageRole.USER, "Hi!"), (MessageRole.ASSISTANT, "Hello.")]
    assert [(message.role, message.content) for message in latest] == expected
    assert memory.get_all() == latest == memory.get()
    memory.set([ChatMessage(role=MessageRole.USER, content="Again.")])
    assert [message.content for message in memory.get_all()] == ["Again."]
