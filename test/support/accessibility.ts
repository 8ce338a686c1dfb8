import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from './browser.ts';

const require = createRequire(import.meta.url);
const AXE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
/** The one rule whose outcome is another one in other colours. */
const COLOURS = ['color-contrast'];

/**
 * What axe finds on a page as it stands, each with its elements.
 * @param onlyColours for a page that was looked at in the other colours before
 */
export async function violationsIn(page: Page, { onlyColours = false } = {}): Promise<unknown> {
  await page.evaluate(AXE);
  const options = { resultTypes: ['violations'], ...(onlyColours ? { runOnly: COLOURS } : {}) };
  return page.evaluate(
    `axe.run(${JSON.stringify(options)}).then(({ violations }) => violations.map(({ id, nodes }) => id + ' ' + nodes.map(({ html }) => html).join(' ')))`,
  );
}
