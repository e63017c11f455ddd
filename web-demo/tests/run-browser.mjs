// Runs the browser tests, two files at a time, and writes TAP. Arguments name files; without any, all of tests/browser run.
//
// Real browsers under load fail now and then without a fault of the page. If few files fail, they run once more, alone. A test that passes then is reported
// as flaky and fails nothing; treat the report as a bug of the test or of the page. A test that fails twice fails the run.
import { readdir } from "node:fs/promises";
import path from "node:path";
import { run } from "node:test";
import { tap } from "node:test/reporters";
import { fileURLToPath } from "node:url";

/** Most files that run again. More of them have a common cause, which a second run would only confirm. */
const MAX_FILES_AGAIN = 3;
/** Limit for one file, in milliseconds. It ends tests that hang. */
const TIMEOUT = 1_200_000;

const folder = path.join(path.dirname(fileURLToPath(import.meta.url)), "browser");

async function allFiles() {
  const names = await readdir(folder);
  return names.filter((name) => name.endsWith(".test.mjs")).sort().map((name) => path.join(folder, name));
}

/** Runs files and returns the names of the tests that failed, by file. Without a test that passes, nothing was tested. */
async function runFiles(files, concurrency) {
  const failed = new Map();
  let passed = 0;
  const tests = run({ files, concurrency, timeout: TIMEOUT });
  tests.on("test:fail", ({ file, name, todo }) => {
    if (todo === undefined) failed.set(file, [...(failed.get(file) ?? []), name]);
  });
  tests.on("test:pass", () => { passed += 1; });
  for await (const text of tests.compose(tap)) process.stdout.write(text);
  if (passed === 0) failed.set(undefined, []);
  return failed;
}

const named = process.argv.slice(2).map((name) => path.resolve(name));
const failed = await runFiles(named.length > 0 ? named : await allFiles(), 2);
if (failed.size > MAX_FILES_AGAIN || failed.has(undefined)) process.exitCode = 1;
else if (failed.size > 0) {
  console.log(`\n# ${failed.size === 1 ? "One file" : `${failed.size} files`} failed and runs again, alone.\n`);
  const again = await runFiles([...failed.keys()], 1);
  for (const [file, names] of failed) {
    if (!again.has(file)) for (const name of names) console.log(`# flaky: ${path.basename(file)}: ${name}`);
  }
  process.exitCode = again.size > 0 ? 1 : 0;
}
