// Loads the code of a place when it is first opened.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";

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

const loadGraph = async () => (await import("../graph/page.tsx")).GraphPage;
export const GraphPlace = (props: { rest: string }) => <LazyPlace name="The graph" load={loadGraph} props={props} />;

const loadSettings = async () => (await import("../settings/page.tsx")).SettingsPage;
export const SettingsPlace = (props: { section: string }) => <LazyPlace name="The settings" load={loadSettings} props={props} />;
