// One session: its title, its facts, and how to rename it or forget what was said in it.
import { useEffect, useState } from "preact/hooks";
import { day } from "../../state/format.ts";
import { sessionHref } from "../../state/route.ts";
import type { SessionItem } from "../generated/operations.ts";
import { mayWrite, useMemoryPage } from "../state/context.ts";
import { useAction } from "../../state/action.ts";
import { noFilters, placeHref } from "../state/place.ts";
import { manyOf } from "../state/words.ts";
import { Trouble } from "../../parts/dialog.tsx";
import { ForgetDialog } from "./forget-dialog.tsx";

export const titleOf = (session: SessionItem): string => session.title ?? session.messages.nodes[0]?.text ?? "New session";

function Rename({ session }: { session: SessionItem }) {
  const { steer } = useMemoryPage();
  const [title, setTitle] = useState(titleOf(session));
  const { busy, error, run } = useAction();
  useEffect(() => setTitle(titleOf(session)), [session.title]);
  const save = (event: Event) => {
    event.preventDefault();
    void run(() => steer.renameSession(session.id, title.trim()));
  };
  return (
    <form class="rename" onSubmit={save}>
      <label>Title<input type="text" required value={title} onInput={(event) => setTitle(event.currentTarget.value)} /></label>
      <button type="submit" class="plain" disabled={busy || title.trim() === "" || title.trim() === session.title}>Rename</button>
      <Trouble text={error} />
    </form>
  );
}

export function SessionDetail({ session }: { session: SessionItem }) {
  const [forgetting, setForgetting] = useState(false);
  return (
    <article class="session-detail">
      <h2 tabIndex={-1}>{titleOf(session)}</h2>
      <p class="soft">{session.shared && <span class="badge">shared</span>}{manyOf(session.facts.totalCount ?? 0, "fact")}, last changed {day(session.updatedAt)}</p>
      {mayWrite(session.shared) && <Rename key={session.id} session={session} />}
      <div class="actions">
        <a class="plain" href={sessionHref(session.id)}>Open the conversation</a>
        <a class="plain" href={placeHref({ view: "facts", filters: { ...noFilters, session: session.id } })}>Its facts</a>
        {mayWrite(session.shared) && <button type="button" class="plain" onClick={() => setForgetting(true)}>Forget its messages…</button>}
      </div>
      {forgetting && <ForgetDialog title={`Forget what was said in ${titleOf(session)}`} target={{ sessionId: session.id }} onClose={() => setForgetting(false)} />}
    </article>
  );
}
