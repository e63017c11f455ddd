// The graph: journeys of people who look at how things are connected.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { findViolations } from "./axe.mjs";
import { say, waitForElement, waitForPhase } from "./demo-page.mjs";
import { assertKnown, button, canvas, importGraph, importTexts, listedNames, listing, nameOf, openGraph, pane, summary } from "./graph-page.mjs";
import { until, withServerAndBrowser } from "./harness.mjs";

let server;
let browser;
// Thousands of facts are read: the rules find them without the network, in a fraction of the time.
withServerAndBrowser((started) => { ({ server, browser } = started); }, { RECALL_EXTRACTION_LEARNED: "false" });

const SIZES = { desktop: { viewport: { width: 1360, height: 850 } }, phone: { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true } };
const TEXTS = ["I know Sarah.", "I like climbing.", "I use React.", "I no longer use React.", "Sarah lives in Lyon.", "Sarah likes sushi.", "Sarah knows Thomas.", "Thomas likes tea."];
const MY_NEIGHBOURS = ["React", "Sarah", "climbing"];

const entityId = async (name) => (await server.graphql("query ($t: String) { entities(first: 1, filter: { text: $t }) { nodes { id } } }", { t: name })).entities.nodes[0]?.id;
/** Stores the facts of these tests once, and returns the session. */
async function memoryOfTests() {
  const id = memoryOfTests.session ??= await importTexts(server, "Letters", TEXTS);
  await server.settledHead(id);
  return id;
}
const listedSorted = async (tab) => (await listedNames(tab)).sort();
const untilListed = (tab, names, what) => until(async () => JSON.stringify(await listedSorted(tab)) === JSON.stringify([...names].sort()), what);
const row = (tab, name) => listing(tab).locator(".row", { has: tab.page.locator(".name", { hasText: name }) }).first();
const selectedName = (tab) => pane(tab).locator("h2").evaluate((heading) => heading.firstChild.textContent);
/** Records the text of each frame, with its centre: names, and an initial in each disc. */
const recordLabels = (tab) => tab.page.evaluate(() => {
  const { fillText, fillRect } = CanvasRenderingContext2D.prototype;
  window.labels = [];
  // Each frame begins with the background.
  CanvasRenderingContext2D.prototype.fillRect = function (...box) { window.labels = []; return fillRect.apply(this, box); };
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
    window.labels.push({ text, x, y, width: this.measureText(text).width });
    return fillText.call(this, text, x, y);
  };
});
/** Waits until no frame was requested between two looks, so that the graph stands still. */
async function untilStill(tab) {
  await tab.page.evaluate(() => {
    if (window.frameCount !== undefined) return;
    window.frameCount = 0;
    const request = window.requestAnimationFrame.bind(window);
    window.requestAnimationFrame = (callback) => request((now) => { window.frameCount += 1; callback(now); });
    window.stillFrames = async () => {
      const before = window.frameCount;
      for (let frame = 0; frame < 20; frame += 1) await new Promise(request);
      return window.frameCount === before;
    };
  });
  await until(() => tab.page.evaluate(() => window.stillFrames()), "the graph to stand still", 120_000);
}
const labelAt = async (tab, text) => (await tab.page.evaluate(() => window.labels)).find((label) => label.text === text);

