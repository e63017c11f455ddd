// GraphiQL from the server's binary: it works offline and its examples run unchanged.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { until, withServerAndBrowser } from "./harness.mjs";

let server;
let browser;
withServerAndBrowser((started) => { ({ server, browser } = started); });

test("every example runs unchanged, and the subscription shows live events", async () => {
  const tab = await browser.visit(`${server.url}/graphql`);
  const { page } = tab;
  const result = page.locator(".result-window");
  const run = () => page.locator(".graphiql-execute-button").click();
  const expectResult = async (pattern, what) => {
    const text = await until(async () => {
      const current = (await result.innerText()).replaceAll("\u00a0", " ");
      return pattern.test(current) && current;
    }, what).catch(async (error) => assert.fail(`${error.message}, but the page shows: ${await result.innerText()}`));
    assert.doesNotMatch(text, /"errors": \[\s*[^\]\s]/, what);
  };
  // The editor loads after the rest of the page, and the button does nothing before.
  const waitForEditor = async (text) => {
    await page.locator(".graphiql-query-editor .CodeMirror-line").filter({ hasText: text }).first().waitFor();
    // GraphiQL parses the operation name with a delay.
    await sleep(500);
  };

  await waitForEditor("mutation SendMessage");
  await run();
  await expectResult(/"status": "PROCESSING"/, "SendMessage to be answered");
  for (const [name, pattern] of [
    ["query Facts", /"LIKES"/], ["query Context", /"methodsUsed"/], ["mutation CreateSession", /"From GraphiQL"/], ["query Ontology", /"halfLifeDays"/],
  ]) {
    await page.getByRole("tab", { name: name.split(" ")[1], exact: true }).click();
    await waitForEditor(name);
    await run();
    await expectResult(pattern, `${name} to be answered`);
  }

  await page.getByRole("tab", { name: "LiveEvents", exact: true }).click();
  await waitForEditor("subscription LiveEvents");
  await run();
  await until(() => page.getByRole("button", { name: "Stop query" }).count(), "the subscription to run");
  const { sessions } = await server.graphql("{ sessions(first: 50) { nodes { id } } }");
  for (const { id } of sessions.nodes) await server.say(id, "John likes Mary.");
  await expectResult(/"fact_update"|"message_stored"|"message_processed"/, "a live event");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("examples write to a separate session, even if stored tabs name another one", async () => {
  const real = await server.newSession();
  await server.say(real.id, "Nadia likes tea.");
  await server.settledHead(real.id);
  const texts = async (id) => (await server.graphql("query ($id: ID!) { session(id: $id) { messages(first: 50) { nodes { text } } } }", { id })).session.messages.nodes.map((m) => m.text);
  const storedSession = (tab) => tab.page.evaluate(() => localStorage.getItem("recall.graphiql.session"));
  const runFirst = async (tab) => {
    await tab.page.locator(".graphiql-query-editor .CodeMirror-line").filter({ hasText: "mutation SendMessage" }).first().waitFor();
    await until(async () => (await tab.page.locator(".graphiql-editor-tool .CodeMirror-line", { hasText: await storedSession(tab) }).count()) > 0, "the variables to name the session of the examples");
    await sleep(500);
    await tab.page.locator(".graphiql-execute-button").click();
    await until(async () => /"PROCESSING"/.test(await tab.page.locator(".result-window").innerText()), "the message to be stored");
  };

  const tab = await browser.visit(`${server.url}/graphql`);
  await runFirst(tab);
  const own = await storedSession(tab);
  assert.notEqual(own, real.id);
  assert.deepEqual(await texts(real.id), ["Nadia likes tea."]);
  assert.ok((await texts(own)).includes("John likes Mary."));
  await tab.page.reload();
  await runFirst(tab);
  assert.equal(await storedSession(tab), own, "the next visit reuses the session");
  assert.equal(await tab.page.getByRole("tab").count(), 6, "the next visit opens no additional tab");

  // Simulate tabs of an older version, which used the user's newest session.
  await until(() => tab.page.evaluate(() => localStorage.getItem("graphiql:tabState")), "GraphiQL to store its tabs");
  await tab.page.evaluate(([from, to]) => {
    for (const key of ["graphiql:tabState", "graphiql:variables"]) localStorage.setItem(key, (localStorage.getItem(key) ?? "").replaceAll(from, to));
    localStorage.removeItem("recall.graphiql.session");
  }, [own, real.id]);
  await tab.page.reload();
  await runFirst(tab);
  assert.deepEqual(await texts(real.id), ["Nadia likes tea."]);
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});
