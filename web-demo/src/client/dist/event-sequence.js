// Delivers a session's numbered events once and in order. Detects gaps and refetches the state before it delivers later events.
import { fullJitter } from "./backoff.js";
/** Limits memory during a refetch. Beyond it the stream drops the link and replays the events later. */
const MAX_HELD = 2000;
export class EventSequence {
    #handlers;
    #backoff;
    #cursor;
    /** The log does not contain our cursor, so the state must be refetched before the next delivery. */
    #mustRefetch = false;
    #refetching = false;
    /** Deliveries that wait for the refetch. */
    #held = [];
    constructor(cursor, backoff, handlers) {
        this.#cursor = cursor;
        this.#backoff = backoff;
        this.#handlers = handlers;
    }
    /** Position of the newest delivered event. */
    get cursor() {
        return this.#cursor;
    }
    /** Compares the cursor with the log of a new link. */
    welcome({ epoch, head, recovered }) {
        if (this.#cursor === null) {
            this.#cursor = { epoch, seq: head };
        }
        else if (epoch !== this.#cursor.epoch || !recovered) {
            // Our numbers are not valid in this log: accept all its events, but refetch the state first.
            this.#cursor = { epoch, seq: epoch === this.#cursor.epoch ? Math.min(this.#cursor.seq, head) : 0 };
            this.#mustRefetch = true;
        }
        return this.#cursor;
    }
    /** Discards deliveries of a closed link; the next link replays them. */
    discardHeld() {
        this.#held = [];
    }
    accept(delivery) {
        if (this.#refetching) {
            if (this.#held.length >= MAX_HELD)
                return this.#handlers.overflow();
            this.#held.push(delivery);
            return;
        }
        const cursor = this.#cursor;
        if (!cursor)
            return;
        if (delivery.kind === "gap") {
            // A gap before the cursor was already refetched, unless the log does not contain the cursor.
            if (this.#mustRefetch || delivery.gap.to > cursor.seq)
                void this.#refetch(delivery.gap);
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
        if (delivery.kind === "caught_up")
            return this.#handlers.caughtUp();
        if (delivery.entry.seq <= cursor.seq)
            return;
        this.#cursor = { epoch: cursor.epoch, seq: delivery.entry.seq };
        this.#handlers.event(delivery.entry, delivery.transport, delivery.replayed);
    }
    async #refetch(gap) {
        this.#refetching = true;
        const epoch = this.#cursor?.epoch;
        this.#handlers.gap(gap);
        let refetched = false;
        for (let attempt = 0; !refetched && !this.#handlers.isClosed(); attempt += 1) {
            try {
                await this.#handlers.refetch(gap);
                refetched = true;
            }
            catch {
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
        for (const delivery of held)
            this.accept(delivery);
    }
}
