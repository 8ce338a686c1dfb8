import type { Appointment } from '../../core/model/records.ts';
import type { Correction, CorrectionKind, LedgerEntry } from '../../core/model/reminders.ts';
import { toZonedIso } from '../../core/model/time.ts';
import type { MessageProofs } from './identity.ts';
import { comparableAddress } from './places.ts';

/** Present clinic data of an appointment, as far as messages contain the data. */
export interface Truth {
  appointment: Appointment;
  zone: string;
  /** Postal address of the location, or null. */
  address: string | null;
}

/**
 * Comparison of a channel's messages with present facts:
 * - `untold`: no message was delivered; `sending`: a delivery is in progress
 * - `true`: every relevant message is true, or the visit has begun
 * - `false`: `last` is the last message
 */
export type MessageTruth =
  | { is: 'untold' | 'sending' | 'true' }
  | {
      is: 'false';
      last: LedgerEntry;
      kind: CorrectionKind;
      /** The last message is true, but its delivery is unknown. */
      isUnclear: boolean;
      /** A believed message is about an appointment that this one replaces under another id. */
      isReplaced: boolean;
      /** The last message was sent to the appointment's present patient. */
      isSamePatient: boolean;
    };

/** Returns the appointment that a message is about now: the one that replaced the announced appointment, if any. */
export function visitOf({ movedTo, appointmentId }: Pick<LedgerEntry, 'movedTo' | 'appointmentId'>): string {
  return movedTo ?? appointmentId;
}

const OVER = new Set<string>(['arrived', 'in_progress', 'completed', 'no_show']);

/**
 * Compares a channel's messages of an appointment with present facts: those that the patient may believe ({@link believedAfter}).
 * @param entries messages of the appointment in this channel
 * @param truth null for a deleted appointment
 * @param failed whether the receiver reported a failed delivery
 */
export function messageTruthOf(
  entries: readonly LedgerEntry[],
  truth: Truth | null,
  { proofs, failed }: { proofs: MessageProofs; failed(entry: LedgerEntry): boolean },
): MessageTruth {
  if (entries.some(({ state }) => state === 'sending')) return { is: 'sending' };
  const isCertain = (entry: LedgerEntry) => entry.state === 'sent' && !failed(entry);
  const messages = entries.filter(({ state }) => state === 'sent' || state === 'unknown').sort(inOrder);
  const believed = believedAfter(messages, isCertain);
  const newest = believed.at(-1);
  if (newest === undefined) return { is: 'untold' };
  const appointment = truth?.appointment ?? null;
  if (appointment !== null && OVER.has(appointment.status)) return { is: 'true' };
  const isActive = appointment !== null && appointment.status !== 'cancelled';
  if (!isActive && believed.some(({ answer }) => answer?.is === 'cancelled')) return { is: 'true' };
  const isSamePatient = (entry: LedgerEntry) =>
    appointment === null || entry.patientProof === proofs.patient(entry.id, appointment.patientId);
  const agrees = (entry: LedgerEntry) =>
    isActive && truth !== null
      ? statesTruth(entry, truth, proofs) && (entry.patientProof === null || isSamePatient(entry))
      : entry.correction?.kind === 'cancelled';
  const lastFalse = believed.findLast((entry) => !agrees(entry));
  if (lastFalse === undefined) return { is: 'true' };
  const isUnclear = agrees(newest) && !isCertain(newest);
  const last = isUnclear ? newest : lastFalse;
  const isMoved = last.correction?.kind === 'cancelled' || last.startAt !== appointment?.time.startAt;
  return {
    is: 'false',
    last,
    kind: isActive ? (isMoved ? 'moved' : 'changed') : 'cancelled',
    isUnclear,
    isReplaced: believed.some(({ movedTo }) => movedTo !== null),
    isSamePatient: isSamePatient(last),
  };
}

/**
 * Returns the messages that a patient may believe: the last certainly delivered message and later messages with unknown delivery. Earlier
 * messages remain believed in two cases:
 * - A cancellation ends only the time that it names: after a message of unknown delivery, the patient may expect the time before it.
 * - A reminder of an appointment with another id does not tell that this appointment replaces the announced one.
 * @param messages in the order of delivery
 */
function believedAfter(
  messages: readonly LedgerEntry[],
  isCertain: (entry: LedgerEntry) => boolean,
): readonly LedgerEntry[] {
  let believed: LedgerEntry[] = [];
  for (const one of messages) {
    const remains = ({ startAt, movedTo }: LedgerEntry) => {
      if (!isCertain(one)) return true;
      return one.correction === null
        ? movedTo !== null
        : one.correction.kind === 'cancelled' && startAt !== one.startAt;
    };
    believed = [...believed.filter(remains), one];
  }
  return believed;
}

/** Returns the correction of a false message. Each message has one correction per fact. */
export function correctionOf(
  { kind, last }: Pick<Extract<MessageTruth, { is: 'false' }>, 'kind' | 'last'>,
  { appointment, zone, address }: Truth,
  proofs: MessageProofs,
): Correction {
  const stated = kind === 'changed' ? [toZonedIso(zone, appointment.time.startAt), comparableAddress(address)] : [];
  return { kind, fact: proofs.locationProof(appointment.id, last.id, ...stated) };
}

function statesTruth(entry: LedgerEntry, { appointment, zone, address }: Truth, proofs: MessageProofs): boolean {
  const { startAt } = appointment.time;
  if (entry.correction?.kind === 'cancelled' || entry.startAt !== startAt) return false;
  if (toZonedIso(entry.zone, startAt) !== toZonedIso(zone, startAt)) return false;
  return (
    entry.locationProof === null ||
    entry.locationProof === proofs.locationProof(entry.appointmentId, comparableAddress(address))
  );
}

function inOrder(one: LedgerEntry, other: LedgerEntry): number {
  return (one.handedAs ?? 0) - (other.handedAs ?? 0) || (one.finishedAt ?? 0) - (other.finishedAt ?? 0);
}
