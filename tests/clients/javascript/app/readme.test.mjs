// Runs the JavaScript examples of the package's README, as pasted, against the real server.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile, rm, writeFile } from "node:fs/promises";
import { test } from "node:test";
import { promisify } from "node:util";
import { startServer } from "./harness.mjs";

const here = new URL(".", import.meta.url);

test("the examples of the README run", async (t) => {
  const readme = await readFile(new URL("node_modules/@relevantic/recall/README.md", here), "utf8");
  const examples = [...readme.matchAll(/```js\n([\s\S]*?)```/g)].map(([, code]) => code);
  assert.ok(examples.length >= 3);
  const server = await startServer();
  t.after(() => server.stop());
  for (const [i, code] of examples.entries()) {
    const file = new URL(`example-${i}.mjs`, here);
    await writeFile(file, code.replaceAll("http://127.0.0.1:8080", server.url));
    const { stdout } = await promisify(execFile)(process.execPath, [file.pathname], { timeout: 60_000 });
    assert.match(stdout, /Mary/, code);
    await rm(file);
  }
});
