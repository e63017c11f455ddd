// The previews of a merge and a split in words, with singular and plural.
import assert from "node:assert/strict";
import path from "node:path";
import { before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
let describeMerge;
let describeSplit;
before(async () => {
  const entry = path.join(root, "src/demo/memory/dialogs/merge-words.ts");
  const [{ output }] = await build({ configFile: false, root, logLevel: "silent", build: { write: false, lib: { entry, formats: ["es"] } } });
  ({ describeMerge, describeSplit } = await import(`data:text/javascript,${encodeURIComponent(output[0].code)}`));
});

const anna = { name: "Anna", isViewer: false };
const words = ([mentionsMoved, factsMoved, factsJoined, factsRemoved], stays = anna) => describeMerge({ mentionsMoved, factsMoved, factsJoined, factsRemoved }, stays);

test("each count has its own words", () => {
  assert.equal(words([3, 5, 1, 1]), "3 mentions and 5 facts move, 1 fact becomes one with a fact that is there, 1 fact is deleted because it would relate Anna to Anna.");
  assert.equal(words([1, 1, 2, 2]), "1 mention and 1 fact move, 2 facts each become one with a fact that is there, 2 facts are deleted because they would relate Anna to Anna.");
});

test("counts of zero are left out", () => {
  assert.equal(words([1, 0, 0, 0]), "1 mention moves.");
  assert.equal(words([0, 1, 0, 0]), "1 fact moves.");
  assert.equal(words([0, 2, 0, 0]), "2 facts move.");
  assert.equal(words([0, 0, 1, 0]), "1 fact becomes one with a fact that is there.");
  assert.equal(words([0, 0, 0, 0]), "No mention and no fact moves.");
});

test("the user is called you", () => {
  assert.equal(words([0, 0, 0, 1], { name: "I", isViewer: true }), "1 fact is deleted because it would relate you to yourself.");
});

test("a split says what moves to whom", () => {
  assert.equal(describeSplit({ mentionsMoved: 2, factsMoved: 1 }, "Anna"), "2 mentions and 1 fact move to Anna.");
  assert.equal(describeSplit({ mentionsMoved: 1, factsMoved: 0 }, "Anna"), "1 mention moves to Anna.");
  assert.equal(describeSplit({ mentionsMoved: 0, factsMoved: 0 }, "Anna"), "No mention and no fact moves to Anna.");
});
