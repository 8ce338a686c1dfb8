import { afterAll, beforeAll } from 'vitest';
import { browserPath, NO_BROWSER, startBrowser, type TestBrowser } from '../../tools/browser.ts';

export { browserPath, NO_BROWSER };

/** A user with a separate browser context. */
export type Person = Awaited<ReturnType<TestBrowser['open']>>;
export type Page = Awaited<ReturnType<Person['newPage']>>;

/** Starts one browser for a test file before its first test. Without an installed browser, the tests are skipped. */
export function useBrowser(): { get(): TestBrowser } {
  let browser: TestBrowser | null = null;
  beforeAll(async () => {
    if (browserPath !== null) browser = await startBrowser();
  }, 30_000);
  afterAll(() => browser?.close());
  return {
    get() {
      if (browser === null) throw new Error(NO_BROWSER);
      return browser;
    },
  };
}
