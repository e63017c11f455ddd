// The page's model of a session: messages, facts and entities.
import type { EntityType, EventOf } from "@relevantic/recall";

export interface Entity {
  id: string;
  name: string;
  type: Lowercase<EntityType>;
  mentionCount: number;
  isViewer: boolean;
}

export type Change = EventOf<"fact_update">["change"];

/** An animation that highlights one change. */
export interface Pulse {
  /** A new value restarts the animation. */
  count: number;
  /** Milliseconds. Replayed events animate one after another. */
  delay: number;
  /** `performance.now()` of the change. A later redraw must not repeat the animation. */
  at: number;
  kind: "learned" | "faded" | "recalled";
}

export interface Fact {
  id: string;
  subject: string;
  /** The subject again if the fact has a value. */
  object: string;
  /** The value that it states of its subject, instead of an object. */
  value: string | null;
  relation: string;
  phrase: string;
  weight: number;
  belief: number;
  uncertainty: number;
  relativeWeight: number;
  status: "active" | "ended" | "retracted";
  /** When the first message since its last end stated it. null: unknown. */
  statedAt: string | null;
  /** Part of shared memory, which all users except visitors can read. */
  shared: boolean;
  rivals: Array<{ factId: string; target: string; share: number }>;
  excerpt: string | null;
  change: Change | null;
  /** Increases with every change; sorts "newest first". */
  order: number;
  pulse: Pulse;
}

/** A value with what it measures: "rent €900". */
export const valueText = (value: { text: string; label?: string | null } | null | undefined): string | null =>
  value ? [value.label, value.text].filter(Boolean).join(" ") : null;

/** Duration in milliseconds of the longest pulse animation in the style sheets. */
const PULSE_MS = 3500;
export const isPulsing = (pulse: Pulse | null): pulse is Pulse => pulse !== null && pulse.count > 0 && performance.now() < pulse.at + pulse.delay + PULSE_MS;

export interface Mention {
  entityId: string;
  name: string;
  type: Lowercase<EntityType>;
  /** Unicode code points into the text, end exclusive. */
  start: number;
  end: number;
}

/** A cited chunk of a document. */
export interface CitedPassage {
  chunkId: string;
  documentId: string;
  filename: string;
  pages: { first: number; last: number } | null;
}

/** "page 3", "pages 3 to 4". */
export const pageLabel = ({ first, last }: { first: number; last: number }): string => (first === last ? `page ${first}` : `pages ${first} to ${last}`);

/** "handbook.pdf, page 3". */
export const placeLabel = ({ filename, pages }: Pick<CitedPassage, "filename" | "pages">): string => (pages ? `${filename}, ${pageLabel(pages)}` : filename);

export interface CitationView {
  index: number;
  messageId: string | null;
  /** Cited instead of a message. */
  passage: CitedPassage | null;
  factId: string | null;
  excerpt: string;
  sentAt: string | null;
  /** The source is in shared memory. */
  shared: boolean;
}

/** What the reply to a command has forgotten, while that can be undone. */
export interface Forgetting {
  token: string;
  undoUntil: string;
}

/** `sending`: the request is in progress. `unsent`: the server did not answer; the page retries. `stored`: the server has it. */
export type Stage = "sending" | "unsent" | "stored" | "processed" | "failed" | "streaming";

/** Immutable: a view that receives the same object does not redraw. */
export interface Message {
  /** Stable key for rendering: the client's id, or the server's id without one. */
  key: string;
  id: string | null;
  role: "user" | "assistant" | "document";
  speaker: string | null;
  text: string;
  sentAt: string;
  stage: Stage;
  kind: string | null;
  mentions: Mention[];
  citations: CitationView[];
  /** What comes nearest to an answer, if nothing answers. */
  nearest: CitationView[];
  answerTo: string | null;
  /** null also in copies for reading without the server. */
  forgetting: Forgetting | null;
  /** What it has forgotten is back. */
  isUndone: boolean;
  /** Fact ids, and how this message changed each fact. */
  learned: Map<string, Change>;
  /** Milliseconds from Send to the facts on the page. null: sent elsewhere. */
  roundTripMs: number | null;
  /** The question has no answer yet. */
  asking: boolean;
  /** False: remembering was paused when it was stored. */
  remembered: boolean;
  answerer: { name: string; totalMs: number; grounded: boolean } | null;
  problem: string | null;
}
