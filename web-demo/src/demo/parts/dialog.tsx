// A modal dialog. The browser keeps the focus inside and returns it afterwards.
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { Icon } from "./icon.tsx";
import { strings } from "../strings.ts";

export function Dialog({ title, onClose, children }: { title: string; onClose: () => void; children: ComponentChildren }) {
  const ref = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => {
    const dialog = ref.current;
    if (!dialog) return;
    const opener = document.activeElement;
    dialog.showModal();
    return () => {
      dialog.close();
      // The opener may have been replaced by a reload of the list.
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus();
    };
  }, []);
  return (
    <dialog ref={ref} class="dialog" aria-labelledby={heading} onCancel={(event) => { event.preventDefault(); onClose(); }}>
      <h2 id={heading}>{title}</h2>
      <button type="button" class="icon-button close" aria-label={strings.close} onClick={onClose}><Icon name="close" /></button>
      {children}
    </dialog>
  );
}

export const Trouble = ({ text }: { text: string | null }) => <p class="trouble" role="alert">{text}</p>;
