import type { Deed } from './scenario.ts';
import { AGENDAS, type Happening, type TrueAppointment, type TruePatient } from './world-plan.ts';

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
export function carryOut({ appointments, patients, history }: World, deed: Exclude<Deed, { do: 'reply' }>): void {
  const { at } = deed;
  if (deed.do === 'save') {
    appointments.set(deed.appointment.id, deed.appointment);
    history.push({ at, kind: 'appointment', id: deed.appointment.id, now: deed.appointment });
  } else if (deed.do === 'delete') {
    appointments.delete(deed.id);
    history.push({ at, kind: 'appointment', id: deed.id, now: null });
  } else {
    patients.set(deed.patient.id, deed.patient);
    history.push({ at, kind: 'patient', id: deed.patient.id, now: deed.patient });
  }
}

/** The tenant that an appointment belongs to. */
export function tenantOf({ agendaId }: TrueAppointment): string {
  return AGENDAS[agendaId]?.tenant ?? '';
}
