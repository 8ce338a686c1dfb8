import type { ClinicSandbox } from '../sandbox/clinic/index.ts';
import type { RemoteEvent } from './read-targets.ts';
import type { DemoTarget, World } from './world.ts';

/** How a target differs from the clinic, found by reading both and using nothing of the daemon's. */
export interface Comparison {
  /** Appointments that the target should show. */
  records: number;
  remoteEvents: number;
  /** Events that no appointment accounts for: doubles, and those of cancelled or moved appointments. */
  duplicates: number;
  /** Appointments without an event at their time. */
  missing: number;
}

/** Compares by what a person sees: the set of times in the agenda against the set of times in the calendar. */
export async function compare(
  world: Pick<World, 'clinic' | 'clinicTenants'>,
  target: Pick<DemoTarget, 'tenant' | 'agendaIds' | 'read'>,
): Promise<Comparison> {
  const expected = expectedTimes(world.clinic, world.clinicTenants.get(target.tenant) ?? '', target.agendaIds);
  const remote = await target.read();
  const found = countTimes(remote);
  const wanted = countTimes(expected);
  let duplicates = 0;
  let missing = 0;
  for (const time of new Set([...found.keys(), ...wanted.keys()])) {
    const difference = (found.get(time) ?? 0) - (wanted.get(time) ?? 0);
    if (difference > 0) duplicates += difference;
    else missing -= difference;
  }
  return { records: expected.length, remoteEvents: remote.length, duplicates, missing };
}

function expectedTimes(clinic: ClinicSandbox, tenantId: string, agendaIds: readonly string[]): RemoteEvent[] {
  const times: RemoteEvent[] = [];
  for (const { agendaId, start, end, allDay, status, deleted } of clinic.appointments(tenantId)) {
    if (deleted || status === 'Cancelled' || !agendaIds.includes(agendaId)) continue;
    times.push(allDay ? { startAt: romeMidnight(start), endAt: romeMidnight(end) } : { startAt: start, endAt: end });
  }
  return times;
}

/** An all-day appointment's local date as the UTC midnight that stands for it on the target's side. */
function romeMidnight(at: number): number {
  const date = new Intl.DateTimeFormat('en-CA', { timeZone: 'Europe/Rome', dateStyle: 'short' }).format(at);
  return Date.parse(`${date}T00:00:00Z`);
}

function countTimes(events: readonly RemoteEvent[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { startAt, endAt } of events) {
    const time = `${startAt}–${endAt}`;
    counts.set(time, (counts.get(time) ?? 0) + 1);
  }
  return counts;
}
