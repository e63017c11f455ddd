// The GraphQL subscription over graphql-ws, the library of Apollo, urql and GraphiQL, during server restarts.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { clientPage, until, withServerAndBrowser } from "./harness.mjs";

const library = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../node_modules/graphql-ws/dist");

let server;
let browser;
withServerAndBrowser((started) => { ({ server, browser } = started); });

/** Subscribes to a session with graphql-ws in a page and records the events. */
async function openSubscription(session, { resumed }) {
  const tab = await clientPage(browser, server);
  await tab.context.route("**/__graphql-ws/**", async (route) => {
    const file = new URL(route.request().url()).pathname.replace("/__graphql-ws/", "");
    return route.fulfill({ contentType: "text/javascript", body: await readFile(path.join(library, file), "utf8") });
  });
  tab.outage = true;
  await tab.page.evaluate(async ({ session, resumed }) => {
    const [{ createClient }, { alwaysRetry, resume }] = await Promise.all([import("/__graphql-ws/client.js"), import("/__client/index.js")]);
    const seen = (window.seen = { events: [], byes: [], closes: [], connected: 0, errors: [], completed: 0 });
    const client = createClient({
      url: `ws://${location.host}/graphql/ws`, ...alwaysRetry,
      on: { closed: (event) => seen.closes.push(event.code), connected: () => { seen.connected += 1; } },
    });
    const query = "subscription($id: ID!, $after: String) { sessionEvents(sessionId: $id, after: $after) { seq cursor type data } }";
    const [subscriber, variables] = resumed ? [resume(client), { id: session.id, after: session.head }] : [client, { id: session.id }];
    subscriber.subscribe({ query, variables }, {
      next({ data, errors }) {
        const event = data?.sessionEvents;
        if (!event) seen.errors.push(errors);
        else if (event.type === "bye") seen.byes.push(event.data.code);
        else if (!["answer_delta", "context_ready"].includes(event.type)) seen.events.push(event.seq);
      },
      error: (error) => seen.errors.push(String(error)),
      complete: () => { seen.completed += 1; },
    });
  }, { session, resumed });
  const seen = () => tab.page.evaluate(() => window.seen);
  return { tab, seen };
}

/** Sends messages until the page receives one. Without a cursor, only an event proves that the subscription has started. */
async function sayUntilSeen(session, seen) {
  const before = (await seen()).events.length;
  await until(async () => {
    await server.say(session.id, "The weather is fine.");
    return (await seen()).events.length > before;
  }, "an event to arrive");
}

const terminate = async () => {
  const { process: running } = server;
  const ended = new Promise((done) => running.once("exit", done));
  running.kill("SIGTERM");
  await ended;
};

test("a subscription reconnects after a graceful restart", async () => {
  const session = await server.newSession();
  const { tab, seen } = await openSubscription(session, { resumed: false });
  await sayUntilSeen(session, seen);
  await terminate();
  await server.run();
  await until(async () => (await seen()).connected === 2, "the client to reconnect");
  await sayUntilSeen(session, seen);
  const { byes, closes, completed, errors } = await seen();
  assert.deepEqual({ byes, completed, errors }, { byes: ["restart"], completed: 0, errors: [] });
  assert.equal(closes[0], 1012, `${closes}`);
  await tab.context.close();
});

test("a resumed subscription loses and duplicates no event when servers are killed", async () => {
  const session = await server.newSession();
  const { tab, seen } = await openSubscription(session, { resumed: true });
  let writing = true;
  let written = 0;
  const writer = (async () => {
    while (writing) {
      // Ignore errors: the server may have been killed before or after it stored the message.
      await server.say(session.id, `John likes Mary ${written}.`).then(() => { written += 1; }, () => {});
    }
  })();
  for (let kills = 1; kills <= 4; kills += 1) {
    const before = written;
    await until(() => written >= before + 5, "messages to be written");
    // The first kill may come before the page connects.
    if (kills > 1) await until(async () => (await seen()).connected >= kills, "the client to reconnect");
    await server.kill();
    await server.run();
  }
  const before = written;
  await until(() => written >= before + 5, "messages to be written");
  writing = false;
  await writer;
  const head = await server.settledHead(session.id);
  const last = await until(async () => {
    const now = await seen();
    return now.events.at(-1) >= head && now;
  }, `event ${head}`);
  assert.deepEqual(last.errors, []);
  assert.equal(last.completed, 0);
  assert.deepEqual(last.events, Array.from({ length: head }, (_, i) => 1 + i));
  await tab.context.close();
});
