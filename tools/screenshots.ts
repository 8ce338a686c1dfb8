/**
 * npm run screenshots [page…]: takes pictures of the pages from a demo with sample clinics and activity. Pictures in a document go to
 * docs/screenshots, all others to .cache/screenshots, to check both themes and screen sizes.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { logInAll, runCli, startDaemon } from '../demo/daemon.ts';
import { bookThisWeek, signInAddress } from '../demo/pages.ts';
import { openWatch, waitUntilInSync } from '../demo/watch.ts';
import { startWorld, type World } from '../demo/world.ts';
import { startBrowser, type TestBrowser } from './browser.ts';
import { MADE_FROM, picturesInDocuments, stylesOfPages } from './shown-pictures.ts';
import { withPalette } from './small-png.ts';

type Page = Awaited<ReturnType<Awaited<ReturnType<TestBrowser['open']>>['newPage']>>;

const FOLDERS = {
  shown: new URL('../docs/screenshots/', import.meta.url).pathname,
  others: new URL('../.cache/screenshots/', import.meta.url).pathname,
};
/** Each page on a desk and on a phone, by day and by night. */
const THEMES = ['light', 'dark'] as const;
const SCREENS = { wide: { width: 1_200, height: 800 }, phone: { width: 390, height: 844 } } as const;
/** Higher ones are cut: a picture shows what a page is like. */
const MOST_HEIGHT = 1_300;

/** Subjects of the pages. */
interface Shown {
  tenant: string;
  /** One that waits for a decision, and an appointment that it keeps back. */
  hold: string;
  appointment: string;
  /** Where practitioners connect calendars. */
  link: string;
}

/** One picture: a URL, and actions before the picture is taken. */
interface Picture {
  address(shown: Shown): string;
  act?(page: Page): Promise<void>;
  /** Without a sign-in. */
  isStranger?: true;
  /** Default: English. */
  language?: 'it';
}

const MANAGED = 'corallo';
const checkDocument = async (page: Page) => {
  await page.locator('button[value=check]').click();
  await page.waitForLoadState();
};

/** Pictures by name. */
export const PICTURES: Readonly<Record<string, Picture>> = {
  overview: { address: () => '/' },
  'overview-italian': { address: () => '/', language: 'it' },
  clinic: { address: ({ tenant }) => `/tenants/${tenant}` },
  'clinic-synced': {
    address: ({ tenant }) => `/tenants/${tenant}`,
    async act(page) {
      await page.locator('form[action$="/sync"] button').click();
      await page.locator('.notice a[href$="/holds"]').waitFor();
    },
  },
  activity: { address: () => '/activity' },
  retention: { address: ({ tenant }) => `/tenants/${tenant}/retention` },
  sessions: { address: () => '/sessions' },
  week: { address: ({ tenant }) => `/tenants/${tenant}/targets/doctor-1/week` },
  'week-held': { address: ({ tenant }) => `/tenants/${tenant}/targets/room/week` },
  holds: { address: ({ tenant }) => `/tenants/${tenant}/holds` },
  hold: {
    address: ({ tenant, hold }) => `/tenants/${tenant}/holds/${hold}`,
    async act(page) {
      await page.locator('.folds > details > summary').first().click();
      await page.locator('.folds details details > summary').first().click();
    },
  },
  'hold-decision': {
    address: ({ tenant, hold }) => `/tenants/${tenant}/holds/${hold}`,
    async act(page) {
      await page.locator('.folds > details > summary').first().click();
      await page.locator('input[name=day]').first().check();
      await page.locator('button[value=selected]').click();
      await page.waitForLoadState();
    },
  },
  explain: { address: ({ tenant, appointment }) => `/tenants/${tenant}/explain?id=${encodeURIComponent(appointment)}` },
  search: { address: ({ tenant }) => `/tenants/${tenant}/explain?time=10:30` },
  target: { address: ({ tenant }) => `/tenants/${tenant}/targets/doctor-1` },
  history: { address: ({ tenant }) => `/tenants/${tenant}/history` },
  changes: {
    address: ({ tenant }) => `/tenants/${tenant}/targets/doctor-1/changes`,
    async act(page) {
      await page.goto(`${page.url()}?day=${new Date().toISOString().slice(0, 10)}`);
    },
  },
  plan: { address: ({ tenant }) => `/tenants/${tenant}/plan` },
  replies: { address: ({ tenant }) => `/tenants/${tenant}/replies` },
  configuration: { address: () => `/tenants/${MANAGED}/configuration` },
  'configuration-diff': {
    address: () => `/tenants/${MANAGED}/configuration`,
    async act(page) {
      const document = page.locator('#yaml');
      await document.fill((await document.inputValue()).replace('futureDays: 60', 'futureDays: 90'));
      await checkDocument(page);
    },
  },
  'configuration-faults': {
    address: () => `/tenants/${MANAGED}/configuration`,
    async act(page) {
      const document = page.locator('#yaml');
      await document.fill((await document.inputValue()).replace('Europe/Rome', 'Rome').replace('title: ', 'titel: '));
      await checkDocument(page);
    },
  },
  queues: { address: () => '/queues' },
  installation: { address: () => '/installation' },
  'installation-italian': { address: () => '/installation', language: 'it' },
  'sign-in': { address: () => '/sign-in', isStranger: true },
  'refused-sign-in': { address: () => '/sign-in/link/used', isStranger: true },
  'refused-connect': { address: ({ link }) => `${link}0`, isStranger: true },
  'refused-unknown': { address: () => '/tenants/nowhere' },
  connect: { address: ({ link }) => link, isStranger: true },
  'connect-italian': { address: ({ link }) => link, isStranger: true, language: 'it' },
};

