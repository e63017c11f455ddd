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

export class Firefox {
  #waiting = new Map();
  #next = 1;
  #received = Buffer.alloc(0);

  static async start() {
    const firefox = new Firefox();
    firefox.profile = await mkdtemp(path.join(tmpdir(), "recall-firefox-"));
    await writeFile(path.join(firefox.profile, "user.js"), Object.entries(PREFERENCES).map(([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});\n`).join(""));
    const program = process.env.FIREFOX ?? "/usr/bin/firefox-esr";
    firefox.process = spawn(program, ["--headless", "--no-remote", "--profile", firefox.profile, "--marionette", "about:blank"], {
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

  reload() {
    return this.send("WebDriver:Refresh", {});
  }

  /** Runs `body`, the source of an async function, in the page. */
  async evaluate(body, ...args) {
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
