// Prints what the demo page loads when it is opened at each of its places, and the size of GraphiQL, gzipped. Fails if one exceeds its budget.
// Fonts are already compressed and count unchanged. Usage: node scripts/size.mjs [FOLDER]     FOLDER holds the built pages (default: dist)
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const dist = path.resolve(fileURLToPath(import.meta.url), "../..", process.argv[2] ?? "dist");
const PLACE_BUDGET = 120 * 1024;
const GRAPHIQL_BUDGET = 1024 * 1024;

const entries = await readdir(dist, { recursive: true, withFileTypes: true });
const names = entries.filter((entry) => entry.isFile()).map((entry) => path.relative(dist, path.join(entry.parentPath, entry.name)).replaceAll("\\", "/"));
const files = new Map(await Promise.all(names.map(async (name) => [name, await readFile(path.join(dist, name))])));
const sizeOf = (name) => (name.endsWith(".woff2") ? files.get(name).length : gzipSync(files.get(name), { level: 9 }).length);
const textOf = (name) => (/\.(html|js|css)$/.test(name) ? files.get(name).toString("utf8") : "");
const matches = (name, pattern) => [...textOf(name).matchAll(pattern)];

/** Files that a file loads at once: scripts, styles, fonts and workers. */
function loadedBy(name) {
  const patterns = [/(?:src|href)="\/([^"]+)"/g, /(?:from|import)\s*["'`]\.\/([^"'`]+)["'`]/g, /url\(["']?\/([^"')]+)/g, /new URL\(["'`]\/?([^"'`]+)["'`]/g];
  const found = patterns.flatMap((pattern) => matches(name, pattern).map(([, other]) => other));
  return found.flatMap((other) => [other, `assets/${other}`].filter((candidate) => files.has(candidate)).slice(0, 1));
}

/** A file, and what it loads, and so on. */
function withAllLoaded(starts) {
  const all = new Set(starts);
  for (const name of all) for (const other of loadedBy(name)) all.add(other);
  return all;
}

/** Scripts that a script loads later, each with the files that Vite loads with it. */
function lazyScripts(name) {
  const listed = JSON.parse(/m\.f=(\[[^\]]*\])/.exec(textOf(name))?.[1] ?? "[]");
  return matches(name, /import\(["'`]\.\/([^"'`]+)["'`]\)[^]*?__vite__mapDeps\(\[([\d,]*)\]\)/g)
    .map(([, script, indexes]) => ({ script: `assets/${script}`, loads: [`assets/${script}`, ...indexes.split(",").filter(Boolean).map((index) => listed[Number(index)])] }));
}

/** A lazy script that a place loads as soon as it opens, by the place: the chat draws its graph at once on a wide screen. */
const AT_ONCE = new Map([["session-graph", "chat"]]);

/** What is loaded when a place is open. A dialog counts as a place of its own, with the place that opens it. */
const shell = withAllLoaded(["index.html"]);
const places = new Map();
const waiting = [shell];
for (const loaded of waiting) {
  for (const name of loaded) {
    for (const { script, loads } of lazyScripts(name)) {
      const chunk = path.basename(script).replace(/-[\w-]{8}\.js$/, "");
      const place = AT_ONCE.get(chunk) ?? chunk;
      if (places.has(place)) continue;
      places.set(place, withAllLoaded([...loaded, ...loads]));
      waiting.push(places.get(place));
    }
  }
}

const kib = (bytes) => `${(bytes / 1024).toFixed(1)} KiB`;
function report(what, loaded, budget) {
  const size = [...loaded].reduce((sum, name) => sum + sizeOf(name), 0);
  console.log(`${what}: ${kib(size)} gzipped of ${kib(budget)}`);
  if (size > budget) process.exitCode = 1;
}
for (const [place, loaded] of places) report(`demo page, ${place}`, loaded, PLACE_BUDGET);
const graphiql = names.filter((name) => name.includes("graphiql") && !name.startsWith("licenses"));
if (graphiql.length > 0) report("GraphiQL", graphiql, GRAPHIQL_BUDGET);

// Otherwise this script does not understand the build, and its figures are too small.
const unseen = names.filter((name) => name.startsWith("assets/") && !graphiql.includes(name) && ![...places.values()].some((loaded) => loaded.has(name)));
if (unseen.length > 0) {
  console.error(`No place loads ${unseen.join(", ")}.`);
  process.exitCode = 1;
}
