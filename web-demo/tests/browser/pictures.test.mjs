// Takes the README's pictures of the running demo. RECALL_PICTURES=1 writes them to docs/images.
import { mkdir } from "node:fs/promises";
import path from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { say, waitForElement, waitForPhase } from "./demo-page.mjs";
import { Browser, Server } from "./harness.mjs";

const images = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../../docs/images");
const otherSessions = [
  ["Trip to Lisbon", ["Mary visited Lisbon.", "Mary likes sushi."]],
  ["Project Phoenix", ["Phoenix depends on Redis.", "Tom manages Phoenix."]],
];
const messages = [
  "John likes Mary.", "I live in Lyon.", "Sarah works on Phoenix, and Phoenix uses PostgreSQL.", "John likes Mary.", "I use React.",
  "Sarah is on the backend team.", "I no longer use React, I switched to Vue.", "I live in Ghent.",
];

for (const colorScheme of ["light", "dark"]) {
  test(`takes pictures in ${colorScheme}`, { skip: !process.env.RECALL_PICTURES }, async () => {
    await mkdir(images, { recursive: true });
    const server = await Server.start();
    const browser = await Browser.start();
    try {
      const create = async (title) => {
        const { createSession } = await server.graphql("mutation ($t: String) { createSession(input: { title: $t }) { session { id } } }", { t: title });
        return createSession.session.id;
      };
      for (const [title, lines] of otherSessions) {
        const id = await create(title);
        for (const line of lines) await server.say(id, line);
        await server.settledHead(id);
      }
      const id = await create("Moving to Ghent");
      const tab = await browser.visit(`${server.url}/#/s/${id}`, { colorScheme, viewport: { width: 1400, height: 860 }, deviceScaleFactor: 1.5, locale: "en-GB" });
      const { page } = tab;
      await page.evaluate(() => localStorage.setItem("recall.tour", '["tell","why","ask","correct","forget"]'));
      await page.reload();
      await waitForPhase(tab, "live");
      const sayAndWait = async (text) => {
        await say(tab, text);
        await sleep(700);
      };
      for (const text of messages) await sayAndWait(text);
      await sayAndWait("Who does John like?");
      await waitForElement(page.locator(".message.assistant .sources li"), "the answer");
      await sleep(3500);
      await sayAndWait("Sarah likes climbing.");
      await page.mouse.move(700, 830);
      await page.screenshot({ path: path.join(images, `demo-${colorScheme}.png`) });
      await page.locator(".graph").screenshot({ path: path.join(images, `graph-${colorScheme}.png`) });
    } finally {
      await browser.stop();
      await server.stop();
    }
  });
}
