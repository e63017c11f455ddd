// The documents place of the demo in a real Chromium against the real server.
import assert from "node:assert/strict";
import { test } from "node:test";
import { newSession, say, waitForElement, waitForPhase } from "./demo-page.mjs";
import { addFiles, chip, drop, expectCitedPassage, expectFit, file, openDocuments, recordShifts, row, waitForStatus } from "./documents-page.mjs";
import { handbook } from "./files.mjs";
import { until, withServerAndBrowser } from "./harness.mjs";

const MAX_BYTES = 60_000;
const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
const BUDGET = "The travel budget of the north office is 4200 euros.";

let server;
let browser;
withServerAndBrowser((started) => { ({ server, browser } = started); }, { RECALL_DOCUMENTS_MAX_BYTES: String(MAX_BYTES) });

const openPlace = (options) => openDocuments(server, browser, options);

/** A text of `sections` sections that fills several steps of the server. */
const longText = (sections) => Array.from({ length: sections }, (_, i) =>
  `# Chapter ${i + 1}\n\nThe lamp of room ${i + 1} is repaired by Person${i + 1}. ${"The corridor was painted in spring, and the floor was cleaned afterwards. ".repeat(4)}`).join("\n\n");

test("a PDF dropped in the chat is read, and an answer's citation opens its passage", async () => {
  const tab = await openPlace();
  const { page } = tab;
  await page.getByRole("link", { name: "Chat" }).click();
  await waitForPhase(tab, "live");
  await newSession(tab);
  await drop(tab, file("handbook.pdf", handbook()));
  await waitForStatus(tab, "handbook.pdf", "Ready");
  assert.match(await row(tab, "handbook.pdf").innerText(), /3 pages/);

  await page.getByRole("link", { name: "Chat" }).click();
  await say(tab, "What is the travel budget of the north office?");
  const source = page.locator(".message.assistant .sources button");
  await waitForElement(source, "the source");
  assert.match(await source.first().innerText(), /handbook\.pdf, page 2/);
  await source.first().click();
  await expectCitedPassage(tab, BUDGET.replace(/\.$/, ""));
  const marked = await page.locator(".reading-text mark").allInnerTexts();
  assert.ok(marked.join(" ").includes("Trains are preferred"), "the whole passage is marked");
  assert.ok(!marked.join(" ").includes("Quiet hours"), "nothing else is marked");
  assert.deepEqual(await page.locator(".reading-text h2").allInnerTexts(), ["House rules", "Travel", "Illness"]);
  assert.deepEqual(await page.locator(".page-mark").allTextContents(), ["page 1", "page 2", "page 3"]);

  // The URL names the passage.
  await page.reload();
  await waitForElement(page.locator(".reading-text mark"), "the passage after a reload");
  await page.goBack();
  await waitForElement(page.locator(".message.assistant .sources button"), "the chat");
  await page.reload();
  await page.locator(".message.assistant .sources button").first().click();
  await expectCitedPassage(tab, BUDGET.replace(/\.$/, ""));
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("events move the progress while rows keep their places", async () => {
  const tab = await openPlace();
  const { page } = tab;
  await addFiles(tab, file("first.md", "# First\n\nA short text."));
  await waitForStatus(tab, "first.md", "Ready");
  await page.evaluate(() => {
    window.seen = { values: new Set(), texts: new Set(), tops: new Set() };
    const look = () => {
      const bar = document.querySelector(".doc [role=progressbar][aria-label='Progress of long.md']");
      if (bar) window.seen.values.add(bar.getAttribute("aria-valuenow"));
      const long = [...document.querySelectorAll(".doc")].find((d) => d.textContent.includes("long.md"));
      const text = long?.querySelector("small")?.textContent.replace(/\d+/g, "N");
      if (text) window.seen.texts.add(text);
      const first = [...document.querySelectorAll(".doc")].find((d) => d.textContent.includes("first.md"));
      if (long && first) window.seen.tops.add(first.getBoundingClientRect().top);
      requestAnimationFrame(look);
    };
    look();
  });
  await addFiles(tab, file("long.md", longText(60)));
  await until(() => page.getByRole("progressbar", { name: "Progress of long.md" }).count(), "the progress");
  // Without the list, only events can move the progress.
  await page.route("**/graphql", (route) => (route.request().postData()?.includes("query Documents") ? route.abort() : route.continue()));
  tab.outage = true;
  await until(async () => (await page.evaluate(() => window.seen.values.size)) > 3, "several values of the progress", 60_000);
  await waitForStatus(tab, "long.md", "Ready");
  await page.unrouteAll({ behavior: "ignoreErrors" });
  const { texts, tops } = await page.evaluate(() => ({ texts: [...window.seen.texts], tops: [...window.seen.tops] }));
  assert.ok(texts.some((t) => t.startsWith("Learning facts: N of N passages")), texts.join(" | "));
  assert.equal(tops.length, 1, "the row below has not moved");
  await tab.context.close();
});

test("a page opened by its URL shifts nothing while it loads", async () => {
  const tab = await openPlace();
  const { page } = tab;
  await addFiles(tab, file("handbook.pdf", handbook()));
  await waitForStatus(tab, "handbook.pdf", "Ready");
  await addFiles(tab, file("handbook.pdf", handbook(5100)));
  await until(async () => (await row(tab, "handbook.pdf").count()) === 1 && /version 2/.test(await row(tab, "handbook.pdf").innerText()), "version 2 alone");
  const href = await row(tab, "handbook.pdf").locator("a").getAttribute("href");
  for (const [address, last] of [["#/d", ".doc"], [href, ".reading-text h2"]]) {
    const own = await tab.context.newPage();
    await own.addInitScript(recordShifts);
    await own.goto(`${server.url}/${address}`);
    await waitForElement(own.locator(last).first(), "the content");
    await own.evaluate(() => new Promise((done) => setTimeout(done, 800)));
    assert.deepEqual(await own.evaluate(() => window.shifts), [], address);
    await own.close();
  }
  await tab.context.close();
});

test("a busy server gets the file again", async () => {
  const tab = await openPlace();
  const { page } = tab;
  tab.outage = true;
  let refused = 0;
  await page.route("**/documents", (route) => {
    if (route.request().method() !== "POST" || refused > 0) return route.continue();
    refused += 1;
    return route.fulfill({ status: 429, headers: { "retry-after": "2" }, contentType: "application/problem+json", body: JSON.stringify({ code: "RATE_LIMITED", detail: "Too many requests. Try again in 2 seconds." }) });
  });
  await addFiles(tab, file("a.md", "# A\n\nText."));
  await waitForElement(page.getByText("Too many requests. Try again in 2 seconds."), "the reason of the wait");
  await waitForStatus(tab, "a.md", "Ready");
  assert.equal(refused, 1);
  await tab.context.close();
});

test("evidence from a document opens its passage", async () => {
  const tab = await openPlace();
  const { page } = tab;
  await addFiles(tab, file("staff.md", "# Staff\n\nWilma works at Nordwind."));
  await waitForStatus(tab, "staff.md", "Ready");
  await page.getByRole("link", { name: "Chat" }).click();
  await waitForPhase(tab, "live");
  await newSession(tab);
  await say(tab, "Wilma likes tea.");
  await page.locator(".message .mention", { hasText: "Wilma" }).first().click();
  await page.locator(".entity .fact-line", { hasText: "Nordwind" }).click();
  const evidence = page.locator(".entity .evidence li button");
  await waitForElement(evidence, "the evidence");
  assert.match(await evidence.first().innerText(), /staff\.md/);
  await evidence.first().click();
  await waitForElement(page.locator(".reading-text mark", { hasText: "Wilma works at Nordwind" }), "the passage");
  await page.goBack();
  await page.locator(".mentions a", { has: page.locator("q", { hasText: "Nordwind" }) }).first().click();
  await waitForElement(page.locator(".reading-text mark", { hasText: "Wilma works at Nordwind" }), "the passage from the mention");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("refused, failed and known files say why, in the server's words", async () => {
  const tab = await openPlace();
  const { page } = tab;
  tab.outage = true; // The browser logs the refusals.
  const large = Buffer.alloc(MAX_BYTES + 5000, "word ");
  await addFiles(tab, file("large.txt", large), file("empty.txt", ""), file("broken.pdf", "%PDF-1.7\nnothing"), file("a.md", "# Same\n\nThe same text."));
  await waitForStatus(tab, "a.md", "Ready");
  await waitForStatus(tab, "broken.pdf", "Failed");
  assert.match(await row(tab, "large.txt").innerText(), /The file is too large\. This server takes files of up to 60000 bytes\./);
  assert.match(await row(tab, "empty.txt").innerText(), /The file is empty\. Choose another one\./);
  const { documents } = await server.graphql("{ documents(first: 10, filter: { status: FAILED }) { nodes { error } } }");
  assert.ok((await row(tab, "broken.pdf").innerText()).includes(documents.nodes[0].error));
  assert.match(await row(tab, "broken.pdf").innerText(), /Add a corrected file with the same name, or delete it\./);

  await addFiles(tab, file("photo.png", Buffer.from("89504e470d0a1a0a0000000d49484452", "hex")));
  await waitForStatus(tab, "photo.png", "Failed");
  assert.match(await row(tab, "photo.png").innerText(), /Add its content in one of these formats, and delete this file\./);
  await until(async () => /^photo\.png could not be read\./.test(await page.locator('.documents > [role="status"]').textContent()), "the failure to be announced");

  await addFiles(tab, file("copy of a.md", "# Same\n\nThe same text."));
  await waitForStatus(tab, "copy of a.md", "Duplicate");
  assert.match(await row(tab, "copy of a.md").innerText(), /The same content is stored already/);
  await page.getByRole("link", { name: "Open the document" }).click();
  await waitForElement(page.getByRole("heading", { name: "Same", level: 1 }), "the known document");
  await page.getByRole("link", { name: "All documents" }).click();
  await page.getByRole("button", { name: "Hide copy of a.md" }).click();
  assert.equal(await row(tab, "copy of a.md").count(), 0);

  await page.locator(".doc a", { hasText: "broken.pdf" }).click();
  await waitForElement(page.getByRole("heading", { name: "This file could not be read" }), "the reason");
  assert.ok((await page.locator(".failure-card").innerText()).includes(documents.nodes[0].error));

  // A corrected file of the same name replaces it.
  await page.getByRole("link", { name: "All documents" }).click();
  await addFiles(tab, file("broken.pdf", handbook()));
  await until(async () => (await row(tab, "broken.pdf").count()) === 1 && (await chip(tab, "broken.pdf").innerText()) === "Ready", "the corrected file alone");
  await tab.context.close();
});

test("a new version replaces the old one, which stays readable", async () => {
  const tab = await openPlace();
  const { page } = tab;
  await addFiles(tab, file("handbook.pdf", handbook()));
  await waitForStatus(tab, "handbook.pdf", "Ready");
  await addFiles(tab, file("handbook.pdf", handbook(5100)));
  await until(async () => (await row(tab, "handbook.pdf").count()) === 1 && /version 2/.test(await row(tab, "handbook.pdf").innerText()), "version 2 alone");
  const ask = page.getByRole("textbox", { name: "Ask your documents" });
  await ask.fill("What is the travel budget of the north office?");
  await page.keyboard.press("Enter");
  await until(async () => /5100 euros/.test((await page.locator(".found li").allInnerTexts())[0] ?? ""), "the new version to be found");
  assert.ok(!(await page.locator(".found").innerText()).includes("4200"));

  await page.getByLabel("Show replaced versions").check();
  await until(async () => (await row(tab, "handbook.pdf").count()) === 2, "both versions");
  assert.match(await row(tab, "handbook.pdf").last().innerText(), /version 1, replaced/);
  await row(tab, "handbook.pdf").last().locator("a").click();
  await until(async () => /4200 euros/.test(await page.locator(".reading-text").innerText()), "the old text");
  await until(async () => /Searches use a newer version/.test(await page.locator(".doc-head").innerText()), "the note about the newer version");
  await page.getByRole("link", { name: "version 2" }).click();
  await until(async () => /5100 euros/.test(await page.locator(".reading-text").innerText()), "the new text");

  await page.getByRole("button", { name: "Delete handbook.pdf" }).click();
  await page.getByRole("button", { name: "Delete?" }).click();
  await waitForElement(page.getByRole("heading", { name: "Documents", level: 1 }), "the list");
  await until(async () => (await row(tab, "handbook.pdf").count()) === 1 && !/version/.test(await row(tab, "handbook.pdf").innerText()), "version 1 to be current again");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("a deleted document is neither listed, found nor opened", async () => {
  const tab = await openPlace();
  const { page } = tab;
  await addFiles(tab, file("handbook.pdf", handbook()), file("other.md", "# Other\n\nThe garden fence is green."));
  await waitForStatus(tab, "handbook.pdf", "Ready");
  await waitForStatus(tab, "other.md", "Ready");
  const href = await row(tab, "handbook.pdf").locator("a").getAttribute("href");
  const remove = page.getByRole("button", { name: "Delete handbook.pdf" });
  await remove.click();
  await page.keyboard.press("Escape");
  await waitForElement(remove, "the cancelled deletion");
  await remove.click();
  await page.getByRole("button", { name: "Delete?" }).click();
  await until(async () => (await row(tab, "handbook.pdf").count()) === 0, "the row to go");
  await until(async () => (await page.getByRole("status").allInnerTexts()).includes("handbook.pdf was deleted."), "the announcement");
  assert.equal(await row(tab, "other.md").count(), 1);
  const { documents } = await server.graphql("{ documents(first: 10) { nodes { filename } } }");
  assert.deepEqual(documents.nodes, [{ filename: "other.md" }]);
  await page.getByRole("textbox", { name: "Ask your documents" }).fill("travel budget");
  await page.keyboard.press("Enter");
  await waitForElement(page.locator(".ask :is(.found, .soft:nth-of-type(2), form + .soft)"), "the result");
  assert.ok(!(await page.locator(".ask").innerText()).includes("4200"));
  await page.goto(`${server.url}/${href}`);
  await waitForElement(page.getByRole("heading", { name: "There is no such document" }), "the missing document");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("questions find passages of one document or all, and can go to the chat", async () => {
  const tab = await openPlace();
  const { page } = tab;
  await addFiles(tab, file("north.md", "# North\n\nThe budget of the north office is 4200 euros."), file("south.md", "# South\n\nThe budget of the south office is 900 euros."));
  await waitForStatus(tab, "north.md", "Ready");
  await waitForStatus(tab, "south.md", "Ready");
  const ask = async (name, question) => {
    await page.getByRole("textbox", { name }).fill(question);
    await page.getByRole("button", { name: "Find" }).click();
    await waitForElement(page.locator(".found li"), "passages");
    return (await page.locator(".found li").allInnerTexts()).join("\n");
  };
  const everywhere = await ask("Ask your documents", "What is the budget of the office?");
  assert.match(everywhere, /north\.md/);
  assert.match(everywhere, /south\.md/);
  await page.locator(".doc a", { hasText: "south.md" }).click();
  const here = await ask("Ask about this document", "What is the budget of the office?");
  assert.match(here, /900 euros/);
  assert.ok(!here.includes("4200"), here);
  await page.locator(".found a").first().click();
  await expectCitedPassage(tab, "The budget of the south office is 900 euros.");
  await page.getByRole("textbox", { name: "Ask about this document" }).fill("What is the budget of the south office?");
  await page.getByRole("button", { name: "ask in the chat" }).press("Enter");
  await waitForElement(page.locator(".message.own", { hasText: "What is the budget of the south office?" }), "the question in the chat");
  await until(() => page.getByRole("textbox", { name: "Message" }).evaluate((node) => node === document.activeElement), "the focus on the message field");
  await until(async () => /900/.test((await page.locator(".message.assistant").allInnerTexts()).join(" ")), "the answer");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("search and filter narrow the list", async () => {
  const tab = await openPlace();
  const { page } = tab;
  await addFiles(tab, file("alpha.md", "# Alpha\n\nOne."), file("beta.md", "# Beta\n\nTwo."), file("broken.pdf", "%PDF-1.7\nnothing"));
  await waitForStatus(tab, "alpha.md", "Ready");
  await waitForStatus(tab, "beta.md", "Ready");
  await waitForStatus(tab, "broken.pdf", "Failed");
  const names = () => page.locator(".doc-text > a").allInnerTexts();
  const expectNames = (expected, what) => until(async () => JSON.stringify(await names()) === JSON.stringify(expected), what);
  const search = page.getByRole("searchbox", { name: "Search by name or title" });
  await search.pressSequentially("alpha one");
  assert.equal(await search.inputValue(), "alpha one", "the space stays");
  await search.fill("ALPHA ");
  await expectNames(["alpha.md"], "the search");
  await search.fill("zzz");
  await waitForElement(page.getByText("No document matches."), "the empty result");
  await page.getByRole("button", { name: "Show all documents" }).click();
  await expectNames(["broken.pdf", "beta.md", "alpha.md"], "all");
  await page.getByLabel("Status").selectOption("Failed");
  await expectNames(["broken.pdf"], "the failed ones");
  // A new file must be visible, so it ends the filter.
  await addFiles(tab, file("gamma.md", "# Gamma\n\nThree."));
  await expectNames(["gamma.md", "broken.pdf", "beta.md", "alpha.md"], "all with the new one");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("shared documents have a badge, and the passage of a shared one opens", async () => {
  const tab = await openPlace();
  const { page } = tab;
  await page.getByLabel("Share new files with all users").check();
  await addFiles(tab, file("rules.md", "# Rules\n\nThe library opens at eight."));
  await waitForStatus(tab, "rules.md", "Ready");
  const list = page.getByRole("region", { name: "Shared documents" });
  assert.match(await list.innerText(), /1 shared document/);
  assert.equal(await list.locator(".badge").first().innerText(), "shared");
  await page.getByRole("textbox", { name: "Ask your documents" }).fill("When does the library open?");
  await page.keyboard.press("Enter");
  await waitForElement(page.locator(".found .badge"), "the badge of the passage");
  await page.locator(".found a").first().click();
  await expectCitedPassage(tab, "The library opens at eight.");
  assert.match(await page.locator(".doc-head").innerText(), /shared/);
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("a passage deep in a long document opens at its place", async () => {
  const tab = await openPlace();
  const { page } = tab;
  await addFiles(tab, file("long.md", longText(140)));
  await until(() => page.getByText("You can ask about it already.").count(), "the text to be stored", 60_000);
  await page.locator(".doc a", { hasText: "long.md" }).click();
  await waitForElement(page.getByRole("button", { name: /Show more of the text \(100 of 1\d\d passages\)/ }), "the first part");
  const sections = await page.locator(".reading-text section").count();
  assert.ok(sections < 140);
  await page.getByRole("textbox", { name: "Ask about this document" }).fill("Who repairs the lamp of room 131? Person131");
  await page.keyboard.press("Enter");
  await page.locator(".found a", { hasText: "room 131 " }).first().click();
  await expectCitedPassage(tab, "The lamp of room 131 is repaired by Person131.");
  const headings = await page.locator(".reading-text h2").allInnerTexts();
  assert.deepEqual(headings.slice(0, 131), Array.from({ length: 131 }, (_, i) => `Chapter ${i + 1}`));
  const text = await page.locator(".reading-text").innerText();
  assert.equal(text.split("room 57 ").length, 2, "overlapping chunks repeat no text");
  await tab.context.close();
});

test("the keyboard alone adds, asks, reads and deletes", async () => {
  const tab = await openPlace();
  const { page } = tab;
  const focused = () => page.evaluate(() => (document.activeElement.getAttribute("aria-label") ?? document.activeElement.textContent).trim());
  const tabTo = async (name, most = 40) => {
    for (let i = 0; i < most; i += 1) {
      if ((await focused()) === name) return;
      await page.keyboard.press("Tab");
    }
    assert.fail(`${name} is not reached with the Tab key`);
  };
  const chooser = page.waitForEvent("filechooser");
  await tabTo("Add files");
  await page.keyboard.press("Enter");
  await (await chooser).setFiles([file("handbook.pdf", handbook())]);
  await waitForStatus(tab, "handbook.pdf", "Ready");
  await tabTo("Ask your documents");
  await page.keyboard.type("What is the travel budget of the north office?");
  await page.keyboard.press("Enter");
  await waitForElement(page.locator(".found li"), "the passages");
  for (let i = 0; i < 10 && !(await page.evaluate(() => document.activeElement.closest(".found") !== null)); i += 1) await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await expectCitedPassage(tab, BUDGET);
  await page.goBack();
  await waitForElement(page.locator(".doc"), "the list");
  assert.equal(await page.evaluate(() => document.activeElement.id), "main", "the focus is in the new view");
  await tabTo("Delete handbook.pdf");
  await page.keyboard.press("Enter");
  assert.equal(await focused(), "Delete?");
  await page.keyboard.press("Enter");
  await until(async () => (await row(tab, "handbook.pdf").count()) === 0, "the deletion");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("a screen reader finds names, states and headings", async () => {
  const tab = await openPlace();
  const { page } = tab;
  await addFiles(tab, file("handbook.pdf", handbook()));
  await waitForStatus(tab, "handbook.pdf", "Ready");
  const list = await page.getByRole("main").ariaSnapshot();
  for (const part of ['main "Documents"', 'heading "Documents" [level=1]', 'button "Add files"', 'textbox "Ask your documents"', 'searchbox "Search by name or title"', 'combobox "Status"', 'link "handbook.pdf"', "Ready", 'button "Delete handbook.pdf"']) {
    assert.ok(list.includes(part), `${part} in\n${list}`);
  }
  await page.locator(".doc a").click();
  await waitForElement(page.locator(".reading-text h2"), "the text");
  const text = await page.getByRole("main").ariaSnapshot();
  for (const part of ['main "Document"', 'heading "House rules" [level=1]', 'heading "Travel" [level=2]', 'textbox "Ask about this document"', 'link "All documents"', 'link "Download the file"']) {
    assert.ok(text.includes(part), `${part} in\n${text}`);
  }
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Download the file" }).click()]);
  assert.equal(download.suggestedFilename(), "handbook.pdf");
  await tab.context.close();
});

test("on a phone, nothing is wider than the screen and targets are large", async () => {
  const tab = await openPlace(PHONE);
  const { page } = tab;
  await addFiles(tab, file("handbook.pdf", handbook()), file(`${"a-very-long-name-".repeat(6)}.md`, "# Long\n\nText."), file("broken.pdf", "%PDF-1.7\nnothing"));
  await waitForStatus(tab, "handbook.pdf", "Ready");
  await waitForStatus(tab, "broken.pdf", "Failed");
  await expectFit(tab, "the list");
  for (const button of await page.locator(".doc > .icon-button").all()) {
    const box = await button.boundingBox();
    assert.ok(box.width >= 44 && box.height >= 44);
  }
  await page.getByRole("textbox", { name: "Ask your documents" }).fill("What is the travel budget of the north office?");
  await page.getByRole("button", { name: "Find" }).click();
  await waitForElement(page.locator(".found li"), "the passages");
  await expectFit(tab, "the passages");
  await page.locator(".found a").first().click();
  await expectCitedPassage(tab, BUDGET);
  await expectFit(tab, "the text");
  await tab.context.close();
});

test("with reduced motion, nothing moves", async () => {
  const tab = await openPlace({ reducedMotion: "reduce" });
  const { page } = tab;
  await page.evaluate(() => {
    window.longest = 0;
    const look = () => {
      for (const animation of document.getAnimations()) window.longest = Math.max(window.longest, Number(animation.effect.getComputedTiming().activeDuration));
      requestAnimationFrame(look);
    };
    look();
  });
  await addFiles(tab, file("long.md", longText(20)), file("handbook.pdf", handbook()));
  await waitForStatus(tab, "handbook.pdf", "Ready");
  await page.getByRole("textbox", { name: "Ask your documents" }).fill("What is the travel budget of the north office?");
  await page.keyboard.press("Enter");
  await page.locator(".found a").first().click();
  await expectCitedPassage(tab, BUDGET);
  assert.ok((await page.evaluate(() => window.longest)) < 1, "animations end at once");
  await tab.context.close();
});
