// The list of sessions.
import { useCallback } from "preact/hooks";
import { ago } from "../../state/format.ts";
import type { SessionItem } from "../generated/operations.ts";
import { useMemoryPage } from "../state/context.ts";
import { useLiveList } from "../state/hooks.ts";
import { sessionList } from "../state/lists.ts";
import { placeHref, type Place } from "../state/place.ts";
import { manyOf } from "../state/words.ts";
import { ListBody, totalText } from "./list-body.tsx";
import { Pane } from "./pane.tsx";
import { SessionDetail, titleOf } from "./session-detail.tsx";
import { VirtualList } from "./virtual-list.tsx";

function SessionRow({ session, href, open, tabIndex }: { session: SessionItem; href: string; open: boolean; tabIndex: 0 | -1 }) {
  return (
    <div class="row" data-open={open || undefined}>
      <a href={href} data-row tabIndex={tabIndex} aria-current={open ? "true" : undefined}>
        <span class="name">{titleOf(session)}</span>
        <span class="meta">{session.shared && <span class="badge">shared</span>}<span>{manyOf(session.facts.totalCount ?? 0, "fact")}</span><time dateTime={session.updatedAt}>{ago(session.updatedAt)}</time></span>
      </a>
    </div>
  );
}

export function SessionsView({ place }: { place: Place }) {
  const { reader } = useMemoryPage();
  const list = useLiveList(JSON.stringify([place.filters, reader.value]), () => sessionList(place.filters, reader.value));
  const open = list.rows.value.find((session) => session.id === place.id);
  const render = useCallback((session: SessionItem, tabIndex: 0 | -1) => <SessionRow session={session} href={placeHref({ ...place, id: session.id })} open={place.id === session.id} tabIndex={tabIndex} />, [place]);
  return (
    <>
    <section class="list" aria-label="Sessions">
      <p class="total" role="status">{totalText(list, "session")}{list.rows.value.length > 0 && ", latest change first"}</p>
      <ListBody list={list} place={place} empty="There is no session yet.">
        <VirtualList
          label="Sessions" rows={list.rows.value} total={list.total.value} onNearEnd={() => void list.more()}
          render={render}
        />
      </ListBody>
    </section>
    <Pane place={place} hint="Open a session to rename it, or to forget what was said in it.">{open && <SessionDetail session={open} />}</Pane>
    </>
  );
}
