"""The filter for Open WebUI against the real server. Open WebUI is not installed here: these tests call the filter as it does."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from conftest import TOKEN, run_server
from recall_filter import Filter, sign_user

from relevantic_recall import Recall, all_items

KEY = "the-key-of-the-front-end-0123456789abcdef"
USER_SECRET = "the-secret-of-the-front-end-0123456789ab"
STATEMENT = "My sister Maren lives in Ghent."
QUESTION = "Where does my sister Maren live?"
SYSTEM = {"role": "system", "content": "Be kind."}


class OpenWebUi:
    """Calls the filter for the chats of one user, as version 0.12 of Open WebUI does."""

    def __init__(self, valves: Filter.Valves, user: str = "anna", **own: Any) -> None:
        self.filter = Filter()
        self.filter.valves = valves
        self.user = {"id": user, "name": "X", "email": "x@example.org", "role": "user", "valves": Filter.UserValves(**own)}
        self.emitted: list[dict[str, Any]] = []

    async def _emit(self, event: dict[str, Any]) -> None:
        self.emitted.append(event)

    def chat(self, chat: str, *texts: Any, answer: str = "Fine.", task: str | None = None) -> list[dict[str, Any]]:
        """Sends a chat whose last text is new. Returns the messages that the model gets."""
        metadata: dict[str, Any] = {"chat_id": chat, "message_id": "m", "task": task}
        turns = [{"role": "user" if n % 2 == 0 else "assistant", "content": text} for n, text in enumerate(texts)]

        async def run() -> list[dict[str, Any]]:
            given = {"__user__": self.user, "__metadata__": metadata, "__event_emitter__": self._emit}
            body = await self.filter.inlet({"model": "m", "messages": [SYSTEM, *turns]}, **given)  # type: ignore[arg-type]
            said = {"role": "assistant", "content": answer}
            await self.filter.outlet({"model": "m", "messages": [*turns, said], "chat_id": chat}, **given)  # type: ignore[arg-type]
            sent: list[dict[str, Any]] = body["messages"]
            return sent

        return asyncio.run(run())


def open_server(url: str) -> Filter.Valves:
    return Filter.Valves(url=url, without_login=True)


def stored(recall: Recall) -> list[str]:
    """Returns the texts of all messages, once their facts are known."""
    for _ in range(600):
        sessions = list(all_items(recall.sessions, first=100))
        messages = [message for session in sessions for message in all_items(recall.messages, session.id, first=100)]
        if all(message.status != "PROCESSING" for message in messages):
            return sorted(message.text for message in messages)
        time.sleep(0.05)
    raise AssertionError("messages are still being processed")


@pytest.fixture
def server() -> Iterator[str]:
    with run_server() as url:
        yield url


def test_model_gets_the_memory_and_the_answer_is_stored(server: str) -> None:
    anna = OpenWebUi(open_server(server))
    assert anna.chat("one", STATEMENT) == [SYSTEM, {"role": "user", "content": STATEMENT}]
    with Recall(server) as recall:
        assert stored(recall) == ["Fine.", STATEMENT]
        image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
        question = [{"type": "text", "text": QUESTION}, image]
        sent = anna.chat("two", question, answer='<details type="reasoning" done="true">\nHm.\n</details>\nIn Ghent [2].')
        assert [message["role"] for message in sent] == ["system", "system", "user"] and sent[2]["content"] == question
        assert sent[1]["content"].startswith("Memory:") and "Ghent" in sent[1]["content"]
        assert stored(recall) == sorted(["Fine.", STATEMENT, QUESTION, "In Ghent [2]."])
        # The sources up to the cited one.
        assert [event["type"] for event in anna.emitted] == ["source"] * 2
        assert all(event["data"]["document"] and event["data"]["source"]["name"] for event in anna.emitted)
        anna.chat("two", QUESTION, "In Ghent [2].", "Thank you.", answer="You are welcome.")
        assert stored(recall) == sorted(["Fine.", STATEMENT, QUESTION, "In Ghent [2].", "Thank you.", "You are welcome."])


def test_temporary_chats_tasks_and_strangers_are_not_remembered(server: str) -> None:
    anna = OpenWebUi(open_server(server))
    anna.chat("one", STATEMENT)
    with Recall(server) as recall:
        before = stored(recall)
        plain = [SYSTEM, {"role": "user", "content": QUESTION}]
        for chat in ("temporary:x", "local:x", "channel:x", ""):
            assert anna.chat(chat, QUESTION) == plain, chat
        assert anna.chat("three", QUESTION, task="title_generation") == plain
        assert OpenWebUi(open_server(server), enabled=False).chat("four", QUESTION) == plain
        assert OpenWebUi(Filter.Valves(url=server)).chat("five", QUESTION) == plain, "nobody said whose memory it is"
        assert stored(recall) == before
    assert anna.emitted == []


def test_users_behind_one_key_have_separate_memories() -> None:
    with run_server(RECALL_FRONTEND_KEY=KEY, RECALL_FRONTEND_USER_SECRET=USER_SECRET) as url:
        valves = Filter.Valves(url=f"{url}/", frontend_key=KEY, user_secret=USER_SECRET)
        anna, boris = OpenWebUi(valves, "anna"), OpenWebUi(valves, "boris")
        anna.chat("one", STATEMENT)
        signed = {"x-openwebui-user-jwt": sign_user({"id": "anna"}, USER_SECRET), "authorization": f"Bearer {KEY}"}
        for _ in range(600):
            if httpx.get(f"{url}/facts", headers=signed).json()["items"]:
                break
            time.sleep(0.05)
        assert "Ghent" in str(anna.chat("two", QUESTION))
        assert "Ghent" not in str(boris.chat("two", QUESTION))


def test_access_token_of_the_user_is_used(url: str, recall: Recall) -> None:
    OpenWebUi(Filter.Valves(url=url), access_token=TOKEN).chat("filter", "My boat is called Vega.")
    assert "My boat is called Vega." in [m.text for s in all_items(recall.sessions, first=100) for m in recall.messages(s.id).items]


@pytest.mark.parametrize("url", ["http://127.0.0.1:9", "no address", "http://"])
def test_chat_goes_on_without_the_server(url: str, caplog: pytest.LogCaptureFixture) -> None:
    anna = OpenWebUi(open_server(url))
    with caplog.at_level(logging.DEBUG, "recall_filter"):
        assert anna.chat("one", STATEMENT) == [SYSTEM, {"role": "user", "content": STATEMENT}]
    assert [event["type"] for event in anna.emitted] == ["status"]
    assert "without its memory" in caplog.text and "Maren" not in caplog.text


def test_refusal_of_the_server_does_not_stop_the_chat(url: str, caplog: pytest.LogCaptureFixture) -> None:
    anna = OpenWebUi(Filter.Valves(url=url), access_token="wrong")
    assert len(anna.chat("one", STATEMENT)) == 2
    assert [event["type"] for event in anna.emitted] == ["status"]
    assert "401" in caplog.text
