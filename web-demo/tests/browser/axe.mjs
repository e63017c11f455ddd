// Runs axe-core in a page.
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Runs axe after all animations have ended, and returns its violations. */
export async function findViolations(tab, view) {
  await tab.page.evaluate(axe);
  const violations = await tab.page.evaluate(async () => {
    for (let frame = 0; frame < 2; frame += 1) await new Promise(requestAnimationFrame);
    await Promise.all(document.getAnimations().map((a) => (a.effect?.getComputedTiming().iterations === Infinity ? null : a.finished.catch(() => {}))));
    const { violations } = await window.axe.run(document, { rules: { "label-content-name-mismatch": { enabled: true } } });
    return violations.map((v) => `${v.id}: ${v.nodes.map((n) => `${n.target.join(" ")} (${n.any.concat(n.all, n.none).map((c) => c.message).join("; ").slice(0, 160)})`).slice(0, 4).join(" | ")}`);
  });
  return violations.map((v) => `${view}: ${v}`);
}
