// Two pages, built apart so that neither drags the other's framework along: `vite build` makes the demo, `vite build --mode graphiql` GraphiQL.
// Both go to dist/, with hashed names under dist/assets/; the server embeds that folder as it is.
import { defineConfig } from "vite";

export default defineConfig(({ mode }) => {
  const graphiql = mode === "graphiql";
  return {
    base: "/",
    build: {
      outDir: "dist",
      emptyOutDir: !graphiql,
      target: "es2022",
      modulePreload: { polyfill: false },
      // A strict content security policy forbids data: addresses.
      assetsInlineLimit: 0,
      reportCompressedSize: true,
      chunkSizeWarningLimit: 4000,
      rollupOptions: { input: graphiql ? "graphiql/index.html" : "index.html" },
    },
    define: graphiql ? { "process.env.NODE_ENV": JSON.stringify("production") } : {},
    server: { proxy: { "/graphql": { target: "http://127.0.0.1:8080", ws: true }, "/signaling": "http://127.0.0.1:8080" } },
  };
});
