import type { Logger } from '../core/log/logger.ts';
import { lazily } from '../core/model/cache.ts';
import type { Patient } from '../core/model/records.ts';
import type { ClinicSeen, TargetGap, Withheld } from '../core/model/run-schemas.ts';
import type { AppointmentSnapshot, Lookup, Snapshot } from '../core/model/snapshots.ts';
import type { Instant, TimeSpan, TimeWindow } from '../core/model/time.ts';
import { withLastPatients, withVisits } from '../core/model/visits.ts';
import type {
  Confirmations as AllConfirmations,
  CycleFacts,
  Listing,
  Projections,
  Reading,
  SingleReads,
} from '../engine/ports.ts';
import type { Reach } from '../engine/target.ts';
import type { TenantConfiguration } from '../settings/configuration.ts';
import { belongsOnList, type Confirmations, invoiceBelongsOnList, patientBelongsOnList } from './absence.ts';
import { type AgendaIndex, indexByAgenda } from './agenda-index.ts';
import type { ClinicSource } from './clinic-requests.ts';
import type { ClinicTarget, TargetInput } from './cycle-input.ts';
import type { CycleFollower, Learned } from './followers.ts';
import {
  listedFor,
  listedIn,
  neededBy,
  snapshotOf,
  streamsOf,
  tombstonesIn,
  windowOf,
  windowRead,
} from './mapping-sources.ts';
import { updatePatientHistories } from './patient-histories.ts';
import { type ClinicProjections, projectionsOf } from './plan-targets.ts';
import type { Directory } from './project.ts';
import { mergedIntoNobody, readThroughMerges, withName } from './read-alone.ts';
import type { ReadClinic } from './read-clinic.ts';
import { gapsOf } from './reading-gaps.ts';
import { asOf, type Streams } from './streams.ts';

/** Code of a target that remains unchanged until its streams are read; no failure. */
export const AWAITING = 'awaiting-streams';

/** The streams with single reads. */
const STREAMS = ['appointments', 'patients', 'invoices'] as const;
type Stream = (typeof STREAMS)[number];

/** Data of the tenant for a reading, in addition to the clinic's answers. */
export interface ReadingContext {
  clinic: ClinicSource;
  /** Active targets. */
  targets: readonly ClinicTarget[];
  /** All targets: paused ones keep their histories too. */
  all: Iterable<ClinicTarget>;
  followers: readonly CycleFollower[];
  locale: Pick<TenantConfiguration, 'language' | 'zone'>;
  /** See `CycleInput`. */
  rescheduleWithinMs: number;
  log: Logger;
}

/** What the clinic said in one cycle. */
export class ClinicReading implements Reading<ClinicTarget>, ReadClinic {
  readonly streams: Streams;
  readonly reach: Reach;
  readonly snapshot: AppointmentSnapshot;
  readonly directory: Directory;
  readonly withheld: Withheld[];
  readonly clinic: ClinicSeen;
  readonly startedAt: Instant;
  /** Appointments by agenda. */
  readonly byAgenda: AgendaIndex;
  readonly #context: ReadingContext;
  readonly #gaps = lazily(() => gapsOf(this.#context.targets, this.#context.followers, this));

  constructor(read: ReadClinic, byAgenda: AgendaIndex | null, context: ReadingContext) {
    this.reach = read.reach;
    this.snapshot = read.snapshot;
    this.directory = read.directory;
    this.withheld = read.withheld;
    this.clinic = read.clinic;
    this.streams = read.streams;
    this.startedAt = read.startedAt;
    this.byAgenda = byAgenda ?? indexByAgenda(read.snapshot.records);
    this.#context = context;
  }

  get streamNames(): readonly string[] {
    return STREAMS;
  }

  get completeness() {
    return this.snapshot.completeness;
  }

