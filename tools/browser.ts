import { existsSync } from 'node:fs';

/** Possible browsers: the variable's, then Debian's and Google's. */
const PLACES = [process.env.CLINIC_MIRROR_BROWSER, '/usr/bin/chromium', '/usr/bin/google-chrome'];

/** No external requests, and no first-run pages. */
const ARGUMENTS = [
  ...['--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
  ...['--disable-component-update', '--disable-sync', '--force-color-profile=srgb'],
];

/** The browser of this host; null if none is installed. */
export const browserPath = PLACES.find((path) => path !== undefined && path !== '' && existsSync(path)) ?? null;

/** Why tests that need one are skipped. */
export const NO_BROWSER = 'no browser is found: set CLINIC_MIRROR_BROWSER, or install chromium';

type Chromium = Awaited<ReturnType<typeof import('playwright-core')['chromium']['launch']>>;

/** A browser for tests of pages. */
export interface TestBrowser {
  /** Opens a separate context with a screen size, a language and a colour scheme. */
  open: Chromium['newContext'];
  close(): Promise<void>;
}

/** Starts the browser of this host with an empty profile. @throws Error if none is installed */
export async function startBrowser(): Promise<TestBrowser> {
  if (browserPath === null) throw new Error(NO_BROWSER);
  const { chromium } = await import('playwright-core');
  // Its own user may start it only without the sandbox (https://crbug.com/638180).
  const args = process.getuid?.() === 0 ? [...ARGUMENTS, '--no-sandbox'] : ARGUMENTS;
  const browser = await chromium.launch({ executablePath: browserPath, headless: true, args });
  return { open: (options) => browser.newContext(options), close: () => browser.close() };
}
