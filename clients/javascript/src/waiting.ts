// Waits for what the server does with a message: its processing or its answer.
import type { EventStream } from "./event-stream.ts";
import type { RecallEvent } from "./events.ts";
import { RecallError } from "./graphql.ts";

export interface WaitOptions {
  /** Default: 60000. Afterwards the call fails with the code `TIMEOUT`; the server still finishes its work. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** The outcome of a wait. A box, because the value itself may be null. */
export interface Outcome<T> {
  readonly value: T;
}

export interface Wait<T> {
  /** Opens the stream, which calls `onGap` after a gap. */
  readonly open: (onGap: () => Promise<void>) => EventStream;
  /** Finds the outcome in an event, or throws. */
  readonly inspect: (event: RecallEvent) => Outcome<T> | undefined;
  /** Looks for the outcome in the state, because its event may be missing after a gap. */
  readonly readState: () => Promise<Outcome<T> | undefined>;
}

/** Follows a stream until the outcome is known, then closes the stream. */
export function waitForOutcome<T>({ open, inspect, readState }: Wait<T>, { timeoutMs = 60_000, signal }: WaitOptions): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
      stream.close();
    };
    const fail = (error: unknown) => {
      stop();
      reject(error as Error);
    };
    const settle = (read: () => Outcome<T> | undefined) => {
      try {
        const outcome = read();
        if (!outcome) return;
        stop();
        resolve(outcome.value);
      } catch (error) {
        fail(error);
      }
    };
    const abort = () => fail(signal?.reason);
    const stream = open(async () => {
      const outcome = await readState();
      settle(() => outcome);
    });
    const timer = setTimeout(() => fail(new RecallError("TIMEOUT", "The server did not finish in time.")), timeoutMs);
    signal?.addEventListener("abort", abort);
    stream.on("event", (event) => settle(() => inspect(event)));
    stream.on("state", ({ phase, reason }) => {
      if (phase === "closed" && reason !== "CLOSED") fail(new RecallError(reason ?? "CLOSED", "The event stream has ended."));
    });
    if (signal?.aborted) abort();
    else stream.start();
  });
}
