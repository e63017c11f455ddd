// The places of the demo, as links in the header.
import { sessionId } from "../state/current-session.ts";
import { documentsHref, graphHref, memoryHref, route, sessionHref, type Route } from "../state/route.ts";

const places: Array<{ name: string; pages: ReadonlyArray<Route["page"]>; href: () => string }> = [
  { name: "Chat", pages: ["home", "session", "entity"], href: () => (sessionId.value ? sessionHref(sessionId.value) : "#/") },
  { name: "Memory", pages: ["memory"], href: () => memoryHref },
  { name: "Graph", pages: ["graph"], href: () => graphHref() },
  { name: "Documents", pages: ["documents", "document", "comparison"], href: () => documentsHref },
];

export function Places() {
  const { page } = route.value;
  return (
    <div class="places" role="navigation" aria-label="Places">
      {places.map(({ name, pages, href }) => <a key={name} href={href()} aria-current={pages.includes(page) ? "page" : undefined}>{name}</a>)}
    </div>
  );
}
