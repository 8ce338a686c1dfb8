import { type Appointment, agendasOf } from '../core/model/records.ts';
import type { Instant } from '../core/model/time.ts';
import { isOfSeveralPatients } from '../core/model/visits.ts';
import type { CycleInput, TargetInput } from './cycle-input.ts';

/** An event of a calendar with its record, and the appointment if the clinic lists it. */
interface Change {
  recordId: string;
  at: Instant;
  appointment: Appointment | undefined;
}

/**
 * Finds the appointments that replace a removed one, so that their events take over what users had added to its event. An appointment does if
 * both have one patient, and its event was created within `rescheduleWithinMinutes` of the removal, or the clinic changed both within that
 * time. An appointment that the clinic restored replaces itself.
 * @returns removed record by the record that replaces it; each is used once
 */
export function replacedBy(
  { target: { identity, configuration }, state, recent }: Pick<TargetInput, 'target' | 'state' | 'recent'>,
  {
    clinicReading: {
      snapshot: { records },
    },
    rescheduleWithinMs,
  }: Pick<CycleInput, 'clinicReading' | 'rescheduleWithinMs'>,
): ReadonlyMap<string, string> {
  const replaced = new Map<string, string>();
  const changes = [...recent].map(([recordId, event]) => ({ recordId, ...event, appointment: records.get(recordId) }));
  const isOff = rescheduleWithinMs === 0 || configuration.policy === 'create-only';
  if (isOff || changes.every(({ removed }) => removed === undefined)) return replaced;
  // An object that a user changed may belong to the user by the target's policy.
  const isWritten = ({ recordId, appointment }: Change) =>
    appointment !== undefined && state.links.get(recordId)?.drift === null && !state.pending.has(recordId);
  const isWithin = (one: Instant, other: Instant) => Math.abs(one - other) <= rescheduleWithinMs;
  const areTogether = (from: Change, to: Change) => {
    const [changedAt, foundAt] = [from.appointment?.updatedAt ?? null, to.appointment?.updatedAt ?? null];
    return isWithin(from.at, to.at) || (changedAt !== null && foundAt !== null && isWithin(changedAt, foundAt));
  };
  /** Keyed hash of the patient, or null if unknown. */
  const patientOf = ({ appointment }: Change) =>
    appointment === undefined || appointment.patientId === null || isOfSeveralPatients(appointment)
      ? null
      : identity.subject(appointment.patientId);
  for (const from of changes) {
    if (from.removed === undefined) continue;
    if (isWritten(from)) replaced.set(from.recordId, from.recordId);
    const patient = identity.subjectIn(from.removed.fingerprint) ?? patientOf(from);
    if (isWritten(from) || patient === null) continue;
    const candidates = changes.filter(
      (to) =>
        to.removed === undefined &&
        isWritten(to) &&
        !replaced.has(to.recordId) &&
        patientOf(to) === patient &&
        areTogether(from, to),
    );
    const [best] = candidates.toSorted((one, other) => unlikeness(from, one) - unlikeness(from, other));
    if (best !== undefined) replaced.set(best.recordId, from.recordId);
  }
  return replaced;
}

/** Orders candidates: the same treatment, the same agenda, then the nearest creation. */
function unlikeness({ appointment: from, at }: Change, to: Change): number {
  const isSameTreatment = from?.treatmentId != null && from.treatmentId === to.appointment?.treatmentId;
  const agendas = to.appointment === undefined ? [] : agendasOf(to.appointment);
  const isSameAgenda = from !== undefined && agendas.some((id) => agendasOf(from).includes(id));
  return (isSameTreatment ? 0 : 2) + (isSameAgenda ? 0 : 1) + Math.abs(to.at - at) / Number.MAX_SAFE_INTEGER;
}
