// Fails if a dependency has a licence that deny.toml does not allow. Reads `cargo metadata` from standard input, so that a
// fresh machine needs no further tool; `cargo deny check` says the same, and checks advisories as well.
import { readFileSync } from "node:fs";

/** Packages that name a file instead of an expression, with what that file says. */
const BY_FILE = new Map([["model2vec-rs", "MIT"]]);

const list = readFileSync(new URL("../deny.toml", import.meta.url), "utf8").match(/allow = \[([^\]]*)\]/)[1];
const allowed = new Set([...list.matchAll(/"([^"]+)"/g)].map((m) => m[1]));
const { packages } = JSON.parse(readFileSync(0, "utf8"));

/** "A OR B" needs one of them, "A AND B" both; "/" is the old way to write OR. Brackets only ever group an OR within an AND. */
const fits = (expression) =>
  expression
    .split(/ AND (?![^(]*\))/)
    .every((part) => part.replace(/[()]/g, "").replaceAll("/", " OR ").split(" OR ").some((name) => allowed.has(name.trim())));

const bad = packages
  .filter((p) => p.source)
  .map((p) => ({ name: `${p.name} ${p.version}`, licence: p.license ?? BY_FILE.get(p.name) }))
  .filter((p) => !p.licence || !fits(p.licence));
if (bad.length > 0) {
  console.error(bad.map((p) => `${p.name}: ${p.licence ?? "names no licence"} is not allowed by deny.toml`).join("\n"));
  process.exit(1);
}
console.log(`${packages.length} packages, all licences allowed`);
