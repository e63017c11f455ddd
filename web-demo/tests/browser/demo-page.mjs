// Actions and waits for tests of the demo page.
import { until } from "./harness.mjs";

export const waitForPhase = (tab, name) => until(() => tab.page.locator(`.pill[data-phase="${name}"]`).count(), `the stream to be ${name}`, 60_000);
export const waitForElement = (locator, what) => until(() => locator.count(), what);
export const say = async (tab, text) => {
  await tab.page.getByRole("textbox", { name: "Message" }).fill(text);
  await tab.page.keyboard.press("Enter");
};
/** The item of the fact that contains all `words`. */
export const fact = (tab, ...words) => words.reduce((found, word) => found.filter({ hasText: word }), tab.page.locator(".facts li.fact"));
/** In percent. */
export const beliefOf = async (locator) => Number(/\d+(?= %)/.exec(await locator.locator(".belief").innerText())?.[0]);
/** Opens an empty session. The page shows the previous one until it is loaded. */
export const newSession = async (tab) => {
  await tab.page.getByRole("button", { name: "New session", exact: true }).click();
  await waitForElement(tab.page.locator(".welcome"), "the empty session");
};
/** Cuts the line in the settings, and returns to the page before. */
export async function cutLine(tab) {
  const back = await tab.page.evaluate(() => location.hash);
  await tab.page.evaluate(() => { location.hash = "#/settings/connection"; });
  await tab.page.getByRole("button", { name: "Cut the line", exact: true }).click();
  await waitForPhase(tab, "paused");
  await tab.page.evaluate((hash) => { location.hash = hash; }, back);
  await waitForElement(tab.page.getByRole("textbox", { name: "Message" }), "the conversation");
}
export const sessionIn = (tab) => until(() => tab.page.evaluate(() => /#\/s\/(.+)/.exec(location.hash)?.[1]), "the URL to name the session");
/** Chooses an action in the menu of a session. `item`: its entry in the list of sessions. */
export async function chooseAction(item, action) {
  await item.hover();
  await item.getByRole("button", { name: /^Actions for/ }).click();
  await item.getByRole("menuitem", { name: action, exact: true }).click();
}
/** Everything that IndexedDB keeps. */
export const kept = (page) => page.evaluate(async () => {
  const done = (request) => new Promise((resolve, reject) => { request.onsuccess = () => resolve(request.result); request.onerror = () => reject(request.error); });
  const database = await done(indexedDB.open("recall"));
  const all = [];
  for (const name of database.objectStoreNames) all.push(...await done(database.transaction(name).objectStore(name).getAll()));
  database.close();
  return all;
});
