// One session: its title, its facts, and how to change it or forget what was said in it.
import { useEffect, useState } from "preact/hooks";
import { day } from "../../state/format.ts";
import { sessionHref } from "../../state/route.ts";
import { lastSaid, titleOf } from "../../state/session-words.ts";
import type { SessionItem } from "../generated/operations.ts";
import { mayChange, useMemoryPage } from "../state/context.ts";
import { useAction } from "../../state/action.ts";
import { deleteSession } from "../../state/session-actions.ts";
import { noFilters, placeHref } from "../../common/state/place.ts";
import { manyOf } from "../../common/state/words.ts";
import { Dialog, Trouble } from "../../parts/dialog.tsx";
import { Unchangeable } from "./pane.tsx";
import { LazyDialog } from "./lazy-dialog.tsx";

function Rename({ session }: { session: SessionItem }) {
  const { steer } = useMemoryPage();
  const [title, setTitle] = useState(titleOf(session));
  const { busy, error, run } = useAction();
  useEffect(() => setTitle(titleOf(session)), [session.title]);
  const save = (event: Event) => {
    event.preventDefault();
    void run(() => steer.changeSession(session.id, { title: title.trim() }, `The session is now called ${title.trim()}.`));
  };
  return (
    <form class="rename" onSubmit={save}>
      <label>Title<input type="text" required value={title} onInput={(event) => setTitle(event.currentTarget.value)} /></label>
      <button type="submit" class="plain" disabled={busy || title.trim() === "" || title.trim() === session.title}>Rename</button>
      <Trouble text={error} />
    </form>
  );
}

export function SessionBadges({ session: { shared, pinned, archived, paused } }: { session: SessionItem }) {
  return <>{Object.entries({ shared, pinned, archived, paused }).map(([word, isSet]) => isSet && <span key={word} class="badge">{word}</span>)}</>;
}

/** What each switch of a session is called, and what it did. */
const switches = {
  pinned: { on: ["Pin", "is pinned"], off: ["Unpin", "is no longer pinned"] },
  archived: { on: ["Archive", "is archived"], off: ["Unarchive", "is no longer archived"] },
  paused: { on: ["Pause remembering", "does not remember what is written in it"], off: ["Resume remembering", "remembers what is written in it"] },
} as const;

function Switches({ session }: { session: SessionItem }) {
  const { steer } = useMemoryPage();
  const { error, run } = useAction();
  return (
    <div class="actions">
      {(["pinned", "archived", "paused"] as const).map((name) => {
        const [label, said] = switches[name][session[name] ? "off" : "on"];
        return <button key={name} type="button" class="plain" onClick={() => void run(() => steer.changeSession(session.id, { [name]: !session[name] }, `${titleOf(session)} ${said}.`))}>{label}</button>;
      })}
      <Trouble text={error} />
    </div>
  );
}

function DeleteDialog({ session, onClose, onDeleted }: { session: SessionItem; onClose: () => void; onDeleted: () => void }) {
  const remove = async () => {
    onClose();
    if (await deleteSession(session.id)) onDeleted();
  };
  return (
    <Dialog title={`Delete ${titleOf(session)}`} onClose={onClose}>
      <p>This deletes the session with its messages, and what was learned only from them. It cannot be undone.</p>
      <footer>
        <button type="button" class="plain" autofocus onClick={onClose}>Cancel</button>
        <button type="button" class="danger" onClick={() => void remove()}>Delete</button>
      </footer>
    </Dialog>
  );
}

/** `summary`: comes last, because it loads later than the rest and must not move the buttons. */
export function SessionDetail({ session, summary, onDeleted }: { session: SessionItem; summary: string | null | undefined; onDeleted: () => void }) {
  const [dialog, setDialog] = useState<"forget" | "delete" | null>(null);
  const close = () => setDialog(null);
  return (
    <article class="session-detail">
      <h2 tabIndex={-1}>{titleOf(session)}</h2>
      <p class="soft"><SessionBadges session={session} /> {manyOf(session.facts.totalCount ?? 0, "fact")}, last message {day(lastSaid(session))}</p>
      {mayChange(session.shared) && <Rename key={session.id} session={session} />}
      {mayChange(session.shared) && <Switches session={session} />}
      <div class="actions">
        <a class="plain" href={sessionHref(session.id)}>Open the conversation</a>
        <a class="plain" href={placeHref({ view: "facts", filters: { ...noFilters, session: session.id } })}>Its facts</a>
        {mayChange(session.shared) && (
          <>
            <button type="button" class="plain" onClick={() => setDialog("forget")}>Forget its messages…</button>
            <button type="button" class="plain" onClick={() => setDialog("delete")}>Delete…</button>
          </>
        )}
      </div>
      {!mayChange(session.shared) && <Unchangeable shared={session.shared} />}
      {summary && <section><h3>What it is about</h3><p>{summary}</p></section>}
      {dialog === "forget" && <LazyDialog onClose={close} render={({ ForgetDialog }) => <ForgetDialog title={`Forget what was said in ${titleOf(session)}`} target={{ sessionId: session.id }} onClose={close} />} />}
      {dialog === "delete" && <DeleteDialog session={session} onClose={close} onDeleted={onDeleted} />}
    </article>
  );
}
