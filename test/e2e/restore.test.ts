import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { DAY_MS, HOUR_MS } from '../../src/core/model/time.ts';
import { openBackups } from '../../src/daemon/backup.ts';
import type { Composition } from '../../src/daemon/compose.ts';
import { acceptLoss } from '../../src/features/backup/backups.ts';
import { forgetPatient, listReceipts } from '../../src/features/forget/forget.ts';
import { optOut } from '../../src/features/reminders/reminders.ts';
import { status } from '../../src/operator/control/status.ts';
import { syncTenant } from '../../src/operator/control/sync.ts';
import { useRedis } from '../support/redis.ts';
import type { SmallTenant } from './support/small-configuration.ts';
import { startSmallWorld } from './support/small-world.ts';

const redis = useRedis();
const TENANT = 'clinic-1';
const NEVER = new AbortController().signal;
const SIGNALS = { stop: NEVER, abort: NEVER };
const ADDRESS = { kind: 'phone', address: '+393331234567' } as const;
const SMS = {
  accountSid: `AC${'0'.repeat(32)}`,
  from: '+15005550006',
  authToken: { env: 'TENANT_CLINIC_1__SMS_TOKEN' },
};

function tenantOf({ installation }: Composition) {
  const tenant = installation.tenants.get(TENANT);
  if (tenant === undefined) throw new Error('the tenant is not open');
  return tenant;
}

const cycle = ({ installation }: Composition) =>
  syncTenant(installation, TENANT, { progress: () => {}, signals: SIGNALS });
const forget = ({ installation }: Composition, patient: string) =>
  forgetPatient(installation, TENANT, patient, { progress: () => {}, signals: SIGNALS });

/** A clinic with a calendar and reminders: one patient was forgotten, one address opted out, one record was restored manually. */
async function useProtected() {
  const world = await startSmallWorld({
    redisUrl: redis.url,
    appointments: 20,
    clinic: { agendas: 1, allowDoubleBooking: true },
    reminders: {
      phone: '06 1234567',
      channels: { text: { kind: 'sms', settings: SMS } },
      rules: { soon: { before: 'PT1H', channels: ['text'] } },
    },
  });
  onTestFinished(() => world.close());
  world.env.TENANT_CLINIC_1__SMS_TOKEN = 'no message is sent';
  await world.logIn();
  const { clinicId } = world.tenants[0] as SmallTenant;
  const appointments = [...world.clinic.appointments(clinicId)];
  const ids = appointments.flatMap(({ patientId, status }) => (status === 'Cancelled' ? [] : (patientId ?? [])));
  const [forgotten = '', other = ''] = new Set(ids);
  const tomorrow = Math.ceil(world.clinic.clock() / DAY_MS) * DAY_MS;
  let booked = 0;
  const book = (patientId: string) => {
    booked += 1;
    world.clinic.book(clinicId, { start: tomorrow + (100 + booked) * HOUR_MS, patientId });
  };
  book(forgotten);
  const first = world.opened();
  await cycle(first);
  await forget(first, forgotten);
  await optOut(first.installation, TENANT, { ...ADDRESS, lift: false });
  const [target = ''] = tenantOf(first).targets.keys();
  const putBack = appointments.find(({ patientId, status }) => patientId === other && status !== 'Cancelled')?.id ?? '';
  await tenantOf(first).journal.pin(target, [putBack], Date.now() + DAY_MS);
  await cycle(first);
  const difference = async () => {
    const [{ missing, duplicates } = { missing: -1, duplicates: -1 }] = await world.compareAll();
    return { missing, duplicates };
  };
  const protectedBy = async (composition: Composition) => {
    const { tombstones, journal, reminders } = tenantOf(composition);
    const mark = reminders!.optOuts.hashOf(ADDRESS.kind, ADDRESS.address);
    return {
      isForgotten: (await tombstones.load())(forgotten),
      isOptedOut: (await reminders!.optOuts.find(mark)) !== null,
      receipts: (await listReceipts(composition.installation, TENANT)).receipts.length,
      isPutBack: Object.keys(await journal.pins(target, Date.now())).join() === putBack,
    };
  };
  return { world, forgotten, other, book, difference, protectedBy };
}

const WHOLE = { isForgotten: true, isOptedOut: true, receipts: 1, isPutBack: true };
const NOTHING = { isForgotten: false, isOptedOut: false, receipts: 0, isPutBack: false };

/** The tenant's `status`, and the changes waiting in holds. */
async function told({ installation }: Composition) {
  const [tenant] = (await status(installation)).tenants;
  const holds = await tenantOf({ installation } as Composition).holds.list();
  const open = holds.filter(({ state }) => state === 'open');
  return {
    doubt: tenant?.uncertainty?.code ?? null,
    held: open.map(({ kind, recordIds }) => [kind, recordIds.length]),
  };
}

test('after the loss of Redis no patient data is written until the backup is restored, and then none of forgotten patients', async () => {
  const { world, forgotten, other, book, difference, protectedBy } = await useProtected();
  expect(await protectedBy(world.opened())).toEqual(WHOLE);
  const before = await difference();
  expect(before.missing).toBeGreaterThan(0);
  const file = join(world.dir, 'clinic-1.backup');
  await writeFile(file, await openBackups(world.opened()).backup(TENANT));

  await redis.connect().flushall();
  book(forgotten);
  book(other);
  const again = world.open();
  expect(await protectedBy(again)).toEqual(NOTHING);
  // A user connects before the backup is restored.
  await world.logIn();
  const held = await cycle(again);
  expect(held.targets).toMatchObject([{ reason: 'on-hold' }]);
  expect(await told(again)).toEqual({ doubt: 'state-lost', held: [['people', before.missing + 2]] });
  expect(await difference()).toEqual({ missing: before.missing + 2, duplicates: 0 });

  const restored = await world.cli('credentials', 'restore', TENANT, file);
  expect(restored).toMatchObject({ code: 0, out: expect.stringContaining('opt-outs: 3') });
  expect(await protectedBy(again)).toEqual(WHOLE);
  const after = await cycle(again);
  expect(after.targets).toMatchObject([{ sync: 'in-sync' }]);
  // What is missing is the forgotten patient's, the new appointment included.
  expect(await difference()).toEqual({ missing: before.missing + 1, duplicates: 0 });
  expect(await told(again)).toEqual({ doubt: null, held: [] });
});

test('without a backup an operator forgets the known patients again, and accepts the loss of the rest', async () => {
  const { world, forgotten, other, book, difference, protectedBy } = await useProtected();
  const before = await difference();
  await redis.connect().flushall();
  book(forgotten);
  book(other);
  const again = world.open();
  await world.logIn();
  await cycle(again);
  expect(await told(again)).toMatchObject({ doubt: 'state-lost' });

  await forget(again, forgotten);
  await cycle(again);
  expect(await difference()).toEqual({ missing: before.missing + 2, duplicates: 0 });
  expect(await world.cli('accept-loss', TENANT)).toMatchObject({ code: 0, out: expect.stringContaining('next cycle') });
  await cycle(again);
  expect(await difference()).toEqual({ missing: before.missing + 1, duplicates: 0 });
  expect(await told(again)).toEqual({ doubt: null, held: [] });
  // Data that no operator entered again is unknown.
  expect(await protectedBy(again)).toEqual({ ...NOTHING, isForgotten: true, receipts: 1 });
  expect(await acceptLoss(again.installation, TENANT)).toMatchObject({ changed: false });
});
