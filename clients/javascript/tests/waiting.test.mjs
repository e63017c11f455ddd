// Waiting for documents and comparisons, with a simulated stream.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Emitter } from "../dist/emitter.js";
import { waitForWork } from "../dist/waiting.js";

class Stream extends Emitter {
  closed = 0;
  start() {
    this.onStart?.();
    return this;
  }
  close() {
    this.closed += 1;
  }
}

/** A server that goes through `states`. `onStart` runs when the stream starts. */
function simulate(states, onStart) {
  const stream = new Stream();
  let gap;
  let at = 0;
  const reads = [];
  stream.onStart = () => onStart?.({
    next: () => { at += 1; },
    event: (status, done, total = 4) => stream.emit("event", { type: "document_update", status, done, total }),
    emit: (name, value) => stream.emit(name, value),
    gap: () => gap(),
  });
  const work = {
    open: (onGap) => { gap = onGap; return stream; },
    update: "document_update",
    read: async () => { reads.push(at); return states[at]; },
    failure: "DOCUMENT_FAILED",
  };
  return { work, stream, reads };
}
const processing = { status: "PROCESSING", error: null, done: 1, total: 4 };
const completed = { status: "COMPLETED", error: null, done: 4, total: 4 };
const failed = { status: "FAILED", error: "The file is damaged.", done: 0, total: 0 };

test("finished work is returned without a stream", async () => {
  const { work } = simulate([completed]);
  work.open = () => assert.fail("no stream is needed");
  assert.equal(await waitForWork(work, {}), completed);
});

test("events report the progress, and the last one ends the wait", async () => {
  const { work, stream } = simulate([processing, completed], ({ event, next, emit }) => {
    emit("event", { type: "fact_update" });
    event("processing", 2);
    next();
    event("completed", 4);
  });
  const steps = [];
  assert.equal(await waitForWork(work, { onProgress: (progress) => steps.push(progress) }), completed);
  assert.deepEqual(steps, [{ done: 2, total: 4 }, { done: 4, total: 4 }]);
  assert.equal(stream.closed, 1);
});

test("after a gap the state is read, because the last event may be missing", async () => {
  const { work } = simulate([processing, processing, completed], async ({ next, gap }) => {
    next();
    await gap();
    next();
    await gap();
  });
  assert.equal(await waitForWork(work, {}), completed);
});

test("work that fails throws its reason", async () => {
  const expected = { name: "RecallError", code: "DOCUMENT_FAILED", message: "The file is damaged." };
  await assert.rejects(waitForWork(simulate([failed]).work, {}), expected);
  const { work } = simulate([processing, failed], ({ event, next }) => {
    next();
    event("failed", 0);
  });
  await assert.rejects(waitForWork(work, {}), expected);
});

test("a wait ends at its limit, when it is aborted, and when its stream ends", async () => {
  const limited = simulate([processing]);
  await assert.rejects(waitForWork(limited.work, { timeoutMs: 0 }), { code: "TIMEOUT" });
  assert.equal(limited.stream.closed, 1);
  await assert.rejects(waitForWork(simulate([processing]).work, { signal: AbortSignal.abort(new Error("stop")) }), /stop/);
  const { work } = simulate([processing], ({ emit }) => emit("state", { phase: "closed", reason: "deleted" }));
  await assert.rejects(waitForWork(work, {}), { code: "deleted" });
});
