// GraphiQL from the binary: offline, with examples that run as they are.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Browser, Server, until } from "./harness.mjs";

let server;
let browser;
before(async () => {
  server = await Server.start();
  browser = await Browser.start();
});
after(async () => {
  await browser?.stop();
  await server?.stop();
});

test("every example runs as it is, and the subscription shows live events", async () => {
  const tab = await browser.visit(`${server.url}/graphql`);
  const { page } = tab;
  const result = page.locator(".result-window");
  const run = () => page.locator(".graphiql-execute-button").click();
  const answer = async (pattern, what) => {
    const text = await until(async () => {
      const shown = (await result.innerText()).replaceAll("\u00a0", " ");
      return pattern.test(shown) && shown;
    }, what).catch(async (error) => assert.fail(`${error.message}, shown is: ${await result.innerText()}`));
    assert.doesNotMatch(text, /"errors": \[\s*[^\]\s]/, what);
  };
  // The editor comes after the page around it; a press before it is there runs nothing.
  const editor = async (text) => {
    await page.locator(".graphiql-query-editor .CodeMirror-line").filter({ hasText: text }).first().waitFor();
    // GraphiQL reads the name of the operation a moment after its text; nobody presses faster than this.
    await sleep(500);
  };

  await editor("mutation SendMessage");
  await run();
  await answer(/"status": "PROCESSING"/, "SendMessage to be answered");
  for (const [name, pattern] of [
    ["query Facts", /"LIKES"/], ["query Context", /"methodsUsed"/], ["mutation CreateSession", /"From GraphiQL"/], ["query Ontology", /"halfLifeDays"/],
  ]) {
    await page.getByRole("tab", { name: name.split(" ")[1], exact: true }).click();
    await editor(name);
    await run();
    await answer(pattern, `${name} to be answered`);
  }

  await page.getByRole("tab", { name: "LiveEvents", exact: true }).click();
  await editor("subscription LiveEvents");
  await run();
  await until(() => page.getByRole("button", { name: "Stop query" }).count(), "the subscription to run");
  const { sessions } = await server.graphql("{ sessions(first: 50) { nodes { id } } }");
  for (const { id } of sessions.nodes) await server.say(id, "John likes Mary.");
  await answer(/"fact_update"|"message_stored"|"message_processed"/, "a live event");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("the examples write into a session of their own, also where tabs of a former visit name a real one", async () => {
  const real = await server.newSession();
  await server.say(real.id, "Nadia likes tea.");
  await server.settledHead(real.id);
  const texts = async (id) => (await server.graphql("query ($id: ID!) { session(id: $id) { messages(first: 50) { nodes { text } } } }", { id })).session.messages.nodes.map((m) => m.text);
  const kept = (tab) => tab.page.evaluate(() => localStorage.getItem("recall.graphiql.session"));
  const runFirst = async (tab) => {
    await tab.page.locator(".graphiql-query-editor .CodeMirror-line").filter({ hasText: "mutation SendMessage" }).first().waitFor();
    await until(async () => (await tab.page.locator(".graphiql-editor-tool .CodeMirror-line", { hasText: await kept(tab) }).count()) > 0, "the variables to name the session of the examples");
    await sleep(500);
    await tab.page.locator(".graphiql-execute-button").click();
    await until(async () => /"PROCESSING"/.test(await tab.page.locator(".result-window").innerText()), "the message to be stored");
  };

  const tab = await browser.visit(`${server.url}/graphql`);
  await runFirst(tab);
  const own = await kept(tab);
  assert.notEqual(own, real.id);
  assert.deepEqual(await texts(real.id), ["Nadia likes tea."]);
  assert.ok((await texts(own)).includes("John likes Mary."));
  await tab.page.reload();
  await runFirst(tab);
  assert.equal(await kept(tab), own, "the next visit goes on with it");
  assert.equal(await tab.page.getByRole("tab").count(), 6, "and opens no tab besides");

  // What an older version left: tabs with the newest session of that time.
  await until(() => tab.page.evaluate(() => localStorage.getItem("graphiql:tabState")), "the tabs to be kept");
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
