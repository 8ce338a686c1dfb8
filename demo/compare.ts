import type { ClinicSandbox } from '../sandbox/clinic/index.ts';
import type { Comparison } from './comparison.ts';
import type { CrmTarget } from './crm.ts';
import type { RemoteEvent } from './read-targets.ts';
import type { DemoTarget, World } from './world.ts';

export type { Comparison };

/** A calendar, or a target in a CRM, with its comparison. */
export type ShownTarget = Omit<CrmTarget, 'connector'> & { connector: string };

const WRITE_METHODS = new Set(['POST', 'PUT', 'PATCH', 'DELETE', 'MKCALENDAR', 'MKCOL', 'PROPPATCH']);

/** Every target of a world, in the order of its clinics. */
export function shownTargets(world: World): ShownTarget[] {
  const isWrite = ({ method }: { method: string }) => WRITE_METHODS.has(method);
  const calendars = world.targets.map((target) => ({ ...target, isWrite, compare: () => compare(world, target) }));
  const inCrms = world.crms.flatMap(({ shown }) => shown);
  return [...world.clinicTenants.keys()].flatMap((tenant) =>
    [...calendars, ...inCrms].filter((target) => target.tenant === tenant),
  );
}

/** Compares the visible content: the times in the agenda with the times in the calendar. */
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
