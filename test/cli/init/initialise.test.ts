import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { answersOf } from '../../../src/cli/init/asker.ts';
import { checkSettings, makeSettings, registrationsOf } from '../../../src/cli/init/settings-part.ts';
import { askCalendars, askTenant, tenantText } from '../../../src/cli/init/tenant-part.ts';
import { readExisting } from '../../../src/cli/init/written-files.ts';
import { MirrorError } from '../../../src/model/errors.ts';

const AGENDAS = [
  { id: '12', name: 'Dott.ssa Àgnes Bianchi', locationId: 'l1', isActive: true },
  { id: '14', name: 'Room', locationId: null, isActive: true },
];
const PLACES = { agendas: AGENDAS, locations: [{ id: 'l1', name: 'Via Roma', address: null, zone: null }] };
const REGISTRATIONS = { clinic: 'main', google: 'main', microsoft: 'main' };
const SETTINGS = {
  clinic: { baseUrl: 'https://api.clinic.example', authUrl: 'https://login.clinic.example', clientId: 'mirror' },
  calendarKinds: ['google', 'microsoft'],
  google: { clientId: 'g', clientSecret: 'google-canary' },
  microsoft: { clientId: 'm' },
  loginPort: 8765,
};

function asker(answers: object, env: Record<string, string> = {}) {
  return answersOf(JSON.stringify(answers), env, () => {});
}

function newFolder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'clinic-mirror-init-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

function textOf(dir: string, file: string): string {
  const path = join(dir, file);
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
}

/** Servers that accept every value but the ones that are wrong, and note what they were asked. */
function serversThatRefuse(...wrong: (string | null)[]) {
  const asked: (string | null)[] = [];
  const judge = async (value: string | null) => {
    asked.push(value);
    if (!wrong.includes(value)) return;
    throw new MirrorError('no', { actor: 'settings', code: 'client-rejected', retry: 'never' });
  };
  return {
    asked,
    tests: {
      redis: judge,
      client: ({ clientSecret }: { clientSecret: string | null }) => judge(clientSecret),
      caldav: ({ password }: { password: string }) => judge(password),
    },
  };
}

