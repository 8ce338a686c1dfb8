/**
 * npm run screenshots [page…]: pictures of the pages, from a demo with activity, in docs/screenshots. They hold invented clinics alone.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { logInAll, runCli, startDaemon } from '../demo/daemon.ts';
import { bookThisWeek, signInAddress } from '../demo/pages.ts';
import { openWatch, waitUntilInSync } from '../demo/watch.ts';
import { startWorld, type World } from '../demo/world.ts';
import { startBrowser, type TestBrowser } from './browser.ts';

const FOLDER = new URL('../docs/screenshots/', import.meta.url).pathname;
/** Each page on a desk by day, and on a phone by night: light and dark are the same colours for both. */
const SCREENS = [
  { theme: 'light', screen: 'wide', viewport: { width: 1_200, height: 800 } },
  { theme: 'dark', screen: 'phone', viewport: { width: 390, height: 844 } },
] as const;
/** Higher ones are cut: a picture shows what a page is like. */
const MOST_HEIGHT = 1_300;

/** What pages are about. */
interface Shown {
  tenant: string;
  /** One that waits for a decision, and an appointment that it keeps back. */
  hold: string;
  appointment: string;
  /** Where a practitioner connects a calendar. */
  link: string;
}

/** Pages by name, each with its address. */
const PAGES: Readonly<Record<string, (shown: Shown) => string>> = {
  overview: () => '/',
  clinic: ({ tenant }) => `/tenants/${tenant}`,
  activity: () => '/activity',
  week: ({ tenant }) => `/tenants/${tenant}/targets/doctor-1/week`,
  'week-held': ({ tenant }) => `/tenants/${tenant}/targets/room/week`,
  holds: ({ tenant }) => `/tenants/${tenant}/holds`,
  hold: ({ tenant, hold }) => `/tenants/${tenant}/holds/${hold}`,
  explain: ({ tenant, appointment }) => `/tenants/${tenant}/explain?id=${encodeURIComponent(appointment)}`,
  plan: ({ tenant }) => `/tenants/${tenant}/plan`,
  connect: ({ link }) => link,
  queues: () => '/queues',
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
        await takeAll(world, browser, shown, names.length === 0 ? Object.keys(PAGES) : names);
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

/** Somebody books and cancels, more than may go unseen is cancelled, a login ends and is asked for: every part of a page has something to show. */
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
  await runCli(world, ['plan', first[0], '--save']);
  const { holds } = JSON.parse((await runCli(world, ['holds', 'list', first[0], '--json'])).out) as {
    holds: { id: string; target: string; recordIds: string[] }[];
  };
  const hold = holds.find(({ target }) => target === 'room');
  const { url } = JSON.parse((await runCli(world, ['login', second[0], 'doctor-1', '--link', '--json'])).out) as {
    url: string;
  };
  return { tenant: first[0], hold: hold?.id ?? '', appointment: hold?.recordIds[0] ?? '', link: url };
}

async function takeAll(world: World, browser: TestBrowser, shown: Shown, names: readonly string[]): Promise<void> {
  await mkdir(FOLDER, { recursive: true });
  for (const { theme, screen, viewport } of SCREENS) {
    const person = await browser.open({ viewport, colorScheme: theme, locale: 'en-GB' });
    const page = await person.newPage();
    await page.goto(await signInAddress(world));
    await page.locator('main button').first().click();
    await page.waitForURL(`${world.pagesUrl}/`);
    for (const name of names) {
      const address = PAGES[name]?.(shown);
      if (address === undefined) throw new Error(`there is no page "${name}": ${Object.keys(PAGES).join(', ')}`);
      await page.goto(new URL(address, world.pagesUrl ?? '').href);
      const height = Math.min(MOST_HEIGHT, await page.evaluate('document.documentElement.scrollHeight'));
      const clip = { x: 0, y: 0, width: viewport.width, height };
      await writeFile(join(FOLDER, `${name}-${theme}-${screen}.png`), await page.screenshot({ fullPage: true, clip }));
    }
    await person.close();
  }
}

await main(process.argv.slice(2));
