import fc from 'fast-check';
import { expect } from 'vitest';
import type { AppointmentStatus } from '../../src/core/model/records.ts';
import { HOUR_MS } from '../../src/core/model/time.ts';
import type { RedisClient } from '../../src/state/redis.ts';
import type { OpenTenant } from '../../src/tenant/tenant.ts';
import { appointmentOf, NOW } from '../domain/arbitraries.ts';
import type { TestRedis } from '../support/redis.ts';
import { drain, pull } from './cycle.ts';
import { createModelClinic, type ModelClinic } from './model-clinic.ts';
import { createModelTarget } from './model-target.ts';
import { openTenant } from './open-tenant.ts';

const STATUSES: AppointmentStatus[] = ['booked', 'confirmed', 'cancelled'];
const TREATMENTS = ['t1'];
/** Records in the wider window and outside the narrower one are listed too. */
const WIDER = { pastDays: 2, futureDays: 5 };
const NARROWER = { pastDays: 1, futureDays: 3 };
export const AGENDAS = { doctor: ['a1'], assistant: ['a2'], clinic: 'all' } as const;

/** Memory of a process about the previous fetch: its appointments, their names, or nothing, as in a new process. */
type Remembers = 'appointments' | 'names' | 'nothing';

/** One tenant in one process, or in another one for every cycle. */
interface World {
  models: Record<keyof typeof AGENDAS, ReturnType<typeof createModelTarget>>;
  tenant(): OpenTenant;
}

interface Shared {
  connection: RedisClient;
  clinic: ModelClinic;
  now: number;
}

export function worldOf(shared: Shared, id: string, remembers: Remembers): World {
  const models = { doctor: createModelTarget(), assistant: createModelTarget(), clinic: createModelTarget() };
  const targets = Object.entries(AGENDAS).map(([target, agendas]) => ({
    id: target,
    model: models[target as keyof typeof AGENDAS],
    configuration: {
      agendas,
      treatments: target === 'clinic' ? TREATMENTS : ('all' as const),
      window: target === 'doctor' ? NARROWER : WIDER,
    },
  }));
  const { connection, clinic } = shared;
  const open = () => openTenant({ redis: connection, clinic, id, targets, clock: () => shared.now });
  const kept = open();
  return {
    models,
    tenant() {
      if (remembers === 'nothing') return open();
      if (remembers === 'names') kept.memory.appointments.invalidate();
      return kept;
    },
  };
}

export async function openShared(redis: TestRedis): Promise<Shared> {
  const connection = redis.connect();
  await connection.flushall();
  return { connection, clinic: createModelClinic(), now: NOW };
}

type Change =
  | { do: 'book'; id: string; inHours: number; agendaId: string; status: AppointmentStatus; treatmentId: string | null }
  | { do: 'erase' | 'hide'; id: string }
  | { do: 'pin' | 'unpin' | 'touch'; id: string; target: keyof typeof AGENDAS }
  | { do: 'forget' | 'remember' }
  | { do: 'break-off'; after: number | null }
  | { do: 'pull' | 'push' };

/** What happens, and how many hours pass from cycle to cycle after it. */
interface Round {
  changes: Change[];
  /** Whether it is all written before the hours pass. */
  isWritten: boolean;
  waits: number[];
}

