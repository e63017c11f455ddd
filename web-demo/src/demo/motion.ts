// Animations of lists, numbers and scrolling. They respect `prefers-reduced-motion`.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

const query = matchMedia("(prefers-reduced-motion: reduce)");
export const prefersReducedMotion = (): boolean => query.matches;

/** Animates children marked `data-flip` from their previous position (FLIP: first, last, invert, play). */
export function useFlip<T extends HTMLElement>() {
  const list = useRef<T>(null);
  const tops = useRef(new Map<string, number>());
  useLayoutEffect(() => {
    const before = tops.current;
    const after = new Map<string, number>();
    for (const child of list.current?.querySelectorAll<HTMLElement>("[data-flip]") ?? []) {
      const key = child.dataset["flip"] ?? "";
      const top = child.offsetTop;
      const from = before.get(key);
      after.set(key, top);
      if (from !== undefined && from !== top && !prefersReducedMotion()) {
        child.animate([{ transform: `translateY(${from - top}px)` }, { transform: "none" }], { duration: 420, easing: "cubic-bezier(.2,.9,.25,1)" });
      }
    }
    tops.current = after;
  });
  return list;
}

/** Animates a number to `value` within `ms` milliseconds. */
export function useAnimatedNumber(value: number, ms = 600): number {
  const [shown, setShown] = useState(value);
  const at = useRef(value);
  useEffect(() => {
    const from = at.current;
    if (from === value) return;
    if (prefersReducedMotion()) {
      at.current = value;
      return setShown(value);
    }
    const began = performance.now();
    let frame = requestAnimationFrame(function step(now) {
      const t = Math.min(1, Math.max(0, now - began) / ms);
      at.current = t === 1 ? value : from + (value - from) * (1 - (1 - t) ** 3);
      setShown(at.current);
      if (t < 1) frame = requestAnimationFrame(step);
    });
    return () => cancelAnimationFrame(frame);
  }, [value, ms]);
  return shown;
}

/**
 * Keeps a log scrolled to its end until the reader scrolls up. `box` scrolls, `content` grows.
 *
 * Only upward movement counts as scrolling up: a scroll event may arrive after the content has grown, away from the end.
 */
export function useStickToEnd<Box extends HTMLElement, Content extends HTMLElement>(startAtEnd: boolean) {
  const box = useRef<Box>(null);
  const content = useRef<Content>(null);
  useEffect(() => {
    const node = box.current;
    if (!node || !content.current) return;
    let stuck = startAtEnd;
    let top = node.scrollTop;
    const onScroll = () => {
      if (node.scrollTop < top - 1) stuck = false;
      if (node.scrollHeight - node.scrollTop - node.clientHeight < 60) stuck = true;
      top = node.scrollTop;
    };
    const resizeObserver = new ResizeObserver(() => {
      if (stuck) node.scrollTop = node.scrollHeight;
      top = node.scrollTop;
    });
    node.addEventListener("scroll", onScroll, { passive: true });
    resizeObserver.observe(node);
    resizeObserver.observe(content.current);
    return () => {
      node.removeEventListener("scroll", onScroll);
      resizeObserver.disconnect();
    };
  }, []);
  return { box, content };
}
