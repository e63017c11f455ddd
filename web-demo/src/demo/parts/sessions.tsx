// The list of sessions: pinned ones first, a search, and what is archived.
import { useEffect, useRef, useState } from "preact/hooks";
import { newSession } from "../state/opening.ts";
import { memoryHref } from "../state/route.ts";
import { reportingProblems } from "../state/session-actions.ts";
import { listing, refreshSessions, sessions } from "../state/session-list.ts";
import { mayWrite } from "../state/viewer.ts";
import { focusMessageField } from "./composer.tsx";
import { Icon } from "./icon.tsx";
import { SessionRow } from "./session-row.tsx";
import { FoundSessions } from "./session-search.tsx";
import { strings } from "../strings.ts";

const words = strings.sessions;

/** A shorter list needs no search field. Ctrl+K shows it anyway. */
const SEARCHED_FROM = 8;

interface Props {
  onChoose: () => void;
  /** Shows the list on a narrow screen. */
  onOpen: () => void;
}

/** Ctrl+K or ⌘K moves the focus to the search field. */
function useSearchKey(onSearch: () => void) {
  useEffect(() => {
    const search = (event: KeyboardEvent) => {
      if (event.key !== "k" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      onSearch();
    };
    addEventListener("keydown", search);
    return () => removeEventListener("keydown", search);
  }, []);
}

export function Sessions({ onChoose, onOpen }: Props) {
  const [text, setText] = useState<string | null>(null);
  const field = useRef<HTMLInputElement>(null);
  const listed = sessions.value.filter((session) => !session.archived);
  const pinned = listed.filter((session) => session.pinned);
  const { pages, hasMore, archived } = listing.value;
  useSearchKey(() => {
    onOpen();
    setText((old) => old ?? "");
    setTimeout(() => field.current?.focus());
  });
  const rows = (shown: typeof listed) => shown.map((session) => <SessionRow key={session.id} session={session} onChoose={onChoose} />);
  const wanted = text?.trim() ?? "";
  const begin = (isShared: boolean) => {
    onChoose();
    // At once: what is typed now is for the new session.
    void newSession(isShared).then(focusMessageField);
    focusMessageField();
  };
  return (
    <nav aria-label={words.label}>
      <button type="button" class="new" onClick={() => begin(false)}><Icon name="plus" />{words.new}</button>
      {mayWrite(true) && (
        <>
          <button type="button" class="new shared" aria-describedby="about-shared" onClick={() => begin(true)}>{words.newShared}</button>
          <p id="about-shared" class="soft">{words.sharedMeans}</p>
        </>
      )}
      {(text !== null || listed.length >= SEARCHED_FROM) && (
        <input
          ref={field} type="search" aria-label={words.search} placeholder={words.search} title={words.searchKey} autocomplete="off" value={text ?? ""}
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== "Escape" || !text) return;
            event.stopPropagation();
            setText("");
          }}
        />
      )}
      {wanted ? <FoundSessions text={wanted} onChoose={onChoose} /> : (
        <>
          {pinned.length > 0 && <><p class="group">{words.pinned}</p><ul aria-label={words.pinned}>{rows(pinned)}</ul><p class="group">{words.latest}</p></>}
          <ul>{rows(listed.filter((session) => !session.pinned))}</ul>
          {hasMore && <button type="button" class="quiet" onClick={() => void reportingProblems(refreshSessions(pages + 1))}>{words.more}</button>}
          {archived > 0 && <a class="quiet" href={`${memoryHref}/sessions?archived=yes`}>{words.archived(archived)}</a>}
        </>
      )}
    </nav>
  );
}
