import fc from 'fast-check';
import { expect } from 'vitest';
import type { CalendarItem } from '../../src/core/model/items.ts';
import { HOUR_MS } from '../../src/core/model/time.ts';
import { appointmentOf } from '../domain/arbitraries.ts';
import type { TestRedis } from '../support/redis.ts';
import { cycle, targetOf, twoCycles } from './cycle.ts';
import type { ModelObject } from './model-target.ts';
import {
  auditOf,
  type CalendarWorld,
  editByHand,
  objectIn,
  objectOf,
  openDriftWorld,
  type Policy,
  removeByHand,
  shownBy,
  wantedOf,
} from './world.ts';

/** The process dies before the given fields of the target's record are written. */
export async function dyingBefore({ tenant }: CalendarWorld, field: 'drift' | 'cursor', work: () => Promise<unknown>) {
  const { write } = tenant.targetStore;
  tenant.targetStore.write = async (target, fields) => {
    if (field in fields) throw new Error('the process was killed');
    // What a dead process cannot do any more.
    if (!('failure' in fields)) await write(target, fields);
  };
  await work();
  tenant.targetStore.write = write;
}

const IDS = ['0', '1', '2'];
const PEOPLE = ['retitle', 'move', 'remove', 'unmark', 'untrash', 'put back'] as const;
const CLINIC = ['cancel', 'rebook', 'rebook back', 'erase'] as const;
const DAEMON = [
  'audit',
  'whole audit',
  'cycle',
  'cursor lost',
  'crash before findings',
  'crash before cursor',
] as const;
const acts = fc.record({ id: fc.constantFrom(...IDS), act: fc.constantFrom(...PEOPLE, ...CLINIC, ...DAEMON, 'wait') });

/** Expected object of each record without restoration: as a user left it, or as last written. */
class Expectation {
  readonly world: CalendarWorld;
  readonly byHand = new Map<string, string | null>();
  readonly written = new Map<string, string | null>();
  readonly trash = new Map<string, ModelObject>();

  constructor(world: CalendarWorld) {
    this.world = world;
    this.noteCycle();
  }

  /** A user's change is recorded if the object differs from the written one. */
  noteHand(id: string): void {
    const object = objectIn(this.world, id);
    const now = object === undefined ? null : JSON.stringify(object.item);
    if (now === this.written.get(id)) this.byHand.delete(id);
    else this.byHand.set(id, now);
  }

  /** A cycle writes changes of the clinic, regardless of user edits. */
  noteCycle(): void {
    for (const id of IDS) {
      const wanted = wantedOf(this.world, id);
      if (wanted !== (this.written.get(id) ?? null)) this.byHand.delete(id);
      this.written.set(id, wanted);
    }
  }

  shown(): string[] {
    return IDS.map((id) => (this.byHand.has(id) ? this.byHand.get(id) : this.written.get(id)))
      .filter((item) => item != null)
      .sort();
  }
}

async function take(world: CalendarWorld, expected: Expectation, id: string, act: string): Promise<void> {
  const { clinic, tenant, model } = world;
  const isThere = objectIn(world, id) !== undefined;
  if (act === 'wait') world.clock.now += 7 * HOUR_MS;
  if (act === 'cancel') clinic.appointments.set(id, appointmentOf(id, { status: 'cancelled' }));
  if (act === 'rebook') clinic.appointments.set(id, appointmentOf(id, { inHours: 300 + Number(id) }));
  if (act === 'rebook back') clinic.appointments.set(id, appointmentOf(id, { inHours: 24 + Number(id) }));
  if (act === 'erase') clinic.appointments.delete(id);
  if (act === 'cursor lost') model.expireCursors();
  if (act === 'audit' || act === 'whole audit') await auditOf(tenant, { whole: act === 'whole audit' });
  if (act === 'crash before findings') await dyingBefore(world, 'drift', () => auditOf(tenant));
  if (act === 'crash before cursor') await dyingBefore(world, 'cursor', () => auditOf(tenant));
  if (act === 'cycle') {
    await twoCycles(tenant);
    expected.noteCycle();
  }
  if (act === 'retitle' && isThere) editByHand(world, id, { title: 'Lunch' });
  const time = { kind: 'all-day', startDate: '2026-06-20', endDate: '2026-06-21' } as const;
  if (act === 'move' && isThere) editByHand(world, id, { time });
  // Under other policies the object keeps no drift, which no user can see.
  const isRepaired = targetOf(tenant).configuration.audit.drift === 'repair';
  if (act === 'unmark' && isThere && isRepaired) Object.assign(objectOf(world, id), { sealedRecordId: null });
  if (act === 'remove' && isThere) expected.trash.set(id, removeByHand(world, id));
  const written = expected.written.get(id);
  if (act === 'put back' && isThere && written != null) editByHand(world, id, JSON.parse(written) as CalendarItem);
  const trashed = expected.trash.get(id);
  if (act === 'untrash' && trashed !== undefined && !isThere && written != null) {
    trashed.deleted = false;
    trashed.version += 1;
  }
  if ((PEOPLE as readonly string[]).includes(act)) expected.noteHand(id);
}

/** Checks that one whole audit and one cycle lead to what the policy promises, whatever people, the clinic, the feed and crashes do. */
export async function tryDriftHistories(redis: TestRedis, policy: Policy, numRuns: number): Promise<void> {
  const limits = { share: 1, count: 1_000 };
  const guard = { vanished: limits, cancelled: limits, holdExpiresAfterHours: 1 };
  await fc.assert(
    fc.asyncProperty(fc.array(acts, { maxLength: 18 }), async (history) => {
      const connection = redis.connect();
      await connection.flushall();
      const audits = { drift: policy, rewritesPerDay: 1_000, changesEverySeconds: 300 } as const;
      const world = openDriftWorld(connection, IDS.length, policy, { guard, audit: audits });
      await cycle(world.tenant);
      const expected = new Expectation(world);
      for (const { id, act } of history) await take(world, expected, id, act);
      await auditOf(world.tenant, { whole: true });
      await twoCycles(world.tenant);
      expected.noteCycle();
      const wanted = IDS.map((id) => wantedOf(world, id)).filter((item) => item !== null);
      expect(shownBy(world)).toEqual(policy === 'repair' ? wanted.sort() : expected.shown());
      const { edited = 0, removed = 0 } = (await auditOf(world.tenant)) ?? {};
      expect(edited + removed).toBe(policy === 'repair' ? 0 : expected.byHand.size);
      expect(await world.tenant.links.drifted('doctor')).toHaveLength(edited + removed);
    }),
    { numRuns },
  );
}
