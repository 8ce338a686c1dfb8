import { asMirrorError, type MirrorError } from '../../model/errors.ts';
import type { Appointment } from '../../model/records.ts';
import type { Lookup, Snapshot } from '../../model/snapshots.ts';
import type { TimeWindow } from '../../model/time.ts';
import type { AppointmentEvent, StoredAppointment, TriggerEvent } from '../../model/triggers.ts';
import { appointmentSubject, goneSubject, invoiceSubject, reportSubject, type Subject } from './events.ts';
import type { OpenTriggers, TriggerSource } from './ports.ts';

/** How an appointment is now, and what that is to receivers; a null event is nothing. */
export interface AppointmentChange {
  now: StoredAppointment;
  event: AppointmentEvent | null;
}

/** Whether an event tells of a change, and not of a document. */
export function isAppointmentEvent(event: TriggerEvent): event is AppointmentEvent {
  return event.startsWith('appointment.');
}

/**
 * Compares an appointment with how it was. It stands while it is booked for a patient and not cancelled: blocked time is none. What else
 * changes than time and agenda is nothing to receivers.
 * @param stored null for one that no reading saw standing
 * @returns null for one that needn't be known, since it never stood
 */
export function changeOf(stored: StoredAppointment | null, appointment: Appointment): AppointmentChange | null {
  const { id, agendaId, patientId, status } = appointment;
  const { startAt, endAt } = appointment.time;
  const isActive = status !== 'cancelled' && patientId !== null;
  if (stored === null && !isActive) return null;
  const event = eventOf(stored, { agendaId, startAt, endAt, isConfirmed: isActive });
  const before = stored?.sequence ?? 0;
  const sequence = event === null ? before : before + 1;
  return { now: { recordId: id, agendaId, startAt, endAt, isConfirmed: isActive, sequence, missedAt: null }, event };
}

/** A row that was there at first and could not be used: nothing is said of it when it can. @param window of the reading */
export function unusableAtFirst(recordId: string, { fromAt, toAt }: TimeWindow): StoredAppointment {
  return { recordId, agendaId: null, startAt: fromAt, endAt: toAt, isConfirmed: false, sequence: 0, missedAt: null };
}

/** The clinic has no such appointment any more. It stays known, so that it is a later change when it comes back. */
export function vanished(stored: StoredAppointment): AppointmentChange {
  const sequence = stored.sequence + 1;
  return { now: { ...stored, isConfirmed: false, sequence, missedAt: null }, event: 'appointment.cancelled' };
}

/** What makes a change that one, among all of its appointment. */
export function changeName({ sequence, agendaId, startAt, endAt }: StoredAppointment): string {
  return JSON.stringify([sequence, agendaId, startAt, endAt]);
}

type AppointmentState = Pick<StoredAppointment, 'agendaId' | 'startAt' | 'endAt' | 'isConfirmed'>;

function eventOf(before: AppointmentState | null, now: AppointmentState): AppointmentEvent | null {
  if (before?.agendaId === null) return null;
  if (before?.isConfirmed !== true) return now.isConfirmed ? 'appointment.booked' : null;
  if (!now.isConfirmed) return 'appointment.cancelled';
  const isMoved = before.agendaId !== now.agendaId || before.startAt !== now.startAt || before.endAt !== now.endAt;
  return isMoved ? 'appointment.moved' : null;
}

/** The documents of one event as the clinic listed them. */
export interface EventList {
  subjects: ReadonlyMap<string, Subject>;
  /** Ids of rows that are there and can't be used. */
  unusable: ReadonlySet<string>;
  /** Whole, and every row of it has an id: what it does not hold is not there. */
  isWhole: boolean;
}

/** What became of the reading of each event's list. */
type EventLists = ReadonlyMap<DocumentEvent, EventList | MirrorError>;
/** Events that are told of once for each document, when it is found in a state. */
type DocumentEvent = Exclude<TriggerEvent, AppointmentEvent>;

interface EventSource {
  list(source: TriggerSource, signal: AbortSignal): Promise<EventList>;
  read(source: TriggerSource, id: string, signal: AbortSignal): Promise<Lookup<Subject>>;
}

const ONLY_INVOICES = { withDoctors: false, doctorsFrom: '' };

const SOURCES: Readonly<Record<DocumentEvent, EventSource>> = {
  'report.available': {
    list: async (source, signal) => listOf(await source.readReports(signal), reportSubject),
    read: async (source, id, signal) => lookupOf(await source.readReport(id, signal), reportSubject),
  },
  'invoice.issued': {
    list: async (source, signal) => listOf(await source.readInvoices(ONLY_INVOICES, signal), invoiceSubject),
    read: async (source, id, signal) => lookupOf(await source.readInvoice(id, ONLY_INVOICES, signal), invoiceSubject),
  },
};

/** The events that somebody is told of, each once. */
function eventsOf({ file }: Pick<OpenTriggers, 'file'>): DocumentEvent[] {
  const events = new Set([...file.endpoints.values()].flatMap((endpoint) => endpoint.events));
  return [...events].filter((event) => !isAppointmentEvent(event));
}

/**
 * Reads the list of each event, once for all endpoints. One that can't be read keeps no other from being read.
 * @throws the signal's reason
 */
export async function readEventLists(triggers: OpenTriggers, signal: AbortSignal): Promise<EventLists> {
  const lists = new Map<DocumentEvent, EventList | MirrorError>();
  for (const event of eventsOf(triggers)) {
    try {
      lists.set(event, await SOURCES[event].list(triggers.source, signal));
    } catch (error) {
      signal.throwIfAborted();
      lists.set(event, asMirrorError(error));
    }
  }
  return lists;
}

/**
 * A document or an appointment as it is now; an appointment also when it is gone, since that may be what is told.
 * @throws MirrorError as the clinic's calls do
 */
export async function readSubject(
  { source }: OpenTriggers,
  event: TriggerEvent,
  recordId: string,
  signal: AbortSignal,
): Promise<Lookup<Subject>> {
  if (!isAppointmentEvent(event)) return SOURCES[event].read(source, recordId, signal);
  const answer = await source.readAppointment(recordId, signal);
  return 'absent' in answer ? { found: goneSubject(recordId) } : lookupOf(answer, appointmentSubject);
}

function listOf<Source>(snapshot: Snapshot<Source>, subjectOf: (record: Source) => Subject): EventList {
  return {
    subjects: new Map([...snapshot.records].map(([id, record]) => [id, subjectOf(record)])),
    unusable: new Set(snapshot.unusable.flatMap(({ recordId }) => recordId ?? [])),
    isWhole: snapshot.completeness === 'complete' && snapshot.unidentified === 0,
  };
}

function lookupOf<Source>(answer: Lookup<Source>, subjectOf: (record: Source) => Subject): Lookup<Subject> {
  return 'found' in answer ? { found: subjectOf(answer.found) } : answer;
}
