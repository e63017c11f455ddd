// How long facts are marked as new.
import assert from "node:assert/strict";
import path from "node:path";
import { before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
let continueVisit;
let parseVisit;
before(async () => {
  const entry = path.join(root, "src/demo/memory/state/visit.ts");
  const [{ output }] = await build({ configFile: false, root, logLevel: "silent", build: { write: false, lib: { entry, formats: ["es"] } } });
  ({ continueVisit, parseVisit } = await import(`data:text/javascript,${encodeURIComponent(output[0].code)}`));
});

const at = (time) => `2026-03-01T${time}:00.000Z`;
const visit = (before, time) => continueVisit(before, new Date(at(time)));

test("nothing is new on the first visit", () => {
  assert.deepEqual(visit(null, "10:00"), { since: null, seenAt: at("10:00") });
  assert.equal(visit(visit(null, "10:00"), "10:29").since, null);
});

test("what changed after the last visit is new until the page was away for half an hour", () => {
  const second = visit({ since: null, seenAt: at("10:00") }, "10:30");
  assert.deepEqual(second, { since: at("10:00"), seenAt: at("10:30") });
  const reloaded = visit(second, "10:59");
  assert.deepEqual(reloaded, { since: at("10:00"), seenAt: at("10:59") }, "a reload keeps the marks");
  assert.equal(visit(reloaded, "11:28").since, at("10:00"), "so does the next one");
  assert.equal(visit(reloaded, "11:29").since, at("10:59"));
});

test("the next visit after an update begins after the last opening", () => {
  const stored = parseVisit(at("10:00"));
  assert.deepEqual(stored, { since: null, seenAt: at("10:00") });
  assert.equal(visit(stored, "10:30").since, at("10:00"));
});

test("a stored visit is read again, and nothing else is", () => {
  const known = { since: at("10:00"), seenAt: at("10:30") };
  assert.deepEqual(parseVisit(JSON.stringify(known)), known);
  for (const other of [null, 5, {}, { since: 5, seenAt: at("10:00") }, { since: null, seenAt: null }]) assert.equal(parseVisit(JSON.stringify(other)), null);
});
