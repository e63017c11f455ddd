// Importing chats of other programs: what the file contains, the progress, and the result.
import { useEffect, useRef, useState } from "preact/hooks";
import { Dialog, Trouble } from "../../parts/dialog.tsx";
import { knownAt } from "../../state/offline.ts";
import { useAction } from "../../state/action.ts";
import { refreshSessions } from "../../state/session-list.ts";
import { start } from "../../state/viewer.ts";
import { manyOf } from "../../common/state/words.ts";
import { isArchive, readArchive } from "./archive.ts";
import { elementsOf, readChatExport, type ChatExport } from "./chat-exports.ts";
import { importChats, type Progress } from "./chat-import.ts";
import { readMemories } from "./mem0.ts";
import { isZip, readZip } from "./zip.ts";

/** A browser reads the whole file at once. */
const LARGEST_MIB = 200;
/** Large exports are split into conversations-000.json and so on. */
const CONVERSATIONS = /(^|\/)conversations[^/]*\.json$/;

interface TextFile { readonly name: string; readonly size: number; readonly text: () => Promise<string> }

/** The file, or those in it that have conversations. */
async function filesOf(file: File): Promise<readonly TextFile[]> {
  if (!(await isZip(file))) return [{ name: file.name, size: file.size, text: () => file.text() }];
  return (await readZip(file)).filter(({ name }) => CONVERSATIONS.test(name)).sort((a, b) => a.name.localeCompare(b.name));
}

async function readFile(file: File): Promise<ChatExport | string> {
  try {
    const files = await filesOf(file);
    if (files.length === 0) return "The ZIP archive contains no conversations.json.";
    if (files.reduce((sum, { size }) => sum + size, 0) > LARGEST_MIB * 1024 * 1024) return `The file is larger than ${LARGEST_MIB} MiB. Import it on the server with "recall import".`;
    const texts = await Promise.all(files.map((one) => one.text()));
    const [first = ""] = texts;
    if (isArchive(first)) return readArchive(first);
    const elements = texts.flatMap((text) => elementsOf(JSON.parse(text)));
    return readChatExport(elements) ?? readMemories(elements) ?? "This is no export of ChatGPT, Claude, Open WebUI, mem0 or Recall.";
  } catch {
    return "The file is neither JSON nor a ZIP archive that can be read. Unpack a ZIP archive, and choose its conversations.json.";
  }
}

function ImportDialog({ found, onClose }: { found: ChatExport; onClose: () => void }) {
  const [progress, setProgress] = useState<Progress | null>(null);
  const stop = useRef(new AbortController());
  const { busy, error, run } = useAction();
  const { program, chats, unread, documents = 0 } = found;
  const isOwn = program === "Recall";
  const messages = chats.reduce((sum, { turns }) => sum + turns.length, 0);
  const leftOut = chats.reduce((sum, chat) => sum + chat.leftOut, 0);
  const isDone = progress !== null && !busy && !error;
  const close = useRef<HTMLButtonElement>(null);
  useEffect(() => () => stop.current.abort(), []);
  // The button that began the import is gone.
  useEffect(() => { if (isDone) close.current?.focus(); }, [isDone]);
  const begin = () => void run(async () => {
    setProgress({ done: 0, known: 0 });
    await importChats(found, stop.current.signal, setProgress);
    await refreshSessions();
  });
  return (
    <Dialog title={isOwn ? "Import an export of Recall" : `Import chats of ${program}`} onClose={onClose}>
      {progress === null ? (
        <>
          <p>{program === "mem0" ? `${messages === 1 ? "1 memory" : `${messages.toLocaleString()} memories`}. They become messages of one session, as if you had said them.`
            : `${manyOf(chats.length, "chat")} with ${manyOf(messages, "message")}. Each chat becomes a session with its title and dates. Questions in it are not answered again.`}</p>
          {isOwn && <p>The facts are read from the messages again, so what you corrected, retracted, merged or renamed by hand is not in them. Only <code>recall import</code> on the server takes everything.</p>}
          {documents > 0 && <p class="soft">Left out: {manyOf(documents, "document")}. Add the files again.</p>}
          {leftOut > 0 && <p class="soft">Left out: {manyOf(leftOut, "message")} {isOwn ? `that ${leftOut === 1 ? "is forgotten or was" : "are forgotten or were"} not remembered.` : "without text, of tools or of replaced branches."}</p>}
          {unread > 0 && <p class="soft">Left out: {manyOf(unread, "chat")} without messages or in an unknown form.</p>}
          {start.value?.viewer.paused && <p class="warn">Remembering is paused. The chats are stored, but nothing is learned from them.</p>}
        </>
      ) : (
        <>
          <progress aria-label="Imported chats" max={chats.length} value={progress.done} />
          <p role="status">{isDone && (progress.done < chats.length ? "Stopped. " : "Done. ")}{progress.done.toLocaleString()} of {manyOf(chats.length, "chat")}{progress.known > 0 && `, ${progress.known.toLocaleString()} of them known before`}.{isDone && " Recall finds the facts in the background."}</p>
        </>
      )}
      <Trouble text={error} />
      <footer>
        <button ref={close} type="button" class="plain" onClick={busy ? () => stop.current.abort() : onClose}>{busy ? "Stop" : isDone ? "Close" : "Cancel"}</button>
        {!isDone && <button type="button" class="strong" autofocus disabled={busy || chats.length === 0} onClick={begin}>{error ? "Try again" : "Import"}</button>}
      </footer>
    </Dialog>
  );
}

export function ImportChats() {
  const field = useRef<HTMLInputElement>(null);
  const [found, setFound] = useState<ChatExport | string | null>(null);
  const read = async ({ currentTarget: input }: { currentTarget: HTMLInputElement }) => {
    const [file] = input.files ?? [];
    if (file) setFound(await readFile(file));
    // The same file can be chosen again.
    input.value = "";
  };
  return (
    <>
      <h2>Bring your chats</h2>
      <p class="soft">Import what ChatGPT, Claude or Open WebUI exported as JSON or ZIP, the memories of mem0, or the chats in an export of Recall. A repeated import adds only what is new.</p>
      <p>
        <input ref={field} hidden type="file" accept=".json,.jsonl,.zip,application/json,application/zip" aria-label="File with chats" onChange={(event) => void read(event)} />
        <button type="button" class="plain" disabled={knownAt.value !== null} onClick={() => field.current?.click()}>Import…</button>
      </p>
      <Trouble text={typeof found === "string" ? found : null} />
      {found !== null && typeof found !== "string" && <ImportDialog found={found} onClose={() => setFound(null)} />}
    </>
  );
}
