// Delivers a session's numbered events once and in order. Detects gaps and refetches the state before it delivers later events.
import { fullJitter, type BackoffOptions } from "./backoff.ts";
import type { Cursor } from "./cursor.ts";
import type { Gap, LogEntry, TransportName, Welcome } from "./link.ts";

export type Delivery =
  | { kind: "event"; entry: LogEntry; transport: TransportName; replayed: boolean }
  | { kind: "gap"; gap: Gap }
  | { kind: "caught_up"; seq: number };

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

/** Limits memory during a refetch. Beyond it the stream drops the link and replays the events later. */
const MAX_HELD = 2000;

export class EventSequence {
  readonly #handlers: SequenceHandlers;
  readonly #backoff: BackoffOptions;
  #cursor: Cursor | null;
  /** The log does not contain our cursor, so the state must be refetched before the next delivery. */
  #mustRefetch = false;
  #refetching = false;
  /** Deliveries that wait for the refetch. */
  #held: Delivery[] = [];

  constructor(cursor: Cursor | null, backoff: BackoffOptions, handlers: SequenceHandlers) {
    this.#cursor = cursor;
    this.#backoff = backoff;
    this.#handlers = handlers;
  }

  /** Position of the newest delivered event. */
  get cursor(): Cursor | null {
    return this.#cursor;
  }

  /** Compares the cursor with the log of a new link. */
  welcome({ epoch, head, recovered }: Welcome): Cursor {
    if (this.#cursor === null) {
      this.#cursor = { epoch, seq: head };
    } else if (epoch !== this.#cursor.epoch || !recovered) {
      // Our numbers are not valid in this log: accept all its events, but refetch the state first.
      this.#cursor = { epoch, seq: epoch === this.#cursor.epoch ? Math.min(this.#cursor.seq, head) : 0 };
      this.#mustRefetch = true;
    }
    return this.#cursor;
  }

  /** Discards deliveries of a closed link; the next link replays them. */
  discardHeld(): void {
    this.#held = [];
  }

  accept(delivery: Delivery): void {
    if (this.#refetching) {
      if (this.#held.length >= MAX_HELD) return this.#handlers.overflow();
      this.#held.push(delivery);
      return;
    }
    const cursor = this.#cursor;
    if (!cursor) return;
    if (delivery.kind === "gap") {
      // A gap before the cursor was already refetched, unless the log does not contain the cursor.
      if (this.#mustRefetch || delivery.gap.to > cursor.seq) void this.#refetch(delivery.gap);
      this.#mustRefetch = false;
      return;
    }
    const before = delivery.kind === "event" ? delivery.entry.seq - 1 : delivery.seq;
    if (this.#mustRefetch) {
      // The server did not recover our cursor and announced no gap: everything up to here is missing.
      this.#mustRefetch = false;
      void this.#refetch({ from: 1, to: before, reason: "not_recovered" });
      this.#held.push(delivery);
      return;
    }
    if (before > cursor.seq) {
      // Events are missing without an announced gap.
      void this.#refetch({ from: cursor.seq + 1, to: before, reason: "hole" });
      this.#held.push(delivery);
      return;
    }
    if (delivery.kind === "caught_up") return this.#handlers.caughtUp();
    if (delivery.entry.seq <= cursor.seq) return;
    this.#cursor = { epoch: cursor.epoch, seq: delivery.entry.seq };
    this.#handlers.event(delivery.entry, delivery.transport, delivery.replayed);
  }

  async #refetch(gap: Gap) {
    this.#refetching = true;
    const epoch = this.#cursor?.epoch;
    this.#handlers.gap(gap);
    let refetched = false;
    for (let attempt = 0; !refetched && !this.#handlers.isClosed(); attempt += 1) {
      try {
        await this.#handlers.refetch(gap);
        refetched = true;
      } catch {
        await new Promise((resolve) => setTimeout(resolve, fullJitter(attempt, this.#backoff)));
      }
    }
    this.#refetching = false;
    if (!refetched) {
      // The stream closed first. The cursor stays before the gap, so the next stream finds the gap again.
      this.#held = [];
      return;
    }
    // During the refetch a new epoch may have started. Its numbers differ, and its own gap is among the held deliveries.
    if (this.#cursor && this.#cursor.epoch === epoch && gap.to > this.#cursor.seq) {
      this.#cursor = { ...this.#cursor, seq: gap.to };
      this.#handlers.skipped(this.#cursor);
    }
    const held = this.#held;
    this.#held = [];
    for (const delivery of held) this.accept(delivery);
  }
}
