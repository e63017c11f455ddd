import { type BackoffOptions } from "./backoff.ts";
import type { Cursor } from "./cursor.ts";
import type { Gap, LogEntry, TransportName, Welcome } from "./link.ts";
export type Delivery = {
    kind: "event";
    entry: LogEntry;
    transport: TransportName;
    replayed: boolean;
} | {
    kind: "gap";
    gap: Gap;
} | {
    kind: "caught_up";
    seq: number;
};
export interface SequenceHandlers {
    /** A new event; the cursor already points to it. */
    event(entry: LogEntry, transport: TransportName, replayed: boolean): void;
    /** All events up to the head were delivered. */
    caughtUp(): void;
    /** A gap was found; `refetch` follows. */
    gap(gap: Gap): void;
    /** Refetches the state that the gap hides. Retried while it throws. */
    refetch(gap: Gap): void | Promise<void>;
    /** A refetch moved the cursor past a gap. */
    skipped(cursor: Cursor): void;
    /** Too many events wait for a refetch. */
    overflow(): void;
    isClosed(): boolean;
}
export declare class EventSequence {
    #private;
    constructor(cursor: Cursor | null, backoff: BackoffOptions, handlers: SequenceHandlers);
    /** Position of the newest delivered event. */
    get cursor(): Cursor | null;
    /** Compares the cursor with the log of a new link. */
    welcome({ epoch, head, recovered }: Welcome): Cursor;
    /** Discards deliveries of a closed link; the next link replays them. */
    discardHeld(): void;
    accept(delivery: Delivery): void;
}
