// Tier: full. Opens pages in a browser.
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { HOUR_MS } from '../../../../src/core/model/time.ts';
import type { TestBrowser } from '../../../../tools/browser.ts';
import { violationsIn } from '../../../support/accessibility.ts';
import { type Page, useBrowser, whyNoBrowser } from '../../../support/browser.ts';
import { useRedis } from '../../../support/redis.ts';
import { cycle } from '../../../tenant/cycle.ts';
import { CLINIC, usePages } from './open-pages.ts';

const redis = useRedis({ isStored: true });
const browser = useBrowser();
const BASE = `/tenants/${CLINIC}`;
const WEEK = `${BASE}/targets/doctor/week`;
/** Runs, or changes the page, if a page inserts this string as markup; it also contains a style sheet. */
const EVIL = `"'><img src=x onerror="document.title='run'"><script>document.title='run'</script><style>*{display:none}</style>`;
const EVIL_FIELDS = {
  ...{ locationId: 'l1', treatmentId: EVIL, rawStatus: EVIL, teleVisitUrl: `javascript:document.title='run'//${EVIL}` },
  patient: { id: EVIL, firstName: EVIL, lastName: EVIL },
};
const EVIL_WAY = `${BASE}/explain?id=${encodeURIComponent(`${EVIL}0`)}`;
const HISTORY = [`${BASE}/history?days=7`, `${BASE}/targets/doctor/changes?day=2026-06-15`] as const;
const PHONE = { viewport: { width: 360, height: 740 } };

describe.skipIf(whyNoBrowser !== null)(`in a browser (${whyNoBrowser ?? 'Chromium'})`, () => {
  const world = usePages(redis);
  let hold = '';
  beforeAll(async () => {
    const { clinic, tenant, clock, book } = world();
    // Whatever a clinic may write says the same.
    for (const appointment of clinic.appointments.values()) Object.assign(appointment, EVIL_FIELDS);
    for (const agenda of await clinic.agendas(new AbortController().signal)) agenda.name = EVIL;
    clinic.locationList.push({ id: 'l1', name: EVIL, address: EVIL, zone: null });
    for (let index = 0; index < 3; index += 1) book(`${EVIL}${index}`, { ...EVIL_FIELDS, inHours: 70 + index });
    await cycle(tenant);
    clock.now += HOUR_MS;
    for (let index = 1; index < 3; index += 1) clinic.appointments.delete(`${EVIL}${index}`);
    for (let index = 10; index < 30; index += 1) clinic.appointments.delete(`apt-${index}`);
    await cycle(tenant);
    clock.now += HOUR_MS;
    await cycle(tenant);
    hold = `${BASE}/holds/${(await tenant.holds.list())[0]?.id}`;
  });

  /** A visitor's browser, closed after the test. */
  async function visit(visitor: string, options: Parameters<TestBrowser['open']>[0]): Promise<Page> {
    const person = await browser.get().open({ locale: 'en-GB', ...options });
    onTestFinished(() => person.close());
    await person.addCookies([{ name: 'visitor', value: visitor, url: world().base }]);
    return person.newPage();
  }

  test.each([
    ['wide and light', { colorScheme: 'light', viewport: { width: 1400, height: 900 } }],
    ['a phone and dark', { colorScheme: 'dark', ...PHONE }],
  ] as const)('everybody can use the pages: %s', async (_, options) => {
    const page = await visit('owner', options);
    const views = [WEEK, `${BASE}/explain?id=apt-1`, `${BASE}/plan`, `${BASE}/holds`, hold, '/queues'];
    for (const path of [...views, ...HISTORY]) {
      await page.goto(`${world().base}${path}`);
      // The figures of the history are as wide as their charts.
      if (path.startsWith(HISTORY[0])) await page.locator('.history summary').first().click();
      expect(await violationsIn(page), path).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth'), path).toBe(options.viewport.width);
    }
  });

  test('both charts of a target are visible at the width of the page, with their labels', async () => {
    const page = await visit('owner', PHONE);
    await page.goto(`${world().base}${HISTORY[0]}`);
    const boxes = await Promise.all((await page.locator('.history svg').all()).map((svg) => svg.boundingBox()));
    expect(boxes.map((box) => box && [box.width > 240, box.height])).toEqual([
      [false, 72],
      [true, 72],
      [false, 48],
      [true, 48],
    ]);
    const [axis, plot] = boxes;
    expect(plot?.y).toBeCloseTo(axis?.y ?? Number.NaN, 0);
  });

  test('no text of a clinic, in any field, runs or is displayed as markup on any page, and no policy is broken', async () => {
    const page = await visit('owner', { viewport: { width: 1400, height: 900 } });
    await page.addInitScript(
      "addEventListener('securitypolicyviolation', ({ violatedDirective }) => (globalThis.broken ??= []).push(violatedDirective))",
    );
    const expectText = async () => {
      expect(await page.locator('main').textContent(), page.url()).toContain('<script>');
      expect(await page.locator('img, script:not([src]), style, [onerror], [href^="javascript"]').count()).toBe(0);
      expect(await page.title()).not.toBe('run');
      expect(await page.evaluate('globalThis.broken ?? []'), page.url()).toEqual([]);
    };
    for (const path of [WEEK, EVIL_WAY, hold, `${BASE}/targets/doctor?state=in-sync`]) {
      await page.goto(`${world().base}${path}`);
      await expectText();
    }
    await page.goto(`${world().base}${hold}`);
    await page.getByRole('button', { name: /^Remove all/ }).click();
    await expectText();
    await page.goto(`${world().base}${BASE}/plan`);
    await page.getByRole('button', { name: 'Create plan' }).click();
    await page.locator('.folds > details > summary').first().click();
    await page.locator('.folds table').first().waitFor();
    await expectText();
  });
});
