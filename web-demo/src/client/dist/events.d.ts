import type { NumberedEvent } from "./generated/events.ts";
/** Part of an answer in progress. `message_stored` and `answer_completed` carry the complete text. */
export interface AnswerDelta {
    type: "answer_delta";
    answer_to: string;
    text: string;
}
/** The context found for a question, before the answer starts. */
export interface ContextReady {
    type: "context_ready";
    message_id: string;
    facts: Array<{
        fact_id: string;
        entity: string;
        relation: string;
        target: string;
        weight: number;
        belief: number;
        score: number;
        shared: boolean;
    }>;
    messages: Array<{
        message_id: string;
        score: number;
        shared: boolean;
    }>;
}
export type EphemeralEvent = AnswerDelta | ContextReady;
export type RecallEvent = NumberedEvent | EphemeralEvent;
export type EventOf<T extends RecallEvent["type"]> = Extract<RecallEvent, {
    type: T;
}>;
export type { NumberedEvent };
