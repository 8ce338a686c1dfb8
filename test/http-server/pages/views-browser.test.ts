import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { HOUR_MS } from '../../../src/model/time.ts';
import type { TestBrowser } from '../../../tools/browser.ts';
import { cycle } from '../../jobs/cycle.ts';
import { violationsIn } from '../../support/accessibility.ts';
import { browserPath, NO_BROWSER, type Page, useBrowser } from '../../support/browser.ts';
import { useRedis } from '../../support/redis.ts';
import { CLINIC, openViewsWorld } from './views-world.ts';

const redis = useRedis({ isKept: true });
const browser = useBrowser();
const BASE = `/tenants/${CLINIC}`;
const WEEK = `${BASE}/targets/doctor/week`;
const PHONE = { viewport: { width: 360, height: 740 } };

describe.skipIf(browserPath === null)(`in a browser (${browserPath ?? NO_BROWSER})`, () => {
  let world: Awaited<ReturnType<typeof openViewsWorld>>;
  let hold = '';
  beforeAll(async () => {
    world = await openViewsWorld(redis.connect());
    const { clinic, tenant, clock } = world;
    for (let index = 10; index < 30; index += 1) clinic.appointments.delete(`apt-${index}`);
    await cycle(tenant);
    clock.now += HOUR_MS;
    await cycle(tenant);
    hold = `${BASE}/holds/${(await tenant.holds.list())[0]?.id}`;
  });
  afterAll(() => world?.close());

  /** A visitor's browser, closed after the test. */
  async function visit(visitor: string, options: Parameters<TestBrowser['open']>[0]): Promise<Page> {
    const person = await browser.get().open({ locale: 'en-GB', ...options });
    onTestFinished(() => person.close());
    await person.addCookies([{ name: 'visitor', value: visitor, url: world.base }]);
    return person.newPage();
  }

  test.each([
    ['wide and light', { colorScheme: 'light', viewport: { width: 1400, height: 900 } }],
    ['a phone and dark', { colorScheme: 'dark', ...PHONE }],
  ] as const)('everybody can use the pages: %s', { timeout: 60_000 }, async (_, options) => {
    const page = await visit('owner', options);
    for (const path of [WEEK, `${BASE}/explain?id=apt-1`, `${BASE}/plan`, `${BASE}/holds`, hold, '/queues']) {
      await page.goto(`${world.base}${path}`);
      expect(await violationsIn(page), path).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth'), path).toBe(options.viewport.width);
    }
  });
});
