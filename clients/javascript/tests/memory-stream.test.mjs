// The stream of all events against a small server. Browser tests cover its WebSocket and the real server.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { once } from "node:events";
import { test } from "node:test";
import { MemoryStream } from "../dist/index.js";

const until = async (check, what) => {
  for (let i = 0; i < 2000; i += 1) {
    if (check()) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  assert.fail(`timed out: ${what}`);
};

/** Delivers a log from any number on. `floor`: what is before it is a gap. */
class Memory {
  log = [];
  floor = 1;
  asked = [];
  open = new Set();
  status = 200;

  async start() {
    this.server = createServer((request, response) => {
      const url = new URL(request.url, "http://localhost");
      if (url.pathname === "/graphql") {
        response.setHeader("content-type", "application/json");
        return response.end(JSON.stringify({ data: { viewer: { head: `e:${this.log.length},s:0` } } }));
      }
      this.asked.push(url.searchParams.get("after"));
      if (this.status !== 200) return response.writeHead(this.status).end("{}");
      response.writeHead(200, { "content-type": "text/event-stream" });
      const reader = { response, position: Number(/^e:(\d+),s:0$/.exec(url.searchParams.get("after"))[1]) };
      this.open.add(reader);
      request.on("close", () => this.open.delete(reader));
      this.#deliver(reader);
      response.write(`id: e:${reader.position},s:0\nevent: caught_up\ndata: {"seq":${reader.position}}\n\n`);
    }).listen(0, "127.0.0.1");
    await once(this.server, "listening");
    this.url = `http://127.0.0.1:${this.server.address().port}`;
    return this;
  }

  #deliver(reader) {
    if (reader.position + 1 < this.floor) {
      const [from, to] = [reader.position + 1, this.floor - 1];
      reader.position = to;
      reader.response.write(`id: e:${to},s:0\nevent: gap\ndata: ${JSON.stringify({ from, to, reason: "expired" })}\n\n`);
    }
    for (; reader.position < this.log.length; reader.position += 1) {
      reader.response.write(`id: e:${reader.position + 1},s:0\nevent: x\ndata: ${JSON.stringify(this.log[reader.position])}\n\n`);
    }
  }

  add(...numbers) {
    this.log.push(...numbers.map((number) => ({ type: "x", number })));
    for (const reader of this.open) this.#deliver(reader);
  }

  cut() {
    for (const { response } of this.open) response.destroy();
  }

  stop() {
    this.cut();
    this.server.close();
  }
}

async function follow(memory, options = {}) {
  const seen = [];
  const stream = new MemoryStream({ endpoint: { url: memory.url }, transports: ["sse"], backoff: { baseMs: 5, capMs: 20 }, ...options });
  stream.on("event", ({ number }) => seen.push(number));
  stream.start();
  await until(() => stream.state.phase === "live", "the stream to be live");
  return { stream, seen };
}

test("each connection resumes after the last event", async () => {
  const memory = await new Memory().start();
  memory.add(1, 2);
  const { stream, seen } = await follow(memory, { from: "e:1,s:0" });
  await until(() => seen.length === 1, "the missed event");
  memory.add(3);
  await until(() => seen.length === 2, "the live event");
  memory.cut();
  await until(() => stream.state.phase !== "live", "the lost connection");
  memory.add(4);
  await until(() => seen.length === 3, "the event from between");
  assert.deepEqual([seen, memory.asked], [[2, 3, 4], ["e:1,s:0", "e:3,s:0"]]);
  assert.equal(stream.state.cursor, "e:4,s:0");
  stream.close();
  memory.stop();
});

test("a stream without a cursor begins at the head, even if its first connection fails", async () => {
  const memory = await new Memory().start();
  memory.add(1, 2);
  memory.status = 503;
  const stream = new MemoryStream({ endpoint: { url: memory.url }, transports: ["sse"], backoff: { baseMs: 5, capMs: 20 } });
  const seen = [];
  stream.on("event", ({ number }) => seen.push(number));
  stream.start();
  await until(() => memory.asked.length > 0, "the first attempt");
  memory.add(3);
  memory.status = 200;
  await until(() => seen.length === 1, "the event after the head");
  assert.deepEqual([seen, memory.asked[0]], [[3], "e:2,s:0"]);
  stream.close();
  memory.stop();
});

test("events after a gap wait for the refetch, which is repeated until it succeeds", async () => {
  const memory = await new Memory().start();
  memory.add(1, 2, 3, 4);
  memory.floor = 4;
  const gaps = [];
  let fail = 2;
  const onGap = async (gap) => {
    gaps.push(gap);
    await Promise.resolve();
    if (fail-- > 0) throw new Error("not yet");
    assert.deepEqual(seen, [], "an event was delivered before the state was read");
  };
  const seen = [];
  const stream = new MemoryStream({ endpoint: { url: memory.url }, transports: ["sse"], from: "e:1,s:0", onGap, backoff: { baseMs: 1, capMs: 5 } });
  stream.on("event", ({ number }) => seen.push(number));
  stream.start();
  await until(() => seen.length === 1, "the event after the gap");
  assert.deepEqual(gaps[0], { shared: false, from: 2, to: 3, reason: "expired" });
  assert.deepEqual([gaps.length, seen, stream.state.cursor], [3, [4], "e:4,s:0"]);
  stream.close();
  memory.stop();
});

test("a connection lost during a refetch loses no event", async () => {
  const memory = await new Memory().start();
  memory.add(1, 2, 3);
  memory.floor = 3;
  let release;
  const held = new Promise((resolve) => (release = resolve));
  let refetches = 0;
  const { stream, seen } = await follow(memory, { from: "e:0,s:0", onGap: () => { refetches += 1; return refetches === 1 ? held : undefined; } });
  await until(() => refetches === 1, "the refetch");
  memory.cut();
  await until(() => memory.asked.length === 2, "the next connection");
  assert.equal(memory.asked[1], "e:0,s:0", "the cursor moved past a gap whose state was not read");
  memory.add(4);
  release();
  await until(() => seen.length === 2, "the events after the gap");
  assert.deepEqual(seen, [3, 4]);
  stream.close();
  memory.stop();
});

test("a refused stream closes, and an unreachable one tries the other transport", async () => {
  const memory = await new Memory().start();
  memory.status = 401;
  const stream = new MemoryStream({ endpoint: { url: memory.url }, transports: ["sse"], from: "e:0,s:0" }).start();
  await until(() => stream.state.phase === "closed", "the end");
  assert.equal(stream.state.reason, "STREAM_401");
  memory.status = 200;
  if (typeof WebSocket === "undefined") return memory.stop();
  // This server has no WebSocket.
  const { stream: other } = await follow(memory, { transports: ["websocket", "sse"], from: "e:0,s:0" });
  assert.equal(other.state.transport, "sse");
  other.close();
  memory.stop();
});
