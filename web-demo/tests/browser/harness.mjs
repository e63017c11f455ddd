// Test harness: the built server on free ports, a UDP relay that can drop packets, Chromium, and the stream client in a page.
// RECALL_BIN names the server's binary, CHROMIUM the browser (default: /usr/bin/chromium). RECALL_PAGES=dist tests the built pages of this
// folder instead of those in the binary, so that a change of a page needs no build of the server.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
const FLAGS = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
];
async function freeTcpPort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

async function udpSocket(port = 0, address = "127.0.0.1") {
  const socket = createSocket("udp4").bind(port, address);
  await once(socket, "listening");
  return socket;
}

/** Waits until `check` returns a truthy value, and returns it. The limit ends broken tests; it measures nothing. */
export async function until(check, what, limitMs = 30_000) {
  const end = Date.now() + limitMs;
  for (;;) {
    const value = await check();
    if (value) return value;
    if (Date.now() > end) assert.fail(`waited ${limitMs / 1000} s for: ${what}`);
    await sleep(25);
  }
}

/** Address of the relay, which the server announces as its own. The server itself listens on 127.0.0.1, on the same port. */
const RELAY = "127.0.0.2";

/** Relays UDP between browser and server, with one upstream socket per browser address. `lossy` drops all packets. */
class UdpRelay {
  lossy = false;
  #upstream = new Map();

  static async start(serverPort) {
    const relay = new UdpRelay();
    relay.front = await udpSocket(serverPort, RELAY);
    relay.front.on("message", (packet, from) => {
      if (relay.lossy) return;
      const key = `${from.address}:${from.port}`;
      let socket = relay.#upstream.get(key);
      if (!socket) {
        socket = createSocket("udp4");
        socket.on("message", (back) => {
          if (!relay.lossy) relay.front.send(back, from.port, from.address);
        });
        socket.on("error", () => {}); // Some tests stop the server.
        relay.#upstream.set(key, socket);
      }
      socket.send(packet, serverPort, "127.0.0.1");
    });
    return relay;
  }

  stop() {
    this.front.close();
    for (const socket of this.#upstream.values()) socket.close();
  }
}

export class Server {
  /** `settings`: environment variables of the server, or a function that returns them for its URL. */
  static async start(settings = {}) {
    assert.ok(process.env.RECALL_BIN, "Set RECALL_BIN to the path of the built server.");
    for (let attempt = 1; ; attempt += 1) {
      const server = await Server.#prepare(settings);
      try {
        await server.run();
        return server;
      } catch (error) {
        // Open sockets would prevent the test run from ending.
        await server.stop();
        // Another program may have taken the free port before the server did.
        if (attempt === 3 || !/in use/i.test(server.output)) throw error;
      }
    }
  }

  static async #prepare(settings) {
    const server = new Server();
    server.data = await mkdtemp(path.join(tmpdir(), "recall-browser-"));
    server.port = await freeTcpPort();
    server.url = `http://127.0.0.1:${server.port}`;
    server.settings = typeof settings === "function" ? await settings(server.url) : settings;
    const probe = await udpSocket();
    server.udpPort = probe.address().port;
    probe.close();
    server.relay = await UdpRelay.start(server.udpPort);
    return server;
  }

  /** Starts the process. A restart uses the same ports and data. */
  async run() {
    this.output = "";
    this.process = spawn(process.env.RECALL_BIN, ["serve", "--listen", `127.0.0.1:${this.port}`, "--data", this.data], {
      env: {
        // Remove the tests' own settings: the server rejects unknown ones.
        ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("RECALL_"))),
        RECALL_UDP_LISTEN: `127.0.0.1:${this.udpPort}`, RECALL_UDP_PUBLIC_ADDRESSES: RELAY,
        RECALL_LOG: "warn",
        ...this.settings,
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const collect = (chunk) => { this.output = (this.output + chunk).slice(-8000); };
    this.process.stdout.on("data", collect);
    this.process.stderr.on("data", collect);
    const { process: started } = this;
    await until(async () => {
      if (started.exitCode !== null) assert.fail(`The server exited during start:\n${this.output}`);
      return fetch(`${this.url}/healthz`).then((r) => r.ok, () => false);
    }, "the server to answer /healthz");
  }

  async #end(signal) {
    if (!this.process || this.process.exitCode !== null || this.process.signalCode !== null) return;
    const ended = once(this.process, "exit");
    process.kill(this.process.pid, signal);
    await ended;
  }

