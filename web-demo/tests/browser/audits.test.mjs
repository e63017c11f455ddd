// Runs the audits of the reference suite for the GraphQL over HTTP specification.
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

test("the server passes every audit of graphql-http", async () => {
  const audits = serverAudits({ url: `${server.url}/graphql`, fetchFn: fetch });
  assert.ok(audits.length >= 61, `${audits.length} audits`);
  const failed = [];
  for (const audit of audits) {
    const result = await audit.fn();
    if (result.status !== "ok") failed.push(`${audit.id} ${audit.name}: ${result.reason}`);
  }
  assert.deepEqual(failed, []);
});
