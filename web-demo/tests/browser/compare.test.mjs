// Comparing documents in the demo, in a real Chromium against the real server.
import assert from "node:assert/strict";
import { test } from "node:test";
import { waitForElement } from "./demo-page.mjs";
import { addFiles, expectFit, file, openDocuments, recordShifts, waitForStatus } from "./documents-page.mjs";
import { handbook } from "./files.mjs";
import { until, withServerAndBrowser } from "./harness.mjs";

const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
const QUESTION = "How high is the travel budget?";
const UNKNOWN = "00000000-0000-7000-8000-000000000000";

let server;
let browser;
withServerAndBrowser((started) => { ({ server, browser } = started); });

const textOf = (office, budget) => `# Travel\n\nThe travel budget of the ${office} office is ${budget} euros. Trains are preferred to flights within the country.`;
const NORTH = file("north.md", textOf("north", 4200));
const SOUTH = file("south.md", textOf("south", 900));
const GARDEN = file("garden.md", "# Garden\n\nThe roses are watered on Mondays. The fence is painted green.");

async function openPlace(files, options) {
  const tab = await openDocuments(server, browser, options);
  await addFiles(tab, ...files);
  for (const { name } of files) await waitForStatus(tab, name, "Ready");
  return tab;
}

const box = (tab, name) => tab.page.locator(".doc[data-document]", { hasText: name }).getByRole("checkbox");
const compareButton = (tab) => tab.page.getByRole("button", { name: "Compare", exact: true, pressed: false });
const point = (tab, group, text) => tab.page.getByRole("region", { name: group }).locator("li[data-point]", { hasText: text });

/** Chooses documents and starts a comparison. */
async function compare(tab, names, question = "") {
  await compareButton(tab).click();
  for (const name of names) await box(tab, name).check();
  await tab.page.getByRole("textbox", { name: "Question (optional)" }).fill(question);
  await tab.page.getByRole("button", { name: `Compare ${names.length}` }).click();
}
const waitForReport = (tab) => waitForElement(tab.page.getByRole("region", { name: "Differences" }), "the report");

