import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { stringify } from 'yaml';
import { authorizeInBrowser, type ClinicSandbox, startClinicSandbox } from '../../sandbox/clinic/index.ts';
import { startGoogleSandbox } from '../../sandbox/google/index.ts';
import { startGraphSandbox } from '../../sandbox/graph/index.ts';
import { useRadicale } from '../support/radicale.ts';
import { useRedis } from '../support/redis.ts';
import { runHere } from './support/run-command.ts';

const redis = useRedis();
const radicale = useRadicale();
const CLI = fileURLToPath(new URL('../../bin/clinic-mirror.js', import.meta.url));
/** The files that `init` writes, in their order; each appears whole, so a kill leaves the first of them. */
const FILES = [
  'keys/redis-url',
  'keys/clinic-secret',
  'keys/identity-key',
  'keys/sealing-key-1',
  'profiles/documented.yaml',
  'clinic-mirror.yaml',
  'tenants/aurora.yaml',
  'secrets/aurora/dr-bianchi-password',
];
/** Lines of standard error after which the process is killed. */
const STEPS = [
  'Testing the URL of Redis',
  'Testing the client secret of the clinic',
  'Open this URL',
  'Testing the password of dr-bianchi',
];

describe('init that was interrupted', () => {
  let clinic: ClinicSandbox;
  let root = '';
  let whole = '';
  beforeAll(async () => {
    clinic = await startClinicSandbox({ tenants: 1, appointments: 5, agendas: 1, pastDays: 1, futureDays: 10 });
    root = mkdtempSync(join(tmpdir(), 'clinic-mirror-interrupted-'));
    whole = join(root, 'whole');
  });
  afterAll(async () => {
    await clinic.close();
    rmSync(root, { recursive: true, force: true });
  });

  function answersFile(change: (answers: Answers) => void = () => {}): string {
    const [client] = clinic.clients;
    const [user] = radicale().users;
    const answers = {
      redisUrl: redis.url,
      clinic: { baseUrl: clinic.baseUrl, authUrl: clinic.authUrl, ...client },
      ...{ calendarKinds: ['caldav'], calendarNetwork: '127.0.0.0/8' },
      ...{ name: 'Aurora', tenant: 'aurora', language: 'it', zone: 'Europe/Rome', firstRun: 'apply' },
      calendars: [
        {
          ...{ id: 'dr-bianchi', agendas: 'all', kind: 'caldav', calendar: 'Dr Bianchi', title: 'busy' },
          ...{ server: radicale().url, username: user?.name ?? '', password: user?.password ?? '' },
        },
      ],
    };
    change(answers);
    const file = join(root, 'answers.yaml');
    writeFileSync(file, stringify(answers));
    return file;
  }
  type Answers = {
    redisUrl: string;
    clinic: object;
    calendars: { password?: string; server?: string; username?: string }[];
  };

  async function init(dir: string, answers = answersFile()) {
    let visited: Promise<unknown> | null = null;
    const ran = await runHere({ configDir: dir, env: {} }, ['init', dir, '--json', '--answers', answers], (said) => {
      const url = /^(http:\S+authorize\S*)\n/m.exec(said)?.[1];
      const user = clinic.tenants[0]?.user;
      if (url === undefined || user === undefined) return;
      visited ??= authorizeInBrowser(url, user).then(async (back) => (await fetch(back)).text());
    });
    await visited;
    return ran;
  }

  /** Runs `init` until it says something, and kills it there. */
  async function initKilledAt(dir: string, step: string, { answers = answersFile(), times = 1 } = {}): Promise<string> {
    const child = spawn(process.execPath, [CLI, 'init', dir, '--answers', answers], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let said = '';
    let visited: Promise<unknown> | null = null;
    child.stderr.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      if (said.split(step).length > times) return void child.kill('SIGKILL');
      const url = /^(http:\S+authorize\S*)\n/m.exec(said)?.[1];
      const user = clinic.tenants[0]?.user;
      if (url !== undefined && user !== undefined)
        visited ??= authorizeInBrowser(url, user).then(async (back) => (await fetch(back)).text());
    });
    await once(child, 'close');
    expect(child.signalCode, said).toBe('SIGKILL');
    await visited;
    return said;
  }

  /** Contents of a folder, without random keys and the audit log; URLs of the test are normalised. */
  function stateOf(dir: string): Record<string, string> {
    const names = readdirSync(dir, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name).slice(dir.length + 1))
      .filter((name) => !name.startsWith('data/'));
    const text = (name: string) =>
      /key(-1)?$/.test(name)
        ? 'a key'
        : readFileSync(join(dir, name), 'utf8').replaceAll(dir, 'DIR').replaceAll(redis.url, 'REDIS');
    return Object.fromEntries(names.sort().map((name) => [name, text(name)]));
  }

  test('creates every file if it is not interrupted', async () => {
    const ran = await init(whole);
    expect(ran.code, ran.err).toBe(0);
    expect(Object.keys(stateOf(whole))).toEqual([...FILES].sort());
  });

  test.each(FILES.map((file, index) => [file, index + 1] as const))(
    'continues after %s, and ends as if nothing had happened',
    async (_, count) => {
      const dir = join(root, `files-${count}`);
      for (const file of FILES.slice(0, count)) {
        mkdirSync(dirname(join(dir, file)), { recursive: true });
        cpSync(join(whole, file), join(dir, file));
      }
      writeFileSync(join(dir, 'keys/redis-url'), `${redis.url}\n`);
      if (count > 5) rewrite(join(dir, FILES[5] ?? ''), whole, dir);
      if (count > 6) rewrite(join(dir, FILES[6] ?? ''), /connections[\s\S]*/, 'connections: {}\ntargets: {}\n');
      const kept = readFileSync(join(count > 2 ? dir : whole, 'keys/identity-key'), 'utf8');
      const ran = await init(dir);
      expect(ran.code, ran.err).toBe(0);
      expect(stateOf(dir)).toEqual(stateOf(whole));
      expect(readFileSync(join(dir, 'keys/identity-key'), 'utf8') === kept).toBe(count > 2);
    },
  );

  test.each(STEPS)('that was killed at "%s" continues, and connects only if no connection is stored', async (step) => {
    const dir = join(root, `killed-${STEPS.indexOf(step)}`);
    await initKilledAt(dir, step);
    const ran = await init(dir);
    expect(ran.code, ran.err).toBe(0);
    expect(stateOf(dir)).toEqual(stateOf(whole));
    expect(ran.err.includes('Open this URL')).toBe(step !== STEPS.at(-1));
    const again = await init(dir);
    expect(again, again.err).toMatchObject({ code: 0, out: ran.out });
    expect(stateOf(dir)).toEqual(stateOf(whole));
  });

  test.each<[string, string, (answers: Answers) => void]>([
    ['the URL of Redis', 'keys/redis-url', (answers) => Object.assign(answers, { redisUrl: 'redis://127.0.0.1:1' })],
    [
      'the client secret',
      'keys/clinic-secret',
      ({ clinic: client }) => Object.assign(client, { clientSecret: 'wrong-canary' }),
    ],
    [
      'the password',
      'secrets/aurora/dr-bianchi-password',
      ({ calendars: [calendar] }) => Object.assign(calendar ?? {}, { password: 'wrong-canary' }),
    ],
  ])('by a wrong value of %s writes none, and a corrected rerun ends', async (what, file, change) => {
    const dir = join(root, `wrong-${file.replaceAll('/', '-')}`);
    const refused = await init(dir, answersFile(change));
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('value-refused') });
    expect(refused.err.replaceAll(/\s+/g, ' ')).toContain(what);
    expect(refused.err).not.toContain('wrong-canary');
    expect(existsSync(join(dir, file))).toBe(false);
    const ran = await init(dir);
    expect(ran.code, ran.err).toBe(0);
    expect(stateOf(dir)).toEqual(stateOf(whole));

    // As a version without tests left it, or a password that was changed at the server.
    writeFileSync(join(dir, file), file === 'keys/redis-url' ? 'redis://127.0.0.1:1\n' : 'wrong-canary\n');
    const mended = await init(dir);
    expect(mended.code, mended.err).toBe(0);
    expect(mended.err).toContain(`${join(dir, file)} is replaced.`);
    expect(stateOf(dir)).toEqual(stateOf(whole));
  });

  test.each(['google', 'microsoft'] as const)('continues at the connection to a calendar of %s', async (kind) => {
    const account = 'doctor@clinic.example';
    const { registration, visit } = await startVendor(kind, account);
    const dir = join(root, `login-${kind}`);
    const answers = answersFile((all) => {
      const [{ server: _s, username: _u, password: _p, ...calendar } = {}] = all.calendars;
      Object.assign(all, { calendarKinds: [kind], [kind]: registration });
      Object.assign(all, { calendars: [{ ...calendar, kind, account }] });
    });
    const killed = await initKilledAt(dir, 'Open this URL', { answers, times: 2 });
    expect(killed.match(/Open this URL/g)).toHaveLength(2);
    const file = readFileSync(join(dir, 'tenants/aurora.yaml'), 'utf8');
    const logins: string[] = [];
    const ran = await runHere({ configDir: dir, env: {} }, ['init', dir, '--json', '--answers', answers], (said) => {
      const url = /^(http:\S+authorize\S*|http:\S+o\/oauth2\S*)\n/m.exec(said)?.[1];
      if (url === undefined || logins.length > 0) return;
      logins.push(url);
      void visit(url).then((back) => fetch(back));
    });
    expect(ran.code, ran.err).toBe(0);
    expect(logins).toEqual([expect.not.stringContaining(clinic.authUrl)]);
    expect(readFileSync(join(dir, 'tenants/aurora.yaml'), 'utf8')).toBe(file);
    const again = await runHere({ configDir: dir, env: {} }, ['init', dir, '--json', '--answers', answers]);
    expect(again.code, again.err).toBe(0);
    expect(again.err).not.toContain('Open this URL');
  });

  test('does not change a file that init did not create', async () => {
    const dir = join(root, 'by-hand');
    for (const file of FILES.slice(0, 6)) {
      mkdirSync(dirname(join(dir, file)), { recursive: true });
      cpSync(join(whole, file), join(dir, file));
    }
    writeFileSync(join(dir, 'keys/redis-url'), `${redis.url}\n`);
    mkdirSync(join(dir, 'tenants'));
    const file = join(dir, 'tenants/aurora.yaml');
    const own = 'name: Mine\nlanguage: it\nzone: Europe/Rome\nclinic: { client: main }\ntriggers: {}\n';
    writeFileSync(file, own);
    const ran = await init(dir);
    expect(ran).toMatchObject({ code: 1, err: expect.stringContaining('init-not-empty') });
    expect(readFileSync(file, 'utf8')).toBe(own);
  });
});

/** A vendor's server with one account: the app registration that `init` requests, and a user who signs in. */
async function startVendor(kind: 'google' | 'microsoft', account: string) {
  if (kind === 'google') {
    const google = await startGoogleSandbox();
    onTestFinished(() => google.close());
    google.addAccount(account);
    const { clientId, clientSecret } = google.client;
    const visit = (url: string) => google.authorizeInBrowser(url, { account });
    return { registration: { clientId, clientSecret, issuer: google.issuer }, visit };
  }
  const graph = await startGraphSandbox();
  onTestFinished(() => graph.close());
  graph.addMailbox(account);
  const { clientId, clientSecret } = graph.application;
  const visit = (url: string) => graph.authorizeInBrowser(url, { account });
  const secret = clientSecret == null ? {} : { clientSecret };
  return { registration: { clientId, ...secret, authority: graph.url }, visit };
}

function rewrite(file: string, from: string | RegExp, to: string): void {
  writeFileSync(file, readFileSync(file, 'utf8').replace(from, to));
}
