import type { Deed } from './scenario.ts';
import { AGENDAS, type Happening, remaining, type TrueAppointment, type TruePatient } from './world-plan.ts';

/** The clinics' truth at the simulated moment, and everything that happened, in order. */
export interface World {
  /** The simulated moment, epoch ms. */
  now: number;
  readonly appointments: Map<string, TrueAppointment>;
  readonly patients: Map<string, TruePatient>;
  readonly history: Happening[];
  /** The clinic answers nothing. */
  isAway: boolean;
  /** Fault of the next list: none, truncated with an indication, or truncated without one. */
  nextList: 'whole' | 'truncated' | 'truncated-silently';
  /** Answers that come this late, one each; then at once. */
  readonly slowAnswersMs: number[];
}

/** An empty one. */
export function createWorld(now: number): World {
  return {
    now,
    appointments: new Map(),
    patients: new Map(),
    history: [],
    isAway: false,
    nextList: 'whole',
    slowAnswersMs: [],
  };
}

/** Does what the clinic or a patient does; a reply is left to the caller. */
export function carryOut(world: World, deed: Exclude<Deed, { do: 'reply' | 'read' }>): void {
  const { appointments, patients, history } = world;
  const { at } = deed;
  const save = (appointment: TrueAppointment) => {
    appointments.set(appointment.id, appointment);
    history.push({ at, kind: 'appointment', id: appointment.id, now: appointment });
  };
  if (deed.do === 'save') {
    // The desk works with the record that remains.
    const patientId = remaining(patients, deed.appointment.patientId)?.id ?? deed.appointment.patientId;
    save({ ...deed.appointment, patientId });
  } else if (deed.do === 'merge') {
    const merged = patients.get(deed.id);
    if (merged === undefined || merged.mergedInto !== undefined) return;
    for (const now of [
      { ...merged, id: deed.into },
      { ...merged, mergedInto: deed.into },
    ]) {
      patients.set(now.id, now);
      history.push({ at, kind: 'patient', id: now.id, now });
    }
    const own = deed.withAppointments ? [...appointments.values()] : [];
    for (const one of own) if (one.patientId === deed.id) save({ ...one, patientId: deed.into });
  } else if (deed.do === 'delete') {
    appointments.delete(deed.id);
    history.push({ at, kind: 'appointment', id: deed.id, now: null });
  } else if (patients.get(deed.patient.id)?.mergedInto === undefined) {
    patients.set(deed.patient.id, deed.patient);
    history.push({ at, kind: 'patient', id: deed.patient.id, now: deed.patient });
  }
}

/** The tenant that an appointment belongs to. */
export function tenantOf({ agendaId }: TrueAppointment): string {
  return AGENDAS[agendaId]?.tenant ?? '';
}
