// Importing chats of other programs: what the file contains, the progress, and the result.
import { useEffect, useRef, useState } from "preact/hooks";
import { Dialog, Trouble } from "../../parts/dialog.tsx";
import { knownAt } from "../../state/offline.ts";
import { useAction } from "../../state/action.ts";
import { refreshSessions } from "../../state/session-list.ts";
import { start } from "../../state/viewer.ts";
import { isArchive, readArchive } from "./archive.ts";
import { elementsOf, readChatExport, type ChatExport } from "./chat-exports.ts";
import { importChats, type Progress } from "./chat-import.ts";
import { readMemories } from "./mem0.ts";
import { isZip, readZip } from "./zip.ts";
import { strings } from "./strings.ts";

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
    if (files.length === 0) return strings.import.emptyZip;
    if (files.reduce((sum, { size }) => sum + size, 0) > LARGEST_MIB * 1024 * 1024) return strings.import.tooLarge(LARGEST_MIB);
    const texts = await Promise.all(files.map((one) => one.text()));
    const [first = ""] = texts;
    if (isArchive(first)) return readArchive(first);
    const elements = texts.flatMap((text) => elementsOf(JSON.parse(text)));
    return readChatExport(elements) ?? readMemories(elements) ?? strings.import.unknown;
  } catch {
    return strings.import.unreadable;
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
    <Dialog title={isOwn ? strings.import.ownTitle : strings.import.titleOf(program)} onClose={onClose}>
      {progress === null ? (
        <>
          <p>{program === "mem0" ? strings.import.memories(messages) : strings.import.chats(chats.length, messages)}</p>
          {isOwn && <p>{strings.import.byHand[0]}<code>{"recall import"}</code>{strings.import.byHand[1]}</p>}
          {documents > 0 && <p class="soft">{strings.import.noDocuments(documents)}</p>}
          {leftOut > 0 && <p class="soft">{isOwn ? strings.import.notRemembered(leftOut) : strings.import.withoutText(leftOut)}</p>}
          {unread > 0 && <p class="soft">{strings.import.unread(unread)}</p>}
          {start.value?.viewer.paused && <p class="warn">{strings.import.paused}</p>}
        </>
      ) : (
        <>
          <progress aria-label={strings.import.progress} max={chats.length} value={progress.done} />
          <p role="status">{strings.import.status(progress.done, chats.length, progress.known, !isDone ? null : progress.done < chats.length ? "stopped" : "done")}</p>
        </>
      )}
      <Trouble text={error} />
      <footer>
        <button ref={close} type="button" class="plain" onClick={busy ? () => stop.current.abort() : onClose}>{busy ? strings.import.stop : isDone ? strings.import.close : strings.cancel}</button>
        {!isDone && <button type="button" class="strong" autofocus disabled={busy || chats.length === 0} onClick={begin}>{error ? strings.import.tryAgain : strings.import.import}</button>}
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
      <h2>{strings.import.title}</h2>
      <p class="soft">{strings.import.about}</p>
      <p>
        <input ref={field} hidden type="file" accept=".json,.jsonl,.zip,application/json,application/zip" aria-label={strings.import.file} onChange={(event) => void read(event)} />
        <button type="button" class="plain" disabled={knownAt.value !== null} onClick={() => field.current?.click()}>{strings.import.open}</button>
      </p>
      <Trouble text={typeof found === "string" ? found : null} />
      {found !== null && typeof found !== "string" && <ImportDialog found={found} onClose={() => setFound(null)} />}
    </>
  );
}
