// Questions about documents that are too long: nothing is cut, and the page says why they are not sent.
import assert from "node:assert/strict";
import { test } from "node:test";
import { findViolations } from "./axe.mjs";
import { waitForElement } from "./demo-page.mjs";
import { addFiles, expectFit, file, openDocuments, waitForStatus } from "./documents-page.mjs";
import { until, withServerAndBrowser } from "./harness.mjs";

const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
/** 1,013 characters, as a person counts them. */
const LONG = `${"word ".repeat(200)}and the end 😀`;

let server;
let browser;
withServerAndBrowser((started) => { ({ server, browser } = started); });

for (const [size, options] of Object.entries({ desktop: {}, phone: PHONE })) {
  test(`a question that is too long is not cut, and says so, on a ${size}`, async () => {
    const tab = await openDocuments(server, browser, options);
    const { page } = tab;
    await addFiles(tab, file("north.md", "# North\n\nThe budget of the north office is 4200 euros."), file("south.md", "# South\n\nThe budget of the south office is 900 euros."));
    await waitForStatus(tab, "north.md", "Ready");
    await waitForStatus(tab, "south.md", "Ready");
    const expectRefusal = async (field, box, buttons) => {
      await field.fill(LONG);
      assert.equal(await field.inputValue(), LONG, "nothing is cut");
      assert.match(await box.getByRole("alert").innerText(), /^The question is too long to be sent\. A question has at most 1,000 characters: shorten it\.$/);
      assert.match(await box.locator(".trouble").innerText(), /Now it has 1,013 characters, 13 too many\./);
      assert.equal(await field.getAttribute("aria-describedby"), await box.locator(".trouble").getAttribute("id"));
      await field.press("Enter");
      for (const name of buttons) assert.ok(await box.getByRole("button", { name }).isDisabled(), name);
      assert.equal(await field.inputValue(), LONG, "it is not sent");
      if (size === "phone") await expectFit(tab, "a question that is too long");
      assert.deepEqual(await findViolations(tab, "a question that is too long"), []);
      await field.fill("What is the budget of the office?");
      assert.equal(await box.getByRole("alert").count(), 0);
    };
    const ask = page.getByRole("region", { name: "Ask your documents" });
    await expectRefusal(ask.getByRole("textbox"), ask, ["Find", "ask in the chat"]);
    await ask.getByRole("textbox").press("Enter");
    await waitForElement(page.locator(".found li"), "passages");

    await page.getByRole("button", { name: "Compare", exact: true }).first().click();
    for (const box of await page.locator(".doc input[type=checkbox]").all()) await box.check();
    const form = page.getByRole("form", { name: "Compare documents" });
    await expectRefusal(form.getByRole("textbox"), form, ["Compare 2"]);
    await form.getByRole("textbox").press("Enter");
    await until(async () => (await form.count()) === 0, "the comparison to start");
    assert.deepEqual(tab.problems, []);
    await tab.context.close();
  });
}
