// What the page reads of an archive of Recall.
import assert from "node:assert/strict";
import path from "node:path";
import { before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
let readArchive;
let isArchive;
before(async () => {
  const [{ output }] = await build({ configFile: false, root, logLevel: "silent", build: { write: false, lib: { entry: path.join(root, "src/demo/memory/data/archive.ts"), formats: ["es"] } } });
  ({ readArchive, isArchive } = await import(`data:text/javascript,${encodeURIComponent(output[0].code)}`));
});

const HEAD = { format: "recall-archive", version: 2, program: "0.1.0", exported_at: 1 };
const archiveOf = (...records) => [HEAD, ...records, { type: "end", records: records.length, sha256: "00" }].map((record) => JSON.stringify(record)).join("\n");
const user = { type: "user", id: "u" };
const session = (id, more = {}) => ({ type: "session", id, title: `Title ${id}`, created_at: 1, updated_at: 1, message_count: 1, ...more });
const message = (id, session_id, position, text, more = {}) => ({ type: "message", id, session_id, position, role: "user", text, sent_at: 1_700_000_000_000 + position, ...more });

test("the conversations of an archive are read in their order", () => {
  const text = archiveOf(
    user, session("a"), session("b", { document: true }), session("c"), { type: "document", id: "b" },
    message("2", "a", 2, "Noted.", { role: "assistant" }), message("1", "a", 1, "I live in Ghent."), message("3", "a", 3, "Hi", { speaker: "Ann" }),
    message("4", "a", 4, "", {}), message("5", "a", 5, "Not for the memory.", { unremembered: true }), message("6", "b", 1, "A chunk", { role: "document", chunk: true }),
  );
  assert.ok(isArchive(text));
  const { program, chats, unread, documents } = readArchive(text);
  assert.deepEqual([program, chats.length, unread, documents], ["Recall", 1, 1, 1]);
  const [chat] = chats;
  assert.deepEqual([chat.id, chat.title, chat.leftOut], ["a", "Title a", 2]);
  assert.deepEqual(chat.turns.map(({ id, role, text, speaker, sentAt }) => [id, role, text, speaker, sentAt - 1_700_000_000_000]), [
    ["1", "USER", "I live in Ghent.", null, 1], ["2", "ASSISTANT", "Noted.", null, 2], ["3", "USER", "Hi", "Ann", 3],
  ]);
});

test("an archive that is cut off or of several users is refused with a sentence", () => {
  const whole = archiveOf(user, session("a"), message("1", "a", 1, "I live in Ghent."));
  for (const broken of [whole.slice(0, -20), whole.split("\n").slice(0, -1).join("\n"), whole.split("\n").toSpliced(2, 1).join("\n")]) assert.match(readArchive(broken), /incomplete/);
  assert.match(readArchive(archiveOf(user, { type: "user", id: "v" })), /several users.*recall import/);
  assert.equal(isArchive('{"notes": []}'), false);
});
