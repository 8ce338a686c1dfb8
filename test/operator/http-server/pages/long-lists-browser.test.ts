// Tier: full. Opens pages in a browser.
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { DAY_MS, HOUR_MS } from '../../../../src/core/model/time.ts';
import { violationsIn } from '../../../support/accessibility.ts';
import { type Page, useBrowser, whyNoBrowser } from '../../../support/browser.ts';
import { useRedis } from '../../../support/redis.ts';
import { CLINIC, usePages } from './open-pages.ts';

const redis = useRedis({ isStored: true });
const browser = useBrowser();
const CHANGES = 400;
const AGENDAS = 20;
const SCREENS = { wide: { width: 1_440, height: 900 }, phone: { width: 390, height: 844 } } as const;

describe.skipIf(whyNoBrowser !== null)(`400 changes in a browser (${whyNoBrowser ?? 'Chromium'})`, () => {
  const world = usePages(redis, { appointments: CHANGES });
  let hold = '';
  beforeAll(async () => {
    const { book, clock, tenant } = world();
    clock.now += HOUR_MS;
    // Each appointment moves to the day after.
    for (let index = 0; index < CHANGES; index += 1) {
      book(`apt-${index}`, { agendaId: `a${index % AGENDAS}`, inHours: 25 + index * 2 });
    }
    const ids = Array.from({ length: CHANGES }, (_, index) => `apt-${index}`);
    const { recordGone } = tenant.targetStore;
    const none = { cancelled: 0, excluded: 0, vanished: 0, released: 0, restored: 0 };
    for (let day = 1; day < 20; day += 1) {
      await recordGone('doctor', { ...none, vanished: day % 4 }, clock.now - day * DAY_MS);
    }
    const times = { linkCount: CHANGES, now: clock.now, expiresAt: clock.now + 7 * DAY_MS };
    hold = `/tenants/${CLINIC}/holds/${(await tenant.holds.cover('doctor', 'vanished', ids, times))?.id}`;
  });

  async function visit(screen: keyof typeof SCREENS, locale = 'en-GB'): Promise<Page> {
    const person = await browser.get().open({ locale, viewport: SCREENS[screen] });
    onTestFinished(() => person.close());
    await person.addCookies([{ name: 'visitor', value: 'operator', url: world().base }]);
    return person.newPage();
  }

  const figure = async (page: Page, expression: string) => Number(await page.evaluate(expression));
  const BAR = "document.querySelector('.sticky').getBoundingClientRect()";

  /** Expects the decision in view at both ends of the page, and a focused group below it. */
  async function expectDecisionInView(page: Page): Promise<void> {
    const { height, width } = page.viewportSize() ?? { height: 0, width: 0 };
    expect(await figure(page, 'document.documentElement.scrollWidth')).toBe(width);
    expect(await figure(page, `${BAR}.bottom`)).toBeLessThan(height);
    await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)');
    expect(await figure(page, `${BAR}.top`)).toBe(0);
    expect(await figure(page, `${BAR}.height`)).toBeLessThan(height / 4);
    await page.locator('.decided summary').first().focus();
    expect(await figure(page, 'document.activeElement.getBoundingClientRect().top')).toBeGreaterThanOrEqual(
      await figure(page, `${BAR}.bottom`),
    );
    expect(await violationsIn(page)).toEqual([]);
  }

  test.each([
    ['wide', 'en-GB'],
    ['phone', 'en-GB'],
    ['phone', 'it-IT'],
  ] as const)(
    'a hold is short, shows each change on request, and its decision stays in view: %s, %s',
    async (screen, locale) => {
      const page = await visit(screen, locale);
      await page.goto(`${world().base}${hold}`);
      if (screen === 'wide') {
        const height = await figure(page, 'document.documentElement.scrollHeight');
        expect(height).toBeLessThanOrEqual(3 * SCREENS.wide.height);
      }
      await expectDecisionInView(page);
      expect(await page.locator('input[name=item]').count()).toBe(CHANGES);
      await page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true");
      expect(await page.locator('input[name=item]:visible').count()).toBe(CHANGES);
      expect(await figure(page, 'document.documentElement.scrollWidth')).toBe(SCREENS[screen].width);
    },
  );

  test.each(['wide', 'phone'] as const)('a plan is short, and its button stays in view: %s', async (screen) => {
    const page = await visit(screen);
    await page.goto(`${world().base}/tenants/${CLINIC}/plan`);
    await page.getByRole('button', { name: /^Create/ }).click();
    await page.getByRole('button', { name: 'Apply this plan' }).waitFor();
    if (screen === 'wide') {
      const height = await figure(page, 'document.documentElement.scrollHeight');
      expect(height).toBeLessThanOrEqual(3 * SCREENS.wide.height);
    }
    await expectDecisionInView(page);
    await page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true");
    expect(await page.locator('tr[id^="row-line-doctor-"]:visible').count()).toBe(CHANGES);
  });
});
