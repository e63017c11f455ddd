// Undo at the reply to "Forget …" in the chat. The button goes when the forgetting is undone, which the reply then says, or can no longer be.
import { useEffect, useRef, useState } from "preact/hooks";
import { followForgetting, undoError, undoForgetting } from "../state/forget-undo.ts";
import type { Memory } from "../state/memory.ts";
import type { Message } from "../state/model.ts";
import { mayWrite } from "../state/viewer.ts";
import { strings } from "../strings.ts";

const doneText = (facts: number, messages: number): string => (facts + messages > 0 ? strings.chat.undoneSize(facts, messages) : strings.chat.undone);

export function UndoForgetting({ message, memory: known }: { message: Message; memory: Memory }) {
  const { id, forgetting, isUndone } = message;
  const ref = useRef<HTMLDivElement>(null);
  const [busy, setBusy] = useState(false);
  const [said, setSaid] = useState<string | null>(null);
  useEffect(() => (id && forgetting ? followForgetting(known, id, forgetting) : undefined), [known, id, forgetting?.token, forgetting?.undoUntil]);
  const isOffered = id !== null && forgetting !== null && mayWrite(known.shared);
  const text = said ?? (isUndone ? strings.chat.undone : null);
  if (!isOffered && text === null) return null;
  const undo = async () => {
    if (!id || !forgetting) return;
    setBusy(true);
    try {
      const { factCount, messageCount } = await undoForgetting(known, id, forgetting);
      setSaid(doneText(factCount, messageCount));
      ref.current?.closest<HTMLElement>("article")?.focus({ preventScroll: true });
    } catch (error) {
      const { text, isFinal } = undoError(error);
      setSaid(text);
      if (isFinal) {
        known.setForgetting(id, null);
        ref.current?.closest<HTMLElement>("article")?.focus({ preventScroll: true });
      }
    }
    setBusy(false);
  };
  return (
    <div class="undo-forgetting" ref={ref}>
      {text !== null && <p class="soft">{text}</p>}
      {isOffered && <button type="button" disabled={busy} onClick={() => void undo()}>{strings.chat.undo}</button>}
    </div>
  );
}
