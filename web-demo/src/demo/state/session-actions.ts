// What the user decides about sessions: titles, order, deletion, and whether Recall remembers.
import { RecallError, type UpdateSessionInput } from "@relevantic/recall";
import { PauseAll } from "../generated/operations.ts";
import { connection, sessionId } from "./current-session.ts";
import { client } from "./login.ts";
import { dropSession } from "./offline.ts";
import { closeSession, opener } from "./opening.ts";
import { reportProblem } from "./problem.ts";
import { redirect, route, sessionHref } from "./route.ts";
import { refreshSessions, refreshSessionsSoon, sessions, type SessionItem } from "./session-list.ts";
import { sessionStream } from "./stream.ts";
import { start } from "./viewer.ts";

export type SessionChange = Omit<UpdateSessionInput, "sessionId">;

export async function changeSession(sessionId: string, change: SessionChange): Promise<void> {
  await client.updateSession({ sessionId, ...change });
  await refreshSessions();
}

/** Returns whether the session is deleted. */
export async function deleteSession(id: string): Promise<boolean> {
  // Disconnect first: otherwise the server closes the stream and the page shows an error. A stream that the user paused stays paused.
  const resume = id === sessionId.value ? sessionStream.hold() : null;
  try {
    await client.deleteSession(id);
  } catch (error) {
    resume?.();
    reportProblem(error);
    return false;
  }
  dropSession(id);
  sessions.value = sessions.value.filter((s) => s.id !== id);
  refreshSessionsSoon();
  if (id === sessionId.value) {
    closeSession();
    connection.value = null;
  }
  // Other places stay open.
  if (!["home", "session", "entity"].includes(route.value.page)) return true;
  const next = sessions.value.find((s) => !s.shared);
  if (sessionId.value === null) redirect(next ? sessionHref(next.id) : "#/");
  if (sessionId.value === null) await opener.openRoute();
  return true;
}

/** Pauses or resumes remembering in all sessions of the user. */
export async function pauseAll(paused: boolean): Promise<void> {
  const [error] = (await client.graphql(PauseAll, { paused })).updateViewer.errors;
  if (error) throw new RecallError(error.code, error.message, 200);
  await refreshSessions();
}

/** Where remembering is paused for a session: in all sessions, or in this one. Pausing it everywhere does not concern shared memory. */
export const pauseOf = ({ shared, paused }: Pick<SessionItem, "shared" | "paused">): "all" | "this" | null =>
  !shared && start.value?.viewer.paused ? "all" : paused ? "this" : null;

/** Shows the error of an action that has no place of its own for it. */
export const reportingProblems = (work: Promise<unknown> | null): Promise<unknown> => Promise.resolve(work).catch(reportProblem);
