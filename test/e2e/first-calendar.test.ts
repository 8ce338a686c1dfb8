// Tier: quick. The first journey of every user.
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { parse, stringify } from 'yaml';
import { compare } from '../../demo/compare.ts';
import { readCaldavEvents } from '../../demo/read-targets.ts';
import { authorizeInBrowser, type ClinicSandbox, startClinicSandbox } from '../../sandbox/clinic/index.ts';
import { useRadicale } from '../support/radicale.ts';
import { useRedis } from '../support/redis.ts';
import { runHere } from './support/run-command.ts';
import { widenBudget } from './support/widen-budget.ts';

const redis = useRedis();
const radicale = useRadicale();
const DOCUMENT = readFileSync(new URL('../../docs/quickstart.md', import.meta.url), 'utf8');
const CALENDAR_PASSWORD = 'CALENDAR_PASSWORD';

/** The block of the document that begins so. */
function documentedYaml(begin: string) {
  return parse(new RegExp(`\`\`\`yaml\\n(${begin}[\\s\\S]*?)\`\`\``).exec(DOCUMENT)?.[1] ?? '');
}

/** Answers for a Google calendar as the document shows them, with the clinic and the Redis of this test. */
function googleAnswers(clinic: ClinicSandbox) {
  const answers = documentedYaml('redisUrl');
  const [client] = clinic.clients;
  answers.redisUrl = redis.url;
  Object.assign(answers.clinic, { baseUrl: clinic.baseUrl, authUrl: clinic.authUrl });
  Object.assign(answers.clinic, { clientId: client?.clientId, clientSecret: client?.clientSecret });
  return answers;
}

/** Answers for a CalDAV server. */
function caldavAnswers(clinic: ClinicSandbox) {
  const { google: _, ...common } = googleAnswers(clinic);
  const answers = { ...common, ...documentedYaml('calendarKinds: .caldav') };
  const [user] = radicale().users;
  const password = { env: CALENDAR_PASSWORD };
  Object.assign(answers, { calendarNetwork: '127.0.0.0/8' });
  Object.assign(answers.calendars[0], { server: radicale().url, username: user?.name, password });
  return answers;
}

describe('the document on the first calendar', () => {
  let clinic: ClinicSandbox;
  let dir = '';
  beforeAll(async () => {
    clinic = await startClinicSandbox({ tenants: 1, appointments: 20, agendas: 2, pastDays: 5, futureDays: 60 });
    dir = await mkdtemp(join(tmpdir(), 'clinic-mirror-first-'));
  });
  afterAll(async () => {
    await clinic.close();
    await rm(dir, { recursive: true, force: true });
  });

  /** Runs a command as documented, with a user who signs in at each shown URL. */
  async function run(...args: string[]) {
    vi.stubEnv(CALENDAR_PASSWORD, radicale().users[0]?.password);
    let visited: Promise<unknown> | null = null;
    const ran = await runHere({ configDir: join(dir, 'mine'), env: {} }, args, (text) => {
      const url = /^(http:\S+authorize\S*)\n/m.exec(text)?.[1];
      const user = clinic.tenants[0]?.user;
      if (url === undefined || user === undefined) return;
      visited ??= authorizeInBrowser(url, user).then(async (back) => (await fetch(back)).text());
    });
    await visited;
    return ran;
  }

  async function answered(name: string, answers: object): Promise<string> {
    const file = join(dir, name);
    await writeFile(file, stringify(answers));
    return file;
  }

  test('leads to a calendar in sync with the clinic; after an interruption it continues without overwriting', async () => {
    const mine = join(dir, 'mine');
    const { calendars, ...begun } = caldavAnswers(clinic);
    const broken = await run('init', mine, '--answers', await answered('begun.yaml', begun));
    expect(broken).toMatchObject({ code: 1, err: expect.stringContaining('calendars.0.agendas') });
    const keys = await readFileSync(join(mine, 'keys', 'identity-key'), 'utf8');

    const made = await run('init', mine, '--json', '--answers', await answered('whole.yaml', { ...begun, calendars }));
    expect(made.code, made.err).toBe(0);
    const { next, targets } = JSON.parse(made.out);
    expect(targets).toEqual(['dr-bianchi']);
    expect(readFileSync(join(mine, 'keys', 'identity-key'), 'utf8')).toBe(keys);
    await expectOwn(mine);
    await widenBudget(mine);

    expect(await run('config', 'check', '--live')).toMatchObject({ code: 0 });
    for (const command of next as string[]) {
      const words = command.split(' ').slice(3);
      const ran = await run(...words);
      expect(ran.code, `${command}: ${ran.err}${ran.out}`).toBe(0);
    }
    const [user] = radicale().users;
    const read = () =>
      readCaldavEvents(`${radicale().url}${radicale().homePathOf(user!.name)}`, {
        username: user!.name,
        password: user!.password,
      });
    const agendaIds = clinic.tenants[0]!.agendas.map(({ id }) => id);
    const world = { clinic, clinicTenants: new Map([['aurora', clinic.tenants[0]!.id]]) };
    const shown = await compare(world, { tenant: 'aurora', agendaIds, read });
    expect(shown).toMatchObject({ duplicates: 0, missing: 0 });
    expect(shown.records).toBeGreaterThan(5);

    expect(await run('login', 'nobody', 'nothing')).toMatchObject({
      code: 1,
      err: expect.stringContaining('no-such-tenant'),
    });
    const file = readFileSync(join(mine, 'tenants', 'aurora.yaml'), 'utf8');
    const again = await run('init', mine, '--answers', join(dir, 'whole.yaml'));
    expect(again).toMatchObject({ code: 0, err: expect.stringContaining('aurora.yaml remains unchanged') });
    expect(readFileSync(join(mine, 'tenants', 'aurora.yaml'), 'utf8')).toBe(file);
  });

  test('is followed without a terminal by an error that says how', async () => {
    const ran = await run('init', join(dir, 'other'));
    expect(ran).toMatchObject({ code: 1, err: expect.stringMatching(/no-terminal[\s\S]*--answers/) });
    expect(existsSync(join(dir, 'other'))).toBe(false);
  });
});

/** No other user may read the created files, secret or not, and no secret is in a YAML file. */
async function expectOwn(folder: string): Promise<void> {
  // A user who cannot enter the folder cannot read its files; the daemon creates the audit log.
  expect((await stat(folder)).mode & 0o077).toBe(0);
  const all = await readdir(folder, { recursive: true });
  const names = all.filter((name) => !/^data\b/.test(name));
  expect(names).toEqual(expect.arrayContaining(['clinic-mirror.yaml', join('tenants', 'aurora.yaml')]));
  const secrets: string[] = [];
  for (const name of names) {
    const { mode, ...info } = await stat(join(folder, name));
    expect(mode & 0o077, name).toBe(0);
    if (info.size > 0 && /^(keys|secrets)\/.*[^/]$/.test(name) && (mode & 0o170000) === 0o100000) {
      secrets.push(readFileSync(join(folder, name), 'utf8').trim());
    }
  }
  expect(secrets.length).toBeGreaterThan(4);
  const texts = names.filter((name) => name.endsWith('.yaml')).map((name) => readFileSync(join(folder, name), 'utf8'));
  // The calendar's password is a common word, so short secrets are ignored.
  const told = secrets.filter((secret) => secret.length > 12 && texts.some((text) => text.includes(secret)));
  expect(told).toEqual([]);
}