  kill() {
    return this.#end("SIGKILL");
  }

  async stop() {
    await this.#end("SIGTERM");
    this.relay.stop();
    await rm(this.data, { recursive: true, force: true });
  }

  async graphql(query, variables = {}) {
    const response = await fetch(`${this.url}/graphql`, {
      method: "POST", headers: { "content-type": "application/json", connection: "close" }, body: JSON.stringify({ query, variables }),
    });
    const { data, errors } = await response.json();
    assert.equal(errors, undefined, JSON.stringify(errors));
    return data;
  }

  async newSession() {
    const { createSession } = await this.graphql("mutation { createSession(input: {}) { session { id head } errors { code } } }");
    return createSession.session;
  }

  async say(sessionId, text) {
    const { sendMessage } = await this.graphql(
      "mutation ($input: SendMessageInput!) { sendMessage(input: $input) { message { id } errors { code message } } }",
      { input: { sessionId, text } },
    );
    assert.deepEqual(sendMessage.errors, []);
    return sendMessage.message.id;
  }

  /** Waits until the session is idle. Returns the number of its newest event. */
  async settledHead(sessionId) {
    const read = async () => {
      const { session } = await this.graphql("query ($id: ID!) { session(id: $id) { head messages(last: 100) { nodes { status } } } }", { id: sessionId });
      return { head: Number(session.head.split(":").at(-1)), busy: session.messages.nodes.some((m) => m.status === "PROCESSING") };
    };
    let before = await read();
    return until(async () => {
      await sleep(250);
      const now = await read();
      const still = !now.busy && now.head === before.head;
      before = now;
      return still && now.head;
    }, "the session to become idle");
  }
}

/** Contexts without a network, see `setOffline`. */
const offlineContexts = new WeakSet();

/** Cuts the pages of a context from the network, or connects them again. Data channels that are open stay open, so reload the pages. */
export async function setOffline({ context }, isOffline) {
  if (isOffline) offlineContexts.add(context);
  else offlineContexts.delete(context);
  await context.setOffline(isOffline);
}

/** Answers requests for the demo page with the files of a folder, under the server's content security policy. */
async function serveBuiltPages(context, origin, folder) {
  const policy = (await fetch(`${origin}/`)).headers.get("content-security-policy");
  // Such a page may otherwise open no WebSocket to a loopback address.
  await context.grantPermissions(["local-network-access"], { origin });
  const isPage = (url) => url.origin === origin && /^\/(assets\/.*|(sw|precache)\.js)?$/.test(url.pathname);
  await context.route(isPage, async (route) => {
    // A page of a server that does not run cannot be loaded either.
    if (offlineContexts.has(context) || !(await fetch(`${origin}/healthz`, { headers: { connection: "close" } }).catch(() => null))) return route.abort("connectionrefused");
    const { pathname } = new URL(route.request().url());
    const file = path.join(path.resolve(root, folder), pathname === "/" ? "index.html" : pathname);
    // The browser lets no test answer the end of a redirect, as after a login. Then the server's page loads until the next navigation.
    if (!existsSync(file)) return route.continue();
    await route.fulfill({ path: file, headers: { "content-security-policy": policy ?? "" } });
  });
}

