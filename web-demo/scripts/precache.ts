// Vite plugin: lists the files of the demo page for its service worker (public/sw.js), with a version that changes with each file.
import type { Plugin } from "vite";

/** Files of public/ that the page needs. */
const PUBLIC = ["theme.js"];

async function hashOf(parts: readonly string[]): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(parts.join("\n")));
  return [...new Uint8Array(digest, 0, 8)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

export const precache: Plugin = {
  name: "precache",
  apply: "build",
  generateBundle: {
    // After the page itself.
    order: "post",
    async handler(_, bundle) {
      const assets = Object.keys(bundle).filter((name) => name.startsWith("assets/")).sort();
      const page = bundle["index.html"];
      if (page?.type !== "asset") throw new Error("The build has no index.html.");
      const copied = await Promise.all(PUBLIC.map((name) => this.fs.readFile(`public/${name}`, { encoding: "utf8" })));
      const version = await hashOf([...assets, String(page.source), ...copied]);
      const files = ["/", ...[...PUBLIC, ...assets].map((name) => `/${name}`)];
      this.emitFile({ type: "asset", fileName: "precache.js", source: `self.PRECACHE = ${JSON.stringify({ version, files })};\n` });
    },
  },
};
