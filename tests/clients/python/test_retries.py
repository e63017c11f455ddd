"""When calls are repeated, with a simulated server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import httpx
import pytest

from relevantic_recall import AsyncRecall, ImportedMessage, InvalidRequest, RateLimited, Recall, RecallError, ServerUnavailable, TimedOut
from relevantic_recall import _http as shared

VIEWER = {"data": {"viewer": {"id": "1", "role": "USER", "name": None, "entity": None}}}
Answer = Callable[[httpx.Request], httpx.Response]


@pytest.fixture(autouse=True)
def no_waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    asked: list[float] = []

    def wait(attempt: int, after: float | None = None) -> float:
        asked.append(after or 0.0)
        return 0.0

    for module in ("client", "aio"):
        monkeypatch.setattr(f"relevantic_recall.{module}.wait_before_retry", wait)
    return asked


def _fail(kind: type[httpx.TransportError]) -> Answer:
    def answer(request: httpx.Request) -> httpx.Response:
        raise kind("simulated", request=request)

    return answer


def _respond(status: int, body: object, **headers: str) -> Answer:
    return lambda request: httpx.Response(status, json=body, headers=headers)


def _client(*answers: Answer) -> tuple[Recall, list[httpx.Request]]:
    seen: list[httpx.Request] = []

    def handle(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return answers[min(len(seen), len(answers)) - 1](request)

    return Recall("http://recall", transport=httpx.MockTransport(handle)), seen


def test_safe_call_is_repeated_after_network_failures(no_waits: list[float]) -> None:
    busy = _respond(503, {"code": "UNAVAILABLE", "detail": "Later."}, **{"retry-after": "2"})
    recall, seen = _client(_fail(httpx.ReadError), busy, _fail(httpx.ReadTimeout), _respond(200, VIEWER))
    assert recall.viewer().role == "USER"
    assert len(seen) == 4
    assert no_waits == [0.0, 2.0, 0.0]


def test_repetitions_end() -> None:
    recall, seen = _client(_fail(httpx.ReadTimeout))
    with pytest.raises(TimedOut):
        recall.viewer()
    assert len(seen) == 4


def test_unsafe_call_is_repeated_only_if_it_was_not_done() -> None:
    recall, seen = _client(_fail(httpx.ReadError))
    with pytest.raises(ServerUnavailable):
        recall.retract_fact("1")
    assert len(seen) == 1
    limited = {"errors": [{"message": "Slower.", "extensions": {"code": "RATE_LIMITED", "retryAfterMs": 1500}}]}
    recall, seen = _client(_fail(httpx.ConnectError), _respond(200, limited))
    with pytest.raises(RateLimited) as error:
        recall.retract_fact("1")
    assert (len(seen), error.value.retry_after) == (4, 1.5)


def test_import_is_safe_only_with_external_ids() -> None:
    recall, seen = _client(_fail(httpx.ReadError))
    for external_id, attempts in ((None, 1), ("a", 4)):
        seen.clear()
        with pytest.raises(ServerUnavailable):
            recall.import_messages("1", [ImportedMessage("Hi", external_id=external_id)])
        assert len(seen) == attempts


def test_upload_is_repeated_with_its_content(no_waits: list[float]) -> None:
    busy = _respond(429, {"code": "RATE_LIMITED", "detail": "Later."}, **{"retry-after": "5"})
    refused = _respond(413, {"code": "DOCUMENT_TOO_LARGE", "detail": "The file is too large."})
    recall, seen = _client(_fail(httpx.ReadError), busy, refused)
    with pytest.raises(InvalidRequest, match="DOCUMENT_TOO_LARGE"):
        recall.documents.add(b"the content", filename="a.md", path="notes/a.md")
    assert len(seen) == 3
    assert no_waits == [0.0, 5.0]
    for request in seen:
        assert (request.method, request.url.path) == ("POST", "/documents")
        for part in (b"the content", b'name="file"; filename="a.md"', b'name="path"', b"notes/a.md"):
            assert part in request.content
        assert b"collection" not in request.content


def test_refused_call_is_not_repeated() -> None:
    recall, seen = _client(_respond(502, "not an object"))
    with pytest.raises(ServerUnavailable) as error:
        recall.graphql("{ viewer { id } }")
    assert (len(seen), error.value.code) == (1, "BAD_RESPONSE")
    recall, seen = _client(_respond(200, {"errors": [{"message": "No.", "extensions": {"code": "TEXT_EMPTY", "path": ["input"]}}]}))
    with pytest.raises(RecallError, match="TEXT_EMPTY"):
        recall.viewer()
    assert len(seen) == 1


def test_token_is_read_before_each_request() -> None:
    tokens = iter(["one", "two"])
    seen: list[str] = []

    def handle(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers["authorization"])
        return httpx.Response(200, json=VIEWER)

    async def view() -> None:
        async with AsyncRecall("http://recall", lambda: next(tokens), transport=httpx.MockTransport(handle)) as recall:
            await recall.viewer()
            await recall.viewer()

    asyncio.run(view())
    assert seen == ["Bearer one", "Bearer two"]


def test_waits_grow_up_to_a_limit() -> None:
    assert all(shared.wait_before_retry(1) <= 0.6 for _ in range(100))
    assert all(shared.wait_before_retry(60, 2.0) <= 17.0 for _ in range(100))
    assert shared.wait_before_retry(1, 5.0) >= 5.0
