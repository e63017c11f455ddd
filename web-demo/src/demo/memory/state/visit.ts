// When the user last opened the Memory page. Facts that changed since are marked as new.
const KEY = "recall.memory.visit";

/** Returns the time of the previous visit, and stores the time of this one. null: this is the first. */
export function beginVisit(now = new Date().toISOString()): string | null {
  try {
    const previous = localStorage.getItem(KEY);
    localStorage.setItem(KEY, now);
    return previous;
  } catch {
    // Storage is forbidden. Every visit is then the first.
    return null;
  }
}
