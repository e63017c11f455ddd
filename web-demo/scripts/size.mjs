// Prints the gzipped size of each page. Fails if a page exceeds its budget. Fonts are already compressed and count unchanged.
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const dist = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../dist");
const budgets = { "demo page": 120 * 1024, GraphiQL: 1024 * 1024 };
const sizes = { "demo page": 0, GraphiQL: 0 };
for (const entry of await readdir(dist, { recursive: true, withFileTypes: true })) {
  const file = path.join(entry.parentPath, entry.name);
  if (!entry.isFile() || path.relative(dist, file).startsWith("licenses")) continue; // No page loads the licences.
  const bytes = await readFile(file);
  sizes[path.relative(dist, file).includes("graphiql") ? "GraphiQL" : "demo page"] += file.endsWith(".woff2") ? bytes.length : gzipSync(bytes, { level: 9 }).length;
}
for (const [page, size] of Object.entries(sizes)) {
  console.log(`${page}: ${(size / 1024).toFixed(1)} KiB gzipped of ${budgets[page] / 1024} KiB`);
  if (size > budgets[page]) process.exitCode = 1;
}
