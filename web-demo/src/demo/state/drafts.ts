// What the user has written and not sent, for each session. It survives a reload of the tab, and ends with a logout.
import { signal } from "@preact/signals";

type Drafts = Readonly<Record<string, string>>;

const KEY = "recall.drafts";
/** Written before a session is open. */
const NO_SESSION = "";

function read(): Drafts {
  try {
    const stored: unknown = JSON.parse(sessionStorage.getItem(KEY) ?? "{}");
    return Object.fromEntries(Object.entries(stored ?? {}).filter(([, text]) => typeof text === "string"));
  } catch {
    return {};
  }
}

const drafts = signal(read());

export const draftOf = (session: string | null): string => drafts.value[session ?? NO_SESSION] ?? "";

export function setDraft(session: string | null, text: string): void {
  const { [session ?? NO_SESSION]: old = "", ...others } = drafts.peek();
  if (old !== text) write(text ? { ...others, [session ?? NO_SESSION]: text } : others);
}

export const clearDrafts = (): void => write({});

function write(changed: Drafts) {
  drafts.value = changed;
  try {
    sessionStorage.setItem(KEY, JSON.stringify(changed));
  } catch {
    // Storage is full or forbidden. The drafts last until the page closes.
  }
}

/** Gives a session what was written before any was open. */
export function adoptEarlyDraft(session: string): void {
  const early = draftOf(null);
  if (!early) return;
  setDraft(null, "");
  setDraft(session, [draftOf(session), early].filter(Boolean).join(" "));
}
