// Two pages, built apart so that neither drags the other's framework along: `vite build` makes the demo, `vite build --mode graphiql` GraphiQL.
// Both go to dist/, with hashed names under dist/assets/ (GraphiQL's under dist/assets/graphiql/); the server embeds that folder as it is.
import { defineConfig, type Plugin } from "vite";

/** GraphiQL's style sheet carries fonts and pictures as data: addresses, which a strict policy forbids and which are half of its size. */
const withoutEmbeddedFiles: Plugin = {
  name: "without-embedded-files",
  enforce: "pre",
  transform: (code, id) =>
    id.endsWith("/graphiql/dist/style.css") ? code.replace(/@font-face\s*\{[^}]*\}/g, "").replace(/url\("?data:image[^)]*\)/g, "none") : null,
};

export default defineConfig(({ mode }) => {
  const graphiql = mode === "graphiql";
  return {
    base: "/",
    plugins: graphiql ? [withoutEmbeddedFiles] : [],
    build: {
      outDir: "dist",
      assetsDir: graphiql ? "assets/graphiql" : "assets",
      emptyOutDir: !graphiql,
      target: "es2022",
      modulePreload: { polyfill: false },
      // A strict content security policy forbids data: addresses.
      assetsInlineLimit: 0,
      // Both pages are distributed with the server, so the licences of what is bundled go with them.
      license: { fileName: graphiql ? "licenses/graphiql.md" : "licenses/demo.md" },
      chunkSizeWarningLimit: 4000,
      rollupOptions: {
        // Components of GraphiQL's libraries are marked for a server-side world that this build does not have.
        onwarn(warning, log) {
          if (warning.code !== "MODULE_LEVEL_DIRECTIVE") log(warning);
        },
        input: graphiql ? "graphiql/index.html" : "index.html",
      },
    },
    define: graphiql ? { "process.env.NODE_ENV": JSON.stringify("production") } : {},
    server: { proxy: { "/graphql": { target: "http://127.0.0.1:8080", ws: true }, "/signaling": "http://127.0.0.1:8080", "/auth": "http://127.0.0.1:8080" } },
  };
});
