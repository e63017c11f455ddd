// Checks that the real Open WebUI remembers, in Chromium. `run` starts the servers and sets the variables.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { Memory } from "./memory.mjs";
import { Tab, launch, until } from "./page.mjs";

const { OPEN_WEBUI_URL: url, LOG: log, PHOTO: photo, DOCUMENT: document, PICTURES: pictures } = process.env;
const FILTER = new URL("../../clients/open-webui/recall_filter.py", import.meta.url);
const browser = await launch();
const anna = await Tab.open(browser, url);
let memory;

/** Returns the requests that the model server got. */
const requests = async () => (await readFile(log, "utf8")).trim().split("\n").map((line) => JSON.parse(line));
/** Takes a picture of a part of the page, if pictures are wanted. */
const picture = async (part, name, clip) => pictures && part.screenshot({ path: `${pictures}/open-webui-${name}.png`, clip });
const step = async (name, act) => {
  await act();
  console.log(`ok - ${name}`);
};
/** Waits until the user's messages are stored. */
const stored = (expected, of = memory) => until(async () => {
  const texts = await of.texts();
  return expected.every((text) => texts.includes(text));
}, `the memory to contain ${expected}`);

try {
  await step("a chat is known in the next one, with its source", async () => {
    await anna.signUp("Anna", "anna@example.org");
    const { id } = await anna.page.evaluate(() => fetch("/api/v1/auths/", { headers: { authorization: `Bearer ${localStorage.token}` } }).then((r) => r.json()));
    memory = new Memory(id);
    await anna.say("My sister Maren lives in Ghent.");
    await stored(["My sister Maren lives in Ghent."]);
    await anna.newChat();
    const answer = await anna.say("Where does my sister Maren live?");
    assert.match(answer, /^You told me: My sister Maren lives in Ghent\./);
    assert.match((await anna.sources()).join(), /^Memory \d+$/);
  });

  await step("the model recall answers by itself", async () => {
    await anna.page.goto(`${url}/?models=recall`);
    await anna.page.locator("#chat-input").waitFor();
    assert.match(await anna.say("Where does my sister live?"), /^Maren lives in Ghent/);
    assert.deepEqual(await anna.sources(), ["Memory 1"]);
    await picture(anna.page, "answer", { x: 200, y: 56, width: 940, height: 230 });
    await anna.page.getByRole("button", { name: "View source: Memory 1" }).click();
    await until(() => anna.page.getByText("Content", { exact: true }).count(), "the source");
    assert.match(await anna.page.locator("body").innerText(), /Content\s+My sister Maren lives in Ghent/);
    await sleep(500);
    await picture(anna.page, "source", { x: 180, y: 290, width: 920, height: 140 });
  });

  await step("titles, tags and follow-ups are not remembered, and the title names the session", async () => {
    const isTask = (request) => request.messages?.at(-1).content.toString().startsWith("### Task:");
    const tasks = await until(async () => (await requests()).filter(isTask).length >= 3 && (await requests()).filter(isTask), "the tasks");
    assert.ok(tasks.every((task) => task.messages.length === 1), "a task gets memory");
    assert.ok((await memory.texts()).every((text) => !text.startsWith("### Task:")));
    await until(async () => (await memory.sessions()).some((session) => session.title === "A Title of the Model"), "the title of the session");
  });

  await step("an edited message replaces the first one, and a regenerated answer follows", async () => {
    await anna.page.goto(`${url}/?models=demo-model`);
    await anna.page.locator("#chat-input").waitFor();
    for (const text of ["Hello.", "My dog is called Rex.", "I like walking in the rain."]) await anna.say(text);
    await anna.regenerate();
    await anna.edit(1, "My dog is called Max.");
    await stored(["My dog is called Max."]);
    assert.ok(!(await memory.texts()).includes("My dog is called Rex."));
  });

  await step("a deleted message stays, and the others are not stored again", async () => {
    for (const text of ["I have a blue bicycle.", "I play the cello."]) await anna.say(text);
    await anna.delete(2);
    await anna.say("I drink tea.");
    await stored(["I drink tea."]);
    const texts = await memory.texts();
    for (const text of ["I have a blue bicycle.", "I play the cello.", "I drink tea."]) assert.equal(texts.filter((t) => t === text).length, 1, text);
  });

  await step("a temporary chat is not remembered and gets no memory", async () => {
    await anna.newChat({ temporary: true });
    assert.equal(await anna.say("I moved to Paris. Where does my sister Maren live?"), "I do not know that.");
    assert.ok((await memory.texts()).every((text) => !text.includes("Paris")));
  });

  await step("a stopped answer ends the request, and is stored with the next message", async () => {
    await anna.newChat();
    await anna.write("Tell me slowly about nothing.");
    await until(async () => (await anna.page.locator(".chat-assistant").innerText()).includes("One word"), "the start of the answer");
    await anna.stop();
    await until(async () => (await requests()).some((request) => request.hung_up), "the request to end");
    assert.ok((await memory.texts("ASSISTANT")).every((text) => !text.startsWith("One word")));
    await anna.say("I like old maps.");
    await stored(["Tell me slowly about nothing.", "I like old maps."]);
    assert.equal((await memory.texts("ASSISTANT")).filter((text) => text.startsWith("One word")).length, 1);
  });

  await step("a photo passes", async () => {
    await anna.newChat();
    await anna.attach(photo);
    assert.equal(await anna.say("This is my garden in Lyon."), "A picture.");
    await stored(["This is my garden in Lyon."]);
    const parts = (await requests()).flatMap((request) => request.messages ?? []).flatMap((message) => (Array.isArray(message.content) ? message.content : []));
    assert.ok(parts.find((part) => part.type === "image_url").image_url.url.length > 1_500_000);
  });

  await step("a message with a document is remembered without it", async () => {
    await anna.newChat();
    await anna.attach(document);
    await anna.say("My cat is called Tom.");
    await anna.say("My canary is called Yuki.");
    await stored(["My cat is called Tom.", "My canary is called Yuki."]);
    assert.ok((await requests()).some((request) => JSON.stringify(request.messages ?? "").includes("Vaillant")), "the model does not get the document");
    assert.ok((await memory.texts()).every((text) => !text.includes("Vaillant")));
  });

  await step("another user behind the same key has another memory", async () => {
    await anna.addUser("Boris", "boris@example.org");
    const boris = await Tab.open(browser, url);
    await boris.signIn("boris@example.org");
    assert.equal(await boris.say("Where does my sister Maren live?"), "I do not know that.");
    assert.ok((await memory.texts()).filter((text) => text === "Where does my sister Maren live?").length === 1);
    await boris.page.context().close();
  });

  await step("the filter gives memory to a connection that does not go through the server", async () => {
    const call = (path, data) => anna.page.evaluate(async ([path, data]) => {
      const headers = { "content-type": "application/json", authorization: `Bearer ${localStorage.token}` };
      const reply = await fetch(`/api/v1/functions${path}`, { method: "POST", headers, body: JSON.stringify(data) });
      if (!reply.ok) throw new Error(`${path}: ${reply.status} ${await reply.text()}`);
    }, [path, data]);
    await call("/create", { id: "recall", name: "Recall", content: await readFile(FILTER, "utf8"), meta: { description: "Remembers chats." } });
    await call("/id/recall/valves/update", {
      url: process.env.RECALL_URL, frontend_key: process.env.RECALL_FRONTEND_KEY, user_secret: process.env.RECALL_FRONTEND_USER_SECRET,
    });
    await call("/id/recall/toggle", {});
    await call("/id/recall/toggle/global", {});
    await anna.page.goto(`${url}/?models=direct.demo-model`);
    await anna.page.locator("#chat-input").waitFor();
    await anna.say("My brother Piet lives in Bergen.");
    await stored(["My brother Piet lives in Bergen."]);
    await anna.page.goto(`${url}/?models=direct.demo-model`);
    await anna.page.locator("#chat-input").waitFor();
    assert.match(await anna.say("Where does my brother Piet live?"), /^You told me: My brother Piet lives in Bergen\./);
    await until(async () => (await anna.sources()).length === 1, "the source");
    await until(async () => (await memory.texts("ASSISTANT")).some((text) => text.startsWith("You told me: My brother Piet")), "the answer to be stored");
    await anna.newChat({ temporary: true });
    assert.equal(await anna.say("I moved to Rome. Where does my brother Piet live?"), "I do not know that.");
    assert.ok((await memory.texts()).every((text) => !text.includes("Rome")));
  });

  if (pictures) {
    await anna.page.setViewportSize({ width: 1280, height: 1000 });
    await anna.page.goto(`${url}/admin/settings/connections`);
    await anna.page.getByRole("button", { name: "Configure" }).first().click();
    await anna.page.getByText("Advanced", { exact: true }).click();
    const dialog = await anna.page.getByText("Edit Connection", { exact: true }).boundingBox();
    // Away from what shows a hint.
    await anna.page.mouse.move(dialog.x, dialog.y);
    await sleep(1_000);
    await picture(anna.page, "connection", { x: dialog.x - 21, y: dialog.y - 20, width: 480, height: 410 });
  }
} catch (error) {
  await anna.page.screenshot({ path: `${process.env.TMPDIR ?? "/tmp"}/open-webui-failed.png` });
  throw error;
} finally {
  await browser.close();
}