const ids = fc.nat(5).map(String);
const targets = fc.constantFrom(...(Object.keys(AGENDAS) as (keyof typeof AGENDAS)[]));
const bookings = fc.record({
  do: fc.constant('book' as const),
  id: ids,
  inHours: fc.integer({ min: -50, max: 120 }),
  agendaId: fc.constantFrom('a1', 'a1', 'a2'),
  status: fc.constantFrom('booked' as const, ...STATUSES),
  treatmentId: fc.constantFrom(null, 't1', 't1'),
});
const changes: fc.Arbitrary<Change> = fc.oneof(
  { weight: 5, arbitrary: bookings },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('erase' as const, 'hide' as const), id: ids }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom('pin' as const, 'unpin' as const, 'touch' as const),
      id: ids,
      target: targets,
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('forget' as const, 'remember' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('break-off' as const), after: fc.option(fc.nat(4)) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('pull' as const, 'push' as const) }) },
);
const rounds: fc.Arbitrary<Round> = fc.record({
  changes: fc.array(changes, { maxLength: 3 }),
  isWritten: fc.oneof({ weight: 4, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
  waits: fc.array(fc.oneof(fc.integer({ min: -2, max: 3 }), fc.nat(30)), { minLength: 1, maxLength: 4 }),
});

/** Report and notes of a cycle, without its ID. */
async function told(tenant: OpenTenant) {
  const { id: _, ...run } = await pull(tenant);
  const looks = await tenant.targetStore.summarize(Object.keys(AGENDAS));
  return { run, looks: [...looks].map(([id, { record, pending }]) => ({ id, record, pending })) };
}

async function play(shared: Shared, worlds: readonly World[], { changes, isWritten, waits }: Round): Promise<void> {
  const written: Change[] = [{ do: 'pull' }, { do: 'push' }, { do: 'pull' }, { do: 'push' }, { do: 'pull' }];
  for (const change of [...changes, ...(isWritten ? written : [])]) await happen(shared, worlds, change);
  for (const hours of waits) {
    shared.now += hours * HOUR_MS;
    await happen(shared, worlds, { do: 'pull' });
  }
}

async function happen(shared: Shared, worlds: readonly World[], change: Change): Promise<void> {
  const { clinic } = shared;
  switch (change.do) {
    case 'book': {
      const { do: _, id, ...content } = change;
      clinic.appointments.set(id, appointmentOf(id, content));
      return;
    }
    case 'erase':
      return void clinic.appointments.delete(change.id);
    case 'hide':
      return void (clinic.unusable.delete(change.id) || clinic.unusable.add(change.id));
    case 'break-off':
      clinic.truncatedAfter = change.after;
      return;
    case 'pull': {
      const [one, ...others] = await Promise.all(worlds.map((world) => told(world.tenant())));
      for (const other of others) expect(other).toEqual(one);
      return;
    }
  }
  for (const world of worlds) await inOne(shared, world.tenant(), change);
}

export async function inOne({ now }: Shared, tenant: OpenTenant, step: Change): Promise<void> {
  switch (step.do) {
    case 'pin':
      return tenant.journal.pin(step.target, [step.id], now + 100 * HOUR_MS);
    case 'unpin':
      return tenant.journal.unpin(step.target, [step.id]);
    case 'touch': {
      const link = (await tenant.links.read(step.target)).get(step.id);
      const lease = await tenant.leases.tryTake('plan');
      if (link !== undefined && lease !== null) {
        await tenant.links.writeAll(step.target, [{ ...link, drift: 'removed' }], lease);
      }
      return lease?.release();
    }
    case 'forget':
      return void (await tenant.tombstones.add('p1', now));
    case 'remember':
      return void (await tenant.tombstones.remove('p1'));
    case 'push':
      for (const target of tenant.targets.values()) await drain(tenant, target);
  }
}

const LAST: Round = { changes: [], isWritten: true, waits: [1] };

/** Checks that a process that remembers plans as one that does not. */
export async function trySettledHistories(redis: TestRedis, numRuns: number): Promise<void> {
  await fc.assert(
    fc.asyncProperty(fc.array(rounds, { minLength: 2, maxLength: 6 }), async (history) => {
      const shared = await openShared(redis);
      const worlds = (['nothing', 'names', 'appointments'] as const).map((what) =>
        worldOf(shared, `keeps-${what}`, what),
      );
      for (const round of [...history, LAST]) await play(shared, worlds, round);
      const [one, ...others] = worlds.map(({ models }) =>
        Object.values(models).map((model) => model.objects().map(({ item }) => item)),
      );
      for (const other of others) expect(other).toEqual(one);
    }),
    { numRuns },
  );
}
