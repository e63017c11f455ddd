// The words that people read are in the strings.ts of each area, not in the components.
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { parseSync } from "vite";

const demo = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../src/demo");
const READ_BY_PEOPLE = new Set(["title", "aria-label", "aria-roledescription", "placeholder", "alt", "label", "noun", "what", "empty", "hint"]);
const hasWords = (text) => /\p{L}/u.test(text);

/** The literal words that an expression may have as its value. Conditions, and arguments of functions other than `map`, are not shown. */
function shownBy(node) {
  switch (node?.type) {
    case "Literal": return typeof node.value === "string" && hasWords(node.value) ? [node.value] : [];
    case "TemplateLiteral": return [...node.quasis.map(({ value }) => value.cooked).filter(hasWords), ...node.expressions.flatMap(shownBy)];
    case "ConditionalExpression": return [...shownBy(node.consequent), ...shownBy(node.alternate)];
    case "LogicalExpression": return [...(node.operator === "&&" ? [] : shownBy(node.left)), ...shownBy(node.right)];
    case "BinaryExpression": return node.operator === "+" ? [...shownBy(node.left), ...shownBy(node.right)] : [];
    case "CallExpression": return node.callee.property?.name === "map" ? node.arguments.flatMap(({ body }) => shownBy(body)) : [];
    case "JSXExpressionContainer": case "ParenthesizedExpression": return shownBy(node.expression);
    default: return [];
  }
}

/** The words in the markup of a component, and in the title of the page. Commands in `code` are no words. */
function literalsIn(file, code) {
  const found = [];
  const visit = (node) => {
    if (Array.isArray(node)) return node.forEach(visit);
    if (node === null || typeof node !== "object") return;
    if (node.type === "JSXText" && hasWords(node.value)) found.push(node.value.trim());
    if (node.type === "JSXAttribute" && READ_BY_PEOPLE.has(node.name.name)) found.push(...shownBy(node.value));
    if (node.type === "AssignmentExpression" && code.slice(node.left.start, node.left.end) === "document.title") found.push(...shownBy(node.right));
    if ((node.type === "JSXElement" || node.type === "JSXFragment") && node.openingElement?.name.name !== "code") found.push(...node.children.filter(({ type }) => type === "JSXExpressionContainer").flatMap(shownBy));
    Object.values(node).forEach(visit);
  };
  const { program, errors } = parseSync(file, code);
  assert.deepEqual(errors, [], file);
  visit(program);
  return found;
}

test("words in markup are found", () => {
  const code = `const a = <><p title="One" class="two">Three {n} {x === "four" ? "Five" : \`\${n} six\`}{y && "Seven"}{say("eight")}</p><code>{"nine"}</code><i aria-label={z ? "Ten" : strings.eleven} /><Own what="twelve" name="thirteen" />{"Fourteen " + n}{all.map((one) => \`\${one} fifteen\`)}</>;
    document.title = "Sixteen";`;
  assert.deepEqual(literalsIn("a.tsx", code).sort(), [" fifteen", " six", "Five", "Fourteen ", "One", "Seven", "Sixteen", "Ten", "Three", "twelve"]);
});

test("no component has words of its own", async () => {
  const files = (await readdir(demo, { recursive: true })).filter((name) => name.endsWith(".tsx"));
  assert.ok(files.length > 50, `${files.length} components`);
  const found = await Promise.all(files.map(async (name) => literalsIn(name, await readFile(path.join(demo, name), "utf8")).map((words) => `${name}: ${words}`)));
  assert.deepEqual(found.flat().sort(), []);
});
