import { lazily } from '../model/cache.ts';
import type { StreamName } from '../model/items.ts';
import type { InvalidRow } from '../model/records.ts';
import { didYouMean } from '../settings/describe-issue.ts';
import type { TargetGap } from '../state/target-record.ts';
import type { Confirmations } from '../sync/absence.ts';
import { egressStopped } from '../sync/egress.ts';
import { streamsOf } from '../sync/followed.ts';
import type { TargetPlan } from '../sync/target-plan.ts';
import type { ClinicReading } from './clinic-reading.ts';
import type { CycleFollower, NamedIds, OpenTarget } from './tenant.ts';

/** Most rows' codes, ids and suggestions that are told. */
const MOST_REPORTED = 5;

type Part = 'agenda' | 'treatment';

/** What of each target, and of each place where a follower names ids, this reading could not tell. Only those with gaps. */
export function gapsOf(
  targets: readonly OpenTarget[],
  followers: readonly Pick<CycleFollower, 'namedIds'>[],
  clinicReading: ClinicReading,
): ReadonlyMap<string, readonly TargetGap[]> {
  const check = checkerOf(clinicReading);
  const gaps = new Map<string, TargetGap[]>();
  for (const target of targets)
    gaps.set(target.id, [...unreadOf(target, clinicReading), ...check(target.configuration)]);
  for (const { namedIds } of followers) for (const [location, named] of namedIds) gaps.set(location, check(named));
  return new Map([...gaps].filter(([, found]) => found.length > 0));
}

/** Adds to each target's gaps the records that its lists should have shown: other records may be missing for every target. */
export function gapsConfirmed(
  existing: ReadonlyMap<string, readonly TargetGap[]>,
  targets: readonly OpenTarget[],
  confirmations: Confirmations,
): ReadonlyMap<string, readonly TargetGap[]> {
  const all = new Map(existing);
  for (const target of targets) {
    const streams = new Set<StreamName>([target.stream, ...streamsOf(target).filter((name) => name !== 'history')]);
    const count = [...streams].reduce((sum, stream) => sum + confirmations[stream].unlisted, 0);
    if (count === 0) continue;
    all.set(target.id, [...(existing.get(target.id) ?? []), { code: 'records-unlisted', count, what: [], soon: [] }]);
  }
  return all;
}

/**
 * What of each target is incomplete after planning: what was known before, and what was kept back since it would have told more of
 * patients than the target may know.
 */
export function gapsAfter(
  existing: ReadonlyMap<string, readonly TargetGap[]>,
  plans: readonly Pick<TargetPlan, 'target' | 'omitted'>[],
): ReadonlyMap<string, readonly TargetGap[]> {
  const all = new Map(existing);
  for (const { target, omitted } of plans) {
    const found = egressStopped(omitted);
    if (found.length === 0) continue;
    const count = found.reduce((sum, [, each]) => sum + each, 0);
    const gap: TargetGap = { code: 'egress-stopped', count, what: found.map(([code]) => code), soon: [] };
    all.set(target.id, [...(existing.get(target.id) ?? []), gap]);
  }
  return all;
}

/** Rows set aside that may belong to a target: those of its streams, but for appointments of agendas that it does not follow. */
function unreadOf(target: OpenTarget, { snapshot, streams }: ClinicReading): TargetGap[] {
  const names = streamsOf(target);
  const { agendas } = target.configuration;
  const follows = ({ agendaId }: InvalidRow) =>
    agendaId === undefined || agendas === 'all' || names.includes('history') || agendas.includes(agendaId);
  const seesAppointments = target.stream === 'appointments' || names.includes('history');
  const rows = [
    ...(seesAppointments ? snapshot.unusable.filter(follows) : []),
    ...(names.includes('patients') ? (streams.patients?.snapshot.unusable ?? []) : []),
    ...(names.includes('invoices') ? (streams.invoices?.snapshot.unusable ?? []) : []),
  ];
  const unread = rows.filter(({ isTombstone }) => isTombstone !== true);
  if (unread.length === 0) return [];
  const what = [...new Set(unread.map(({ code }) => code))].slice(0, MOST_REPORTED);
  return [{ code: 'rows-unread', count: unread.length, what, soon: [] }];
}

/** An id is known by the catalogue, or by a row that carries it: some clinics leave old agendas out of their lists. */
function checkerOf({ directory, snapshot, withheld }: ClinicReading): (named: NamedIds) => TargetGap[] {
  // Of most clinics the catalogue knows every id: then no row need be looked at.
  const seenIn = lazily(() => {
    const seen: Record<Part, Set<string>> = { agenda: new Set(), treatment: new Set() };
    for (const { agendaId, treatmentId } of snapshot.records.values()) {
      seen.agenda.add(agendaId);
      if (treatmentId !== null) seen.treatment.add(treatmentId);
    }
    return seen;
  });
  const check = (part: Part, ids: 'all' | readonly string[]): TargetGap[] => {
    const catalogue: ReadonlyMap<string, { name: string }> = directory[`${part}s`];
    const isWithheld = withheld.some((one) => one.part === `${part}s`);
    const unknown = unlisted(ids, catalogue, isWithheld ? { isSoon: false } : {}, (id) => seenIn()[part].has(id));
    return unknown === null ? [] : [{ code: isWithheld ? `${part}-unconfirmed` : `${part}-unknown`, ...unknown }];
  };
  return ({ agendas, treatments }) => [...check('agenda', agendas), ...check('treatment', treatments)];
}

/**
 * Ids of the configuration that the clinic's catalogue does not list: how many, the first of them, and what may be meant. Null when it lists all.
 * @param isConfigured tells of an id that is known by something else
 */
export function unlisted(
  ids: 'all' | readonly string[],
  catalogue: ReadonlyMap<string, { name: string }>,
  { isSoon = true }: { isSoon?: boolean } = {},
  isConfigured: (id: string) => boolean = () => false,
): Pick<TargetGap, 'count' | 'what' | 'soon'> | null {
  const unknown = ids === 'all' ? [] : ids.filter((id) => !catalogue.has(id) && !isConfigured(id));
  if (unknown.length === 0) return null;
  const meant = isSoon ? unknown.flatMap((id) => nearest(id, catalogue)) : [];
  return {
    count: unknown.length,
    what: unknown.slice(0, MOST_REPORTED),
    soon: [...new Set(meant)].slice(0, MOST_REPORTED),
  };
}

/** By their ids, by their names (people write these), else the first ones that there are. */
function nearest(id: string, catalogue: ReadonlyMap<string, { name: string }>): string[] {
  const label = (existing: string) => `${existing} (${catalogue.get(existing)?.name ?? ''})`;
  const byId = didYouMean(id, catalogue.keys());
  const byName = new Map([...catalogue].map(([existing, { name }]) => [name, existing]));
  const named = byName.get(didYouMean(id, byName.keys()) ?? '');
  const found = [byId, named].filter((one) => one != null);
  return (found.length > 0 ? found : [...catalogue.keys()].slice(0, MOST_REPORTED)).map(label);
}
