// What became of a fact between two days.
import assert from "node:assert/strict";
import path from "node:path";
import { before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
let changeOf;
before(async () => {
  const entry = path.join(root, "src/demo/memory/state/past.ts");
  const [{ output }] = await build({ configFile: false, root, logLevel: "silent", build: { write: false, lib: { entry, formats: ["es"] } } });
  ({ changeOf } = await import(`data:text/javascript,${encodeURIComponent(output[0].code)}`));
});

const fact = (status, statedAt, endStatedAt = null) => ({ status, statedAt: `${statedAt}T12:00:00`, endStatedAt: endStatedAt && `${endStatedAt}T12:00:00` });

test("what held on the first day has ended or was retracted", () => {
  assert.equal(changeOf(fact("ENDED", "2024-02-01", "2024-05-01"), "2024-03-31"), "ended");
  assert.equal(changeOf(fact("RETRACTED", "2024-02-01", "2024-05-01"), "2024-03-31"), "retracted");
});

test("what did not hold on the first day was learned, also if it has ended since the second", () => {
  assert.equal(changeOf(fact("ACTIVE", "2024-05-01"), "2024-03-31"), "learned");
  assert.equal(changeOf(fact("ENDED", "2024-05-01", "2024-06-01"), "2024-03-31"), "learned");
  assert.equal(changeOf(fact("RETRACTED", "2024-05-01", "2024-06-01"), "2024-03-31"), "learned");
});

test("the first day counts to its end", () => {
  assert.equal(changeOf(fact("ACTIVE", "2024-03-31"), "2024-03-30"), "learned");
  assert.equal(changeOf(fact("ENDED", "2024-03-31", "2024-04-01"), "2024-03-31"), "ended");
});
