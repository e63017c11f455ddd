// Parsing of server-sent events.
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseEvent, readEvents } from "../dist/sse.js";

const bodyOf = (...pieces) => new ReadableStream({
  start(controller) {
    for (const piece of pieces) controller.enqueue(typeof piece === "string" ? new TextEncoder().encode(piece) : piece);
    controller.close();
  },
});

async function collect(body) {
  const events = [];
  let heard = 0;
  for await (const event of readEvents(body, () => { heard += 1; })) events.push(event);
  return { events, heard };
}

test("events parse with id, type and data of several lines", () => {
  assert.deepEqual(parseEvent("id: e1:4\nevent: gap\ndata: {\ndata: }"), { type: "gap", id: "e1:4", data: "{\n}" });
  assert.deepEqual(parseEvent("data:x"), { type: "message", id: "", data: "x" });
});

test("comments and events without data are left out", () => {
  assert.equal(parseEvent(": keep-alive"), null);
  assert.equal(parseEvent(":"), null);
  assert.equal(parseEvent("id: e1:4\nretry: 1000"), null);
});

test("events that arrive in pieces are joined, also within a character", async () => {
  const bytes = new TextEncoder().encode("id: e1:1\ndata: é\n\n:\n\ndata: 2\n\ndata: cut");
  const { events, heard } = await collect(bodyOf(...[...bytes].map((byte) => Uint8Array.of(byte))));
  assert.deepEqual(events, [{ type: "message", id: "e1:1", data: "é" }, { type: "message", id: "", data: "2" }]);
  assert.equal(heard, bytes.length);
});

test("a body without a line end is bounded", async () => {
  const piece = "x".repeat(1024 * 1024);
  await assert.rejects(collect(bodyOf(...Array.from({ length: 6 }, () => piece))), RangeError);
});
