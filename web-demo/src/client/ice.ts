// STUN and TURN servers that the server names (RFC 9725, section 4.6), with credentials that soon end.
import { authorization, type Endpoint } from "./graphql.ts";

/** How long a server that named none is not asked again. */
const NONE_FOR_MS = 10 * 60 * 1000;
const none = new WeakMap<Endpoint, number>();

/** The servers in a `Link` header. */
export function parseIceServers(links: string | null): RTCIceServer[] {
  const servers: RTCIceServer[] = [];
  for (const [, url, rest] of (links ?? "").matchAll(/<([^<>]*)>((?:\s*;\s*[\w-]+\s*=\s*"[^"]*")*)/g)) {
    const parameter = (name: string) => new RegExp(`;\\s*${name}\\s*=\\s*"([^"]*)"`).exec(rest ?? "")?.[1];
    if (!url || parameter("rel") !== "ice-server") continue;
    const [username, credential] = [parameter("username"), parameter("credential")];
    servers.push(username !== undefined && credential !== undefined ? { urls: url, username, credential } : { urls: url });
  }
  return servers;
}

/** Asks for them. Whatever goes wrong here, the offer will show. */
export async function namedIceServers(endpoint: Endpoint, sessionId: string, signal: AbortSignal): Promise<RTCIceServer[]> {
  if ((none.get(endpoint) ?? 0) > Date.now()) return [];
  const url = `${endpoint.url}/signaling/${encodeURIComponent(sessionId)}`;
  const response = await fetch(url, { method: "OPTIONS", headers: authorization(endpoint), signal }).catch(() => null);
  const servers = parseIceServers(response?.headers.get("link") ?? null);
  if (response?.ok && servers.length === 0) none.set(endpoint, Date.now() + NONE_FOR_MS);
  return servers;
}
