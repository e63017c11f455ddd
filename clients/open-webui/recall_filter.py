"""
title: Relevantic Recall
author: Relevantic
version: 0.1.0
license: Apache-2.0
description: Remembers chats with a Recall server, and tells the model what is known about the last message.
required_open_webui_version: 0.6.0
"""

# A filter function of Open WebUI, for connections that do not go through Recall. See docs/open-webui.md.

import base64
import hashlib
import hmac
import json
import logging
import re
import time
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
from pydantic import BaseModel, Field

log = logging.getLogger(__name__)

Emitter = Callable[[dict[str, Any]], Awaitable[None]]

# How ids begin of chats that are not kept, and of channels, which several people share. The server refuses to remember them, too.
FORGETFUL = ("temporary:", "local:", "channel:")
# Where the sources of a question wait for its answer.
SOURCES = "recall_sources"
# Reasoning and tool calls, which Open WebUI writes into an answer.
DETAILS = re.compile(r"<details type=.*?</details>", re.DOTALL)
SECRET = {"input": {"type": "password"}}


class Filter:
    class Valves(BaseModel):
        url: str = Field(default="http://127.0.0.1:8080", description="Address of the Recall server.")
        frontend_key: str = Field(default="", description="The server's frontend.key. Each user then has a separate memory.", json_schema_extra=SECRET)
        user_secret: str = Field(default="", description="The server's frontend.user_secret, which signs the user.", json_schema_extra=SECRET)
        without_login: bool = Field(default=False, description="The server has no login. All users of this Open WebUI then share one memory.")
        show_sources: bool = Field(default=True, description="Show below an answer which memories it cites.")
        timeout_seconds: float = Field(default=5.0, description="How long a chat waits for its memory.")
        priority: int = Field(default=0, description="Filters with a lower number run first.")

    class UserValves(BaseModel):
        enabled: bool = Field(default=True, description="Remember my chats, and use what is known.")
        access_token: str = Field(default="", description="My access token of the Recall server, if it gave me one.", json_schema_extra=SECRET)

    def __init__(self) -> None:
        self.valves = self.Valves()

    async def inlet(
        self,
        body: dict[str, Any],
        __user__: dict[str, Any] | None = None,
        __metadata__: dict[str, Any] | None = None,
        __event_emitter__: Emitter | None = None,
    ) -> dict[str, Any]:
        """Stores what is new in the chat, and inserts what is known behind the leading system messages."""
        metadata = __metadata__ if __metadata__ is not None else {}
        messages = body.get("messages") or []
        found = await self._remember(messages, __user__ or {}, metadata, __event_emitter__)
        memory = found.get("memory")
        if memory:
            at = next((n for n, message in enumerate(messages) if message.get("role") != "system"), len(messages))
            body["messages"] = [*messages[:at], {"role": "system", "content": memory}, *messages[at:]]
            metadata[SOURCES] = found.get("sources") or []
        return body

    async def outlet(
        self,
        body: dict[str, Any],
        __user__: dict[str, Any] | None = None,
        __metadata__: dict[str, Any] | None = None,
        __event_emitter__: Emitter | None = None,
    ) -> dict[str, Any]:
        """Stores the answer, and shows its sources."""
        metadata = __metadata__ if __metadata__ is not None else {}
        messages = body.get("messages") or []
        if not messages or messages[-1].get("role") != "assistant":
            return body
        sources = metadata.pop(SOURCES, [])
        await self._remember(messages, __user__ or {}, metadata, None)
        if self.valves.show_sources and __event_emitter__:
            answer = text_of(messages[-1])
            # Open WebUI counts the sources, so those before a cited one are needed, too.
            last = max((n for n in range(1, len(sources) + 1) if f"[{n}]" in answer), default=0)
            for source in sources[:last]:
                await __event_emitter__({"type": "source", "data": source})
        return body

    async def _remember(
        self, messages: list[dict[str, Any]], user: dict[str, Any], metadata: dict[str, Any], emitter: Emitter | None
    ) -> dict[str, Any]:
        """Sends a chat to the server. Returns its reply, or nothing if the chat is not remembered. A failure never stops the chat."""
        chat = str(metadata.get("chat_id") or "")
        credentials = self._credentials(user)
        if credentials is None or not chat or chat.startswith(FORGETFUL) or metadata.get("task"):
            return {}
        turns = [{"role": message["role"], "content": text_of(message)} for message in messages if message.get("role") in ("user", "assistant")]
        headers = {**credentials, "X-OpenWebUI-Chat-Id": chat}
        try:
            async with httpx.AsyncClient(timeout=self.valves.timeout_seconds) as client:
                reply = await client.post(f"{self.valves.url.rstrip('/')}/v1/memory", json={"messages": turns}, headers=headers)
            reply.raise_for_status()
            found = reply.json()
            return found if isinstance(found, dict) else {}
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            # The text of an error can quote what the user said.
            reason = error.response.status_code if isinstance(error, httpx.HTTPStatusError) else type(error).__name__
            log.warning("a chat continues without its memory: %s", reason)
            if emitter:
                await emitter({"type": "status", "data": {"description": "The memory is not available.", "done": True}})
            return {}

    def _credentials(self, user: dict[str, Any]) -> dict[str, str] | None:
        """Returns the headers that say who the user is; `None` if nothing of theirs shall be remembered."""
        own = user.get("valves")
        if own is not None and not own.enabled:
            return None
        if own is not None and own.access_token:
            return {"Authorization": f"Bearer {own.access_token}"}
        if self.valves.frontend_key and self.valves.user_secret and user.get("id"):
            signed = sign_user(user, self.valves.user_secret)
            return {"Authorization": f"Bearer {self.valves.frontend_key}", "X-OpenWebUI-User-Jwt": signed}
        return {} if self.valves.without_login else None


def text_of(message: dict[str, Any]) -> str:
    """Returns the text of a message, without images, reasoning and tool calls."""
    content = message.get("content") or ""
    if isinstance(content, list):
        content = "\n".join(part.get("text") or "" for part in content if part.get("type") == "text")
    return DETAILS.sub("", content).strip() if message.get("role") == "assistant" else content


def sign_user(user: dict[str, Any], secret: str) -> str:
    """Signs a user as Open WebUI does (JWT, HS256), so that both ways lead to the same memory."""
    now = int(time.time())
    claims = {"sub": user["id"], "iss": "open-webui", "iat": now, "exp": now + 300}
    parts = [base64url(json.dumps(part).encode()) for part in ({"alg": "HS256", "typ": "JWT"}, claims)]
    content = ".".join(parts)
    return f"{content}.{base64url(hmac.new(secret.encode(), content.encode(), hashlib.sha256).digest())}"


def base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
