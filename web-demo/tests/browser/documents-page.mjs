// Actions and waits for tests of the documents place.
import assert from "node:assert/strict";
import { waitForElement } from "./demo-page.mjs";
import { until } from "./harness.mjs";

export const file = (name, content, mimeType = "application/octet-stream") => ({ name, mimeType, buffer: Buffer.isBuffer(content) ? content : Buffer.from(content) });
export const row = (tab, name) => tab.page.locator(".doc", { hasText: name });
export const chip = (tab, name) => row(tab, name).locator(".chip-status");
export const waitForStatus = (tab, name, status) => until(async () => (await row(tab, name).count()) > 0 && (await chip(tab, name).first().innerText()) === status, `${name} to be ${status}`, 60_000);

/** Deletes all documents and comparisons, and opens the place. */
export async function openDocuments(server, browser, options) {
  for (const shared of [false, true]) {
    const { documents } = await server.graphql("query ($s: Boolean!) { documents(first: 100, shared: $s) { nodes { id } } }", { s: shared });
    for (const { id } of documents.nodes) await server.graphql("mutation ($i: DeleteDocumentInput!) { deleteDocument(input: $i) { errors { message } } }", { i: { id } });
  }
  const { comparisons } = await server.graphql("{ comparisons(first: 100) { nodes { id } } }");
  for (const { id } of comparisons.nodes) await server.graphql("mutation ($i: DeleteComparisonInput!) { deleteComparison(input: $i) { errors { message } } }", { i: { id } });
  const tab = await browser.visit(`${server.url}/#/d`, options);
  await waitForElement(tab.page.getByRole("heading", { name: "Documents", level: 1 }), "the place");
  await waitForElement(tab.page.locator(".drop-zone"), "the empty list");
  return tab;
}
export const addFiles = (tab, ...files) => tab.page.locator("input[type=file]").setInputFiles(files);

/** Drops a file on the page as a user does with the mouse. */
export async function drop(tab, { name, buffer }) {
  const transfer = await tab.page.evaluateHandle(([fileName, bytes]) => {
    const data = new DataTransfer();
    data.items.add(new File([Uint8Array.from(bytes)], fileName));
    return data;
  }, [name, [...buffer]]);
  await tab.page.dispatchEvent("body", "dragenter", { dataTransfer: transfer });
  await waitForElement(tab.page.locator(".drop-target"), "the target of the drop");
  await tab.page.dispatchEvent("body", "drop", { dataTransfer: transfer });
}

/** Expects the reading view with the cited words in view, marked and focused. */
export async function expectCitedPassage(tab, words) {
  const mark = tab.page.locator(".reading-text mark.quoted").first();
  await waitForElement(mark, "the cited words");
  await until(() => mark.evaluate((node) => {
    const { top, bottom } = node.getBoundingClientRect();
    return top >= 60 && bottom <= innerHeight && node === document.activeElement;
  }), "the passage to be in view, with the focus");
  assert.equal((await tab.page.locator(".reading-text mark.quoted").allInnerTexts()).join(" "), words);
}

/** Expects that nothing is wider than the screen of a phone. */
export async function expectFit({ page }, view) {
  const wide = await page.evaluate(() => [...document.querySelectorAll("body *")].filter((n) => n.getBoundingClientRect().right > innerWidth + 1 && !n.closest(".unseen")).map((n) => n.className));
  assert.deepEqual(wide, [], view);
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390);
}

/** Runs in a page before it loads: records what moves without an action of the user, in `window.shifts`. */
export function recordShifts() {
  window.shifts = [];
  // The header belongs to the whole page.
  const isInPlace = ({ node }) => (node?.nodeType === Node.ELEMENT_NODE ? node : node?.parentElement)?.closest("main");
  new PerformanceObserver((list) => {
    for (const { sources } of list.getEntries()) window.shifts.push(...sources.filter(isInPlace).map(({ node }) => node.textContent.slice(0, 60)));
  }).observe({ type: "layout-shift", buffered: true });
}
