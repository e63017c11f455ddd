// What the reader just did, with a button that takes it back.
import { useEffect, useRef, useState } from "preact/hooks";
import { Icon } from "../../parts/icon.tsx";
import { LONGEST_WAIT_MS, undoError } from "../../state/forget-undo.ts";
import { knownAt } from "../../state/offline.ts";
import { useMemoryPage } from "../state/context.ts";
import type { Undoable } from "../state/undo.ts";
import { strings } from "../strings.ts";

function Item({ item }: { item: Undoable }) {
  const { undo } = useMemoryPage();
  const [state, setState] = useState<{ busy: boolean; error: string | null }>({ busy: false, error: null });
  const takeBack = async () => {
    setState({ busy: true, error: null });
    try {
      const text = await item.undo();
      undo.remove(item.key);
      undo.add(text);
    } catch (error) {
      const { text, isFinal } = undoError(error);
      if (!isFinal) return setState({ busy: false, error: text });
      undo.remove(item.key);
      undo.add(text);
    }
  };
  useEffect(() => {
    if (item.until === null) return;
    const timer = setTimeout(() => undo.remove(item.key), Math.min(Math.max(item.until - Date.now(), 0), LONGEST_WAIT_MS));
    return () => clearTimeout(timer);
  }, [item.key, item.until]);
  return (
    <li>
      <span>{state.error ?? item.text}</span>
      {item.label && !state.error && <button type="button" class="undo" disabled={state.busy || knownAt.value !== null} onClick={() => void takeBack()}>{item.label}</button>}
      {item.link && <a class="undo" href={item.link.href}>{item.link.label}</a>}
      <button type="button" class="icon-button" aria-label={strings.undo.dismiss} onClick={() => undo.remove(item.key)}><Icon name="close" /></button>
    </li>
  );
}

export function UndoBar() {
  const { undo } = useMemoryPage();
  const items = undo.items.value;
  const hadFocus = useRef(false);
  // What had the focus is gone with its item. The next item gets it, or what is shown: on a phone, details hide the list.
  useEffect(() => {
    if (!hadFocus.current) return;
    for (const next of [".undo-bar :is(a, button)", '.memory-page [data-row][tabindex="0"]', "#main"]) {
      if (document.activeElement !== document.body) return;
      hadFocus.current = false;
      document.querySelector<HTMLElement>(next)?.focus();
    }
  }, [items]);
  const onFocusOut = ({ relatedTarget }: FocusEvent) => { hadFocus.current = relatedTarget === null; };
  return <ul onFocusIn={() => { hadFocus.current = true; }} onFocusOut={onFocusOut} class="undo-bar" role="list" aria-live="polite" aria-label={strings.undo.label}>{items.map((item) => <Item key={item.key} item={item} />)}</ul>;
}
