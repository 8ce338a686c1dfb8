import { describe, expect, test } from 'vitest';
import { silentLogger } from '../../src/core/log/logger.ts';
import { MirrorError } from '../../src/core/model/errors.ts';
import { DAY_MS, HOUR_MS } from '../../src/core/model/time.ts';
import { ALL_KEYS, KEY_OWNERS } from '../../src/daemon/key-tables.ts';
import { reminderKeys } from '../../src/features/reminders/keys.ts';
import { renderStatus } from '../../src/operator/cli/render-status.ts';
import { status } from '../../src/operator/control/status.ts';
import { outlineOf } from '../../src/settings/configuration-changes.ts';
import { keys } from '../../src/state/keys.ts';
import { createLeases } from '../../src/state/leases.ts';
import { type ReleaseParts, releaseRemoved } from '../../src/tenant/release.ts';
import { createRemovedStore } from '../../src/tenant/removed.ts';
import type { OpenTenant } from '../../src/tenant/tenant.ts';
import { createUpkeepStore } from '../../src/tenant/upkeep.ts';
import { appointmentOf, NOW } from '../domain/arbitraries.ts';
import { openInstallation } from '../operator/control/open-installation.ts';
import { useRedis } from '../support/redis.ts';
import { cycle, NEVER, pull } from './cycle.ts';
import { createModelClinic } from './model-clinic.ts';
import { createModelTarget, type ModelTarget } from './model-target.ts';
import { openTenant, type TenantChoice } from './open-tenant.ts';

const redis = useRedis();
const KEEP_MS = 30 * DAY_MS;

interface Start {
  id?: string;
  targets?: readonly string[];
  connections?: readonly string[];
  formerly?: string;
  targetFormerly?: Readonly<Record<string, string>>;
}

async function open() {
  const connection = redis.connect();
  await connection.flushall();
  const clinic = createModelClinic(5);
  const clock = { now: NOW };
  const models = new Map<string, ModelTarget>();
  const modelOf = (id: string) => {
    models.set(id, models.get(id) ?? createModelTarget());
    return models.get(id) as ModelTarget;
  };
  /** Another process, with this configuration. */
  const start = ({
    targets = ['doctor', 'room'],
    connections = ['room'],
    targetFormerly = {},
    ...choice
  }: Start = {}) => {
    const given: TenantChoice = {
      redis: connection,
      clinic,
      clock: () => clock.now,
      targets: targets.map((id) => ({ id, model: modelOf(id), configuration: { formerly: targetFormerly[id] } })),
      ...choice,
    };
    const tenant = openTenant(given);
    const logins = new Map(connections.map((id) => [id, {} as never]));
    return { ...tenant, configuration: { ...tenant.configuration, connections: logins, formerly: choice.formerly } };
  };
  const removed = createRemovedStore(connection, KEY_OWNERS);
  const upkeep = createUpkeepStore(connection);
  const expiring: ReleaseParts['expiring'][number][] = [];
  /** One check of a daemon with these tenants. */
  const look = (tenants: readonly OpenTenant[], unusable: readonly string[] = []) =>
    releaseRemoved(
      {
        tenants: new Map(tenants.map(({ id, configuration }) => [id, outlineOf(configuration, [], '')])),
        open: (id) => tenants.find((tenant) => tenant.id === id) as OpenTenant,
        unusable: unusable.map((id) => ({ id })),
        removed,
        retentionMs: KEEP_MS,
        ...{ expiring, trimAuditLog: async () => 0, upkeep },
        leasesOf: (tenant) => createLeases(connection, tenant, 60_000),
        clock: () => clock.now,
        log: silentLogger,
      },
      NEVER,
    );
  const names = async () => (await connection.keys('cm:*')).filter((name) => !name.endsWith(':upkeep')).sort();
  const login = (tenant: string, id: string) => connection.hset(keys.credential(tenant, id), 'sealed', 'x');
  const told = async (tenants: readonly OpenTenant[]) =>
    status({ ...openInstallation({ tenants }), removed: { ...removed, retentionMs: KEEP_MS }, clock: () => clock.now });
  return { connection, clinic, clock, modelOf, start, removed, upkeep, expiring, look, names, login, told };
}

