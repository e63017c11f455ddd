// Documents and their comparisons with the packed client in Node against the real server.
import assert from "node:assert/strict";
import { openAsBlob } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { RecallClient, allItems } from "@relevantic/recall";
import { TOKEN, startServer } from "./harness.mjs";

const UNKNOWN = "00000000-0000-0000-0000-000000000000";
let server;
let recall;
before(async () => {
  server = await startServer({ RECALL_TOKEN: TOKEN });
  recall = new RecallClient({ url: server.url, token: TOKEN });
});
after(() => server?.stop());

const textOf = (office, budget) => `# ${office} office\n\nThe travel budget is ${budget} euros a year. Trains are preferred to flights within the country.\n`;
const readAll = async (readPage) => {
  const ids = [];
  for await (const { id } of allItems(readPage)) ids.push(id);
  return ids;
};
const assertGrowing = (steps) => assert.deepEqual(steps, [...steps].sort((a, b) => a.done - b.done));

test("a file is added, read and deleted", async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), "recall-documents-"));
  t.after(() => rm(folder, { recursive: true }));
  const file = path.join(folder, "oslo.md");
  await writeFile(file, textOf("Oslo", 4200));
  const collection = "files";
  const added = await recall.uploadDocument(await openAsBlob(file), { filename: "oslo.md", path: "offices/oslo.md", collection });
  assert.deepEqual([added.filename, added.path, added.collection, added.duplicate], ["oslo.md", "offices/oslo.md", collection, false]);
  const steps = [];
  const document = await recall.waitForDocument(added.id, { onProgress: (progress) => steps.push(progress) });
  assert.deepEqual([document.status, document.mediaType, document.version], ["COMPLETED", "text/markdown", 1]);
  assertGrowing(steps);
  assert.deepEqual(await recall.waitForDocument(added.id), document);
  assert.deepEqual(await recall.document(added.id), document);
  const { items: [chunk] } = await recall.chunks(added.id);
  assert.match(chunk.text, /4200 euros/);
  assert.equal(chunk.document.filename, "oslo.md");

  const again = await recall.uploadDocument(new File([textOf("Oslo", 4200)], "copy.md"), { collection });
  assert.deepEqual([again.id, again.duplicate], [added.id, true]);
  const newer = await recall.addDocument({ text: textOf("Oslo", 5100), path: "offices/oslo.md", collection });
  assert.deepEqual([newer.version, newer.duplicate], [2, false]);
  await recall.waitForDocument(newer.id);
  assert.deepEqual(await readAll((next) => recall.documents({ filter: { collection }, first: 1, after: next })), [newer.id, added.id]);
  const { items } = await recall.documents({ filter: { collection, current: true } });
  assert.deepEqual(items.map(({ id }) => id), [newer.id]);
  await recall.deleteDocument(newer.id, { originalOnly: true });
  assert.equal((await recall.document(newer.id)).hasOriginal, false);
  for (const { id } of [newer, added]) {
    await recall.deleteDocument(id);
    assert.equal(await recall.document(id), null);
  }
});

test("a file that cannot be read fails with its reason", async () => {
  const broken = await recall.uploadDocument(new Blob(["%PDF-1.7\nnothing"]), { filename: "broken.pdf" });
  const failure = await recall.waitForDocument(broken.id).then(() => null, (error) => error);
  assert.deepEqual([failure.code, failure.message], ["DOCUMENT_FAILED", (await recall.document(broken.id)).error]);
  await assert.rejects(recall.uploadDocument(new Blob([""]), { filename: "empty.txt" }), { name: "RecallError", status: 400 });
  await assert.rejects(recall.addDocument({ text: "x", collection: "not a name" }), { name: "RecallError" });
  await assert.rejects(new RecallClient({ url: "http://127.0.0.1:9" }).uploadDocument(new Blob(["x"])), { code: "UNREACHABLE" });
  await assert.rejects(recall.uploadDocument(new Blob(["x"]), { signal: AbortSignal.abort(new Error("stop")) }), /stop/);
});

test("answers and context cite documents", async () => {
  const { id } = await recall.addDocument({ text: "# Parking\n\nThe parking fee of the Bergen garage is 300 euros.", path: "parking.md", collection: "cited" });
  await recall.waitForDocument(id);
  const query = "What is the parking fee of the Bergen garage?";
  const context = await recall.context({ query, sources: ["DOCUMENTS"], documentIds: [id] });
  assert.match(context.chunks[0].chunk.text, /300 euros/);
  assert.deepEqual(context.messages, []);
  const session = await recall.createSession("Documents");
  const answer = await recall.ask({ sessionId: session.id, text: query });
  const citation = answer.citations.find(({ document }) => document);
  assert.deepEqual([citation.document.filename, citation.chunk.id], ["parking.md", context.chunks[0].chunk.id]);
});

test("documents are compared", async () => {
  const ids = [];
  for (const [office, budget] of [["North", 4200], ["South", 900]]) {
    ids.push((await recall.addDocument({ text: textOf(office, budget), path: `${office}.md`, collection: "compared" })).id);
  }
  for (const id of ids) await recall.waitForDocument(id);
  const steps = [];
  const question = "How high is the travel budget?";
  const report = await recall.compareAndWait({ documentIds: ids, question }, { onProgress: (progress) => steps.push(progress) });
  assertGrowing(steps);
  assert.deepEqual([report.status, report.error, report.question, report.done], ["COMPLETED", null, question, report.total]);
  assert.deepEqual(report.documents.map(({ id }) => id), ids);
  assert.ok(report.comparer);
  const points = [...report.similarities, ...report.differences, ...report.insights];
  assert.ok(points.length > 0);
  for (const { citations, silent } of points) {
    const concerned = new Set([...citations.map(({ document }) => document.id), ...silent.map(({ id }) => id)]);
    assert.ok(concerned.size > 1 && [...concerned].every((id) => ids.includes(id)));
    assert.ok(citations.every(({ chunk, excerpt }) => chunk.id && excerpt));
  }
  assert.ok(report.differences.some(({ text, citations }) => [text, ...citations.map(({ excerpt }) => excerpt)].join().includes("4200")));
  assert.deepEqual(await recall.comparison(report.id), report);
  assert.deepEqual(await recall.waitForComparison(report.id), report);

  const other = await recall.compareDocuments({ documentIds: [...ids].reverse() });
  assert.deepEqual([other.question, other.documents.map(({ id }) => id)], [null, [...ids].reverse()]);
  await recall.waitForComparison(other.id);
  assert.deepEqual(await readAll((next) => recall.comparisons({ documentId: ids[0], first: 1, after: next })), [other.id, report.id]);
  for (const { id } of [other, report]) {
    await recall.deleteComparison(id);
    assert.equal(await recall.comparison(id), null);
  }
  for (const call of ["deleteComparison", "waitForComparison", "waitForDocument", "deleteDocument", "chunks"]) await assert.rejects(recall[call](UNKNOWN), { code: "NOT_FOUND" }, call);
  await assert.rejects(recall.compareDocuments({ documentIds: ids.slice(0, 1) }), { name: "RecallError" });
  await assert.rejects(recall.compareDocuments({ documentIds: [ids[0], UNKNOWN] }), { name: "RecallError" });
});
