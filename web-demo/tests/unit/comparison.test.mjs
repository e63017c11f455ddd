// How comparisons and their documents are named.
import assert from "node:assert/strict";
import path from "node:path";
import { before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
let format;
before(async () => {
  const entry = path.join(root, "src/demo/documents/state/format.ts");
  const [{ output }] = await build({ configFile: false, root, logLevel: "silent", build: { write: false, lib: { entry, formats: ["es"] } } });
  format = await import(`data:text/javascript,${encodeURIComponent(output[0].code)}`);
});

const document = (id, filename, { version = 1, collection = "default" } = {}) => ({ id, filename, version, collection });
const names = (...documents) => [...format.namesOf(documents).values()];

test("documents of different names keep them", () => {
  assert.deepEqual(names(document("1", "a.md"), document("2", "b.md")), ["a.md", "b.md"]);
});

test("versions of a document are told apart", () => {
  assert.deepEqual(names(document("1", "a.md"), document("2", "a.md", { version: 2 }), document("3", "b.md")), ["a.md (version 1)", "a.md (version 2)", "b.md"]);
});

test("equal names of two collections are told apart", () => {
  assert.deepEqual(names(document("1", "a.md", { collection: "north" }), document("2", "a.md", { collection: "south" })), ["a.md (north)", "a.md (south)"]);
});

test("a comparison is named by its question or its documents", () => {
  const documents = [document("1", "a.md"), document("2", "b.md"), document("3", "c.md")];
  assert.equal(format.titleOf({ question: "Why?", documents }), "Why?");
  assert.equal(format.titleOf({ question: null, documents }), "Comparison of a.md, b.md and c.md");
});

test("a document can be compared when all its passages are stored", () => {
  const state = (status, done, chunkCount) => format.isSearchable({ status, done, chunkCount });
  assert.ok(state("COMPLETED", 8, 4));
  assert.ok(state("PROCESSING", 4, 4));
  assert.ok(!state("PROCESSING", 3, 4));
  assert.ok(!state("PROCESSING", 0, 0));
  assert.ok(!state("PENDING", 0, 0));
  assert.ok(!state("FAILED", 0, 0));
});

test("the progress of a comparison is a sentence until it ends", () => {
  const text = (status, done, total) => format.comparingText({ status, done, total });
  assert.equal(text("PENDING", 0, 0), "Waiting for its turn.");
  assert.equal(text("PROCESSING", 0, 0), "Waiting for its turn.");
  assert.equal(text("PROCESSING", 0, 1), "Comparing: 0 of 1 step.");
  assert.equal(text("COMPLETED", 4, 4), null);
  assert.equal(text("FAILED", 1, 4), null);
});