/** A tenant whose room has links and a pending encrypted entry. */
async function withWaitingRoom(world: Awaited<ReturnType<typeof open>>) {
  const { clinic, clock, modelOf, start, login } = world;
  const tenant = start();
  await cycle(tenant);
  modelOf('room').wholeTargetError = new MirrorError('away', { actor: 'remote', code: 'server-error', retry: 'later' });
  clinic.appointments.set('new', appointmentOf('new', { inHours: 30 }));
  clock.now += HOUR_MS;
  await pull(tenant);
  await tenant.journal.pin('room', ['1'], NOW + 90 * DAY_MS);
  await login(tenant.id, 'room');
  await login(tenant.id, 'clinic');
  expect(await tenant.outbox.counts('room')).toMatchObject({ pending: 1 });
  return tenant;
}

const isOfRoom = (name: string) => KEY_OWNERS.of(name)?.part === 'target/room';

describe('stored data of a target that was removed from the configuration', () => {
  test('is deleted after the retention time, encrypted entries included; a connection with its name and the rest remain', async () => {
    const world = await open();
    const { clock, start, look, names, modelOf, told } = world;
    await withWaitingRoom(world);
    const tenant = start({ targets: ['doctor'] });
    await cycle(tenant);
    await look([tenant]);
    const before = await names();
    expect(before.filter(isOfRoom).length).toBeGreaterThan(4);
    expect(await tenant.storage.read()).toMatchObject({ bytes: expect.any(Number), countedAt: clock.now });
    expect((await told([tenant])).tenants[0]?.removed).toEqual([
      { name: 'target/room', missedAt: clock.now, releaseAt: clock.now + KEEP_MS },
    ]);
    expect(renderStatus(await told([tenant]))).toContain('target room is no longer configured');
    for (let days = 0; days < 28; days += 7) {
      clock.now += 7 * DAY_MS;
      await look([tenant]);
    }
    clock.now = NOW + HOUR_MS + KEEP_MS - 1;
    await look([tenant]);
    expect(await names()).toEqual(before);
    clock.now += 1;
    await look([tenant]);
    const gone = before.filter(isOfRoom);
    expect(await names()).toEqual(before.filter((name) => !gone.includes(name) && name !== keys.removed(tenant.id)));
    expect((await told([tenant])).tenants[0]?.removed).toEqual([]);
    expect(modelOf('room').objects()).toHaveLength(5);
  });

  test('is all there when it is configured again in time, and the time begins again with the next removal', async () => {
    const world = await open();
    const { connection, clock, start, look, names } = world;
    await withWaitingRoom(world);
    const without = start({ targets: ['doctor'] });
    await cycle(without);
    const before = (await names()).filter(isOfRoom);
    await look([without]);
    clock.now += KEEP_MS - 1;
    // The target returns for a moment, too short for a check.
    await start().configVersion.join();
    expect(await connection.exists(keys.removed(without.id))).toBe(0);
    const again = start({ targets: ['doctor'] });
    await again.configVersion.join();
    clock.now += HOUR_MS;
    await look([again]);
    expect((await names()).filter(isOfRoom)).toEqual(before);
    clock.now += KEEP_MS - 1;
    const back = start();
    await look([back]);
    expect((await names()).filter(isOfRoom)).toEqual(before);
    expect(await back.links.count('room')).toBe(5);
    expect(await back.outbox.counts('room')).toMatchObject({ pending: 1 });
  });

  test('its objects are taken as its own when it is configured again afterwards: nothing is written twice', async () => {
    const world = await open();
    const { clock, start, look, modelOf } = world;
    await withWaitingRoom(world);
    const without = start({ targets: ['doctor'] });
    await look([without]);
    clock.now += KEEP_MS;
    await look([without]);
    clock.now -= KEEP_MS;
    modelOf('room').wholeTargetError = null;
    const back = start();
    await cycle(back);
    expect(modelOf('room').objects()).toHaveLength(6);
    expect(await back.targetStore.read('room')).toMatchObject({ adopted: 5, created: 1 });
  });

  test('is not touched by a daemon with an older configuration, which lacks the target', async () => {
    const { clock, start, look, names } = await open();
    const older = start({ targets: ['doctor'] });
    await cycle(older);
    const newer = start();
    await cycle(newer);
    const before = await names();
    for (let days = 0; days < 70; days += 7) {
      await look([older]);
      clock.now += 7 * DAY_MS;
    }
    expect(await names()).toEqual(before);
  });

  test('is deleted for a renamed target, except for data read under the previous id', async () => {
    const world = await open();
    const { clock, start, look, names } = world;
    await withWaitingRoom(world);
    const renamed = start({ targets: ['doctor', 'surgery'], targetFormerly: { surgery: 'room' } });
    await look([renamed]);
    clock.now += KEEP_MS;
    await look([renamed]);
    await look([renamed]);
    expect((await names()).filter(isOfRoom)).toEqual([keys.pins(renamed.id, 'room')]);
    expect([...(await renamed.journal.pinned('surgery', clock.now))]).toEqual(['1']);
    const after = start({ targets: ['doctor', 'surgery'] });
    await look([after]);
    clock.now += KEEP_MS;
    await look([after]);
    expect((await names()).filter(isOfRoom)).toEqual([]);
  });
});

