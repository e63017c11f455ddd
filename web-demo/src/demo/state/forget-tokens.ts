// Tokens that undo a forgetting. They survive a page reload, because the server keeps what was forgotten for some minutes.
export interface ForgetToken {
  token: string;
  /** Counts only: what was forgotten is not stored. */
  text: string;
  /** When the server deletes what was forgotten, in milliseconds since 1970. */
  until: number;
}

const KEY = "recall.forgotten";

const isToken = (t: unknown): t is ForgetToken =>
  typeof t === "object" && t !== null && "token" in t && "text" in t && "until" in t && typeof t.token === "string" && typeof t.text === "string" && typeof t.until === "number";

export function readTokens(): ForgetToken[] {
  try {
    const stored: unknown = JSON.parse(sessionStorage.getItem(KEY) ?? "[]");
    return Array.isArray(stored) ? stored.filter(isToken) : [];
  } catch {
    return [];
  }
}

export function writeTokens(tokens: readonly ForgetToken[]): void {
  try {
    sessionStorage.setItem(KEY, JSON.stringify(tokens));
  } catch {
    // Storage is full or forbidden. The tokens last until the page closes.
  }
}
