"""A model server for the checks with Open WebUI. It tells what the block of memory says about the question, and cites it.

Usage: model_server.py PORT LOG. Writes each chat request to LOG as a line of JSON, and `{"hung_up": true}` if a client leaves a stream.
"""

from __future__ import annotations

import json
import re
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MODEL = "demo-model"
WORDS = re.compile(r"\S+\s*")
LOG = open(sys.argv[2], "a", buffering=1)


def text_of(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "\n".join(part["text"] for part in content if part["type"] == "text")


def answer(messages: list[dict[str, Any]]) -> str:
    question = next(message for message in reversed(messages) if message["role"] == "user")
    # Without the documents that Open WebUI puts before it.
    text = text_of(question).rpartition("</context>")[2].strip()
    if text.startswith("### Task:"):
        start = text[:200]
        return '{"title": "A Title of the Model"}' if "title" in start else '{"tags": ["Family"]}' if "tags" in start else "{}"
    if isinstance(question["content"], list):
        return "A picture."
    if "slowly" in text:
        return "One word after the other. " * 100
    memory = next((text_of(message) for message in messages if text_of(message).startswith("Memory:")), "")
    words = {word for word in re.findall(r"\w+", text.lower()) if len(word) > 4}
    for number, said in re.findall(r'^\[(\d+)\] On [^,]+, the user said: (".*")$', memory, re.MULTILINE):
        if words & set(re.findall(r"\w+", said.lower())) and text.endswith("?"):
            return f"You told me: {json.loads(said)} [{number}]"
    return "I do not know that." if text.endswith("?") else "Thank you for telling me."


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        self.reply({"object": "list", "data": [{"id": MODEL, "object": "model", "created": 1, "owned_by": "tests"}]})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        LOG.write(json.dumps(body) + "\n")
        text = answer(body["messages"])
        head = {"id": "chatcmpl-1", "created": int(time.time()), "model": MODEL}
        if not body.get("stream"):
            message = {"role": "assistant", "content": text}
            self.reply({**head, "object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        try:
            for word in WORDS.findall(text):
                self.event({**head, "choices": [{"index": 0, "delta": {"content": word}, "finish_reason": None}]})
                time.sleep(0.02)
            self.event({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
            self.wfile.write(b"data: [DONE]\n\n")
        except OSError:
            LOG.write('{"hung_up": true}\n')
        self.close_connection = True

    def event(self, chunk: dict[str, Any]) -> None:
        self.wfile.write(f"data: {json.dumps({'object': 'chat.completion.chunk', **chunk})}\n\n".encode())
        self.wfile.flush()

    def reply(self, value: Any) -> None:
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
