// The front end that docs/clients.md prints works as pasted, from an origin of its own.
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import path from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { waitForElement } from "./demo-page.mjs";
import { Browser, Server, until } from "./harness.mjs";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../..");
const PRINTED_URL = "http://127.0.0.1:8080";
let server;
let browser;
let files;
let origin;
before(async () => {
  files = createServer(async (request, response) => {
    const { pathname } = new URL(request.url, origin);
    if (pathname === "/") return response.setHeader("content-type", "text/html").end(await printedPage());
    const name = /^\/recall\/([\w/-]+\.js)$/.exec(pathname)?.[1];
    if (!name) return response.writeHead(404).end();
    response.setHeader("content-type", "text/javascript").end(await readFile(path.join(root, "clients/javascript/dist", name)));
  }).listen(0, "127.0.0.1");
  await once(files, "listening");
  origin = `http://127.0.0.1:${files.address().port}`;
  server = await Server.start({ RECALL_CORS_ORIGINS: origin });
  browser = await Browser.start();
});
after(async () => {
  await browser?.stop();
  await server?.stop();
  files?.closeAllConnections();
  files?.close();
});

/** The page as printed, with the address of this test's server. */
async function printedPage() {
  const [, page] = /```html\n([^]*?)```/.exec(await readFile(path.join(root, "docs/clients.md"), "utf8"));
  assert.ok(page.includes(PRINTED_URL));
  return page.replace(PRINTED_URL, server.url);
}

test("the printed front end has at most 60 lines, learns, answers with sources, and continues after a reload", async () => {
  assert.ok((await printedPage()).trimEnd().split("\n").length <= 60);
  const context = await browser.chromium.newContext();
  await context.grantPermissions(["local-network-access"], { origin });
  const tab = await browser.visit(`${origin}/`, { visitor: { context } });
  const { page } = tab;
  const problems = () => tab.problems.filter((problem) => !problem.startsWith("foreign request") && !problem.includes("favicon"));
  const say = async (text) => {
    await page.getByRole("textbox", { name: "Message" }).fill(text);
    await page.keyboard.press("Enter");
  };
  await until(async () => (await page.getByRole("status").innerText()) === "", "the line");
  await say("John likes Mary.");
  await waitForElement(page.locator("#facts li", { hasText: "John likes Mary: belief 67 %" }), "the fact");
  await say("Who does John like?");
  await waitForElement(page.locator("#log .assistant", { hasText: "“John likes Mary”" }), "the answer with its source");
  await page.reload();
  await waitForElement(page.locator("#facts li", { hasText: "John likes Mary: belief 67 %" }), "the fact after a reload");
  await waitForElement(page.locator("#log .assistant", { hasText: "“John likes Mary”" }), "the source after a reload");
  assert.equal(await page.locator("#log li").count(), 3, "each message once");
  await say("Anna is my sister. I use React.");
  const words = ["You are family of Anna:", "You use React:"];
  for (const text of words) await waitForElement(page.locator("#facts li", { hasText: text }), text);
  await page.reload();
  for (const text of words) await waitForElement(page.locator("#facts li", { hasText: text }), `${text} after a reload`);
  assert.deepEqual(problems(), []);
  await context.close();
});
