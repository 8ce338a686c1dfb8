import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from './browser.ts';

const require = createRequire(import.meta.url);
const AXE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
/** The only rule whose result depends on the colour scheme. */
const COLOURS = ['color-contrast'];

/**
 * Returns axe's findings on a page in its current state, each with its elements.
 * @param onlyColours for a second check of a page in the other colour scheme
 */
export async function violationsIn(page: Page, { onlyColours = false } = {}): Promise<unknown> {
  await page.evaluate(AXE);
  const options = { resultTypes: ['violations'], ...(onlyColours ? { runOnly: COLOURS } : {}) };
  return page.evaluate(
    `axe.run(${JSON.stringify(options)}).then(({ violations }) => violations.map(({ id, nodes }) => id + ' ' + nodes.map(({ html }) => html).join(' ')))`,
  );
}
