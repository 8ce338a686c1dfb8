import { describe, expect, test } from 'vitest';
import { silentLogger } from '../../src/core/log/logger.ts';
import { DAY_MS, HOUR_MS } from '../../src/core/model/time.ts';
import { channelModule, needsPatient, openReminders, type ReminderParts } from '../../src/daemon/reminders.ts';
import { createAnswerDirectory } from '../../src/features/reminders/answer-store.ts';
import type { ChannelModule } from '../../src/features/reminders/channels/channel.ts';
import { reminderKeys } from '../../src/features/reminders/keys.ts';
import { reminderSchema } from '../../src/settings/reminder-schema.ts';
import { NOW } from '../domain/arbitraries.ts';
import { useRedis } from '../support/redis.ts';

const redis = useRedis();
const APPOINTMENT = { reminder: 'r'.repeat(32), patientId: 'p1', startAt: NOW + 5 * HOUR_MS };

describe('the patient is read before a channel is used', () => {
  const module = (needs: ChannelModule['needs'], readsPatient?: (settings: unknown) => boolean) =>
    ({ needs, ...(readsPatient && { readsPatient }) }) as unknown as ChannelModule;

  test.each([
    ['for an address', module('email'), {}],
    ['for a consent', module('nothing'), { consent: 'sms' }],
    ['for a field in its settings', module('nothing', (settings) => settings === 'names'), { settings: 'names' }],
  ])('%s', (_why, one, file) => {
    expect(needsPatient(one, file)).toBe(true);
  });

  test('but not if the channel needs no patient data', () => {
    expect(needsPatient(module('nothing'), {})).toBe(false);
    expect(
      needsPatient(
        module('nothing', (settings) => settings === 'names'),
        { settings: 'times' },
      ),
    ).toBe(false);
  });
});

test('an unknown kind of channel is an error of the program, with the name of the kind', () => {
  expect(channelModule('dry').needs).toBe('nothing');
  expect(() => channelModule('pigeon')).toThrow('"pigeon"');
});

describe('reminders of a tenant', () => {
  function open({
    file = {},
    formerly = null as string | null,
    publicUrl = 'https://mirror.example' as string | null,
  }) {
    const connection = redis.connect();
    const reminders = reminderSchema.parse({
      ...{ phone: '06 1234567', channels: { test: { kind: 'dry' } }, links: { cancel: true }, keepDays: 3 },
      rules: { soon: { before: 'PT1H', channels: ['test'] } },
      ...file,
    });
    const parts = {
      ...{ tenant: { id: 'aurora', formerly, reminders }, identityKey: new Uint8Array(32), redis: connection },
      ...{ stateCounter: { confirm: async () => 0 }, protection: { store: async () => {} } },
      ...{ queues: { reminderAlarms: () => ({}) }, httpFor: () => ({}), heard: () => {}, outbound: {} },
      ...{ log: silentLogger, clock: () => NOW, observeLag: () => {}, publicUrl },
    } as unknown as ReminderParts;
    return { connection, parts, opened: openReminders(parts)! };
  }

  test('do not exist if its file has none', () => {
    const { parts } = open({});
    expect(openReminders({ ...parts, tenant: { ...parts.tenant, reminders: undefined } })).toBeNull();
  });

  test('carry no link if no link is configured or patients cannot reach the server', () => {
    expect(open({ file: { links: undefined } }).opened.answers).toBeNull();
    expect(open({ publicUrl: null }).opened.answers).toBeNull();
    expect(open({}).opened.answers).not.toBeNull();
  });

  test('carry a link that is valid until the appointment, and in the ledger as long afterwards', async () => {
    const { connection, opened } = open({});
    const link = await opened.answers!.linkFor(APPOINTMENT);
    expect(link).toEqual({ url: expect.stringMatching(/^https:\/\/mirror\.example\/r\/[\w-]+$/), cancels: true });
    expect(await opened.answers!.linkFor(APPOINTMENT)).toEqual(link);
    const token = link!.url.split('/').at(-1)!;
    const kept = await createAnswerDirectory(connection).find(token);
    expect(kept).toMatchObject({ tenant: 'aurora', reminder: APPOINTMENT.reminder, patientId: 'p1' });
    expect(opened.answers!.isOurs(token, kept!)).toBe(true);
    expect(opened.answers!.isOurs(token, { ...kept!, patientId: 'p2' })).toBe(false);
    const [key = ''] = await connection.keys(reminderKeys.answerLink('*'));
    const lifeMs = await connection.pttl(key);
    expect(lifeMs).toBeGreaterThan(3 * DAY_MS + 4 * HOUR_MS);
    expect(lifeMs).toBeLessThanOrEqual(3 * DAY_MS + 5 * HOUR_MS);
  });

  test('of a renamed tenant carry the same link, if the file gives the former name', async () => {
    const urlOf = async (formerly: string | null) =>
      (await open({ formerly }).opened.answers!.linkFor(APPOINTMENT))?.url;
    expect(await urlOf('bianchi')).not.toBe(await urlOf(null));
    expect(await urlOf('aurora')).toBe(await urlOf(null));
  });
});
