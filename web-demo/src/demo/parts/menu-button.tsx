// A button with a menu. The browser shows it over everything else, closes it after Escape or a click elsewhere, and returns the focus.
import { useId, useState } from "preact/hooks";
import { Icon } from "./icon.tsx";

/** Pixels between a menu and the edge of the window. */
const GAP = 4;
/** How far the arrow keys move. */
const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 };

export type MenuItem = readonly [label: string, run: () => void];

const itemsOf = (menu: HTMLElement) => [...menu.querySelectorAll("button")];

/** Places the menu below its button, within the window, and gives the focus to the first item. */
function place(menu: HTMLElement) {
  const { left, bottom } = menu.previousElementSibling?.getBoundingClientRect() ?? { left: 0, bottom: 0 };
  menu.style.left = `${Math.min(left, innerWidth - menu.offsetWidth - GAP)}px`;
  menu.style.top = `${Math.min(bottom, innerHeight - menu.offsetHeight - GAP)}px`;
  itemsOf(menu)[0]?.focus();
}

function onKeyDown(event: KeyboardEvent & { currentTarget: HTMLElement }) {
  const menu = event.currentTarget;
  const all = itemsOf(menu);
  const step = steps[event.key];
  if (event.key === "Escape" || event.key === "Tab") menu.hidePopover();
  else if (step) all.at((all.indexOf(event.target as HTMLButtonElement) + step) % all.length)?.focus();
  else return;
  event.preventDefault();
  event.stopPropagation();
}

export function MenuButton({ label, items }: { label: string; items: readonly MenuItem[] }) {
  const id = useId();
  const [isOpen, setOpen] = useState(false);
  const onBeforeToggle = ({ newState, currentTarget: menu }: { newState: string; currentTarget: HTMLElement }) => {
    if (newState !== "open") return;
    setOpen(true);
    // The menu and its items exist after this event.
    setTimeout(() => place(menu));
  };
  return (
    <>
      <button type="button" class="icon-button" aria-label={label} aria-haspopup="menu" aria-expanded={isOpen} popovertarget={id}><Icon name="more" /></button>
      <div
        id={id} class="menu-items" popover="auto" role="menu" aria-label={label}
        onKeyDown={onKeyDown} onBeforeToggle={onBeforeToggle} onToggle={(event) => setOpen(event.newState === "open")}
      >
        {isOpen && items.map(([text, run]) => <button key={text} type="button" role="menuitem" tabIndex={-1} onClick={(event) => { event.currentTarget.parentElement?.hidePopover(); run(); }}>{text}</button>)}
      </div>
    </>
  );
}
