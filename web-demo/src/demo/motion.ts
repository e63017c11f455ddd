// Movement: lists that slide to their new order, numbers that run to their new value. Still for those who asked for stillness.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

const query = matchMedia("(prefers-reduced-motion: reduce)");
export const still = (): boolean => query.matches;

/** Children of `list` marked `data-flip` glide from their former place (FLIP: first, last, invert, play). */
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
      if (from !== undefined && from !== top && !still()) {
        child.animate([{ transform: `translateY(${from - top}px)` }, { transform: "none" }], { duration: 420, easing: "cubic-bezier(.2,.9,.25,1)" });
      }
    }
    tops.current = after;
  });
  return list;
}

/** `value`, reached over `ms` milliseconds with a soft end. */
export function useRunning(value: number, ms = 600): number {
  const [shown, setShown] = useState(value);
  const at = useRef(value);
  useEffect(() => {
    const from = at.current;
    if (from === value) return;
    if (still()) {
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
 * Keeps a scrolling log at its end while the reader is there, and leaves them alone when they scrolled up. `box` scrolls, `content` grows.
 * `begin`: whether it starts there. Only a move upwards lets go: a scroll event that arrives after more content has grown must not look
 * like the reader's wish.
 */
export function useStickToEnd<Box extends HTMLElement, Content extends HTMLElement>(begin: boolean) {
  const box = useRef<Box>(null);
  const content = useRef<Content>(null);
  useEffect(() => {
    const node = box.current;
    if (!node || !content.current) return;
    let stuck = begin;
    let top = node.scrollTop;
    const scrolled = () => {
      if (node.scrollTop < top - 1) stuck = false;
      if (node.scrollHeight - node.scrollTop - node.clientHeight < 60) stuck = true;
      top = node.scrollTop;
    };
    const grown = new ResizeObserver(() => {
      if (stuck) node.scrollTop = node.scrollHeight;
      top = node.scrollTop;
    });
    node.addEventListener("scroll", scrolled, { passive: true });
    grown.observe(node);
    grown.observe(content.current);
    return () => {
      node.removeEventListener("scroll", scrolled);
      grown.disconnect();
    };
  }, []);
  return { box, content };
}
