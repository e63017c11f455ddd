// Which facts of a thing the graph reads and shows: the most believed ones, and its notes.
import assert from "node:assert/strict";
import { test } from "node:test";
import { findViolations } from "./axe.mjs";
import { waitForElement } from "./demo-page.mjs";
import { assertKnown, importTexts, listedNames, listing, nameOf, openGraph, pane, summary } from "./graph-page.mjs";
import { until, withServerAndBrowser } from "./harness.mjs";

let server;
let browser;
withServerAndBrowser((started) => { ({ server, browser } = started); });

const SIZES = { desktop: { viewport: { width: 1360, height: 850 } }, phone: { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true } };
const NOTE = "Hubert always waters the ferns on Sundays.";
const PAIRS_AT_ONCE = 20;

const entityId = async (name) => (await server.graphql("query ($t: String) { entities(first: 1, filter: { text: $t }) { nodes { id } } }", { t: name })).entities.nodes[0]?.id;
const notes = (tab) => pane(tab).locator("h3", { hasText: /^\d+ notes?$/ });
const listedNotes = (tab) => pane(tab).locator(".short-facts a", { hasText: "note on" });

test("the strongest neighbours come first, even if many facts changed later", { timeout: 180_000 }, async () => {
  const { id } = await server.newSession();
  const friends = Array.from({ length: 330 }, (_, i) => nameOf(i));
  // Stated twice, the first one is the strongest. All others change after it.
  for (let time = 0; time < 2; time += 1) await assertKnown(server, id, [["Ottokar", friends[0]]]);
  for (let at = 1; at < friends.length; at += PAIRS_AT_ONCE) await assertKnown(server, id, friends.slice(at, at + PAIRS_AT_ONCE).map((friend) => ["Ottokar", friend]));
  const tab = await openGraph(browser, server, `/${await entityId("Ottokar")}`);
  await until(async () => /^61 things, 60 facts around Ottokar/.test(await summary(tab)), "the heaviest neighbours");
  assert.equal((await listedNames(tab))[1], friends[0]);
  // A change elsewhere keeps it there.
  await assertKnown(server, id, [["Ottokar", friends[5]], ["Ottokar", friends[5]]]);
  await until(async () => (await listedNames(tab)).slice(1, 3).sort().join() === [friends[0], friends[5]].sort().join(), "the other strong neighbour");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("the details of a thing show its notes, which follow changes and filters", async () => {
  const session = await importTexts(server, "Garden", ["Hubert lives in Ghent.", NOTE]);
  await server.settledHead(session);
  const tab = await openGraph(browser, server, `/${await entityId("Hubert")}`);
  const { page } = tab;
  await waitForElement(notes(tab), "the number of notes");
  assert.equal(await notes(tab).innerText(), "1 note");
  assert.equal((await listedNames(tab)).length, 2, "a note connects nothing");
  await importTexts(server, "Greenhouse", ["Hubert always waters the moss on Mondays."]);
  await until(async () => (await listedNotes(tab).count()) === 2, "the new note");
  await listedNotes(tab).filter({ hasText: "ferns" }).click();
  await waitForElement(page.locator(".fact-detail", { hasText: "ferns" }), "the note in the Memory page");
  await page.goto(`${server.url}/#/graph/${await entityId("Hubert")}?session=${session}`);
  await until(async () => (await listedNotes(tab).count()) === 1, "the note of the session");
  await page.goto(`${server.url}/#/graph/${await entityId("Hubert")}?relation=LIVES_IN`);
  await until(async () => (await listedNotes(tab).count()) === 0, "no note among facts of a relation");
  await waitForElement(pane(tab).locator(".short-facts a", { hasText: "Ghent" }), "the fact of the relation");
  await page.goto(`${server.url}/#/graph/${await entityId("Ghent")}`);
  await until(async () => /around Ghent/.test(await summary(tab)), "a thing without notes");
  assert.equal(await notes(tab).count(), 0);
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("the list says in words that a fact has ended", async () => {
  const session = await importTexts(server, "Jobs", ["Gustav works for Siemens.", "Gustav no longer works for Siemens.", "Gustav lives in Ghent."]);
  await server.settledHead(session);
  const tab = await openGraph(browser, server, `/${await entityId("Gustav")}`);
  await until(async () => (await listedNames(tab)).length === 3, "the neighbours");
  const said = await listing(tab).locator("[data-row] small").allInnerTexts();
  assert.ok(said.includes("Gustav works for Siemens (ended)"), said.join());
  assert.ok(said.includes("Gustav lives in Ghent"), said.join());
  await tab.context.close();
});

for (const [size, options] of Object.entries(SIZES)) {
  for (const colorScheme of ["light", "dark"]) {
    test(`axe reports no violation in notes of the graph on a ${size}, ${colorScheme}`, async () => {
      if (!(await entityId("Hubert"))) await server.settledHead(await importTexts(server, "Garden", ["Hubert lives in Ghent.", NOTE]));
      const tab = await openGraph(browser, server, `/${await entityId("Hubert")}`, { ...options, colorScheme, reducedMotion: "reduce" });
      await tab.page.locator(".graph-page canvas").focus();
      await tab.page.keyboard.press("Home");
      await waitForElement(notes(tab), "the notes");
      assert.deepEqual(await findViolations(tab, "notes"), []);
      assert.equal(await tab.page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false, "nothing is wider than the screen");
      await tab.context.close();
    });
  }
}
