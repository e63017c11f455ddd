// Which rows of a long list exist in the document.

/** Rows outside the visible part that exist, too, on each side. Scrolling then shows no gap. */
const OVERSCAN = 8;

/** Indexes of the rows to render: those in view with some on each side, and the one with the focus. */
export function visibleIndexes({ top, height, rowHeight, count, focused }: { top: number; height: number; rowHeight: number; count: number; focused: number }): number[] {
  const first = Math.max(0, Math.floor(top / rowHeight) - OVERSCAN);
  const last = Math.min(count - 1, Math.ceil((top + height) / rowHeight) + OVERSCAN);
  const indexes = Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => first + i);
  if (focused >= 0 && focused < first) indexes.unshift(focused);
  if (focused > last && focused < count) indexes.push(focused);
  return indexes;
}
