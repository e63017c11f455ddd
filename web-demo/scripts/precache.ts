// Vite plugin: puts the first style sheet into the page, and lists the files of the demo page for its service worker (public/sw.js), with a version that changes with each file.
import type { Plugin } from "vite";

/** Applies the theme before the first paint. A module would run later, and Vite leaves other scripts as they are. */
const THEME = "src/demo/theme.js";

async function hashOf(parts: readonly string[]): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(parts.join("\n")));
  return [...new Uint8Array(digest, 0, 8)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The style sheet that the page begins with. In the page itself, it needs no request before the first paint, and the page still fits into the first packets of a connection. */
const STYLES = /<link rel="stylesheet" crossorigin href="\/([^"]+)">/;

/** `String.replace` that fails if `from` is not in the page. */
function replaceInPage(page: string, from: string | RegExp, to: (match: string, group: string) => string): string {
  const changed = page.replace(from, to);
  if (changed === page) throw new Error(`index.html does not contain ${from}.`);
  return changed;
}

export const precache: Plugin = {
  name: "precache",
  apply: "build",
  generateBundle: {
    // After the page itself.
    order: "post",
    async handler(_, bundle) {
      const page = bundle["index.html"];
      if (page?.type !== "asset") throw new Error("The build has no index.html.");
      // An asset has a hash in its name, so the page gets the script of its own version.
      const theme = this.getFileName(this.emitFile({ type: "asset", name: "theme.js", source: await this.fs.readFile(THEME, { encoding: "utf8" }) }));
      page.source = replaceInPage(replaceInPage(String(page.source), THEME, () => theme), STYLES, (_link, name) => {
        const styles = bundle[name];
        const chunks = Object.values(bundle).filter((file) => file.type === "chunk");
        const entry = chunks.find(({ isEntry }) => isEntry);
        if (styles?.type !== "asset" || !entry) throw new Error(`The build has no ${name} or no entry.`);
        delete bundle[name];
        // Chunks that need the entry would load its style sheet. A place in their lists stays, because numbers refer to it.
        for (const chunk of chunks) chunk.code = chunk.code.replaceAll(`"${name}"`, `"${entry.fileName}"`);
        return `<style>${String(styles.source)}</style>`;
      });
      const assets = [theme, ...Object.keys(bundle).filter((name) => name.startsWith("assets/") && name !== theme)].sort();
      const version = await hashOf([...assets, page.source]);
      const files = ["/", ...assets.map((name) => `/${name}`)];
      this.emitFile({ type: "asset", fileName: "precache.js", source: `self.PRECACHE = ${JSON.stringify({ version, files })};\n` });
    },
  },
};
