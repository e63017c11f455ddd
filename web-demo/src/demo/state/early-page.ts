// The page that index.html shows until the script has loaded: the empty chat, an entity without the message field, or the header alone in other places.
// theme.js chooses by `data-early`.
// If this browser saw the login page last, nothing is shown until the server has told who the user is.
import { draftOf, setDraft } from "./drafts.ts";

const LOGIN_KEY = "recall.login";

/** The link of the header that keeps the focus it had in the early page. */
let focusedLink: HTMLElement | null = null;
/** Whether the user has moved to a link before the script ran and is still there. The message field then takes no focus. */
export const isFocusKept = (): boolean => focusedLink !== null;

function focusLink(link: HTMLElement) {
  focusedLink = link;
  link.focus();
  link.addEventListener("blur", () => { focusedLink = null; }, { once: true });
}

/** Removes the early page, and keeps what was typed as a draft. Returns a function that gives the focus back after the application was drawn. */
export function takeOverEarlyPage(root: HTMLElement): () => void {
  const field = root.querySelector<HTMLTextAreaElement>(".early textarea");
  const typed = field?.value ?? "";
  if (typed) setDraft(null, [draftOf(null), typed].filter(Boolean).join("\n"));
  const had = field && document.activeElement === field ? { fromEnd: [field.selectionStart - typed.length, field.selectionEnd - typed.length] as const } : null;
  const link = document.activeElement?.closest<HTMLAnchorElement>(".early a") ?? null;
  root.replaceChildren();
  return () => {
    // Two links lead to the start.
    const sameLink = link && [...root.querySelectorAll<HTMLAnchorElement>("header a")].find((one) => one.href === link.href && one.textContent === link.textContent);
    if (sameLink) return focusLink(sameLink);
    const next = had && root.querySelector<HTMLTextAreaElement>(".composer textarea");
    if (!next) return;
    next.focus();
    const [start, end] = had.fromEnd;
    next.setSelectionRange(next.value.length + start, next.value.length + end);
  };
}

/** The server has answered who the user is, or did not answer. */
export const showPage = (): void => { delete document.documentElement.dataset["early"]; };

/** Remembers whether the page begins with a login here. */
export function rememberLogin(isNeeded: boolean): void {
  try {
    if (isNeeded) localStorage.setItem(LOGIN_KEY, "");
    else localStorage.removeItem(LOGIN_KEY);
  } catch {
    // Storage is full or forbidden.
  }
}
