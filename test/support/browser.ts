import { afterAll, beforeAll } from 'vitest';
import { startBrowser, type TestBrowser, whyNoBrowser } from '../../tools/browser.ts';

export { whyNoBrowser };

/** A user with a separate browser context. */
export type Person = Awaited<ReturnType<TestBrowser['open']>>;
export type Page = Awaited<ReturnType<Person['newPage']>>;

/**
 * Starts one browser for a test file before its first test. A browser that does not start is a failure. On a platform without a browser, the
 * file skips its tests with `whyNoBrowser`.
 */
export function useBrowser(): { get(): TestBrowser } {
  let browser: TestBrowser | null = null;
  beforeAll(async () => {
    if (whyNoBrowser === null) browser = await startBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    browser = null;
  });
  return {
    get() {
      if (browser === null) throw new Error('the browser of this file exists in tests and hooks only');
      return browser;
    },
  };
}
