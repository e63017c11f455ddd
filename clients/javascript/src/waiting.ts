// Waits for what the server does: the processing of a message or a document, an answer, a comparison.
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

/** How far the server is with a document or a comparison. */
export interface Progress {
  readonly done: number;
  /** The number of steps; 0 until it is known. */
  readonly total: number;
}

export interface ProgressOptions extends WaitOptions {
  /** Called for each completed step. */
  readonly onProgress?: (progress: Progress) => void;
}

/** A document or a comparison. */
interface Work extends Progress {
  readonly status: string;
  readonly error: string | null;
}

interface WorkWait<Item extends Work> {
  /** Opens a stream of new events, which calls `onGap` after a gap. */
  readonly open: (onGap: () => Promise<void>) => EventStream;
  readonly update: "document_update" | "comparison_update";
  readonly read: () => Promise<Item>;
  /** The code of the error if the server fails. */
  readonly failure: string;
}

/** Documents and comparisons take longer than messages. */
const WORK_TIMEOUT_MS = 600_000;

const isEnded = (status: string): boolean => ["completed", "failed"].includes(status.toLowerCase());

/** Waits until a document or a comparison is completed. Throws if it fails. */
export async function waitForWork<Item extends Work>({ open, update, read, failure }: WorkWait<Item>, { onProgress, ...options }: ProgressOptions): Promise<Item> {
  const first = await read();
  if (!isEnded(first.status)) {
    await waitForOutcome<true>(
      {
        open,
        readState: async () => (isEnded((await read()).status) ? { value: true } : undefined),
        inspect: (event) => {
          if (event.type !== update) return undefined;
          onProgress?.({ done: event.done, total: event.total });
          return isEnded(event.status) ? { value: true } : undefined;
        },
      },
      { timeoutMs: WORK_TIMEOUT_MS, ...options },
    );
  }
  const last = isEnded(first.status) ? first : await read();
  if (last.status === "FAILED") throw new RecallError(failure, last.error ?? "The server gave no reason.", 200);
  return last;
}
