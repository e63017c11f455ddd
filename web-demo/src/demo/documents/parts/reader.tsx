// The reading view of one document: its text with headings and pages, and the cited passage.
import { useEffect, useRef, useState } from "preact/hooks";
import { Icon } from "../../parts/icon.tsx";
import { ago, count, day } from "../../state/format.ts";
import { client, hasToken } from "../../state/login.ts";
import { read } from "../../state/offline.ts";
import { passageRequests } from "../../state/passages.ts";
import { handleError } from "../../state/problem.ts";
import { documentHref, documentsHref, navigate } from "../../state/route.ts";
import { mayWrite } from "../../state/viewer.ts";
import { Versions, type VersionsResult } from "../generated/operations.ts";
import { adviceFor, formatBytes, kindOf, progressOf, progressText } from "../state/format.ts";
import { deleteDocument, isUnfinished, markViewed, openDocument, opened, type OpenedDocument } from "../state/library.ts";
import { useReadingOnReturn } from "../state/return.ts";
import { isTooDeep, loadMore, loadPassage, loadText, type CitedChunk, type LoadedText } from "../state/reading.ts";
import { About } from "./about.tsx";
import { Ask } from "./ask.tsx";
import { DeleteButton } from "./delete-button.tsx";
import { Badges, ProgressBar } from "./document-item.tsx";
import { TextView } from "./text-view.tsx";
import { Unopened } from "../../common/parts/unopened.tsx";
import { strings } from "../strings.ts";

type Version = VersionsResult["documents"]["nodes"][number];

/** Downloads the file. A token in a header needs a request of the page; a cookie does not. */
async function download({ id, filename }: OpenedDocument): Promise<void> {
  const bearer = client.endpoint.token?.();
  const response = await fetch(`/documents/${id}/original`, bearer ? { headers: { authorization: `Bearer ${bearer}` } } : {});
  if (!response.ok) throw new Error(strings.reader.refused(response.status));
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(await response.blob()), download: filename });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

function Download({ row, onError }: { row: OpenedDocument; onError: (message: string) => void }) {
  if (!row.hasOriginal) return <span class="soft">{strings.reader.fileDeleted}</span>;
  if (!hasToken.value) return <a class="quiet" href={`/documents/${row.id}/original`} download={row.filename}>{strings.reader.download}</a>;
  return <button type="button" class="quiet" onClick={() => void download(row).catch((error: unknown) => onError(handleError(error)))}>{strings.reader.download}</button>;
}

/** Loads the other versions of a document, newest first. */
async function loadVersions({ id, path, collection, shared }: OpenedDocument): Promise<Version[]> {
  if (path === null) return [];
  const { documents } = await read(Versions, { filter: { collection, text: path }, shared });
  return documents.nodes.filter((v) => v.path === path && v.id !== id).sort((a, b) => b.version - a.version);
}

function OtherVersions({ row, versions }: { row: OpenedDocument; versions: readonly Version[] }) {
  if (versions.length === 0) return null;
  return (
    <p class="soft">
      {row.current ? strings.reader.otherVersions : strings.reader.newerVersion}
      {versions.map((v, i) => <span key={v.id}>{i > 0 && ", "}<a href={documentHref(v.id)}>{strings.item.version(v.version)}</a>{v.status === "FAILED" && strings.reader.failedVersion}</span>)}
    </p>
  );
}

const isWebAddress = (address: string) => /^(https?|mailto):/i.test(address);

function Links({ links }: { links: readonly string[] }) {
  if (links.length === 0) return null;
  return (
    <details class="doc-links">
      <summary>{strings.reader.addresses(links.length)}</summary>
      <ul>{links.map((link) => <li key={link}>{isWebAddress(link) ? <a href={link} target="_blank" rel="noopener noreferrer">{link}</a> : link}</li>)}</ul>
    </details>
  );
}

interface HeadProps { row: OpenedDocument; versions: readonly Version[]; onError: (message: string) => void }

function Head({ row, versions, onError }: HeadProps) {
  // The bar stays after the end, so that the text keeps its place.
  const [showsProgress] = useState(isUnfinished(row));
  const facts = [kindOf(row.filename, row.mediaType), row.pages ? count(row.pages, "page") : null, formatBytes(row.bytes), strings.item.added(day(row.createdAt)), row.viewedAt ? strings.reader.lastViewed(ago(row.viewedAt)) : null];
  const progress = progressText(row) ?? (row.status === "FAILED" ? strings.reader.failed : strings.reader.ready);
  const remove = async () => { if (await deleteDocument(row)) navigate(documentsHref); };
  return (
    <header class="doc-head">
      <div>
        <h1>{row.title || row.filename}</h1>
        <p class="soft">{row.title && row.title !== row.filename ? `${row.filename}, ` : ""}{facts.filter(Boolean).join(", ")}<Badges row={row} /></p>
        <OtherVersions row={row} versions={versions} />
        <p class="doc-actions"><Download row={row} onError={onError} /></p>
      </div>
      {mayWrite(row.shared) && <DeleteButton name={row.filename} onDelete={remove} />}
      {showsProgress && <div class="doc-progress"><small>{progress}</small><ProgressBar value={progressOf(row)} label={strings.progressOf(row.filename)} isWaiting={isUnfinished(row) && row.total === 0} /></div>}
    </header>
  );
}

