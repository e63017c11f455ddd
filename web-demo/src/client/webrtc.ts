// The first choice of transport: a WebRTC data channel, signaled as in WHIP (RFC 9725), speaking recall.events.v1.
import { authorization } from "./graphql.ts";
import { namedIceServers } from "./ice.ts";
import type { Down, Link, LinkEvents, LinkRequest } from "./link.ts";
import { CHANNEL_LABEL, VERSION, parseFrame, type ClientFrame } from "./protocol.ts";

const LOOK_AGAIN_MS = 150;

/**
 * Opens a peer. The offer is posted at once, without waiting for our own candidates: the server learns our address from the
 * connectivity checks, and gathering (which may take seconds on machines with odd interfaces) never delays the first event.
 */
export function openWebRtc(request: LinkRequest, events: LinkEvents): Link {
  const { endpoint, sessionId, openTimeoutMs, iceServers, iceTransportPolicy = "all" } = request;
  const peer = new RTCPeerConnection({ iceServers, iceTransportPolicy });
  const channel = peer.createDataChannel(CHANNEL_LABEL, { ordered: true });
  const abort = new AbortController();
  let resource: string | null = null;
  let open = false;
  let ended = false;

  const send = (frame: ClientFrame) => {
    if (channel.readyState === "open") channel.send(JSON.stringify(frame));
  };

  const end = () => {
    if (ended) return false;
    ended = true;
    clearTimeout(timer);
    abort.abort();
    removeEventListener("pagehide", leave);
    channel.onopen = channel.onmessage = channel.onclose = channel.onerror = null;
    peer.onconnectionstatechange = peer.oniceconnectionstatechange = peer.onicegatheringstatechange = null;
    return true;
  };
  const down = (down: Down) => {
    if (!end()) return;
    peer.close();
    events.down(down);
  };
  const leave = () => {
    // A closed tab sends nothing by itself; without this the server would keep the peer until its heartbeat fails.
    if (resource) void fetch(resource, { method: "DELETE", keepalive: true, headers: authorization(endpoint) }).catch(() => {});
  };
  const timer = setTimeout(() => down({ why: resource ? "blocked" : "unreachable", code: "OPEN_TIMEOUT" }), openTimeoutMs);

  channel.onopen = () => {
    open = true;
    const { resume } = request;
    send({ t: "hello", v: VERSION, stream: sessionId, resume: resume && { epoch: resume.epoch, seq: resume.seq } });
  };
  channel.onmessage = ({ data }: MessageEvent<unknown>) => {
    const frame = parseFrame(data);
    if (frame === null) return down({ why: "lost", code: "BAD_FRAME" });
    events.heard();
    if (frame === "unknown") return;
    switch (frame.t) {
      case "welcome":
        clearTimeout(timer);
        // Two missed pings and one second for the way.
        return events.welcome({
          epoch: frame.epoch, head: frame.head, recovered: frame.recovered !== false, reason: frame.reason ?? undefined,
          silenceMs: frame.ping_s * 2000 + 1000,
        });
      case "ev":
        return events.event({ seq: frame.seq, id: frame.id, type: frame.type, ts: frame.ts, data: frame.d });
      case "eph":
        return events.ephemeral(frame.type, frame.d);
      case "caught_up":
        return events.caughtUp(frame.seq);
      case "gap":
        return events.gap({ from: frame.from, to: frame.to, reason: frame.reason });
      case "ping":
        return send({ t: "pong" });
      case "bye":
        return down({ why: frame.reconnect ? "lost" : "refused", code: frame.code, afterMs: frame.after_ms });
    }
  };
  channel.onclose = () => down({ why: open ? "lost" : "blocked", code: "CHANNEL_CLOSED" });
  // `disconnected` is no reason to leave: three seconds without UDP heal by themselves, and the heartbeat covers the rest.
  peer.onconnectionstatechange = peer.oniceconnectionstatechange = () => {
    if (peer.connectionState === "failed" || peer.iceConnectionState === "failed") down({ why: open ? "lost" : "blocked", code: "ICE_FAILED" });
  };
  /**
   * All addresses of both sides are known and none of ours can reach one of theirs. Firefox pairs no address of its own with 127.0.0.1,
   * sends nothing, and says so only after five seconds. `again`: statistics may lag, so nothing is concluded from the first look.
   */
  const lookForRoute = async (again: boolean) => {
    if (ended || open || peer.iceGatheringState !== "complete" || !peer.remoteDescription) return;
    const stats = await peer.getStats();
    for (const { type } of stats.values() as Iterable<{ type: string }>) if (type === "candidate-pair") return;
    if (!again) setTimeout(() => void lookForRoute(true), LOOK_AGAIN_MS);
    else if (!open) down({ why: "blocked", code: "NO_ROUTE" });
  };
  peer.onicegatheringstatechange = () => void lookForRoute(false);

  const signal = async () => {
    const named = await namedIceServers(endpoint, sessionId, abort.signal);
    if (ended) return;
    if (named.length > 0) peer.setConfiguration({ iceServers: [...iceServers, ...named], iceTransportPolicy });
    await peer.setLocalDescription();
    const response = await fetch(`${endpoint.url}/signaling/${encodeURIComponent(sessionId)}`, {
      method: "POST",
      headers: { "content-type": "application/sdp", accept: "application/sdp", ...authorization(endpoint) },
      body: peer.localDescription?.sdp ?? "",
      signal: abort.signal,
    });
    if (response.status !== 201) {
      const refused = [401, 403, 404, 410].includes(response.status);
      // 429 (no room for another peer) and the like speak of this transport; a server in trouble is in trouble for all.
      return down({ why: refused ? "refused" : response.status >= 500 ? "unreachable" : "blocked", code: `SIGNALING_${response.status}` });
    }
    const location = response.headers.get("location");
    if (location) resource = new URL(location, response.url).href;
    const sdp = await response.text();
    if (ended) return leave();
    await peer.setRemoteDescription({ type: "answer", sdp });
    await lookForRoute(false);
  };
  signal().catch(() => down({ why: resource ? "blocked" : "unreachable", code: "SIGNALING_FAILED" }));
  addEventListener("pagehide", leave);

  return {
    transport: "webrtc",
    ack: (seq) => send({ t: "ack", seq }),
    measure() {
      void peer.getStats().then((stats) => {
        for (const report of stats.values() as Iterable<{ type: string; nominated?: boolean; currentRoundTripTime?: number }>) {
          if (report.type === "candidate-pair" && report.nominated && report.currentRoundTripTime !== undefined && !ended) {
            events.latency(report.currentRoundTripTime * 1000);
          }
        }
      });
    },
    close(lost = false) {
      if (!end()) return;
      // DELETE goes first: once the channel is closed the server forgets the peer, and the request would find nothing.
      // After a silence it has forgotten the peer already.
      if (!resource || lost) return peer.close();
      fetch(resource, { method: "DELETE", headers: authorization(endpoint), signal: AbortSignal.timeout(1000) })
        .catch(() => {})
        .finally(() => peer.close());
    },
  };
}
