// Remembers which transport works with a server. A browser without UDP then skips the data channel on later page loads.
import type { TransportName } from "./link.ts";

/** One day: after that the laptop may be in another network, or the server may have another configuration. */
const TTL_MS = 24 * 60 * 60 * 1000;

/** Remembers the fallback transport for servers where the preferred one fails. */
export interface TransportStore {
  /** The transport to start with. null: the preferred one. */
  load(origin: string): TransportName | null;
  /** null removes the entry. */
  save(origin: string, transport: TransportName | null): void;
}

/** Keeps the transport in a Web Storage area, per origin, for a day. Ignores full or forbidden storage. */
export function webStorageTransports(storage: () => Storage = () => localStorage, prefix = "recall.transport."): TransportStore {
  return {
    load(origin) {
      try {
        const [transport, until] = (storage().getItem(prefix + origin) ?? "").split(" ");
        return (transport === "websocket" || transport === "sse") && Number(until) > Date.now() ? transport : null;
      } catch {
        return null;
      }
    },
    save(origin, transport) {
      try {
        if (transport === null) storage().removeItem(prefix + origin);
        else storage().setItem(prefix + origin, `${transport} ${Date.now() + TTL_MS}`);
      } catch {
        // Storage is full or forbidden. The next page load tries the preferred transport again.
      }
    },
  };
}