describe('the settings', () => {
  const profileOf = async (document: string) => `# of ${document}\n`;
  const make = (dir: string, answers: object, { tests } = serversThatRefuse()) =>
    makeSettings(dir, asker(answers), { tests, profileOf });

  test('have keys of their own, registrations of what was chosen, and every secret in a file', async () => {
    const dir = newFolder();
    const registrations = await make(dir, SETTINGS);
    const text = textOf(dir, 'clinic-mirror.yaml');
    expect(registrations).toEqual({ clinic: 'main', google: 'main', microsoft: 'main' });
    expect(text).not.toContain('canary');
    expect(textOf(dir, 'keys/google-secret')).toBe('google-canary\n');
    expect(parse(text)).toMatchObject({
      http: { loginPort: 8765 },
      clinicClients: { main: { profile: 'documented', clientId: 'mirror' } },
      googleClients: { main: { clientId: 'g', clientSecret: { file: 'keys/google-secret' } } },
      microsoftClients: { main: { clientId: 'm' } },
    });
    const keys = ['keys/identity-key', 'keys/sealing-key-1'].map((name) => textOf(dir, name));
    expect(keys.map((key) => Buffer.from(key, 'base64').length)).toEqual([32, 32]);
    expect(keys[0]).not.toBe(keys[1]);
  });

  /** Answers with a secret for each registration. */
  const ALL = {
    ...SETTINGS,
    redisUrl: 'redis://answered.example',
    clinic: { ...SETTINGS.clinic, clientSecret: 'clinic-answer' },
    microsoft: { clientId: 'm', clientSecret: 'microsoft-answer' },
  };
  const SECRETS = [
    ['keys/redis-url', 'redis://answered.example'],
    ['keys/clinic-secret', 'clinic-answer'],
    ['keys/google-secret', 'google-canary'],
    ['keys/microsoft-secret', 'microsoft-answer'],
  ] as const;

  test.each(SECRETS)('without a working %s are not written, and neither is it', async (file, value) => {
    const dir = newFolder();
    const failure = await make(dir, ALL, serversThatRefuse(value)).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'value-refused', remedy: expect.stringContaining(join(dir, file)) });
    expect(String((failure as MirrorError).message)).not.toContain(value);
    expect(textOf(dir, file)).toBe('');
    expect(existsSync(join(dir, 'clinic-mirror.yaml'))).toBe(false);
    await make(dir, ALL);
    expect(textOf(dir, file)).toBe(`${value}\n`);
  });

  test.each(SECRETS)('have a refused %s replaced by a rerun, and no other file', async (file, value) => {
    const dir = newFolder();
    await make(dir, ALL);
    const before = filesOf(dir);
    const corrected = JSON.parse(JSON.stringify(ALL).replace(value, `${value}2`));
    const settings = readExisting(dir, 'clinic-mirror.yaml');
    if (settings === null) return expect.fail('there are settings');
    const told: string[] = [];
    const answers = answersOf(JSON.stringify(corrected), {}, (text) => told.push(text));
    const { tests, asked } = serversThatRefuse(value);
    const registrations = registrationsOf(settings);
    if (registrations === null) return expect.fail('there are registrations');
    await checkSettings(settings, registrations, answers, { dir, tests });
    expect(filesOf(dir)).toEqual({ ...before, [file]: `${value}2\n` });
    expect(told.join('\n')).toContain(`${join(dir, file)} is replaced.`);
    expect(asked).toHaveLength(SECRETS.length + 1);
    expect(told.join('\n')).not.toContain(value);
  });

  test('keep every value that works, whatever the answers say now', async () => {
    const dir = newFolder();
    await make(dir, ALL);
    const before = filesOf(dir);
    rmSync(join(dir, 'clinic-mirror.yaml'));
    await make(dir, JSON.parse(JSON.stringify(ALL).replaceAll('answer', 'other')));
    expect(filesOf(dir)).toEqual(before);
  });

  test('name the profile that a document leads to', async () => {
    const answers = { ...SETTINGS, clinic: { ...SETTINGS.clinic, document: 'api.json' } };
    const dir = newFolder();
    await make(dir, answers);
    expect(textOf(dir, 'profiles/clinic.yaml')).toBe('# of api.json\n');
    expect(parse(textOf(dir, 'clinic-mirror.yaml'))).toMatchObject({
      clinicClients: { main: { profile: 'clinic' } },
    });
  });

  test.each([
    [{ redisUrl: 'http://127.0.0.1' }, 'answer-refused', 'redis:'],
    [{ clinic: { ...SETTINGS.clinic, clientId: undefined } }, 'answer-missing', 'clinic.clientId'],
    [{ calendarKinds: ['ical'] }, 'answer-refused', 'caldav'],
    [{ calendarKinds: [] }, 'answer-missing', 'calendarKinds'],
  ])('refuse %j, and say what to write', async (changed, code, says) => {
    const failure = await make(newFolder(), { ...SETTINGS, ...changed }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(MirrorError);
    const { remedy = '', message } = failure as MirrorError;
    expect(failure).toMatchObject({ actor: 'settings', code });
    expect(`${message} ${remedy}`).toContain(says);
  });
});

