// STUN and TURN servers from the server's `Link` headers (RFC 9725, section 4.6). Their credentials are short-lived.
import { authHeaders } from "./graphql.js";
/** How long an empty result is cached. */
const EMPTY_RESULT_TTL_MS = 10 * 60 * 1000;
const emptyUntil = new WeakMap();
/** Parses the ICE servers of a `Link` header. */
export function parseIceServers(links) {
    const servers = [];
    for (const [, url, rest] of (links ?? "").matchAll(/<([^<>]*)>((?:\s*;\s*[\w-]+\s*=\s*"[^"]*")*)/g)) {
        const parameter = (name) => new RegExp(`;\\s*${name}\\s*=\\s*"([^"]*)"`).exec(rest ?? "")?.[1];
        if (!url || parameter("rel") !== "ice-server")
            continue;
        const [username, credential] = [parameter("username"), parameter("credential")];
        servers.push(username !== undefined && credential !== undefined ? { urls: url, username, credential } : { urls: url });
    }
    return servers;
}
/** Fetches the server's ICE servers. Ignores errors: the offer that follows reports them. */
export async function fetchIceServers(endpoint, sessionId, signal) {
    if ((emptyUntil.get(endpoint) ?? 0) > Date.now())
        return [];
    const url = `${endpoint.url}/signaling/${encodeURIComponent(sessionId)}`;
    const response = await fetch(url, { method: "OPTIONS", headers: authHeaders(endpoint), signal }).catch(() => null);
    const servers = parseIceServers(response?.headers.get("link") ?? null);
    if (response?.ok && servers.length === 0)
        emptyUntil.set(endpoint, Date.now() + EMPTY_RESULT_TTL_MS);
    return servers;
}
