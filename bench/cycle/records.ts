import type { Appointment } from '../../src/core/model/records.ts';
import type { AppointmentSnapshot } from '../../src/core/model/snapshots.ts';
import { HOUR_MS } from '../../src/core/model/time.ts';
import { pullWhenFree } from '../../src/tenant/pull.ts';
import type { OpenTenant } from '../../src/tenant/tenant.ts';
import { withSource } from '../../test/support/with-source.ts';
import { atLeast, cpuSecondsOf, type Figure } from '../figure.ts';
import { openCycleWorld } from './world.ts';

const GOALS = { unchanged: 100_000, some: 80_000, all: 40_000 };
const CHANGED_SHARE = 0.01;
const TIMES = 3;
/** Cycles of each kind in one world: a daemon runs for months, so its code is compiled. */
const CYCLES = 5;

/**
 * Measures the records compared with the targets' last content, and the differences planned and stored durably, per second of CPU. Reading
 * the clinic is excluded: the snapshot is in memory.
 */
export async function measureRecords(
  size: { appointments: number; targets: number },
  say: (text: string) => void,
): Promise<Figure[]> {
  const least = { unchanged: NEVER_YET, some: NEVER_YET, all: NEVER_YET };
  let n = 0;
  for (let time = 1; time <= TIMES; time += 1) {
    say(`records: ${size.appointments} in ${size.targets} targets, ${time} of ${TIMES} …`);
    await using world = await openCycleWorld(size);
    const clinic = rememberedClinic(world.tenant);
    const cycle = () => clinic.secondsOf(() => cycleOf(clinic.tenant));
    const note = async (kind: keyof typeof least) => {
      least[kind] = Math.min(least[kind], await cycle());
    };
    await note('all');
    await world.push();
    await cycle();
    for (let nth = 1; nth <= CYCLES; nth += 1) {
      await note('unchanged');
      n = clinic.change(CHANGED_SHARE);
      await note('some');
      await world.push();
      await cycle();
    }
  }
  const figure = (name: string, goal: number, seconds: number): Figure => ({
    ...{ name: `records ${name}`, ...atLeast(goal, n / seconds) },
    ...{ floor: null, ours: seconds, unit: 'CPU s', n },
  });
  return [
    figure('unchanged', GOALS.unchanged, least.unchanged),
    figure('1 % changed', GOALS.some, least.some),
    figure('all new', GOALS.all, least.all),
  ];
}

const NEVER_YET = Number.POSITIVE_INFINITY;
const NEVER = new AbortController().signal;

/** One cycle of a tenant. @throws Error when it fails */
export async function cycleOf(tenant: OpenTenant): Promise<void> {
  const run = await pullWhenFree(tenant, () => {}, NEVER);
  if (run.error !== null) throw new Error(`the cycle failed: ${run.error.code}`);
}

/**
 * Returns the tenant with a clinic that is read once and then shows the same records, with given changes.
 * @param shown converts a read record into the shown record
 */
export function rememberedClinic(tenant: OpenTenant, shown = (record: Appointment) => record) {
  const kept: { snapshot?: AppointmentSnapshot } = {};
  let readingSeconds = 0;
  const { clinic } = tenant;
  const readAppointments: typeof clinic.readAppointments = async (query, signal) => {
    if (kept.snapshot !== undefined) return kept.snapshot;
    readingSeconds += await cpuSecondsOf(async () => {
      const read = await clinic.readAppointments(query, signal);
      kept.snapshot = { ...read, records: new Map([...read.records].map(([id, record]) => [id, shown(record)])) };
    });
    return kept.snapshot ?? Promise.reject(new Error('nothing was read'));
  };
  return {
    tenant: withSource({ ...tenant, clinic: { ...clinic, readAppointments } }),
    /** CPU seconds, without reading. */
    async secondsOf(work: () => Promise<void>): Promise<number> {
      readingSeconds = 0;
      return (await cpuSecondsOf(work)) - readingSeconds;
    },
    /** Moves a share of the records by an hour. @returns how many records there are */
    change(share: number): number {
      if (kept.snapshot === undefined) throw new Error('nothing was read yet');
      const every = Math.round(1 / share);
      const records = [...kept.snapshot.records].map(([id, record], index): [string, Appointment] => [
        id,
        index % every === 0 ? laterBy(record, HOUR_MS) : record,
      ]);
      kept.snapshot = { ...kept.snapshot, records: new Map(records) };
      return records.length;
    },
  };
}

function laterBy(record: Appointment, ms: number): Appointment {
  const { time } = record;
  return { ...record, time: { ...time, startAt: time.startAt + ms, endAt: time.endAt + ms } };
}
