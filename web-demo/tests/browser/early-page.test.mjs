// The page before its script has loaded: the empty chat of index.html, which the application takes over.
import assert from "node:assert/strict";
import { test } from "node:test";
import { findViolations } from "./axe.mjs";
import { waitForElement, waitForPhase } from "./demo-page.mjs";
import { until, withServerAndBrowser } from "./harness.mjs";

let server;
let browser;
withServerAndBrowser((started) => { ({ server, browser } = started); });

const SIZES = { desktop: {}, tablet: { viewport: { width: 900, height: 1100 } }, phone: { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true } };
const field = ({ page }) => page.getByRole("textbox", { name: "Message" });
const SCRIPT = /\/assets\/index-[^/]*\.js$/;

/** Opens a page whose script waits for `load`. `at`: the hash. */
async function openEarly(at, options = {}, prepare = async () => {}) {
  const tab = await browser.visit(`${server.url}/healthz`, { serviceWorkers: "block", ...options });
  await prepare(tab);
  let load;
  const loading = new Promise((resolve) => { load = resolve; });
  await tab.page.route(SCRIPT, async (route) => { await loading; await route.fallback(); });
  await tab.page.goto(`${server.url}/${at}`, { waitUntil: "commit" });
  await tab.page.locator(".early").waitFor({ state: "attached" });
  return { ...tab, load };
}

/** Where the parts are that both pages have, by name. */
const boxes = ({ page }) => page.evaluate(() => Object.fromEntries(
  ["header", ".menu", ".brand", ".places", ".places a:nth-child(2)", ".api", "header > .icon-button:last-child", "nav", "nav .new", ".talk", ".composer", ".field", ".field textarea", ".field button", ".field .icon", ".tabs", ".tabs button:nth-child(3)"]
    .map((selector) => {
      const node = document.querySelector(`.shell ${selector}`);
      const { x, y, width, height } = node.getBoundingClientRect();
      return [selector, node.checkVisibility({ visibilityProperty: true }) ? [x, y, width, height].map((n) => Math.round(n * 2) / 2).join(" ") : "hidden"];
    }),
));

for (const [size, options] of Object.entries(SIZES)) {
  test(`what is typed before the script runs is kept, and nothing moves, on a ${size}`, async () => {
    const tab = await openEarly("", options);
    const { page } = tab;
    await page.evaluate(() => {
      window.shift = 0;
      new PerformanceObserver((entries) => { for (const { value } of entries.getEntries()) window.shift += value; }).observe({ type: "layout-shift", buffered: true });
    });
    await field(tab).click();
    await page.keyboard.type("Quentin lives in Ghent.");
    for (let presses = 0; presses < 3; presses += 1) await page.keyboard.press("ArrowLeft");
    await page.evaluate(() => document.fonts.ready);
    const early = await boxes(tab);
    assert.deepEqual(await findViolations(tab, "the early page"), []);
    // The application is drawn before the server has answered.
    let answer;
    const answering = new Promise((resolve) => { answer = resolve; });
    await page.route("**/auth/session", async (route) => { await answering; await route.fallback(); });
    tab.load();
    await page.locator(".shell:not(.early)").waitFor();
    const drawn = await boxes(tab);
    assert.deepEqual(drawn, early);
    assert.equal(await page.evaluate(() => window.shift), 0);
    await page.keyboard.type("i");
    assert.equal(await field(tab).inputValue(), "Quentin lives in Gheint.", "the field has its text, the focus and the caret");
    await page.keyboard.press("Backspace");
    answer();
    await waitForPhase(tab, "live");
    assert.equal(await field(tab).inputValue(), "Quentin lives in Ghent.");
    await page.keyboard.press("Enter");
    await waitForElement(page.locator(".message.own", { hasText: "Quentin lives in Ghent." }), "the message");
    assert.deepEqual(tab.problems, []);
    await tab.context.close();
  });
}

test("the early page has the chosen theme", async () => {
  const background = ({ page }) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const LIGHT = "rgb(246, 244, 239)";
  const DARK = "rgb(17, 19, 24)";
  for (const [system, chosen, expected] of [["light", null, LIGHT], ["dark", null, DARK], ["light", "dark", DARK], ["dark", "light", LIGHT]]) {
    const tab = await openEarly("", { colorScheme: system }, ({ page }) => page.evaluate((theme) => { if (theme) localStorage.setItem("recall.theme", theme); }, chosen));
    await waitForElement(field(tab), "the field");
    assert.equal(await background(tab), expected, `${system}, ${chosen}`);
    await tab.context.close();
  }
});

