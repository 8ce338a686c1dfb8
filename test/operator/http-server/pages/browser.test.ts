// Tier: full. Opens every page in a browser.

import { describe, expect, test } from 'vitest';
import type { LoginServices } from '../../../../src/operator/control/logins.ts';
import type { ConnectionStatus } from '../../../../src/operator/control/status-schemas.ts';
import { appointmentOf, NOW } from '../../../domain/arbitraries.ts';
import { violationsIn } from '../../../support/accessibility.ts';
import { useBrowser, whyNoBrowser } from '../../../support/browser.ts';
import { paced } from '../../../support/pace.ts';
import { useRedis } from '../../../support/redis.ts';
import { cycle, NEVER } from '../../../tenant/cycle.ts';
import { createModelClinic, type ModelClinic } from '../../../tenant/model-clinic.ts';
import { createModelTarget } from '../../../tenant/model-target.ts';
import { openTenantWorld } from '../../../tenant/world.ts';
import { openInstallation } from '../../control/open-installation.ts';
import { openActsWorld } from '../../control/services-world.ts';
import { openPages } from './open-pages.ts';

const redis = useRedis();
const browser = useBrowser();
const TENANT = 'studio-rossi';
const PATHS = [
  '/',
  `/tenants/${TENANT}`,
  `/tenants/${TENANT}/targets/doctor`,
  '/activity',
  `/tenants/${TENANT}/connections/google`,
];
/** Runs, or changes the page, if a page inserts this string as markup. */
const EVIL = `"'><img src=x onerror="document.title='run'"><script>document.title='run'</script>`;

const LOGIN: ConnectionStatus = {
  ...{ connection: 'google', kind: 'google', state: 'needs-login', reason: 'login-ended', sinceAt: 1_000_000 },
  ...{ account: `${EVIL}@clinic.example`, accessExpiresAt: null, refreshExpiresAt: null, missingScopes: [EVIL] },
  ...{ nextTryAt: null, pause: null, isEndFixed: false, obtainedAt: 1_000_000, usedAt: 1_000_000 },
};

/** Where one link waits to be opened. */
const LOGIN_DESK = {
  ...{
    remote: { callbackUrl: 'https://mirror.example/oauth/callback', linkUrl: 'https://mirror.example/oauth/login' },
  },
  about: () => ({ clinic: 'Studio Rossi', language: 'it', targets: [] }),
  links: {
    list: async () => [{ id: '0a1b2c3d4e5f', connection: 'google', by: 'anna@clinic.example', madeAt: 1, endsAt: 2 }],
  },
} as unknown as LoginServices;

async function openWorld() {
  const world = await openActsWorld(redis.connect());
  const login = { ...LOGIN, account: 'rossi@clinic.example', missingScopes: ['https://mirror.example/auth/events'] };
  const installation = { ...world.installation, connections: async () => [login] };
  return { ...world, ...(await openPages({ installation, desk: { loginServices: () => LOGIN_DESK } })) };
}

/** Opens a clinic whose foreign strings on pages are all malicious. */
async function openEvilWorld() {
  const world = await openActsWorld(redis.connect());
  const { tenant } = world;
  const { appointments } = tenant.clinic as ModelClinic;
  appointments.set(EVIL, appointmentOf(EVIL, { inHours: 30 }));
  await world.changedRun();
  const [run] = await tenant.runs.list(1);
  if (run === undefined) throw new Error('there is no run');
  const texts = { message: EVIL, remedy: EVIL };
  const error = { code: EVIL, actor: 'remote', ...texts, texts } as const;
  const example = { recordId: EVIL, code: EVIL, field: EVIL };
  await tenant.runs.add({ ...run, error, unusable: { [EVIL]: 1 }, unusableExamples: [example] });
  Object.assign(tenant.configuration, { name: EVIL });
  const installation = { ...world.installation, connections: async () => [LOGIN] };
  return { ...world, ...(await openPages({ installation })) };
}

/** Opens a clinic of 20 doctors, each with a calendar and an account. A first cycle has filled the calendars. */
async function openDoctors() {
  const clinic = createModelClinic();
  const agendas = await clinic.agendas(NEVER);
  const doctors = Array.from({ length: 20 }, (_, index) => `doctor-${index + 1}`);
  for (const id of doctors) {
    agendas.push({ id, name: `Dr Loretta Ciavarella ${id.slice(7)}, Gynaecology`, locationId: null, isActive: true });
    clinic.appointments.set(id, appointmentOf(id, { agendaId: id, inHours: 30 }));
  }
  const targets = doctors.map((id) => ({
    ...{ id, model: createModelTarget() },
    configuration: { agendas: [id], connection: `google-${id}`, connector: 'google-calendar' },
  }));
  const { tenant } = openTenantWorld(redis, clinic, targets);
  const connections = doctors.map((id) => ({
    ...{ ...LOGIN, connection: `google-${id}`, state: 'connected' as const, reason: null, missingScopes: [] },
    ...{ obtainedAt: NOW, usedAt: NOW },
    account: `loretta.ciavarella.${id}@clinic.example`,
  }));
  await cycle(tenant);
  return openPages({ installation: openInstallation({ tenants: [tenant], connections }) });
}

