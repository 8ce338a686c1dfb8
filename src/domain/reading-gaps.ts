import { lazily } from '../core/model/cache.ts';
import { agendasOf as agendasNamed, type InvalidRow } from '../core/model/records.ts';
import type { TargetGap } from '../core/model/run-schemas.ts';
import { didYouMean } from '../core/model/text.ts';
import { cutRecords } from '../core/model/visits.ts';
import { cutFor, cutIn } from './cut-values.ts';
import type { ClinicTarget } from './cycle-input.ts';
import type { CycleFollower, NamedIds } from './followers.ts';
import { streamsOf } from './mapping-sources.ts';
import type { ReadClinic } from './read-clinic.ts';

/** Maximum codes, ids and suggestions in a report. */
const MOST_REPORTED = 5;

type Part = 'agenda' | 'treatment';

/** What a reading says about unreadable and unknown data. */
type Read = Pick<ReadClinic, 'snapshot' | 'streams' | 'directory' | 'withheld'>;

/** Returns gaps of the read by target and by follower with configured ids. Targets without gaps are omitted. */
export function gapsOf(
  targets: readonly ClinicTarget[],
  followers: readonly Pick<CycleFollower, 'namedIds'>[],
  clinicReading: Read,
): ReadonlyMap<string, readonly TargetGap[]> {
  const check = checkerOf(clinicReading);
  const gaps = new Map<string, TargetGap[]>();
  const cut = clinicReading.snapshot.cut ?? cutRecords(clinicReading.snapshot.records.values());
  for (const target of targets)
    gaps.set(target.id, [...unreadOf(target, clinicReading), ...cutFor(target, cut), ...check(target.configuration)]);
  for (const { namedIds } of followers)
    for (const [location, named] of namedIds) gaps.set(location, [...cutIn(cut, named.agendas, true), ...check(named)]);
  return new Map([...gaps].filter(([, found]) => found.length > 0));
}

/** Returns unusable records that may belong to a target: records of its streams, except for appointments of other agendas. */
function unreadOf(target: ClinicTarget, { snapshot, streams }: Read): TargetGap[] {
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
  return [{ code: 'records-unreadable', count: unread.length, what, soon: [] }];
}

/** An id is known if the catalogue or an appointment contains it: some clinics omit old agendas from lists. */
function checkerOf({ directory, snapshot, withheld }: Read): (named: NamedIds) => TargetGap[] {
  // Most clinics' catalogues contain every id, so that no appointment is searched.
  const seenIn = lazily(() => {
    const seen: Record<Part, Set<string>> = { agenda: new Set(), treatment: new Set() };
    for (const appointment of snapshot.records.values()) {
      const { treatmentId } = appointment;
      for (const id of agendasNamed(appointment)) seen.agenda.add(id);
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
 * Returns configured ids missing from the clinic's catalogue: their number, the first ids, and suggestions. Returns null if the catalogue
 * contains all.
 * @param isConfigured whether another source confirms an id
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

/** Finds suggestions by id, then by name (operators often enter names), then the first available ones. */
function nearest(id: string, catalogue: ReadonlyMap<string, { name: string }>): string[] {
  const label = (existing: string) => `${existing} (${catalogue.get(existing)?.name ?? ''})`;
  const byId = didYouMean(id, catalogue.keys());
  const byName = new Map([...catalogue].map(([existing, { name }]) => [name, existing]));
  const named = byName.get(didYouMean(id, byName.keys()) ?? '');
  const found = [byId, named].filter((one) => one != null);
  return (found.length > 0 ? found : [...catalogue.keys()].slice(0, MOST_REPORTED)).map(label);
}
