// A list of any length with rows of one height. Only rows in view exist in the document.
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { visibleIndexes } from "../state/visible-range.ts";

/** The next page loads when fewer rows than this are left below. */
const ROWS_AHEAD = 60;

/** Must be the same function as long as rows look the same. The control with `data-row` gets the focus; `tabIndex` is 0 for one row only. */
export type RenderRow<Row> = (row: Row, tabIndex: 0 | -1) => ComponentChildren;

interface Props<Row> {
  label: string;
  rows: readonly Row[];
  /** Length of the whole list, loaded or not. */
  total: number | null;
  /** Another value is another list: it begins at its first row. */
  source?: unknown;
  render: RenderRow<Row>;
  onNearEnd: () => void;
  /** Depth of a row in a nested list, from 1. */
  levelOf?: ((row: Row) => number) | undefined;
  /** Space on the focused row. */
  onSelect?: ((row: Row) => void) | undefined;
}

/** Renders a row again only if it changed: scrolling costs the new rows only. */
function RowContent<Row extends { id: string }>({ row, tabIndex, render }: { row: Row; tabIndex: 0 | -1; render: RenderRow<Row> }) {
  return useMemo(() => <>{render(row, tabIndex)}</>, [row, tabIndex, render]);
}

/** Follows the scroll position and size of a box. Renders again only if other rows come into view. */
function useViewport(rowHeight: number) {
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 800 });
  useLayoutEffect(() => {
    const node = box.current;
    if (!node) return;
    const follow = () => setView((old) => {
      const top = Math.floor(node.scrollTop / rowHeight) * rowHeight;
      return old.top === top && old.height === node.clientHeight ? old : { top, height: node.clientHeight };
    });
    follow();
    const observer = new ResizeObserver(follow);
    observer.observe(node);
    node.addEventListener("scroll", follow, { passive: true });
    return () => {
      observer.disconnect();
      node.removeEventListener("scroll", follow);
    };
  }, [rowHeight]);
  return { box, view };
}

/** The style sheet decides the height of a row, by screen size. */
function useRowHeight(): number {
  const read = () => parseFloat(getComputedStyle(document.documentElement).getPropertyValue("--memory-row")) || 56;
  const [height, setHeight] = useState(read);
  useEffect(() => {
    const follow = () => setHeight(read());
    follow();
    addEventListener("resize", follow);
    return () => removeEventListener("resize", follow);
  }, []);
  return height;
}

/** The index of the row that has the focus, or gets it. A row that had it keeps it when others come before it; one that is gone leaves it to the next. */
function useFocusedRow<Row extends { id: string }>(rows: readonly Row[]) {
  /** `id`: undefined until a row has had the focus. */
  const [active, setActive] = useState<{ id: string | undefined }>({ id: undefined });
  const last = useRef(0);
  const focused = useMemo(() => {
    const same = rows[last.current]?.id === active.id ? last.current : rows.findIndex(({ id }) => id === active.id);
    return Math.min(same < 0 ? last.current : same, rows.length - 1);
  }, [rows, active]);
  last.current = Math.max(0, focused);
  return {
    focused,
    setFocused: (index: number) => {
      const id = rows[index]?.id;
      last.current = index;
      if (id !== active.id || index !== focused) setActive({ id });
    },
    startAgain: () => {
      last.current = 0;
      setActive({ id: undefined });
    },
  };
}

const moves: Record<string, (at: number, page: number, last: number) => number> = {
  ArrowDown: (at) => at + 1, ArrowUp: (at) => at - 1,
  PageDown: (at, page) => at + page, PageUp: (at, page) => at - page,
  Home: () => 0, End: (_at, _page, last) => last,
};

export function VirtualList<Row extends { id: string }>({ label, rows, total, source, render, onNearEnd, levelOf, onSelect }: Props<Row>) {
  const rowHeight = useRowHeight();
  const { box, view } = useViewport(rowHeight);
  const { focused, setFocused, startAgain } = useFocusedRow(rows);
  const wantsFocus = useRef(false);
  const indexes = visibleIndexes({ ...view, rowHeight, count: rows.length, focused });

  useLayoutEffect(() => {
    startAgain();
    if (box.current) box.current.scrollTop = 0;
  }, [source]);

  const lastVisible = Math.ceil((view.top + view.height) / rowHeight);
  useEffect(() => { if (rows.length - lastVisible < ROWS_AHEAD) onNearEnd(); }, [rows.length, lastVisible]);

  useLayoutEffect(() => {
    if (!wantsFocus.current) return;
    wantsFocus.current = false;
    box.current?.querySelector<HTMLElement>(`[data-index="${focused}"] [data-row]`)?.focus({ preventScroll: true });
  });

  const onKeyDown = (event: KeyboardEvent) => {
    const row = rows[focused];
    if (event.key === " " && row && onSelect && (event.target as HTMLElement).matches("[data-row]")) {
      event.preventDefault();
      return onSelect(row);
    }
    const move = moves[event.key];
    const node = box.current;
    if (!move || !node || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const page = Math.max(1, Math.floor(node.clientHeight / rowHeight) - 1);
    const next = Math.max(0, Math.min(rows.length - 1, move(focused, page, rows.length - 1)));
    const [above, below] = [next * rowHeight, (next + 1) * rowHeight - node.clientHeight];
    if (node.scrollTop > above) node.scrollTop = above;
    else if (node.scrollTop < below) node.scrollTop = below;
    wantsFocus.current = true;
    setFocused(next);
  };
  const onFocusIn = (event: FocusEvent) => {
    const index = Number((event.target as HTMLElement).closest<HTMLElement>("[data-index]")?.dataset["index"] ?? focused);
    setFocused(index);
  };

  return (
    <div class="rows" ref={box} onKeyDown={onKeyDown} onFocusIn={onFocusIn}>
      <ul role="list" aria-label={label} style={{ height: `${rows.length * rowHeight}px` }}>
        {indexes.map((index) => {
          const row = rows[index];
          return row && (
            <li key={row.id} data-index={index} aria-setsize={total ?? -1} aria-posinset={index + 1} aria-level={levelOf?.(row)} style={{ height: `${rowHeight}px`, transform: `translateY(${index * rowHeight}px)` }}>
              <RowContent row={row} tabIndex={index === focused ? 0 : -1} render={render} />
            </li>
          );
        })}
      </ul>
    </div>
  );
}
