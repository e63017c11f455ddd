// Prints what the client adds to a page, gzipped. Fails if it grows much, or if unused parts stay in a bundle.
import { readFileSync, readdirSync } from "node:fs";
import { gzipSync } from "node:zlib";

function size(folder, isOwn) {
  const files = readdirSync(`${folder}/assets`).filter((name) => name.endsWith(".js") && isOwn(name));
  return files.reduce((sum, name) => sum + gzipSync(readFileSync(`${folder}/assets/${name}`), { level: 9 }).length, 0);
}

const budgets = { "the client": [size("dist", (name) => name.startsWith("recall")), 16 * 1024], "one function of it": [size("dist-cursor", () => true), 1024] };
for (const [name, [bytes, budget]] of Object.entries(budgets)) {
  console.log(`${name}: ${(bytes / 1024).toFixed(1)} KiB gzipped of ${budget / 1024} KiB`);
  if (bytes === 0 || bytes > budget) process.exitCode = 1;
}