  unreadFor(target: ClinicTarget): string | null {
    const { failed, awaited } = this.streams;
    const [failure] = neededBy(target).flatMap((name) => failed.get(name) ?? []);
    if (failure !== undefined) return failure.code;
    return streamsOf(target).some((name) => awaited.has(name)) ? AWAITING : null;
  }

  windowOf(target: ClinicTarget): TimeWindow {
    return windowOf(target, this.startedAt);
  }

  windowReadOf(target: ClinicTarget): TimeWindow {
    return windowRead(target, this);
  }

  listingOf(target: ClinicTarget): Listing | null {
    const snapshot = snapshotOf(this, target);
    return snapshot && { ...listingIn(snapshot), isListed: listedFor(target, snapshot, this.byAgenda) };
  }

  listing(stream: string): Listing | null {
    const snapshot = snapshotOf(this, { stream: stream as Stream, crm: 'any' });
    return snapshot && listingIn(snapshot);
  }

  streamsOf(target: ClinicTarget): readonly string[] {
    return [...new Set<string>([target.stream, ...streamsOf(target).filter((name) => name !== 'history')])];
  }

  /** A calendar has its share of the appointments. */
  expectedLinks(target: ClinicTarget): number {
    const records = snapshotOf(this, target)?.records.size ?? 0;
    return target.crm === null ? records / [...this.#context.all].length : records;
  }

  asOf(target: ClinicTarget): Instant {
    return asOf(target, this);
  }

  isWhole(target: ClinicTarget): boolean {
    const { streams, snapshot } = this;
    if (streamsOf(target).some((name) => streams[name] === null)) return false;
    const needed = streamsOf(target).map((name) => (name === 'history' ? snapshot : streams[name]?.snapshot));
    return [snapshotOf(this, target), ...needed].every((one) => one?.completeness === 'complete');
  }

  /** Names from the list of patients, and properties of a CRM, can change without an appointment. */
  contentKey(target: ClinicTarget): (() => string) | null {
    if (target.crm !== null || this.directory.patients.size > 0) return null;
    const { agendas } = target.configuration;
    return () => JSON.stringify([this.clinic.catalogue, this.byAgenda.revisionOf(agendas)]);
  }

  spansOf({ configuration: { agendas } }: ClinicTarget): ReadonlyMap<string, TimeSpan> {
    return new Map([...this.byAgenda.of(agendas)].map(({ id, time }) => [id, time]));
  }

  passedOver(target: ClinicTarget): Readonly<Record<string, number>> {
    const { agendas } = target.configuration;
    return agendas === 'all' ? {} : { agenda: this.byAgenda.countOverlapping(agendas, this.windowOf(target)) };
  }

  gaps(): ReadonlyMap<string, readonly TargetGap[]> {
    return this.#gaps();
  }

  single(stream: string): SingleReads {
    return this.#singles()[stream as Stream] as SingleReads;
  }

  #singles(): { appointments: unknown; patients: unknown; invoices: unknown } {
    const { clinic, all } = this.#context;
    const { snapshot, startedAt } = this;
    const readAtOf = (stream: 'patients' | 'invoices') => this.streams[stream]?.readAt ?? startedAt;
    const withDoctors = [...all].some(({ crm }) => crm?.mapping.needs.doctors === true);
    return {
      appointments: {
        readAt: startedAt,
        readAlone: clinic.readAppointment,
        belongsOnList: (one, startsBefore) => belongsOnList(one, snapshot, { startsBefore, readAt: startedAt }),
      } satisfies SingleReads<Parameters<typeof belongsOnList>[0]>,
      patients: {
        readAt: readAtOf('patients'),
        readAlone: (id, signal) => this.#readPatient(id, signal),
        belongsOnList: (one) => patientBelongsOnList(one, readAtOf('patients')),
      } satisfies SingleReads<Patient>,
      invoices: {
        readAt: readAtOf('invoices'),
        readAlone: (id, signal) => clinic.readInvoice(id, { withDoctors }, signal),
        belongsOnList: invoiceBelongsOnList,
      } satisfies SingleReads<Parameters<typeof invoiceBelongsOnList>[0]>,
    };
  }

