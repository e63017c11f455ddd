// What the page shows of a session: messages, facts and things.
import type { EntityType, EventOf } from "../../client/index.ts";

export interface Entity {
  id: string;
  name: string;
  type: Lowercase<EntityType>;
  mentionCount: number;
  isViewer: boolean;
}

export type Change = EventOf<"fact_update">["change"];

/** Draws attention once: a new `count` restarts the animation, `delay` (ms) lets a replay come one after the other. */
export interface Pulse {
  count: number;
  delay: number;
  /** `performance.now()` of the change: what is drawn anew much later must not glow again. */
  at: number;
  kind: "learned" | "faded" | "recalled";
}

export interface Fact {
  id: string;
  subject: string;
  object: string;
  relation: string;
  phrase: string;
  weight: number;
  belief: number;
  uncertainty: number;
  relativeWeight: number;
  status: "active" | "ended" | "retracted";
  /** Since when it holds, as far as is known. */
  validFrom: string | null;
  /** Of shared memory, which all who have signed in read. */
  shared: boolean;
  rivals: Array<{ factId: string; target: string; share: number }>;
  excerpt: string | null;
  change: Change | null;
  /** Grows with every change; orders "newest first". */
  order: number;
  pulse: Pulse;
}

/** The longest attention animation in the style sheets, milliseconds. */
const PULSE_MS = 3500;
export const glows = (pulse: Pulse | null): pulse is Pulse => pulse !== null && pulse.count > 0 && performance.now() < pulse.at + pulse.delay + PULSE_MS;

export interface Mention {
  entityId: string;
  name: string;
  type: Lowercase<EntityType>;
  /** Unicode code points into the text, end exclusive. */
  start: number;
  end: number;
}

export interface CitationView {
  index: number;
  messageId: string | null;
  factId: string | null;
  excerpt: string;
  sentAt: string | null;
  /** Points into shared memory. */
  shared: boolean;
}

/** `sending`: on its way over HTTP; `unsent`: no answer yet, will be sent again; `stored`: the server has it. */
export type Stage = "sending" | "unsent" | "stored" | "processed" | "failed" | "streaming";

/** Never changed in place: a view that got the same object has nothing new to draw. */
export interface Message {
  /** Stable for the page: the client's id where the message has one, the server's id otherwise. */
  key: string;
  id: string | null;
  role: "user" | "assistant";
  speaker: string | null;
  text: string;
  sentAt: string;
  stage: Stage;
  kind: string | null;
  mentions: Mention[];
  citations: CitationView[];
  answerTo: string | null;
  /** Facts this message speaks of, with what it did to each. */
  learned: Map<string, Change>;
  /** From pressing Send to the facts on the page, milliseconds; only for messages sent here. */
  roundTripMs: number | null;
  /** A question waits for its answer. */
  asking: boolean;
  answerer: { name: string; totalMs: number; grounded: boolean } | null;
  problem: string | null;
}
