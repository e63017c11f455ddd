// The pictures of the README, taken of the running demo: RECALL_PICTURES=1 writes them to docs/images.
import { mkdir } from "node:fs/promises";
import path from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Browser, Server, until } from "./harness.mjs";

const images = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../../docs/images");
const others = [
  ["Trip to Lisbon", ["Mary visited Lisbon.", "Mary likes sushi."]],
  ["Project Phoenix", ["Phoenix depends on Redis.", "Tom manages Phoenix."]],
];
const told = [
  "John likes Mary.", "I live in Lyon.", "Sarah works on Phoenix, and Phoenix uses PostgreSQL.", "John likes Mary.", "I use React.",
  "Sarah is on the backend team.", "I no longer use React, I switched to Vue.", "I live in Ghent.",
];

for (const colorScheme of ["light", "dark"]) {
  test(`pictures in ${colorScheme}`, { skip: !process.env.RECALL_PICTURES }, async () => {
    await mkdir(images, { recursive: true });
    const server = await Server.start();
    const browser = await Browser.start();
    try {
      const create = async (title) => {
        const { createSession } = await server.graphql("mutation ($t: String) { createSession(input: { title: $t }) { session { id } } }", { t: title });
        return createSession.session.id;
      };
      for (const [title, lines] of others) {
        const id = await create(title);
        for (const line of lines) await server.say(id, line);
        await server.settledHead(id);
      }
      const id = await create("Moving to Ghent");
      const { page } = await browser.visit(`${server.url}/#/s/${id}`, { colorScheme, viewport: { width: 1400, height: 860 }, deviceScaleFactor: 1.5, locale: "en-GB" });
      await page.evaluate(() => localStorage.setItem("recall.tour", '["tell","again","ask","why","change","cut","replay"]'));
      await page.reload();
      await until(() => page.locator('.pill[data-phase="live"]').count(), "the line");
      const say = async (text) => {
        await page.getByRole("textbox", { name: "Message" }).fill(text);
        await page.keyboard.press("Enter");
        await sleep(700);
      };
      for (const text of told) await say(text);
      await say("Who does John like?");
      await until(() => page.locator(".message.assistant .sources li").count(), "the answer");
      await sleep(3500);
      await say("Sarah likes climbing.");
      await page.mouse.move(700, 830);
      await page.screenshot({ path: path.join(images, `demo-${colorScheme}.png`) });
      await page.locator(".graph").screenshot({ path: path.join(images, `graph-${colorScheme}.png`) });
    } finally {
      await browser.stop();
      await server.stop();
    }
  });
}
