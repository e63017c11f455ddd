// Builds two pages separately, so that neither loads the other's framework: `vite build` builds the demo, `vite build --mode graphiql`
// builds GraphiQL. Both go to dist/, which the server embeds. GraphiQL's assets are in dist/assets/graphiql/.
import { defineConfig, type Plugin } from "vite";
import { precache } from "./scripts/precache.ts";

/** Removes fonts and pictures in data: URLs from GraphiQL's CSS. The content security policy forbids them, and they are half of its size. */
const removeDataUrls: Plugin = {
  name: "remove-data-urls",
  enforce: "pre",
  transform: (code, id) =>
    id.endsWith("/graphiql/dist/style.css") ? code.replace(/@font-face\s*\{[^}]*\}/g, "").replace(/url\("?data:image[^)]*\)/g, "none") : null,
};

/**
 * Chunks that load when a place or a dialog is first opened. `common` is what the Memory page and the graph share. Few chunks compress best. A chunk takes what it needs
 * and no chunk above has.
 */
const LAZY = [
  { name: "common", test: /\/src\/demo\/common\// },
  { name: "memory", test: /\/src\/demo\/memory\/(?!dialogs|data)/ },
  { name: "graph", test: /\/src\/demo\/graph\// },
  { name: "places", test: /\/src\/demo\/(documents|settings)\// },
  { name: "session-graph", test: /\/src\/demo\/session-graph\/|\/node_modules\/d3-/ },
  { name: "memory-dialogs", test: /\/src\/demo\/memory\/dialogs\// },
  { name: "memory-data", test: /\/src\/demo\/memory\/data\// },
];

export default defineConfig(({ mode }) => {
  const graphiql = mode === "graphiql";
  return {
    base: "/",
    // `@relevantic/recall` means the sources of the client, so that a change of it needs no build of the package.
    resolve: { tsconfigPaths: true },
    plugins: graphiql ? [removeDataUrls] : [precache],
    build: {
      outDir: "dist",
      assetsDir: graphiql ? "assets/graphiql" : "assets",
      emptyOutDir: !graphiql,
      target: "es2022",
      modulePreload: { polyfill: false },
      // The content security policy forbids data: URLs.
      assetsInlineLimit: 0,
      // The server distributes both pages, so it must include the licences of the bundled packages.
      license: { fileName: graphiql ? "licenses/graphiql.md" : "licenses/demo.md" },
      chunkSizeWarningLimit: 4000,
      rollupOptions: {
        // GraphiQL's libraries contain "use client" directives for server rendering, which this build does not use.
        onwarn(warning, log) {
          if (warning.code !== "MODULE_LEVEL_DIRECTIVE") log(warning);
        },
        output: graphiql ? {} : { codeSplitting: { groups: [{ name: "index", test: (id: string) => !LAZY.some(({ test }) => test.test(id)) }, ...LAZY] } },
        input: graphiql ? "graphiql/index.html" : "index.html",
      },
    },
    define: graphiql ? { "process.env.NODE_ENV": JSON.stringify("production") } : {},
    server: { proxy: { "/graphql": { target: "http://127.0.0.1:8080", ws: true }, "/signaling": "http://127.0.0.1:8080", "/auth": "http://127.0.0.1:8080" } },
  };
});
