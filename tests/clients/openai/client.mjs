// Uses the server through the official client for Node.js.
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import OpenAI from "openai";

const client = new OpenAI({ baseURL: `${process.env.RECALL_ADDRESS}/v1`, apiKey: "any", maxRetries: 0 });
const ask = (text, chat, more = {}) =>
  client.chat.completions.create(
    { model: "recall", messages: [{ role: "user", content: text }], ...more },
    { headers: { "x-openwebui-chat-id": chat, "x-recall-citations": "text" } },
  );

const models = await client.models.list();
assert.ok(models.data.some((model) => model.id === "recall"));
await ask("Carla likes Dora.", "node-1");
let answer = "";
for (let tries = 0; tries < 100 && !answer.includes("Dora"); tries += 1) {
  answer = (await ask("Who does Carla like?", "node-2")).choices[0].message.content;
  await sleep(100);
}
assert.match(answer, /^Carla likes Dora \[1\]\.\n\nSources:\n/);

let streamed = "";
for await (const chunk of await ask("Who does Carla like?", "node-3", { stream: true })) {
  streamed += chunk.choices[0]?.delta?.content ?? "";
}
assert.equal(streamed, answer);

const respond = (more) =>
  client.responses.create(
    { model: "recall", input: "Who does Carla like?", ...more },
    { headers: { "x-openwebui-chat-id": "node-4", "x-recall-citations": "text" } },
  );
assert.equal((await respond({})).output_text, answer);
let responded = "";
for await (const event of await respond({ stream: true })) {
  if (event.type === "response.output_text.delta") responded += event.delta;
}
assert.equal(responded, answer);

const vectors = await client.embeddings.create({ model: "recall", input: "a walk by the sea" });
assert.equal(vectors.data[0].embedding.length, 256);

await assert.rejects(
  client.chat.completions.create({ model: "unknown", messages: [{ role: "user", content: "Hello" }] }),
  (error) => error.status === 404 && error.code === "model_not_found",
);
console.log("the client for Node.js works");
