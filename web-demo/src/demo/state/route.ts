// Routes in the URL's hash: #/s/{session}, #/e/{entity}, #/memory…, #/graph…, #/settings/{section}, #/d, #/d/{document},
// #/d/{document}/{chunk}, #/c/{comparison} and #/t/{topic}.
import { signal } from "@preact/signals";

export type Route =
  | { page: "session"; id: string } | { page: "entity"; id: string } | { page: "memory"; rest: string } | { page: "graph"; rest: string } | { page: "settings"; section: string } | { page: "home" }
  | { page: "documents" } | { page: "document"; id: string; chunk: string | null }
  | { page: "comparison"; id: string } | { page: "topic"; id: string };

export const memoryHref = "#/memory";
export const activeFactsHref = `${memoryHref}?status=ACTIVE`;
export const memoryFactHref = (id: string): string => `${memoryHref}/facts/${encodeURIComponent(id)}`;
export const graphHref = (entity: string | null = null): string => (entity ? `#/graph/${encodeURIComponent(entity)}` : "#/graph");
export const settingsHref = "#/settings";

function read(): Route {
  const [, kind, id, part] = location.hash.split("/");
  if (kind?.split("?")[0] === "memory") return { page: "memory", rest: location.hash.slice(memoryHref.length) };
  if (kind?.split("?")[0] === "graph") return { page: "graph", rest: location.hash.slice(graphHref().length) };
  try {
    if (id && kind === "s") return { page: "session", id: decodeURIComponent(id) };
    if (id && kind === "e") return { page: "entity", id: decodeURIComponent(id) };
    if (id && kind === "d") return { page: "document", id: decodeURIComponent(id), chunk: part ? decodeURIComponent(part) : null };
    if (id && kind === "c") return { page: "comparison", id: decodeURIComponent(id) };
    if (id && kind === "t") return { page: "topic", id: decodeURIComponent(id) };
    if (kind === "d") return { page: "documents" };
    if (kind === "settings") return { page: "settings", section: id ?? "" };
  } catch {
    // Invalid percent-encoding.
  }
  return { page: "home" };
}

export const route = signal<Route>(read());
addEventListener("hashchange", () => {
  route.value = read();
});

export const sessionHref = (id: string): string => `#/s/${encodeURIComponent(id)}`;
export const entityHref = (id: string): string => `#/e/${encodeURIComponent(id)}`;
export const documentsHref = "#/d";
export const documentHref = (id: string): string => `#/d/${encodeURIComponent(id)}`;
export const passageHref = (documentId: string, chunkId: string): string => `${documentHref(documentId)}/${encodeURIComponent(chunkId)}`;
export const comparisonHref = (id: string): string => `#/c/${encodeURIComponent(id)}`;
export const topicHref = (id: string): string => `#/t/${encodeURIComponent(id)}`;
export const navigate = (href: string): void => {
  location.hash = href;
};
/** Changes the URL without a new entry in the browser's history. */
export const redirect = (href: string): void => location.replace(href);
