// Taking one's data away: the archive, and the deletion of everything.
import { RecallError } from "@relevantic/recall";
import { useState } from "preact/hooks";
import { clearBrowserData, hasToken } from "../../state/login.ts";
import { DeleteEverything, type DeleteEverythingResult } from "./generated/operations.ts";
import { client } from "../state/context.ts";
import { disconnectSession } from "../../state/opening.ts";
import { knownAt } from "../../state/offline.ts";
import { useAction } from "../../state/action.ts";
import { start } from "../../state/viewer.ts";
import { manyOf } from "../../common/state/words.ts";
import { Dialog, Trouble } from "../../parts/dialog.tsx";
import { ImportChats } from "./import-chats.tsx";

type Receipt = NonNullable<DeleteEverythingResult["deleteMyData"]["receipt"]>;

/** The word that the server requires, so that nobody deletes everything by accident. */
const CONFIRMATION = "DELETE";

async function deleteEverything(confirm: string): Promise<Receipt> {
  // Disconnect first: otherwise the page reports that the server closes the stream of the open session.
  const reopen = disconnectSession();
  const { receipt, errors } = await client.graphql(DeleteEverything, { confirm }).then(({ deleteMyData }) => deleteMyData, (error: unknown) => {
    reopen();
    throw error;
  });
  if (!receipt || errors[0]) {
    reopen();
    throw new RecallError(errors[0]?.code ?? "BAD_RESPONSE", errors[0]?.message ?? "The server sent no receipt.", 200);
  }
  await clearBrowserData(start.value?.viewer.id);
  return receipt;
}

const focus = (button: HTMLButtonElement | null) => button?.focus();

function Deleted({ receipt }: { receipt: Receipt }) {
  const of = (kind: string) => receipt.deleted.filter((rows) => rows.kind === kind).reduce((sum, rows) => sum + rows.count, 0);
  return (
    <>
      <p role="status">Deleted: {manyOf(of("sessions"), "session")}, {manyOf(of("messages"), "message")}, {manyOf(of("facts"), "fact")}, {manyOf(of("documents"), "document")}.{receipt.endedAt === null && " The rest follows in the background."}</p>
      <footer><button type="button" class="strong" ref={focus} onClick={() => location.assign("/")}>Start again</button></footer>
    </>
  );
}

function DeleteDialog({ onClose }: { onClose: () => void }) {
  const [word, setWord] = useState("");
  const [receipt, setReceipt] = useState<Receipt | null>(null);
  const { busy, error, run } = useAction();
  const submit = (event: Event) => {
    event.preventDefault();
    void run(async () => setReceipt(await deleteEverything(word)));
  };
  // Nothing on the page is true any more after the deletion, so the page starts again.
  return (
    <Dialog title="Delete everything" onClose={receipt ? () => location.assign("/") : onClose}>
      {receipt ? <Deleted receipt={receipt} /> : (
        <form onSubmit={submit}>
          <p>This deletes all your sessions, messages, facts, documents and access tokens. It cannot be undone. Shared memory stays.</p>
          <label>Type {CONFIRMATION} to confirm<input type="text" autofocus autocomplete="off" value={word} onInput={(event) => setWord(event.currentTarget.value)} /></label>
          <Trouble text={error} />
          <footer>
            <button type="button" class="plain" onClick={onClose}>Cancel</button>
            <button type="submit" class="danger" disabled={busy || word !== CONFIRMATION}>{busy ? "Deleting…" : "Delete everything"}</button>
          </footer>
        </form>
      )}
    </Dialog>
  );
}

export function DataView() {
  const [deleting, setDeleting] = useState(false);
  const isOffline = knownAt.value !== null;
  return (
    <section class="sheet" aria-label="Your data">
      <h2>Take it with you</h2>
      <p class="soft">One file with all your sessions, messages, facts and documents. <code>recall import</code> reads it into any other server.</p>
      {isOffline ? <p class="soft" role="status">Export, import and deletion need the server. You can use them when the line is back.</p>
        : hasToken.value
        ? <p>Export it with your access token: <code>GET /export</code>.</p>
        : <p><a class="plain" href="/export" download="recall-memory.jsonl">Export</a></p>}
      <ImportChats />
      <h2>Leave</h2>
      <p class="soft">Deletes everything that is known of you, at once and for good.</p>
      <p><button type="button" class="plain" disabled={isOffline} onClick={() => setDeleting(true)}>Delete everything…</button></p>
      {deleting && <DeleteDialog onClose={() => setDeleting(false)} />}
    </section>
  );
}
