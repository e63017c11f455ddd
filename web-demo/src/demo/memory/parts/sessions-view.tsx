// The list of sessions.
import { useCallback } from "preact/hooks";
import { ago } from "../../state/format.ts";
import type { SessionItem } from "../generated/operations.ts";
import { useLiveList } from "../state/hooks.ts";
import { sessionList } from "../state/lists.ts";
import type { Place } from "../state/place.ts";
import { manyOf } from "../state/words.ts";
import { ListView, Row, totalText } from "./list-view.tsx";
import { SessionDetail, titleOf } from "./session-detail.tsx";

export function SessionsView({ place }: { place: Place }) {
  const { list } = useLiveList(place.filters, sessionList);
  const open = list.rows.value.find((session) => session.id === place.id);
  const render = useCallback((session: SessionItem, tabIndex: 0 | -1) => (
    <Row place={place} id={session.id} tabIndex={tabIndex}>
      <span class="name">{titleOf(session)}</span>
      <span class="meta">{session.shared && <span class="badge">shared</span>}<span>{manyOf(session.facts.totalCount ?? 0, "fact")}</span><time dateTime={session.updatedAt}>{ago(session.updatedAt)}</time></span>
    </Row>
  ), [place]);
  return (
    <ListView
      label="Sessions" list={list} place={place} render={render} empty="There is no session yet." hint="Open a session to rename it, or to forget what was said in it."
      head={<p class="total" role="status">{totalText(list, "session")}{list.rows.value.length > 0 && ", latest change first"}</p>}
    >
      {open && <SessionDetail session={open} />}
    </ListView>
  );
}
