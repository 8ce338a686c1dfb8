import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MirrorError } from '../../src/core/model/errors.ts';
import { HOUR_MS } from '../../src/core/model/time.ts';
import { auditTarget } from '../../src/engine/audit-target.ts';
import { openContainer } from '../../src/engine/lane.ts';
import { acceptLoss } from '../../src/features/backup/backups.ts';
import { decideHold, listHolds } from '../../src/features/holds/holds.ts';
import { planTenant } from '../../src/operator/control/plan.ts';
import { status } from '../../src/operator/control/status.ts';
import { keys } from '../../src/state/keys.ts';
import type { OpenTenant } from '../../src/tenant/tenant.ts';
import { appointmentOf, NOW } from '../domain/arbitraries.ts';
import { openInstallation } from '../operator/control/open-installation.ts';
import { useRedis } from '../support/redis.ts';
import { copyState, goBackTo } from '../support/stored-state.ts';
import { cycle, drain, NEVER, pull, targetOf } from './cycle.ts';
import { createModelClinic } from './model-clinic.ts';
import { createModelTarget } from './model-target.ts';
import { openTenant } from './open-tenant.ts';

const redis = useRedis({ appendOnly: false });
let dataDirectory: string;

beforeEach(async () => {
  dataDirectory = await mkdtemp(join(tmpdir(), 'clinic-mirror-data-'));
});
afterEach(() => rm(dataDirectory, { recursive: true, force: true }));

/** A clinic with six appointments, of one patient each; `5` is blocked time. Each `open` is another process. */
function createWorld(directory: string | null = null) {
  const clinic = createModelClinic();
  const model = createModelTarget();
  for (let index = 0; index < 6; index += 1) {
    const patientId = index === 5 ? null : `p${index}`;
    clinic.appointments.set(`${index}`, appointmentOf(`${index}`, { inHours: index + 1, patientId }));
  }
  const clock = { now: NOW };
  const open = () =>
    openTenant({
      redis: redis.connect(),
      clinic,
      targets: [{ model }],
      clock: () => clock.now,
      dataDirectory: directory,
    });
  const shown = () => model.objects().length;
  return { clinic, model, clock, open, shown };
}

/** The patient is forgotten: no tombstone, no appointment any more. */
async function forget(world: ReturnType<typeof createWorld>, patientId: string): Promise<void> {
  const tenant = world.open();
  await tenant.tombstones.add(patientId, world.clock.now);
  await cycle(tenant);
}

/** Returns what a process knows of a loss, asked as a status asks. */
const lossSeenBy = async ({ protection }: OpenTenant) => {
  await protection.uncertainty({ lookOnly: true });
  return protection.unresolvedLoss();
};

