import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { askCalendars, askTenant, tenantText } from '../../../src/setup/init/tenant-part.ts';
import { asker, newFolder, PLACES, REGISTRATIONS, serversThatRefuse, textOf } from './answers.ts';

const TENANT = { id: 'aurora', name: 'Poliambulatorio Aurora', language: 'it', zone: 'Europe/Rome' };

describe('calendars', () => {
  const ask = (calendars: readonly object[], env = {}, dir = newFolder(), { tests } = serversThatRefuse()) =>
    askCalendars({ dir, tenant: 'aurora', registrations: REGISTRATIONS, tests }, PLACES, asker({ calendars }, env));

  test('of each kind name their connection, their sources and their title', async () => {
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

  test.each([
    ['no agendas', undefined, 'answer-missing'],
    ['one id instead of a list', '12', 'answer-refused'],
    ['an empty list', [], 'answer-refused'],
  ])('with %s are refused with the form and the choices', async (_what, agendas, code) => {
    await expect(ask([{ agendas, kind: 'google' }])).rejects.toMatchObject({
      ...{ code, message: expect.stringContaining('calendars.0.agendas') },
      remedy: 'write agendas: [12], or all; choose from: 12, 14',
    });
  });

  test('with an unknown agenda are refused with the choices', async () => {
    await expect(ask([{ agendas: ['99'], kind: 'google' }])).rejects.toMatchObject({ remedy: 'choose from: 12, 14' });
  });

  test('are offered only for vendors that have a registration in the settings', async () => {
    const none = { clinic: 'main', google: null, microsoft: null };
    const { tests } = serversThatRefuse();
    const tools = { dir: newFolder(), tenant: 'aurora', registrations: none, tests };
    const wanted = askCalendars(tools, PLACES, asker({ calendars: [{ agendas: ['14'], kind: 'google' }] }));
    await expect(wanted).rejects.toMatchObject({ code: 'answer-refused', remedy: 'choose from: caldav' });
  });
});

test('a clinic has an id made from its name, and an existing zone', async () => {
  expect(await askTenant(asker({ name: 'Poliambulatorio Aurora', zone: 'Europe/Rome' }))).toEqual({
    ...TENANT,
    id: 'poliambulatorio-aurora',
  });
  await expect(askTenant(asker({ name: 'A', zone: 'Europe/Roma' }))).rejects.toMatchObject({ code: 'answer-refused' });
});
