"""Documents and their comparisons with both clients against the real server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from conftest import TOKEN

from relevantic_recall import (
    AsyncRecall, ComparisonReport, InvalidRequest, NotFound, Recall, RecallError, TimedOut, all_items, all_items_async,
)  # fmt: skip
from relevantic_recall.langchain import RecallRetriever
from relevantic_recall.llama_index import RecallMemory

UNKNOWN = "00000000-0000-0000-0000-000000000000"


def _text(office: str, budget: int) -> str:
    return f"# {office} office\n\nThe travel budget is {budget} euros a year. Trains are preferred to flights within the country.\n"


def _check(report: ComparisonReport, ids: list[str]) -> None:
    """Checks what every report of the two offices has."""
    assert (report.status, report.error, report.done) == ("COMPLETED", None, report.total)
    assert [document.id for document in report.documents] == ids
    assert report.comparer
    points = report.similarities + report.differences + report.insights
    assert points
    for point in points:
        cited = {citation.document.id for citation in point.citations if citation.document}
        concerned = cited | {document.id for document in point.silent}
        assert len(concerned) > 1 and concerned <= set(ids)
        assert all(citation.chunk_id and citation.excerpt for citation in point.citations)
    assert any("4200" in point.text or any("4200" in c.excerpt for c in point.citations) for point in report.differences)


def test_file_is_added_read_and_deleted(recall: Recall, tmp_path: Path) -> None:
    file = tmp_path / "oslo.md"
    file.write_text(_text("Oslo", 4200))
    steps: list[tuple[int, int]] = []
    added = recall.documents.add(file, collection="files", path="offices/oslo.md")
    assert (added.filename, added.path, added.collection, added.duplicate) == ("oslo.md", "offices/oslo.md", "files", False)
    document = recall.documents.wait(added.id, on_progress=lambda done, total: steps.append((done, total)))
    assert (document.status, document.media_type, document.version) == ("COMPLETED", "text/markdown", 1)
    assert steps == sorted(steps)
    assert recall.documents.get(added.id) == document == recall.documents.wait(added.id)
    (chunk,) = recall.documents.chunks(added.id).items
    assert "4200 euros" in chunk.text and chunk.document.filename == "oslo.md"

    again = recall.documents.add(file.read_bytes(), filename="copy.md", collection="files")
    assert (again.id, again.duplicate) == (added.id, True)
    newer = recall.documents.add_text(_text("Oslo", 5100), path="offices/oslo.md", collection="files")
    assert (newer.version, newer.duplicate) == (2, False)
    recall.documents.wait(newer.id)
    assert [listed.id for listed in all_items(recall.documents.list, collection="files", first=1)] == [newer.id, added.id]
    current = recall.documents.list(collection="files", current=True, status="COMPLETED", text="OSLO")
    assert [listed.id for listed in current.items] == [newer.id]
    recall.documents.delete(newer.id, original_only=True)
    kept = recall.documents.get(newer.id)
    assert kept and not kept.has_original
    for id in (newer.id, added.id):
        recall.documents.delete(id)
        assert recall.documents.get(id) is None


def test_unreadable_file_fails_with_its_reason(recall: Recall) -> None:
    broken = recall.documents.add(b"%PDF-1.7\nnothing", filename="broken.pdf")
    with pytest.raises(InvalidRequest) as error:
        recall.documents.wait(broken.id)
    failed = recall.documents.get(broken.id)
    assert failed and failed.status == "FAILED"
    assert (error.value.code, error.value.message) == ("DOCUMENT_FAILED", failed.error)
    with pytest.raises(InvalidRequest):
        recall.documents.add(b"", filename="empty.txt")
    with pytest.raises(InvalidRequest):
        recall.documents.add_text("x", collection="not a name")
    with pytest.raises(FileNotFoundError):
        recall.documents.add("no/such/file.md")


def test_answers_and_context_cite_documents(recall: Recall) -> None:
    text = "# Parking\n\nThe parking fee of the Bergen garage is 300 euros."
    question = "What is the parking fee of the Bergen garage?"
    document = recall.documents.add_text(text, path="parking.md", collection="cited")
    recall.documents.wait(document.id)
    context = recall.context(question, sources=["DOCUMENTS"], document_ids=[document.id])
    assert "300 euros" in context.chunks[0].chunk.text
    assert (context.chunks[0].chunk.document.id, context.messages) == (document.id, ())
    answer = recall.ask(recall.create_session("Documents").id, question)
    assert answer
    (citation,) = (citation for citation in answer.citations if citation.document)
    assert (citation.document and citation.document.filename, citation.chunk_id) == ("parking.md", context.chunks[0].chunk.id)
    other = recall.documents.add_text("# Lunch\n\nLunch costs 9 euros.", path="lunch.md", collection="cited")
    recall.documents.wait(other.id)
    session = recall.create_session("Limited").id
    limited = recall.ask(session, question, sources=["DOCUMENTS"], document_ids=[other.id])
    assert limited and not limited.citations
    with pytest.raises(NotFound):
        recall.send_message(session, question, document_ids=[session])
    retrieved = RecallRetriever(client=recall).invoke(question)
    assert [found.metadata["filename"] for found in retrieved if found.metadata["type"] == "chunk"][0] == "parking.md"
    memory = RecallMemory.from_defaults(client=recall).get(question)
    assert "300 euros" in str(memory[0].content)


def test_documents_are_compared(recall: Recall) -> None:
    texts = {"north.md": _text("North", 4200), "south.md": _text("South", 900)}
    ids = [recall.documents.add_text(text, path=path, collection="sync").id for path, text in texts.items()]
    for id in ids:
        recall.documents.wait(id)
    steps: list[tuple[int, int]] = []
    question = "How high is the travel budget?"
    report = recall.documents.compare_and_wait(ids, question, on_progress=lambda done, total: steps.append((done, total)))
    assert report.question == question
    assert steps == sorted(steps)
    _check(report, ids)
    assert recall.comparisons.get(report.id) == report == recall.comparisons.wait(report.id)
    other = recall.documents.compare(list(reversed(ids)))
    assert (other.question, [document.id for document in other.documents]) == (None, list(reversed(ids)))
    recall.comparisons.wait(other.id)
    assert [listed.id for listed in all_items(recall.comparisons.list, document_id=ids[0], first=1)] == [other.id, report.id]
    for id in (other.id, report.id):
        recall.comparisons.delete(id)
        assert recall.comparisons.get(id) is None
    assert recall.comparisons.list(document_id=ids[0]).items == ()
    calls: list[Callable[[str], object]] = [
        recall.comparisons.delete, recall.comparisons.wait, recall.documents.wait, recall.documents.delete, recall.documents.chunks,
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(NotFound):
            call(UNKNOWN)
    with pytest.raises(InvalidRequest):
        recall.documents.compare(ids[:1])
    with pytest.raises(RecallError):
        recall.documents.compare([ids[0], UNKNOWN])


def test_async_client_compares_documents(url: str) -> None:
    async def work() -> None:
        async with AsyncRecall(url, TOKEN) as recall:
            north = await recall.documents.add(_text("North", 4200).encode(), filename="north.md", collection="async")
            south = await recall.documents.add_text(_text("South", 900), path="south.md", collection="async")
            ids = [(await recall.documents.wait(document.id)).id for document in (north, south)]
            report = await recall.documents.compare_and_wait(ids)
            _check(report, ids)
            assert await recall.comparisons.get(report.id) == report
            assert [listed.id async for listed in all_items_async(recall.comparisons.list, document_id=north.id)] == [report.id]
            assert (await recall.documents.chunks(north.id)).items
            assert len((await recall.documents.list(collection="async")).items) == 2
            await recall.comparisons.delete(report.id)
            with pytest.raises(NotFound):
                await recall.comparisons.wait(report.id)
            for id in ids:
                await recall.documents.delete(id)
            assert await recall.documents.get(north.id) is None

    asyncio.run(work())


def _waiting_client(*states: tuple[str, int], events: str) -> tuple[Recall, list[str]]:
    """A server that has a document in the given states, one after another, and sends `events`."""
    seen: list[str] = []
    document = {
        "id": "1", "collection": "default", "path": None, "version": 1, "current": True, "filename": "a.md", "mediaType": None, "bytes": 1,
        "total": 4, "pages": None, "chunkCount": 2, "title": None, "hasOriginal": True, "shared": False,
        "createdAt": "2026-01-01T00:00:00Z", "updatedAt": "2026-01-01T00:00:00Z",
    }  # fmt: skip

    def handle(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/sessions/1/events":
            seen.append(f"events after {request.url.params['after']}")
            return httpx.Response(200, text=events)
        if b"StreamHead" in request.content:
            seen.append("head")
            return httpx.Response(200, json={"data": {"session": {"head": "e:3"}}})
        status, done = states[min(seen.count("document"), len(states) - 1)]
        seen.append("document")
        error = "The file is damaged." if status == "FAILED" else None
        return httpx.Response(200, json={"data": {"document": {**document, "status": status, "done": done, "error": error}}})

    return Recall("http://recall", transport=httpx.MockTransport(handle)), seen


def _event(number: int, type: str, **data: object) -> str:
    return f"id: e:{number}\nevent: {type}\ndata: {json.dumps(data)}\n\n"


def test_wait_follows_the_log_from_before_the_state() -> None:
    states = (("processing", 2), ("completed", 4))
    events = "".join(_event(4 + i, "document_update", status=status, done=done, total=4) for i, (status, done) in enumerate(states))
    recall, seen = _waiting_client(("PROCESSING", 1), ("COMPLETED", 4), events=events)
    steps: list[tuple[int, int]] = []
    assert recall.documents.wait("1", on_progress=lambda done, total: steps.append((done, total))).status == "COMPLETED"
    assert seen == ["head", "document", "events after e:3", "document"]
    assert steps == [(2, 4), (4, 4)]


def test_wait_reads_the_state_after_a_gap() -> None:
    gap: dict[str, object] = {"from": 4, "to": 9, "reason": "pruned"}
    recall, seen = _waiting_client(("PROCESSING", 1), ("COMPLETED", 4), events=_event(9, "gap", **gap))
    assert recall.documents.wait("1").status == "COMPLETED"
    assert seen == ["head", "document", "events after e:3", "document", "document"]


def test_wait_raises_the_reason_of_a_failure() -> None:
    recall, _ = _waiting_client(("PROCESSING", 0), ("FAILED", 0), events=_event(4, "document_update", status="failed", done=0, total=0))
    with pytest.raises(InvalidRequest, match="The file is damaged."):
        recall.documents.wait("1")


def test_wait_ends_at_its_limit() -> None:
    recall, _ = _waiting_client(("PROCESSING", 1), events=_event(4, "document_update", status="processing", done=2, total=4))
    with pytest.raises(TimedOut):
        recall.documents.wait("1", timeout=0.0)
