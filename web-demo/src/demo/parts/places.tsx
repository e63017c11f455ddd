// The places of the demo, as links in the header.
import { sessionId } from "../state/current-session.ts";
import { documentsHref, graphHref, memoryHref, route, sessionHref, type Route } from "../state/route.ts";
import { strings } from "../strings.ts";

const places: Array<{ name: string; pages: ReadonlyArray<Route["page"]>; href: () => string }> = [
  { name: strings.header.chat, pages: ["home", "session", "entity"], href: () => (sessionId.value ? sessionHref(sessionId.value) : "#/") },
  { name: strings.header.memory, pages: ["memory"], href: () => memoryHref },
  { name: strings.header.graph, pages: ["graph"], href: () => graphHref() },
  { name: strings.header.documents, pages: ["documents", "document", "comparison"], href: () => documentsHref },
];

export function Places() {
  const { page } = route.value;
  return (
    <div class="places" role="navigation" aria-label={strings.header.places}>
      {places.map(({ name, pages, href }) => <a key={name} href={href()} aria-current={pages.includes(page) ? "page" : undefined}>{name}</a>)}
    </div>
  );
}
