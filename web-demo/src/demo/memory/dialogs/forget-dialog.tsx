// Forgets by words, time, entity, selection or message. The dry run shows first what would be forgotten.
import type { ForgetInput } from "@relevantic/recall";
import { useEffect, useState } from "preact/hooks";
import { day } from "../../state/format.ts";
import { client, useMemoryPage } from "../state/context.ts";
import { useAction } from "../../state/action.ts";
import { factsAndMessages, sentence } from "../../common/state/words.ts";
import { Dialog, Trouble } from "../../parts/dialog.tsx";

export type ForgetTarget = Omit<ForgetInput, "dryRun">;
type Found = Awaited<ReturnType<typeof client.forget>>;

/** What would be forgotten: all of it counted, the first hundred of each listed. */
function Preview({ found }: { found: Found }) {
  if (found.factCount + found.messageCount === 0) return <p role="status">Nothing matches. Nothing would be forgotten.</p>;
  const [moreFacts, moreMessages] = [found.factCount - found.facts.length, found.messageCount - found.messages.length];
  return (
    <>
      <p role="status">This forgets <b>{factsAndMessages(found.factCount, found.messageCount)}</b>.</p>
      <div class="preview" role="region" aria-label="What would be forgotten" tabIndex={0}>
        {found.facts.length > 0 && <h3>Facts</h3>}
        <ul>{found.facts.map((fact) => <li key={fact.id}>{sentence(fact)}</li>)}{moreFacts > 0 && <li class="soft">and {moreFacts.toLocaleString()} more</li>}</ul>
        {found.messages.length > 0 && <h3>Messages</h3>}
        <ul>{found.messages.map((message) => <li key={message.id}><q>{message.text}</q> <time dateTime={message.sentAt}>{day(message.sentAt)}</time></li>)}{moreMessages > 0 && <li class="soft">and {moreMessages.toLocaleString()} more</li>}</ul>
      </div>
      <p class="soft">You can undo this for some minutes. After that it is deleted for good.</p>
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
      {found ? <Preview found={found} /> : <p class="soft" role="status">{busy ? "Looking what this would forget…" : target ? "" : "Nothing is forgotten before you have seen what it is."}</p>}
      <Trouble text={error} />
      <footer>
        <button type="button" class="plain" onClick={onClose}>Cancel</button>
        {messageId && (deleting
          ? <button type="button" class="danger" disabled={busy} onBlur={() => setDeleting(false)} onClick={() => void finish(() => steer.deleteMessage(messageId))}>Delete without undo?</button>
          : <button type="button" class="plain" disabled={busy} onClick={() => setDeleting(true)}>Delete for good</button>)}
        <button type="button" class="danger" disabled={busy || nothing} onClick={() => wanted && void finish(() => steer.forget(wanted))}>Forget {found && !nothing ? factsAndMessages(found.factCount, found.messageCount) : ""}</button>
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
      <label>What to forget<input type="text" autofocus value={query} placeholder="everything about Oakwood" onInput={changed(setQuery)} /></label>
      <details>
        <summary>Only what was said in a period</summary>
        <div class="period">
          <label>From<input type="date" value={after} onInput={changed(setAfter)} /></label>
          <label>Before<input type="date" value={before} onInput={changed(setBefore)} /></label>
        </div>
        <p class="soft">Without words, the period alone is forgotten.</p>
      </details>
      <button type="submit" class="plain" disabled={busy || (!query.trim() && !after && !before)}>Show what this would forget</button>
    </form>
  );
}