describe('a state that was emptied', () => {
  it('writes no forgotten patient back into a target, reports the loss, and continues after an administrator’s decision', async () => {
    const world = createWorld();
    await cycle(world.open());
    expect(world.shown()).toBe(6);
    await forget(world, 'p2');
    expect(world.shown()).toBe(5);
    await redis.connect().flushall();
    world.clock.now += HOUR_MS / 2;
    world.clinic.appointments.set('new', appointmentOf('new', { inHours: 30, patientId: 'p9' }));
    world.clinic.appointments.set('block', appointmentOf('block', { inHours: 31, patientId: null }));
    const tenant = world.open();
    const run = await cycle(tenant);
    // Blocked time contains no patient data, so its writes continue.
    expect(run.targets[0]).toMatchObject({ planned: { new: 1 }, held: 2 });
    expect(world.shown()).toBe(6);
    const installation = openInstallation({ tenants: [tenant] });
    const [seen] = (await status(installation)).tenants;
    expect(seen?.uncertainty).toMatchObject({ code: 'state-lost' });
    expect(seen?.targets[0]).toMatchObject({ reason: 'on-hold', held: 2 });
    const [hold] = await listHolds(installation);
    expect(hold).toMatchObject({ kind: 'people', state: 'open' });
    // Not with the next process either.
    await cycle(world.open());
    expect(world.shown()).toBe(6);
    await tenant.tombstones.add('p2', world.clock.now);
    expect(await acceptLoss(installation, tenant.id)).toMatchObject({ changed: true });
    await cycle(tenant);
    expect(world.shown()).toBe(7);
    expect((await listHolds(installation)).filter(({ state }) => state === 'open')).toEqual([]);
    expect((await status(installation)).tenants[0]).toMatchObject({
      uncertainty: null,
      targets: [{ sync: 'in-sync' }],
    });
  });

  it('is decided for the whole tenant by approving the hold', async () => {
    const world = createWorld();
    await cycle(world.open());
    await redis.connect().flushall();
    world.clinic.appointments.set('new', appointmentOf('new', { inHours: 30 }));
    const tenant = world.open();
    await cycle(tenant);
    const installation = openInstallation({ tenants: [tenant] });
    const [hold] = await listHolds(installation);
    await decideHold(installation, { tenant: tenant.id, hold: hold?.id ?? '', decision: 'approved' });
    expect(await tenant.protection.uncertainty()).toBeNull();
    await cycle(tenant);
    expect(world.shown()).toBe(7);
  });

  it('removes an event without marks whose appointment was cancelled meanwhile, and writes none twice', async () => {
    const world = createWorld(dataDirectory);
    await cycle(world.open());
    for (const object of world.model.objects()) object.unmarked = true;
    await redis.connect().flushall();
    world.clinic.appointments.set('3', { ...appointmentOf('3', { inHours: 4, patientId: 'p3' }), status: 'cancelled' });
    const tenant = world.open();
    await cycle(tenant);
    const installation = openInstallation({ tenants: [tenant] });
    for (const { id, state } of await listHolds(installation))
      if (state === 'open') await decideHold(installation, { tenant: tenant.id, hold: id, decision: 'approved' });
    await cycle(tenant);
    expect(world.shown()).toBe(5);
    expect((await status(installation)).tenants[0]).toMatchObject({ targets: [{ sync: 'in-sync' }] });
  });

  it('has its tombstones again at once where a data directory kept them', async () => {
    const world = createWorld(dataDirectory);
    await cycle(world.open());
    await forget(world, 'p2');
    await redis.connect().flushall();
    world.clinic.appointments.set('new', appointmentOf('new', { inHours: 30, patientId: 'p9' }));
    const tenant = world.open();
    const run = await cycle(tenant);
    expect(run.targets[0]).toMatchObject({ planned: { new: 1 }, held: 0 });
    expect(world.shown()).toBe(6);
    expect((await tenant.tombstones.load())('p2')).toBe(true);
  });

  it('explains missing logins until a complete cycle, or until an administrator accepts the loss', async () => {
    const world = createWorld(dataDirectory);
    await cycle(world.open());
    await redis.connect().flushall();
    const [tenant, other] = [world.open(), world.open()];
    expect(await lossSeenBy(tenant)).toMatchObject({ code: 'state-lost' });
    expect(await lossSeenBy(other)).toMatchObject({ code: 'state-lost' });
    world.clock.now += 1;
    await cycle(tenant);
    expect(await lossSeenBy(other)).toBeNull();
    await redis.connect().flushall();
    expect(await lossSeenBy(tenant)).toMatchObject({ code: 'state-lost' });
    await acceptLoss(openInstallation({ tenants: [tenant] }), tenant.id);
    expect(await lossSeenBy(tenant)).toBeNull();
  });

  it('explains missing logins after the end of a cycle that read the clinic before the loss', async () => {
    const world = createWorld(dataDirectory);
    const tenant = world.open();
    await cycle(tenant);
    const { readAppointments } = world.clinic;
    world.clinic.readAppointments = async (...question) => {
      const answer = await readAppointments(...question);
      await redis.connect().flushall();
      world.clock.now += 1;
      return answer;
    };
    await cycle(tenant).catch(() => {});
    world.clock.now += 1;
    expect(await lossSeenBy(world.open())).toMatchObject({ code: 'state-lost' });
    world.clinic.readAppointments = readAppointments;
    await cycle(tenant);
    expect(await lossSeenBy(world.open())).toBeNull();
  });

  it('is no foreign writer’s change when another process found the loss first', async () => {
    const world = createWorld(dataDirectory);
    const [tenant, other] = [world.open(), world.open()];
    await cycle(tenant);
    for (const patient of ['p1', 'p2', 'p3']) await tenant.tombstones.add(patient, world.clock.now);
    expect(await lossSeenBy(tenant)).toBeNull();
    await redis.connect().flushall();
    world.clock.now += 1;
    expect(await lossSeenBy(other)).toMatchObject({ code: 'state-lost' });
    world.clock.now += 1;
    expect(await lossSeenBy(tenant)).toMatchObject({ code: 'state-lost' });
    expect(await lossSeenBy(world.open())).toMatchObject({ code: 'state-lost' });
  });

  it('explains missing logins before the first cycle has copied anything to the data directory', async () => {
    const world = createWorld(dataDirectory);
    await world.open().protection.recordWriting();
    const tenant = world.open();
    await tenant.protection.uncertainty();
    await tenant.tombstones.add('p2', world.clock.now);
    await redis.connect().flushall();
    world.clock.now += 1;
    expect(await lossSeenBy(world.open())).not.toBeNull();
  });

  it('keeps a tombstone that cannot be removed from the data directory either', async () => {
    const world = createWorld(dataDirectory);
    const tenant = world.open();
    await tenant.tombstones.add('p2', world.clock.now);
    await tenant.protection.copyOut();
    await rm(join(dataDirectory, 'safeguards.log'));
    await mkdir(join(dataDirectory, 'safeguards.log'));
    await expect(tenant.tombstones.remove('p2')).rejects.toMatchObject({
      ...{ code: 'data-directory-unusable', actor: 'settings' },
      message: expect.stringContaining(dataDirectory),
    });
    expect((await tenant.tombstones.load())('p2')).toBe(true);
    await rm(join(dataDirectory, 'safeguards.log'), { recursive: true });
    expect(await tenant.tombstones.remove('p2')).toBe(true);
  });

  it('is reported by the process that ran meanwhile, although another one checked first', async () => {
    const world = createWorld();
    const ran = world.open();
    await cycle(ran);
    await redis.connect().flushall();
    const looked = world.open();
    expect(await looked.protection.uncertainty({ lookOnly: true })).toBeNull();
    expect((await status(openInstallation({ tenants: [looked] }))).tenants[0]?.uncertainty).toBeNull();
    expect(await ran.protection.uncertainty()).toMatchObject({ code: 'state-lost' });
    expect(await looked.protection.uncertainty({ lookOnly: true })).toMatchObject({ code: 'state-lost' });
  });

  it('is planned with the events that the calendar of the settings still has, and nothing is written', async () => {
    const world = createWorld();
    await cycle(world.open());
    await redis.connect().flushall();
    const tenant = world.open();
    const { operations } = world.model.calls;
    const plan = await planTenant(openInstallation({ tenants: [tenant] }), tenant.id, () => {}, NEVER);
    expect(plan.targets).toMatchObject([{ target: 'doctor', lines: [], unchanged: 6 }]);
    expect(world.model.calls.operations).toBe(operations);
    expect(await tenant.links.count('doctor')).toBe(0);
  });

  it('no loss is recorded for a tenant that was only read', async () => {
    const tenant = createWorld(dataDirectory).open();
    expect(await tenant.protection.uncertainty({ lookOnly: true })).toBeNull();
    expect((await redis.connect().keys('*')).filter((key) => key.endsWith(':protection'))).toEqual([]);
    expect(await tenant.protection.uncertainty({ lookOnly: true })).toBeNull();
  });

  it('a new installation is not held, nor is a tenant or a target that is added later', async () => {
    const world = createWorld(dataDirectory);
    const run = await cycle(world.open());
    expect(run.targets[0]).toMatchObject({ planned: { new: 6 }, held: 0 });
    const tenant = openTenant({
      redis: redis.connect(),
      clinic: world.clinic,
      targets: [{ model: world.model }, { id: 'room', model: createModelTarget() }],
      clock: () => world.clock.now,
      dataDirectory,
    });
    expect((await cycle(tenant)).targets).toMatchObject([{ held: 0 }, { planned: { new: 6 }, held: 0 }]);
  });

  it('pending writes of a restored older state remain until the forgotten patients are known', async () => {
    const world = createWorld();
    const connection = redis.connect();
    const tenant = world.open();
    await cycle(tenant);
    world.clinic.appointments.set('new', appointmentOf('new', { inHours: 30, patientId: 'p9' }));
    await pull(tenant);
    const before = await copyState(connection);
    world.clock.now += HOUR_MS / 60;
    await tenant.tombstones.add('p9', world.clock.now);
    await goBackTo(connection, before);
    expect((await tenant.outbox.counts('doctor')).pending).toBe(1);
    await drain(tenant, targetOf(tenant));
    expect(world.shown()).toBe(6);
    expect((await cycle(tenant)).targets[0]).toMatchObject({ held: 1 });
    expect(world.shown()).toBe(6);
    expect((await tenant.outbox.counts('doctor')).pending).toBe(0);
  });
});