test('the grant of a removed connection is deleted after the retention time; a target with its name remains', async () => {
  const world = await open();
  const { connection, clock, start, look, names, told } = world;
  await withWaitingRoom(world);
  const tenant = start({ connections: [] });
  await look([tenant]);
  const before = (await names()).filter(isOfRoom);
  expect((await told([tenant])).tenants[0]?.removed.map(({ name }) => name)).toEqual(['connection/room']);
  clock.now += KEEP_MS - 1;
  await look([tenant]);
  expect(await connection.exists(keys.credential(tenant.id, 'room'))).toBe(1);
  clock.now += 1;
  await look([tenant]);
  expect(await connection.exists(keys.credential(tenant.id, 'room'))).toBe(0);
  expect(await connection.exists(keys.credential(tenant.id, 'clinic'))).toBe(1);
  expect((await names()).filter(isOfRoom)).toEqual(before);
});

describe('stored data of a tenant that was removed from the configuration', () => {
  async function withTwo() {
    const world = await open();
    const gone = await withWaitingRoom(world);
    await world.connection.hset(keys.tombstones(gone.id), 'hash', 1);
    await world.connection.hset(keys.receipts(gone.id), 'receipt', '{}');
    await world.connection.hset(keys.optOuts(gone.id), 'hash', '{}');
    await world.connection.zadd(reminderKeys.remindersOpen(gone.id), 1, 'reminder');
    await gone.protection.uncertainty();
    const other = world.start({ id: 'studio-bianchi' });
    await cycle(other);
    const isOfGone = (name: string) => name.includes(`{${gone.id}}`);
    const kept = [keys.tombstones, keys.receipts, keys.optOuts, keys.protection].map((key) => key(gone.id)).sort();
    return { ...world, gone, other, isOfGone, kept };
  }

  test('is deleted after the retention time, tokens and encrypted entries included; data that protects patients remains', async () => {
    const { clock, look, names, gone, other, isOfGone, kept, told } = await withTwo();
    await look([other]);
    const before = await names();
    expect((await told([other])).removed).toEqual([
      { name: gone.id, missedAt: clock.now, releaseAt: clock.now + KEEP_MS },
    ]);
    expect(renderStatus(await told([other]))).toContain(`tenant ${gone.id} is no longer configured`);
    clock.now += KEEP_MS - 1;
    await look([other]);
    expect((await names()).filter((name) => !name.includes(':fence:'))).toEqual(
      before.filter((name) => !name.includes(':fence:')),
    );
    clock.now += 1;
    await look([other]);
    expect((await names()).filter(isOfGone)).toEqual(kept);
    expect((await names()).filter((name) => !isOfGone(name))).toEqual(
      before.filter((name) => !isOfGone(name) && name !== keys.removedTenants()),
    );
    expect((await told([other])).removed).toEqual([]);
    await look([other]);
    expect((await told([other])).removed).toEqual([]);
  });

  test('stays while the file of the tenant, or of any other, has faults', async () => {
    const { clock, look, names, gone, other, isOfGone } = await withTwo();
    const before = (await names()).filter(isOfGone);
    await look([other], [gone.id]);
    clock.now += 2 * KEEP_MS;
    await look([other], [gone.id]);
    expect((await names()).filter(isOfGone)).toEqual(before);
    // The broken file may be the one that says what the tenant is called by now.
    await look([other], ['another']);
    clock.now += 2 * KEEP_MS;
    await look([other], ['another']);
    expect((await names()).filter(isOfGone)).toEqual(before);
  });

  test('remains for a renamed tenant if it is read under the previous id', async () => {
    const { connection, clock, look, start, gone, names, isOfGone } = await withTwo();
    const renamed = start({ id: 'studio-verdi', formerly: gone.id });
    await look([renamed]);
    clock.now += KEEP_MS;
    await look([renamed]);
    expect(await connection.exists(keys.pins(gone.id, 'room'), reminderKeys.remindersOpen(gone.id))).toBe(2);
    expect((await names()).filter((name) => isOfGone(name) && /:(outbox|links|credential)/.test(name))).toEqual([]);
  });

  test('still exists when a process restores the tenant in time, although another daemon does not know it', async () => {
    const { clock, look, names, start, gone, other, isOfGone } = await withTwo();
    const before = (await names()).filter(isOfGone);
    for (let days = 0; days < 70; days += 1) {
      await look([other]);
      clock.now += DAY_MS;
      await look([other, gone]);
    }
    await look([other]);
    clock.now += KEEP_MS;
    // Just before the look, by a command.
    await start().configVersion.join();
    await look([other]);
    expect((await names()).filter(isOfGone)).toEqual(before);
  });

  test('remains as far as it still exists if the tenant is restored during the deletion', async () => {
    const { connection, clock, start, gone, removed, names, isOfGone } = await withTwo();
    await removed.recordTenants({ missed: [gone.id], ended: [] }, clock.now);
    const leases = createLeases(connection, gone.id, 60_000);
    const before = (await names()).filter(isOfGone);
    const lease = await leases.take('plan', 1_000, NEVER);
    await start().configVersion.join();
    expect(await removed.releaseTenant(gone.id, new Set(), lease)).toBeNull();
    expect((await names()).filter((name) => isOfGone(name) && name !== lease.key)).toEqual(
      before.filter((name) => name !== keys.configuration(gone.id)),
    );
    // Its number was gone by then, so that it took the lease away.
    await start().configVersion.join();
    await expect(removed.releasePart(gone.id, 'target/room', new Set(), lease)).rejects.toMatchObject({
      code: 'lease-lost',
    });
  });
});

