// Files on their way to the server. They continue while the user looks at other places of the page.
import { effect, signal } from "@preact/signals";
import { RecallError } from "@relevantic/recall";
import { client, loginMethods } from "../../state/login.ts";
import { handleError } from "../../state/problem.ts";
import type { DocumentRow } from "../generated/operations.ts";
import { announcement, clearFilter, endText, findRow, isUnfinished, refresh } from "./library.ts";

/** `known`: the collection has the same content already. */
export type UploadStage = "waiting" | "sending" | "failed" | "known";

export interface Upload {
  key: number;
  name: string;
  bytes: number;
  sent: number;
  stage: UploadStage;
  /** Why it failed, or why it waits. */
  message: string | null;
  /** The same file may be accepted later. */
  canRetry: boolean;
  /** The document with the same content. */
  documentId: string | null;
  /** null: not a file. */
  file: File | null;
  shared: boolean;
}

/** Newest first, like the list of documents. */
export const uploads = signal<readonly Upload[]>([]);

const MAX_WAITS = 5;
const MAX_WAIT_MS = 60_000;
let lastKey = 0;
let current: { key: number; request: XMLHttpRequest } | null = null;

const update = (key: number, change: Partial<Upload>) => {
  uploads.value = uploads.value.map((u) => (u.key === key ? { ...u, ...change } : u));
};

/** Adds files to the queue. They are sent one after another. */
export function addFiles(files: readonly File[], shared = false, folders: readonly string[] = []): void {
  const blank = { sent: 0, documentId: null, canRetry: false, shared };
  const added: Upload[] = [
    ...files.map((file): Upload => ({ ...blank, key: ++lastKey, name: file.name, bytes: file.size, stage: "waiting", message: null, file })),
    ...folders.map((name): Upload => ({ ...blank, key: ++lastKey, name, bytes: 0, stage: "failed", message: "This is a folder. Drop the files in it instead.", file: null })),
  ];
  if (added.length === 0) return;
  clearFilter();
  uploads.value = [...added.reverse(), ...uploads.value];
  void sendNext();
}

export function retryUpload(key: number): void {
  update(key, { stage: "waiting", message: null, sent: 0 });
  void sendNext();
}

/** Removes an upload from the list. Cancels it if it is being sent. */
export function dismissUpload(key: number): void {
  uploads.value = uploads.value.filter((u) => u.key !== key);
  if (current?.key === key) current.request.abort();
}

async function sendNext(): Promise<void> {
  if (current) return;
  const upload = uploads.value.findLast((u) => u.stage === "waiting");
  if (!upload?.file) return;
  const request = new XMLHttpRequest();
  current = { key: upload.key, request };
  update(upload.key, { stage: "sending", message: null });
  try {
    const { id, duplicate_of } = await post(request, upload, upload.file);
    if (duplicate_of) {
      update(upload.key, { stage: "known", documentId: duplicate_of });
      announcement.value = `${upload.name} is stored already.`;
    } else {
      // The document's row replaces the upload at the same place.
      await refresh();
      uploads.value = uploads.value.filter((u) => u.key !== upload.key);
      announcement.value = storedText(upload.name, findRow(id));
    }
  } catch (error) {
    const message = handleError(error);
    if (uploads.value.some((u) => u.key === upload.key)) announcement.value = `${upload.name} was not added. ${message}`;
    const status = error instanceof RecallError ? error.status : 0;
    update(upload.key, { stage: "failed", message, canRetry: status === 0 || status === 429 || status >= 500 });
  }
  current = null;
  void sendNext();
}

/** Small files may be read, or refused, before the answer is here. */
function storedText(name: string, row: DocumentRow | undefined): string {
  if (row && !isUnfinished(row)) return endText(row);
  const version = row?.version ?? 1;
  return `${name} is stored${version > 1 ? ` as version ${version}` : ""}. It is being read.`;
}

interface Added { id: string; duplicate_of?: string }
interface Problem { code?: string; detail?: string; title?: string }

/** Sends a file. While the server has no place for it, waits as long as the server says. */
async function post(request: XMLHttpRequest, upload: Upload, file: File, waits = 0): Promise<Added> {
  const form = new FormData();
  // The same name again is a new version.
  form.append("path", file.webkitRelativePath || file.name);
  if (upload.shared) form.append("shared", "true");
  form.append("file", file);
  await send(request, form, (sent) => update(upload.key, { sent: Math.min(sent, upload.bytes) }));
  if (request.status === 202) return JSON.parse(request.responseText) as Added;
  const { code, detail, title } = readProblem(request.responseText);
  const retryAfterMs = Number(request.getResponseHeader("retry-after")) * 1000;
  if ((request.status === 429 || request.status === 503) && retryAfterMs > 0 && retryAfterMs <= MAX_WAIT_MS && waits < MAX_WAITS) {
    update(upload.key, { stage: "waiting", message: detail ?? "The server is busy. The page sends the file again.", sent: 0 });
    await new Promise((resolve) => setTimeout(resolve, retryAfterMs));
    if (!uploads.value.some((u) => u.key === upload.key)) throw new RecallError("CANCELLED", "Cancelled.");
    update(upload.key, { stage: "sending", message: null });
    return post(request, upload, file, waits + 1);
  }
  throw new RecallError(code ?? "BAD_RESPONSE", detail ?? title ?? `The server answered ${request.status}.`, request.status);
}

/** `fetch` does not report how much of a body is sent. */
function send(request: XMLHttpRequest, form: FormData, onSent: (bytes: number) => void): Promise<void> {
  const { url, token, csrfToken } = client.endpoint;
  return new Promise((resolve, reject) => {
    request.open("POST", `${url}/documents`);
    const [bearer, csrf] = [token?.(), csrfToken?.()];
    if (bearer) request.setRequestHeader("authorization", `Bearer ${bearer}`);
    if (csrf) request.setRequestHeader("x-csrf-token", csrf);
    request.upload.onprogress = (event) => onSent(event.loaded);
    request.onload = () => resolve();
    request.onabort = () => reject(new RecallError("CANCELLED", "Cancelled."));
    request.onerror = () => reject(new RecallError("UNREACHABLE", "The file did not arrive: the server cannot be reached, or the file changed or cannot be read."));
    request.send(form);
  });
}

function readProblem(text: string): Problem {
  try {
    return JSON.parse(text) as Problem;
  } catch {
    return {};
  }
}

// The next user of the page must not see the files.
effect(() => {
  if (loginMethods.value === null) return;
  current?.request.abort();
  uploads.value = [];
});
