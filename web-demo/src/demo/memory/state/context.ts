// What the parts of the Memory page share. The page creates it, so that nothing outlives the page.
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { createMemoryContext, type MemoryContext } from "../../common/state/context.ts";
import { factsAndMessages } from "../../common/state/words.ts";
import { memory } from "../../state/current-session.ts";
import { client } from "../../state/login.ts";
import { knownAt, read } from "../../state/offline.ts";
import { handleError, problem } from "../../state/problem.ts";
import { refreshSessions, sessions } from "../../state/session-list.ts";
import { mayWrite } from "../../state/viewer.ts";
import { Steering } from "./steering.ts";
import { UndoList } from "./undo.ts";

export interface MemoryPage extends MemoryContext {
  readonly undo: UndoList;
  readonly steer: Steering;
}

export function createMemoryPage(): MemoryPage {
  const context = createMemoryContext();
  const changed = () => { context.version.value += 1; };
  const undo = new UndoList(async (token) => {
    const { factCount, messageCount } = await client.undoForget(token);
    changed();
    return `Restored: ${factsAndMessages(factCount, messageCount)}.`;
  });
  const steer = new Steering({ client, undo, changed: () => { changed(); void refreshSessions().catch(() => {}); } });
  return { ...context, undo, steer };
}

const Context = createContext<MemoryPage | null>(null);
export const MemoryPageProvider = Context.Provider;

export function useMemoryPage(): MemoryPage {
  const page = useContext(Context);
  if (!page) throw new Error("This part belongs on the Memory page.");
  return page;
}

/** Whether the reader can change own or shared memory now: without the server, the page shows copies. */
export const mayChange = (shared: boolean): boolean => knownAt.value === null && mayWrite(shared);

export { client, handleError, mayWrite, memory, problem, read, sessions };
