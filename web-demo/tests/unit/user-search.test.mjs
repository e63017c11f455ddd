// The search in the list of users.
import assert from "node:assert/strict";
import path from "node:path";
import { before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
let state;
before(async () => {
  const [{ output }] = await build({ configFile: false, root, logLevel: "silent", build: { write: false, lib: { entry: path.join(root, "src/demo/settings/state/user-search.ts"), formats: ["es"] } } });
  state = await import(`data:text/javascript,${encodeURIComponent(output[0].code)}`);
});

const users = [
  { id: "0190b0d4-7d7c-7000-8000-000000000001", kind: "ACCOUNT" }, { id: "0190b0d4-7d7c-7000-8000-000000000002", kind: "VISITOR" },
  { id: "5f2c0000-0000-4000-8000-00000000abcd", kind: "VISITOR" }, { id: "00000000-0000-4000-8000-000000000000", kind: "SHARED" },
];
const found = (text, kind = null) => users.filter((user) => state.fits({ text, kind }, user)).map(({ id }) => id.slice(-4));

test("a part of the id is found, with or without hyphens and capitals", () => {
  assert.deepEqual(found("7d7c-7000"), ["0001", "0002"]);
  assert.deepEqual(found(" 7D7C7000 "), ["0001", "0002"]);
  assert.deepEqual(found("abcd"), ["abcd"]);
  assert.deepEqual(found("7d7c", "VISITOR"), ["0002"]);
  assert.deepEqual(found("nobody"), []);
  assert.equal(state.isSearching({ text: " - ", kind: null }), false);
});

test("the sentence never claims more than was searched", () => {
  const sentence = (text, kind, isWhole) => state.sentenceOf({ text, kind }, users, isWhole);
  assert.equal(sentence("", null, true), "These are all users with data (3).");
  assert.equal(sentence("", null, false), "These are the first 3 users, by id.");
  assert.equal(sentence("abcd", null, false), "1 user fits among the first 3. The others are not searched yet.");
  assert.equal(sentence("7d7c", null, true), "2 users fit. All users with data are searched (3).");
  assert.equal(sentence("nobody", null, true), "No user fits. All users with data are searched (3).");
});
