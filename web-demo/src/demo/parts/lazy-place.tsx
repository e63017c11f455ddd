// Loads the code of a place when it is first opened.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { reportProblem } from "../state/problem.ts";

type Page<Props> = (props: Props) => JSX.Element;

function LazyPlace<Props extends object>({ name, load, props }: { name: string; load: () => Promise<Page<Props>>; props: Props }) {
  const [loaded, setLoaded] = useState<{ Page: Page<Props> } | "failed" | null>(null);
  const start = () => {
    setLoaded(null);
    load().then((Page) => setLoaded({ Page }), () => setLoaded("failed"));
  };
  useEffect(start, []);
  if (loaded && loaded !== "failed") return <loaded.Page {...props} />;
  return (
    <main id="main" tabIndex={-1} aria-busy={loaded === null}>
      {loaded === "failed" && <p class="trouble">{name} could not be loaded. <button type="button" onClick={start}>Try again</button></p>}
    </main>
  );
}

const loadMemory = async () => (await import("../memory/page.tsx")).MemoryPage;
export const MemoryPlace = (props: { rest: string }) => <LazyPlace name="The Memory page" load={loadMemory} props={props} />;

/** Asks before a message of the chat is removed, with the code of the Memory page. */
export function MessageRemoval({ id, onClose }: { id: string | null; onClose: () => void }) {
  const [page, setPage] = useState<typeof import("../memory/page.tsx") | null>(null);
  useEffect(() => {
    if (id && !page) import("../memory/page.tsx").then(setPage, (error: unknown) => { onClose(); reportProblem(error); });
  }, [id]);
  return page && <page.MessageRemoval id={id} onClose={onClose} />;
}

const loadGraph = async () => (await import("../graph/page.tsx")).GraphPage;
export const GraphPlace = (props: { rest: string }) => <LazyPlace name="The graph" load={loadGraph} props={props} />;

const loadSettings = async () => (await import("../settings/page.tsx")).SettingsPage;
export const SettingsPlace = (props: { section: string }) => <LazyPlace name="The settings" load={loadSettings} props={props} />;
