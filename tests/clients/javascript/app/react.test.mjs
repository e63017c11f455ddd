// The React hook against the real server.
import assert from "node:assert/strict";
import { test } from "node:test";
import { RecallClient } from "@relevantic/recall";
import { useEventStream } from "@relevantic/recall/react";
import { createElement } from "react";
import { act, create } from "react-test-renderer";
import { startServer, until } from "./harness.mjs";

globalThis.IS_REACT_ACT_ENVIRONMENT = true;

test("the hook follows the session while the component is mounted", async (t) => {
  const server = await startServer();
  t.after(() => server.stop());
  const recall = new RecallClient({ url: server.url });
  const [one, other] = [await recall.createSession("One"), await recall.createSession("Other")];
  const calls = [];
  let following;
  function Facts({ sessionId, name }) {
    following = useEventStream(recall, sessionId, { fact_update: (fact) => calls.push([name, fact.entity]) }, { from: null });
    return null;
  }
  const flush = (check, what) => until(async () => {
    await act(async () => {});
    return check();
  }, what);
  let page;
  // An open stream would keep a failed test running.
  t.after(() => act(async () => page?.unmount()));
  await act(async () => { page = create(createElement(Facts, { sessionId: one.id, name: "first" })); });
  await flush(() => following.state?.phase === "live", "the stream to open");
  const first = following.stream;
  await act(async () => page.update(createElement(Facts, { sessionId: one.id, name: "latest" })));
  assert.equal(following.stream, first, "a new listener keeps the stream");
  await act(async () => { await recall.sendAndWait({ sessionId: one.id, text: "John likes Mary." }); });
  await flush(() => calls.length > 0, "the fact");
  assert.deepEqual(calls[0], ["latest", "John"]);
  await act(async () => page.update(createElement(Facts, { sessionId: other.id, name: "latest" })));
  await flush(() => following.state?.phase === "live", "the other stream to open");
  assert.equal(first.state.phase, "closed");
  const second = following.stream;
  await act(async () => page.update(createElement(Facts, { sessionId: null, name: "latest" })));
  assert.deepEqual(following, { state: null, stream: null });
  assert.equal(second.state.phase, "closed");
});
