import type { Appointment } from './records.ts';
import type { Lookup } from './snapshots.ts';

/**
 * Separates the two ids in the id of a visit. Clinic ids never contain this text. It ends with another character than it begins with, so
 * that no id before it can be read as its beginning.
 */
export const VISIT_SEPARATOR = '~patient:';

/**
 * Returns the id of one patient's visit in an appointment of several patients. It depends on both ids only: the order of the patients, and
 * patients who come or leave, change no other patient's visit.
 */
export function visitId(appointmentId: string, patientId: string): string {
  return `${appointmentId}${VISIT_SEPARATOR}${patientId}`;
}

/** Returns the clinic's ids in the id of a visit; null for an id of the clinic. */
export function partsOf(id: string): { appointmentId: string; patientId: string } | null {
  const at = id.indexOf(VISIT_SEPARATOR);
  if (at === -1) return null;
  return { appointmentId: id.slice(0, at), patientId: id.slice(at + VISIT_SEPARATOR.length) };
}

/** Returns the clinic's id of an appointment or of a visit in it. */
export function appointmentIdOf(id: string): string {
  return partsOf(id)?.appointmentId ?? id;
}

/** Returns every patient of an appointment, as far as the profile uses them. */
export function patientsOf({
  patientId,
  patientIds,
}: Pick<Appointment, 'patientId' | 'patientIds'>): readonly string[] {
  return patientIds ?? (patientId === null ? [] : [patientId]);
}

/** Returns whether the clinic names several patients for a row, whatever the profile does with them. */
export function isOfSeveralPatients({ patientIds, cut }: Pick<Appointment, 'patientIds' | 'cut'>): boolean {
  return patientIds !== undefined || cut?.includes('patientId') === true;
}

/** Returns the appointments with values that the profile does not use. */
export function cutRecords(appointments: Iterable<Appointment>): Appointment[] {
  const lacking: Appointment[] = [];
  for (const appointment of appointments) if (appointment.cut !== undefined) lacking.push(appointment);
  return lacking;
}

/** Returns whether other patients share the appointment or the appointment of the visit, so that a patient's answer concerns them too. */
export function isShared(appointment: Pick<Appointment, 'id' | 'patientIds' | 'cut'>): boolean {
  return partsOf(appointment.id) !== null || isOfSeveralPatients(appointment);
}

/** Returns the visits of an appointment: one for each of several patients, otherwise the appointment itself. */
export function visitsOf(appointment: Appointment): readonly Appointment[] {
  const { patientIds, ...rest } = appointment;
  if (patientIds === undefined) return [appointment];
  return patientIds.map((patientId) => ({ ...rest, id: visitId(rest.id, patientId), patientId, patient: null }));
}

/**
 * Returns a list with the visits of several patients in addition to their appointments, for users of records of one patient each. They
 * exclude the appointment itself.
 */
export function withVisits<List extends { records: ReadonlyMap<string, Appointment> }>(list: List): List {
  const visits: Appointment[] = [];
  for (const one of list.records.values()) if (one.patientIds !== undefined) visits.push(...visitsOf(one));
  if (visits.length === 0) return list;
  return { ...list, records: new Map([...list.records, ...visits.map((visit) => [visit.id, visit] as const)]) };
}

/**
 * Returns what a cycle learned, without the end of visits whose patient is the only one left: the appointment is now this patient's record.
 * Each of these visits remains as a record without new messages, so that sent messages stay comparable.
 */
export function withLastPatients(records: ReadonlyMap<string, Appointment>, vanished: ReadonlySet<string>) {
  const remaining = [...vanished].flatMap((id): Appointment[] => {
    const { appointmentId = '', patientId = '' } = partsOf(id) ?? {};
    const appointment = records.get(appointmentId);
    return appointment?.patientId === patientId ? [{ ...appointment, id, patientIds: [patientId] }] : [];
  });
  if (remaining.length === 0) return { records, vanished };
  const ids = new Set(remaining.map(({ id }) => id));
  return {
    records: new Map([...records, ...remaining.map((one) => [one.id, one] as const)]),
    vanished: new Set([...vanished].filter((id) => !ids.has(id))),
  };
}

/** Returns a single read of appointments that also finds visits. A visit of a patient whom the appointment no longer names is absent. */
export function readingVisits(
  read: (id: string, signal: AbortSignal) => Promise<Lookup<Appointment>>,
): (id: string, signal: AbortSignal) => Promise<Lookup<Appointment>> {
  return async (id, signal) => {
    const answer = await read(appointmentIdOf(id), signal);
    if ('unusable' in answer || partsOf(id) === null) return answer;
    const appointment = 'found' in answer ? answer.found : answer.deleted;
    const visit = appointment && visitsOf(appointment).find((one) => one.id === id);
    if (visit === undefined) return { absent: true };
    return 'found' in answer ? { found: visit } : { absent: true, deleted: visit };
  };
}
