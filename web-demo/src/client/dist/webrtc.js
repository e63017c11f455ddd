// The preferred transport: a WebRTC data channel that speaks recall.events.v1, signaled as in WHIP (RFC 9725).
import { authHeaders } from "./graphql.js";
import { fetchIceServers } from "./ice.js";
import { CHANNEL_LABEL, VERSION, parseFrame } from "./protocol.js";
/** Peer statistics may lag, so a missing route must be seen twice. */
const ROUTE_RECHECK_MS = 150;
export const openWebRtc = (request, events) => new WebRtcLink(request, events);
class WebRtcLink {
    transport = "webrtc";
    #request;
    #events;
    #peer;
    #channel;
    #abort = new AbortController();
    #openTimer;
    /** URL of the peer on the server, known from the answer on. */
    #resource = null;
    #open = false;
    #ended = false;
    constructor(request, events) {
        const { iceServers, iceTransportPolicy = "all", openTimeoutMs } = request;
        this.#request = request;
        this.#events = events;
        this.#peer = new RTCPeerConnection({ iceServers, iceTransportPolicy });
        this.#channel = this.#peer.createDataChannel(CHANNEL_LABEL, { ordered: true });
        this.#openTimer = setTimeout(() => this.#down({ why: this.#resource ? "blocked" : "unreachable", code: "OPEN_TIMEOUT" }), openTimeoutMs);
        this.#channel.onopen = () => this.#hello();
        this.#channel.onmessage = ({ data }) => this.#receive(data);
        this.#channel.onclose = () => this.#down({ why: this.#open ? "lost" : "blocked", code: "CHANNEL_CLOSED" });
        // Ignore `disconnected`: short UDP outages heal without a new connection, and the heartbeat detects longer ones.
        this.#peer.onconnectionstatechange = this.#peer.oniceconnectionstatechange = () => {
            const failed = this.#peer.connectionState === "failed" || this.#peer.iceConnectionState === "failed";
            if (failed)
                this.#down({ why: this.#open ? "lost" : "blocked", code: "ICE_FAILED" });
        };
        this.#peer.onicegatheringstatechange = () => void this.#checkRoute(false);
        this.#signal().catch(() => this.#down({ why: this.#resource ? "blocked" : "unreachable", code: "SIGNALING_FAILED" }));
        addEventListener("pagehide", this.#leave);
    }
    ack(seq) {
        this.#send({ t: "ack", seq });
    }
    measure() {
        void this.#peer.getStats().then((stats) => {
            for (const report of stats.values()) {
                if (report.type === "candidate-pair" && report.nominated && report.currentRoundTripTime !== undefined && !this.#ended) {
                    this.#events.latency(report.currentRoundTripTime * 1000);
                }
            }
        });
    }
    close(lost = false) {
        if (!this.#end())
            return;
        // After a silence the server has already removed the peer.
        if (!this.#resource || lost)
            return this.#peer.close();
        // Send DELETE before closing the channel: the server removes the peer with its channel, and DELETE would answer 404.
        fetch(this.#resource, { method: "DELETE", headers: authHeaders(this.#request.endpoint), signal: AbortSignal.timeout(1000) })
            .catch(() => { })
            .finally(() => this.#peer.close());
    }
    /**
     * Posts the offer and applies the answer.
     *
     * The offer contains no candidates of ours: the server learns our address from the connectivity checks. Waiting for candidates can take
     * seconds and would delay the first event.
     */
    async #signal() {
        const { endpoint, sessionId, iceServers, iceTransportPolicy = "all" } = this.#request;
        const named = await fetchIceServers(endpoint, sessionId, this.#abort.signal);
        if (this.#ended)
            return;
        if (named.length > 0)
            this.#peer.setConfiguration({ iceServers: [...iceServers, ...named], iceTransportPolicy });
        await this.#peer.setLocalDescription();
        const response = await fetch(`${endpoint.url}/signaling/${encodeURIComponent(sessionId)}`, {
            method: "POST",
            headers: { "content-type": "application/sdp", accept: "application/sdp", ...authHeaders(endpoint) },
            body: this.#peer.localDescription?.sdp ?? "",
            signal: this.#abort.signal,
        });
        if (response.status !== 201) {
            const refused = [401, 403, 404, 410].includes(response.status);
            // A server error affects every transport. Other statuses, such as 429 (too many peers), affect only this one.
            return this.#down({ why: refused ? "refused" : response.status >= 500 ? "unreachable" : "blocked", code: `SIGNALING_${response.status}` });
        }
        const location = response.headers.get("location");
        if (location)
            this.#resource = new URL(location, response.url).href;
        const sdp = await response.text();
        if (this.#ended)
            return this.#leave();
        await this.#peer.setRemoteDescription({ type: "answer", sdp });
        await this.#checkRoute(false);
    }
    /**
     * Ends the link if no candidate of ours can reach one of the server's.
     *
     * Firefox pairs none of its addresses with 127.0.0.1 and reports the failure only after five seconds.
     */
    async #checkRoute(again) {
        if (this.#ended || this.#open || this.#peer.iceGatheringState !== "complete" || !this.#peer.remoteDescription)
            return;
        const stats = await this.#peer.getStats();
        for (const { type } of stats.values())
            if (type === "candidate-pair")
                return;
        if (!again)
            setTimeout(() => void this.#checkRoute(true), ROUTE_RECHECK_MS);
        else if (!this.#open)
            this.#down({ why: "blocked", code: "NO_ROUTE" });
    }
    #hello() {
        this.#open = true;
        const { resume, sessionId } = this.#request;
        this.#send({ t: "hello", v: VERSION, stream: sessionId, resume: resume && { epoch: resume.epoch, seq: resume.seq } });
    }
    #send(frame) {
        if (this.#channel.readyState === "open")
            this.#channel.send(JSON.stringify(frame));
    }
    #receive(data) {
        const frame = parseFrame(data);
        if (frame === null)
            return this.#down({ why: "lost", code: "BAD_FRAME" });
        this.#events.heard();
        if (frame !== "unknown")
            this.#handle(frame);
    }
    #handle(frame) {
        switch (frame.t) {
            case "welcome":
                clearTimeout(this.#openTimer);
                return this.#events.welcome({
                    epoch: frame.epoch, head: frame.head, recovered: frame.recovered !== false, reason: frame.reason ?? undefined,
                    // Two missed pings and one second of network delay.
                    silenceMs: frame.ping_s * 2000 + 1000,
                });
            case "ev":
                return this.#events.event({ seq: frame.seq, id: frame.id, type: frame.type, ts: frame.ts, data: frame.d });
            case "eph":
                return this.#events.ephemeral(frame.type, frame.d);
            case "caught_up":
                return this.#events.caughtUp(frame.seq);
            case "gap":
                return this.#events.gap({ from: frame.from, to: frame.to, reason: frame.reason });
            case "ping":
                return this.#send({ t: "pong" });
            case "bye":
                return this.#down({ why: frame.reconnect ? "lost" : "refused", code: frame.code, afterMs: frame.after_ms });
        }
    }
    #down(down) {
        if (!this.#end())
            return;
        this.#peer.close();
        this.#events.down(down);
    }
    /** Stops timers and listeners. Returns false if the link has already ended. */
    #end() {
        if (this.#ended)
            return false;
        this.#ended = true;
        clearTimeout(this.#openTimer);
        this.#abort.abort();
        removeEventListener("pagehide", this.#leave);
        this.#channel.onopen = this.#channel.onmessage = this.#channel.onclose = this.#channel.onerror = null;
        this.#peer.onconnectionstatechange = this.#peer.oniceconnectionstatechange = this.#peer.onicegatheringstatechange = null;
        return true;
    }
    /** Removes the peer from the server. A closed tab sends nothing itself, and the server would wait for a heartbeat timeout. */
    #leave = () => {
        if (this.#resource)
            void fetch(this.#resource, { method: "DELETE", keepalive: true, headers: authHeaders(this.#request.endpoint) }).catch(() => { });
    };
}
