// GraphQL over HTTP as its specification says: every audit of the reference suite.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { serverAudits } from "graphql-http";
import { Server } from "./harness.mjs";

let server;
before(async () => {
  server = await Server.start();
});
after(async () => {
  await server?.stop();
});

test("every audit of graphql-http passes", async () => {
  const audits = serverAudits({ url: `${server.url}/graphql`, fetchFn: fetch });
  assert.ok(audits.length >= 61, `${audits.length} audits`);
  const failed = [];
  for (const audit of audits) {
    const result = await audit.fn();
    if (result.status !== "ok") failed.push(`${audit.id} ${audit.name}: ${result.reason}`);
  }
  assert.deepEqual(failed, []);
});
