// The documents place: the library, the reading view of one document, the report of a comparison, or a topic.
import "../documents.css";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { OfflineNotice } from "../../parts/offline-notice.tsx";
import { route } from "../../state/route.ts";
import { dropped } from "../../state/file-drop.ts";
import { announcement, refresh, watchLibrary } from "../state/library.ts";
import { watchChanges } from "../state/changes.ts";
import { useReadingOnReturn } from "../state/return.ts";
import { addFiles } from "../state/uploads.ts";
import { Library } from "./library.tsx";
import { Reader } from "./reader.tsx";
import { Report } from "./report.tsx";
import { TopicView } from "./topic.tsx";
import { strings } from "../strings.ts";

export function Documents() {
  const current = route.value;
  const open = current.page === "document" ? current : null;
  const report = current.page === "comparison" ? current.id : null;
  const topic = current.page === "topic" ? current.id : null;
  const main = useRef<HTMLElement>(null);
  const shown = useRef<string | null>(null);
  useEffect(watchLibrary, []);
  useEffect(watchChanges, []);
  useReadingOnReturn(() => void refresh(true));

  const drop = dropped.value;
  useEffect(() => {
    if (!drop) return;
    dropped.value = null;
    addFiles(drop.files, false, drop.folders);
  }, [drop]);

  // A change of the view moves the focus to its heading. The first view takes no focus from the header.
  // Before the paint, so that a key pressed at once goes to the new view.
  const view = report ? `comparison ${report}` : topic ? `topic ${topic}` : (open?.id ?? "");
  useLayoutEffect(() => {
    if (shown.current !== null && shown.current !== view && !open?.chunk) main.current?.focus();
    if (shown.current !== view && main.current) main.current.scrollTop = 0;
    shown.current = view;
  }, [view]);
  useEffect(() => {
    const before = document.title;
    document.title = strings.pageTitle;
    return () => { document.title = before; };
  }, []);

  return (
    <main id="main" ref={main} tabIndex={-1} class="documents" aria-label={report ? strings.views.comparison : topic ? strings.views.topic : open ? strings.views.document : strings.views.library}>
      {report ? <Report key={report} id={report} /> : topic ? <TopicView key={topic} id={topic} /> : open ? <Reader key={open.id} id={open.id} chunk={open.chunk} /> : <Library />}
      <p class="unseen" role="status">{announcement.value}</p>
      <OfflineNotice />
    </main>
  );
}
