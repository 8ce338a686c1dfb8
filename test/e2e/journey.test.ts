import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { readGoogleEvents } from '../../demo/read-targets.ts';
import { authorizeInBrowser, type ClinicSandbox, startClinicSandbox } from '../../sandbox/clinic/index.ts';
import { type GoogleSandbox, startGoogleSandbox } from '../../sandbox/google/index.ts';
import { ON_THIS_MACHINE } from '../../sandbox/kit/outbound.ts';
import { connectors } from '../../src/connectors/registry.ts';
import { silentLogger } from '../../src/core/log/logger.ts';
import { DAY_MS, HOUR_MS } from '../../src/core/model/time.ts';
import { reminderChannels } from '../../src/features/reminders/channels/registry.ts';
import { type Daemon, startDaemon } from '../../src/main.ts';
import { loadConfiguration } from '../../src/settings/configuration-files.ts';
import { freePort } from '../../tools/free-port.ts';
import { violationsIn } from '../support/accessibility.ts';
import { type Page, type Person, useBrowser, whyNoBrowser } from '../support/browser.ts';
import { useRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';
import { type Ran, runHere } from './support/run-command.ts';

const redis = useRedis({ isStored: true });
const browser = useBrowser();
const PASSPHRASE = 'correct horse battery staple';
const WIDE = { width: 1_400, height: 900 };
/** The clinic of the journey, as its files call it. */
const CLINIC = 'aurora';
/** Its calendar, which is one of Google's. */
const CALENDAR = 'dr-rossi';
/** Whose calendar it is. */
const ACCOUNT = 'rossi@aurora.example';
const SUMMARY = 'Appointments of Dr Rossi';
/** The narrowest that has to do. */
const PHONE = { width: 360, height: 740 };
const HOME = `/tenants/${CLINIC}`;
/** Of a day on which the clinic has nothing else yet. */
const MEETING = halfHour(9);
const MOVED = halfHour(11);

describe.skipIf(whyNoBrowser !== null)(`in a browser (${whyNoBrowser ?? 'Chromium'})`, () => {
  let world: JourneyWorld;
  let administrator: Person;
  let page: Page;
  beforeAll(async () => {
    world = await openJourneyWorld(redis.url);
    administrator = await browser.get().open({ locale: 'en-GB', viewport: WIDE });
    page = await administrator.newPage();
  });
  afterAll(async () => {
    await administrator?.close();
    await world?.close();
  });

  const go = (path: string) => page.goto(world.address(path));
  const press = (name: string | RegExp) => page.getByRole('button', { name }).click();
  /** Requests a cycle on the page. */
  const sync = async (from: Page = page) => {
    await from.goto(world.address(HOME));
    await from.getByRole('button', { name: 'Sync now' }).click();
    await from.getByText(/^Sync now: Read \d/).waitFor();
  };

  test('at the first sign-in the owner chooses a passphrase, on a URL that is valid once', async () => {
    expect(await world.init()).toMatchObject({ code: 0 });
    const [link = ''] = /^http:\S+$/m.exec(await world.startDaemon()) ?? [];
    await page.goto(link);
    await expectFit(page);
    await page.getByLabel('Passphrase').fill('too short');
    await page.getByLabel('The same once more').fill('too short');
    await press('Set the passphrase and sign in');
    // The browser itself keeps what is too short.
    expect(page.url()).toBe(link);
    await page.getByLabel('Passphrase').fill(PASSPHRASE);
    await page.getByLabel('The same once more').fill(PASSPHRASE);
    await press('Set the passphrase and sign in');
    await page.waitForURL(world.address('/'));
    expect(await page.locator('main').textContent()).toContain(
      'the connection is not set up: no one has signed in yet',
    );
    await expectFit(page);
    await press('Sign out');
    await page.goto(link);
    await page.getByText('already used').waitFor();
    await go(HOME);
    await page.getByLabel('Passphrase').fill(PASSPHRASE);
    await press('Sign in');
    await page.waitForURL(world.address(HOME));
  });

  test('a practitioner connects a calendar on a phone by a link, through the consent page, and it fills', async () => {
    await go(`${HOME}/connections/${CALENDAR}`);
    await expectFit(page);
    await press('Create a link');
    const link = (await page.locator('.copyable code', { hasText: '/oauth/login/' }).textContent()) ?? '';
    await expectFit(page);
    const practitioner = await browser.get().open({ locale: 'it-IT', viewport: PHONE, colorScheme: 'dark' });
    const phone = await practitioner.newPage();
    await phone.goto(link);
    expect(await phone.locator('main').textContent()).toContain(ACCOUNT);
    await expectFit(phone);
    await phone.getByRole('button', { name: 'Continua con Google' }).click();
    // Google's own page.
    await phone.waitForURL((url) => url.href.startsWith(world.google.issuer));
    await phone.getByLabel('Account').fill(ACCOUNT);
    await phone.locator('button[value=allow]').click();
    await phone.getByRole('heading', { name: 'Collegamento riuscito' }).waitFor();
    await expectFit(phone);
    await practitioner.close();
    await go(`${HOME}/connections/${CALENDAR}`);
    expect(await page.locator('.facts').textContent()).toMatch(new RegExp(`${ACCOUNT}.*connected`));
    await waitFor(async () => (await world.events()) === appointments(world).length, {
      what: 'the calendar to fill',
      intervalMs: 100,
    });
    await go(HOME);
    await page.getByText('in sync').first().waitFor();
    await expectFit(page);
  });

  test('of a hold a part is approved, and the rest stays held', async () => {
    const before = appointments(world).length;
    expect(await world.events()).toBe(before);
    for (const { id } of appointments(world).slice(0, 16)) world.clinic.remove(world.clinicId, id, 'hard');
    await sync();
    await sync();
    await expectFit(page);
    await go(`${HOME}/holds`);
    await expectFit(page);
    await page.locator('a.row').first().click();
    // Days are folded, and many days within months.
    const item = page.locator('input[name=item]').first();
    for (const fold of await page.locator('.folds details', { has: item }).all()) {
      await fold.locator('> summary').click();
    }
    await item.check();
    await expectFit(page);
    await press('Remove selected…');
    await page.getByText(/The next run removes 1 event from “[^”]+”\./).waitFor();
    await expectFit(page);
    await press('Remove 1 event');
    await page.getByText('approved', { exact: true }).first().waitFor();
    await waitFor(async () => (await world.events()) === before - 1, { what: 'one event to go', intervalMs: 100 });
    await sync();
    await go(`${HOME}/holds`);
    expect(await page.locator('tbody tr', { hasText: 'action required' }).textContent()).toContain('15');
    expect(await world.events()).toBe(before - 1);
  });

  test('a plan shows the intended writes, and is applied exactly as shown', async () => {
    const before = await world.events();
    const { id } = world.clinic.book(world.clinicId, MEETING);
    await go(`${HOME}/plan`);
    await expectFit(page);
    await press('Create plan');
    await page.locator('tbody tr', { hasText: id }).getByText('+ create').waitFor();
    await expectFit(page);
    expect(await world.events()).toBe(before);
    await press('Apply this plan');
    await page.getByText('made the changes of the plan').waitFor();
    await waitFor(async () => (await world.events()) === before + 1, { what: 'the event to come', intervalMs: 100 });
    await go(`${HOME}/explain`);
    await page.locator('main').getByRole('searchbox').fill(id);
    await press('Find');
    const way = page.locator('ol.way');
    await way.waitFor();
    expect(await way.locator('li').count()).toBe(5);
    expect(await way.locator('li.done').count()).toBeGreaterThanOrEqual(3);
    await expectFit(page);
  });

  test('the week shows an appointment move when it moves in the clinic, without a reload', async () => {
    const { id = '' } = appointments(world).find(({ start }) => start === MEETING.start) ?? {};
    await go(`${HOME}/targets/${CALENDAR}/week?from=${new Date(MEETING.start).toISOString().slice(0, 10)}`);
    const block = page.locator(`a.block[title^="${id} "], a.block[title*="· ${id}"], a.block[href$="id=${id}"]`);
    await block.getByText(clockOf(MEETING.start)).first().waitFor();
    await expectFit(page);
    await page.evaluate("document.body.dataset.marked = 'yes'");
    world.clinic.move(world.clinicId, id, MOVED);
    const other = await administrator.newPage();
    await sync(other);
    await other.close();
    await block.getByText(clockOf(MOVED.start)).first().waitFor();
    expect(await page.evaluate('document.body.dataset.marked')).toBe('yes');
    await go('/activity');
    expect(await page.locator('main').textContent()).toContain('owner');
    await expectFit(page);
  });
});

/** What the clinic has and has not cancelled. */
function appointments({ clinic, clinicId }: JourneyWorld) {
  return [...clinic.appointments(clinicId)].filter(({ status, deleted }) => status !== 'Cancelled' && !deleted);
}

/** `10:00`, as the clinic's clock shows it. */
function clockOf(at: number): string {
  return new Intl.DateTimeFormat('en-GB', { timeZone: 'Europe/Rome', timeStyle: 'short' }).format(at);
}

/** Every page is accessible in light and dark colours, and no content is wider than a phone. */
async function expectFit(page: Page): Promise<void> {
  const size = page.viewportSize() ?? WIDE;
  await page.emulateMedia({ colorScheme: 'light' });
  expect(await violationsIn(page), page.url()).toEqual([]);
  await page.emulateMedia({ colorScheme: 'dark' });
  expect(await violationsIn(page, { onlyColours: true }), page.url()).toEqual([]);
  await page.setViewportSize(PHONE);
  expect(await page.evaluate('document.documentElement.scrollWidth'), page.url()).toBe(PHONE.width);
  await page.setViewportSize(size);
}

/** @param hour of a day in six weeks, by the clock in UTC */
function halfHour(hour: number): { start: number; end: number } {
  const start = new Date(Date.now() + 45 * DAY_MS).setUTCHours(hour, 0, 0, 0);
  return { start, end: start + HOUR_MS / 2 };
}

/** A clinic and Google, an empty folder, and the administrator who connects them. */
interface JourneyWorld {
  clinic: ClinicSandbox;
  google: GoogleSandbox;
  /** The clinic's own id of itself, and of its one agenda. */
  clinicId: string;
  agendaId: string;
  /** Runs `init` with answers from a file, and a user who signs in to the clinic at the shown URL. */
  init(): Promise<Ran>;
  /** Starts the daemon with the files of `init`. @returns its output on the terminal */
  startDaemon(): Promise<string>;
  /** Where its pages are. @throws before the daemon has started */
  address(path: string): string;
  /** How many events Google has of the clinic. */
  events(): Promise<number>;
  close(): Promise<void>;
}

/** Starts a clinic with one agenda, and Google with one account. No part of the product exists yet. */
async function openJourneyWorld(redisUrl: string): Promise<JourneyWorld> {
  const dir = await mkdtemp(join(tmpdir(), 'clinic-mirror-journey-'));
  const configDir = join(dir, 'mine');
  const [clinic, google] = await Promise.all([
    startClinicSandbox({ tenants: 1, appointments: 24, agendas: 1, pastDays: 0, futureDays: 30 }),
    startGoogleSandbox(),
  ]);
  google.addAccount(ACCOUNT);
  const [tenant] = clinic.tenants;
  const agendaId = tenant?.agendas[0]?.id ?? '';
  let daemon: Daemon | null = null;
  return {
    ...{ clinic, google, clinicId: tenant?.id ?? '', agendaId },
    async init() {
      const answers = join(dir, 'answers.yaml');
      await writeFile(answers, stringify(answersFor(redisUrl, clinic, google)));
      const visits: Promise<unknown>[] = [];
      const ran = await runHere({ configDir, env: {} }, ['init', configDir, '--answers', answers], (said) => {
        const address = /^(http:\S+authorize\S*)\n/m.exec(said)?.[1];
        if (address === undefined || tenant === undefined || visits.length > 0) return;
        visits.push(authorizeInBrowser(address, tenant.user).then(async (back) => (await fetch(back)).text()));
      });
      await Promise.all(visits);
      await settle(configDir, google);
      return ran;
    },
    async startDaemon() {
      const told: string[] = [];
      const configuration = loadConfiguration({
        dir: configDir,
        env: {},
        connectors,
        reminderChannels,
        mode: 'strict',
      });
      const signal = new AbortController().signal;
      daemon = await startDaemon(configuration, silentLogger, signal, { report: (text) => told.push(text) });
      for (const { tenant: opened } of daemon.composition.composed.values()) {
        // Any later cycle is the second scan of a missing record.
        opened.missedForMs = 0;
      }
      return told.join('\n');
    },
    address(path) {
      if (daemon === null) throw new Error('the daemon has not started');
      return `http://localhost:${daemon.operatorPort}${path}`;
    },
    events: async () => (await readGoogleEvents(google, ACCOUNT, SUMMARY)).length,
    async close() {
      await daemon?.close();
      await Promise.all([clinic.close(), google.close()]);
      await rm(dir, { recursive: true, force: true });
    },
  };
}

function answersFor(
  redisUrl: string,
  { baseUrl, authUrl, clients, tenants }: ClinicSandbox,
  { client, issuer }: GoogleSandbox,
) {
  const [registration] = clients;
  const { clientId, clientSecret } = client;
  const calendar = { id: CALENDAR, agendas: [tenants[0]?.agendas[0]?.id], kind: 'google', calendar: SUMMARY };
  return {
    redisUrl,
    clinic: { baseUrl, authUrl, clientId: registration?.clientId, clientSecret: registration?.clientSecret },
    calendarKinds: ['google'],
    google: { clientId, clientSecret, issuer },
    ...{ name: 'Studio Aurora', tenant: CLINIC, language: 'it', zone: 'Europe/Rome', firstRun: 'apply' },
    calendars: [{ ...calendar, title: 'appointment', account: ACCOUNT }],
    logins: { [CALENDAR]: 'later' },
  };
}

/**
 * Settings that an administrator adds by hand: allowed users, the public port, Google on this host, no request limit for the clinic, and no
 * cycles except requested ones.
 */
async function settle(configDir: string, google: GoogleSandbox): Promise<void> {
  const change = async <Content>(file: string, edit: (content: Content) => object) => {
    const path = join(configDir, file);
    const content = parse(await readFile(path, 'utf8'));
    await writeFile(path, stringify({ ...content, ...edit(content) }));
  };
  const port = await freePort();
  type Clients = Record<'clinicClients', { main: object }>;
  await change('clinic-mirror.yaml', ({ clinicClients }: Clients) => ({
    operator: { port: 0, access: {} },
    outbound: ON_THIS_MACHINE,
    http: { port },
    clinicClients: { main: { ...clinicClients.main, budget: { requestsPerMinute: 6_000, burst: 500 } } },
    schedule: { pullEverySeconds: 86_400 },
  }));
  await change(join('tenants', `${CLINIC}.yaml`), ({ targets }: { targets: Record<string, { settings: object }> }) => {
    const target = targets[CALENDAR];
    return {
      targets: {
        [CALENDAR]: { ...target, settings: { ...target?.settings, rootUrl: google.calendarApiUrl } },
      },
    };
  });
}
