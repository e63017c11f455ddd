// Sessions whose title has some words, and sessions in which they were said.
import { useEffect, useState } from "preact/hooks";
import { FindSessions, type FindSessionsResult } from "../generated/operations.ts";
import { showMessage } from "../state/current-session.ts";
import { client } from "../state/login.ts";
import { sessionHref } from "../state/route.ts";
import { reportingProblems } from "../state/session-actions.ts";
import { sessions } from "../state/session-list.ts";
import { start } from "../state/viewer.ts";
import { SessionRow } from "./session-row.tsx";
import { strings } from "../strings.ts";

const TYPING_PAUSE_MS = 250;
const MOST_SAID = 5;

/** Sessions with a matching title, and the best message of each other one. */
function group({ context, sessions: own, shared }: FindSessionsResult) {
  const titled = [...own.nodes, ...(shared?.nodes ?? [])];
  const seen = new Set(titled.map(({ id }) => id));
  const said = context.messages.map(({ message }) => message).filter(({ session: { id } }) => !seen.has(id) && seen.add(id));
  return { titled, said: said.slice(0, MOST_SAID) };
}

export function FoundSessions({ text, onChoose }: { text: string; onChoose: () => void }) {
  const [found, setFound] = useState<FindSessionsResult | null>(null);
  const listed = sessions.value;
  useEffect(() => {
    let stale = false;
    const find = () => client.graphql(FindSessions, { text, shared: start.value?.viewer.role !== "ANONYMOUS" }).then((result) => { if (!stale) setFound(result); });
    const timer = setTimeout(() => void reportingProblems(find()), TYPING_PAUSE_MS);
    return () => { stale = true; clearTimeout(timer); };
  }, [text, listed]);
  if (!found) return null;
  const { titled, said } = group(found);
  const total = titled.length + said.length;
  return (
    <>
      <p role="status" class={total > 0 ? "unseen" : "soft"}>{strings.sessions.found(total)}</p>
      <ul aria-label={strings.sessions.foundByTitle}>{titled.map((session) => <SessionRow key={session.id} session={session} onChoose={onChoose} />)}</ul>
      {said.length > 0 && <p class="group">{strings.sessions.saidIn}</p>}
      <ul aria-label={strings.sessions.saidIn}>
        {said.map(({ id, text: words, session }) => (
          <li key={id}><a href={sessionHref(session.id)} onClick={(event) => { event.preventDefault(); void showMessage(id); onChoose(); }}><span>{session.title}</span><small><q>{words}</q></small></a></li>
        ))}
      </ul>
    </>
  );
}
