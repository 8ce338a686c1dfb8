import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { LoginLinkDescription } from '../../../src/control/logins.ts';
import { createPublicServer } from '../../../src/http-server/public-server.ts';
import type { PublicVerbs } from '../../../src/http-server/verbs.ts';
import { silentLogger } from '../../../src/log/logger.ts';
import { HOUR_MS } from '../../../src/model/time.ts';
import type { TestBrowser } from '../../../tools/browser.ts';
import { cycle } from '../../jobs/cycle.ts';
import { browserPath, NO_BROWSER, useBrowser } from '../../support/browser.ts';
import { useRedis } from '../../support/redis.ts';
import { CLINIC, openViewsWorld } from './views-world.ts';

const redis = useRedis({ isKept: true });
const browser = useBrowser();
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const BASE = `/tenants/${CLINIC}`;
const WEEK = `${BASE}/targets/doctor/week`;
type Person = Awaited<ReturnType<TestBrowser['open']>>;
type Page = Awaited<ReturnType<Person['newPage']>>;
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
  async function visit(visitor: string, options: Parameters<TestBrowser['open']>[0] = {}): Promise<Page> {
    const person = await browser.get().open({ locale: 'en-GB', ...options });
    onTestFinished(() => person.close());
    await person.addCookies([{ name: 'visitor', value: visitor, url: world.base }]);
    return person.newPage();
  }

  async function violationsIn(page: Page): Promise<unknown> {
    await page.evaluate(AXE);
    return page.evaluate(
      "axe.run({ resultTypes: ['violations'] }).then(({ violations }) => violations.map(({ id, nodes }) => id + ' ' + nodes.map(({ html }) => html).join(' ')))",
    );
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

  test('a moved appointment is seen to move in the week, without a reload', { timeout: 30_000 }, async () => {
    const page = await visit('operator', { viewport: { width: 1400, height: 900 } });
    await page.goto(`${world.base}${WEEK}`);
    const block = page.locator('a.block', { hasText: 'Mario Rossi' }).and(page.locator('[title^="apt-3 "]'));
    const marked = await page.evaluate("document.body.dataset.marked = 'yes'");
    expect(await block.first().textContent()).toContain('17:00');
    world.clock.now += HOUR_MS;
    world.book('apt-3', { inHours: 4 });
    await cycle(world.tenant);
    await block.filter({ hasText: '14:00' }).first().waitFor({ timeout: 20_000 });
    expect(await page.evaluate('document.body.dataset.marked')).toBe(marked);
  });

  test('of a hold a part is approved, after what will happen was shown', { timeout: 30_000 }, async () => {
    const page = await visit('operator', PHONE);
    await page.goto(`${world.base}${hold}`);
    await page.locator('details summary').first().click();
    await page.locator('input[name=item]').first().check();
    await page.getByRole('button', { name: 'Remove selected…' }).click();
    expect(await page.locator('main').textContent()).toContain('1 event is removed from “doctor”');
    await page.getByRole('button', { name: 'Remove 1 event' }).click();
    await page.getByText('approved').waitFor();
    const holds = await world.tenant.holds.list();
    expect(holds.map(({ state, recordIds }) => [state, recordIds.length]).sort()).toEqual([
      ['approved', 1],
      ['open', 19],
    ]);
  });

  test('a plan is made and applied', { timeout: 30_000 }, async () => {
    world.book('apt-4', { inHours: 6 });
    const page = await visit('operator');
    await page.goto(`${world.base}${BASE}/plan`);
    await page.getByRole('button', { name: /Make (a|another) plan/ }).click();
    await page.getByText('changed: time').waitFor();
    await page.getByRole('button', { name: 'Apply this plan' }).click();
    await page.getByText('did what the plan says').waitFor();
  });

  test('a practitioner connects an account on a phone, after reading what will be done', {
    timeout: 30_000,
  }, async () => {
    const about: LoginLinkDescription = {
      ...{ clinic: 'Studio Aurora', language: 'it', tenant: 'aurora', connection: 'doctor-2', vendor: 'google' },
      ...{ targets: [{ connector: 'google-calendar', holds: 'events' }], expected: '@aurora.example', endsAt: 0 },
      scopes: ['https://www.googleapis.com/auth/calendar.app.created'],
    };
    const begun: string[] = [];
    let base = '';
    const verbs: Partial<PublicVerbs> = {
      describeLogin: async () => about,
      async beginLogin(ticket) {
        begun.push(ticket);
        return { url: new URL(`${base}/oauth/callback?code=c&state=s`), browserKey: 'key', language: 'it' };
      },
      completeLogin: async ({ browserKey }) => ({
        outcome: browserKey === 'key' ? 'connected' : 'other-browser',
        language: 'it',
      }),
    };
    const app = await createPublicServer(verbs as PublicVerbs, { publicUrl: () => base, log: silentLogger });
    onTestFinished(() => app.close());
    base = await app.listen({ host: '127.0.0.1', port: 0 });
    const page = await visit('nobody', { ...PHONE, locale: 'it-IT', colorScheme: 'dark' });
    await page.goto(`${base}/oauth/login/ticket`);
    expect(await violationsIn(page)).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
    expect(begun).toEqual([]);
    await page.getByRole('button', { name: 'Continua con Google' }).click();
    await page.getByRole('heading', { name: 'Collegamento riuscito' }).waitFor();
    expect(begun).toEqual(['ticket']);
    expect(await violationsIn(page)).toEqual([]);
  });
});
