// The message field. Enter sends, Shift+Enter inserts a line break, "/" moves the focus here.
import { useEffect, useRef, useState } from "preact/hooks";
import { connection, memory } from "../state/current-session.ts";
import { send } from "../state/outgoing.ts";
import { mayWrite } from "../state/viewer.ts";
import { Hints } from "./hints.tsx";
import { Icon } from "./icon.tsx";
import { SessionNotice } from "./session-notice.tsx";

export function Composer() {
  const [text, setText] = useState("");
  const field = useRef<HTMLTextAreaElement>(null);
  const known = memory.value;
  void known?.version.value;

  useEffect(() => {
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

  const submit = () => {
    // Read the field, because the state may not yet contain the last letters.
    const trimmed = (field.current?.value ?? "").trim();
    if (!trimmed || !known) return;
    setText("");
    void send(trimmed);
    field.current?.focus();
  };
  if (known && !mayWrite(known.shared)) return <p class="composer soft">This is a shared session. Only administrators can write here.</p>;
  return (
    <>
    {/* Outside the form, so that the field does not move when it appears. */}
    <div class="above-composer">
      <SessionNotice />
      {known && known.messages.size > 0 && <Hints />}
    </div>
    <form class="composer" onSubmit={(event) => { event.preventDefault(); submit(); }}>
      <div class="field">
        <textarea
          ref={field} rows={1} value={text} maxLength={16000} aria-label="Message" placeholder={connection.value?.phase === "paused" ? "The line is cut, sending still works" : "Tell something, or ask"}
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
            event.preventDefault();
            submit();
          }}
        />
        <button type="submit" aria-label="Send" disabled={text.trim() === ""}><span>Send</span><Icon name="send" /></button>
      </div>
    </form>
    </>
  );
}
