import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { CalendarItem } from '../../src/core/model/items.ts';
import type { Link } from '../../src/core/model/operations.ts';
import { atOnce } from '../../src/core/model/pieces.ts';
import type { PendingChange } from '../../src/core/model/plan.ts';
import type { Appointment } from '../../src/core/model/records.ts';
import { DAY_MS, HOUR_MS, type TimeSpan } from '../../src/core/model/time.ts';
import { CALENDAR_FORM } from '../../src/domain/item-forms.ts';
import { describeAppointment } from '../../src/domain/mapping-sources.ts';
import { project } from '../../src/domain/project.ts';
import { absentCandidates, type Diff, diff, outlying } from '../../src/engine/diff.ts';
import { createTargetIdentity } from '../../src/engine/identity.ts';
import { appointmentOf, EMPTY_DIRECTORY, NOTHING_MORE, NOW } from '../domain/arbitraries.ts';

/** PLANS=10000 looks longer. */
const RUNS = Number(process.env.PLANS ?? 400);
const PAST_MS = 7 * DAY_MS;
const FUTURE_MS = 30 * DAY_MS;
const identity = createTargetIdentity(Buffer.alloc(32, 7), 'studio-rossi', 'doctor', CALENDAR_FORM);

/** Outcome of an operation: done with an answer, done without an answer, or not done. */
type Fate = 'done' | 'lost' | 'failed';

type Step =
  | { do: 'book'; id: string; inHours: number; lasts: number; status: 'booked' | 'cancelled'; agendaId: string }
  | { do: 'erase'; id: string }
  | { do: 'wait'; hours: number }
  | { do: 'pause'; paused: boolean }
  /** `seen`: rows of the list; null for all rows. `crash`: the plan is made, but not written. */
  | { do: 'plan'; seen: number | null; unanswered: string[]; crash: boolean }
  /** `crash`: the process dies after so many operations. */
  | { do: 'push'; fates: Fate[]; crash: number }
  /** A plan and all of its writes, without failure. */
  | { do: 'cycle' }
  | { do: 'lose-links' };

const ids = fc.nat(3).map(String);
const bookings = fc.record({
  do: fc.constant('book' as const),
  id: ids,
  inHours: fc.oneof(
    fc.integer({ min: -40 * 24, max: 100 * 24 }),
    fc.integer({ min: -30, max: 90 }),
    fc.integer({ min: 29 * 24, max: 40 * 24 }),
  ),
  // Blocks of up to two months lie over both edges of the window at once.
  lasts: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 60 * 24 }), fc.constant(0)),
  status: fc.constantFrom('booked' as const, 'booked' as const, 'cancelled' as const),
  agendaId: fc.constantFrom('a1', 'a1', 'a2'),
});
const steps: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: bookings },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('erase' as const), id: ids }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('wait' as const),
      hours: fc.oneof(fc.integer({ min: 1, max: 48 }), fc.integer({ min: 1, max: 40 * 24 })),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('pause' as const), paused: fc.boolean() }) },
  {
    weight: 7,
    arbitrary: fc.record({
      do: fc.constant('plan' as const),
      seen: fc.option(fc.nat(4), { freq: 3 }),
      unanswered: fc.array(ids, { maxLength: 2 }),
      crash: fc.boolean(),
    }),
  },
  {
    weight: 7,
    arbitrary: fc.record({
      do: fc.constant('push' as const),
      fates: fc.array(fc.constantFrom<Fate>('done', 'done', 'lost', 'failed'), { minLength: 1, maxLength: 5 }),
      crash: fc.oneof(fc.constant(99), fc.nat(4)),
    }),
  },
  { weight: 7, arbitrary: fc.constant({ do: 'cycle' } as const) },
  { weight: 1, arbitrary: fc.constant({ do: 'lose-links' } as const) },
);

interface StoredObject extends TimeSpan {
  item: CalendarItem;
  fingerprint: string;
}

/** A clinic, a target that enforces keys, and the stored state of both. */
interface World {
  now: number;
  paused: boolean;
  clinic: Map<string, Appointment>;
  objects: Map<string, StoredObject>;
  links: Map<string, Link>;
  pending: Map<string, PendingChange & { item: CalendarItem | null }>;
  /** Records missed once by a complete list and by an individual fetch. */
  missed: Set<string>;
}