/** Removes the proof from a target's record, as a user with write access to Redis can. */
async function unprove(target: string): Promise<void> {
  await redis.connect().hdel(keys.target('studio-rossi', target), 'proof');
}

describe('a record of a target that is not proved, while its links survived', () => {
  it('creates no second calendar if the first one is not found by its owner tag, and continues once it is found', async () => {
    const world = createWorld();
    await cycle(world.open());
    await unprove('doctor');
    const tenant = world.open();
    const { connector } = targetOf(tenant);
    const { prepare } = connector;
    connector.prepare = async (stored, choice, signal) =>
      choice.creates ? await prepare(stored, choice, signal) : null;
    const before = world.model.calls.prepare;
    await pull(tenant);
    expect((await tenant.targetStore.read('doctor')).failure).toMatchObject({
      ...{ code: 'calendar-not-found', actor: 'settings' },
      remedy: expect.stringContaining('tenant file'),
    });
    await expect(openContainer(tenant, targetOf(tenant), {} as never, NEVER)).rejects.toMatchObject({
      code: 'calendar-not-found',
    });
    expect(world.model.calls.prepare).toBe(before);
    connector.prepare = prepare;
    world.clinic.appointments.set('new', appointmentOf('new', { inHours: 30 }));
    world.clock.now += HOUR_MS;
    await cycle(tenant);
    expect(await tenant.targetStore.read('doctor')).toMatchObject({ container: 'calendar-1', failure: null });
    expect(world.shown()).toBe(7);
  });

  it('reports no lost state, although another target was never read', async () => {
    const world = createWorld();
    const away = createModelTarget();
    away.wholeTargetError = new MirrorError('away', { actor: 'remote', code: 'server-error', retry: 'later' });
    const targets = [{ model: world.model }, { id: 'room', model: away }];
    const open = () => openTenant({ redis: redis.connect(), clinic: world.clinic, targets, clock: () => NOW });
    await cycle(open());
    await unprove('doctor');
    const tenant = open();
    await cycle(tenant);
    expect(await tenant.targetStore.read('doctor')).toMatchObject({ container: 'calendar-1', adopted: 6 });
    expect(await tenant.protection.uncertainty()).toBeNull();
  });
});

