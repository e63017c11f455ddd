// What the tests of the demo page share: what a visitor does there, and waiting for what they see.
import { until } from "./harness.mjs";

export const phase = (tab, name) => until(() => tab.page.locator(`.pill[data-phase="${name}"]`).count(), `the line to be ${name}`, 60_000);
export const say = async (tab, text) => {
  await tab.page.getByRole("textbox", { name: "Message" }).fill(text);
  await tab.page.keyboard.press("Enter");
};
export const fact = (tab, ...words) => words.reduce((found, word) => found.filter({ hasText: word }), tab.page.locator(".facts li.fact"));
export const shown = (locator, what) => until(() => locator.count(), what);
export const weightOf = async (locator) => Number(await locator.locator(".weight").innerText());
/** An empty session. Until it is there, the page shows the former one. */
export const newSession = async (tab) => {
  await tab.page.getByRole("button", { name: "New session", exact: true }).click();
  await shown(tab.page.locator(".welcome"), "the empty session");
};
export const sessionIn = (tab) => until(() => tab.page.evaluate(() => /#\/s\/(.+)/.exec(location.hash)?.[1]), "the address to name the session");
