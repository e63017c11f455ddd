// The message field. Enter sends, Shift+Enter inserts a line break, "/" moves the focus here.
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { awaited, connection, memory, wantedMessage, writtenTo } from "../state/current-session.ts";
import { adoptEarlyDraft, draftOf, setDraft } from "../state/drafts.ts";
import { isFocusKept } from "../state/early-page.ts";
import { early, send } from "../state/outgoing.ts";
import { sessions } from "../state/session-list.ts";
import { mayWrite } from "../state/viewer.ts";
import { Hints } from "./hints.tsx";
import { Icon } from "./icon.tsx";
import { SessionNotice, SharedNotice } from "./session-notice.tsx";
import { lengthOf, TooLong } from "./too-long.tsx";
import { strings } from "../strings.ts";

const words = strings.composer;

/** The server takes 64 KiB, and a character has up to 4 bytes. */
const MOST_CHARACTERS = 16_000;

/** Moves the focus to the message field, unless this would open a keyboard on the screen. */
export function focusMessageField(): void {
  if (matchMedia("(pointer: fine)").matches) document.querySelector<HTMLElement>(".composer textarea")?.focus();
}

/** Moves the focus from the message field to what was answered, without a way through the messages or the graph. */
const focusLastAnswer = () => [...document.querySelectorAll<HTMLElement>(".message.assistant")].at(-1)?.focus();

/** What the user may do in the session that the field belongs to. The page may still show the one before. */
function rights(): { maySend: boolean; isReadOnly: boolean } {
  const [wanted, open] = [awaited.value, memory.value];
  if (!wanted) return { maySend: open !== null, isReadOnly: open !== null && !mayWrite(open.shared) };
  const listed = sessions.value.find(({ id }) => id === wanted.id);
  return { maySend: wanted.isNew !== null || (open !== null && listed !== undefined), isReadOnly: listed !== undefined && !mayWrite(listed.shared) };
}

export function Composer() {
  const id = writtenTo.value;
  const text = draftOf(id);
  const field = useRef<HTMLTextAreaElement>(null);
  const known = memory.value;
  void known?.version.value;

  useLayoutEffect(() => { if (id) adoptEarlyDraft(id); }, [id]);
  useEffect(() => {
    // A message to show gets the focus itself.
    if (wantedMessage.value === null && !isFocusKept()) focusMessageField();
    const focusField = (event: KeyboardEvent) => {
      const typing = event.target instanceof HTMLElement && event.target.closest("input, textarea, [contenteditable]");
      if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      field.current?.focus();
    };
    addEventListener("keydown", focusField);
    return () => removeEventListener("keydown", focusField);
  }, []);
  useEffect(() => {
    const node = field.current;
    if (!node) return;
    node.style.height = "auto";
    node.style.height = `${Math.min(node.scrollHeight, 180)}px`;
  }, [text]);

  const length = lengthOf(text.trim(), MOST_CHARACTERS);
  const submit = () => {
    // Read the field, because the state may not yet contain the last letters.
    const trimmed = (field.current?.value ?? "").trim();
    if (!trimmed || !rights().maySend || lengthOf(trimmed, MOST_CHARACTERS) > MOST_CHARACTERS) return;
    setDraft(id, "");
    void send(trimmed);
    field.current?.focus();
  };
  const isTooLong = length > MOST_CHARACTERS;
  if (rights().isReadOnly) return <div class="composer soft"><SharedNotice /><p>{words.readOnly}</p></div>;
  return (
    <>
    {/* Outside the form, so that the field does not move when it appears. */}
    <div class="above-composer">
      <SessionNotice />
      {early.value.length > 0 && <p class="soft" role="status">{words.sentLater}</p>}
      {known && known.messages.size > 0 && <Hints />}
      {isTooLong && <TooLong id="too-long" noun={words.noun} most={MOST_CHARACTERS} length={length} advice={words.shorten} />}
    </div>
    <form class="composer" onSubmit={(event) => { event.preventDefault(); submit(); }}>
      <div class="field">
        <textarea
          ref={field} rows={1} value={text} aria-label={words.label} aria-invalid={isTooLong} aria-describedby={isTooLong ? "too-long" : undefined}
          placeholder={connection.value?.phase === "paused" ? words.hintCut : words.hint}
          onInput={(event) => setDraft(id, event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
            event.preventDefault();
            submit();
          }}
        />
        <button type="submit" aria-label={words.send} disabled={length === 0 || isTooLong}><span>{words.send}</span><Icon name="send" /></button>
      </div>
      {known && [...known.messages.values()].some(({ role }) => role === "assistant") && <button type="button" class="skip" onClick={focusLastAnswer}>{words.lastAnswer}</button>}
    </form>
    </>
  );
}