describe('a link that does not prove where its object is', () => {
  /** The object of `0` has its second key, and its link has no proof. */
  async function createUnplaced() {
    const world = createWorld();
    world.model.burnsKeys = true;
    const tenant = world.open();
    await cycle(tenant);
    const patientId = 'p0';
    world.clinic.appointments.set('0', appointmentOf('0', { status: 'cancelled', inHours: 1, patientId }));
    await cycle(tenant);
    world.clinic.appointments.set('0', appointmentOf('0', { inHours: 1, patientId }));
    await cycle(tenant);
    expect(world.model.objects().map(({ key }) => key)).toContain(targetOf(tenant).identity.key('0', 1));
    const unplace = async () => {
      const bucket = keys.linksBucket('studio-rossi', 'doctor', 0, 0);
      const fields = ((await redis.connect().hget(bucket, '0')) ?? '').split('\t');
      await redis.connect().hset(bucket, '0', fields.with(4, '').join('\t'));
    };
    const cancel = () =>
      world.clinic.appointments.set('0', appointmentOf('0', { status: 'cancelled', inHours: 1, patientId }));
    return { ...world, tenant, cancel, unplace };
  }

  it('has the target read, so that the object goes with its appointment', async () => {
    const world = await createUnplaced();
    await world.unplace();
    world.cancel();
    await cycle(world.open());
    expect(world.shown()).toBe(5);
    expect(await world.tenant.links.count('doctor')).toBe(5);
  });

  it('blocks pending writes until then', async () => {
    const world = await createUnplaced();
    world.cancel();
    await pull(world.tenant);
    await world.unplace();
    const { operations } = world.model.calls;
    await drain(world.tenant, targetOf(world.tenant));
    expect(world.model.calls.operations).toBe(operations);
    world.clock.now += HOUR_MS / 60;
    await cycle(world.open());
    expect(world.shown()).toBe(5);
  });

  it('is not mistaken by a change feed for a link whose object a user removed', async () => {
    const world = await createUnplaced();
    await cycle(world.tenant);
    await auditTarget(world.tenant, targetOf(world.tenant), NEVER, { whole: true });
    await world.unplace();
    expect(await auditTarget(world.open(), targetOf(world.open()), NEVER)).toBeNull();
    const tenant = world.open();
    await cycle(tenant);
    expect(await auditTarget(tenant, targetOf(tenant), NEVER)).toMatchObject({ edited: 0, removed: 0 });
    expect(world.shown()).toBe(6);
  });
});
