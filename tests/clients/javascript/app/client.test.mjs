// The packed client in Node against the real server: the usual work, errors, and events that resume after a cut.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { RecallClient, RecallError, allItems } from "@relevantic/recall";
import { Proxy, TOKEN, startServer, until } from "./harness.mjs";

let server;
let proxy;
let recall;
before(async () => {
  proxy = await Proxy.start();
  server = await startServer({ RECALL_TOKEN: TOKEN, RECALL_PUBLIC_URL: proxy.url });
  proxy.target = server.url;
  recall = new RecallClient({ url: server.url, token: TOKEN });
});
after(async () => {
  await proxy?.stop();
  await server?.stop();
});

test("a message teaches facts that context, lists and evidence return", async () => {
  const session = await recall.createSession("Facts");
  const message = await recall.sendAndWait({ sessionId: session.id, text: "John likes Mary." });
  assert.equal(message.status, "PROCESSED");
  assert.equal(message.kind, "STATEMENT");
  const { items } = await recall.facts({ filter: { sessionId: session.id } });
  const [fact] = items;
  assert.deepEqual([fact.subject.name, fact.relation, fact.object.name], ["John", "LIKES", "Mary"]);
  const context = await recall.context("Who does John like?");
  assert.equal(context.facts[0].fact.id, fact.id);
  assert.equal(context.messages[0].message.id, message.id);
  const evidence = await recall.evidence(fact.id);
  assert.equal(evidence.items[0].message.id, message.id);
  assert.equal((await recall.fact(fact.id)).phrase, "likes");
  assert.equal((await recall.message(message.id)).text, "John likes Mary.");
  assert.equal((await recall.resolveEntity("mary")).entity.name, "Mary");
  assert.equal((await recall.entity(fact.subject.id)).name, "John");
});

test("a question is answered with citations, and a statement is not", async () => {
  const session = await recall.createSession("Answers");
  assert.equal(await recall.ask({ sessionId: session.id, text: "Ada lives in Ghent." }), null);
  const parts = [];
  const answer = await recall.ask({ sessionId: session.id, text: "Where does Ada live?", clientMessageId: "where" }, { onDelta: ({ text }) => parts.push(text) });
  assert.match(answer.text, /Ghent/);
  assert.equal(answer.role, "ASSISTANT");
  assert.ok(answer.citations[0].message.id);
  assert.ok(answer.text.startsWith(parts.join("").slice(0, 3)));
  const again = await recall.ask({ sessionId: session.id, text: "Where does Ada live?", clientMessageId: "where" });
  assert.equal(again.id, answer.id, "a repeated question returns the same answer");
  assert.equal(await recall.cancelAnswer(answer.id).catch((error) => error.code), false);
});

test("facts are asserted and retracted, and entities renamed and merged", async () => {
  const session = await recall.createSession("Corrections");
  const fact = await recall.assertFact({ sessionId: session.id, subject: "Nadia", relation: "LIVES_IN", object: "Lisbon" });
  assert.equal((await recall.retractFact(fact.id)).status, "RETRACTED");
  assert.equal((await recall.restoreFact(fact.id)).status, "ACTIVE");
  const renamed = await recall.renameEntity({ id: fact.subject.id, name: "Nadia Costa" });
  assert.deepEqual(renamed.aliases, ["Nadia"]);
  const other = await recall.assertFact({ sessionId: session.id, subject: "Nadja", relation: "LIVES_IN", object: "Porto" });
  assert.equal((await recall.mergeEntities({ intoId: renamed.id, fromId: other.subject.id })).id, renamed.id);
  const people = await recall.entities({ filter: { sessionId: session.id, type: "PERSON" } });
  assert.deepEqual(people.items.map((entity) => entity.name), ["Nadia Costa"]);
});

test("imported messages are listed page by page, and the session is deleted", async () => {
  const session = await recall.createSession("Import");
  const texts = Array.from({ length: 7 }, (_, i) => `Note ${i}`);
  const stored = await recall.importMessages(session.id, texts.map((text, i) => ({ text, externalId: String(i), role: i % 2 ? "ASSISTANT" : "USER" })));
  assert.equal(stored.length, 7);
  const read = [];
  for await (const message of allItems((next) => recall.messages(session.id, { first: 3, after: next }))) read.push(message.text);
  assert.deepEqual(read, texts);
  const latest = await recall.latestMessages(session.id, { last: 2 });
  assert.deepEqual(latest.items.map((message) => message.text), ["Note 5", "Note 6"]);
  assert.deepEqual((await recall.latestMessages(session.id, { last: 2, before: latest.next })).items.map((message) => message.text), ["Note 3", "Note 4"]);
  const { items } = await recall.sessions({ first: 100 });
  assert.ok(items.some(({ id }) => id === session.id));
  await recall.deleteSession(session.id);
  assert.equal(await recall.session(session.id), null);
});

test("errors have a stable code", async () => {
  const unknown = "00000000-0000-0000-0000-000000000000";
  const codeOf = (call) => call.then(() => "none", (error) => (assert.ok(error instanceof RecallError), error.code));
  assert.equal(await codeOf(recall.messages(unknown)), "NOT_FOUND");
  assert.equal(await codeOf(recall.ask({ sessionId: unknown, text: "x" })), "NOT_FOUND");
  assert.equal(await codeOf(recall.facts({ first: 1000 })), "INVALID_PAGE_SIZE");
  assert.equal(await codeOf(new RecallClient({ url: server.url, token: "wrong" }).viewer()), "UNAUTHENTICATED");
  assert.equal(await codeOf(new RecallClient({ url: "http://127.0.0.1:9" }).viewer()), "UNREACHABLE");
  const session = await recall.createSession();
  assert.equal(await codeOf(recall.sendMessage({ sessionId: session.id, text: "" })), "TEXT_EMPTY");
  assert.equal((await recall.viewer()).role, "ADMIN");
  const aborted = AbortSignal.abort(new Error("stop"));
  await assert.rejects(recall.ask({ sessionId: session.id, text: "Who is Bo?" }, { signal: aborted }), /stop/);
});

