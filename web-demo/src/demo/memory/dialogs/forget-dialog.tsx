// Forgets by words, time, entity, selection or message. The dry run shows first what would be forgotten.
import type { ForgetInput } from "@relevantic/recall";
import { useEffect, useState } from "preact/hooks";
import { day } from "../../state/format.ts";
import { client, useMemoryPage } from "../state/context.ts";
import { useAction } from "../../state/action.ts";
import { sentence } from "../../common/state/words.ts";
import { Dialog, Trouble } from "../../parts/dialog.tsx";
import { strings } from "./strings.ts";

export type ForgetTarget = Omit<ForgetInput, "dryRun">;
type Found = Awaited<ReturnType<typeof client.forget>>;

/** What would be forgotten: all of it counted, the first hundred of each listed. */
function Preview({ found }: { found: Found }) {
  if (found.factCount + found.messageCount === 0) return <p role="status">{strings.forget.nothing}</p>;
  const [moreFacts, moreMessages] = [found.factCount - found.facts.length, found.messageCount - found.messages.length];
  return (
    <>
      <p role="status">{strings.forget.this[0]}<b>{strings.forget.size(found.factCount, found.messageCount)}</b>{strings.forget.this[1]}</p>
      <div class="preview" role="region" aria-label={strings.forget.preview} tabIndex={0}>
        {found.facts.length > 0 && <h3>{strings.forget.facts}</h3>}
        <ul>{found.facts.map((fact) => <li key={fact.id}>{sentence(fact)}</li>)}{moreFacts > 0 && <li class="soft">{strings.forget.more(moreFacts)}</li>}</ul>
        {found.messages.length > 0 && <h3>{strings.forget.messages}</h3>}
        <ul>{found.messages.map((message) => <li key={message.id}><q>{message.text}</q> <time dateTime={message.sentAt}>{day(message.sentAt)}</time></li>)}{moreMessages > 0 && <li class="soft">{strings.forget.more(moreMessages)}</li>}</ul>
      </div>
      <p class="soft">{strings.forget.undo}</p>
    </>
  );
}

/** `messageId`: the target is this single message, which can also be deleted for good at once. */
export function ForgetDialog({ title, target, messageId, onClose, onDone }: { title: string; target: ForgetTarget | null; messageId?: string; onClose: () => void; onDone?: () => void }) {
  const { steer } = useMemoryPage();
  const [wanted, setWanted] = useState(target);
  const [found, setFound] = useState<Found | null>(null);
  const [deleting, setDeleting] = useState(false);
  const { busy, error, run } = useAction();
  const look = (what: ForgetTarget) => {
    setWanted(what);
    setFound(null);
    void run(async () => setFound(await client.forget({ ...what, dryRun: true })));
  };
  useEffect(() => { if (target) look(target); }, []);
  const finish = async (work: () => Promise<void>) => {
    if (!(await run(work))) return;
    onClose();
    onDone?.();
  };
  const nothing = found === null || found.factCount + found.messageCount === 0;
  return (
    <Dialog title={title} onClose={onClose}>
      {!target && <WordsForm busy={busy} onLook={look} onChange={() => setFound(null)} />}
      {found ? <Preview found={found} /> : <p class="soft" role="status">{busy ? strings.forget.looking : target ? "" : strings.forget.before}</p>}
      <Trouble text={error} />
      <footer>
        <button type="button" class="plain" onClick={onClose}>{strings.cancel}</button>
        {messageId && (deleting
          ? <button type="button" class="danger" disabled={busy} onBlur={() => setDeleting(false)} onClick={() => void finish(() => steer.deleteMessage(messageId))}>{strings.forget.deleteSure}</button>
          : <button type="button" class="plain" disabled={busy} onClick={() => setDeleting(true)}>{strings.forget.delete}</button>)}
        <button type="button" class="danger" disabled={busy || nothing} onClick={() => wanted && void finish(() => steer.forget(wanted))}>{strings.forget.forget(found && !nothing ? strings.forget.size(found.factCount, found.messageCount) : null)}</button>
      </footer>
    </Dialog>
  );
}

/** Midnight of a day in the reader's time zone. */
const startOf = (date: string) => new Date(`${date}T00:00`).toISOString();

function WordsForm({ busy, onLook, onChange }: { busy: boolean; onLook: (target: ForgetTarget) => void; onChange: () => void }) {
  const [query, setQuery] = useState("");
  const [after, setAfter] = useState("");
  const [before, setBefore] = useState("");
  const submit = (event: Event) => {
    event.preventDefault();
    onLook({ ...(query.trim() ? { query: query.trim() } : {}), ...(after ? { after: startOf(after) } : {}), ...(before ? { before: startOf(before) } : {}) });
  };
  const changed = (set: (text: string) => void) => (event: { currentTarget: HTMLInputElement }) => {
    set(event.currentTarget.value);
    onChange();
  };
  return (
    <form onSubmit={submit} class="words">
      <label>{strings.forget.what}<input type="text" autofocus value={query} placeholder={strings.forget.example} onInput={changed(setQuery)} /></label>
      <details>
        <summary>{strings.forget.period}</summary>
        <div class="period">
          <label>{strings.forget.from}<input type="date" value={after} onInput={changed(setAfter)} /></label>
          <label>{strings.forget.until}<input type="date" value={before} onInput={changed(setBefore)} /></label>
        </div>
        <p class="soft">{strings.forget.periodAlone}</p>
      </details>
      <button type="submit" class="plain" disabled={busy || (!query.trim() && !after && !before)}>{strings.forget.show}</button>
    </form>
  );
}
