import { z } from 'zod';
import type { ErrorTexts } from './errors.ts';
import { instant } from './schemas.ts';
import type { Instant } from './time.ts';

/** Events for receivers; the message type (Standard Webhooks 1.0: letters, digits, underscores and dots). */
export type TriggerEvent = 'report.available' | 'invoice.issued' | AppointmentEvent;

/** Appointment changes for receivers. */
export type AppointmentEvent = 'appointment.booked' | 'appointment.moved' | 'appointment.cancelled';

/** An appointment in the last fetch for one endpoint and event. The next fetch is compared with this state. */
export interface StoredAppointment {
  /** The clinic's id of the appointment. */
  recordId: string;
  /** Null for a record that was invalid at first, because its earlier state is unknown. */
  agendaId: string | null;
  startAt: Instant;
  endAt: Instant;
  /** Booked by a patient; false if cancelled, changed to blocked time, or gone. */
  isConfirmed: boolean;
  /** Number of found changes, so that two moves to an equal time are two messages. */
  sequence: number;
  /** Start of the first fetch without the appointment; null while listed. */
  missedAt: Instant | null;
}

/** A clinical document for triggers: without title, name or type. */
export interface Report {
  id: string;
  patientId: string | null;
  episodeId: string | null;
  /** `Draft`, `Final`, `Signed`, `Replaced`, or the clinic's value. */
  status: string | null;
  /** PDF size; null if the clinic does not provide it. */
  fileSizeBytes: number | null;
}

/** A message in the queue for a receiver. */
export interface WaitingTrigger {
  /** Keyed hash, identical for each attempt: the message's `webhook-id`. */
  id: string;
  /** The clinic's id of the document. */
  recordId: string;
  /** Time when the daemon found the document available or issued; the clinic does not provide the actual time. */
  foundAt: Instant;
  /** Number of failed attempts. */
  attempts: number;
  /** Earliest time of the next attempt. */
  dueAt: Instant;
  /** Code of the last failed attempt; null before the first. */
  code: string | null;
}

/**
 * Reason why a message is never sent: the document is withdrawn (cancelled, or a draft again) or gone, the patient is forgotten, ids are
 * too long, or the stored message cannot be decrypted and the daemon will find the document again.
 */
export type TriggerDrop = 'withdrawn' | 'vanished' | 'forgotten' | 'payload-too-large' | 'unreadable';

/** Last fetch of an event's documents for an endpoint. */
export interface TriggerReading {
  /** Time when all existing documents were marked as reported; null before the first complete list. */
  sinceAt: Instant | null;
  /** Time of the last list, complete or partial; null before the first. */
  readAt: Instant | null;
  /** Reason why the event is off; null when on. */
  off: { code: string; remedy: string | null; texts: ErrorTexts; at: Instant } | null;
  /** An operator approved any number of messages, once. */
  letThrough: boolean;
}

/** State of an endpoint. */
export interface TriggerEndpointState {
  /** Sending stops until an administrator opens the endpoint. */
  closed: { code: string; at: Instant } | null;
  /** End of the pause after a failure that does not concern a single message; null without a pause. */
  restUntil: Instant | null;
  failingSince: Instant | null;
  /** Code of the failure before the pause. */
  code: string | null;
  lastSentAt: Instant | null;
}

const off = z.object({ endpoint: z.string(), event: z.string(), code: z.string(), remedy: z.string().nullable() });
const refusing = z.object({
  ...{ endpoint: z.string(), code: z.string(), remedy: z.string().nullable() },
  sinceAt: instant.nullable(),
});
export const triggerStatus = z.object({
  waiting: z.number(),
  closed: z.array(z.object({ endpoint: z.string(), code: z.string(), at: instant })),
  off: z.array(off),
  /** The daemon repeats the attempts. */
  refusing: z.array(refusing).describe('Receivers that refuse the message signature'),
});
/** Trigger messages and faults for the tenant's status. */
export type TriggerStatus = Omit<z.infer<typeof triggerStatus>, 'off' | 'refusing'> & {
  off: (z.infer<typeof off> & { event: TriggerEvent; texts: ErrorTexts })[];
  refusing: (z.infer<typeof refusing> & { texts: ErrorTexts })[];
};
