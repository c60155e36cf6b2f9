import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface Finding {
  id: string;
  help: string;
  nodes: { html: string; failureSummary: string }[];
}

/**
 * What axe finds on the page as it is now, one line each; with a rule, what that rule alone finds.
 * The policy of the page forbids scripts; the debugger's are none of its.
 */
export async function findings(page: Page, rule?: string): Promise<string[]> {
  if (!(await page.evaluate('"axe" in globalThis')))
    await page.evaluate(`(() => { const module = undefined; ${source} })()`);
  // Passed rules and selectors are left out; a finding is shown by its HTML.
  const brief = { resultTypes: ['violations'], selectors: false };
  const options = JSON.stringify(rule ? { ...brief, runOnly: [rule] } : brief);
  const violations = (await page.evaluate(`axe.run(${options}).then(({ violations }) => violations)`)) as Finding[];
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.slice(0, 4).map((node) => `${id}: ${help}: ${node.html.slice(0, 160)} ${node.failureSummary.slice(0, 220)}`),
  );
}

/** Names shared by several buttons: a screen reader user could not tell them apart. */
export async function namesakes(page: Page): Promise<string[]> {
  return (await page.evaluate(`(() => {
    const names = [...document.querySelectorAll('main button:not([data-row]), dialog button')]
      .filter((button) => button.checkVisibility())
      .map((button) => (button.getAttribute('aria-label') ?? button.innerText).trim());
    return [...new Set(names.filter((name, index) => names.indexOf(name) !== index))];
  })()`)) as string[];
}
