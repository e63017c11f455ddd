// The event stream of the open session.
import { signal } from "@preact/signals";
import type { EventMeta, EventOf, EventStream, RecallEvent, StreamState } from "@relevantic/recall";
import { connection } from "./current-session.ts";
import { frames, recordFrame } from "./frames.ts";
import { client } from "./login.ts";
import type { Memory } from "./memory.ts";
import { keepOpenSession, keepSession, knownAt, watch } from "./offline.ts";
import { confirmSent, sender } from "./outgoing.ts";
import { reportLoginEnd, reportProblem } from "./problem.ts";
import { debounce } from "./timing.ts";
import { completeStep } from "./tour.ts";

const KEEP_DELAY_MS = 400;
/** Close reasons of the stream that mean that the login has ended. */
const LOGIN_ENDED = new Set(["auth_expired", "SIGNALING_401", "SOCKET_4403", "UNAUTHENTICATED"]);

/** What the last reconnect replayed; shown for some seconds. */
export const caughtUp = signal<{ replayed: number; gaps: number; at: number } | null>(null);

/** From now on, the page shows what it knows. */
function loseLine(id: string, target: Memory) {
  knownAt.value ??= new Date().toISOString();
  keepSession(id, target);
}

/** Handles what follows from an event besides the change of the memory. */
function followUp(id: string, event: RecallEvent) {
  if (event.type === "message_stored" && event.client_message_id) confirmSent(id, event.client_message_id);
  if (event.type === "fact_update") completeStep(["ended", "opposed", "retracted"].includes(event.change) ? "correct" : "tell");
  if (event.type === "answer_completed") completeStep("ask");
}

class SessionStream {
  #open: EventStream | null = null;

  /** Follows a session after the cursor `head`. `load`: loads the session again when events cannot be delivered. `onDeleted`: it was deleted elsewhere. */
  open(id: string, head: string, target: Memory, load: () => Promise<void>, onDeleted: () => void): void {
    const opened = client.stream(id, { from: head, onGap: load });
    this.#open = opened;
    caughtUp.value = null;
    let received = 0;
    /** Restored messages come without their text and place. An event during the reading may be newer than what is read. */
    const loadRestored = debounce(async () => {
      if (opened !== this.#open) return;
      const before = received;
      await load().catch(reportProblem);
      if (before !== received) loadRestored();
    }, KEEP_DELAY_MS);
    const keepSoon = debounce(() => { if (opened === this.#open) keepOpenSession(); }, KEEP_DELAY_MS);
    const apply = (event: RecallEvent, meta: EventMeta | null) => {
      recordFrame(event, meta);
      target.apply(event, meta);
    };
    const applyEphemeral = (event: EventOf<"answer_delta" | "context_ready">) => apply(event, null);
    let gaps = 0;
    let last: StreamState["phase"] | null = null;
    opened.on("state", (state) => {
      if (opened !== this.#open) return;
      const { phase, reason } = state;
      if (phase === "replaying" && last !== "replaying") target.startReplay();
      if (phase === "connecting" && last !== "connecting") gaps = 0;
      if (phase === "waiting" && last !== "waiting") loseLine(id, target);
      if (phase === "live" || phase === "paused" || phase === "closed") knownAt.value = null;
      if (phase === "closed" && LOGIN_ENDED.has(reason ?? "")) reportLoginEnd();
      if (phase === "closed" && (reason === "deleted" || reason?.endsWith("404"))) return onDeleted();
      last = phase;
      connection.value = state;
    });
    opened.on("gap", () => {
      gaps += 1;
    });
    opened.on("caughtUp", ({ replayed, afterReconnect }) => {
      if (afterReconnect) caughtUp.value = { replayed, gaps, at: Date.now() };
      keepSoon();
      sender.sendAll();
    });
    opened.on("event", (event, meta) => {
      received += 1;
      if (event.type === "message_restored") loadRestored();
      apply(event, meta);
      keepSoon();
      followUp(id, event);
    });
    opened.on("answer_delta", applyEphemeral);
    opened.on("context_ready", applyEphemeral);
    opened.start();
  }

  close(): void {
    this.#open?.close();
    this.#open = null;
    frames.value = [];
  }

  pause(): void {
    this.#open?.pause();
  }

  resume(): void {
    this.#open?.start();
  }

  retryNow(): void {
    this.#open?.retryNow();
  }

  /** Pauses the stream unless the user paused it. Returns a function that resumes it. */
  hold(): () => void {
    const held = this.#open?.state.phase === "paused" ? null : this.#open;
    held?.pause();
    return () => void held?.start();
  }
}

export const sessionStream = new SessionStream();

export const disconnect = (): void => sessionStream.pause();
export const reconnect = (): void => sessionStream.resume();
export const retryNow = (): void => {
  sessionStream.retryNow();
  watch.tryNow();
};