function newWorld(): World {
  return {
    now: NOW,
    paused: false,
    clinic: new Map(),
    objects: new Map(),
    links: new Map(),
    pending: new Map(),
    missed: new Set(),
  };
}

/** Told here in other words than in what is tested. A moment is a millisecond long. */
function isOver({ startAt, endAt }: TimeSpan, { now }: World): boolean {
  return startAt < now - PAST_MS && endAt <= now - PAST_MS;
}
function isListed(span: TimeSpan, world: World): boolean {
  return !isOver(span, world) && span.startAt < world.now + FUTURE_MS;
}

const windowOf = ({ now }: World) => ({ fromAt: now - PAST_MS, toAt: now + FUTURE_MS });

function itemOf(appointment: Appointment): CalendarItem | null {
  if (appointment.agendaId !== 'a1' || appointment.status === 'cancelled') return null;
  const policy = {
    ...NOTHING_MORE,
    presets: [],
    title: 'code',
    fields: ['status'],
    statuses: ['booked'],
    free: [],
    language: 'en',
    zone: 'Europe/Rome',
  } as const;
  return project(appointment, policy, EMPTY_DIRECTORY, () => identity.key(appointment.id, 0));
}

/** Returns one scan of the clinic. */
function survey(world: World, seen: number | null, unanswered: ReadonlySet<string>) {
  const window = windowOf(world);
  const listed = [...world.clinic.values()].filter(({ time }) => isListed(time, world));
  const records = new Map(listed.slice(0, seen ?? listed.length).map((one) => [one.id, one]));
  const isWhole = seen === null || seen >= listed.length;
  const state = { links: world.links, pending: world.pending };
  const missing = isWhole ? absentCandidates(state, window, (id) => records.has(id)) : [];
  const vanished = new Set<string>();
  const missed = new Set<string>();
  for (const id of new Set([...missing, ...outlying(state, window)])) {
    if (unanswered.has(id)) continue;
    const found = world.clinic.get(id);
    if (found !== undefined) records.set(id, found);
    else if (world.missed.has(id)) vanished.add(id);
    else missed.add(id);
  }
  return { records: [...records.values()], vanished, missed, isWhole };
}

function compare(world: World, { records, vanished }: ReturnType<typeof survey>): Diff & { stopped: string[] } {
  const stopped: string[] = [];
  const work = diff({
    records,
    describe: describeAppointment,
    tombstones: [],
    vanished,
    window: windowOf(world),
    rule(appointment) {
      const item = itemOf(appointment);
      return item === null ? { exclude: 'status' } : { item };
    },
    onStopped: (id) => stopped.push(id),
    restores: () => true,
    identity,
    state: { links: world.links, pending: world.pending },
  });
  return { ...atOnce(work), stopped };
}

function plan(world: World, { seen, unanswered, crash }: Extract<Step, { do: 'plan' }>): Diff {
  const shown = survey(world, seen, new Set(unanswered));
  const found = compare(world, shown);
  for (const { recordId, wanted } of found.changes) {
    if (wanted.want === 'present') continue;
    const record = world.clinic.get(recordId);
    const isProved = record === undefined ? shown.vanished.has(recordId) : itemOf(record) === null;
    expect(isProved, `${recordId} is deleted without proof`).toBe(true);
  }
  for (const id of found.released) {
    expect(isOver(world.links.get(id)!, world), `${id} is released before it left the window`).toBe(true);
  }
  if (crash) return found;
  write(world, found);
  for (const id of shown.missed) world.missed.add(id);
  for (const { id } of shown.records) world.missed.delete(id);
  const again = compare(world, shown);
  expect({ changes: again.changes, released: again.released }, 'the second plan of the same').toEqual({
    changes: [],
    released: [],
  });
  return found;
}

function write(world: World, { changes, released, timed, stopped }: ReturnType<typeof compare>): void {
  for (const id of released) world.links.delete(id);
  for (const { recordId, startAt, endAt } of timed) {
    world.links.set(recordId, { ...world.links.get(recordId)!, startAt, endAt });
  }
  for (const id of stopped) world.pending.delete(id);
  for (const { recordId, reason, wanted } of changes) {
    world.pending.set(recordId, {
      recordId,
      reason,
      want: wanted.want,
      item: wanted.want === 'present' ? (wanted.item as CalendarItem) : null,
      fingerprint: wanted.want === 'present' ? wanted.fingerprint : null,
      startAt: wanted.startAt,
      endAt: wanted.endAt,
      attempts: 0,
      lastError: null,
      sent: world.pending.get(recordId)?.sent ?? false,
      parked: false,
      enqueuedAt: world.now,
      dueAt: world.now,
    });
  }
}

