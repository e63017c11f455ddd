"""The usual work with the synchronous client against the real server."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

import httpx
import pytest
from conftest import TOKEN, run_server

from relevantic_recall import (
    AsyncComparisons, AsyncDocuments, AsyncRecall, Comparisons, Documents, ImportedMessage, InvalidRequest, NotAuthenticated, NotFound,
    Recall, ServerUnavailable, TimedOut, all_items,
)  # fmt: skip
from relevantic_recall import _operations

UNKNOWN = "00000000-0000-0000-0000-000000000000"


def test_message_teaches_facts(recall: Recall) -> None:
    session = recall.create_session("Facts")
    message = recall.send_and_wait(session.id, "John likes Mary.", source_metadata={"from": "test"})
    assert (message.status, message.kind, message.source_metadata) == ("PROCESSED", "STATEMENT", {"from": "test"})
    (fact,) = recall.facts(session_id=session.id).items
    assert str(fact) == "John likes Mary"
    assert (fact.relation, fact.status, fact.created_at.tzinfo) == ("LIKES", "ACTIVE", timezone.utc)
    context = recall.context("Who does John like?", session_id=session.id)
    assert context.facts[0].fact.id == fact.id
    assert context.messages[0].message.id == message.id
    assert recall.evidence(fact.id).items[0].message.id == message.id
    assert recall.fact(fact.id) == fact
    resolved = recall.resolve_entity("mary", session_id=session.id)
    assert resolved.entity and resolved.entity.name == "Mary"
    found = recall.entity(fact.subject.id)
    assert found and found.name == "John"
    assert recall.viewer().role == "ADMIN"


def test_question_is_answered_and_statement_is_not(recall: Recall, new_session: Callable[[], str]) -> None:
    session_id = new_session()
    assert recall.ask(session_id, "Ada lives in Ghent.") is None
    parts: list[str] = []
    answer = recall.ask(session_id, "Where does Ada live?", client_message_id="where", on_delta=parts.append)
    assert answer and "Ghent" in answer.text
    assert answer.citations[0].message_id
    assert answer.message.role == "ASSISTANT"
    assert recall.ask(session_id, "Where does Ada live?", client_message_id="where") == answer
    assert recall.graphql("{ viewer { role } }") == {"viewer": {"role": "ADMIN"}}


def test_memory_is_corrected(recall: Recall, new_session: Callable[[], str]) -> None:
    session_id = new_session()
    fact = recall.assert_fact(session_id, "Nadia", "LIVES_IN", "Lisbon", subject_type="PERSON")
    assert recall.retract_fact(fact.id).status == "RETRACTED"
    assert recall.restore_fact(fact.id).status == "ACTIVE"
    denied = recall.assert_fact(session_id, "Nadia", "LIVES_IN", "Lisbon", stance="OPPOSES", reason="Her sister told me.")
    assert denied.id == fact.id and denied.belief < fact.belief
    renamed = recall.rename_entity(fact.subject.id, "Nadia Costa")
    assert renamed.aliases == ("Nadia",)
    other = recall.assert_fact(session_id, "Nadja", "LIVES_IN", "Porto", subject_type="PERSON")
    assert recall.merge_entities(renamed.id, other.subject.id).id == renamed.id
    assert [entity.name for entity in recall.entities(session_id=session_id, type="PERSON").items] == ["Nadia Costa"]


def test_forgotten_things_are_gone_until_it_is_undone(recall: Recall, new_session: Callable[[], str]) -> None:
    session_id = new_session()
    message = recall.send_and_wait(session_id, "Otto likes Zoe.")
    (fact,) = recall.facts(session_id=session_id).items

    def known() -> tuple[int, int]:
        return len(recall.facts(session_id=session_id).items), len(recall.messages(session_id).items)

    inputs: list[dict[str, Any]] = [
        {"query": "that Otto likes Zoe"},
        {"fact_ids": [fact.id]},
        {"message_ids": [message.id]},
        {"fact_ids": [fact.id], "message_ids": [message.id]},
    ]
    for arguments in inputs:
        dry = recall.forget(**arguments)
        assert (dry.fact_count, dry.message_count, dry.token, dry.undo_until) == (1, 1, None, None)
        assert ([fact.id for fact in dry.facts], dry.messages) == ([fact.id], (message,))
        assert known() == (1, 1)
        forgotten = recall.forget(**arguments, dry_run=False)
        assert (str(forgotten.facts[0]), forgotten.messages[0].text) == ("Otto likes Zoe", "Otto likes Zoe.")
        assert known() == (0, 0)
        assert recall.message(message.id) is None
        assert forgotten.token
        assert forgotten.undo_until
        restored = recall.undo_forget(forgotten.token)
        assert (restored.fact_count, restored.message_count, restored.facts[0].id) == (1, 1, fact.id)
        assert known() == (1, 1)
        with pytest.raises(NotFound):
            recall.undo_forget(forgotten.token)
    with pytest.raises(InvalidRequest, match="NOTHING_NAMED"):
        recall.forget()


def test_message_is_deleted_and_session_is_renamed(recall: Recall, new_session: Callable[[], str]) -> None:
    session_id = new_session()
    message = recall.send_and_wait(session_id, "Ines likes Omar.")
    recall.delete_message(message.id)
    assert recall.message(message.id) is None
    assert recall.facts(session_id=session_id).items == ()
    with pytest.raises(NotFound):
        recall.delete_message(message.id)
    assert recall.rename_session(session_id, "After").title == "After"
    renamed = recall.session(session_id)
    assert renamed and renamed.title == "After"
    with pytest.raises(InvalidRequest, match="TITLE_EMPTY"):
        recall.rename_session(session_id, "")
    assert recall.update_session(session_id, pinned=True, paused=True).title == "After"
    message = recall.send_and_wait(session_id, "Ines likes Omar.")
    assert recall.facts(session_id=session_id).items == (), message


def test_async_client_forgets_deletes_and_renames(url: str) -> None:
    async def work() -> None:
        async with AsyncRecall(url, TOKEN) as recall:
            session = await recall.create_session("Before")
            message = await recall.send_and_wait(session.id, "Uma likes Pia.")
            (fact,) = (await recall.facts(session_id=session.id)).items
            assert (await recall.forget("that Uma likes Pia")).fact_count == 1
            for facts, messages in (([fact.id], None), (None, [message.id])):
                forgotten = await recall.forget(fact_ids=facts, message_ids=messages, dry_run=False)
                assert forgotten.token
                assert await recall.message(message.id) is None
                assert (await recall.undo_forget(forgotten.token)).message_count == 1
            await recall.delete_message(message.id)
            assert await recall.message(message.id) is None
            assert (await recall.rename_session(session.id, "After")).title == "After"

    asyncio.run(work())


def test_large_import_is_split_and_listed(recall: Recall) -> None:
    session = recall.create_session("Import")
    said = datetime(2024, 5, 1, tzinfo=timezone.utc)
    notes = [ImportedMessage(f"Note {i}", "ASSISTANT", sent_at=said, external_id=str(i)) for i in range(510)]
    stored = recall.import_messages(session.id, notes)
    assert len(stored) == 510
    assert recall.import_messages(session.id, notes[:2]) == stored[:2]
    read = list(all_items(recall.messages, session.id, first=100))
    assert [message.text for message in read] == [note.text for note in notes]
    assert read[0].sent_at == said
    latest = recall.latest_messages(session.id, last=2)
    assert [message.text for message in latest.items] == ["Note 508", "Note 509"]
    assert recall.latest_messages(session.id, last=1, before=latest.next).items[0].text == "Note 507"
    assert session.id in [listed.id for listed in all_items(recall.sessions, first=100)]
    recall.delete_session(session.id)
    assert recall.session(session.id) is None


def test_errors_have_a_class_and_a_stable_code(recall: Recall, url: str, new_session: Callable[[], str]) -> None:
    with pytest.raises(NotFound) as unknown:
        recall.messages(UNKNOWN)
    assert unknown.value.code == "NOT_FOUND"
    with pytest.raises(NotFound):
        recall.ask(UNKNOWN, "Who?")
    with pytest.raises(InvalidRequest) as empty:
        recall.send_message(new_session(), "")
    assert (empty.value.code, empty.value.path) == ("TEXT_EMPTY", ("input", "text"))
    with Recall(url, lambda: "wrong") as stranger, pytest.raises(NotAuthenticated):
        stranger.viewer()
    with Recall("http://127.0.0.1:9", retries=1) as nobody, pytest.raises(ServerUnavailable) as gone:
        nobody.viewer()
    assert gone.value.code == "UNREACHABLE"
    with pytest.raises(TimedOut):
        recall.ask(new_session(), "Where does Ada live?", timeout=0.0)
    assert recall.message(UNKNOWN) is None


def test_both_clients_have_the_same_calls() -> None:
    def calls(kind: type) -> dict[str, list[tuple[str, object]]]:
        return {
            name: [(p.name, p.default) for p in inspect.signature(member).parameters.values()]
            for name, member in vars(kind).items()
            if callable(member) and not name.startswith("_")
        }

    for kind, other in ((Recall, AsyncRecall), (Documents, AsyncDocuments), (Comparisons, AsyncComparisons)):
        assert calls(kind) == calls(other) != {}
    assert TOKEN not in repr(Recall("http://127.0.0.1", TOKEN))


def test_server_with_listed_documents_runs_every_operation() -> None:
    texts = {name: text for name, text in vars(_operations).items() if name.isupper()}
    assert len(texts) > 20
    with run_server(RECALL_GRAPHQL_DOCUMENTS_ONLY="true", RECALL_GRAPHQL_INTROSPECTION="false") as url, httpx.Client(base_url=url) as http:
        for name, text in texts.items():
            assert "DOCUMENT_NOT_LISTED" not in http.post("/graphql", json={"query": text}).text, name
        assert "DOCUMENT_NOT_LISTED" in http.post("/graphql", json={"query": "{ viewer { id } }"}).text
