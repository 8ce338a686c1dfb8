import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { answersOf } from '../../src/cli/init/answers-file.ts';
import { askSettings } from '../../src/cli/init/settings-part.ts';
import { askCalendars, askTenant, tenantText } from '../../src/cli/init/tenant-part.ts';
import { MirrorError } from '../../src/model/errors.ts';

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

describe('the settings', () => {
  const profileOf = async (document: string) => `# of ${document}\n`;

  test('have keys of their own, registrations of what was chosen, and every secret in a file', async () => {
    const { files, registrations } = await askSettings('/mine', asker(SETTINGS), profileOf);
    const text = files.get('clinic-mirror.yaml') ?? '';
    expect(registrations).toEqual({ clinic: 'main', google: 'main', microsoft: 'main' });
    expect(text).not.toContain('canary');
    expect(files.get('keys/google-secret')).toBe('google-canary\n');
    expect(parse(text)).toMatchObject({
      http: { loginPort: 8765 },
      clinicClients: { main: { profile: 'documented', clientId: 'mirror' } },
      googleClients: { main: { clientId: 'g', clientSecret: { file: 'keys/google-secret' } } },
      microsoftClients: { main: { clientId: 'm' } },
    });
    const keys = ['keys/identity-key', 'keys/sealing-key-1'].map((name) => files.get(name) ?? '');
    expect(keys.map((key) => Buffer.from(key, 'base64').length)).toEqual([32, 32]);
    expect(keys[0]).not.toBe(keys[1]);
    // What says that the directory is set up is written last.
    expect([...files.keys()].at(-1)).toBe('clinic-mirror.yaml');
  });

  test('name the profile that a document leads to', async () => {
    const answers = { ...SETTINGS, clinic: { ...SETTINGS.clinic, document: 'api.json' } };
    const { files } = await askSettings('/mine', asker(answers), profileOf);
    expect(files.get('profiles/clinic.yaml')).toBe('# of api.json\n');
    expect(parse(files.get('clinic-mirror.yaml') ?? '')).toMatchObject({
      clinicClients: { main: { profile: 'clinic' } },
    });
  });

  test.each([
    [{ redisUrl: 'http://127.0.0.1' }, 'answer-refused', 'redis:'],
    [{ clinic: { ...SETTINGS.clinic, clientId: undefined } }, 'answer-missing', 'clinic.clientId'],
    [{ calendarKinds: ['ical'] }, 'answer-refused', 'caldav'],
    [{ calendarKinds: [] }, 'answer-missing', 'calendarKinds'],
  ])('refuse %j, and say what to write', async (changed, code, says) => {
    const failure = await askSettings('/mine', asker({ ...SETTINGS, ...changed }), profileOf).catch(
      (error: unknown) => error,
    );
    expect(failure).toBeInstanceOf(MirrorError);
    const { remedy = '', message } = failure as MirrorError;
    expect(failure).toMatchObject({ actor: 'settings', code });
    expect(`${message} ${remedy}`).toContain(says);
  });
});

describe('calendars', () => {
  const ask = (calendars: readonly object[], env = {}) =>
    askCalendars('aurora', PLACES, REGISTRATIONS, asker({ calendars }, env));

  test('of each kind name their login, what feeds them and what they are called', async () => {
    const made = await ask(
      [
        { agendas: ['12'], kind: 'caldav', server: 'https://dav.example', username: 'b', password: { env: 'DAV' } },
        { id: 'room', agendas: ['14'], kind: 'google', title: 'busy', account: 'room@practice.example' },
        { id: 'both', agendas: 'all', kind: 'microsoft', calendar: 'Everything' },
      ],
      { DAV: 'dav-canary' },
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
    expect(made[0]?.secrets.get('secrets/aurora/dott-ssa-agnes-bianchi-password')).toBe('dav-canary\n');
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
    const wanted = askCalendars('aurora', PLACES, none, asker({ calendars: [{ agendas: ['14'], kind: 'google' }] }));
    await expect(wanted).rejects.toMatchObject({ code: 'answer-refused', remedy: 'choose of: caldav' });
  });
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
