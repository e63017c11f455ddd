// Resumable subscriptions with a simulated client. Browser tests cover the real graphql-ws.
import assert from "node:assert/strict";
import { test } from "node:test";
import { resume } from "../dist/resume.js";

const EVENTS = "subscription Follow($id: ID!, $from: String) { sessionEvents(sessionId: $id, after: $from) { seq cursor } }";

/** Serializes the request again for each connection, like graphql-ws. */
class Client {
  sent = [];
  operations = [];
  subscribe(request, sink) {
    const operation = { request, sink, open: true };
    this.operations.push(operation);
    this.connect(operation);
    return () => {
      operation.open = false;
      sink.complete();
    };
  }
  connect(operation) {
    this.sent.push(JSON.parse(JSON.stringify(operation.request)));
  }
  iterate() {
    assert.fail("the client's own iterate does not resume");
  }
}

const collect = () => {
  const seen = { results: [], errors: [], completed: 0 };
  const sink = { next: (r) => seen.results.push(r), error: (e) => seen.errors.push(e), complete: () => { seen.completed += 1; } };
  return { seen, sink };
};
const event = (seq) => ({ data: { sessionEvents: { seq, cursor: `e:${seq}` } } });

test("each connection resumes after the last event", () => {
  const client = new Client();
  const { seen, sink } = collect();
  const variables = { id: "s", from: "e:3" };
  resume(client).subscribe({ query: EVENTS, variables }, sink);
  const [operation] = client.operations;
  assert.deepEqual(client.sent, [{ query: EVENTS, variables }]);
  client.connect(operation);
  operation.sink.next(event(4));
  operation.sink.next(event(5));
  client.connect(operation);
  assert.deepEqual(client.sent.map((r) => r.variables.from), ["e:3", "e:3", "e:5"]);
  assert.deepEqual(seen.results, [event(4), event(5)]);
  assert.deepEqual(variables, { id: "s", from: "e:3" }, "the application's variables are unchanged");
  operation.sink.complete();
  assert.equal(seen.completed, 1);
});

test("the subscription of all events is resumed too", () => {
  const client = new Client();
  const { seen, sink } = collect();
  const query = "subscription All($from: String) { memoryEvents(after: $from) { cursor data } }";
  resume(client).subscribe({ query }, sink);
  const [head] = client.operations;
  assert.match(client.sent[0].query, /viewer\{head\}/);
  head.sink.next({ data: { viewer: { head: "a:3,b:0" } } });
  head.sink.complete();
  assert.equal(client.sent[1].variables.from, "a:3,b:0");
  const [, events] = client.operations;
  events.sink.next({ data: { memoryEvents: { cursor: "a:3,b:1" } } });
  client.connect(events);
  assert.equal(client.sent[2].variables.from, "a:3,b:1");
  assert.equal(seen.results.length, 1);
  assert.throws(() => resume(client).subscribe({ query: "subscription { memoryEvents { data } }" }, sink), TypeError);
});

test("a subscription without a cursor starts at the head, even if the first connection fails", () => {
  const client = new Client();
  const { seen, sink } = collect();
  resume(client).subscribe({ query: EVENTS, variables: { id: "s" } }, sink);
  const [head] = client.operations;
  assert.match(client.sent[0].query, /session\(id:\$sessionId\)\{head\}/);
  assert.deepEqual(client.sent[0].variables, { sessionId: "s" });
  head.sink.next({ data: { session: { head: "e:7" } } });
  head.sink.complete();
  const [, operation] = client.operations;
  client.connect(operation);
  assert.deepEqual(client.sent.slice(1).map((r) => r.variables), [{ id: "s", from: "e:7" }, { id: "s", from: "e:7" }]);
  assert.deepEqual([seen.results, seen.errors, seen.completed], [[], [], 0]);
});

test("an unreadable session causes one error", () => {
  for (const [answer, code] of [[{ data: { session: null } }, "NOT_FOUND"], [{ errors: [{ message: "x", extensions: { code: "UNAVAILABLE" } }] }, "UNAVAILABLE"]]) {
    const client = new Client();
    const { seen, sink } = collect();
    resume(client).subscribe({ query: EVENTS, variables: { id: "s" } }, sink);
    client.operations[0].sink.next(answer);
    client.operations[0].sink.complete();
    assert.equal(client.operations.length, 1);
    assert.deepEqual([seen.errors.map((e) => e[0].extensions.code), seen.completed], [[code], 0]);
  }
});

test("a subscription that ends before its start never starts", () => {
  const client = new Client();
  const { seen, sink } = collect();
  resume(client).subscribe({ query: EVENTS, variables: { id: "s" } }, sink)();
  assert.deepEqual([client.operations.length, seen.completed], [1, 1]);
});

test("documents that cannot be resumed throw, and other operations pass through", () => {
  const client = resume(new Client());
  const { sink } = collect();
  for (const query of [
    "subscription { sessionEvents(sessionId: \"s\") { cursor } }",
    "subscription { sessionEvents(sessionId: \"s\", after: \"e:1\") { cursor } }",
    EVENTS.replace(" cursor", ""),
  ]) {
    assert.throws(() => client.subscribe({ query }, sink), /after: \$after/);
  }
  client.subscribe({ query: "{ viewer { id } }", variables: { a: 1 } }, sink);
  assert.deepEqual(client.sent, [{ query: "{ viewer { id } }", variables: { a: 1 } }]);
});

test("iterate resumes, and ends with the loop", async () => {
  const plain = new Client();
  const events = resume(plain).iterate({ query: EVENTS, variables: { id: "s", from: "e:0" } });
  const [operation] = plain.operations;
  operation.sink.next(event(1));
  const seen = [];
  for await (const { data } of events) {
    seen.push(data.sessionEvents.seq);
    plain.connect(operation);
    if (seen.length === 1) queueMicrotask(() => operation.sink.next(event(2)));
    else break;
  }
  assert.deepEqual([seen, operation.open], [[1, 2], false]);
  assert.deepEqual(plain.sent.map((r) => r.variables.from), ["e:0", "e:1", "e:2"]);
  const failing = resume(new Client()).iterate({ query: EVENTS, variables: { id: "s", from: "e:0" } });
  const next = failing.next();
  await failing.return();
  assert.equal((await next).done, true, "a pending next() ends");
});
