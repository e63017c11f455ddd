// What the page reads of the memories of mem0, and of ZIP archives. `recall import` reads the same files.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "vite";
import { zipOf } from "../zip.mjs";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
const SERVER = "../src/app/chats/format/first_person.rs";
const load = async (name) => {
  const [{ output }] = await build({ configFile: false, root, logLevel: "silent", build: { write: false, lib: { entry: path.join(root, "src/demo/memory/data", name), formats: ["es"] } } });
  return import(`data:text/javascript,${encodeURIComponent(output[0].code)}`);
};
let mem0;
let zip;
before(async () => {
  [mem0, zip] = [await load("mem0.ts"), await load("zip.ts")];
});
const file = async () => JSON.parse(await readFile(path.join(root, "../tests/data/imports/mem0.json"), "utf8"));

test("memories become statements of the user in one session", async () => {
  const { program, chats } = mem0.readMemories(await file());
  assert.equal(program, "mem0");
  assert.deepEqual(chats.map(({ id, title }) => [id, title]), [["anna", "Memories from mem0"]]);
  assert.deepEqual(chats[0].turns.map(({ text }) => text), ["I live in Ghent", "My name is Anna", "Maren works at Airbus"]);
  assert.deepEqual(chats[0].turns.slice(0, 2).map(({ sentAt }) => new Date(sentAt).toISOString()), ["2025-01-02T18:30:00.000Z", "2025-01-05T08:00:00.000Z"]);
});

test("notes are rephrased as the server rephrases them", async () => {
  const source = await readFile(path.join(root, SERVER), "utf8");
  const strings = (text) => [...text.matchAll(/"([^"]*)"/g)].map(([, one]) => one);
  const list = (name) => strings(new RegExp(`const ${name}: [^=]*=\\s*&\\[([^;]*)\\];`).exec(source)?.[1] ?? "");
  const pairs = [...source.matchAll(/^ {12}\("([^"]*)", "([^"]*)"\),$/gm)].map(([, note, statement]) => [note, statement]);
  assert.ok(pairs.length > 5 && list("BEGINNINGS").length > 40 && list("NOUNS").length > 5 && list("VERBS").length > 10, "this test reads the words of the server");
  for (const [note, statement] of pairs) assert.equal(mem0.inFirstPerson(note), statement);
  for (const verb of list("BEGINNINGS")) assert.match(mem0.inFirstPerson(`${verb} something`), /^I [a-z]+ something$/);
  for (const noun of list("NOUNS")) assert.equal(mem0.inFirstPerson(`${noun} of mine is something`), `My ${noun} of mine is something`);
  const verbs = list("VERBS");
  for (let at = 0; at < verbs.length; at += 2) assert.equal(mem0.inFirstPerson(`${verbs[at]} so`), `I ${verbs[at + 1]} so`);
  for (const note of strings(/for note in \[([^\]]*)\]/.exec(source)?.[1] ?? "")) assert.equal(mem0.inFirstPerson(note), note);
});

test("memories of several users are refused, and other files are none", async () => {
  const { results } = await file();
  assert.match(mem0.readMemories([...results, { ...results[0], user_id: "ben" }]), /several users/);
  for (const other of [null, 3, "text", {}, [], [{}], { memory: "Lives in Ghent" }]) assert.equal(mem0.readMemories(other), null, JSON.stringify(other));
});

for (const [how, method] of [["compressed", 8], ["stored", 0]]) {
  test(`files that are ${how} in a ZIP archive are found and unpacked`, async () => {
    const text = '["déjà vu"]'.repeat(500);
    const archive = new Blob([zipOf({ "user.json": "{}", "export/conversations.json": text }, method)]);
    assert.equal(await zip.isZip(archive), true);
    const files = await zip.readZip(archive);
    assert.deepEqual(files.map(({ name, size }) => [name, size]), [["user.json", 2], ["export/conversations.json", Buffer.byteLength(text)]]);
    assert.deepEqual(await Promise.all(files.map((one) => one.text())), ["{}", text]);
  });
}

test("a damaged ZIP archive is refused", async () => {
  assert.equal(await zip.isZip(new Blob(["[]"])), false);
  const whole = zipOf({ "conversations.json": "[]" });
  await assert.rejects(zip.readZip(new Blob([whole.subarray(0, 40)])));
  const [other] = await zip.readZip(new Blob([zipOf({ "conversations.json": "[]" }, 12)]));
  await assert.rejects(other.text(), /Unknown compression/);
});