/** Every file below a folder, with its text. */
function filesOf(dir: string): Record<string, string> {
  const names = readdirSync(dir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return Object.fromEntries(
    names.map(({ parentPath, name }) => [
      join(parentPath, name).slice(dir.length + 1),
      readFileSync(join(parentPath, name), 'utf8'),
    ]),
  );
}

describe('calendars', () => {
  const ask = (calendars: readonly object[], env = {}, dir = newFolder(), { tests } = serversThatRefuse()) =>
    askCalendars({ dir, tenant: 'aurora', registrations: REGISTRATIONS, tests }, PLACES, asker({ calendars }, env));

  test('of each kind name their login, what feeds them and what they are called', async () => {
    const dir = newFolder();
    const made = await ask(
      [
        { agendas: ['12'], kind: 'caldav', server: 'https://dav.example', username: 'b', password: { env: 'DAV' } },
        { id: 'room', agendas: ['14'], kind: 'google', title: 'busy', account: 'room@practice.example' },
        { id: 'both', agendas: 'all', kind: 'microsoft', calendar: 'Everything' },
      ],
      { DAV: 'dav-canary' },
      dir,
    );
    const file = parse(tenantText(TENANT, 'main', null, made));
    expect(file.connections).toEqual({
      'dott-ssa-agnes-bianchi': {
        ...{ kind: 'caldav', username: 'b' },
        password: { file: 'secrets/aurora/dott-ssa-agnes-bianchi-password' },
      },
      room: { kind: 'google', client: 'main', account: { address: 'room@practice.example' } },
      both: { kind: 'microsoft', client: 'main' },
    });
    expect(file.targets).toMatchObject({
      'dott-ssa-agnes-bianchi': { connector: 'caldav', agendas: ['12'], title: 'appointment', firstRun: 'plan' },
      room: {
        connector: 'google-calendar',
        agendas: ['14'],
        title: 'busy',
        settings: { calendar: { create: 'Room' } },
      },
      both: { agendas: ['12', '14'], settings: { mailbox: 'me', calendar: { create: 'Everything' } } },
    });
    expect(textOf(dir, 'secrets/aurora/dott-ssa-agnes-bianchi-password')).toBe('dav-canary\n');
  });

  test.each([
    [[{ agendas: ['99'], kind: 'google' }], 'calendars.0.agendas'],
    [[{ id: 'Room 1', agendas: ['14'], kind: 'google' }], 'calendars.0.id'],
    [
      [
        { agendas: ['14'], kind: 'google' },
        { agendas: ['14'], kind: 'google' },
      ],
      'calendars.1.id',
    ],
  ])('refuse %j', async (calendars, id) => {
    await expect(ask(calendars)).rejects.toMatchObject({
      code: 'answer-refused',
      message: expect.stringContaining(id),
    });
  });

  test('are offered at the vendors alone that the settings have a registration for', async () => {
    const none = { clinic: 'main', google: null, microsoft: null };
    const { tests } = serversThatRefuse();
    const tools = { dir: newFolder(), tenant: 'aurora', registrations: none, tests };
    const wanted = askCalendars(tools, PLACES, asker({ calendars: [{ agendas: ['14'], kind: 'google' }] }));
    await expect(wanted).rejects.toMatchObject({ code: 'answer-refused', remedy: 'choose of: caldav' });
  });
});

test('a CalDAV password that the server refuses is not written, and a corrected one replaces what an earlier run left', async () => {
  const dir = newFolder();
  const tools = (wrong: string) => {
    return { dir, tenant: 'aurora', registrations: REGISTRATIONS, tests: serversThatRefuse(wrong).tests };
  };
  const calendar = { id: 'room', agendas: ['14'], kind: 'caldav', server: 'https://dav.example', username: 'b' };
  const ask = (password: string, wrong: string) =>
    askCalendars(tools(wrong), PLACES, asker({ calendars: [{ ...calendar, password }] }));
  await expect(ask('first-one', 'first-one')).rejects.toMatchObject({ code: 'value-refused' });
  expect(filesOf(dir)).toEqual({});
  await ask('first-one', 'none');
  await ask('second-one', 'first-one');
  expect(filesOf(dir)).toEqual({ 'secrets/aurora/room-password': 'second-one\n' });
});

const TENANT = { id: 'aurora', name: 'Poliambulatorio Aurora', language: 'it', zone: 'Europe/Rome' };

test('a clinic has an id of its name, and a zone that there is', async () => {
  expect(await askTenant(asker({ name: 'Poliambulatorio Aurora', zone: 'Europe/Rome' }))).toEqual({
    ...TENANT,
    id: 'poliambulatorio-aurora',
  });
  await expect(askTenant(asker({ name: 'A', zone: 'Europe/Roma' }))).rejects.toMatchObject({ code: 'answer-refused' });
});

test('a file of answers that is no YAML is refused', () => {
  expect(() => answersOf('a: [', {}, () => {})).toThrow(expect.objectContaining({ code: 'answers-unusable' }));
});
