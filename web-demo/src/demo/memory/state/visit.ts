// Which facts are new to the reader. A visit ends when the Memory page was away for half an hour. Until then, a reload keeps the marks.
import { signal, type ReadonlySignal } from "@preact/signals";

const KEY = "recall.memory.visit";
const AWAY_MS = 30 * 60_000;
/** While the page is in view, it stores this often that it is. */
const SEEN_EVERY_MS = 60_000;

export interface Visit {
  /** Facts that changed later are new. null: this is the first visit. */
  readonly since: string | null;
  /** When the page was last in view. */
  readonly seenAt: string;
}

/** The visit that the page is in at `now`: the one before, or a new one. */
export function continueVisit(before: Visit | null, now: Date): Visit {
  const isNew = before !== null && now.getTime() - Date.parse(before.seenAt) >= AWAY_MS;
  return { since: isNew ? before.seenAt : (before?.since ?? null), seenAt: now.toISOString() };
}

/** The visit that `text` stores. The version before stored the time of the last opening alone. null: it stores something else. */
export function parseVisit(text: string): Visit | null {
  if (/^\d{4}-/.test(text)) return { since: null, seenAt: text };
  const stored: unknown = JSON.parse(text);
  if (typeof stored !== "object" || stored === null || !("since" in stored) || !("seenAt" in stored)) return null;
  const { since, seenAt } = stored;
  return typeof seenAt === "string" && (since === null || typeof since === "string") ? { since, seenAt } : null;
}

function read(): Visit | null {
  try {
    return parseVisit(localStorage.getItem(KEY) ?? "null");
  } catch {
    // Storage is forbidden, or contains something else.
    return null;
  }
}

export class Visits {
  #visit: Visit = continueVisit(read(), new Date());
  readonly #since = signal(this.#visit.since);

  /** Facts that changed later are new. null: this is the first visit. */
  get since(): ReadonlySignal<string | null> {
    return this.#since;
  }

  /** Notices that the page is in view, and what other tabs do. Returns a function that ends this. */
  follow(): () => void {
    const see = () => { if (document.visibilityState === "visible") this.#store(continueVisit(read() ?? this.#visit, new Date())); };
    const adopt = ({ key }: StorageEvent) => { if (key === KEY) this.#show(read() ?? this.#visit); };
    see();
    const timer = setInterval(see, SEEN_EVERY_MS);
    document.addEventListener("visibilitychange", see);
    addEventListener("storage", adopt);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", see);
      removeEventListener("storage", adopt);
    };
  }

  /** `latest`: when the newest fact changed, by the clock of the server. */
  markAllSeen(latest: string): void {
    const now = new Date().toISOString();
    this.#store({ since: latest > now ? latest : now, seenAt: now });
  }

  #show(visit: Visit) {
    this.#visit = visit;
    this.#since.value = visit.since;
  }

  #store(visit: Visit) {
    this.#show(visit);
    try {
      localStorage.setItem(KEY, JSON.stringify(visit));
    } catch {
      // Storage is full or forbidden. The marks last until the page closes.
    }
  }
}
