// Everything a stream can bring: the numbered events, generated from the server's schema, and the ephemeral ones, which have no schema
// because nothing may depend on them: they are not kept, may be lost, and what they tell comes again in a numbered event.
import type { NumberedEvent } from "./generated/events.ts";

/** A piece of an answer that is being written. The whole text comes with `message_stored` and `answer_completed`. */
export interface AnswerDelta {
  type: "answer_delta";
  answer_to: string;
  text: string;
}

/** What was found for a question, before its answer is written. */
export interface ContextReady {
  type: "context_ready";
  message_id: string;
  facts: Array<{ fact_id: string; entity: string; relation: string; target: string; weight: number; belief: number; score: number; shared: boolean }>;
  messages: Array<{ message_id: string; score: number; shared: boolean }>;
}

export type EphemeralEvent = AnswerDelta | ContextReady;
export type RecallEvent = NumberedEvent | EphemeralEvent;
export type EventOf<T extends RecallEvent["type"]> = Extract<RecallEvent, { type: T }>;
export type { NumberedEvent };
