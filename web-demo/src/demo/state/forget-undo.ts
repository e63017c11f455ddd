// Undoes what a command in the chat has forgotten, and notices when that is no longer possible.
import { RecallError } from "@relevantic/recall";
import { StillUndoable } from "../generated/operations.ts";
import { onMemoryEvent } from "./changes.ts";
import { client } from "./login.ts";
import type { Memory } from "./memory.ts";
import type { Forgetting } from "./model.ts";
import { handleError } from "./problem.ts";
import { debounce } from "./timing.ts";

export const TOO_LATE = "It is too late to undo this: the server keeps forgotten things for some minutes only.";
/** A clock that is wrong must not make the page ask again and again, or hide an offer at once. */
export const SHORTEST_WAIT_MS = 30_000;
/** Timers take no longer time. */
export const LONGEST_WAIT_MS = 2 ** 31 - 1;
const TOGETHER_MS = 200;

/** Why a forgetting could not be undone, and whether it never can be any more. */
export function undoError(error: unknown): { text: string; isFinal: boolean } {
  const isFinal = error instanceof RecallError && error.code === "NOT_FOUND";
  return { text: isFinal ? TOO_LATE : handleError(error), isFinal };
}

/** Undoes what a reply has forgotten, and returns the numbers of restored facts and messages. */
export async function undoForgetting(known: Memory, replyId: string, { token }: Forgetting): Promise<{ factCount: number; messageCount: number }> {
  const { factCount, messageCount } = await client.undoForget(token);
  known.setForgetting(replyId, null, true);
  return { factCount, messageCount };
}

/** Updates how a reply can be undone after each event that restores something, and when its time is over. Returns a function that ends this. */
export function followForgetting(known: Memory, replyId: string, { undoUntil }: Forgetting): () => void {
  const check = () => client.graphql(StillUndoable, { id: replyId }).then(({ message }) => known.setForgetting(replyId, message?.forgetting ?? null, !!message?.forgettingUndoneAt), () => {});
  const checkSoon = debounce(() => void check(), TOGETHER_MS);
  const end = onMemoryEvent((event) => {
    if (!event || event.type === "message_restored" || (event.type === "fact_update" && event.change === "restored")) checkSoon();
  });
  // An event that is delivered again may be older than an undo.
  checkSoon();
  const rest = Date.parse(undoUntil) - Date.now();
  const timer = setInterval(() => void check(), Math.min(Math.max(rest, SHORTEST_WAIT_MS), LONGEST_WAIT_MS));
  return () => {
    end();
    clearInterval(timer);
  };
}
