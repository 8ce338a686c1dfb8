import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { compare } from '../../demo/compare.ts';
import { runCli } from '../../demo/daemon.ts';
import { readGoogleEvents } from '../../demo/read-targets.ts';
import { authorizeInBrowser, type ClinicSandbox, startClinicSandbox } from '../../sandbox/clinic/index.ts';
import { useRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';
import { type GoogleItself, startGoogleItself } from './support/google-itself.ts';
import { widenBudget } from './support/widen-budget.ts';

const CLI = fileURLToPath(new URL('../../bin/clinic-mirror.js', import.meta.url));
const DOCUMENT = readFileSync(new URL('../../docs/quickstart.md', import.meta.url), 'utf8');
const DOCUMENTED = parse(/```yaml\n(redisUrl[\s\S]*?)```/.exec(DOCUMENT)?.[1] ?? '');
const [CALENDAR] = DOCUMENTED.calendars;
const SECRETS = { CLINIC_CLIENT_SECRET: 'sandbox-client-secret', GOOGLE_CLIENT_SECRET: 'GOCSPX-own' };

describe('the document on the first calendar, with Google at its real hosts', () => {
  const redis = useRedis();
  let clinic: ClinicSandbox;
  let google: GoogleItself;
  let dir = '';
  beforeAll(async () => {
    clinic = await startClinicSandbox({ tenants: 1, appointments: 20, agendas: 2, pastDays: 5, futureDays: 60 });
    dir = await mkdtemp(join(tmpdir(), 'clinic-mirror-google-'));
    const { clientId } = DOCUMENTED.google;
    google = await startGoogleItself(dir, { clientId, clientSecret: SECRETS.GOOGLE_CLIENT_SECRET });
    google.sandbox.addAccount(CALENDAR.account);
  });
  afterAll(async () => {
    await Promise.all([clinic.close(), google.close()]);
    await rm(dir, { recursive: true, force: true });
  });

  const env = () => ({ ...SECRETS, ...google.env });

  /** Signs in once at each shown URL. */
  function person(): (said: string) => Promise<void> {
    const opened = new Set<string>();
    return async (said) => {
      for (const [, url = ''] of said.matchAll(/^(https?:\S+\?\S+)\r?\n/gm)) {
        if (opened.has(url)) continue;
        opened.add(url);
        const back = url.startsWith('https://accounts.google.com/')
          ? await google.sandbox.authorizeInBrowser(google.opened(url), { account: CALENDAR.account })
          : await authorizeInBrowser(url, clinic.tenants[0]!.user);
        await (await fetch(back)).text();
      }
    };
  }

  async function expectCalendar(mine: string, tenant: string): Promise<void> {
    // No URL of a sandbox is in the written files.
    for (const file of ['clinic-mirror.yaml', join('tenants', `${tenant}.yaml`)])
      expect(readFileSync(join(mine, file), 'utf8')).not.toContain(new URL(google.sandbox.url).host);
    await widenBudget(mine);
    const synced = await runCli({ configDir: mine, env: env() }, ['sync', tenant]);
    expect(synced.code, synced.err + synced.out).toBe(0);
    const agendaIds = clinic.tenants[0]!.agendas.map(({ id }) => id);
    const world = { clinic, clinicTenants: new Map([[tenant, clinic.tenants[0]!.id]]) };
    const read = () => readGoogleEvents(google.sandbox, CALENDAR.account, CALENDAR.calendar);
    const shown = await compare(world, { tenant, agendaIds, read });
    expect(shown).toMatchObject({ duplicates: 0, missing: 0 });
    expect(shown.records).toBeGreaterThan(5);
    expect([...google.hosts].filter((host) => !/(^|\.)(google|googleapis)\.com$/.test(host))).toEqual([]);
    expect([...google.hosts]).toEqual(expect.arrayContaining(['accounts.google.com', 'www.googleapis.com']));
  }

  test('leads to a separate calendar with the documented answers', async () => {
    const mine = join(dir, 'answered');
    const { baseUrl, authUrl } = clinic;
    const answers = { ...DOCUMENTED, redisUrl: redis.url, clinic: { ...DOCUMENTED.clinic, baseUrl, authUrl } };
    const file = join(dir, 'answers.yaml');
    await writeFile(file, stringify(answers));
    const logIn = person();
    const made = await runCli({ configDir: mine, env: env() }, ['init', mine, '--answers', file], (said) => {
      logIn(said).catch(() => {});
    });
    expect(made.code, made.err).toBe(0);
    await expectCalendar(mine, 'aurora');
  });

  test('leads there in a terminal, with typed answers', async (context) => {
    // Debian has it everywhere (bsdutils is essential).
    context.skip(!existsSync('/usr/bin/script'), 'the host has no /usr/bin/script');
    const mine = join(dir, 'typed');
    const typing = [
      ['URL of Redis', redis.url],
      ['Base URL of the clinic API', clinic.baseUrl],
      ['URL of the authorization server', clinic.authUrl],
      ['Client id in the clinic system', DOCUMENTED.clinic.clientId],
      ['Client secret, if the registration has a secret', 'mistyped'],
      // Asked again, from the first question on that the refused secret belongs to.
      ['Base URL of the clinic API', clinic.baseUrl],
      ['URL of the authorization server', clinic.authUrl],
      ['Client id in the clinic system', DOCUMENTED.clinic.clientId],
      ['Client secret, if the registration has a secret', SECRETS.CLINIC_CLIENT_SECRET],
      ['Port of the registered redirect URL', ''],
      ["File with the clinic's OpenAPI document", ''],
      ['Where are the calendars?', `${DOWN} `],
      ['Client id for Google', DOCUMENTED.google.clientId],
      ['Google client secret', SECRETS.GOOGLE_CLIENT_SECRET],
      ['Name of the clinic', 'Studio Belvedere'],
      ['Short id of the clinic', ''],
      ['Language of titles and pages', ''],
      ['Time zone', 'Europe/Rome'],
      ['Before the first write', DOWN],
      ['Agendas for this calendar', ` ${DOWN} `],
      ['Short id of this calendar', CALENDAR.id],
      ['Where is this calendar?', ''],
      ['Name of the calendar', CALENDAR.calendar],
      ['Title of events', ''],
      ['E-mail address of the account', CALENDAR.account],
      ['Add another calendar?', ''],
      [`Connect ${CALENDAR.id} now?`, ''],
    ] as const;
    // A new terminal has no width.
    const command = `stty rows 50 cols 300; exec '${process.execPath}' '${CLI}' init '${mine}'`;
    const child = spawn('/usr/bin/script', ['--quiet', '--return', '--flush', '--command', command, '/dev/null'], {
      env: { ...process.env, ...env(), TERM: 'xterm' },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    let said = '';
    const logIn = person();
    child.stdout.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      logIn(said.replaceAll(ESCAPES, '')).catch(() => {});
    });
    const ended = once(child, 'close');
    let answered = 0;
    for (const [ask, answer] of typing) {
      await waitFor(() => child.exitCode !== null || said.indexOf(ask, answered) >= 0, { what: `"${ask}"` });
      expect(said.indexOf(ask, answered), `${ask}\n${said.slice(answered)}`).toBeGreaterThanOrEqual(0);
      answered = said.length;
      child.stdin.write(`${answer}\r`);
    }
    await ended;
    expect(child.exitCode, said.slice(-2_000)).toBe(0);
    expect(said).toContain('the client secret of the clinic was tested and refused');
    await expectCalendar(mine, 'studio-belvedere');
  });
});

const DOWN = '\u001b[B';
// biome-ignore lint/suspicious/noControlCharactersInRegex: what moves the cursor and colours the text
const ESCAPES = /\u001b\[[\d;?]*[A-Za-z]/g;
