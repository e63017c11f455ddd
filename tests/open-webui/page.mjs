// Actions in the pages of Open WebUI 0.12.
import { createRequire } from "node:module";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const require = createRequire(fileURLToPath(new URL("../../web-demo/package.json", import.meta.url)));
const { chromium } = require("playwright-core");
const PASSWORD = "correct horse battery";

/** Waits until `check` returns a truthy value, and returns it. The limit ends broken checks; it measures nothing. */
export async function until(check, what, limitMs = 60_000) {
  const end = Date.now() + limitMs;
  for (;;) {
    const value = await check();
    if (value) return value;
    if (Date.now() > end) throw new Error(`waited ${limitMs / 1000} s for: ${what}`);
    await sleep(100);
  }
}

/** Starts Chromium. */
export const launch = () => chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});

/** A user's tab. */
export class Tab {
  static async open(browser, url) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 720 }, colorScheme: "light", locale: "en-US" });
    const tab = new Tab();
    tab.page = await context.newPage();
    tab.url = url;
    await tab.page.goto(url);
    return tab;
  }

  /** Creates the first account, which is an administrator's. */
  async signUp(name, email) {
    const start = this.page.getByRole("button", { name: "Get started" });
    await start.or(this.page.locator("#name")).first().waitFor();
    if (await start.count()) await start.click();
    await this.page.locator("#name").fill(name);
    await this.signIn(email);
  }

  async signIn(email) {
    await this.page.locator("#email").fill(email);
    await this.page.locator("#password").fill(PASSWORD);
    await this.page.locator("button[type=submit]").click();
    // The news of the version.
    await this.page.getByRole("button", { name: "Okay, Let's Go!" }).click({ timeout: 15_000 }).catch(() => {});
    await this.page.locator("#chat-input").waitFor();
  }

  /** Adds a user, as an administrator. */
  async addUser(name, email) {
    const token = await this.page.evaluate(() => localStorage.token);
    const data = { name, email, password: PASSWORD, role: "user" };
    const reply = await this.page.request.post(`${this.url}/api/v1/auths/add`, { data, headers: { authorization: `Bearer ${token}` } });
    if (!reply.ok()) throw new Error(`the user is not added: ${reply.status()}`);
  }

  async newChat({ temporary = false } = {}) {
    await this.page.goto(this.url);
    await this.page.locator("#chat-input").waitFor();
    await sleep(1_000);
    if (temporary) await this.page.locator("#temporary-chat-button").click();
  }

  /** Writes a message without waiting for the answer. */
  async write(text) {
    await this.page.locator("#chat-input").click();
    await this.page.keyboard.type(text);
    await this.page.keyboard.press("Enter");
  }

  /** Says something and returns the answer. */
  async say(text) {
    const before = await this.page.locator(".chat-assistant").count();
    await this.write(text);
    return this.answer(before + 1);
  }

  /** Waits until there are `n` answers and the last one is complete, and returns that. */
  async answer(n) {
    const last = () => this.page.locator(".chat-assistant").last().innerText();
    await until(async () => {
      if ((await this.page.locator(".chat-assistant").count()) < n || (await this.page.getByRole("button", { name: "Stop" }).count())) return false;
      const text = await last();
      await sleep(700);
      return text.trim() && text === (await last());
    }, "the answer");
    return (await last()).trim();
  }

  /** Returns the numbers of the sources that the last answer shows in its text. */
  sources() {
    return this.page.locator(".chat-assistant").last().getByRole("button", { name: /^View source: / }).allInnerTexts();
  }

  async stop() {
    await this.page.getByRole("button", { name: "Stop" }).click();
    await sleep(1_000);
  }

  async regenerate() {
    await this.page.getByRole("button", { name: "Regenerate", exact: true }).last().click();
    const again = this.page.getByText("Try Again");
    await again.click({ timeout: 2_000 }).catch(() => {});
    await sleep(500);
    return this.answer(1);
  }

  /** Changes the n-th message of the user, from 0, and sends it again. */
  async edit(n, text) {
    const message = this.page.locator(".user-message").nth(n);
    await message.hover();
    await message.getByRole("button", { name: "Edit", exact: true }).click();
    await this.page.locator("textarea[id^=message-edit]").fill(text);
    await this.page.locator("#confirm-edit-message-button").click();
    await sleep(1_000);
    return this.answer(1);
  }

  /** Deletes the n-th message of the user with its answer. */
  async delete(n) {
    const message = this.page.locator(".user-message").nth(n);
    const before = await this.page.locator(".user-message").count();
    await message.hover();
    await message.getByRole("button", { name: "Delete", exact: true }).click();
    await this.page.getByRole("button", { name: "Confirm" }).click({ timeout: 2_000 }).catch(() => {});
    await until(async () => (await this.page.locator(".user-message").count()) < before, "the message to disappear");
  }

  async attach(file) {
    await this.page.locator("input[type=file]").first().setInputFiles(file);
    await sleep(3_000);
  }
}
