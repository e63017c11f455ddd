// Which transport worked with a server, so that a browser that cannot use the first choice does not try it first on each page load.
import type { TransportName } from "./link.ts";

/** A day: by then a laptop is in another network, or the server has been set up differently. */
const LASTS_MS = 24 * 60 * 60 * 1000;

/** Remembers the second choice for a server with which the first does not open. */
export interface TransportStore {
  /** What to begin with; null for the first choice. */
  load(origin: string): TransportName | null;
  /** null forgets. */
  save(origin: string, transport: TransportName | null): void;
}

/** Keeps it in a Web Storage area, per origin and for a day. A full or forbidden storage is ignored. */
export function webStorageTransports(storage: () => Storage = () => localStorage, prefix = "recall.transport."): TransportStore {
  return {
    load(origin) {
      try {
        const [transport, until] = (storage().getItem(prefix + origin) ?? "").split(" ");
        return transport === "websocket" && Number(until) > Date.now() ? transport : null;
      } catch {
        return null;
      }
    },
    save(origin, transport) {
      try {
        if (transport === null) storage().removeItem(prefix + origin);
        else storage().setItem(prefix + origin, `${transport} ${Date.now() + LASTS_MS}`);
      } catch {
        // Private windows and full quotas: the next page load tries the first choice again.
      }
    },
  };
}