test('each check is recorded, with the number of items of each kind that it deleted', async () => {
  const world = await open();
  const { clock, start, look, upkeep, expiring, connection } = world;
  await withWaitingRoom(world);
  const asked: string[] = [];
  const end = async (tenant: string) => asked.push(tenant);
  expiring.push({ kind: 'approvals', key: 'approvals', end }, { kind: 'replies', key: 'reminder-replies', end });
  const tenant = start({ targets: ['doctor'] });
  await look([tenant]);
  expect(await upkeep.read(null)).toEqual({ check: { at: clock.now, ended: 0 } });
  expect(await upkeep.read(tenant.id)).toEqual({});
  await connection.hset(keys.approvals(tenant.id), 'a', 'b');
  const firstAt = clock.now;
  clock.now += HOUR_MS;
  await look([tenant]);
  expect(asked).toEqual([tenant.id]);
  expect(await upkeep.read(tenant.id)).toEqual({ approvals: { at: clock.now, ended: 1 } });
  await connection.del(keys.approvals(tenant.id));
  clock.now = firstAt + KEEP_MS;
  await look([tenant]);
  const ended = (await upkeep.read(tenant.id)).removed?.ended ?? 0;
  expect(ended).toBeGreaterThan(4);
  expect(await upkeep.read(null)).toEqual({ check: { at: clock.now, ended } });
  await look([]);
  clock.now += KEEP_MS;
  await look([]);
  expect(await upkeep.read(null)).toMatchObject({ removed: { at: clock.now, ended: expect.any(Number) } });
  expect(await connection.exists(keys.upkeep(tenant.id))).toBe(0);
});

