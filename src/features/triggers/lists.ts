import { asMirrorError, type MirrorError } from '../../model/errors.ts';
import type { Lookup, Snapshot } from '../../model/snapshots.ts';
import type { AppointmentEvent, TriggerEvent } from '../../model/triggers.ts';
import { isAppointmentEvent } from './appointments.ts';
import { appointmentSubject, goneSubject, invoiceSubject, reportSubject, type Subject } from './events.ts';
import type { OpenTriggers, TriggerSource } from './ports.ts';

/** The documents of one event as the clinic listed them. */
export interface EventList {
  subjects: ReadonlyMap<string, Subject>;
  /** Ids of rows that are there and can't be used. */
  unusable: ReadonlySet<string>;
  /** Whole, and every row of it has an id: what it does not hold is not there. */
  isWhole: boolean;
}

/** What became of the reading of each event's list. */
export type EventLists = ReadonlyMap<DocumentEvent, EventList | MirrorError>;
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
    unusable: new Set(snapshot.setAside.flatMap(({ recordId }) => recordId ?? [])),
    isWhole: snapshot.completeness === 'complete' && snapshot.unidentified === 0,
  };
}

function lookupOf<Source>(answer: Lookup<Source>, subjectOf: (record: Source) => Subject): Lookup<Subject> {
  return 'found' in answer ? { found: subjectOf(answer.found) } : answer;
}
