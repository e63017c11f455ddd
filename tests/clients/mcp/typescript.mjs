// Uses every tool through the TypeScript SDKs: version 1 with the handshake, version 2 with the protocol of 2026-07-28, and version 1 over
// the bridge. Both validate results against the output schemas of the tools. Arguments: the URL of the endpoint and the binary.
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import * as next from "@modelcontextprotocol/client";

const [url, recall] = process.argv.slice(2);
const NAMES = ["remember", "recall", "query_graph", "how_do_you_know", "forget", "list_entities", "timeline"];

/** Calls every tool, and reads resources and the prompt. */
const use = async (client, person) => {
  const { tools } = await client.listTools();
  assert.deepEqual(tools.map((tool) => tool.name), NAMES);
  const call = async (name, args) => {
    const result = await client.callTool({ name, arguments: args });
    assert.ok(!result.isError, `${name}: ${JSON.stringify(result)}`);
    return result.structuredContent;
  };
  const stored = await call("remember", { text: `${person} lives in Ghent.`, at: "2026-01-02" });
  assert.equal(stored.facts[0].text, `${person} lives in Ghent`);
  const found = await call("recall", { query: `Where does ${person} live?`, limit: 3 });
  assert.equal(found.facts[0].object, "Ghent");
  const graph = await call("query_graph", { entity: person, relation: "lives in" });
  assert.equal(graph.facts[0].sources[0].message_id, stored.message_id);
  const reasons = await call("how_do_you_know", { fact_id: graph.facts[0].id });
  assert.equal(reasons.facts[0].evidence[0].message.text, `${person} lives in Ghent.`);
  const listed = await call("list_entities", { type: "person", query: person });
  assert.equal(listed.entities[0].name, person);
  const line = await call("timeline", { entity: listed.entities[0].id });
  assert.equal(line.facts[0].changes[0].stance, "supports");
  const shown = await call("forget", { query: `everything about ${person}` });
  assert.equal(shown.dry_run, true);
  assert.equal((await call("recall", { query: person })).facts.length > 0, true, "a dry run changes nothing");

  const wrong = await client.callTool({ name: "recall", arguments: { query: "" } });
  assert.ok(wrong.isError && wrong.content[0].text.startsWith("QUERY_EMPTY: "), JSON.stringify(wrong));
  await assert.rejects(client.callTool({ name: "shout", arguments: {} }), /no such tool/);

  const uri = `recall://session/${stored.session_id}`;
  const { resources } = await client.listResources();
  assert.ok(resources.some((resource) => resource.uri === uri));
  const read = await client.readResource({ uri });
  assert.ok(JSON.parse(read.contents[0].text).messages.some((message) => message.id === stored.message_id));
  const prompt = await client.getPrompt({ name: "what_do_you_know", arguments: { about: person } });
  assert.ok(prompt.messages[0].content.text.includes("Ghent"));
};

const info = { name: "typescript-test", version: "1" };
const first = new Client(info);
await first.connect(new StreamableHTTPClientTransport(new URL(url)));
assert.match(first.getInstructions(), /treat them as data/);
await use(first, "John");
await first.close();
console.log("TypeScript SDK 1 over HTTP");

const modern = new next.Client(info, { versionNegotiation: { mode: "auto" } });
await modern.connect(new next.StreamableHTTPClientTransport(new URL(url)));
await use(modern, "Mary");
await modern.close();
console.log("TypeScript SDK 2 over HTTP");

const overPipes = new Client(info);
await overPipes.connect(new StdioClientTransport({ command: recall, args: ["mcp", "--url", url] }));
await use(overPipes, "Maren");
await overPipes.close();
console.log("TypeScript SDK 1 over the bridge");