test('a kind that cannot be deleted neither ends the check nor prevents other deletions', async () => {
  const { start, look, upkeep, expiring, connection, clock } = await open();
  const tenant = start();
  for (const key of [keys.approvals, reminderKeys.reminderReplies]) await connection.hset(key(tenant.id), 'a', 'b');
  const fail = () => Promise.reject(new Error('damaged'));
  expiring.push(
    { kind: 'approvals', key: 'approvals', end: fail },
    { kind: 'replies', key: 'reminder-replies', end: async () => 3 },
  );
  await look([tenant]);
  expect(await upkeep.read(tenant.id)).toEqual({ replies: { at: clock.now, ended: 3 } });
  expect(await upkeep.read(null)).toEqual({ check: { at: clock.now, ended: 3 } });
});

test('every key is classified: deleted with its target, connection or tenant, or kept', () => {
  const kindOf = (key: string) => key.split(':')[2] as string;
  const shared = new Set([
    'subscription',
    'answer-link',
    'login-link',
    'epoch',
    'writes',
    'removed-tenants',
    'reloads',
    'alerts',
    'audit-log',
    'session',
    'sessions-era',
    'sessions-of',
    'sign-in-link',
    'sign-in-attempts',
    'requests',
    'passphrase',
    'access-tokens',
    'known-accounts',
    'certificates',
    'damaged',
    'daemon-seen',
    'damaged',
    'sessions-of',
    'probe',
    'feed-token',
    'feed-minute',
    'budget',
    'outage',
    'outages',
    'processes',
    'managed-tenants',
    'managed-revisions',
    'a',
  ]);
  const made = Object.values(ALL_KEYS).map((key) => (key as (...ids: string[]) => unknown)('a', 'b', 'c', 'd'));
  const all = made.map((key) => (typeof key === 'string' ? key : String(Object.values(key as object)[0])));
  const kindsOf = (part: string | null | undefined) =>
    [...new Set(all.filter((key) => KEY_OWNERS.of(key)?.part === part).map(kindOf))].sort();
  const forTargets = [
    'target',
    'links',
    'drifted',
    'unseen',
    'unanswered',
    'taken-out',
    'outbox',
    'outbox-due',
    'recent-objects',
  ];
  forTargets.push('outbox-failing', 'restorations', 'pins', 'feed', 'feed-access', 'history');
  const staying = ['tombstones', 'receipts', 'opt-outs', 'opt-in', 'protection', 'lease', 'lease-waiting'];
  expect(kindsOf('target/b')).toEqual(forTargets.sort());
  expect(kindsOf('connection/b')).toEqual(['credential']);
  expect(kindsOf(undefined)).toEqual([...staying, ...shared].sort());
  expect(kindsOf(null)).toHaveLength(
    new Set(all.map(kindOf)).size - forTargets.length - 1 - staying.length - shared.size,
  );
});
