import type { ItemKey } from '../core/model/operations.ts';
import type { Pieces } from '../core/model/pieces.ts';
import type { Appointment } from '../core/model/records.ts';
import { overlaps } from '../core/model/time.ts';
import { partsOf, patientsOf } from '../core/model/visits.ts';
import { type Decision, type Diff, diff, type SourceRecord } from '../engine/diff.ts';
import type { CachedFingerprints } from '../engine/identity.ts';
import type { TargetView } from '../engine/ports.ts';
import type { Contacts } from './crm-rules.ts';
import { activityRule, contactRule, dealRule, refusalsOfContacts } from './crm-rules.ts';
import type { CycleInput, Planning, TargetInput } from './cycle-input.ts';
import { eventCheck } from './egress.ts';
import {
  describeAppointment,
  describeEvent,
  describeInvoice,
  describePatient,
  exclusionOf,
  shownOf,
  visitsIn,
} from './mapping-sources.ts';
import { type Directory, project } from './project.ts';
import { emptyingNothing } from './read-alone.ts';

/** Input of a comparison, without the records. */
type Common = Parameters<TargetView['compare']>[0];

interface ComparableView<Source> extends TargetView {
  compare(common: Common, records?: Iterable<Source>): Pieces<Diff>;
}

/** Records of a stream for a view; null if the stream was not listed. */
interface Listed<Source> {
  list: { snapshot: { records: ReadonlyMap<string, Source> } } | null;
  found: readonly Source[];
}

/** Calendar settings that decide about events. */
export interface EventRules extends Pick<TargetInput, 'pinned'> {
  target: Pick<TargetInput['target'], 'configuration' | 'supports'>;
}

/** Data of the clinic and tenant for events. */
export interface EventContext extends Pick<Planning, 'isForgotten' | 'locale' | 'facts'> {
  clinicReading: { directory: Directory };
}

/**
 * Returns a target's view.
 * @param contacts targets of contacts by id, for activities and deals
 */
export function* viewOf(
  input: TargetInput,
  cycle: Planning,
  contacts: ReadonlyMap<string, Contacts>,
): Pieces<TargetView> {
  const { clinicReading, confirmations } = cycle;
  const { configuration, stream, crm } = input.target;
  const { found } = confirmations.appointments;
  if (crm === null) {
    // A calendar shows an appointment of several patients once.
    const whole = { list: clinicReading, found: found.filter(({ id }) => partsOf(id) === null) };
    const events = view(whole, describeEvent, eventRule(input, cycle), {
      fingerprints: cachedFingerprints(input, cycle),
    });
    const { agendas } = configuration;
    return agendas === 'all' ? events : { ...events, ...ofAgendas(agendas, input, { ...cycle, ...whole }, events) };
  }
  const theirs = contacts.get(configuration.crm?.contacts ?? '');
  switch (stream) {
    case 'patients': {
      const unusable: Record<string, number> = {};
      const listed = { list: clinicReading.streams.patients, found: confirmations.patients.found };
      const refuse = yield* refusalsOfContacts(input, cycle);
      const rule = emptyingNothing(contactRule(input, cycle, unusable, refuse), listed.found, input);
      return view(listed, describePatient, rule, { unusable });
    }
    case 'appointments': {
      const listed = { list: visitsIn(clinicReading), found };
      const rule = emptyingNothing(activityRule(input, cycle, theirs), found, input);
      return view(listed, describeAppointment, rule);
    }
    case 'invoices': {
      const listed = { list: clinicReading.streams.invoices, found: confirmations.invoices.found };
      const rule = emptyingNothing(dealRule(input, cycle, theirs), listed.found, input);
      return view(listed, describeInvoice, rule);
    }
  }
}

function view<Source extends { id: string }>(
  { list, found }: Listed<Source>,
  describe: (record: Source) => SourceRecord,
  rule: (record: Source, key: () => ItemKey) => Decision,
  {
    unusable = {},
    fingerprints,
  }: { unusable?: Readonly<Record<string, number>>; fingerprints?: CachedFingerprints<Source> | null } = {},
): ComparableView<Source> {
  const alone = new Set(found.map(({ id }) => id));
  return {
    unusable,
    shows: (id) => list?.snapshot.records.has(id) === true || alone.has(id),
    countPassedOver: () => ({}),
    compare: (common, records = shownOf(list, found)) =>
      diff({ ...common, records, describe, rule, ...(fingerprints && { fingerprints }) }),
  };
}

/** Compares only records relevant to the target: appointments of its agendas, and records with an object or a pending change. */
function ofAgendas(
  agendas: readonly string[],
  { state: { links, pending }, pinned }: TargetInput,
  {
    clinicReading: { snapshot },
    found,
    byAgenda,
  }: Pick<CycleInput, 'clinicReading' | 'byAgenda'> & Listed<Appointment>,
  events: ComparableView<Appointment>,
): Pick<TargetView, 'compare' | 'countPassedOver'> {
  const isOwn = byAgenda.memberOf(agendas);
  const strays = new Map<string, Appointment>();
  for (const ids of [links.keys(), pending.keys(), pinned]) {
    for (const id of ids) {
      const appointment = isOwn(id) ? undefined : snapshot.records.get(id);
      if (appointment !== undefined) strays.set(id, appointment);
    }
  }
  function* records() {
    yield* byAgenda.of(agendas);
    yield* strays.values();
    yield* found;
  }
  return {
    countPassedOver(window) {
      const counted = [...strays.values()].filter(({ time }) => overlaps(time, window)).length;
      return { agenda: byAgenda.countOverlapping(agendas, window) - counted };
    },
    compare: (common) => events.compare(common, records()),
  };
}

/** Returns the rule for a calendar's events. Pinned records are shown whatever the rules say, unless the clinic cancelled them. */
export function eventRule(
  { target: { configuration, supports }, pinned }: EventRules,
  { clinicReading: { directory }, isForgotten, locale, facts }: EventContext,
): (appointment: Appointment, key: () => ItemKey) => Decision {
  const policy = { ...configuration, ...locale, presets: supports.presets ?? [] };
  const checked = eventCheck(policy, directory, facts);
  return (appointment, key) => {
    const { id, status } = appointment;
    const patients = patientsOf(appointment);
    if (patients.length > 0 && patients.every(isForgotten)) return { exclude: 'forgotten' };
    const isPinned = pinned.has(id);
    const exclusion = isPinned ? null : exclusionOf(appointment, configuration);
    // An event of a status that the target never shows is removed, whatever its agendas are.
    if (exclusion === 'several-values' && configuration.statuses.includes(status)) return { retain: exclusion };
    if (exclusion !== null) return { exclude: exclusion };
    const isPutBack = isPinned && status !== 'cancelled';
    const shown = isPutBack ? { ...policy, statuses: [...policy.statuses, status] } : policy;
    const item = project(appointment, shown, directory, key);
    return item === null ? { exclude: 'status' } : checked(item, appointment, key);
  };
}

/** Returns cached fingerprints of events that depend only on the appointment and the catalogue; null if titles use the list of patients. */
function cachedFingerprints(
  { target: { fingerprints }, pinned }: TargetInput,
  { clinicReading: { directory, clinic }, isForgotten }: CycleInput,
): CachedFingerprints<Appointment> | null {
  if (directory.patients.size > 0) return null;
  return fingerprints.under(
    clinic.catalogue,
    ({ id, patientId }) => !pinned.has(id) && (patientId === null || !isForgotten(patientId)),
  );
}