test("other places begin with the header alone", async () => {
  for (const options of Object.values(SIZES)) {
    const tab = await openEarly("#/memory", options);
    const { page } = tab;
    await waitForElement(page.getByRole("link", { name: "Memory" }), "the header");
    assert.equal(await field(tab).count(), 0);
    assert.equal(await page.locator("[aria-current]").count(), 0, "no place is marked as the current one");
    const header = () => page.locator("header").evaluate((node) => JSON.stringify([node, ...node.querySelectorAll(".brand, .places a")].map((part) => part.getBoundingClientRect())));
    const early = await header();
    tab.load();
    await page.locator(".shell:not(.early)").waitFor();
    assert.equal(await header(), early, "the header does not move");
    await tab.context.close();
  }
});

test("the early page shows what the application draws at each address", async () => {
  /** The parts that are seen, and the place that has the color of the current one. */
  const seen = ({ page }) => page.evaluate(() => {
    const isSeen = (selector) => document.querySelector(`.shell ${selector}`)?.checkVisibility({ visibilityProperty: true }) === true;
    const chat = document.querySelector(".places a");
    return [...["nav", ".composer", ".memory"].filter(isSeen), ...(getComputedStyle(chat).color === getComputedStyle(chat.nextElementSibling).color ? [] : ["in the chat"])].join(", ");
  });
  const CHAT = "nav, .composer, .memory, in the chat";
  const expected = {
    "": CHAT, "#/": CHAT, "#/s/none": CHAT, "#/nothing": CHAT, "#/settingsx": CHAT, "#/c": CHAT, "#/e/none": "nav, .memory, in the chat",
    "#/settings": "", "#/settings/tokens": "", "#/memory/facts/none": "", "#/graph?type=PERSON": "", "#/d": "", "#/d/none": "", "#/t/none": "", "#/c/none": "",
  };
  for (const [at, parts] of Object.entries(expected)) {
    // The server never says who the user is, so the page stays as it is drawn first.
    const tab = await openEarly(at, {}, ({ page }) => page.route("**/auth/session", () => {}));
    const { page } = tab;
    await page.locator("header").waitFor();
    assert.equal(await seen(tab), parts, `early, ${at}`);
    if (parts !== "") {
      tab.load();
      await page.locator(".shell:not(.early)").waitFor();
      assert.equal(await seen(tab), parts, `drawn, ${at}`);
    }
    await tab.context.close();
  }
});

test("a link of the header keeps the focus when the application takes over", async () => {
  for (const [at, name] of [["", "Memory"], ["", "Chat"], ["", "Settings"], ["#/graph", "Documents"]]) {
    const tab = await openEarly(at);
    const { page } = tab;
    const isFocused = () => page.getByRole("link", { name, exact: true }).evaluate((link) => link === document.activeElement && !link.closest(".early"));
    await page.getByRole("link", { name, exact: true }).focus();
    tab.load();
    await page.locator(".shell:not(.early)").waitFor();
    assert.equal(await isFocused(), true, `${name} in "${at}"`);
    if (at === "") await waitForPhase(tab, "live");
    assert.equal(await isFocused(), true, `${name} in "${at}", after the start`);
    await tab.context.close();
  }
});

test("where a login is needed, nothing is shown before the login page", async () => {
  let isLoggedOut = true;
  let answer = null;
  const tab = await openEarly("", {}, ({ page }) => page.route("**/auth/session", async (route) => {
    await answer;
    return isLoggedOut ? route.fulfill({ json: { user: null, csrfToken: null, expiresAt: null, visit: null, methods: ["token"] } }) : route.fallback();
  }));
  const { page } = tab;
  tab.load();
  await waitForElement(page.locator(".login-page"), "the login page");

  const isShown = () => page.locator(".shell").evaluate((node) => [...node.children].some((part) => part.textContent !== "" && part.checkVisibility({ visibilityProperty: true })));
  let release;
  answer = new Promise((resolve) => { release = resolve; });
  await page.reload({ waitUntil: "commit" });
  await page.locator(".shell:not(.early)").waitFor({ state: "attached" });
  assert.equal(await isShown(), false, "the page waits for the server");
  await waitForElement(page.getByRole("status").filter({ hasText: "Waiting for the server" }).locator("p"), "the words about the wait");
  assert.equal(await page.locator("header").isVisible(), false);
  release();
  await waitForElement(page.locator(".login-page"), "the login page");

  isLoggedOut = false;
  await page.reload();
  await waitForPhase(tab, "live");
  assert.equal(await isShown(), true);
  answer = new Promise(() => {});
  await page.reload({ waitUntil: "commit" });
  await waitForElement(field(tab), "the chat at once, because no login was needed last");
  await tab.context.close();
});