test('whatever a clinic or a vendor writes, a page shows it as a text', async () => {
  const { see } = await openEvilWorld();
  for (const path of [...PATHS, `/tenants/${TENANT}/targets/doctor?state=in-sync`, `/?q=${encodeURIComponent(EVIL)}`]) {
    const page = await see(path);
    expect(page).toContain('</html>');
    expect(page).not.toContain('<img');
    expect(page).not.toContain('<script>');
  }
  expect(await see(`/tenants/${TENANT}`)).toContain('&lt;script&gt;');
});

describe.skipIf(whyNoBrowser !== null)(`in a browser (${whyNoBrowser ?? 'Chromium'})`, () => {
  test('no text of a clinic runs or is displayed as markup', async () => {
    const { listen } = await openEvilWorld();
    const url = await listen();
    const person = await browser.get().open();
    const page = await person.newPage();
    for (const path of PATHS) {
      await page.goto(`${url}${path}`);
      expect(await page.locator('img, script:not([src])').count()).toBe(0);
      expect(await page.title()).not.toBe('run');
    }
    await person.close();
  });

  test.each(['light', 'dark'] as const)('everybody can use the pages, in %s colours', async (colorScheme) => {
    const { listen, heldRun, changedRun } = await openWorld();
    await changedRun();
    await heldRun();
    const url = await listen();
    const person = await browser.get().open({ colorScheme, locale: 'en-GB' });
    const page = await person.newPage();
    for (const path of PATHS) {
      await page.goto(`${url}${path}`);
      expect(await violationsIn(page), path).toEqual([]);
    }
    await person.close();
  });

  test('nothing is wider than a phone of 360 px', async () => {
    const { listen, heldRun } = await openWorld();
    await heldRun();
    const url = await listen();
    const person = await browser.get().open({ viewport: { width: 360, height: 740 }, locale: 'it-IT' });
    const page = await person.newPage();
    for (const path of PATHS) {
      await page.goto(`${url}${path}`);
      expect(await page.evaluate('document.documentElement.scrollWidth'), path).toBe(360);
    }
    await person.close();
  });

  test.each([
    ['two screens of a desk', { width: 1_440, height: 900 }, 2],
    ['three screens of a phone', { width: 390, height: 844 }, 3],
  ] as const)('20 doctors fit on %s, by name, and nothing is wider', async (_, viewport, screens) => {
    const { listen } = await openDoctors();
    const url = await listen();
    const person = await browser.get().open({ viewport, locale: 'en-GB' });
    const page = await person.newPage();
    await page.goto(`${url}/tenants/${TENANT}`);
    const targets = page.locator('section:has(#targets) table');
    expect(await targets.locator('tbody tr').count()).toBe(20);
    const { y, height } = (await targets.boundingBox())!;
    expect(y + height).toBeLessThanOrEqual(screens * viewport.height);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(viewport.width);
    const words = await targets.innerText();
    expect(words).toContain('Dr Loretta Ciavarella 7, Gynaecology');
    expect(words).toContain('loretta.ciavarella.doctor-7@clinic.example');
    expect(words.replaceAll(/\S+@\S+/g, '')).not.toMatch(/doctor-\d/);
    expect(await violationsIn(page)).toEqual([]);
    await person.close();
  });

  test('all is reached by keys: the content first, rows by j and k, the search by /', async () => {
    const { listen } = await openWorld();
    const url = await listen();
    const person = await browser.get().open({ locale: 'en-GB' });
    const page = await person.newPage();
    const focused = () => page.evaluate('document.activeElement.textContent || document.activeElement.name');
    await page.goto(url);
    await page.keyboard.press('Tab');
    expect(await focused()).toBe('Skip to the content');
    await page.keyboard.press('j');
    expect(await focused()).toMatch(/Rossi|rossi/);
    await page.keyboard.press('/');
    expect(await focused()).toBe('q');
    await page.keyboard.type('jk/');
    expect(await page.locator('input[name=q]').inputValue()).toBe('jk/');
    await page.goto(url);
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.waitForURL(`${url}/tenants/${TENANT}`);
    await person.close();
  });

  test('a live page shows changes, and unfolded parts stay unfolded', async () => {
    const { listen, changedRun } = await openWorld();
    const url = await listen();
    const person = await browser.get().open({ locale: 'en-GB' });
    const page = await person.newPage();
    await page.goto(`${url}/tenants/${TENANT}`);
    const runs = page.locator('#runs ~ * details, section:has(#runs) details');
    const before = await runs.count();
    const id = await runs.first().getAttribute('id');
    await page.locator(`#${id} summary`).click();
    await changedRun();
    await expect.poll(() => runs.count(), { timeout: paced(10_000) }).toBeGreaterThan(before);
    expect(await page.locator(`#${id}`).getAttribute('open')).not.toBeNull();
    await person.close();
  });
});
