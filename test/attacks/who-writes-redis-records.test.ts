import type { Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import { DAY_MS } from '../../src/core/model/time.ts';
import { clinicKeys, createClinicTenantStore } from '../../src/domain/clinic-tenant.ts';
import { keys } from '../../src/state/keys.ts';
import { createProofSealer } from '../../src/state/sealing.ts';
import { createSubscriptionDirectory } from '../../src/tenant/subscription-store.ts';
import { appointmentOf, NOW } from '../domain/arbitraries.ts';
import { useDamage } from '../support/damage.ts';
import { useRedis } from '../support/redis.ts';
import { cycle, drain, pull, targetOf } from '../tenant/cycle.ts';
import { createModelClinic } from '../tenant/model-clinic.ts';
import { createModelTarget } from '../tenant/model-target.ts';
import { openTenant } from '../tenant/open-tenant.ts';
import { createMailbox } from './mailbox.ts';

const redis = useRedis();
const damage = useDamage();
const TENANT = 'studio-rossi';
const IDENTITY_KEY = Buffer.alloc(32, 7);

/** Appointments `1` and `2` of one doctor, `3` of another, each doctor's in a calendar of one mailbox. */
async function openPractice() {
  const connection = redis.connect();
  const clinic = createModelClinic();
  const book = (id: string, agendaId: string, inHours = 24) =>
    clinic.appointments.set(id, appointmentOf(id, { agendaId, inHours }));
  book('1', 'a1');
  book('2', 'a1', 26);
  book('3', 'a2');
  const mailbox = createMailbox();
  const open = () =>
    openTenant({
      redis: connection,
      clinic,
      clock: () => NOW,
      targets: ['a1', 'a2'].map((agenda) => ({
        id: agenda,
        model: mailbox.target(),
        configuration: { agendas: [agenda] },
      })),
    });
  const tenant = open();
  await cycle(tenant);
  const told = () =>
    mailbox
      .events()
      .map(({ calendar, sealedRecordId }) => {
        const owner = ['a1', 'a2'].find((id) => calendar === `calendar of ${targetOf(tenant, id).identity.ownerTag}`);
        const [record] = ['a1', 'a2'].flatMap((id) => targetOf(tenant, id).identity.recordIdOf(sealedRecordId) ?? []);
        return `${record} in ${owner ?? calendar}`;
      })
      .sort();
  expect(told()).toEqual(['1 in a1', '2 in a1', '3 in a2']);
  return { connection, clinic, book, mailbox, tenant, open, told };
}

const bucket = (target: string) => keys.linksBucket(TENANT, target, 0, 0);

async function touch(connection: Redis, target: string, record: string, link: string) {
  await connection.hset(bucket(target), record, link);
  await connection.hset(keys.linksMeta(TENANT, target), 'version', `9999 forged`);
}

describe('a forged link to another object', () => {
  test.each([
    ['unchanged from the other link', (link: string) => link],
    ['with any version', (link: string) => link.replace(/\t(v\d+)\t/, '\t*\t')],
  ])('does not overwrite another event, %s', async (_, forge) => {
    const { connection, book, tenant, told, mailbox } = await openPractice();
    const before = mailbox.events();
    await touch(connection, 'a1', '1', forge((await connection.hget(bucket('a2'), '3')) ?? ''));
    book('1', 'a1', 30);
    await cycle(tenant);
    expect(told()).toEqual(['1 in a1', '2 in a1', '3 in a2']);
    expect(mailbox.events().filter((event) => before.includes(event))).toHaveLength(2);
  });

  test('deletes nothing if the clinic does not know its record', async () => {
    const { connection, tenant, told } = await openPractice();
    await touch(connection, 'a1', 'made-up', (await connection.hget(bucket('a1'), '2')) ?? '');
    for (let turn = 0; turn < 3; turn += 1) await cycle(tenant);
    expect(told()).toEqual(['1 in a1', '2 in a1', '3 in a2']);
  });

  test('creates no second event if removed, or if changed to report a burnt key', async () => {
    const { connection, book, tenant, told } = await openPractice();
    const own = (await connection.hget(bucket('a1'), '1')) ?? '';
    await connection.hdel(bucket('a1'), '2');
    await touch(connection, 'a1', '1', own.replace(/^([^\t]*\t[^\t]*\t)\d/, '$15'));
    book('1', 'a1', 30);
    await cycle(tenant);
    expect(told()).toEqual(['1 in a1', '2 in a1', '3 in a2']);
  });
});

describe('a forged record of a target', () => {
  test('that names another calendar causes no writes there, and the target is read again', async () => {
    const { connection, book, open, mailbox, told, tenant } = await openPractice();
    mailbox.addCalendar('of the reception');
    const place = keys.target(TENANT, 'a1');
    const others = (await connection.hget(keys.target(TENANT, 'a2'), 'proof')) ?? '';
    // In plain text, as the proof of another target, and as a self-made proof.
    for (const forged of [
      { container: 'of the reception' },
      { proof: others },
      { proof: `s1.identity.${Buffer.alloc(60, 1).toString('base64url')}` },
    ]) {
      await connection.hdel(place, 'proof');
      await connection.hset(place, forged);
      book('1', 'a1', 30);
      const daemon = open();
      for (const target of daemon.targets.values()) await drain(daemon, target);
      await cycle(daemon);
      expect(told()).toEqual(['1 in a1', '2 in a1', '3 in a2']);
    }
    expect((await tenant.targetStore.read('a1')).container).not.toBeNull();
    expect([...damage]).toEqual([`${TENANT} targets`]);
  });

  test('that claims approval of its first run is rejected', async () => {
    const connection = redis.connect();
    const clinic = createModelClinic();
    clinic.appointments.set('1', appointmentOf('1'));
    const model = createModelTarget();
    const targets = [{ model, configuration: { firstRun: 'plan' as const } }];
    const tenant = openTenant({ redis: connection, clinic, targets, clock: () => NOW });
    await cycle(tenant);
    await connection.hset(keys.target(TENANT, 'doctor'), 'firstRunApprovedAt', NOW);
    await cycle(tenant);
    expect(model.objects()).toEqual([]);
    expect((await tenant.holds.list()).map(({ kind, state }) => [kind, state])).toEqual([['first-run', 'open']]);
  });

  test('if removed, loses no deleted records: those are kept per calendar', async () => {
    const { connection, tenant } = await openPractice();
    const gone = { cancelled: 0, excluded: 0, vanished: 4, released: 0, restored: 0 };
    await tenant.targetStore.recordGone('a1', gone, NOW);
    await connection.hdel(keys.target(TENANT, 'a1'), 'proof');
    expect(await tenant.targetStore.read('a1')).toMatchObject({ container: null, adoptedAt: null });
    expect([...damage]).toEqual([`${TENANT} targets`]);
  });
});

describe('a record that an operator restored into a target', () => {
  const UNTIL = NOW + 30 * DAY_MS;
  const pins = (target: string) => keys.pins(TENANT, target);

  test('gets no forged additions: a record excluded by the rules stays excluded', async () => {
    const { connection, book, tenant, told } = await openPractice();
    await connection.zadd(pins('a1'), UNTIL, '3');
    await cycle(tenant);
    // A genuine record, but of another target.
    await tenant.journal.pin('a2', ['3'], UNTIL);
    await connection.copy(pins('a2'), pins('a1'));
    book('1', 'a1', 30);
    await cycle(tenant);
    expect(told()).toEqual(['1 in a1', '2 in a1', '3 in a2']);
    expect(await connection.exists(pins('a1'))).toBe(0);
    expect([...damage]).toEqual([`${TENANT} pins`]);
    await tenant.journal.pin('a1', ['3'], UNTIL);
    await cycle(tenant);
    expect(told()).toContain('3 in a1');
  });

  test.each([
    ['deleted', (connection: Redis, _before: string) => connection.del(pins('a1'))],
    ['reset to an earlier state', (connection: Redis, before: string) => connection.set(pins('a1'), before)],
  ])('is not %s without a report', async (_, change) => {
    const { connection, tenant } = await openPractice();
    await tenant.journal.pin('a1', ['1'], UNTIL);
    const before = (await connection.get(pins('a1'))) ?? '';
    await tenant.journal.pin('a1', ['3'], UNTIL);
    await cycle(tenant);
    expect([...damage]).toEqual([]);
    await change(connection, before);
    expect(await tenant.journal.pins('a1', NOW)).toEqual({});
    for (let turn = 0; turn < 2; turn += 1) await cycle(tenant);
    expect([...damage]).toEqual([`${TENANT} pins`]);
    expect(await tenant.targetStore.read('a1')).toMatchObject({ adoptedAt: NOW });
  });
});

test('a forged miss is ignored: only a second genuine miss counts', async () => {
  const { connection, clinic, tenant, told } = await openPractice();
  await connection.hset(keys.misses(TENANT, 'appointments'), '1', NOW - 3_600_000);
  clinic.appointments.delete('1');
  await pull(tenant);
  expect(await tenant.outbox.counts('a1')).toMatchObject({ pending: 0 });
  expect(told()).toContain('1 in a1');
});

test('a forged binding to another clinic is ignored, as if there were none', async () => {
  const connection = redis.connect();
  const store = createClinicTenantStore(connection, TENANT, createProofSealer(IDENTITY_KEY, TENANT));
  await store.bind('our-clinic', false);
  const other = createClinicTenantStore(connection, 'other', createProofSealer(IDENTITY_KEY, 'other'));
  await other.bind('other-clinic', false);
  const theirs = (await connection.get(clinicKeys.clinicTenant('other'))) ?? '';
  for (const forged of ['other-clinic', theirs]) {
    await connection.set(clinicKeys.clinicTenant(TENANT), forged);
    expect(await store.read()).toBeNull();
  }
  expect(await store.bind('our-clinic', false)).toBe('our-clinic');
  expect(await store.bind('other-clinic', false)).toBe('our-clinic');
});

describe('subscriptions', () => {
  const ADDRESSEE = {
    ...{ tenant: TENANT, connector: 'google-calendar', targets: ['doctor'], secretHash: 'h' },
    ...{ isOpening: false, asked: null },
  };

  test('created by an attacker reach no receiver', async () => {
    const connection = redis.connect();
    const directory = createSubscriptionDirectory(connection, IDENTITY_KEY, () => NOW);
    await directory.put('ours', ADDRESSEE, NOW + 3_600_000);
    expect(await directory.find('ours')).toEqual(ADDRESSEE);
    await connection.set(keys.subscription('theirs'), JSON.stringify(ADDRESSEE));
    expect(await directory.find('theirs')).toBeNull();
    await connection.set(keys.subscription('theirs'), (await connection.get(keys.subscription('ours'))) ?? '');
    expect(await directory.find('theirs')).toBeNull();
  });

  test('of an attacker are neither cancelled nor renewed, and are removed', async () => {
    const { connection, tenant } = await openPractice();
    const { store } = tenant.notifications;
    const lease = await tenant.leases.tryTake('subscriptions');
    if (lease === null) throw new Error('the lease is taken');
    await store.write('a1', { current: null, closing: [], failure: { code: 'c', sinceAt: NOW, retryAt: NOW } }, lease);
    const own = (await connection.hget(keys.subscriptions(TENANT), 'a1')) ?? '';
    const forged = { current: null, closing: [{ id: 'x', handle: 'somebody-elses' }], failure: null };
    await connection.hset(keys.subscriptions(TENANT), { a2: own, 'not-there': JSON.stringify(forged) });
    expect([...(await store.read()).keys()]).toEqual(['a1']);
    expect([...(await store.readReadable()).keys()]).toEqual(['a1']);
    expect([...damage]).toEqual([`${TENANT} subscriptions`]);
    expect(await connection.hkeys(keys.subscriptions(TENANT))).toEqual(['a1']);
  });
});
