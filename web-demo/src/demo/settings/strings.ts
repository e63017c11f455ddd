// The words of the settings. Those of the activity are in state/activity-words.ts, with the data that they are about.
import type { FrontEndKind, ModelOperation, SensitiveKind, UserKind } from "@relevantic/recall";
import { count } from "../state/format.ts";
import type { DateStyle } from "../state/preferences.ts";

const HOUR = 60;
const DAY = 24 * HOUR;

/** 90 -> "90 minutes", 120 -> "2 hours", 2880 -> "2 days". */
function duration(minutes: number): string {
  if (minutes > DAY && minutes % DAY === 0) return count(minutes / DAY, "day");
  return minutes >= HOUR && minutes % HOUR === 0 ? count(minutes / HOUR, "hour") : count(minutes, "minute");
}

const kindOfText = (text: string, mark: string) => ({ text, /** What replaces the text. */ mark });

export const strings = {
  pageTitle: "Settings, Recall",
  title: "Settings",
  parts: "Parts of the settings",
  tokens: {
    title: "Access tokens",
    about: "An access token lets a script or an agent use your memory without a login. Send it with each request:",
    agent: "Or connect an agent by MCP:",
    visitor: "Visitors have no access tokens. Log in to create one.",
    noLogin: "This server has no login: scripts and agents on this machine need no token.",
    none: "There are no access tokens.",

    newToken: "New access token",
    copyNow: "Copy the token now. It is not shown again.",
    copy: "Copy",
    done: "Done",
    copied: "Copied.",
    selected: "It is selected. Copy it with the keyboard.",

    name: "Name",
    access: "Access",
    readAndWrite: "Read and write",
    readOnly: "Read only",
    expiresAfter: "Expires after",
    days: (days: number) => `${days} days`,
    create: "Create",

    /** `last`: when it was last used. */
    row: (access: "all" | "write" | "read", created: string, last: string | null, isExpired: boolean, end: string) =>
      `${{ all: "read and write", write: "write only", read: "read only" }[access]}, created ${created}, ${last === null ? "never used" : `last used ${last}`}, ${isExpired ? "expired" : "expires"} ${end}`,
    revokeName: (name: string) => `Revoke ${name}`,
    openRevoke: "Revoke…",
    revoke: "Revoke",
    revokeMeans: "The server then refuses requests with this token. This cannot be undone.",
    cancel: "Cancel",
  },
  frontEnds: {
    title: "Connected front ends",
    about: "Programs that read or write your memory, last used first. A browser or a program without a token can call itself anything.",
    ofVisitor: "The programs of visitors are not listed.",
    none: "No program is listed yet.",
    kinds: {
      LOGIN: "login in a browser", ACCESS_TOKEN: "access token", SIGNED_USER: "front end for many people, which signs your name",
      CLIENT: "program with a token of the login provider", OPEN: "program without a login",
    } satisfies Record<FrontEndKind, string>,
    /** How to disconnect each. That of a token is in parts, because it contains a link. */
    how: {
      LOGIN: "Log out there, or end the login at the login provider.",
      SIGNED_USER: "Ask the operator of this server to disconnect it.",
      CLIENT: "Withdraw its access at the login provider.",
      OPEN: "This server asks nobody who they are. Its operator can configure a login.",
    },
    revokeUnder: ["Revoke the token under ", "Access tokens", "."],
    /** Before and after the times. */
    used: (kind: string) => [`${kind}, first used `, ", last used "],
    toDisconnect: "To disconnect it: ",
  },
  usage: {
    title: "Usage",
    none: (days: number) => `No model server was used for you in the last ${days} days.`,
    total: (tokens: number, days: number) => `Model servers used ${tokens.toLocaleString()} tokens for you in the last ${days} days, without embeddings. Days are in UTC.`,
    columns: ["Day", "Purpose", "Requests", "Read", "Written"],
    purposes: { EXTRACT: "Finding facts", ANSWER: "Answers" } satisfies Record<ModelOperation, string>,
  },
  activity: {
    title: "Activity",
    about: "Logins, access tokens, changes by hand, deletions and exports, latest first. No entry contains text from a memory.",
    ofAllUsers: "Of all users",
    isRecorded: "The server records each time that you read the activity of all users.",
    by: (actor: string) => `by ${actor}`,
    refused: "This login or access token cannot read the activity. Log in again to see it.",
    refusedOfAll: "This login or access token cannot read the activity of all users. Log in as an administrator.",
    none: "Nothing is recorded yet.",
    all: (entries: number) => `These are all entries (${entries}).`,
    latest: (entries: number) => `These are the latest ${entries} entries.`,
  },
  users: {
    title: "Users",
    about: "Who has data on this server, and how much. Names and contents are not shown. Tokens are those that model servers used in the last 30 days. A click on an id copies it.",
    isRecorded: "The server records each time that you read this list.",
    refused: "This login or access token cannot read the list of users. Log in as an administrator.",
    kinds: { ACCOUNT: "Account", VISITOR: "Visitor", SHARED: "Shared memory" } satisfies Record<UserKind, string>,
    columns: { user: "User", kind: "Kind", lastActive: "Last active", sessions: "Sessions", messages: "Messages", facts: "Facts", documents: "Documents", tokens: "Tokens" },
    never: "never",
    copyId: " Copy the id",
    you: "you",
    copied: "copied",
    said: (id: string, isCopied: boolean) => `${isCopied ? "Copied" : "The id is"} ${id}.`,
    findById: "Find by id",
    all: "All",
    accounts: "Accounts",
    visitors: "Visitors",
  },
  pages: { searchOthers: "Search the others", showMore: "Show more" },
  remembering: {
    title: "Remembering",
    about: "While remembering is paused, what you write is stored and your questions are answered. But nothing is learned from your messages, and they are not found later, also after you resume.",
    pause: "Pause remembering in all sessions",
    isPaused: "Remembering is paused.",
    isOn: "Recall remembers what you write.",
    limits: "Facts that you state on the Memory page and documents are remembered in any case. One session is paused in its menu in the list of sessions.",
  },
  neverStored: {
    title: "Never stored",
    about: "This server never stores the following in messages, titles and names. A mark replaces it before anything is stored or learned.",
    none: "The operator of this server has chosen none of the kinds of text that Recall can leave out.",
    limits: "The operator of this server chooses the kinds. Documents that you upload are stored unchanged.",
    kinds: {
      CARD_NUMBER: kindOfText("Numbers of payment cards", "[card number]"),
      BANK_ACCOUNT: kindOfText("International bank account numbers (IBAN)", "[bank account]"),
      SECRET_KEY: kindOfText("API keys, access tokens, private keys, and passwords in URLs", "[secret key]"),
      PASSWORD: kindOfText("Passwords, PINs and one-time codes that the text names as such", "[password]"),
      SECURITY_NUMBER: kindOfText("Social security numbers, and similar national numbers", "[security number]"),
    } satisfies Record<SensitiveKind, ReturnType<typeof kindOfText>>,
  },
  retention: {
    title: "How long data is kept",
    deleted: "What you delete is gone at once: a session, a message, a document, a comparison, or all your data.",
    forgotten: (undoMinutes: number) => (undoMinutes > 0
      ? `What you make Recall forget is hidden at once. You can undo this for ${duration(undoMinutes)}. Then it is deleted for good.`
      : "What you make Recall forget is deleted for good at once. You cannot undo this."),
    sessions: (days: number | null) => (days === null
      ? "Sessions and documents are kept until you delete them."
      : `A session without a new message for ${count(days, "day")} is deleted, and so is a document after this time. Shared memory is kept.`),
    visit: (hours: number) => `Your visit ends ${duration(hours * HOUR)} after your last request. Its data is then deleted.`,
    activity: (days: number) => `Entries of the activity are kept for ${count(days, "day")}, also after you delete what they are about. They contain no text from a memory.`,
    limits: "The operator of this server chooses these times. Backups of the operator are not covered.",
  },
  appearance: {
    title: "Appearance",
    theme: "Theme",
    themes: { system: "Like the system", light: "Light", dark: "Dark" },
    dates: "Dates",
    dateStyles: { system: "Like the browser", "en-GB": "British English", "en-US": "American English", "de-DE": "German", "fr-FR": "French", iso: "ISO 8601" } satisfies Record<DateStyle, string>,
    dateStyle: (name: string, example: string) => `${name}: ${example}`,
  },
  data: { title: "Your data", exportOrDelete: ["Export everything that Recall knows of you, or delete it: ", "Your data", " in Memory."] },
  connection: {
    title: "Connection",
    about: "Events of the open session arrive in a stream. After an interruption it resumes after its cursor.",
    unreachable: "The server cannot be reached, so there is no event stream.",
    noSession: "No session is open, so there is no event stream.",
    rows: {
      state: "State", transport: "Transport", roundTrip: "Round trip", delay: "Delay of the last event", session: "Session", cursor: "Cursor", replayed: "Replayed events", failed: "Failed attempts",
      lastEnd: "Last end",
    },
    none: "none",
    isCut: "The line is cut. Recall goes on, but this page does not see it.",
    mayCut: "Cut the line, and the page sees nothing new. Restore it, and the page replays what it missed.",
    restore: "Restore the line",
    cut: "Cut the line",
    noEvents: "No event has arrived yet. Say something in the session, here or elsewhere.",
    events: (events: number) => `Last ${events} events, latest first`,
    columns: ["Number", "Kind", "Bytes", "Delay"],
    replayed: "replayed",
  },
};
