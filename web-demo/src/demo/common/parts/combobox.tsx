// A text field with suggestions: the ARIA pattern "combobox with list autocomplete".
import { useEffect, useId, useState } from "preact/hooks";
import { useSettled } from "../state/hooks.ts";
import { strings } from "../strings.ts";

export interface Option<T> {
  key: string;
  label: string;
  hint?: string;
  value: T;
}

interface Props<T> {
  label: string;
  text: string;
  placeholder?: string;
  hideLabel?: boolean;
  required?: boolean;
  /** Gets the focus when its dialog opens. */
  first?: boolean;
  onText: (text: string) => void;
  onChoose: (option: Option<T>) => void;
  find: (text: string) => Promise<ReadonlyArray<Option<T>>>;
}

const TYPING_PAUSE_MS = 120;

/** The `ref` of a field that opens with an old value, which the first key replaces. */
export const selectText = (field: HTMLInputElement | null): void => field?.select();

export function Combobox<T>({ label, text, placeholder, hideLabel = false, required = false, first = false, onText, onChoose, find }: Props<T>) {
  const id = useId();
  const [open, setOpen] = useState(false);
  const [options, setOptions] = useState<ReadonlyArray<Option<T>>>([]);
  const [at, setAt] = useState(-1);
  const wanted = useSettled(text, TYPING_PAUSE_MS);
  useEffect(() => {
    // Wait for a pause in typing: another list would move under the reader's choice.
    if (!open || wanted !== text) return;
    let stale = false;
    find(wanted.trim()).then((found) => { if (!stale) { setOptions(found); setAt(-1); } }, () => { if (!stale) setOptions([]); });
    return () => { stale = true; };
  }, [wanted, open]);

  useEffect(() => { if (at >= 0) document.getElementById(`${id}-${at}`)?.scrollIntoView({ block: "nearest" }); }, [at]);

  const choose = (option: Option<T>) => {
    onChoose(option);
    setOpen(false);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (!open) return setOpen(true);
      const step = event.key === "ArrowDown" ? 1 : -1;
      setAt((old) => (options.length === 0 ? -1 : (Math.max(old, step > 0 ? -1 : 0) + step + options.length) % options.length));
    } else if (event.key === "Enter" && open && options[at]) {
      event.preventDefault();
      choose(options[at]);
    } else if (event.key === "Escape" && open) {
      // Close the suggestions only, not the dialog around the field.
      event.preventDefault();
      event.stopPropagation();
      setOpen(false);
    }
  };
  const listed = open && options.length > 0;
  return (
    <div class="combobox">
      <label class={hideLabel ? "unseen" : undefined} for={id}>{label}</label>
      <input
        ref={first ? selectText : null} id={id} type="text" role="combobox" autocomplete="off" autocapitalize="none" spellcheck={false} required={required} autofocus={first} value={text} placeholder={placeholder}
        aria-expanded={listed} aria-controls={`${id}-options`} aria-autocomplete="list" aria-activedescendant={listed && at >= 0 ? `${id}-${at}` : undefined}
        onInput={(event) => { onText(event.currentTarget.value); setOpen(true); setAt(-1); }} onKeyDown={onKeyDown} onBlur={() => setOpen(false)}
      />
      {/* The field keeps the focus: without it, the list would close before the click. A finger that scrolls the list clicks nothing. */}
      <ul id={`${id}-options`} role="listbox" aria-label={strings.suggestions(label)} hidden={!listed} onMouseDown={(event) => event.preventDefault()}>
        {options.map((option, index) => (
          <li key={option.key} id={`${id}-${index}`} role="option" aria-selected={index === at} onClick={() => choose(option)}>
            <span>{option.label}</span>{option.hint && <small>{option.hint}</small>}
          </li>
        ))}
      </ul>
    </div>
  );
}