test("an empty memory says what to do, and shows the first fact", async () => {
  const tab = await browser.visit(`${server.url}/#/graph`);
  await waitForElement(tab.page.getByText("Nothing is known here yet."), "the hint");
  await importTexts(server, "First", ["I like climbing."]);
  await untilListed(tab, ["you", "climbing"], "the first fact");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("it opens at the viewer, and a neighbour expands and collapses", async () => {
  await memoryOfTests();
  const tab = await openGraph(browser, server);
  await untilListed(tab, ["you", ...MY_NEIGHBOURS], "the neighbourhood of the viewer");
  assert.match(await summary(tab), /4 things, 3 facts around you/);
  assert.equal(await selectedName(tab), "You");
  await button(tab, "List").click();
  await row(tab, "Sarah").locator("[data-row]").click();
  await until(async () => (await selectedName(tab)) === "Sarah", "the details of the neighbour");
  await pane(tab).getByText("Sarah likes sushi").waitFor({ state: "attached" });
  await row(tab, "Sarah").getByRole("button", { name: "Expand Sarah" }).click();
  await untilListed(tab, ["you", ...MY_NEIGHBOURS, "Lyon", "sushi", "Thomas"], "the neighbours of the neighbour");
  await row(tab, "Sarah").getByRole("button", { name: "Collapse Sarah" }).click();
  await untilListed(tab, ["you", ...MY_NEIGHBOURS], "the neighbourhood of the viewer again");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("another centre is part of the URL, and Back returns", async () => {
  await memoryOfTests();
  const tab = await openGraph(browser, server);
  await button(tab, "List").click();
  await row(tab, "Sarah").getByRole("link", { name: "Centre on Sarah" }).click();
  await untilListed(tab, ["Sarah", "you", "Lyon", "sushi", "Thomas"], "the neighbourhood of the other one");
  assert.equal(await tab.page.evaluate(() => location.hash), `#/graph/${await entityId("Sarah")}`);
  await tab.page.reload();
  await untilListed(tab, ["Sarah", "you", "Lyon", "sushi", "Thomas"], "the same after a reload");
  await tab.page.goBack();
  await untilListed(tab, ["you", ...MY_NEIGHBOURS], "the first centre");
  await tab.context.close();
});

test("the filters of the URL choose the facts, and change without a reload", async () => {
  const session = await memoryOfTests();
  const tab = await openGraph(browser, server, "?status=ENDED");
  await untilListed(tab, ["you", "React"], "ended facts only");
  await tab.page.getByLabel("Status").selectOption("ACTIVE");
  await untilListed(tab, ["you", "Sarah", "climbing"], "facts that hold");
  assert.equal(await tab.page.evaluate(() => location.hash), "#/graph?status=ACTIVE");
  await tab.page.getByLabel("Relation").selectOption("LIKES");
  await untilListed(tab, ["you", "climbing"], "facts of one relation");
  await tab.page.getByRole("link", { name: "Clear" }).click();
  await untilListed(tab, ["you", ...MY_NEIGHBOURS], "all facts");
  await tab.page.goto(`${server.url}/#/graph?session=${session}&belief=90`);
  await waitForElement(tab.page.getByText("No facts connect it with anything"), "why the graph is empty");
  // The Memory page has the same filters, and its entity is the centre here.
  await tab.page.goto(`${server.url}/#/graph?entity=${await entityId("Sarah")}&relation=LIVES_IN`);
  await untilListed(tab, ["Sarah", "Lyon"], "the entity of the filter");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("type, source and last change of the Memory page also choose the facts of the graph", async () => {
  await memoryOfTests();
  const tab = await browser.visit(`${server.url}/#/memory?type=TOOL`);
  const { page } = tab;
  await waitForElement(page.locator(".memory-page .row", { hasText: "React" }), "the facts about tools");
  await page.getByRole("link", { name: "In the graph" }).click();
  await untilListed(tab, ["you", "React"], "the graph of facts about tools");
  await page.getByLabel("Type").selectOption("");
  await untilListed(tab, ["you", ...MY_NEIGHBOURS], "all facts");
  await page.getByLabel("Source").selectOption("DOCUMENTS");
  await waitForElement(page.getByText("No facts connect it with anything"), "why the graph is empty: no document states a fact");
  await page.getByRole("link", { name: "Clear" }).click();
  await untilListed(tab, ["you", ...MY_NEIGHBOURS], "all facts again");
  await page.getByLabel("Changed before").fill("2020-01-01");
  await waitForElement(page.getByText("No facts connect it with anything"), "why the graph is empty: nothing changed so early");
  await page.goto(`${server.url}/#/graph?asOf=2024-03-31`);
  await until(async () => (await page.getByLabel("Changed before").count()) === 0, "a past day to have no last change");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("the keyboard moves between neighbours, expands, zooms and deselects", async () => {
  await memoryOfTests();
  const tab = await openGraph(browser, server, "", { reducedMotion: "reduce" });
  const { keyboard } = tab.page;
  await untilListed(tab, ["you", ...MY_NEIGHBOURS], "the neighbourhood");
  await recordLabels(tab);
  await canvas(tab).focus();
  await keyboard.press("Home");
  await until(async () => /^you, 3 neighbours/.test(await tab.page.locator(".graph-page p.unseen[role=status]").textContent()), "the selection in words");
  await untilStill(tab);
  const you = await labelAt(tab, "you");
  // Each arrow selects what is nearest in its direction, as drawn.
  const reached = new Set();
  for (const [key, ahead] of [["ArrowLeft", (l) => l.x < you.x], ["ArrowRight", (l) => l.x > you.x], ["ArrowUp", (l) => l.y < you.y], ["ArrowDown", (l) => l.y > you.y]]) {
    await keyboard.press("Home");
    await keyboard.press(key);
    await untilStill(tab);
    const name = await selectedName(tab);
    if (name === "You") continue;
    reached.add(name);
    assert.ok(ahead(await labelAt(tab, name)), `${name} is ahead of ${key}`);
  }
  assert.ok(reached.size >= 2, [...reached].join());
  await row(tab, "Sarah").locator("[data-row]").focus();
  await keyboard.press("Enter");
  await until(async () => (await selectedName(tab)) === "Sarah", "the selection in the list");
  await canvas(tab).focus();
  await keyboard.press("Enter");
  await untilListed(tab, ["you", ...MY_NEIGHBOURS, "Lyon", "sushi", "Thomas"], "the expanded neighbour");
  await keyboard.press("Enter");
  await untilListed(tab, ["you", ...MY_NEIGHBOURS], "the collapsed neighbour");
  const fit = button(tab, "Show the whole graph");
  assert.ok(await fit.isDisabled());
  await keyboard.press("+");
  await until(() => fit.isEnabled(), "a manual zoom");
  await keyboard.press("-");
  await keyboard.press("0");
  await until(() => fit.isDisabled(), "the whole graph");
  await keyboard.press("Escape");
  await until(async () => (await selectedName(tab)) === "You", "no selection");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("the list has the focus when it is reached, and shows itself", async () => {
  await memoryOfTests();
  const tab = await openGraph(browser, server);
  await untilListed(tab, ["you", ...MY_NEIGHBOURS], "the neighbourhood");
  const hidden = () => listing(tab).evaluate((node) => getComputedStyle(node).clipPath !== "none");
  assert.equal(await hidden(), true);
  // Hidden from sight only.
  assert.equal(await tab.page.getByRole("region", { name: "List of the graph" }).getByRole("listitem").count(), 4);
  await listing(tab).locator("[data-row]").first().focus();
  assert.equal(await hidden(), false);
  await tab.page.keyboard.press("ArrowDown");
  const second = (await listedNames(tab))[1];
  assert.match(await tab.page.evaluate(() => document.activeElement.textContent), new RegExp(second));
  await tab.page.keyboard.press("End");
  await tab.page.keyboard.press("Home");
  await row(tab, "Sarah").locator("[data-row]").focus();
  await tab.page.keyboard.press("ArrowRight");
  await untilListed(tab, ["you", ...MY_NEIGHBOURS, "Lyon", "sushi", "Thomas"], "the expanded row");
  const levels = await listing(tab).getByRole("listitem").evaluateAll((items) => items.map((item) => item.getAttribute("aria-level")));
  assert.deepEqual([...new Set(levels)], ["1", "2", "3"]);
  await tab.page.keyboard.press("ArrowLeft");
  await untilListed(tab, ["you", ...MY_NEIGHBOURS], "the collapsed row");
  await tab.context.close();
});

test("a click selects, a double click expands, a drag moves, and the wheel zooms", async () => {
  await memoryOfTests();
  const tab = await openGraph(browser, server, "", { reducedMotion: "reduce" });
  const { page } = tab;
  await untilListed(tab, ["you", ...MY_NEIGHBOURS], "the neighbourhood");
  await recordLabels(tab);
  await page.mouse.move(5, 5);
  await canvas(tab).dispatchEvent("wheel", { deltaY: 0 });
  await until(() => labelAt(tab, "Sarah"), "the drawn name");
  const box = await canvas(tab).boundingBox();
  /** An initial is in the middle of its disc. */
  const discOf = async (initial) => { const { x, y } = await until(() => labelAt(tab, initial), `the disc of ${initial}`); return [box.x + x, box.y + y]; };
  await untilStill(tab);
  await page.mouse.click(...(await discOf("S")));
  await until(async () => (await selectedName(tab)) === "Sarah", "the selection");
  await untilStill(tab);
  await page.mouse.dblclick(...(await discOf("S")));
  await untilListed(tab, ["you", ...MY_NEIGHBOURS, "Lyon", "sushi", "Thomas"], "the expanded neighbour");
  await untilStill(tab);
  const before = await labelAt(tab, "Sarah");
  await page.mouse.move(box.x + 6, box.y + 6);
  await page.mouse.down();
  await page.mouse.move(box.x + 36, box.y + 46, { steps: 3 });
  await page.mouse.up();
  await untilStill(tab);
  const after = await labelAt(tab, "Sarah");
  assert.ok(Math.abs(after.x - before.x - 30) < 1 && Math.abs(after.y - before.y - 40) < 1, JSON.stringify([before, after]));
  await page.mouse.click(box.x + 3, box.y + 3);
  await until(async () => (await selectedName(tab)) === "You", "a click beside everything to deselect");
  await page.mouse.wheel(0, 400);
  await untilStill(tab);
  await until(() => button(tab, "Show the whole graph").isEnabled(), "a manual zoom");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("the images are a PNG and an SVG of the graph, and not blank", async () => {
  await memoryOfTests();
  const tab = await openGraph(browser, server);
  await untilListed(tab, ["you", ...MY_NEIGHBOURS], "the neighbourhood");
  const save = async (format) => {
    await button(tab, "Save as image…").click();
    const [download] = await Promise.all([tab.page.waitForEvent("download"), tab.page.getByRole("dialog").getByRole("button", { name: format, exact: true }).click()]);
    assert.equal(download.suggestedFilename(), `recall-graph.${format.toLowerCase()}`);
    return readFile(await download.path());
  };
  const bytes = await save("PNG");
  assert.deepEqual([...bytes.subarray(0, 8)], [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const seen = await tab.page.evaluate(async (numbers) => {
    const image = await createImageBitmap(new Blob([new Uint8Array(numbers)], { type: "image/png" }));
    const copy = new OffscreenCanvas(image.width, image.height).getContext("2d");
    copy.drawImage(image, 0, 0);
    const { data } = copy.getImageData(0, 0, image.width, image.height);
    const colors = new Set();
    for (let i = 0; i < data.length; i += 4) colors.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
    return { width: image.width, colors: colors.size };
  }, [...bytes]);
  const { width } = await canvas(tab).boundingBox();
  assert.equal(seen.width, Math.round(2 * width));
  assert.ok(seen.colors > 20, `${seen.colors} colors`);
  const svg = (await save("SVG")).toString("utf8");
  const parts = await tab.page.evaluate((text) => {
    const root = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
    return { name: root.nodeName, texts: [...root.querySelectorAll("text")].map((node) => node.textContent), paths: root.querySelectorAll("path").length };
  }, svg);
  assert.equal(parts.name, "svg");
  for (const name of ["you", ...MY_NEIGHBOURS]) assert.ok(parts.texts.includes(name), `${name} in ${parts.texts}`);
  assert.ok(parts.paths > 6, `${parts.paths} paths`);
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("what others say changes the graph, and only lists of what they name are read again", async () => {
  const session = await memoryOfTests();
  const tab = await openGraph(browser, server);
  await untilListed(tab, ["you", ...MY_NEIGHBOURS], "the neighbourhood");
  await server.say(session, "I know Ursula.");
  await untilListed(tab, ["you", ...MY_NEIGHBOURS, "Ursula"], "the new neighbour");
  const reads = () => tab.requests.filter((request) => request === "POST /graphql").length;
  await server.settledHead(session);
  const before = reads();
  // Neither of them is in the graph.
  await server.say(session, "Volker knows Wanda.");
  await server.say(session, "I know Xenia.");
  await untilListed(tab, ["you", ...MY_NEIGHBOURS, "Ursula", "Xenia"], "the last neighbour");
  assert.ok(reads() - before < 12, `${reads() - before} requests`);
  await server.graphql("mutation ($t: String!) { forget(input: { query: $t, dryRun: false }) { errors { message } } }", { t: "everything about Xenia" }).catch(() => {});
  await tab.context.close();
});

test("a thing with many neighbours shows the heaviest, and more on request", async () => {
  const { id } = await server.newSession();
  const friends = Array.from({ length: 70 }, (_, i) => nameOf(2100 + i));
  for (let at = 0; at < friends.length; at += 10) await assertKnown(server, id, friends.slice(at, at + 10).map((friend) => ["Hubert", friend]));
  // Stated again, the last one becomes the heaviest.
  await assertKnown(server, id, [["Hubert", friends.at(-1)]]);
  const tab = await openGraph(browser, server, `/${await entityId("Hubert")}`);
  await until(async () => /^61 things, 60 facts around Hubert; 10 neighbours with less weight not shown$/.test(await summary(tab)), "the heaviest neighbours");
  assert.equal((await listedNames(tab))[1], friends.at(-1));
  await button(tab, "Show more (10)").click();
  await until(async () => /^71 things, 70 facts around Hubert$/.test(await summary(tab)), "all neighbours");
  assert.equal(await tab.page.getByRole("button", { name: /^Show more/ }).count(), 0);
  await tab.context.close();
});

test("the chat and the Memory page lead to the graph, and the graph leads back", async () => {
  const session = await memoryOfTests();
  const id = await entityId("Sarah");
  const tab = await browser.visit(`${server.url}/#/e/${id}`);
  const { page } = tab;
  await page.getByRole("link", { name: "Show in the graph" }).click();
  await untilListed(tab, ["Sarah", "you", "Lyon", "sushi", "Thomas"], "the graph of the entity");
  await pane(tab).getByRole("link", { name: "Open in Memory" }).click();
  await waitForElement(page.locator(".thing-detail h2", { hasText: "Sarah" }), "the entity in the Memory page");
  await page.getByRole("link", { name: "Show in the graph" }).click();
  await untilListed(tab, ["Sarah", "you", "Lyon", "sushi", "Thomas"], "the graph again");
  await pane(tab).getByRole("link", { name: /Sarah likes sushi/ }).click();
  await waitForElement(page.locator(".fact-detail", { hasText: "sushi" }), "the fact in the Memory page");
  await page.getByRole("navigation", { name: "Places" }).getByRole("link", { name: "Graph" }).click();
  await waitForElement(canvas(tab), "the graph by the header");
  await page.getByRole("navigation", { name: "Places" }).getByRole("link", { name: "Memory" }).click();
  await page.getByRole("searchbox").fill("climbing");
  await until(() => page.evaluate(() => location.hash.includes("text=climbing")), "the search in the URL");
  await page.getByRole("link", { name: "In the graph" }).click();
  await untilListed(tab, ["you", "climbing"], "the graph of the search");
  await page.getByRole("button", { name: "Remove the filter: containing climbing" }).click();
  await until(async () => (await listedNames(tab)).length > 3, "the graph without the search");
  await page.goto(`${server.url}/#/s/${session}`);
  await waitForPhase(tab, "live");
  await say(tab, "Sarah likes opera.");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

for (const [size, options] of Object.entries(SIZES)) {
  for (const colorScheme of ["light", "dark"]) {
    test(`axe reports no violation in the graph on a ${size}, ${colorScheme}`, async () => {
      await memoryOfTests();
      const tab = await openGraph(browser, server, "", { ...options, colorScheme, reducedMotion: "reduce" });
      const { page } = tab;
      const violations = [];
      const check = async (view) => violations.push(...(await findViolations(tab, view)));
      await until(async () => (await listedNames(tab)).length >= 4, "the neighbourhood");
      await check("the neighbourhood");
      await canvas(tab).focus();
      await page.keyboard.press("Home");
      await page.keyboard.press("ArrowRight");
      await page.keyboard.press("ArrowLeft");
      await until(() => pane(tab).locator(".short-facts li").count(), "the details");
      await check("a selection");
      if (size === "phone") await page.getByRole("button", { name: "Filters" }).click();
      await page.getByRole("combobox", { name: "Find a person or thing" }).fill("Sar");
      await waitForElement(page.getByRole("option", { name: /Sarah/ }), "the suggestion");
      await check("a suggestion");
      await page.keyboard.press("Escape");
      if (size === "phone") await page.getByRole("button", { name: "Filters" }).click();
      await button(tab, "List").click();
      await check("the list");
      await button(tab, "Show everything").click();
      await until(async () => /^\d+ things, \d+ facts$/.test(await summary(tab)), "everything");
      await check("everything");
      await button(tab, "Save as image…").click();
      await check("saving an image");
      await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
      await page.goto(`${server.url}/#/graph?asOf=2020-01-01`);
      await waitForElement(page.getByText("The memory of"), "the past");
      await check("the past");
      for (const width of size === "phone" ? [390, 360, 320] : [1360, 1000, 800]) {
        await page.setViewportSize({ width, height: 800 });
        assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false, `nothing is wider than a screen of ${width} pixels`);
        const cut = await page.evaluate(() => [...document.querySelectorAll(".shell > header *, .graph-page .head *")].filter((node) => node.getClientRects().length > 0 && !node.closest(".skip, .unseen") && node.getBoundingClientRect().right > innerWidth + 0.5).map((node) => node.className || node.tagName));
        assert.deepEqual(cut, [], `no part of the header is cut at ${width} pixels`);
      }
      assert.deepEqual(violations, []);
      assert.deepEqual(tab.problems, []);
      await tab.context.close();
    });
  }
}

test("on a phone, a tap selects, two fingers zoom, and the details are below the graph", async () => {
  await memoryOfTests();
  const tab = await openGraph(browser, server, "", { ...SIZES.phone, reducedMotion: "reduce" });
  const { page } = tab;
  await until(async () => (await listedNames(tab)).includes("Sarah"), "the neighbourhood");
  await recordLabels(tab);
  await canvas(tab).dispatchEvent("wheel", { deltaY: 0 });
  await until(() => labelAt(tab, "Sarah"), "the drawn name");
  await untilStill(tab);
  const box = await canvas(tab).boundingBox();
  // The viewport was moved by hand, so it no longer follows the graph. What is selected stays visible. An initial is in the middle of its disc.
  const disc = await labelAt(tab, "S");
  await page.touchscreen.tap(box.x + disc.x, box.y + disc.y);
  await until(async () => (await selectedName(tab)) === "Sarah", "the selection");
  await untilStill(tab);
  const [drawn, details] = [await canvas(tab).boundingBox(), await pane(tab).boundingBox()];
  assert.ok(drawn.height > 150 && details.y >= drawn.y + drawn.height - 1, JSON.stringify([drawn, details]));
  const labels = () => page.evaluate(() => window.labels);
  const before = await labels();
  const devtools = await tab.context.newCDPSession(page);
  const [x, y] = [drawn.x + drawn.width / 2, drawn.y + drawn.height / 2];
  const touch = (type, spread) => devtools.send("Input.dispatchTouchEvent", { type, touchPoints: type === "touchEnd" ? [] : [{ x: x - spread, y, id: 1 }, { x: x + spread, y, id: 2 }] });
  await touch("touchStart", 60);
  for (const spread of [65, 70, 75, 80]) await touch("touchMove", spread);
  await touch("touchEnd", 80);
  await untilStill(tab);
  const both = (await labels()).flatMap((now) => { const then = before.find(({ text }) => text === now.text); return then ? [{ now, then }] : []; });
  const apart = (one, other) => Math.hypot(one.x - other.x, one.y - other.y);
  const growth = both.flatMap((a) => both.filter((b) => apart(a.then, b.then) > 60).map((b) => apart(a.now, b.now) / apart(a.then, b.then)));
  assert.ok(growth.length > 0 && Math.max(...growth) > 1.2, `${growth}`);
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("two thousand things are drawn with few frames at rest, few rows, and no label on another", { timeout: 300_000 }, async () => {
  await importGraph(server, 2000);
  const tab = await openGraph(browser, server, "", { reducedMotion: "reduce" });
  const { page } = tab;
  await recordLabels(tab);
  await button(tab, "Show everything").click();
  await until(async () => /^2,000 things/.test(await summary(tab)), "two thousand things", 120_000);
  // A few things of the other tests are too many.
  assert.match(await summary(tab), /left out/);
  await untilStill(tab);
  const frames = () => page.evaluate(() => window.frameCount);
  const rest = await frames();
  await canvas(tab).dispatchEvent("wheel", { deltaY: -40, clientX: 400, clientY: 500 });
  await untilStill(tab);
  assert.ok((await frames()) - rest <= 3, `${(await frames()) - rest} frames for one turn of the wheel`);
  const labels = await page.evaluate(() => window.labels);
  const names = labels.filter(({ text }) => text.length > 3);
  assert.ok(names.length >= 24, `${names.length} labels`);
  const hits = names.flatMap((a, i) => names.slice(i + 1).filter((b) => Math.abs(a.x - b.x) < (a.width + b.width) / 2 && Math.abs(a.y - b.y) < 13).map((b) => `${a.text} on ${b.text}`));
  assert.deepEqual(hits, []);
  // Further in, other names find room.
  const before = new Set(names.map(({ text }) => text));
  for (let i = 0; i < 8; i += 1) await canvas(tab).dispatchEvent("wheel", { deltaY: -200, clientX: 400, clientY: 500 });
  await untilStill(tab);
  assert.ok((await page.evaluate(() => window.labels)).some(({ text }) => text.length > 3 && !before.has(text)), "other names");
  await button(tab, "List").click();
  assert.ok((await listing(tab).locator("[data-row]").count()) < 60, "only rows in view are in the document");
  await listing(tab).locator("[data-row]").first().focus();
  await page.keyboard.press("End");
  assert.ok(Number(await page.evaluate(() => document.activeElement.closest("li").getAttribute("aria-posinset"))) >= 2000);
  await button(tab, "Show everything").click();
  await until(async () => /around you/.test(await summary(tab)), "the neighbourhood again");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});
