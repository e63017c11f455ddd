// What the page reads of the exports of other programs. `recall import` reads the same files.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
let readChatExport;
before(async () => {
  const [{ output }] = await build({ configFile: false, root, logLevel: "silent", build: { write: false, lib: { entry: path.join(root, "src/demo/memory/data/chat-exports.ts"), formats: ["es"] } } });
  ({ readChatExport } = await import(`data:text/javascript,${encodeURIComponent(output[0].code)}`));
});
const read = async (name) => readChatExport(JSON.parse(await readFile(path.join(root, "../tests/data/imports", name), "utf8")));
const texts = ({ turns }) => turns.map(({ role, text }) => [role, text]);

test("the branch of ChatGPT that was seen last is read", async () => {
  const { program, chats } = await read("chatgpt.json");
  assert.equal(program, "ChatGPT");
  assert.deepEqual(texts(chats[0]), [
    ["USER", "My sister Maren lives in Lyon."], ["ASSISTANT", "Lyon is lovely."],
    ["USER", "She works at Airbus.\nWhat is on this photo?"], ["ASSISTANT", "It shows an aeroplane."],
  ]);
  assert.deepEqual([chats[0].id, chats[0].title, chats[0].leftOut], ["67c2d7a0-0001", "Family", 6]);
  assert.equal(new Date(chats[0].turns[0].sentAt).toISOString(), "2025-03-01T10:00:01.500Z");
  assert.deepEqual(texts(chats[1]), [["USER", "I moved to Ghent."], ["ASSISTANT", "Good luck there."]], "also without a current message");
});

test("text blocks of Claude are read in the order of the branch", async () => {
  const { program, chats, unread } = await read("claude.json");
  assert.equal(program, "Claude");
  assert.deepEqual(texts(chats[0]), [
    ["USER", "My brother Otto plays the cello."], ["ASSISTANT", "I looked it up.\nHis orchestra is on tour."], ["USER", "He lives in Rome."],
  ]);
  assert.equal(new Date(chats[0].turns[0].sentAt).toISOString(), "2025-02-03T09:00:00.123Z");
  assert.deepEqual(texts(chats[1]).map(([, text]) => text), ["My aunt Lena lives in Basel.", "Noted.", "She paints.", "What does she paint?"]);
  assert.equal(chats[1].leftOut, 2);
  assert.equal(unread, 1, "a chat without messages is counted");
});

test("chats of Open WebUI are read without folded parts", async () => {
  const { program, chats } = await read("openwebui.json");
  assert.equal(program, "Open WebUI");
  assert.deepEqual(texts(chats[0]), [["USER", "My dog is called Bruno."], ["ASSISTANT", "A fine name."]]);
  assert.deepEqual(texts(chats[1]), [["USER", "Emma plays chess."], ["ASSISTANT", "With whom?"]]);
  assert.equal(chats[1].turns[1].id, "message 1");
  assert.equal(new Date(chats[0].turns[0].sentAt).toISOString(), "2025-04-01T10:00:05.000Z");
});

test("other files are refused, and broken chats do not end the reading", () => {
  for (const wrong of [null, 3, "text", {}, [], [{}], { mapping: 1 }]) assert.equal(readChatExport(wrong), null, JSON.stringify(wrong));
  const cycle = { id: "a", current_node: "x", mapping: { x: { parent: "y", message: null }, y: { parent: "x", message: null } } };
  assert.deepEqual(readChatExport([cycle, null, { mapping: {} }]), { program: "ChatGPT", chats: [], unread: 3 });
});
