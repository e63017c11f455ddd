// Builds the page, with the client in a file of its own so that its size is visible; `--mode cursor` builds the page that uses one function.
import { defineConfig } from "vite";

export default defineConfig(({ mode }) => ({
  build: {
    target: "es2022",
    outDir: mode === "cursor" ? "dist-cursor" : "dist",
    modulePreload: { polyfill: false },
    rollupOptions: {
      input: mode === "cursor" ? "cursor.html" : "index.html",
      output: { manualChunks: (id) => (id.includes("@relevantic/recall") ? "recall" : undefined) },
    },
  },
}));
