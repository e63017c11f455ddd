// Test harness: the built server on a free port, and a TCP proxy in front of it that can cut connections.
// RECALL_BIN names the server's binary.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

export const TOKEN = "a-token-of-the-client-tests-0123456789";

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

/** Starts the server with a new data folder. `settings`: more environment variables. */
export async function startServer(settings = {}) {
  assert.ok(process.env.RECALL_BIN, "Set RECALL_BIN to the path of the built server.");
  const data = await mkdtemp(path.join(tmpdir(), "recall-client-"));
  // Remove other settings of the tests: the server rejects unknown ones.
  const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("RECALL_")));
  const child = spawn(process.env.RECALL_BIN, ["serve", "--listen", "127.0.0.1:0", "--data", data], { env: { ...inherited, ...settings } });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => { output += text; });
  const url = await until(() => {
    assert.equal(child.exitCode, null, output);
    return /listens on (http:\S+)/.exec(output)?.[1];
  }, "the server to start");
  const stop = async () => {
    if (child.exitCode === null) {
      const exited = once(child, "exit");
      child.kill("SIGTERM");
      await exited;
    }
    await rm(data, { recursive: true });
  };
  return { url, stop };
}

/** Forwards connections to the server until `cut` ends all of them. `restore` accepts new ones again. */
export class Proxy {
  #sockets = new Set();
  #isCut = false;

  /** Address of the server, which may start after the proxy: it must know the proxy's address as its own. */
  target = "";

  static async start() {
    const proxy = new Proxy();
    proxy.server = createServer((front) => {
      if (proxy.#isCut) return front.destroy();
      const { hostname, port } = new URL(proxy.target);
      const back = connect(Number(port), hostname);
      front.pipe(back).pipe(front);
      for (const [socket, other] of [[front, back], [back, front]]) {
        proxy.#sockets.add(socket);
        socket.on("error", () => {});
        socket.on("close", () => {
          proxy.#sockets.delete(socket);
          other.destroy();
        });
      }
    }).listen(0, "127.0.0.1");
    await once(proxy.server, "listening");
    proxy.url = `http://127.0.0.1:${proxy.server.address().port}`;
    return proxy;
  }

  cut() {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  restore() {
    this.#isCut = false;
  }

  async stop() {
    this.cut();
    this.server.close();
    await once(this.server, "close");
  }
}
