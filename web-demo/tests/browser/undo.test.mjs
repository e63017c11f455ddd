// Undo at the reply to "Forget …": for people there is a button instead of a token, in every tab, until it was used or is too late.
import assert from "node:assert/strict";
import { test } from "node:test";
import { findViolations } from "./axe.mjs";
import { say, waitForElement, waitForPhase } from "./demo-page.mjs";
import { until, withServerAndBrowser } from "./harness.mjs";

const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

let server;
let browser;
withServerAndBrowser((started) => { ({ server, browser } = started); });

const own = ({ page }, text) => page.locator(".message.own", { hasText: text });
const reply = ({ page }) => page.locator(".message.assistant", { hasText: "I forgot" });
const undone = (tab) => reply(tab).getByText("This was undone");
const undo = (tab) => reply(tab).getByRole("button", { name: "Undo" });

async function open(id, options) {
  const tab = await browser.visit(`${server.url}/#/s/${id}`, options);
  await waitForPhase(tab, "live");
  return tab;
}

/** A session that knows where somebody lives. */
async function sessionAbout(name) {
  const { id } = await server.newSession();
  await server.say(id, `${name} lives in Ghent.`);
  await server.settledHead(id);
  return id;
}

for (const [size, options] of Object.entries({ desktop: {}, phone: PHONE })) {
  test(`the reply to a command can be undone in every tab, and after a reload, on a ${size}`, async () => {
    const name = size === "phone" ? "Klara" : "Liv";
    const id = await sessionAbout(name);
    const one = await open(id, options);
    const two = await open(id, { ...options, visitor: one });
    await say(one, `Forget that ${name} lives in Ghent.`);
    await waitForElement(undo(one), "the button");
    assert.match(await reply(one).locator(".text").innerText(), /^Done\. I forgot 1 fact and 1 message\. This can be undone for 10 minutes\.$/);
    assert.doesNotMatch(await reply(one).locator("footer").innerText(), /source/, "it is no answer");
    // The words of the command go a moment after the reply comes.
    await until(async () => (await own(one, `${name} lives in Ghent.`).count()) === 0, "what is forgotten to go");
    await waitForElement(undo(two), "the button in the other tab");
    await one.page.reload();
    await waitForPhase(one, "live");
    await waitForElement(undo(one), "the button after a reload");
    assert.deepEqual(await findViolations(one, "the reply with Undo"), []);
    if (size === "phone") {
      const { height, width } = await undo(one).boundingBox();
      assert.ok(height >= 24 && width >= 24, `${width} x ${height}`);
    }

    await undo(one).press("Enter");
    await waitForElement(own(one, `${name} lives in Ghent.`), "the message again");
    await waitForElement(reply(one).getByText("Undone. 1 fact and 1 message are back."), "the result");
    assert.equal(await undo(one).count(), 0);
    await until(() => reply(one).evaluate((node) => node === document.activeElement), "the focus on the reply");
    await waitForElement(own(two, `${name} lives in Ghent.`), "the message in the other tab");
    await until(async () => (await undo(two).count()) === 0, "the button of the other tab to go");
    await waitForElement(undone(two), "the result in the other tab");
    assert.deepEqual(await findViolations(one, "the reply after Undo"), []);
    await one.page.reload();
    await waitForPhase(one, "live");
    await waitForElement(undone(one), "the reply that says so after a reload");
    assert.equal(await undo(one).count(), 0, "no button after a reload");
    assert.deepEqual([...one.problems, ...two.problems], []);
    await one.context.close();
  });
}

test("the button goes when the forgetting of another session is undone elsewhere", async () => {
  await sessionAbout("Mara");
  const { id } = await server.newSession();
  const tab = await open(id);
  await say(tab, "Forget that Mara lives in Ghent.");
  await waitForElement(undo(tab), "the button");
  const { session } = await server.graphql("query ($id: ID!) { session(id: $id) { messages(last: 1) { nodes { forgetting { token } } } } }", { id });
  const { undoForget } = await server.graphql("mutation ($t: String!) { undoForget(input: { token: $t }) { factCount errors { code } } }", { t: session.messages.nodes[0].forgetting.token });
  assert.deepEqual(undoForget, { factCount: 1, errors: [] });
  await until(async () => (await undo(tab).count()) === 0, "the button to go");
  await waitForElement(undone(tab), "the reply that says so");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("it says when it is too late, and the button goes when the time is over", async () => {
  const id = await sessionAbout("Nora");
  const tab = await open(id);
  const { page } = tab;
  await say(tab, "Forget that Nora lives in Ghent.");
  await waitForElement(undo(tab), "the button");
  // The server has deleted it for good.
  let isGone = false;
  await page.route("**/graphql", async (route) => {
    const body = route.request().postData() ?? "";
    if (body.includes("mutation UndoForget")) isGone = true;
    if (isGone && body.includes("query StillUndoable")) return route.fulfill({ json: { data: { message: { forgetting: null } } } });
    if (isGone && body.includes("mutation UndoForget")) return route.fulfill({ json: { data: { undoForget: { facts: [], messages: [], factCount: 0, messageCount: 0, token: null, errors: [{ code: "NOT_FOUND", message: "There is no such token.", path: ["input", "token"] }] } } } });
    return route.fallback();
  });
  await undo(tab).click();
  await waitForElement(reply(tab).getByText("It is too late to undo this"), "the reason");
  await until(async () => (await undo(tab).count()) === 0, "the button to go");
  await page.unrouteAll({ behavior: "wait" });

  await page.clock.install();
  await page.reload();
  await page.clock.resume();
  await waitForPhase(tab, "live");
  await waitForElement(undo(tab), "the button again: the server still has it");
  await page.route("**/graphql", (route) => (route.request().postData()?.includes("query StillUndoable") ? route.fulfill({ json: { data: { message: { forgetting: null } } } }) : route.fallback()));
  await page.clock.fastForward("11:00");
  await until(async () => (await undo(tab).count()) === 0, "the button to go after its time");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});
