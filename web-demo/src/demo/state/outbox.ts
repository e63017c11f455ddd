// What the server has not confirmed yet, by session and client id. Outlives the session's Memory, which goes when another is
// opened, and a reload of the page, which is what people do when a server is away.
const KEY = "recall.outbox";
type Kept = Record<string, Record<string, string>>;

const isText = (v: unknown): v is string => typeof v === "string";
const isMap = (v: unknown): v is Record<string, unknown> => typeof v === "object" && v !== null && !Array.isArray(v);

const read = (): Kept => {
  try {
    const kept: unknown = JSON.parse(sessionStorage.getItem(KEY) ?? "{}");
    return isMap(kept) && Object.values(kept).every((of) => isMap(of) && Object.values(of).every(isText)) ? (kept as Kept) : {};
  } catch {
    return {};
  }
};

let kept = read();

const write = (session: string, of: Record<string, string>) => {
  const { [session]: _, ...rest } = kept;
  kept = Object.keys(of).length > 0 ? { ...rest, [session]: of } : rest;
  try {
    sessionStorage.setItem(KEY, JSON.stringify(kept));
  } catch {
    // Without storage, or with a full one, they last as long as the page.
  }
};

/** Client ids and texts, oldest first. */
export const of = (session: string): [string, string][] => Object.entries(kept[session] ?? {});
export const add = (session: string, clientId: string, text: string): void => write(session, { ...kept[session], [clientId]: text });
export const forget = (session: string): void => write(session, {});
export const remove = (session: string, clientId: string): void => {
  const { [clientId]: gone, ...rest } = kept[session] ?? {};
  if (gone !== undefined) write(session, rest);
};
/** Whoever comes next to this browser finds nothing. */
export const forgetAll = (): void => Object.keys(kept).forEach(forget);
