import type { ErrorTexts } from './errors.ts';
import type { Instant } from './time.ts';

/** What receivers can be told of; the type of the message (Standard Webhooks 1.0: letters, digits, underscores and dots). */
export type TriggerEvent = 'report.available' | 'invoice.issued' | AppointmentEvent;

/** What may become of an appointment. */
export type AppointmentEvent = 'appointment.booked' | 'appointment.moved' | 'appointment.cancelled';

/** An appointment as the last reading left it, for one endpoint and event: what the next one is compared with. */
export interface StoredAppointment {
  /** The clinic's id of it. */
  recordId: string;
  /** Null for a row that could not be used at first: nobody knows how it was. */
  agendaId: string | null;
  startAt: Instant;
  endAt: Instant;
  /** Booked for somebody; else it was cancelled, became blocked time, or is gone. */
  isConfirmed: boolean;
  /** How many changes of it were found: two moves to the same time are two messages. */
  sequence: number;
  /** When the reading began that missed it first; null while it is listed. */
  missedAt: Instant | null;
}

/** A clinical document, as far as triggers go by it: no title, no name, no type. */
export interface Report {
  id: string;
  patientId: string | null;
  episodeId: string | null;
  /** `Draft`, `Final`, `Signed`, `Replaced`, or the clinic's word. */
  status: string | null;
  /** Size of its PDF; null when the clinic does not tell. */
  fileSizeBytes: number | null;
}

/** A message that waits to be taken by a receiver. */
export interface WaitingTrigger {
  /** Keyed hash, the same for every try: the message's `webhook-id`. */
  id: string;
  /** The clinic's id of the document. */
  recordId: string;
  /** When it was found to be available or issued: the clinic does not tell when it became so. */
  foundAt: Instant;
  /** How often it was tried in vain. */
  attempts: number;
  /** Not tried before. */
  dueAt: Instant;
  /** Why the last try failed; null before one did. */
  code: string | null;
}

/**
 * Why a message is never sent: its document is withdrawn (cancelled, or a draft again), gone, the patient is forgotten, ids are too long, or
 * what was kept can't be opened, so that it is found again.
 */
export type TriggerDrop = 'withdrawn' | 'vanished' | 'forgotten' | 'payload-too-large' | 'unreadable';

/** How the documents of an event were last read for an endpoint. */
export interface TriggerReading {
  /** When everything that was there was taken as told of; null before the first whole list. */
  sinceAt: Instant | null;
  /** The last list that was read, whole or not; null before one was. */
  readAt: Instant | null;
  /** Why the event is off at the moment; null when it is on. */
  off: { code: string; remedy: string | null; texts: ErrorTexts; at: Instant } | null;
  /** A person let however many there are through, once. */
  letThrough: boolean;
}

/** Where an endpoint stands. */
export interface TriggerEndpointState {
  /** Nothing is sent until a person opens it again. */
  closed: { code: string; at: Instant } | null;
  /** Left alone until then, after a failure that is not one message's; null when it is not. */
  restUntil: Instant | null;
  failingSince: Instant | null;
  /** Of the failure that it rests after. */
  code: string | null;
  lastSentAt: Instant | null;
}

/** What waits for a person, for the tenant's status. */
export interface TriggerStatus {
  waiting: number;
  closed: { endpoint: string; code: string; at: Instant }[];
  off: { endpoint: string; event: TriggerEvent; code: string; remedy: string | null; texts: ErrorTexts }[];
  /** Receivers that refuse the signature: they are tried again and again. */
  refusing: { endpoint: string; code: string; remedy: string | null; texts: ErrorTexts; sinceAt: Instant | null }[];
}