  async #readPatient(id: string, signal: AbortSignal): Promise<Lookup<Patient>> {
    const listed = this.streams.patients?.snapshot.records ?? new Map<string, Patient>();
    const { clinic } = this.#context;
    const { id: remaining, answer } = await readThroughMerges(async (one) => {
      const shown = listed.get(one);
      return shown === undefined ? withName(await clinic.readPatient(one, signal), listed.values()) : { found: shown };
    }, id);
    if (remaining === id) return answer;
    if (!('found' in answer)) return { unusable: mergedIntoNobody(id) };
    this.streams.patients?.merged.set(id, remaining);
    return { absent: true, mergedInto: remaining };
  }

  async confirmed(all: AllConfirmations, signal: AbortSignal): Promise<this> {
    const confirmations = confirmationsOf(all);
    const { appointments, patients, invoices } = confirmations;
    const streams = {
      ...this.streams,
      patients: markedStream(this.streams.patients, patients),
      invoices: markedStream(this.streams.invoices, invoices),
    };
    const read = { ...this.#read(), snapshot: marked(this.snapshot, appointments), streams };
    const { all: targets, log } = this.#context;
    await updatePatientHistories({ targets, log }, read, confirmations, signal);
    return new ClinicReading(read, this.byAgenda, this.#context) as this;
  }

  #read(): ReadClinic {
    const { reach, snapshot, directory, withheld, clinic, streams, startedAt } = this;
    return { reach, snapshot, directory, withheld, clinic, streams, startedAt };
  }

  projections(facts: CycleFacts<TargetInput>): Projections<TargetInput> {
    const { locale, rescheduleWithinMs } = this.#context;
    return projectionsOf({
      ...facts,
      ...{ clinicReading: this, byAgenda: this.byAgenda, locale, rescheduleWithinMs },
      confirmations: confirmationsOf(facts.confirmations),
      unplannedContacts: facts.others,
    });
  }

  recordFound(projections: Projections<TargetInput>): void {
    for (const [contacts, patients] of (projections as ClinicProjections).gone())
      this.streams.patients?.gone.set(contacts, patients);
  }

  learned(all: AllConfirmations, provesNothing: boolean): Learned {
    const { found, vanished: gone } = confirmationsOf(all).appointments;
    const { snapshot, directory, reach } = this;
    // Cancellations and deletions reported by the clinic are not absences.
    const vanished = new Set([...(provesNothing ? [] : gone), ...tombstonesIn(snapshot)]);
    const isWhole = reach === 'whole' && snapshot.completeness === 'complete';
    return {
      ...withLastPatients(withVisits(snapshot).records, vanished),
      found,
      coveredUntilAt: isWhole ? snapshot.window.toAt : null,
      directory,
    };
  }
}

/** Returns the results of a clinic's single reads with the types of its records. */
export function confirmationsOf(confirmations: AllConfirmations): Confirmations {
  return confirmations as Confirmations;
}

function listingIn(snapshot: Snapshot<{ id: string }>): Listing {
  return {
    isComplete: snapshot.completeness === 'complete',
    count: snapshot.records.size,
    recordIds: () => snapshot.records.keys(),
    isListed: listedIn(snapshot),
  };
}

/** Returns the list marked as partial if the clinic still has records missing from it. */
function marked<List extends Snapshot<unknown>>(list: List, { unlisted }: { unlisted: number }): List {
  return unlisted === 0 ? list : { ...list, completeness: 'partial', reason: 'records-unlisted' };
}

function markedStream<Stream extends { snapshot: Snapshot<unknown> }>(
  stream: Stream | null,
  proof: { unlisted: number },
): Stream | null {
  return stream && { ...stream, snapshot: marked(stream.snapshot, proof) };
}