async function main(names: readonly string[]): Promise<void> {
  const say = (text: string) => process.stderr.write(`${text}\n`);
  const sizes = { appointmentsPerTenant: 200, agendasPerTenant: 3, patientsPerTenant: 60, pullEverySeconds: 10 };
  const world = await startWorld({ ...sizes, outlook: true, crm: true, pages: true, publicPort: true, notice: say });
  const watch = openWatch(world);
  try {
    await logInAll(world, say);
    const daemon = startDaemon(world);
    try {
      await waitUntilInSync(watch, Date.now(), () => {}, daemon.process, 120_000);
      const shown = await makeActivity(world);
      const browser = await startBrowser();
      try {
        const taken = names.length === 0 ? Object.keys(PICTURES) : names;
        await takeAll(world, browser, shown, taken);
        await recordStyles(taken);
      } finally {
        await browser.close();
      }
    } finally {
      await daemon.stop();
    }
  } finally {
    await watch.close();
    await world.close();
  }
}

/** Records what the pictures in documents show, if all of them were taken. */
async function recordStyles(taken: readonly string[]): Promise<void> {
  const names = [...picturesInDocuments()].map((file) => file.replace(/-(light|dark)-(wide|phone)\.png$/, ''));
  if (!names.every((name) => taken.includes(name))) return;
  await writeFile(MADE_FROM, `${JSON.stringify({ styles: stylesOfPages() }, null, 2)}\n`);
}

/** Creates content for every part of a page: bookings, cancellations above a limit, an expired connection and its renewal. */
async function makeActivity(world: World): Promise<Shown> {
  const [first, second] = [...world.clinicTenants];
  const [calendar] = world.targets;
  if (first === undefined || second === undefined || calendar === undefined)
    throw new Error('the world has two clinics');
  for (let count = 0; count < 3; count += 1) bookThisWeek(world, calendar);
  world.clinic.simulate(first[1], { booked: 3, moved: 4, cancelled: 2 });
  await runCli(world, ['sync', first[0]]);
  await runCli(world, ['logout', second[0], 'doctor-1']);
  const [room = ''] =
    world.targets.find(({ tenant, target }) => tenant === first[0] && target === 'room')?.agendaIds ?? [];
  const gone = [...world.clinic.appointments(first[1])].filter(({ agendaId }) => agendaId === room).slice(0, 40);
  for (const { id } of gone) world.clinic.remove(first[1], id, 'hard');
  await runCli(world, ['sync', first[0]]);
  await runCli(world, ['sync', first[0]]);
  await runCli(world, ['sync', second[0]]);
  await planWithMoves(world, ...first);
  const document = join(world.dir, `${MANAGED}.yaml`);
  await writeFile(document, managedClinic('main'));
  const added = await runCli(world, ['tenants', 'add', MANAGED, document]);
  if (added.code !== 0) throw new Error(added.err);
  const { items: holds } = JSON.parse((await runCli(world, ['holds', 'list', first[0], '--json'])).out) as {
    items: { id: string; target: string }[];
  };
  const hold = holds.find(({ target }) => target === 'room');
  const { out } = await runCli(world, ['holds', 'records', first[0], hold?.id ?? '', '--json']);
  const { records } = JSON.parse(out) as { records: string[] };
  const { url } = JSON.parse((await runCli(world, ['login', second[0], 'doctor-1', '--link', '--json'])).out) as {
    url: string;
  };
  return { tenant: first[0], hold: hold?.id ?? '', appointment: records[0] ?? '', link: url };
}

