// Measures how long a connection takes to open in Chromium, from the POST of the offer to the open data channel.
// Usage: node tests/opening.mjs [COUNTER [OPENS]]     COUNTER is the built counter example (default: ../target/release/examples/counter).
import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
const [counter = path.join(root, "target/release/examples/counter"), opens = "51"] = process.argv.slice(2);

const server = spawn(counter, ["serve", "127.0.0.1:0", "127.0.0.1:0"], { stdio: ["ignore", "pipe", "inherit"] });
const [line] = await once(createInterface(server.stdout), "line");
const address = line.split(" ")[0];
const flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"];
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: flags });
try {
  // The browser's first connection also creates its certificate and starts processes.
  const warm = await browser.newPage();
  await warm.goto(address);
  await warm.waitForFunction(() => window.counter.opens.length > 0);
  await warm.close();
  for (const [what, fresh] of [["a fresh page each time", true], ["one page", false]]) {
    const took = [];
    let page = await browser.newPage();
    for (let n = 0; n < Number(opens); n += 1) {
      if (fresh) {
        await page.close();
        page = await browser.newPage();
      }
      if (fresh || n === 0) await page.goto(address);
      else await page.evaluate(() => { window.counter.opens = []; window.cut(); });
      took.push(await (await page.waitForFunction(() => window.counter.opens[0])).jsonValue());
    }
    await page.close();
    took.sort((a, b) => a - b);
    const at = (share) => took[Math.min(took.length - 1, Math.floor(share * took.length))].toFixed(1);
    console.log(`${what}: ${took.length} opens, p50 ${at(0.5)} ms, p95 ${at(0.95)} ms, least ${at(0)}, most ${at(1)}`);
  }
} finally {
  await browser.close();
  server.kill();
}
