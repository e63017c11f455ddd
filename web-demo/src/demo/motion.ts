// Animations of lists, numbers and scrolling. They respect `prefers-reduced-motion`.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

const query = matchMedia("(prefers-reduced-motion: reduce)");
export const prefersReducedMotion = (): boolean => query.matches;

/** Longer lists move without animation: a new first item moves all others. */
const MAX_FLIPPED = 100;

/** Animates children marked `data-flip` from their previous position (FLIP: first, last, invert, play). */
export function useFlip<T extends HTMLElement>() {
  const list = useRef<T>(null);
  const tops = useRef(new Map<string, number>());
  useLayoutEffect(() => {
    const before = tops.current;
    const after = new Map<string, number>();
    const children = list.current?.querySelectorAll<HTMLElement>("[data-flip]") ?? [];
    for (const child of children.length <= MAX_FLIPPED ? children : []) {
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

interface LogChanges {
  /** Changes with each change of the content. */
  readonly version: number;
  /** Grows when the reader adds to the log. The reader then sees its end, wherever the log was. */
  readonly added: number;
}

/**
 * Keeps a log scrolled to its end until the reader scrolls up. `box` scrolls, `content` grows and shrinks.
 *
 * Only upward movement in unchanged or longer content counts as scrolling up: the browser also moves the log when its content becomes
 * shorter, and a scroll event may arrive after the content has grown, away from the end.
 */
export function useStickToEnd<Box extends HTMLElement, Content extends HTMLElement>(startAtEnd: boolean, { version, added }: LogChanges) {
  const box = useRef<Box>(null);
  const content = useRef<Content>(null);
  const at = useRef({ stuck: startAtEnd, top: 0, height: 0, added });
  const keepEnd = () => {
    const node = box.current;
    if (!node) return;
    if (at.current.stuck) node.scrollTop = node.scrollHeight;
    at.current.top = node.scrollTop;
    at.current.height = node.scrollHeight;
  };
  useLayoutEffect(() => {
    if (at.current.added !== added) at.current.stuck = true;
    at.current.added = added;
    keepEnd();
  }, [version, added]);
  useEffect(() => {
    const node = box.current;
    if (!node || !content.current) return;
    const onScroll = () => {
      if (node.scrollTop < at.current.top - 1 && node.scrollHeight >= at.current.height) at.current.stuck = false;
      if (node.scrollHeight - node.scrollTop - node.clientHeight < 60) at.current.stuck = true;
      at.current.top = node.scrollTop;
      at.current.height = node.scrollHeight;
    };
    const resizeObserver = new ResizeObserver(keepEnd);
    node.addEventListener("scroll", onScroll, { passive: true });
    resizeObserver.observe(node);
    resizeObserver.observe(content.current);
    return () => {
      node.removeEventListener("scroll", onScroll);
      resizeObserver.disconnect();
    };
  }, []);
  /** The log is about to scroll to another place. */
  const leaveEnd = () => { at.current.stuck = false; };
  return { box, content, leaveEnd };
}
