// Says above the message field that remembering is paused, or that the session is archived.
import { sessionId } from "../state/current-session.ts";
import { changeSession, pauseAll, pauseOf, reportingProblems } from "../state/session-actions.ts";
import { sessions } from "../state/session-list.ts";
import { mayWrite } from "../state/viewer.ts";

export function SessionNotice() {
  const session = sessions.value.find((s) => s.id === sessionId.value);
  if (!session || !mayWrite(session.shared)) return null;
  const pause = pauseOf(session);
  if (!pause && !session.archived) return null;
  const { id } = session;
  const end = () => (pause === "all sessions" ? pauseAll(false) : changeSession(id, pause ? { paused: false } : { archived: false }));
  return (
    <p class="session-notice" role="status">
      <span>{pause ? `Remembering is paused in ${pause}. What you write is stored, but nothing is learned from it.` : "This session is archived."}</span>
      <button type="button" onClick={() => void reportingProblems(end())}>{pause ? "Resume" : "Unarchive"}</button>
    </p>
  );
}
