// Checks every view of the demo with axe-core: light and dark, on a desktop and on a phone.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { findViolations } from "./axe.mjs";
import { cutLine, fact, newSession, waitForPhase, say, sessionIn, waitForElement } from "./demo-page.mjs";
import { handbook } from "./files.mjs";
import { Server, until, withServerAndBrowser } from "./harness.mjs";

const SIZES = { desktop: { viewport: { width: 1360, height: 850 } }, phone: { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true } };

let server;
let browser;
let protectedServer;
withServerAndBrowser((started) => { ({ server, browser } = started); });
before(async () => {
  protectedServer = await Server.start({ RECALL_TOKEN: "a-token-that-is-long-enough-for-this" });
});
after(() => protectedServer?.stop());

for (const [size, options] of Object.entries(SIZES)) {
  for (const colorScheme of ["light", "dark"]) {
    test(`axe reports no violation on a ${size}, ${colorScheme}`, async () => {
      const tab = await browser.visit(`${server.url}/`, { ...options, colorScheme, reducedMotion: "reduce" });
      const { page } = tab;
      const violations = [];
      const check = async (view) => violations.push(...(await findViolations(tab, view)));
      const openTab = async (name) => { if (size === "phone") await page.getByRole("navigation", { name: "View" }).getByRole("button", { name }).click(); };
      await waitForPhase(tab, "live");
      if (size === "phone") await page.getByRole("button", { name: "Sessions", exact: true }).click();
      await newSession(tab);
      await check("an empty session");

      for (const text of ["John likes Mary.", "John likes Mary.", "I live in Lyon.", "I live in Ghent.", "I use React.", "I no longer use React.", "Hello there."]) await say(tab, text);
      await say(tab, "Who does John like?");
      await waitForElement(page.locator(".message.assistant .sources li"), "the answer");
      await until(async () => (await page.locator(".message.own").last().innerText()).includes("question"), "the last message to be read");
      await check("a conversation");
      await page.locator(".session-about summary").click();
      await waitForElement(page.locator(".session-about div > p"), "the summary");
      await check("what a conversation is about");
      await page.locator(".session-about summary").click();

      await openTab("Facts");
      await fact(tab, "John", "Mary").locator(".fact-line").click();
      await waitForElement(page.locator(".facts .evidence q"), "the evidence");
      await check("evidence");
      await page.getByRole("button", { name: "This is wrong" }).click();
      await check("what can be said against a fact");
      await fact(tab, "Ghent").first().locator(".fact-line").click();
      await waitForElement(page.locator(".facts .evidence .rivals"), "the rivals");
      await check("rivals");
      await openTab("Graph");
      await check("the graph");
      if (size === "phone") {
        await page.getByRole("button", { name: "Sessions", exact: true }).click();
        await page.getByRole("button", { name: "New session", exact: true }).waitFor();
        await check("the list of sessions");
        await page.keyboard.press("Escape");
      }
      await openTab("Chat");
      await page.locator(".message .mention", { hasText: "Mary" }).first().click();
      await waitForElement(page.getByRole("heading", { name: "Mary", level: 1, exact: true }), "the entity");
      await check("an entity");
      const id = await page.evaluate(() => document.querySelector(".back").getAttribute("href"));
      await page.goto(`${server.url}/${id}`);
      await waitForPhase(tab, "live");
      await cutLine(tab);
      await check("a cut line");
      await page.goto(`${server.url}/#/s/00000000-0000-7000-8000-000000000000`);
      await waitForElement(page.getByRole("heading", { name: "There is no such session" }), "the error for an unknown session");
      await check("an unknown session");

      await page.goto(`${server.url}/#/d`);
      await waitForElement(page.getByRole("heading", { name: "Documents", level: 1 }), "the documents");
      await check("documents");
      const files = [
        { name: `handbook of ${size} ${colorScheme}.pdf`, mimeType: "application/pdf", buffer: handbook(size.length * 1000 + colorScheme.length) },
        { name: `broken of ${size} ${colorScheme}.pdf`, mimeType: "application/pdf", buffer: Buffer.from(`%PDF-1.7\n${size} ${colorScheme}`) },
      ];
      await page.locator("input[type=file]").setInputFiles(files);
      const row = (index) => page.locator(".doc", { hasText: files[index].name });
      await waitForElement(row(0).locator('[data-status="COMPLETED"]'), "the document to be ready");
      await waitForElement(row(1).locator('[data-status="FAILED"]'), "the failed document");
      await page.locator("input[type=file]").setInputFiles([{ ...files[0], name: "the same again.pdf" }]);
      await waitForElement(page.getByText("The same content is stored already"), "the known file");
      await page.getByRole("textbox", { name: "Ask your documents" }).fill("What is the travel budget of the north office?");
      await page.keyboard.press("Enter");
      await waitForElement(page.locator(".found li"), "the passages");
      await check("documents with passages");
      await row(1).getByRole("button", { name: /^Delete/ }).click();
      await check("a deletion to confirm");
      await page.keyboard.press("Escape");
      await row(1).locator("a").click();
      await waitForElement(page.getByRole("heading", { name: "This file could not be read" }), "the failure");
      await check("a failed document");
      await page.getByRole("link", { name: "All documents" }).click();
      await page.locator(".found a, .doc a").first().waitFor();
      await page.getByRole("textbox", { name: "Ask your documents" }).fill("What is the travel budget of the north office?");
      await page.keyboard.press("Enter");
      await page.locator(".found a").first().click();
      await waitForElement(page.locator(".reading-text mark"), "the cited passage");
      await check("a cited passage");
      await page.locator(".about details").evaluateAll((groups) => groups.forEach((group) => { group.open = true; }));
      await check("what is known about a document");
      await page.locator(".about .topics a").first().click();
      await waitForElement(page.getByRole("region", { name: "Documents" }), "the topic");
      await check("a topic");
      await page.goto(`${server.url}/#/t/00000000-0000-7000-8000-000000000000`);
      await waitForElement(page.getByRole("heading", { name: "There is no such topic" }), "the error for an unknown topic");
      await check("an unknown topic");
      await page.goto(`${server.url}/#/d`);
      await page.locator("input[type=file]").setInputFiles([{ name: `rules of ${size} ${colorScheme}.md`, mimeType: "text/markdown", buffer: Buffer.from(`# Travel\n\nThe travel budget of the north office is ${size.length} euros, ${colorScheme}.`) }]);
      await waitForElement(page.locator(".doc", { hasText: "rules of" }).first().locator('[data-status="COMPLETED"]'), "the second document to be ready");
      await page.getByRole("button", { name: "Compare", exact: true }).click();
      for (const name of ["rules of", files[0].name]) await page.locator(".doc[data-document]", { hasText: name }).first().getByRole("checkbox").check();
      await check("documents to choose");
      await page.getByRole("button", { name: "Compare 2" }).click();
      await waitForElement(page.locator(".points .cite").first(), "the report");
      await check("a comparison");
      await page.getByRole("link", { name: "All documents" }).click();
      await waitForElement(page.locator(".comparison"), "the list of comparisons");
      await check("a list of comparisons");
      await page.goto(`${server.url}/#/c/00000000-0000-7000-8000-000000000000`);
      await waitForElement(page.getByRole("heading", { name: "There is no such comparison" }), "the error for an unknown comparison");
      await check("an unknown comparison");
      await page.goto(`${server.url}/#/d/00000000-0000-7000-8000-000000000000`);
      await waitForElement(page.getByRole("heading", { name: "There is no such document" }), "the error for an unknown document");
      await check("an unknown document");
      await page.goto(`${server.url}/#/`);
      await page.reload();
      await waitForPhase(tab, "live");
      await say(tab, "What is the travel budget of the north office?");
      await waitForElement(page.locator(".message.assistant .sources cite"), "an answer that cites a document");
      await check("an answer that cites a document");
      assert.deepEqual(violations, []);
      await tab.context.close();

      const anonymous = await browser.visit(`${protectedServer.url}/`, { ...options, colorScheme, reducedMotion: "reduce" });
      await waitForElement(anonymous.page.getByLabel("Access token"), "the login page");
      assert.deepEqual(await findViolations(anonymous, "the login page"), []);
      await anonymous.page.route("**/auth/session", (route) => route.abort());
      await anonymous.page.reload();
      await waitForElement(anonymous.page.getByRole("heading", { name: "Recall cannot be reached" }), "the error for an unreachable server");
      assert.deepEqual(await findViolations(anonymous, "an unreachable server"), []);
      await anonymous.context.close();
    });
  }
}

test("the skip link moves the focus past the list of sessions", async () => {
  const tab = await browser.visit(`${server.url}/`);
  await waitForPhase(tab, "live");
  const before = await sessionIn(tab);
  // On a desktop, the message field has the focus on arrival.
  await tab.page.getByRole("link", { name: "Skip to the content" }).press("Enter");
  assert.equal(await tab.page.evaluate(() => document.activeElement.id), "main");
  assert.equal(await sessionIn(tab), before, "the URL still names the session");
  await tab.context.close();
});