export class Browser {
  static async start() {
    const browser = new Browser();
    browser.chromium = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: FLAGS });
    return browser;
  }

  stop() {
    return this.chromium.close();
  }

  /**
   * Opens a page in a new context, or in another tab of `visitor`.
   *
   * `problems` collects console errors, exceptions and requests to other hosts. While `outage` is set, failed requests are expected.
   */
  async visit(url, { visitor, outage = false, ...options } = {}) {
    const context = visitor?.context ?? await this.chromium.newContext({ viewport: { width: 1360, height: 850 }, ...options });
    if (!visitor && process.env.RECALL_PAGES) await serveBuiltPages(context, new URL(url).origin, process.env.RECALL_PAGES);
    const page = await context.newPage();
    const tab = { context, page, problems: [], requests: [], outage };
    const origin = new URL(url).origin;
    page.on("console", (message) => {
      if (message.type() !== "error" && message.type() !== "warning") return;
      if (tab.outage && /Failed to load resource|WebSocket connection to/.test(message.text())) return;
      // Some tests hold files of the page back, which a service worker would answer.
      if (message.text() === "Service Worker registration blocked by Playwright") return;
      // The page closed a stream that it no longer needed, such as that of a document read in the meantime.
      if (message.text().endsWith("WebSocket is closed before the connection is established.")) return;
      tab.problems.push(`${message.type()}: ${message.text().slice(0, 300)} (${message.location().url})`);
    });
    page.on("pageerror", (error) => tab.problems.push(`exception: ${error.message}`));
    page.on("request", (request) => {
      tab.requests.push(`${request.method()} ${new URL(request.url()).pathname}`);
      if (new URL(request.url()).origin !== origin && !request.url().startsWith("data:")) tab.problems.push(`foreign request: ${request.url()}`);
    });
    await page.goto(url);
    return tab;
  }
}

/**
 * Starts a server and Chromium before a file's tests and stops both afterwards.
 *
 * `assign` receives them before the first test. `settings`: see `Server.start`.
 */
export function withServerAndBrowser(assign, settings) {
  const started = {};
  before(async () => {
    started.server = await Server.start(settings);
    started.browser = await Browser.start();
    assign(started);
  });
  after(async () => {
    await started.browser?.stop();
    await started.server?.stop();
  });
}

/**
 * Opens a page of the server with the client package. `window.openStream` starts a stream and records its events.
 *
 * The server must deliver the page: Chromium lets only such pages connect to a loopback address.
 */
export async function clientPage(browser, server, options = {}) {
  const context = options.visitor?.context ?? await browser.chromium.newContext();
  await context.route("**/__client/**", async (route) => {
    const file = new URL(route.request().url()).pathname.replace("/__client/", "");
    return route.fulfill({ contentType: "text/javascript", body: await readFile(path.join(root, "../clients/javascript/dist", file), "utf8") });
  });
  const tab = await browser.visit(`${server.url}/healthz`, { visitor: { context } });
  await loadClient(tab);
  return tab;
}

/** Loads the client into the page. Call it again after a reload. */
export const loadClient = (tab) => tab.page.evaluate(defineOpenStream);

/** Runs in the page. */
async function defineOpenStream() {
  const { RecallClient, webStorageCursors } = await import("/__client/index.js");
  window.openStream = (sessionId, options = {}) => {
    const record = { seqs: [], types: [], replayed: 0, gaps: [], transports: [], phases: [], openMs: null };
    const began = performance.now();
    const stream = new RecallClient().stream(sessionId, {
      ...options, onGap: (gap) => void record.gaps.push(gap), ...(options.stored ? { cursorStore: webStorageCursors() } : {}),
    });
    stream.on("event", (event, meta) => {
      record.seqs.push(meta.seq);
      record.types.push(event.type);
      if (meta.replayed) record.replayed += 1;
      if (record.transports.at(-1) !== meta.transport) record.transports.push(meta.transport);
    });
    stream.on("state", ({ phase }) => {
      if (record.phases.at(-1) !== phase) record.phases.push(phase);
      if (phase === "live") record.openMs ??= performance.now() - began;
    });
    stream.start();
    Object.assign(window, { stream, record });
  };
}

export const record = (tab) => tab.page.evaluate(() => ({ ...window.record, state: window.stream.state }));

export async function waitUntilLive(tab, transport, limitMs) {
  return until(async () => {
    const seen = await record(tab);
    return seen.state.phase === "live" && (transport === undefined || seen.state.transport === transport) && seen;
  }, `the stream to be live${transport ? ` over ${transport}` : ""}`, limitMs);
}

/** Waits for event `head`. Asserts that the stream received from..=head once, in order, without a gap. */
export async function expectAllEvents(tab, head, from = 1) {
  const seen = await until(async () => {
    const now = await record(tab);
    return now.seqs.at(-1) >= head && now;
  }, `event ${head}`, 60_000);
  assert.deepEqual(seen.seqs, Array.from({ length: head - from + 1 }, (_, i) => from + i));
  assert.deepEqual(seen.gaps, []);
  return seen;
}
