// A browser that may use only relay candidates, with a real TURN server and credentials from the Recall server.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { Browser, Server, clientPage, expectAllEvents, until, waitUntilLive } from "./harness.mjs";

const SECRET = "shared-by-these-two-servers-only";
let turnServer;
let browser;

/** coturn as in docs/deployment.md: a shared secret for credentials, and only one allowed peer address. */
class TurnServer {
  log = "";

  static async start() {
    const turn = new TurnServer();
    const probe = createSocket("udp4").bind(0, "127.0.0.1");
    await once(probe, "listening");
    turn.port = probe.address().port;
    probe.close();
    await once(probe, "close");
    turn.folder = await mkdtemp(path.join(tmpdir(), "recall-turn-"));
    turn.process = spawn("turnserver", [
      "-n", "--listening-ip=127.0.0.1", "--relay-ip=127.0.0.1", `--listening-port=${turn.port}`, "--lt-cred-mech", "--use-auth-secret",
      `--static-auth-secret=${SECRET}`, "--realm=recall.test", "--allow-loopback-peers", "--denied-peer-ip=0.0.0.0-255.255.255.255", "--allowed-peer-ip=127.0.0.2", "--no-tls", "--no-dtls", "--no-cli", "--verbose",
      "--log-file=stdout", "--simple-log", `--userdb=${turn.folder}/turndb`, `--pidfile=${turn.folder}/pid`,
    ], { stdio: ["ignore", "pipe", "inherit"] });
    turn.process.on("error", (error) => { turn.log = `cannot be started: ${error.message}`; });
    turn.process.stdout.on("data", (data) => { turn.log += data; });
    await until(() => /listener opened on|cannot be started/.test(turn.log), "the TURN server to listen");
    assert.ok(!turn.log.startsWith("cannot"), `The TURN server ${turn.log}. Install coturn (Debian: apt-get install coturn).`);
    return turn;
  }

  async stop() {
    this.process.kill();
    await once(this.process, "exit");
    await rm(this.folder, { recursive: true, force: true });
  }
}

before(async () => {
  turnServer = await TurnServer.start();
  browser = await Browser.start();
});
after(async () => {
  await browser?.stop();
  await turnServer?.stop();
});

/** Opens a client page that records its peer connections. */
async function recordingPage(server) {
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

const open = (tab, session) => tab.page.evaluate(([id, from]) => window.openStream(id, { from, iceTransportPolicy: "relay" }), [session.id, `${session.head.split(":")[0]}:0`]);

/** Returns the local candidate type of the page's last peer connection. */
const candidateType = (tab) => tab.page.evaluate(async () => {
  const stats = [...(await window.peers.at(-1).getStats()).values()];
  const pair = stats.find((s) => s.type === "candidate-pair" && s.nominated);
  return stats.find((s) => s.id === pair?.localCandidateId)?.candidateType;
});

test("events arrive over a real TURN server with anonymous credentials", async () => {
  const server = await Server.start({ RECALL_TURN_URLS: `turn:127.0.0.1:${turnServer.port}`, RECALL_TURN_SECRET: SECRET });
  try {
    const session = await server.newSession();
    const tab = await recordingPage(server);
    await open(tab, session);
    await waitUntilLive(tab, "webrtc");
    // The harness's UDP relay changes the source address, so the candidate may be peer-reflexive.
    assert.match(await candidateType(tab), /^(relay|prflx)$/);
    assert.match(turnServer.log, /ALLOCATE processed, success/);
    await server.say(session.id, "John likes Mary.");
    await expectAllEvents(tab, await server.settledHead(session.id));
    const { viewer } = await server.graphql("{ viewer { id } }");
    assert.match(turnServer.log, /user <\d{10}:[0-9a-f]{24}>/, "the TURN server logs an anonymous user");
    assert.ok(!turnServer.log.includes(viewer.id) && !turnServer.log.includes(session.id));
    assert.deepEqual(tab.problems, []);
    await tab.context.close();
  } finally {
    await server.stop();
  }
});

test("TURN credentials with a wrong secret fall back to the WebSocket", async () => {
  const settings = { RECALL_TURN_URLS: `turn:127.0.0.1:${turnServer.port}`, RECALL_TURN_SECRET: "another-secret-than-the-relays" };
  const server = await Server.start(settings);
  try {
    const session = await server.newSession();
    const tab = await recordingPage(server);
    await open(tab, session);
    await waitUntilLive(tab, "websocket");
    assert.match(turnServer.log, /401/);
    await tab.context.close();
  } finally {
    await server.stop();
  }
});
