// Routes in the URL's hash: #/s/{session} and #/e/{entity}.
import { signal } from "@preact/signals";

export type Route = { page: "session"; id: string } | { page: "entity"; id: string } | { page: "home" };

function read(): Route {
  const [, kind, id] = location.hash.split("/");
  try {
    if (id && kind === "s") return { page: "session", id: decodeURIComponent(id) };
    if (id && kind === "e") return { page: "entity", id: decodeURIComponent(id) };
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
export const navigate = (href: string): void => {
  location.hash = href;
};
/** Changes the URL without a new entry in the browser's history. */
export const redirect = (href: string): void => location.replace(href);