async function takeAll(world: World, browser: TestBrowser, shown: Shown, names: readonly string[]): Promise<void> {
  for (const folder of Object.values(FOLDERS)) await mkdir(folder, { recursive: true });
  for (const theme of THEMES) {
    for (const screen of ['wide', 'phone'] as const) {
      for (const language of ['en', 'it'] as const) {
        const person = { viewport: SCREENS[screen], colorScheme: theme, locale: language === 'it' ? 'it-IT' : 'en-GB' };
        const taken = namesIn(names, language);
        if (taken.length === 0) continue;
        const [signedIn, stranger] = [await browser.open(person), await browser.open(person)];
        const own = await signedIn.newPage();
        await signIn(world, own);
        for (const name of taken) {
          const page = PICTURES[name]?.isStranger === true ? await stranger.newPage() : own;
          await take(world, page, shown, name, `${name}-${theme}-${screen}.png`);
        }
        await Promise.all([signedIn.close(), stranger.close()]);
      }
    }
  }
}

function namesIn(names: readonly string[], language: 'en' | 'it'): string[] {
  const unknown = names.find((name) => PICTURES[name] === undefined);
  if (unknown !== undefined) throw new Error(`there is no "${unknown}": ${Object.keys(PICTURES).join(', ')}`);
  return names.filter((name) => (PICTURES[name]?.language ?? 'en') === language);
}

async function signIn(world: World, page: Page): Promise<void> {
  await page.goto(await signInAddress(world));
  await page.locator('main button').first().click();
  await page.waitForURL(`${world.pagesUrl}/`);
}

async function take(world: World, page: Page, shown: Shown, name: string, file: string): Promise<void> {
  const picture = PICTURES[name];
  if (picture === undefined) return;
  await page.goto(new URL(picture.address(shown), world.pagesUrl ?? '').href);
  await picture.act?.(page);
  const height = Math.min(MOST_HEIGHT, await page.evaluate('document.documentElement.scrollHeight'));
  const clip = { x: 0, y: 0, width: page.viewportSize()?.width ?? 0, height };
  await writeFile(
    join(picturesInDocuments().has(file) ? FOLDERS.shown : FOLDERS.others, file),
    withPalette(await page.screenshot({ fullPage: true, clip })),
  );
}

/** The running daemon may write the moved appointments before a plan shows them. */
async function planWithMoves(world: World, tenant: string, clinicId: string): Promise<void> {
  for (let tries = 0; tries < 5; tries += 1) {
    world.clinic.simulate(clinicId, { booked: 2, moved: 4, cancelled: 1 });
    const { out } = await runCli(world, ['plan', tenant, '--save', '--json']);
    if (out.includes('"operation": "update"') || out.includes('"operation":"update"')) return;
  }
}

/** A clinic that is kept in Redis: it is configured on a page. */
function managedClinic(clinicClient: string): string {
  return stringify({
    ...{ name: 'Centro Corallo', language: 'it', zone: 'Europe/Rome', clinic: { client: clinicClient } },
    connections: { 'dr-verdi': { kind: 'google', client: 'main' } },
    targets: {
      'dr-verdi': {
        ...{ connector: 'google-calendar', connection: 'dr-verdi', agendas: ['agd0000001'] },
        ...{ window: { pastDays: 7, futureDays: 60 }, title: 'appointment', fields: ['location'] },
        settings: { calendar: { create: 'Appuntamenti Dr Verdi' } },
      },
    },
  });
}

if (import.meta.main) await main(process.argv.slice(2));
