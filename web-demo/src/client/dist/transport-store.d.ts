import type { TransportName } from "./link.ts";
/** Remembers the fallback transport for servers where the preferred one fails. */
export interface TransportStore {
    /** The transport to start with. null: the preferred one. */
    load(origin: string): TransportName | null;
    /** null removes the entry. */
    save(origin: string, transport: TransportName | null): void;
}
/** Keeps the transport in a Web Storage area, per origin, for a day. Ignores full or forbidden storage. */
export declare function webStorageTransports(storage?: () => Storage, prefix?: string): TransportStore;
