// What the user has written and not sent, for each session. It survives a reload of the tab, and ends with a logout or with another user.
import { signal } from "@preact/signals";

type Drafts = Readonly<Record<string, string>>;
type Kept = { readonly owner: string | null; readonly drafts: Drafts };

const KEY = "recall.drafts";
/** Written before a session is open. */
const NO_SESSION = "";
/** Sent to a session that the server is creating. */
const NEW_SESSION = "new";

/** A reload ends the wait for a new session, so what was sent to it is a draft again. */
function withUnsent({ [NEW_SESSION]: unsent, ...drafts }: Drafts): Drafts {
  return unsent ? { ...drafts, [NO_SESSION]: [unsent, drafts[NO_SESSION]].filter(Boolean).join("\n") } : drafts;
}

function read(): Kept {
  try {
    const stored = JSON.parse(sessionStorage.getItem(KEY) ?? "{}") as { owner?: unknown; drafts?: unknown } | null;
    const drafts = Object.fromEntries(Object.entries(stored?.drafts ?? {}).filter(([, text]) => typeof text === "string"));
    return { owner: typeof stored?.owner === "string" ? stored.owner : null, drafts: withUnsent(drafts) };
  } catch {
    return { owner: null, drafts: {} };
  }
}

const kept = signal(read());

export const draftOf = (session: string | null): string => kept.value.drafts[session ?? NO_SESSION] ?? "";

export function setDraft(session: string | null, text: string): void {
  const { owner, drafts } = kept.peek();
  const { [session ?? NO_SESSION]: old = "", ...others } = drafts;
  if (old !== text) write({ owner, drafts: text ? { ...others, [session ?? NO_SESSION]: text } : others });
}

/** Keeps what was sent to a session that the server is creating. */
export const keepUnsent = (text: string): void => setDraft(NEW_SESSION, text);

export const clearDrafts = (): void => write({ owner: null, drafts: {} });

/** Keeps the drafts of a user, and drops those of another one who used this tab before. */
export function keepDraftsOf(owner: string): void {
  const known = kept.peek();
  if (known.owner !== owner) write({ owner, drafts: known.owner === null ? known.drafts : {} });
}

function write(changed: Kept) {
  kept.value = changed;
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