test("chosen documents are compared, and a mark opens its passage", async () => {
  const tab = await openPlace([NORTH, SOUTH, GARDEN]);
  const { page } = tab;
  await compare(tab, ["north.md", "south.md", "garden.md"], QUESTION);
  await waitForElement(page.getByRole("heading", { name: QUESTION, level: 1 }), "the question");
  await waitForReport(tab);
  assert.deepEqual(await page.getByRole("list", { name: "Compared documents" }).getByRole("link").allInnerTexts(), ["north.md", "south.md", "garden.md"]);
  assert.deepEqual((await page.locator(".points h2").allInnerTexts()).map((text) => text.split(" ")[0]), ["Similarities", "Differences", "Insights"]);
  const budget = point(tab, "Differences", "4200").first();
  await waitForElement(budget, "the difference");
  assert.match(await budget.innerText(), /900/);
  assert.match(await budget.innerText(), /north\.md/);
  assert.match(await budget.innerText(), /south\.md/);

  // A reload stays on the report.
  await page.reload();
  await waitForElement(point(tab, "Differences", "4200"), "the report after a reload");
  const mark = point(tab, "Differences", "4200").first().locator(".point-text .cite").first();
  const name = await mark.getAttribute("aria-label");
  const quote = await point(tab, "Differences", "4200").first().locator(".sources q").first().innerText();
  await mark.click();
  await waitForElement(page.locator(".reading-text mark.quoted"), "the cited words");
  const words = (await page.locator(".reading-text mark.quoted").allInnerTexts()).join(" ");
  assert.ok(words.length > 10 && quote.includes(words.slice(0, 40)), `${words} in ${quote}`);

  // Back returns to the mark.
  await page.goBack();
  await until(() => page.evaluate((expected) => document.activeElement.getAttribute("aria-label") === expected && document.activeElement.closest("[data-group]")?.dataset.group === "Differences", name), "the focus on the mark");
  await point(tab, "Differences", "4200").first().locator(".sources button").last().click();
  await waitForElement(page.locator(".reading-text mark"), "the passage of the source");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("documents that say nothing about a point are named", async () => {
  const tab = await openPlace([NORTH, GARDEN]);
  const { page } = tab;
  await compare(tab, ["north.md", "garden.md"]);
  await waitForElement(page.getByRole("heading", { name: "Comparison", level: 1 }), "the report without a question");
  await waitForReport(tab);
  await until(async () => (await page.locator(".silent").count()) > 0, "a silent document");
  assert.match(await page.locator(".silent").first().innerText(), /^(north|garden)\.md says nothing about it\.$/);
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("comparisons are listed and deleted", async () => {
  const tab = await openPlace([NORTH, SOUTH]);
  const { page } = tab;
  assert.equal(await page.getByRole("region", { name: "Comparisons" }).count(), 0);
  await compare(tab, ["north.md", "south.md"], QUESTION);
  await waitForReport(tab);
  await page.getByRole("link", { name: "All documents" }).click();
  const list = page.getByRole("region", { name: "Comparisons" });
  await waitForElement(list.getByRole("link", { name: QUESTION }), "the comparison in the list");
  assert.match(await list.innerText(), /north\.md and south\.md/);
  assert.equal(await list.locator(".chip-status").innerText(), "Ready");
  await compare(tab, ["north.md", "south.md"]);
  await waitForReport(tab);
  const address = page.url();
  await page.getByRole("button", { name: /^Delete Comparison of/ }).click();
  await page.getByRole("button", { name: "Delete?" }).click();
  await waitForElement(list, "the list");
  assert.equal(await list.locator(".comparison").count(), 1);
  await list.getByRole("button", { name: `Delete ${QUESTION}` }).click();
  await list.getByRole("button", { name: "Delete?" }).click();
  await until(async () => (await list.count()) === 0, "the empty list");
  for (const url of [address, `${server.url}/#/c/${UNKNOWN}`, `${server.url}/#/c/x`]) {
    await page.goto(url);
    await waitForElement(page.getByRole("heading", { name: "There is no such comparison" }), "the missing comparison");
  }
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("only read documents can be chosen, at least two and at most five", async () => {
  const many = Array.from({ length: 6 }, (_, i) => file(`note ${i}.md`, `# Note ${i}\n\nThe number of this note is ${i}.`));
  const tab = await openPlace(many);
  const { page } = tab;
  await addFiles(tab, file("broken.pdf", "%PDF-1.7\nnothing"));
  await waitForStatus(tab, "broken.pdf", "Failed");
  await compareButton(tab).click();
  const start = page.locator(".compare-form button[type=submit]");
  assert.ok(await box(tab, "broken.pdf").isDisabled());
  assert.ok(await start.isDisabled());
  for (let i = 0; i < 5; i += 1) {
    assert.equal(await start.isDisabled(), i < 2);
    await box(tab, `note ${i}.md`).check();
  }
  assert.ok(await box(tab, "note 5.md").isDisabled());
  assert.equal(await start.innerText(), "Compare 5");

  // A search keeps the choice, and a chosen document can be taken back without its row.
  await page.getByRole("searchbox", { name: "Search by name or title" }).fill("note 5");
  await until(async () => (await page.locator(".doc[data-document]").count()) === 1, "the search");
  await page.getByRole("button", { name: "note 0.md, remove" }).click();
  await box(tab, "note 5.md").check();
  assert.deepEqual(await page.getByRole("list", { name: "Chosen documents" }).getByRole("button").allInnerTexts(), [1, 2, 3, 4, 5].map((i) => `note ${i}.md`));
  await page.getByRole("button", { name: "Cancel" }).click();
  assert.equal(await page.getByRole("checkbox", { name: /note/ }).count(), 0);
  await waitForElement(page.locator(".doc a", { hasText: "note 5.md" }), "the links again");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Compare");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("progress is shown until the report replaces it, and nothing moves", async () => {
  const tab = await openPlace([NORTH, SOUTH]);
  const { page } = tab;
  // The first answer says that the comparison is unfinished. The next ones are the server's, and wait for the test.
  let release;
  const released = new Promise((resolve) => { release = resolve; });
  let answers = 0;
  await page.route("**/graphql", async (route) => {
    if (!route.request().postData()?.includes("query GetComparison")) return route.continue();
    answers += 1;
    if (answers > 1) {
      await released;
      return route.continue();
    }
    // Afterwards no event arrives that would change the progress.
    const response = await until(async () => {
      const fetched = await route.fetch();
      return (await fetched.json()).data.comparison.status === "COMPLETED" && fetched;
    }, "the end of the comparison");
    const body = await response.json();
    Object.assign(body.data.comparison, { status: "PROCESSING", done: 1, total: 4, comparer: null, similarities: [], differences: [], insights: [] });
    return route.fulfill({ response, json: body });
  });
  await compare(tab, ["north.md", "south.md"], QUESTION);
  const progress = page.getByRole("progressbar", { name: "Progress of the comparison" });
  await waitForElement(progress, "the progress");
  assert.equal(await progress.getAttribute("aria-valuenow"), "25");
  assert.match(await page.locator(".doc-progress").innerText(), /Comparing: 1 of 4 steps\./);
  await page.evaluate(() => {
    window.tops = new Set();
    const look = () => {
      window.tops.add(document.querySelector(".doc-progress").getBoundingClientRect().top);
      requestAnimationFrame(look);
    };
    look();
  });
  release();
  await waitForElement(point(tab, "Differences", "4200"), "the report");
  assert.match(await page.locator(".doc-progress").innerText(), /Ready\./);
  assert.equal(await progress.getAttribute("aria-valuenow"), "100");
  assert.equal(await page.evaluate(() => window.tops.size), 1, "the progress keeps its place");
  assert.equal(await page.getByRole("status").filter({ hasText: "The comparison is ready." }).count(), 1, "a screen reader hears the end");
  await page.unrouteAll({ behavior: "ignoreErrors" });
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("a failed comparison says why, and can be tried again", async () => {
  const tab = await openPlace([NORTH, SOUTH]);
  const { page } = tab;
  let fails = true;
  await page.route("**/graphql", async (route) => {
    const response = await route.fetch();
    if (!fails || !route.request().postData()?.includes("query GetComparison")) return route.fulfill({ response });
    const body = await response.json();
    Object.assign(body.data.comparison, { status: "FAILED", error: "The model did not answer.", similarities: [], differences: [], insights: [] });
    return route.fulfill({ response, json: body });
  });
  await compare(tab, ["north.md", "south.md"], QUESTION);
  await waitForElement(page.getByRole("heading", { name: "The documents could not be compared" }), "the failure");
  assert.match(await page.locator(".failure-card").innerText(), /The model did not answer\./);
  assert.equal(await page.getByRole("region", { name: "Differences" }).count(), 0);
  fails = false;
  const before = page.url();
  await page.getByRole("button", { name: "Compare them again" }).click();
  await waitForElement(point(tab, "Differences", "4200"), "the report of the second attempt");
  assert.notEqual(page.url(), before);
  await page.unrouteAll({ behavior: "ignoreErrors" });
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("a refused comparison keeps the choice and says why", async () => {
  const tab = await openPlace([NORTH, SOUTH]);
  const { page } = tab;
  await compareButton(tab).click();
  for (const name of ["north.md", "south.md"]) await box(tab, name).check();
  // Another page deletes a chosen document.
  const { documents } = await server.graphql("{ documents(first: 10, filter: { text: \"south\" }) { nodes { id } } }");
  await server.graphql("mutation ($i: DeleteDocumentInput!) { deleteDocument(input: $i) { errors { message } } }", { i: { id: documents.nodes[0].id } });
  await page.getByRole("button", { name: "Compare 2" }).click();
  await waitForElement(page.locator(".compare-form .trouble"), "the reason");
  assert.ok((await page.locator(".compare-form .trouble").innerText()).length > 10);
  assert.deepEqual(await page.getByRole("list", { name: "Chosen documents" }).getByRole("button").allInnerTexts(), ["north.md", "south.md"]);
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("versions of a document are told apart", async () => {
  const tab = await openPlace([file("handbook.pdf", handbook())]);
  const { page } = tab;
  await addFiles(tab, file("handbook.pdf", handbook(5100)));
  await until(async () => /version 2/.test(await page.locator(".doc[data-document]").first().innerText()), "version 2");
  await waitForStatus(tab, "handbook.pdf", "Ready");
  await page.getByLabel("Show replaced versions").check();
  await until(async () => (await page.locator(".doc[data-document]").count()) === 2, "both versions");
  await compareButton(tab).click();
  for (const choice of await page.getByRole("checkbox", { name: "handbook.pdf" }).all()) await choice.check();
  await page.getByRole("button", { name: "Compare 2" }).click();
  await waitForReport(tab);
  assert.deepEqual(await page.getByRole("list", { name: "Compared documents" }).getByRole("link").allInnerTexts(), ["handbook.pdf (version 2)", "handbook.pdf (version 1)"]);
  await waitForElement(point(tab, "Differences", "5100"), "the changed budget");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("the keyboard alone chooses, compares and reads", async () => {
  const tab = await openPlace([NORTH, SOUTH]);
  const { page } = tab;
  const focused = () => page.evaluate(() => {
    const { activeElement: node } = document;
    return (node.getAttribute("aria-label") ?? node.labels?.[0]?.textContent ?? node.textContent).trim();
  });
  const tabTo = async (name, most = 40) => {
    for (let i = 0; i < most; i += 1) {
      if (name.test(await focused())) return;
      await page.keyboard.press("Tab");
    }
    assert.fail(`${name} is not reached with the Tab key`);
  };
  await tabTo(/^Compare$/);
  await page.keyboard.press("Enter");
  for (const name of [/^south\.md$/, /^north\.md$/]) {
    await tabTo(name);
    await page.keyboard.press("Space");
  }
  await tabTo(/^Question/);
  await page.keyboard.type(QUESTION);
  await page.keyboard.press("Enter");
  await waitForReport(tab);
  assert.equal(await page.evaluate(() => document.activeElement.id), "main", "the focus is in the new view");
  await tabTo(/^Source 1, /);
  await page.keyboard.press("Enter");
  await waitForElement(page.locator(".reading-text mark"), "the passage");
  await page.goBack();
  await until(async () => /^Source 1, /.test(await focused()), "the focus on the mark");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("a screen reader finds names, states and headings", async () => {
  const tab = await openPlace([NORTH, SOUTH]);
  const { page } = tab;
  await compareButton(tab).click();
  await box(tab, "north.md").check();
  const choice = await page.getByRole("main").ariaSnapshot();
  for (const part of ['button "Compare" [pressed]', 'checkbox "north.md" [checked]', 'checkbox "south.md"', 'form "Compare documents"', 'button "north.md, remove"', 'textbox "Question (optional)"', "1 of 5 documents chosen"]) {
    assert.ok(choice.includes(part), `${part} in\n${choice}`);
  }
  await box(tab, "south.md").check();
  await page.getByRole("button", { name: "Compare 2" }).click();
  await waitForElement(point(tab, "Differences", "4200"), "the report");
  const report = await page.getByRole("main").ariaSnapshot();
  for (const part of ['main "Comparison"', 'heading "Comparison" [level=1]', 'list "Compared documents"', 'region "Similarities"', 'region "Differences"', 'region "Insights"', 'button "Source 1, ', 'list "Sources"', 'link "All documents"']) {
    assert.ok(report.includes(part), `${part} in\n${report}`);
  }
  await tab.context.close();
});

test("a report opened by its URL shifts nothing while it loads", async () => {
  const tab = await openPlace([NORTH, SOUTH]);
  await compare(tab, ["north.md", "south.md"], QUESTION);
  await waitForReport(tab);
  for (const [address, last] of [[tab.page.url(), ".points"], [`${server.url}/#/d`, ".comparison"]]) {
    const own = await tab.context.newPage();
    await own.addInitScript(recordShifts);
    await own.goto(address);
    await waitForElement(own.locator(last).first(), "the content");
    await own.evaluate(() => new Promise((done) => setTimeout(done, 800)));
    assert.deepEqual(await own.evaluate(() => window.shifts), [], address);
    await own.close();
  }
  await tab.context.close();
});

test("on a phone, nothing is wider than the screen and targets are large", async () => {
  const long = file(`${"a-very-long-name-".repeat(6)}.md`, textOf("long", 7));
  const tab = await openPlace([NORTH, SOUTH, long], PHONE);
  const { page } = tab;
  const { height } = await compareButton(tab).boundingBox();
  assert.ok(height >= 44);
  await compareButton(tab).click();
  // The whole row is the target.
  for (const name of ["north.md", "south.md", "a-very-long-name"]) await page.locator(".doc[data-document]", { hasText: name }).locator(".chip-status").click({ force: true });
  await expectFit(tab, "the choice");
  await page.getByRole("textbox", { name: "Question (optional)" }).fill(QUESTION);
  await page.getByRole("button", { name: "Compare 3" }).click();
  await waitForReport(tab);
  await expectFit(tab, "the report");
  await page.getByRole("link", { name: "All documents" }).click();
  await waitForElement(page.locator(".comparison"), "the list");
  await expectFit(tab, "the list");
  await tab.context.close();
});

test("with reduced motion, nothing moves", async () => {
  const tab = await openPlace([NORTH, SOUTH], { reducedMotion: "reduce" });
  const { page } = tab;
  await page.evaluate(() => {
    window.longest = 0;
    const look = () => {
      for (const animation of document.getAnimations()) window.longest = Math.max(window.longest, Number(animation.effect.getComputedTiming().activeDuration));
      requestAnimationFrame(look);
    };
    look();
  });
  await compare(tab, ["north.md", "south.md"]);
  await waitForReport(tab);
  assert.ok((await page.evaluate(() => window.longest)) < 1, "animations end at once");
  await tab.context.close();
});

test("events move the progress, which never goes back", async () => {
  const tab = await openPlace([NORTH, SOUTH]);
  const { page } = tab;
  // The test plays the log of the comparison. Until its last event, every answer says that nothing is done.
  let log;
  await page.routeWebSocket(/graphql\/ws/, (socket) => {
    const connection = socket.connectToServer();
    socket.onMessage((text) => {
      const { type, id, payload } = JSON.parse(text);
      if (type === "subscribe" && page.url().endsWith(payload.variables.sessionId)) log = { socket, id, after: payload.variables.after, comparison: payload.variables.sessionId };
      else connection.send(text);
    });
  });
  let ended = false;
  let answers = 0;
  await page.route("**/graphql", async (route) => {
    if (ended || !route.request().postData()?.includes("query GetComparison")) return route.continue();
    const response = await route.fetch();
    const body = await response.json();
    Object.assign(body.data.comparison, { status: "PROCESSING", done: 0, total: 4, comparer: null, similarities: [], differences: [], insights: [] });
    await route.fulfill({ response, json: body });
    answers += 1;
  });
  await page.reload();
  await waitForElement(page.locator(".doc[data-document]"), "the documents");
  await compare(tab, ["north.md", "south.md"], QUESTION);
  const progress = page.getByRole("progressbar", { name: "Progress of the comparison" });
  await waitForElement(progress, "the progress");
  await until(() => log, "the page to follow the log");
  const [epoch, head] = [log.after.slice(0, log.after.lastIndexOf(":")), Number(log.after.slice(log.after.lastIndexOf(":") + 1))];
  const send = (done, status) => {
    const data = { type: "comparison_update", session_id: log.comparison, comparison_id: log.comparison, status, done, total: 4 };
    const event = { seq: head + done, cursor: `${epoch}:${head + done}`, type: data.type, createdAt: new Date().toISOString(), data };
    log.socket.send(JSON.stringify({ type: "next", id: log.id, payload: { data: { sessionEvents: event } } }));
  };
  for (const done of [1, 2, 3]) {
    send(done, "processing");
    await until(async () => (await progress.getAttribute("aria-valuenow")) === String(25 * done), `step ${done}`);
    assert.match(await page.locator(".doc-progress").innerText(), new RegExp(`Comparing: ${done} of 4 steps\\.`));
  }
  // A later answer that is older than the events.
  const before = answers;
  await until(() => answers > before, "the page to look the comparison up");
  assert.equal(await progress.getAttribute("aria-valuenow"), "75");
  ended = true;
  send(4, "completed");
  await waitForElement(point(tab, "Differences", "4200"), "the report");
  assert.equal(await progress.getAttribute("aria-valuenow"), "100");
  await page.unrouteAll({ behavior: "ignoreErrors" });
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});
