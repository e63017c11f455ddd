// Actions and waits for tests of the graph.
import assert from "node:assert/strict";
import { waitForElement } from "./demo-page.mjs";
import { until } from "./harness.mjs";

const SYLLABLES = ["bar", "kol", "lud", "mig", "rut", "tev", "nok", "vin", "sap", "dom", "fes", "gyr", "hax"];
/** The server limits the size of a request. */
const PAIRS_AT_ONCE = 20;
/** Pronounceable names that differ in at least two syllables, so that the server takes none for a misspelling: "Barkolludtev". */
export const nameOf = (i) => {
  const n = SYLLABLES.length;
  const [a, b, c] = [i % n, Math.floor(i / n) % n, Math.floor(i / (n * n)) % n];
  const name = [a, b, c, (a + 2 * b + 3 * c) % n].map((digit) => SYLLABLES[digit]).join("");
  return name[0].toUpperCase() + name.slice(1);
};

/** Imports messages into a new session. Returns its id. */
export async function importTexts(server, title, texts) {
  const { createSession } = await server.graphql("mutation ($t: String) { createSession(input: { title: $t }) { session { id } } }", { t: title });
  const { id } = createSession.session;
  for (let at = 0; at < texts.length; at += 500) {
    const messages = texts.slice(at, at + 500).map((text) => ({ text }));
    const { importMessages } = await server.graphql("mutation ($i: ImportMessagesInput!) { importMessages(input: $i) { errors { message } } }", { i: { sessionId: id, messages } });
    assert.deepEqual(importMessages.errors, []);
  }
  return id;
}

/** States facts of people who know each other. */
export async function assertKnown(server, sessionId, pairs) {
  const inputs = pairs.map(([subject, object]) => ({ sessionId, subject, subjectType: "PERSON", relation: "KNOWS", object, objectType: "PERSON" }));
  const variables = Object.fromEntries(inputs.map((input, i) => [`i${i}`, input]));
  const fields = inputs.map((_, i) => `a${i}: assertFact(input: $i${i}) { errors { message } }`).join(" ");
  const done = await server.graphql(`mutation (${inputs.map((_, i) => `$i${i}: AssertFactInput!`).join(", ")}) { ${fields} }`, variables);
  assert.deepEqual(Object.values(done).flatMap(({ errors }) => errors), []);
}

/** Stores a connected graph of `things` things: each knows one of those before it, and the user knows the first. */
export async function importGraph(server, things) {
  const { id } = await server.newSession();
  await assertKnown(server, id, [["I", nameOf(0)]]);
  const pairs = Array.from({ length: things - 2 }, (_, i) => [nameOf(i + 1), nameOf(Math.floor((i + 1) * ((i * 0.618034) % 1)))]);
  for (let at = 0; at < pairs.length; at += PAIRS_AT_ONCE) await assertKnown(server, id, pairs.slice(at, at + PAIRS_AT_ONCE));
}

export const summary = (tab) => tab.page.locator(".graph-page .total").innerText();
export const canvas = (tab) => tab.page.locator(".graph-page canvas");
export const pane = (tab) => tab.page.getByRole("region", { name: "Details" });
export const listing = (tab) => tab.page.getByRole("region", { name: "List of the graph" });
/** The names in the list, in their order. */
export const listedNames = (tab) => listing(tab).locator("[data-row] .name").evaluateAll((names) => names.map((name) => name.firstChild.textContent));
export const button = (tab, name) => tab.page.getByRole("button", { name, exact: true });

export async function openGraph(browser, server, rest = "", options = {}) {
  const tab = await browser.visit(`${server.url}/#/graph${rest}`, options);
  await waitForElement(canvas(tab), "the canvas");
  await until(async () => /around/.test(await summary(tab)), "the neighbourhood");
  return tab;
}
