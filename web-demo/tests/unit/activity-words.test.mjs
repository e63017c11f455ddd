// The words of the activity cover every action that the server records.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
const SOURCE = "../crates/domain/src/audit.rs";
let actions;
let describe;
before(async () => {
  // The module reads the address of the page when it is loaded.
  Object.assign(globalThis, { location: { hash: "" }, addEventListener: () => {} });
  const entry = path.join(root, "src/demo/settings/state/activity-words.ts");
  const [{ output }] = await build({ configFile: false, root, logLevel: "silent", build: { write: false, lib: { entry, formats: ["es"] } } });
  ({ describe } = await import(`data:text/javascript,${encodeURIComponent(output[0].code)}`));
  const list = /^actions! \{$([^]*?)^\}$/m.exec(await readFile(path.join(root, SOURCE), "utf8"))?.[1] ?? "";
  actions = [...list.matchAll(/^\s*\w+ = "([^"]+)",$/gm)].map(([, action]) => action);
  assert.equal(actions.length, list.split("\n").filter((line) => /=/.test(line) && !/^\s*\/\//.test(line)).length, "this test reads every line of the list");
});

const known = { viewerId: "me", tokenNames: new Map() };
const wordsFor = (action, target = null) => describe({ id: "1", at: "", actorId: "me", action, target }, known);

test("every action of the server has words", () => {
  assert.ok(actions.length > 30, `${SOURCE} lists ${actions.length} actions`);
  assert.deepEqual(actions.filter((action) => wordsFor(action).text === action), []);
});

test("an action without words is shown as its name", () => {
  assert.deepEqual(wordsFor("moon.visited", "x"), { text: "moon.visited", about: null, href: null });
});

test("reads of administrators name what was read", () => {
  assert.equal(wordsFor("admin.read", "auditLog").about, "the activity of all users");
  assert.equal(wordsFor("admin.read", "users").about, "the list of users");
});
