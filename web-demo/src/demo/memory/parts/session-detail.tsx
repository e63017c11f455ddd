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
import { Dialog, Trouble } from "../../parts/dialog.tsx";
import { Unchangeable } from "./pane.tsx";
import { LazyDialog } from "./lazy-dialog.tsx";
import { strings } from "../strings.ts";

function Rename({ session }: { session: SessionItem }) {
  const { steer } = useMemoryPage();
  const [title, setTitle] = useState(titleOf(session));
  const { busy, error, run } = useAction();
  useEffect(() => setTitle(titleOf(session)), [session.title]);
  const save = (event: Event) => {
    event.preventDefault();
    void run(() => steer.changeSession(session.id, { title: title.trim() }, strings.session.renamed(title.trim())));
  };
  return (
    <form class="rename" onSubmit={save}>
      <label>{strings.session.title}<input type="text" required value={title} onInput={(event) => setTitle(event.currentTarget.value)} /></label>
      <button type="submit" class="plain" disabled={busy || title.trim() === "" || title.trim() === session.title}>{strings.session.rename}</button>
      <Trouble text={error} />
    </form>
  );
}

export function SessionBadges({ session: { shared, pinned, archived, paused } }: { session: SessionItem }) {
  return <>{Object.entries({ shared, pinned, archived, paused }).map(([word, isSet]) => isSet && <span key={word} class="badge">{word}</span>)}</>;
}

function Switches({ session }: { session: SessionItem }) {
  const { steer } = useMemoryPage();
  const { error, run } = useAction();
  return (
    <div class="actions">
      {(["pinned", "archived", "paused"] as const).map((name) => {
        const [label, said] = strings.session.switches[name][session[name] ? "off" : "on"];
        return <button key={name} type="button" class="plain" onClick={() => void run(() => steer.changeSession(session.id, { [name]: !session[name] }, strings.session.switched(titleOf(session), said)))}>{label}</button>;
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
    <Dialog title={strings.session.deleteTitle(titleOf(session))} onClose={onClose}>
      <p>{strings.session.deletes}</p>
      <footer>
        <button type="button" class="plain" autofocus onClick={onClose}>{strings.cancel}</button>
        <button type="button" class="danger" onClick={() => void remove()}>{strings.session.delete}</button>
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
      <p class="soft"><SessionBadges session={session} />{strings.session.size(session.facts.totalCount ?? 0, day(lastSaid(session)))}</p>
      {mayChange(session.shared) && <Rename key={session.id} session={session} />}
      {mayChange(session.shared) && <Switches session={session} />}
      <div class="actions">
        <a class="plain" href={sessionHref(session.id)}>{strings.session.open}</a>
        <a class="plain" href={placeHref({ view: "facts", filters: { ...noFilters, session: session.id } })}>{strings.session.facts}</a>
        {mayChange(session.shared) && (
          <>
            <button type="button" class="plain" onClick={() => setDialog("forget")}>{strings.session.forget}</button>
            <button type="button" class="plain" onClick={() => setDialog("delete")}>{strings.session.openDelete}</button>
          </>
        )}
      </div>
      {!mayChange(session.shared) && <Unchangeable shared={session.shared} />}
      {summary && <section><h3>{strings.session.about}</h3><p>{summary}</p></section>}
      {dialog === "forget" && <LazyDialog onClose={close} render={({ ForgetDialog }) => <ForgetDialog title={strings.session.forgetTitle(titleOf(session))} target={{ sessionId: session.id }} onClose={close} />} />}
      {dialog === "delete" && <DeleteDialog session={session} onClose={close} onDeleted={onDeleted} />}
    </article>
  );
}
