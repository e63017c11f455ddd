// Loads the Memory page when it is first opened.
import { useEffect, useState } from "preact/hooks";

type Loaded = typeof import("../memory/page.tsx");

export function MemoryPlace({ rest }: { rest: string }) {
  const [loaded, setLoaded] = useState<Loaded | "failed" | null>(null);
  const load = () => {
    setLoaded(null);
    import("../memory/page.tsx").then(setLoaded, () => setLoaded("failed"));
  };
  useEffect(load, []);
  if (loaded && loaded !== "failed") return <loaded.MemoryPage rest={rest} />;
  return (
    <main id="main" tabIndex={-1} aria-busy={loaded === null}>
      {loaded === "failed" && <p class="trouble">The Memory page could not be loaded. <button type="button" onClick={load}>Try again</button></p>}
    </main>
  );
}
