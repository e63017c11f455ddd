// Fails if a dependency has a licence that deny.toml does not allow. Reads `cargo metadata` from standard input.
// Unlike `cargo deny check`, which also checks advisories, it requires no additional tool.
import { readFileSync } from "node:fs";

/** Licences of packages that name a file instead of a licence expression. */
const BY_FILE = new Map([["model2vec-rs", "MIT"]]);

const list = readFileSync(new URL("../deny.toml", import.meta.url), "utf8").match(/allow = \[([^\]]*)\]/)[1];
const allowed = new Set([...list.matchAll(/"([^"]+)"/g)].map((m) => m[1]));
const { packages } = JSON.parse(readFileSync(0, "utf8"));

/** Evaluates a licence expression. "/" is an old form of OR. Brackets group only an OR within an AND. */
const isAllowed = (expression) =>
  expression
    .split(/ AND (?![^(]*\))/)
    .every((part) => part.replace(/[()]/g, "").replaceAll("/", " OR ").split(" OR ").some((name) => allowed.has(name.trim())));

const bad = packages
  .filter((p) => p.source)
  .map((p) => ({ name: `${p.name} ${p.version}`, licence: p.license ?? BY_FILE.get(p.name) }))
  .filter((p) => !p.licence || !isAllowed(p.licence));
if (bad.length > 0) {
  console.error(bad.map((p) => `${p.name}: ${p.licence ? `deny.toml does not allow ${p.licence}` : "the package declares no licence"}`).join("\n"));
  process.exit(1);
}
console.log(`${packages.length} packages, all licences allowed`);
