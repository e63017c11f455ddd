import assert from "node:assert/strict";
import { test } from "node:test";
import { formatCursor, parseCursor, webStorageCursors } from "../dist/cursor.js";
import { fullJitter } from "../dist/backoff.js";
import { parseFrame } from "../dist/protocol.js";

test("a formatted cursor parses to the same cursor", () => {
  for (const cursor of [{ epoch: "a", seq: 0 }, { epoch: "01J:x:y", seq: 42 }, { epoch: "e", seq: Number.MAX_SAFE_INTEGER }]) {
    assert.deepEqual(parseCursor(formatCursor(cursor)), cursor);
  }
});

test("invalid cursors parse to null", () => {
  for (const text of ["", ":", ":1", "e:", "e:-1", "e:1.5", "e:1e3", "e: 1", "e", null, undefined, `e:${2 ** 60}`]) assert.equal(parseCursor(text), null, `${text}`);
});

test("cursors are stored per session, and forbidden storage is ignored", () => {
  const kept = new Map();
  const store = webStorageCursors(() => ({ getItem: (k) => kept.get(k) ?? null, setItem: (k, v) => kept.set(k, v) }));
  store.save("s1", { epoch: "e", seq: 7 });
  assert.deepEqual(store.load("s1"), { epoch: "e", seq: 7 });
  assert.equal(store.load("s2"), null);
  const forbidden = webStorageCursors(() => { throw new Error("denied"); });
  forbidden.save("s1", { epoch: "e", seq: 7 });
  assert.equal(forbidden.load("s1"), null);
});

test("full jitter stays below a ceiling that doubles up to the cap", () => {
  const options = { baseMs: 100, capMs: 5000 };
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const ceiling = Math.min(5000, 100 * 2 ** attempt);
    assert.equal(fullJitter(attempt, options, () => 0), 0);
    const most = fullJitter(attempt, options, () => 1 - Number.EPSILON);
    assert.ok(most <= ceiling && most > ceiling * 0.99, `${attempt}: ${most}`);
  }
});

test("known frames parse, unknown types are marked, invalid frames are null", () => {
  assert.equal(parseFrame('{"t":"ev","seq":3,"id":"x","type":"fact_update","ts":"t","d":{}}').seq, 3);
  assert.equal(parseFrame('{"t":"from_the_future","x":1}'), "unknown");
  assert.equal(parseFrame('{"t":"toString"}'), "unknown");
  for (const broken of ["", "null", "[]", "{", "7", '{"t":1}', '{"t":"ev"}', '{"t":"ev","seq":"3","type":"x"}', '{"t":"gap","from":1}', '{"t":"welcome","epoch":"e"}', new ArrayBuffer(3)]) {
    assert.equal(parseFrame(broken), null, String(broken));
  }
});