function push(world: World, { fates, crash }: Extract<Step, { do: 'push' }>): void {
  for (const [index, entry] of [...world.pending.values()].entries()) {
    if (index >= crash) return;
    const { recordId, item, fingerprint, startAt, endAt } = entry;
    const fate = fates[index % fates.length]!;
    world.pending.set(recordId, { ...entry, sent: true });
    if (fate === 'failed') continue;
    if (item === null || fingerprint === null) world.objects.delete(recordId);
    else world.objects.set(recordId, { item, fingerprint, startAt, endAt });
    if (fate === 'lost') continue;
    if (item === null || fingerprint === null) world.links.delete(recordId);
    else world.links.set(recordId, linkOf(recordId, { fingerprint, startAt, endAt }));
    world.pending.delete(recordId);
  }
}

function linkOf(recordId: string, { fingerprint, startAt, endAt }: Omit<StoredObject, 'item'>): Link {
  return { recordId, fingerprint, startAt, endAt, versionTag: null, idAttempt: 0, remoteId: null, drift: null };
}

function take(world: World, step: Step): void {
  switch (step.do) {
    case 'book': {
      const startAt = world.now + step.inHours * HOUR_MS;
      const time = { kind: 'timed', startAt, endAt: startAt + step.lasts * HOUR_MS } as const;
      world.clinic.set(step.id, appointmentOf(step.id, { time, status: step.status, agendaId: step.agendaId }));
      return;
    }
    case 'erase':
      world.clinic.delete(step.id);
      return;
    case 'wait':
      world.now += step.hours * HOUR_MS;
      return;
    case 'pause':
      world.paused = step.paused;
      return;
    case 'plan':
      if (!world.paused) plan(world, step);
      return;
    case 'push':
      if (!world.paused) push(world, step);
      return;
    case 'cycle':
      if (!world.paused) cycle(world);
      return;
    case 'lose-links':
      world.links = new Map([...world.objects].map(([id, object]) => [id, linkOf(id, object)]));
      world.pending.clear();
      world.missed.clear();
  }
}

function cycle(world: World): void {
  plan(world, { do: 'plan', seen: null, unanswered: [], crash: false });
  push(world, { do: 'push', fates: ['done'], crash: 99 });
}

/** Every answer arrives and no process dies: at most three cycles until no change remains, since a vanished record must be missed twice. */
function settle(world: World): void {
  world.paused = false;
  for (let cycles = 0; cycles < 3; cycles += 1) cycle(world);
  const last = plan(world, { do: 'plan', seen: null, unanswered: [], crash: false });
  expect(last.changes, 'it never comes to rest').toEqual([]);
  expect(world.pending.size).toBe(0);
}

function expectMirror(world: World): void {
  for (const appointment of world.clinic.values()) {
    const item = itemOf(appointment);
    if (item === null || !isListed(appointment.time, world)) continue;
    expect(world.objects.get(appointment.id)?.item, `${appointment.id} is missing or wrong`).toEqual(item);
  }
  for (const [id, object] of world.objects) {
    // Records before the window stay unchanged.
    if (isOver(object, world)) continue;
    const record = world.clinic.get(id);
    expect(object.item, `${id} is shown`).toEqual(record === undefined ? null : itemOf(record));
  }
}

test('whatever happens to the clinic, the window, the readings and the writes, plans converge and delete nothing without proof', () => {
  fc.assert(
    fc.property(fc.array(steps, { minLength: 5, maxLength: 40, size: 'max' }), (history) => {
      const world = newWorld();
      for (const step of history) take(world, step);
      settle(world);
      expectMirror(world);
    }),
    // On a busy host fewer runs must suffice.
    { numRuns: RUNS, ...(process.env.PLANS === undefined ? { interruptAfterTimeLimit: 60_000 } : {}) },
  );
});
