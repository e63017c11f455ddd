// The list of sessions, with buttons to create and delete sessions.
import { useState } from "preact/hooks";
import { deleteSession, mayWrite, memory, newSession, sessionId, sessions, type SessionItem } from "../state/app.ts";
import { sessionHref } from "../state/route.ts";
import { ago, count } from "../state/format.ts";
import { Icon } from "./icon.tsx";

const titleOf = (session: SessionItem, firstMessage: string | undefined) => session.title || session.messages.nodes[0]?.text || firstMessage || "New session";

export function Sessions({ onChoose }: { onChoose: () => void }) {
  /** The session whose deletion the user must confirm. */
  const [confirming, setConfirming] = useState<string | null>(null);
  const current = memory.value;
  void current?.version.value;
  const firstMessage = current?.messages.values().next().value?.text;
  return (
    <nav aria-label="Sessions">
      <button type="button" class="new" onClick={() => { void newSession(); onChoose(); }}><Icon name="plus" />New session</button>
      {mayWrite(true) && <button type="button" class="new shared" title="All logged-in users can read it; only administrators can write it" onClick={() => { void newSession(true); onChoose(); }}>New shared session</button>}
      <ul>
        {sessions.value.map((session) => {
          const on = session.id === sessionId.value;
          const title = titleOf(session, on ? firstMessage : undefined);
          const facts = on && current ? current.counts().active : (session.facts.totalCount ?? 0);
          return (
            <li key={session.id} class={on ? "on" : ""}>
              <a href={sessionHref(session.id)} aria-current={on ? "page" : undefined} onClick={onChoose}>
                <span>{title}</span>
                <small>{session.shared && <i class="badge">shared</i>}{facts > 0 ? `${count(facts, "fact")}, ` : ""}{ago(session.updatedAt)}</small>
              </a>
              {!mayWrite(session.shared) ? null : confirming === session.id ? (
                <button type="button" class="sure" onBlur={() => setConfirming(null)} onClick={() => { setConfirming(null); void deleteSession(session.id); }}>Delete?</button>
              ) : (
                <button type="button" class="icon-button" aria-label={`Delete session ${title}`} onClick={() => setConfirming(session.id)}><Icon name="trash" /></button>
              )}
            </li>
          );
        })}
      </ul>
    </nav>
  );
}
