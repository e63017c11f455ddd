// The session that the page shows: its memory, what the user selected in it, and actions on its messages and facts.
import { computed, signal } from "@preact/signals";
import type { StreamState } from "@relevantic/recall";
import { Place } from "../generated/operations.ts";
import { client } from "./login.ts";
import type { Memory } from "./memory.ts";
import { loadAround, loadEarlier, loadLater } from "./paging.ts";
import { openPassage } from "./passages.ts";
import { problem, reportProblem } from "./problem.ts";
import { navigate, route, sessionHref } from "./route.ts";

export const sessionId = signal<string | null>(null);
export const memory = signal<Memory | null>(null);
/** A session that the user has asked for. */
export interface Awaited {
  /** null: the server has not created it yet. */
  readonly id: string | null;
  /** What kind of session is new; the list may not have it yet. null: it is an older session. */
  readonly isNew: "own" | "shared" | null;
}
/** The session that the user has asked for, until the page shows it. */
export const awaited = signal<Awaited | null>(null);
/** The session that the user writes to: the one asked for, although the page still shows the one before. */
export const writtenTo = computed(() => (awaited.value ? awaited.value.id : sessionId.value));
/** State of the open session's stream. */
export const connection = signal<StreamState | null>(null);
/** The session id in the URL, if this user has no such session. */
export const missing = signal<string | null>(null);

/** The fact or entity under the pointer or focus, highlighted in the graph and the lists. */
export const highlight = signal<{ fact?: string; entity?: string } | null>(null);
/** The fact whose evidence is open. */
export const openFact = signal<string | null>(null);
/** The message to scroll to as soon as it is rendered. */
export const wantedMessage = signal<string | null>(null);

export async function showEarlier(): Promise<void> {
  const [id, open] = [sessionId.value, memory.value];
  if (!id || !open?.earlier) return;
  await loadEarlier(id, open, open.earlier).catch(reportProblem);
}

/** Loads the next page of messages into the gap. */
export async function showLater(): Promise<void> {
  const [id, open] = [sessionId.value, memory.value];
  if (!id || !open?.gap) return;
  await loadLater(id, open, open.gap.cursor).catch(reportProblem);
}

/** Scrolls to a message. Loads it or opens its session first if necessary. A chunk of a document opens in the reading view. */
export async function showMessage(id: string): Promise<void> {
  try {
    const [openId, open] = [sessionId.value, memory.value];
    let session: string | undefined = openId ?? undefined;
    if (!open?.byId(id)) {
      const place = (await client.graphql(Place, { id })).message;
      if (place?.chunk) return openPassage(place.chunk.document.id, id);
      session = place?.session.id;
      if (session && session === openId && open) await loadAround(session, open, id);
    }
    if (!session) {
      problem.value = "This message has been deleted.";
      return;
    }
    wantedMessage.value = id;
    if (session !== sessionId.value || route.value.page !== "session") navigate(sessionHref(session));
  } catch (error) {
    reportProblem(error);
  }
}

/** Retracts a fact that was never true, and returns whether it succeeded. Facts that ended are reported in the chat: "I no longer …". */
export async function retract(factId: string): Promise<boolean> {
  const open = memory.value;
  try {
    await client.retractFact(factId);
  } catch (error) {
    reportProblem(error);
    return false;
  }
  open?.markRetracted(factId);
  return true;
}

/** Cancels an answer. The stream then reports the cancellation. */
export async function stopAnswer(messageId: string): Promise<void> {
  await client.cancelAnswer(messageId).catch(reportProblem);
}