test("forgotten facts and messages are gone until the forgetting is undone", async () => {
  const session = await recall.createSession("Forget");
  const message = await recall.sendAndWait({ sessionId: session.id, text: "Otto likes Zoe." });
  const filter = { sessionId: session.id };
  const [fact] = (await recall.facts({ filter })).items;
  const isKnown = async () => [(await recall.facts({ filter })).items.length, (await recall.messages(session.id)).items.length];
  const inputs = [{ query: "that Otto likes Zoe" }, { factIds: [fact.id] }, { messageIds: [message.id] }, { factIds: [fact.id], messageIds: [message.id] }];
  for (const input of inputs) {
    const dry = await recall.forget(input);
    assert.deepEqual([dry.factCount, dry.messageCount, dry.token], [1, 1, null]);
    assert.deepEqual([dry.facts[0].id, dry.facts[0].subject.name, dry.messages[0].id], [fact.id, "Otto", message.id]);
    assert.deepEqual(await isKnown(), [1, 1], "a dry run changes nothing");
    const forgotten = await recall.forget({ ...input, dryRun: false });
    assert.deepEqual([forgotten.facts[0].id, forgotten.messages[0].text], [fact.id, "Otto likes Zoe."]);
    assert.deepEqual(await isKnown(), [0, 0]);
    assert.equal(await recall.message(message.id), null);
    const restored = await recall.undoForget(forgotten.token);
    assert.deepEqual([restored.factCount, restored.messageCount, restored.facts[0].id], [1, 1, fact.id]);
    assert.deepEqual(await isKnown(), [1, 1]);
    assert.equal((await recall.fact(fact.id)).status, "ACTIVE");
    await assert.rejects(recall.undoForget(forgotten.token), { code: "NOT_FOUND" });
  }
  await assert.rejects(recall.forget({}), { code: "NOTHING_NAMED" });
  await assert.rejects(recall.forget({ messageIds: ["x"] }), { code: "INVALID_ID" });
});

test("a message is deleted with its facts, and a session gets another title", async () => {
  const session = await recall.createSession("Before");
  const { id } = await recall.sendAndWait({ sessionId: session.id, text: "Ines likes Omar." });
  await recall.deleteMessage(id);
  assert.equal(await recall.message(id), null);
  assert.deepEqual((await recall.facts({ filter: { sessionId: session.id } })).items, []);
  await assert.rejects(recall.deleteMessage(id), { code: "NOT_FOUND" });
  assert.equal((await recall.renameSession(session.id, "After")).title, "After");
  assert.equal((await recall.updateSession({ sessionId: session.id, pinned: true })).title, "After");
  assert.equal((await recall.session(session.id)).title, "After");
  await assert.rejects(recall.renameSession(session.id, ""), { code: "TITLE_EMPTY" });
});

// Node has WebSocket from version 22 on.
for (const transport of ["sse", ...(typeof WebSocket === "undefined" ? [] : ["websocket"])]) {
  test(`events over ${transport} resume after a cut`, async () => {
    const session = await recall.createSession("Events");
    const through = new RecallClient({ url: proxy.url, token: () => TOKEN });
    const seen = [];
    const gaps = [];
    const stream = through.stream(session.id, { from: session.head, transports: [transport], backoff: { baseMs: 50, capMs: 200 }, onGap: (gap) => void gaps.push(gap) });
    stream.on("event", (event, meta) => {
      assert.equal(meta.transport, transport);
      seen.push(meta.seq);
    });
    stream.start();
    await until(() => stream.state.phase === "live", "the stream to open");
    await recall.sendAndWait({ sessionId: session.id, text: "Mia likes Leo." });
    await until(() => seen.length > 0, "the first events");
    proxy.cut();
    await until(() => stream.state.phase === "waiting", "the stream to notice the cut");
    await recall.sendAndWait({ sessionId: session.id, text: "Leo works at Acme." });
    proxy.restore();
    const { head } = await recall.session(session.id);
    const last = Number(head.split(":").at(-1));
    await until(() => seen.at(-1) === last, "the missed events");
    assert.deepEqual(seen, Array.from({ length: last }, (_, i) => i + 1));
    assert.deepEqual(gaps, []);
    // A program that stops continues later, with the cursor it kept.
    const { cursor } = stream.state;
    stream.close();
    await recall.sendAndWait({ sessionId: session.id, text: "Leo likes chess." });
    const later = through.stream(session.id, { from: cursor, transports: [transport] });
    const first = new Promise((resolve) => later.on("event", (_event, meta) => resolve(meta)));
    later.start();
    assert.deepEqual([(await first).seq, (await first).replayed], [last + 1, true]);
    later.close();
  });
}

test("a stream of an unknown session ends with the reason", async () => {
  const stream = recall.stream("00000000-0000-0000-0000-000000000000");
  stream.start();
  await until(() => stream.state.phase === "closed", "the stream to end");
  assert.equal(stream.state.reason, "SESSION_NOT_FOUND");
});
