// Firefox for the browser tests. Marionette, Firefox's built-in protocol, controls it without a separate driver.
// FIREFOX names the browser (default: /usr/bin/firefox-esr).
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { until } from "./harness.mjs";

/** Preferences that prevent requests to the internet. WebRTC keeps its defaults. */
const PREFERENCES = {
  "marionette.port": 0, "app.update.enabled": false, "browser.shell.checkDefaultBrowser": false, "browser.aboutwelcome.enabled": false,
  "datareporting.policy.dataSubmissionEnabled": false, "toolkit.telemetry.reportingpolicy.firstRun": false, "app.normandy.enabled": false,
  "network.captive-portal-service.enabled": false, "network.connectivity-service.enabled": false, "services.settings.server": "data:,", "extensions.getAddons.cache.enabled": false,
  "browser.safebrowsing.downloads.enabled": false, "browser.safebrowsing.malware.enabled": false, "browser.safebrowsing.phishing.enabled": false,
};
const ELEMENT = "element-6066-11e4-a52e-4f735466cecf";
/** Keys by their names in the DOM. Other keys are the characters that they type. */
const KEYS = {
  Enter: "\uE007", Tab: "\uE004", Escape: "\uE00C", Space: " ", Control: "\uE009", ArrowUp: "\uE013", ArrowDown: "\uE015", ArrowRight: "\uE014", Home: "\uE011",
};
/** What a page may cause for a moment while it redraws. */
const MOMENTARY = /^(stale element reference|element click intercepted|element not interactable|move target out of bounds)/;

export class Firefox {
  #waiting = new Map();
  #next = 1;
  #received = Buffer.alloc(0);

