// Which sentences a fact suggests, and when.
import assert from "node:assert/strict";
import path from "node:path";
import { before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
let tour;
let suggestions;
async function load(file) {
  const [{ output }] = await build({ configFile: false, root, logLevel: "silent", build: { write: false, lib: { entry: path.join(root, file), formats: ["es"] } } });
  return import(`data:text/javascript,${encodeURIComponent(output[0].code)}`);
}
before(async () => {
  suggestions = await load("src/demo/state/suggestions.ts");
  tour = await load("src/demo/state/tour.ts");
});

const entity = (name, type = "thing", isViewer = false) => ({ id: name, name, type, mentionCount: 1, isViewer });
const all = [
  entity("Ada", "person", true), entity("Leo", "person"), entity("Siemens", "organization"), entity("Ghent", "place"), entity("office", "place"), entity("Lyon", "place"),
  entity("Phoenix", "project"), entity("Atlas", "project"), entity("Kafka", "tool"), entity("peanuts"),
];
const entities = new Map(all.map((one) => [one.id, one]));
const fact = (subject, relation, phrase, object, change = {}) => ({ id: `${subject} ${phrase} ${object}`, subject, relation, phrase, object, value: null, status: "active", order: 1, ...change });

const cases = [
  [fact("Ada", "WORKS_FOR", "works for", "Siemens"), "You work for Siemens", "Where do I work?", "I no longer work for Siemens."],
  [fact("Leo", "WORKS_FOR", "works for", "Siemens"), "Leo works for Siemens", "Where does Leo work?", "Leo no longer works for Siemens."],
  [fact("Ada", "LIVES_IN", "lives in", "Ghent"), "You live in Ghent", "Where do I live?", "I no longer live in Ghent."],
  [fact("office", "LOCATED_IN", "is located in", "Lyon"), "The office is located in Lyon", "Where is the office?", "The office is no longer located in Lyon."],
  [fact("Ada", "KNOWS", "knows", "Leo"), "You know Leo", "Who do I know?", "I no longer know Leo."],
  [fact("Phoenix", "PART_OF", "is part of", "Atlas"), "Phoenix is part of Atlas", "What is Phoenix part of?", "Phoenix is no longer part of Atlas."],
  [fact("Phoenix", "DEPENDS_ON", "depends on", "Kafka"), "Phoenix depends on Kafka", "What does Phoenix depend on?", "Phoenix no longer depends on Kafka."],
  [fact("Ada", "ALLERGIC_TO", "is allergic to", "Ada", { value: "peanuts" }), "You are allergic to peanuts", "What am I allergic to?", null],
  [fact("Leo", "BIRTHDAY", "has the birthday", "Leo", { value: "3 March" }), "Leo has the birthday 3 March", "What is Leo's birthday?", null],
  [fact("Ada", "FAMILY_OF", "is family of", "Leo"), "You are family of Leo", "What do you know about Leo?", null],
  [fact("Ada", "VISITED", "visited", "Lyon"), "You visited Lyon", "What do you know about Lyon?", null],
];

for (const [one, sentence, question, correction] of cases) {
  test(`${sentence}: suggests its question and its correction`, () => {
    assert.deepEqual([suggestions.sentenceOf(one, entities), suggestions.questionOf(one, entities), suggestions.correctionOf(one, entities)], [sentence, question, correction]);
  });
}

const open = (facts, { tried = [], texts = [] } = {}) => tour.openSuggestions({ facts, entities, texts }, new Set(tried));
const steps = (found) => found.map(({ step, text }) => [step, text]);

test("the newest fact is suggested, and tried steps are not", () => {
  const facts = [fact("Phoenix", "PART_OF", "is part of", "Atlas"), fact("Ada", "WORKS_FOR", "works for", "Siemens", { order: 2 })];
  assert.deepEqual(steps(open(facts)), [
    ["why", "You work for Siemens"], ["ask", "Where do I work?"], ["correct", "I no longer work for Siemens."], ["forget", "You work for Siemens"],
  ]);
  assert.deepEqual(steps(open(facts, { tried: ["tell", "why", "ask"] })).map(([step]) => step), ["correct", "forget"]);
});

test("a fact of another person suggests a question about the person", () => {
  assert.deepEqual(open([fact("Leo", "LIVES_IN", "lives in", "Ghent")])[1].text, "What do you know about Leo?");
});

test("a fact that cannot be corrected leaves the correction to an older one", () => {
  const facts = [fact("Phoenix", "PART_OF", "is part of", "Atlas"), fact("Ada", "VISITED", "visited", "Lyon", { order: 2 })];
  assert.equal(open(facts).find(({ step }) => step === "correct").text, "Phoenix is no longer part of Atlas.");
});

test("ended facts and notes suggest nothing", () => {
  const facts = [fact("Ada", "LIVES_IN", "lives in", "Ghent", { status: "ended" }), fact("Ada", "NOTE", "note:", "Ada", { value: "I plan a trip." })];
  assert.deepEqual(open(facts, { tried: ["tell"] }), []);
});

test("without facts, a sample is suggested until the user has written three messages", () => {
  assert.deepEqual(steps(open([])), [["tell", "John likes Mary."]]);
  assert.deepEqual(open([], { texts: ["Good morning.", "How are you?", "Well."] }), []);
});
