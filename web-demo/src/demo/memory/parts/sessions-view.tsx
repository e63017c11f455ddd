// The list of sessions.
import { useCallback } from "preact/hooks";
import { ago } from "../../state/format.ts";
import { navigate } from "../../state/route.ts";
import { lastSaid, titleOf } from "../../state/session-words.ts";
import { SessionStory, type SessionItem } from "../generated/operations.ts";
import { useLiveList, useLoaded } from "../../common/state/hooks.ts";
import { read } from "../state/context.ts";
import { sessionList } from "../state/lists.ts";
import { placeHref, type Place } from "../../common/state/place.ts";
import { SessionFilters } from "./filters.tsx";
import { ListView, Row, totalText } from "./list-view.tsx";
import { SessionBadges, SessionDetail } from "./session-detail.tsx";
import { strings } from "../strings.ts";

/** A session that an action has just removed from the filtered list stays open. */
function OpenSession({ id, place, listed }: { id: string; place: Place; listed: SessionItem | undefined }) {
  const story = useLoaded(id, async () => (await read(SessionStory, { id })).session);
  const session = story.phase === "ready" ? story.value : listed;
  if (session) return <SessionDetail session={session} summary={story.phase === "ready" ? story.value?.summary : null} onDeleted={() => navigate(placeHref({ ...place, id: null }))} />;
  if (story.phase === "loading") return null;
  return <p class="soft hint">{story.phase === "failed" && story.isNotKept ? story.why : strings.session.missing}</p>;
}

export function SessionsView({ place }: { place: Place }) {
  const { list } = useLiveList(place.filters, sessionList);
  const render = useCallback((session: SessionItem, tabIndex: 0 | -1) => (
    <Row place={place} id={session.id} tabIndex={tabIndex}>
      <span class="name">{titleOf(session)}</span>
      <span class="meta"><SessionBadges session={session} /><span>{strings.facts(session.facts.totalCount ?? 0)}</span><time dateTime={lastSaid(session)}>{ago(lastSaid(session))}</time></span>
    </Row>
  ), [place]);
  return (
    <ListView
      label={strings.views.sessions} list={list} place={place} render={render} empty={strings.session.none} hint={strings.session.hint}
      head={<><SessionFilters place={place} /><p class="total" role="status">{totalText(list, "session")}{list.rows.value.length > 0 && strings.session.order}</p></>}
    >
      {place.id && <OpenSession key={place.id} id={place.id} place={place} listed={list.rows.value.find((session) => session.id === place.id)} />}
    </ListView>
  );
}