  static async start() {
    const firefox = new Firefox();
    firefox.profile = await mkdtemp(path.join(tmpdir(), "recall-firefox-"));
    await writeFile(path.join(firefox.profile, "user.js"), Object.entries(PREFERENCES).map(([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});\n`).join(""));
    const program = process.env.FIREFOX ?? "/usr/bin/firefox-esr";
    firefox.process = spawn(program, ["--headless", "--no-remote", "--profile", firefox.profile, "--marionette", "--remote-allow-system-access", "about:blank"], {
      // As root, Firefox rejects a home directory of another user.
      env: { ...process.env, HOME: firefox.profile, MOZ_CRASHREPORTER_DISABLE: "1" }, stdio: "ignore",
    });
    firefox.process.on("error", (error) => { firefox.failed = error.message; });
    try {
      const port = await until(async () => {
        assert.ok(!firefox.failed && firefox.process.exitCode === null, `${program} cannot be started: ${firefox.failed ?? `it ended with ${firefox.process.exitCode}`}`);
        return Number(await readFile(path.join(firefox.profile, "MarionetteActivePort"), "utf8").catch(() => 0));
      }, "Firefox to listen", 120_000);
      firefox.socket = connect(port, "127.0.0.1");
      firefox.socket.on("data", (chunk) => firefox.#receive(chunk));
      firefox.socket.on("error", () => {});
      await once(firefox.socket, "connect");
      const { capabilities } = await firefox.send("WebDriver:NewSession", {});
      firefox.version = capabilities.browserVersion;
      await firefox.send("WebDriver:SetTimeouts", { script: 60_000, pageLoad: 60_000 });
    } catch (error) {
      await firefox.stop();
      throw error;
    }
    return firefox;
  }

  /** Parses frames: `length:[1, id, error, result]`. The first frame is a greeting without an id. */
  #receive(chunk) {
    this.#received = Buffer.concat([this.#received, chunk]);
    for (;;) {
      const colon = this.#received.indexOf(":");
      const end = colon + 1 + Number(this.#received.subarray(0, Math.max(0, colon)));
      if (colon < 1 || this.#received.length < end) return;
      const message = JSON.parse(this.#received.subarray(colon + 1, end));
      this.#received = this.#received.subarray(end);
      if (!Array.isArray(message)) continue;
      const [, id, error, result] = message;
      const { resolve, reject } = this.#waiting.get(id) ?? {};
      this.#waiting.delete(id);
      if (error) reject?.(new Error(`${error.error}: ${error.message}`));
      else resolve?.(result);
    }
  }

  send(name, parameters) {
    const id = this.#next;
    this.#next += 1;
    const body = JSON.stringify([0, id, name, parameters]);
    const answer = new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
    this.socket.write(`${Buffer.byteLength(body)}:${body}`);
    return answer;
  }

  goto(url) {
    return this.send("WebDriver:Navigate", { url });
  }

  /** Reloads the page as a user does. The driver's own command bypasses the service worker. */
  async reload() {
    await this.evaluate(() => {
      window.isBeforeReload = true;
      setTimeout(() => location.reload());
    });
    // A command that meets the change of pages fails.
    await until(() => this.evaluate(() => !window.isBeforeReload && document.readyState === "complete").catch(() => false), "the page to load again");
  }

  /** Runs a function, or the source of an async function's body, in the page. */
  async evaluate(code, ...args) {
    const body = typeof code === "function" ? `return (${code})(...args);` : code;
    const script = `const done = arguments[arguments.length - 1]; (async (...args) => { ${body} })(...arguments).then((value) => done({ value }), (error) => done({ error: String(error) }));`;
    const { value } = await this.send("WebDriver:ExecuteAsyncScript", { script, args, sandbox: null });
    if (value?.error) throw new Error(value.error);
    return value?.value;
  }

  /** Types text into an element. "\uE007" is Enter. */
  async type(selector, text) {
    const { value } = await this.send("WebDriver:FindElement", { using: "css selector", value: selector });
    await this.send("WebDriver:ElementSendKeys", { id: value[ELEMENT], text });
  }

  /**
   * Returns the first visible element that matches `selector` and whose name or text contains all `words`, or undefined. Looks again if the page
   * replaces the element at that moment.
   */
  async #find(selector, words) {
    for (;;) {
      try {
        return await this.#findNow(selector, words);
      } catch (error) {
        if (!/stale element/.test(error.message)) throw error;
      }
    }
  }

  #findNow(selector, words) {
    return this.evaluate((wanted, texts) => [...document.querySelectorAll(wanted)].find((node) => {
      const text = `${node.getAttribute("aria-label") ?? ""} ${node.textContent}`;
      return node.checkVisibility() && texts.every((word) => text.includes(word));
    }), selector, words);
  }

  async isShown(selector, ...words) {
    return Boolean(await this.#find(selector, words));
  }

  /** Waits for a visible element; see `#find`. */
  waitFor(selector, ...words) {
    return until(() => this.#find(selector, words), `${selector} with "${words.join(", ")}" in Firefox`);
  }

  /** Waits until no visible element matches. */
  waitForNone(selector, ...words) {
    return until(async () => !(await this.isShown(selector, ...words)), `no ${selector} with "${words.join(", ")}" in Firefox`);
  }

  /** Sends a command about an element, again while the page redraws it. */
  async #act(command, parameters, selector, words) {
    let refused;
    await until(async () => {
      const { [ELEMENT]: id } = await this.waitFor(selector, ...words);
      try {
        await this.send(command, { id, ...parameters });
        return true;
      } catch (error) {
        if (!MOMENTARY.test(error.message)) throw error;
        refused = error;
        return false;
      }
    }, command).catch((error) => { throw refused ?? error; });
  }

  /** Clicks an element as a user does: Firefox refuses if something else is in front of it. */
  click(selector, ...words) {
    return this.#act("WebDriver:ElementClick", {}, selector, words);
  }

  /** Replaces the text of a field. */
  async fill(selector, text) {
    await this.#act("WebDriver:ElementSendKeys", { text: `${KEYS.Control}a` }, selector, []);
    await this.#act("WebDriver:ElementSendKeys", { text }, selector, []);
  }

  /** Chooses a file of this machine. File inputs may be hidden. */
  upload(selector, file) {
    return this.type(selector, file);
  }

  #pressTogether(keys) {
    const actions = [...keys.map((value) => ({ type: "keyDown", value })), ...keys.toReversed().map((value) => ({ type: "keyUp", value }))];
    return this.send("WebDriver:PerformActions", { actions: [{ type: "key", id: "keyboard", actions }] });
  }

  /** Presses a key where the focus is, such as "Enter" or "Control+k". */
  press(keys) {
    return this.#pressTogether(keys.split("+").map((key) => KEYS[key] ?? key));
  }

  /** Presses the keys of a text where the focus is. */
  async pressText(text) {
    for (const key of text) await this.#pressTogether([key]);
  }

  /** Runs a function in Firefox itself, with the window of the browser as its global. */
  async #evaluateInBrowser(code, ...args) {
    await this.send("Marionette:SetContext", { value: "chrome" });
    try {
      return await this.evaluate(code, ...args);
    } finally {
      await this.send("Marionette:SetContext", { value: "content" });
    }
  }

  /** Sets the size of the page and its colour scheme, "light" or "dark". */
  async emulate({ width, height, colorScheme }) {
    await this.#evaluateInBrowser((size, scheme) => {
      const { selectedBrowser } = window.gBrowser;
      for (const [side, pixels] of Object.entries(size)) for (const name of [side, `min-${side}`, `max-${side}`]) selectedBrowser.style.setProperty(name, `${pixels}px`, "important");
      selectedBrowser.browsingContext.prefersColorSchemeOverride = scheme;
    }, { width, height }, colorScheme);
    await until(() => this.evaluate((w, scheme) => innerWidth === w && matchMedia(`(prefers-color-scheme: ${scheme})`).matches, width, colorScheme), `a page of ${width} px, ${colorScheme}`);
  }

  /** Returns and clears the errors that Firefox reported about pages of `origin`, such as exceptions and refused resources. */
  takeProblems(origin) {
    return this.#evaluateInBrowser((of) => {
      const { Ci, Services } = window;
      const reported = (Services.console.getMessageArray() ?? []).filter((m) => m instanceof Ci.nsIScriptError && m.sourceName.startsWith(of) && !(m.flags & Ci.nsIScriptError.warningFlag));
      Services.console.reset();
      const messages = reported.map((m) => m.errorMessage);
      // A page that is left while its WebSocket connects reports two errors, which say nothing of the page.
      const left = new Set(messages.filter((text) => text.endsWith("was interrupted while the page was loading.")).map((text) => text.match(/ws:\S+/)?.[0]));
      return messages.filter((text) => !left.has(text.match(/ws:\S+/)?.[0]?.replace(/\.$/, "")));
    }, origin);
  }

  async stop() {
    if (this.process.exitCode === null && !this.failed) {
      const ended = once(this.process, "exit");
      if (this.socket) await this.send("Marionette:Quit", { flags: ["eForceQuit"] }).catch(() => {});
      this.process.kill();
      await ended;
    }
    this.socket?.destroy();
    await rm(this.profile, { recursive: true, force: true, maxRetries: 5 });
  }
}
