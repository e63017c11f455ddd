"""The usual work with the synchronous client against the real server."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from datetime import datetime, timezone

import httpx
import pytest
from conftest import TOKEN, run_server

from relevantic_recall import (
    AsyncRecall, ImportedMessage, InvalidRequest, NotAuthenticated, NotFound, Recall, RecallError, ServerUnavailable, TimedOut, all_items,
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
    renamed = recall.rename_entity(fact.subject.id, "Nadia Costa")
    assert renamed.aliases == ("Nadia",)
    other = recall.assert_fact(session_id, "Nadja", "LIVES_IN", "Porto", subject_type="PERSON")
    assert recall.merge_entities(renamed.id, other.subject.id).id == renamed.id
    assert [entity.name for entity in recall.entities(session_id=session_id, type="PERSON").items] == ["Nadia Costa"]


def test_forgetting_works_or_says_that_the_server_lacks_it(recall: Recall, new_session: Callable[[], str]) -> None:
    session_id = new_session()
    recall.send_and_wait(session_id, "Otto likes Zoe.")
    (fact,) = recall.facts(session_id=session_id).items
    try:
        forgotten = recall.forget(fact_ids=[fact.id], dry_run=False)
    except RecallError as error:
        assert error.code == "GRAPHQL_VALIDATION_FAILED"
        return
    assert [fact.id for fact in forgotten.facts] == [fact.id]
    assert forgotten.token
    recall.undo_forget(forgotten.token)
    restored = recall.fact(fact.id)
    assert restored and restored.status == "ACTIVE"


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

    assert calls(Recall) == calls(AsyncRecall)
    assert TOKEN not in repr(Recall("http://127.0.0.1", TOKEN))


def test_server_with_listed_documents_runs_every_operation() -> None:
    texts = {name: text for name, text in vars(_operations).items() if name.isupper()}
    assert len(texts) > 20
    with run_server(RECALL_GRAPHQL_DOCUMENTS_ONLY="true", RECALL_GRAPHQL_INTROSPECTION="false") as url, httpx.Client(base_url=url) as http:
        for name, text in texts.items():
            assert "DOCUMENT_NOT_LISTED" not in http.post("/graphql", json={"query": text}).text, name
        assert "DOCUMENT_NOT_LISTED" in http.post("/graphql", json={"query": "{ viewer { id } }"}).text
