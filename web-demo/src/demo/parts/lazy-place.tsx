// Loads the code of a place when it is first opened.
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { problem } from "../state/problem.ts";
import { useCode } from "./use-code.ts";
import { strings } from "../strings.ts";

type Page<Props> = (props: Props) => JSX.Element;

function LazyPlace<Props extends object>({ name, load, props }: { name: string; load: () => Promise<{ Page: Page<Props> }>; props: Props }) {
  const { code, failed, retry } = useCode(load);
  if (code) return <code.Page {...props} />;
  return (
    <main id="main" tabIndex={-1} aria-busy={!failed}>
      {failed && <p class="trouble">{strings.notLoaded(name)}<button type="button" onClick={retry}>{strings.tryAgain}</button></p>}
    </main>
  );
}

const loadMemory = async () => ({ Page: (await import("../memory/page.tsx")).MemoryPage });
export const MemoryPlace = (props: { rest: string }) => <LazyPlace name={strings.page.memoryPage} load={loadMemory} props={props} />;

const loadRemoval = () => import("../memory/page.tsx");

/** Asks before a message of the chat is removed, with the code of the Memory page. */
export function MessageRemoval({ id, onClose }: { id: string | null; onClose: () => void }) {
  const { code, failed } = useCode(loadRemoval, id !== null);
  useEffect(() => {
    if (!failed || id === null) return;
    onClose();
    problem.value = strings.page.dialogFailed;
  }, [failed, id]);
  return code && <code.MessageRemoval id={id} onClose={onClose} />;
}

const loadGraph = async () => ({ Page: (await import("../graph/page.tsx")).GraphPage });
export const GraphPlace = (props: { rest: string }) => <LazyPlace name={strings.page.graph} load={loadGraph} props={props} />;

const loadSettings = async () => ({ Page: (await import("../settings/page.tsx")).SettingsPage });
export const SettingsPlace = (props: { section: string }) => <LazyPlace name={strings.page.settings} load={loadSettings} props={props} />;

const loadSessionGraph = () => import("../session-graph/graph.tsx");

/** The graph of the open session. Its place stays empty until the code is there. */
export function SessionGraph() {
  const { code, failed, retry } = useCode(loadSessionGraph);
  if (code) return <code.Graph />;
  return (
    <section class="graph" aria-label={strings.page.sessionGraph} aria-busy={!failed}>
      {failed && <p class="trouble">{strings.notLoaded(strings.page.graph)}<button type="button" onClick={retry}>{strings.tryAgain}</button></p>}
    </section>
  );
}
