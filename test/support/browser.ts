import { afterAll, beforeAll } from 'vitest';
import { browserPath, NO_BROWSER, startBrowser, type TestBrowser } from '../../tools/browser.ts';

export { browserPath, NO_BROWSER };

/** Somebody with a browser of their own. */
export type Person = Awaited<ReturnType<TestBrowser['open']>>;
/** What they look at. */
export type Page = Awaited<ReturnType<Person['newPage']>>;

/** One browser for a test file; started before its first test. Nothing where there is none: its tests are skipped then. */
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
