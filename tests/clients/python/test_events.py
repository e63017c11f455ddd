"""Events with both clients: resuming after a cut, the end of a stream, and the parser."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Iterator
from contextlib import aclosing, closing

import pytest
from conftest import TOKEN, Proxy

from relevantic_recall import AsyncRecall, Event, Recall, RecallError
from relevantic_recall._events import Follower, Parser, ServerSentEvent


def _number(cursor: str) -> int:
    return int(cursor.rpartition(":")[2])


def _head(recall: Recall, session_id: str) -> int:
    session = recall.session(session_id)
    assert session
    return _number(session.head)


def test_events_resume_after_a_cut(recall: Recall, proxy: Proxy, url: str) -> None:
    session = recall.create_session("Cut")
    recall.send_and_wait(session.id, "Mia likes Leo.")
    first_part = _head(recall, session.id)
    seen: list[int] = []
    with Recall(proxy.url, TOKEN) as through, closing(through.events(session.id, after=session.head)) as events:
        for event in events:
            if event.seq is None:
                continue
            seen.append(event.seq)
            if event.seq == first_part:
                proxy.cut()
                recall.send_and_wait(session.id, "Leo works at Acme.")
                proxy.restore()
            if event.seq > first_part and event.seq == _head(recall, session.id):
                break
    assert seen == list(range(1, seen[-1] + 1))
    assert seen[-1] > first_part


def test_memory_events_resume_after_a_cut(recall: Recall, proxy: Proxy) -> None:
    start = recall.memory_head()
    first, second = recall.create_session("One"), recall.create_session("Two")
    recall.send_and_wait(first.id, "Mia likes Leo.")
    seen: list[tuple[str, str]] = []
    with Recall(proxy.url, TOKEN) as through, closing(through.memory_events(after=start)) as events:
        for event in events:
            assert event.type != "gap"
            seen.append((event.type, event.data["session_id"]))
            if seen[-1] == ("message_processed", first.id):
                proxy.cut()
                recall.send_and_wait(second.id, "Leo works at Acme.")
                recall.delete_session(first.id)
                proxy.restore()
                break
        assert event.cursor
    assert ("session_update", first.id) in seen and ("session_update", second.id) in seen
    with closing(recall.memory_events(after=event.cursor)) as events:
        kinds = [(event.type, event.data.get("session_id")) for event in iter_until(events, ("session_deleted", first.id))]
    assert ("message_processed", second.id) in kinds


def iter_until(events: Generator[Event, None, None], last: tuple[str, str]) -> Iterator[Event]:
    """Yields events up to one of this type and session."""
    for event in events:
        yield event
        if (event.type, event.data.get("session_id")) == last:
            return


def test_program_resumes_with_its_cursor(recall: Recall) -> None:
    session = recall.create_session("Cursor")
    recall.send_and_wait(session.id, "Mia likes Leo.")
    with closing(recall.events(session.id, after=session.head)) as events:
        kept = next(events)
    with closing(recall.events(session.id, after=kept.cursor)) as events:
        assert next(events).seq == 2


def test_deleted_session_ends_the_stream(recall: Recall, new_session: Callable[[], str]) -> None:
    session_id = new_session()
    recall.send_and_wait(session_id, "Mia likes Leo.")
    session = recall.session(session_id)
    assert session
    with closing(recall.events(session_id, after=f"{session.head.rpartition(':')[0]}:0")) as events:
        next(events)
        recall.delete_session(session_id)
        with pytest.raises(RecallError) as end:
            list(events)
    assert end.value.code in ("DELETED", "NOT_FOUND")
    with pytest.raises(RecallError, match="BAD_CURSOR"):
        next(recall.events(session_id, after="nonsense"))


def test_async_client_asks_and_follows_through_a_cut(recall: Recall, proxy: Proxy, url: str) -> None:
    async def follow() -> list[int]:
        async with AsyncRecall(proxy.url, TOKEN) as through, AsyncRecall(url, TOKEN) as direct:
            session = await direct.create_session("Async")
            await direct.send_and_wait(session.id, "Ada lives in Ghent.")
            parts: list[str] = []
            answer = await direct.ask(session.id, "Where does Ada live?", on_delta=parts.append)
            assert answer and "Ghent" in answer.text
            with pytest.raises(RecallError, match="TIMEOUT"):
                await direct.ask(session.id, "Where does Ada live?", timeout=0.0)
            cut_at = _head(recall, session.id)
            seen: list[int] = []
            async with aclosing(through.events(session.id, after=session.head)) as events:
                async for event in events:
                    if event.seq is None:
                        continue
                    seen.append(event.seq)
                    if event.seq == cut_at:
                        proxy.cut()
                        await direct.send_and_wait(session.id, "Ada likes Bo.")
                        proxy.restore()
                    if event.seq > cut_at and event.seq == _head(recall, session.id):
                        return seen
            return seen

    seen = asyncio.run(follow())
    assert seen == list(range(1, seen[-1] + 1))


def test_events_that_arrive_in_pieces_are_joined() -> None:
    parser = Parser()
    text = 'id: e1:1\nevent: message_stored\ndata: "é\u2028"\n\n: comment\n\ndata: 2\r\n\r\ndata: cut'
    events = [event for byte in text.encode() for event in parser.feed(bytes([byte]))]
    assert events == [ServerSentEvent("message_stored", "e1:1", '"é\u2028"'), ServerSentEvent("message", "", "2")]


def test_event_without_an_end_is_bounded() -> None:
    parser = Parser()
    with pytest.raises(RecallError):
        for _ in range(6):
            parser.feed(b"x" * 1024 * 1024)


def test_follower_drops_repeated_events_and_accepts_a_new_epoch() -> None:
    follower = Follower("e1:2", retries=0)

    def accept(kind: str, id: str) -> Event | None:
        return follower.accept(ServerSentEvent(kind, id, "{}"))

    assert accept("fact_update", "e1:2") is None
    assert accept("fact_update", "e1:3") is not None
    assert accept("caught_up", "e1:3") is None
    assert accept("gap", "e2:5") is not None
    assert accept("fact_update", "e2:6") is not None
    assert accept("answer_delta", "") == Event("answer_delta", {}, None)
    assert follower.params() == {"after": "e2:6"}
