import { asMirrorError, type MirrorError } from '../../core/model/errors.ts';
import type { Appointment } from '../../core/model/records.ts';
import type { Lookup, Snapshot } from '../../core/model/snapshots.ts';
import type { TimeWindow } from '../../core/model/time.ts';
import type { AppointmentEvent, StoredAppointment, TriggerEvent } from '../../core/model/triggers.ts';
import { appointmentSubject, goneSubject, invoiceSubject, reportSubject, type Subject } from './events.ts';
import type { OpenTriggers, TriggerSource } from './ports.ts';

/** New state of an appointment with its event; null without an event. */
export interface AppointmentChange {
  now: StoredAppointment;
  event: AppointmentEvent | null;
}

/** Returns whether an event reports a change instead of a document. */
export function isAppointmentEvent(event: TriggerEvent): event is AppointmentEvent {
  return event.startsWith('appointment.');
}

/**
 * Compares an appointment with its previous state. Only booked appointments of a patient are followed, not blocked time. Only changes of
 * time, agenda and cancellation are events.
 * @param stored null for an appointment that was never followed
 * @returns null for an appointment that need not be stored
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

/** Returns the state of an unreadable row in the first list. When the row becomes readable, no event occurs. @param window of the read */
export function unusableAtFirst(recordId: string, { fromAt, toAt }: TimeWindow): StoredAppointment {
  return { recordId, agendaId: null, startAt: fromAt, endAt: toAt, isConfirmed: false, sequence: 0, missedAt: null };
}

/** Returns the change of a deleted appointment. The appointment remains stored, so that its return is a later change. */
export function vanished(stored: StoredAppointment): AppointmentChange {
  const sequence = stored.sequence + 1;
  return { now: { ...stored, isConfirmed: false, sequence, missedAt: null }, event: 'appointment.cancelled' };
}

/** Returns the name of a change, unique for its appointment. */
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

/** Documents of one event in the clinic. */
export interface EventList {
  subjects: ReadonlyMap<string, Subject>;
  /** Ids of unreadable rows. */
  unusable: ReadonlySet<string>;
  /** Complete list with an id in every row. Missing documents do not exist. */
  isWhole: boolean;
}

/** Results of reading each event's list. */
type EventLists = ReadonlyMap<DocumentEvent, EventList | MirrorError>;
/** Events with one message per document. */
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

/** Returns configured document events without duplicates. */
function eventsOf({ file }: Pick<OpenTriggers, 'file'>): DocumentEvent[] {
  const events = new Set([...file.endpoints.values()].flatMap((endpoint) => endpoint.events));
  return [...events].filter((event) => !isAppointmentEvent(event));
}

/**
 * Reads the list of each event, once for all endpoints. A failed list does not affect other lists.
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
 * Returns the present document or appointment. A deleted appointment is also a valid result.
 * @throws MirrorError as the clinic API does
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
  if ('found' in answer) return { found: subjectOf(answer.found) };
  if ('unusable' in answer) return answer;
  const { deleted: _deleted, ...absent } = answer;
  return absent;
}
