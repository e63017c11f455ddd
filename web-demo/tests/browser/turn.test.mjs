// A browser that reaches the server over a real TURN server only, with credentials that this server made.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { Browser, Server, clientPage, live, sawEverything, until } from "./harness.mjs";

const SECRET = "shared-by-these-two-servers-only";
let turn;
let browser;

/** coturn as docs/deployment.md says: credentials by a shared secret, and nothing to be reached through it but the one address. */
class TurnServer {
  said = "";

  static async start() {
    const made = new TurnServer();
    const probe = createSocket("udp4").bind(0, "127.0.0.1");
    await once(probe, "listening");
    made.port = probe.address().port;
    probe.close();
    await once(probe, "close");
    made.folder = await mkdtemp(path.join(tmpdir(), "recall-turn-"));
    made.process = spawn("turnserver", [
      "-n", "--listening-ip=127.0.0.1", "--relay-ip=127.0.0.1", `--listening-port=${made.port}`, "--lt-cred-mech", "--use-auth-secret",
      `--static-auth-secret=${SECRET}`, "--realm=recall.test", "--allow-loopback-peers", "--denied-peer-ip=0.0.0.0-255.255.255.255", "--allowed-peer-ip=127.0.0.2", "--no-tls", "--no-dtls", "--no-cli", "--verbose",
      "--log-file=stdout", "--simple-log", `--userdb=${made.folder}/turndb`, `--pidfile=${made.folder}/pid`,
    ], { stdio: ["ignore", "pipe", "inherit"] });
    made.process.on("error", (error) => { made.said = `cannot be started: ${error.message}`; });
    made.process.stdout.on("data", (data) => { made.said += data; });
    await until(() => /listener opened on|cannot be started/.test(made.said), "the TURN server to listen");
    assert.ok(!made.said.startsWith("cannot"), `the TURN server ${made.said} (Debian: apt-get install coturn)`);
    return made;
  }

  async stop() {
    this.process.kill();
    await once(this.process, "exit");
    await rm(this.folder, { recursive: true, force: true });
  }
}

before(async () => {
  turn = await TurnServer.start();
  browser = await Browser.start();
});
after(async () => {
  await browser?.stop();
  await turn?.stop();
});

/** A page whose peers may go over relays only; it remembers them. */
async function relayedPage(server) {
  const tab = await clientPage(browser, server);
  await tab.page.evaluate(() => {
    const Original = RTCPeerConnection;
    window.peers = [];
    window.RTCPeerConnection = class extends Original {
      constructor(...given) {
        super(...given);
        window.peers.push(this);
      }
    };
  });
  return tab;
}

const open = (tab, session) => tab.page.evaluate(([id, from]) => window.open_(id, { from, iceTransportPolicy: "relay" }), [session.id, `${session.head.split(":")[0]}:0`]);

/** How the last peer of the page reaches the server. */
const route = (tab) => tab.page.evaluate(async () => {
  const stats = [...(await window.peers.at(-1).getStats()).values()];
  const pair = stats.find((s) => s.type === "candidate-pair" && s.nominated);
  return stats.find((s) => s.id === pair?.localCandidateId)?.candidateType;
});

test("events come over a real TURN server, with credentials that name nobody", async () => {
  const server = await Server.start({ RECALL_TURN_URLS: `turn:127.0.0.1:${turn.port}`, RECALL_TURN_SECRET: SECRET });
  try {
    const session = await server.newSession();
    const tab = await relayedPage(server);
    await open(tab, session);
    await live(tab, "webrtc");
    // The tests' own relay for UDP stands between, so the way through the TURN server is known by an address that it saw there.
    assert.match(await route(tab), /^(relay|prflx)$/);
    assert.match(turn.said, /ALLOCATE processed, success/);
    await server.say(session.id, "John likes Mary.");
    await sawEverything(tab, await server.settledHead(session.id));
    const { viewer } = await server.graphql("{ viewer { id } }");
    assert.match(turn.said, /user <\d{10}:[0-9a-f]{24}>/, "whom the TURN server's log names");
    assert.ok(!turn.said.includes(viewer.id) && !turn.said.includes(session.id));
    assert.deepEqual(tab.problems, []);
    await tab.context.close();
  } finally {
    await server.stop();
  }
});

test("with credentials of another secret nothing is relayed, and the line goes another way", async () => {
  const settings = { RECALL_TURN_URLS: `turn:127.0.0.1:${turn.port}`, RECALL_TURN_SECRET: "another-secret-than-the-relays" };
  const server = await Server.start(settings);
  try {
    const session = await server.newSession();
    const tab = await relayedPage(server);
    await open(tab, session);
    await live(tab, "websocket");
    assert.match(turn.said, /401/);
    await tab.context.close();
  } finally {
    await server.stop();
  }
});
