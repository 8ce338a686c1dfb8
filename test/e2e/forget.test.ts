// Tier: quick. The journey of a patient who is forgotten.
import { expect, onTestFinished, test } from 'vitest';
import { connectors } from '../../src/connectors/registry.ts';
import { silentLogger } from '../../src/core/log/logger.ts';
import type { ForgetReceipt } from '../../src/core/model/forgetting.ts';
import { reminderChannels } from '../../src/features/reminders/channels/registry.ts';
import { startDaemon } from '../../src/main.ts';
import { loadConfiguration } from '../../src/settings/configuration-files.ts';
import { logInTo } from '../support/log-in.ts';
import { useRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';
import { type CrmWorld, startCrmWorld } from './support/crm-world.ts';
import { dumpRedis } from './support/dump-redis.ts';

const redis = useRedis();
const TENANT = 'clinic-1';
const STREAMS = ['patients', 'appointments', 'invoices'] as const;
const ACCOUNT = 'doctor@clinic.example';
const UNGUARDED = { vanished: { share: 1, count: 1_000 }, cancelled: { share: 1, count: 1_000 } };

/** A clinic with a Google calendar that shows names, and every CRM. */
async function useWorld(): Promise<CrmWorld & { calendarId: string }> {
  const world = await startCrmWorld({
    redisUrl: redis.url,
    streams: STREAMS,
    patients: 12,
    appointments: 40,
    target: { guard: UNGUARDED },
  });
  onTestFinished(() => world.close());
  world.google.addAccount(ACCOUNT);
  const calendarId = world.google.createCalendar(ACCOUNT, 'Doctor', 'Europe/Rome');
  await world.editTenant(TENANT, (file) => {
    file.connections.google = { kind: 'google', client: 'main' };
    Object.assign(file.targets, {
      doctor: {
        connector: 'google-calendar',
        connection: 'google',
        agendas: 'all',
        window: { pastDays: 60, futureDays: 200 },
        title: 'full',
        titleReason: 'the practice manager, for this test',
        settings: { calendar: { id: calendarId }, rootUrl: world.google.calendarApiUrl },
      },
    });
  });
  await world.logIn();
  await logInTo(world.opened(), { tenant: TENANT, connection: 'google' }, (url) =>
    world.google.authorizeInBrowser(url, { account: ACCOUNT }),
  );
  return { ...world, calendarId };
}

/** A patient with an invoice and an appointment, and every string that could identify them in Redis and targets. */
function chosen(world: CrmWorld) {
  const clinicId = world.tenants[0]?.clinicId ?? '';
  const visits = [...world.clinic.appointments(clinicId)].filter(({ status }) => status !== 'Cancelled');
  const invoices = [...world.clinic.invoices(clinicId)];
  const patient = [...world.clinic.patients(clinicId)].find(
    ({ id }) => visits.some((one) => one.patientId === id) && invoices.some((one) => one.patientId === id),
  );
  if (patient === undefined) throw new Error('the patient is not in the clinic');
  const name = 'Zobeide Quaranta';
  world.clinic.plant(clinicId, 'patients', patient.id, {
    firstName: 'Zobeide',
    lastName: 'Quaranta',
    email: 'zobeide@quaranta.example',
    consents: { privacy: { granted: true, date: null } },
  });
  const ids = visits.filter(({ patientId }) => patientId === patient.id).map(({ id }) => id);
  return { id: patient.id, name, telling: [patient.id, 'Zobeide', 'Quaranta', 'zobeide@quaranta.example', ...ids] };
}

async function tracesIn(telling: readonly string[]): Promise<string[]> {
  const dump = await dumpRedis(redis.connect());
  return [...dump].filter(([key, text]) => telling.some((one) => `${key}${text}`.includes(one))).map(([key]) => key);
}

test('a patient is forgotten in a calendar, every CRM and Redis while a daemon runs, and is mirrored again after --undo', async () => {
  const world = await useWorld();
  const { id, telling } = chosen(world);
  await world.cycle();
  const inCalendar = () => JSON.stringify(world.google.events(world.calendarId)).includes('Quaranta');
  const inCrm = () =>
    world.vendors.filter((vendor) =>
      STREAMS.some((stream) => JSON.stringify(vendor.records(stream)).includes('Quaranta')),
    );
  const sizes = () => world.vendors.map((vendor) => STREAMS.map((stream) => vendor.records(stream).length));
  expect([inCalendar(), inCrm().length]).toEqual([true, 3]);
  const before = sizes();
  expect(await tracesIn(telling)).not.toEqual([]);

  const preview = await world.cli('forget', TENANT, id);
  expect(preview).toMatchObject({ code: 0, out: expect.stringContaining('--yes') });
  expect([inCalendar(), inCrm().length, sizes()]).toEqual([true, 3, before]);

  const { configDir: dir, env } = world;
  const configuration = loadConfiguration({ dir, env, connectors, reminderChannels, mode: 'strict' });
  const daemon = await startDaemon(configuration, silentLogger, new AbortController().signal);
  onTestFinished(() => daemon.close());
  const forgotten = await world.cli('forget', TENANT, id, '--yes', '--json');
  expect(forgotten.code, forgotten.err + forgotten.out).toBe(0);
  const receipt = JSON.parse(forgotten.out) as ForgetReceipt;
  expect(receipt.targets).toHaveLength(10);
  for (const { found, erased, waiting, failed, target } of receipt.targets) {
    expect([erased, waiting, failed], target).toEqual([found, 0, 0]);
    expect(found, target).toBeGreaterThan(0);
  }
  expect([inCalendar(), inCrm()]).toEqual([false, []]);
  for (const one of telling) expect(`${preview.out}${preview.err}${forgotten.out}${forgotten.err}`).not.toContain(one);
  await world.cycle();
  await daemon.close();
  expect(await tracesIn(telling)).toEqual([]);
  expect([inCalendar(), inCrm()]).toEqual([false, []]);

  expect((await world.cli('forget', TENANT, id, '--undo')).out).toContain('synced again');
  await world.cycle();
  await waitFor(async () => inCalendar(), { what: 'the appointments of the patient' });
  expect(inCrm().map(({ name }) => name)).toEqual(expect.arrayContaining(['salesforce', 'rest-crm']));
});
