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
import { Dialog, Trouble } from "../../parts/dialog.tsx";
import { ImportChats } from "./import-chats.tsx";
import { strings } from "./strings.ts";

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
    throw new RecallError(errors[0]?.code ?? "BAD_RESPONSE", errors[0]?.message ?? strings.leave.noReceipt, 200);
  }
  await clearBrowserData(start.value?.viewer.id);
  return receipt;
}

const focus = (button: HTMLButtonElement | null) => button?.focus();

function Deleted({ receipt }: { receipt: Receipt }) {
  const of = (kind: string) => receipt.deleted.filter((rows) => rows.kind === kind).reduce((sum, rows) => sum + rows.count, 0);
  return (
    <>
      <p role="status">{strings.leave.deleted(of("sessions"), of("messages"), of("facts"), of("documents"), receipt.endedAt !== null)}</p>
      <footer><button type="button" class="strong" ref={focus} onClick={() => location.assign("/")}>{strings.leave.startAgain}</button></footer>
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
    <Dialog title={strings.leave.delete} onClose={receipt ? () => location.assign("/") : onClose}>
      {receipt ? <Deleted receipt={receipt} /> : (
        <form onSubmit={submit}>
          <p>{strings.leave.means}</p>
          <label>{strings.leave.type(CONFIRMATION)}<input type="text" autofocus autocomplete="off" value={word} onInput={(event) => setWord(event.currentTarget.value)} /></label>
          <Trouble text={error} />
          <footer>
            <button type="button" class="plain" onClick={onClose}>{strings.cancel}</button>
            <button type="submit" class="danger" disabled={busy || word !== CONFIRMATION}>{busy ? strings.leave.deleting : strings.leave.delete}</button>
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
    <section class="sheet" aria-label={strings.title}>
      <h2>{strings.export.title}</h2>
      <p class="soft">{strings.export.about[0]}<code>{"recall import"}</code>{strings.export.about[1]}</p>
      {isOffline ? <p class="soft" role="status">{strings.export.offline}</p>
        : hasToken.value
        ? <p>{strings.export.withToken[0]}<code>{"GET /export"}</code>{strings.export.withToken[1]}</p>
        : <p><a class="plain" href="/export" download="recall-memory.jsonl">{strings.export.export}</a></p>}
      <ImportChats />
      <h2>{strings.leave.title}</h2>
      <p class="soft">{strings.leave.about}</p>
      <p><button type="button" class="plain" disabled={isOffline} onClick={() => setDeleting(true)}>{strings.leave.open}</button></p>
      {deleting && <DeleteDialog onClose={() => setDeleting(false)} />}
    </section>
  );
}
