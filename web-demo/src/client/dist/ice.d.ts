import { type Endpoint } from "./graphql.ts";
/** Parses the ICE servers of a `Link` header. */
export declare function parseIceServers(links: string | null): RTCIceServer[];
/** Fetches the server's ICE servers. Ignores errors: the offer that follows reports them. */
export declare function fetchIceServers(endpoint: Endpoint, sessionId: string, signal: AbortSignal): Promise<RTCIceServer[]>;