function Failed({ row }: { row: OpenedDocument }) {
  return (
    <div class="failure-card">
      <h2>{strings.reader.fileFailed}</h2>
      <p>{row.error ?? strings.noReason}</p>
      <p>{adviceFor(row.error)} <a href={documentsHref}>{strings.reader.goToDocuments}</a></p>
    </div>
  );
}

/** `chunk`: the cited chunk to show. */
export function Reader({ id, chunk }: { id: string; chunk: string | null }) {
  const row = opened.value?.id === id ? opened.value : null;
  const [missing, setMissing] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const [versions, setVersions] = useState<Version[] | null>(null);
  const [text, setText] = useState<LoadedText | null>(null);
  const [cited, setCited] = useState<CitedChunk | null>(null);
  /** The cited chunk of the URL does not exist. */
  const [citedIsGone, setCitedGone] = useState(false);
  const loads = useRef(0);

  const open = () => {
    setError(null);
    openDocument(id).then((found) => {
      if (!found) return setMissing(true);
      // Nothing depends on it, and the next view records it.
      void markViewed(id).catch(() => {});
    }, (cause: unknown) => {
      if ((cause as { code?: string }).code === "INVALID_ID") setMissing(true);
      else setError(handleError(cause));
    });
  };
  useEffect(() => {
    open();
    return () => { opened.value = null; };
  }, [id]);
  // What was not on this device, or failed.
  const [returns, setReturns] = useState(0);
  useReadingOnReturn(() => {
    if (error === null) return;
    if (!row) return open();
    setError(null);
    setReturns((old) => old + 1);
  });
  // A version that becomes searchable replaces another one. The head waits for the versions, so that it does not grow afterwards.
  const status = row?.status;
  useEffect(() => {
    if (!row) return;
    let stale = false;
    loadVersions(row).then((found) => { if (!stale) setVersions(found); }, () => { if (!stale) setVersions((known) => known ?? []); });
    return () => { stale = true; };
  }, [id, status]);
  // It was deleted here or in another tab.
  const wasShown = useRef(false);
  useEffect(() => {
    if (row) wasShown.current = true;
    else if (wasShown.current) setMissing(true);
  }, [row === null]);

  // Chunks are stored in steps. Read the text again while it grows.
  const stored = row ? Math.min(row.done, row.chunkCount) : null;
  useEffect(() => {
    if (stored === null || row?.status === "FAILED") return;
    const load = ++loads.current;
    const run = async () => {
      const passage = chunk ? await loadPassage(id, chunk) : null;
      const isKnown = text !== null && passage !== null && passage.position < text.chunks.length;
      const loaded = isKnown && text?.next ? text : await loadText(id, passage && !isTooDeep(passage) ? passage.position : 0);
      if (load !== loads.current) return;
      setCitedGone(chunk !== null && passage === null);
      setCited(passage);
      if (loaded) setText(loaded);
    };
    run().catch((cause: unknown) => { if (load === loads.current) setError(handleError(cause)); });
  }, [id, chunk, stored, returns]);

  const showMore = async () => {
    if (!text) return;
    const load = loads.current;
    const more = await loadMore(id, text).catch((cause: unknown) => { setError(handleError(cause)); return null; });
    if (more && load === loads.current) setText(more);
  };

  const back = <a class="quiet back" href={documentsHref}><Icon name="back" />{strings.allDocuments}</a>;
  if (missing) return <div class="column">{back}<h1>{strings.reader.missing}</h1><p class="soft">{strings.deletedOrOther}</p></div>;
  if (!row || !versions) return <div class="column reading" aria-busy={!error}>{back}{error && <Unopened what={strings.nouns.document} why={error} />}</div>;
  return (
    <div class="column reading">
      {back}
      <Head row={row} versions={versions} onError={setError} />
      {row.status === "FAILED" ? <Failed row={row} /> : (
        <>
          <aside>
            <Ask documentId={id} />
            <About row={row} />
            <Links links={row.links} />
          </aside>
          <div class="text-column">
            {error && <p class="trouble" role="alert">{error}</p>}
            {citedIsGone && <p class="trouble" role="alert">{strings.reader.passageDeleted}</p>}
            {text && <TextView text={text} cited={chunk ? cited : null} request={passageRequests.value} />}
            {text && text.chunks.length === 0 && <p class="soft">{isUnfinished(row) ? strings.reader.textComes : strings.reader.noText}</p>}
            {text?.next && <button type="button" class="earlier" onClick={() => void showMore()}>{strings.reader.more(text.chunks.length, row.chunkCount)}</button>}
          </div>
        </>
      )}
    </div>
  );
}
