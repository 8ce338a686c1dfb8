import { localText } from './local-time.ts';
import { AGENDAS, type Happening, type ReceivedMessage, type TrueAppointment, type TruePatient } from './world-plan.ts';

/** Messages to patients, and their corrections when the information became wrong. */
export interface ToldJudgement {
  /** Appointments and channels by which a patient got a message. */
  told: number;
  /** Messages that corrected one before. */
  corrected: number;
  /** Appointments and channels that the product showed as wrong information. */
  listed: number;
  /** Appointments and channels whose last message was wrong in two full reads of the clinic, and that the product did not report. */
  false: readonly string[];
}

interface Told {
  message: ReceivedMessage;
  about: TrueAppointment;
  /** Number of reads with a wrong message and the current state of the appointment. */
  readings: number;
}

/** Compares the last message of each appointment and channel with the clinic, at each full read. */
export function judgeTold(history: readonly Happening[]): ToldJudgement {
  const appointments = new Map<string, TrueAppointment>();
  const patients = new Map<string, TruePatient>();
  const last = new Map<string, Told>();
  const [seen, listed, wrong] = [new Set<string>(), new Set<string>(), new Set<string>()];
  let corrected = 0;
  for (const happening of history) {
    switch (happening.kind) {
      case 'patient':
        patients.set(happening.id, happening.now);
        break;
      case 'appointment':
        if (happening.now === null) appointments.delete(happening.id);
        else appointments.set(happening.id, happening.now);
        for (const [name, told] of last) if (name.startsWith(`${happening.id} `)) told.readings = 0;
        break;
      case 'message': {
        const { message } = happening;
        const about = aboutOf(message, appointments, patients, last);
        if (about === null) break;
        const name = `${about.id} ${message.channel}`;
        if (message.correction !== null) corrected += 1;
        seen.add(name);
        last.set(name, { message, about, readings: 0 });
        break;
      }
      case 'listing': {
        const shown = new Set(happening.listed);
        for (const name of shown) listed.add(name);
        for (const [name, told] of last) {
          if (AGENDAS[told.about.agendaId]?.tenant !== happening.tenant) continue;
          told.readings = isFalse(told, appointments.get(told.about.id), happening.at) ? told.readings + 1 : 0;
          if (told.readings > 1 && !shown.has(name)) wrong.add(name);
        }
      }
    }
  }
  return { told: seen.size, corrected, listed: listed.size, false: [...wrong] };
}

/** Returns the patient's appointment to which a message refers: by its current state, or by its last message. */
function aboutOf(
  { to, told, channel, correction }: ReceivedMessage,
  appointments: ReadonlyMap<string, TrueAppointment>,
  patients: ReadonlyMap<string, TruePatient>,
  last: ReadonlyMap<string, Told>,
): TrueAppointment | null {
  const own = [...appointments.values()].filter(({ patientId }) => {
    const patient = patients.get(patientId);
    return to === patientId || to === patient?.phone || to === patient?.email;
  });
  const before = own.find(({ id }) => last.get(`${id} ${channel}`)?.message.told === told);
  return (correction === 'cancelled' ? before : own.find((one) => textOf(one) === told)) ?? null;
}

function isFalse({ message, about }: Told, now: TrueAppointment | undefined, at: number): boolean {
  if (now === undefined || now.status === 'cancelled') return message.correction !== 'cancelled' && about.startAt > at;
  // A change after the announced time concerns another visit.
  if ((now.status !== 'booked' && now.status !== 'confirmed') || now.updatedAt >= about.startAt) return false;
  return now.startAt > at && (message.correction === 'cancelled' || textOf(now) !== message.told);
}

function textOf({ startAt, agendaId }: TrueAppointment): string {
  return localText(startAt, AGENDAS[agendaId]?.zone ?? 'UTC');
}
