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
  /** Of these, the ones shown because the sender reports another patient, which never happens. */
  strangers: number;
  /** Appointments and channels whose last message was wrong in two full reads of the clinic, and that the product did not report. */
  false: readonly string[];
}

/** The longest time between two reads: an hour, or the clinic or all workers are away. */
const BETWEEN_READS_MS = 4 * 3_600_000;

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
  const replacedBy = new Map<string, string>();
  const gone = new Map<string, TrueAppointment>();
  /** When an appointment was booked, and when it was last gone. */
  const changedAt = new Map<string, { bookedAt: number; goneAt: number | null }>();
  const [seen, listed, wrong, strangers, begunByMove, corrections] = Array.from(
    { length: 6 },
    () => new Set<string>(),
  ) as Sets;
  let corrected = 0;
  for (const happening of history) {
    switch (happening.kind) {
      case 'patient':
        patients.set(happening.id, happening.now);
        break;
      case 'appointment':
        learn({ appointments, gone, replacedBy }, happening);
        changedAt.set(happening.id, {
          bookedAt: changedAt.get(happening.id)?.bookedAt ?? happening.at,
          goneAt: happening.now === null || happening.now.status === 'cancelled' ? happening.at : null,
        });
        for (const [name, told] of last) if (name.startsWith(`${happening.id} `)) told.readings = 0;
        break;
      case 'message': {
        const { message } = happening;
        const about = aboutOf(message, appointments, patients, last);
        if (about === null) break;
        const name = `${about.id} ${message.channel}`;
        if (message.correction !== null) {
          corrected += 1;
          corrections.add(name);
        }
        if (message.correction === 'moved' && !seen.has(name)) begunByMove.add(name);
        seen.add(name);
        last.set(name, { message, about, readings: 0 });
        break;
      }
      case 'listing': {
        const shown = new Set(happening.listed);
        for (const name of happening.strangers ?? []) strangers.add(name);
        for (const name of shown) listed.add(name);
        for (const [name, told] of last) {
          if (AGENDAS[told.about.agendaId]?.tenant !== happening.tenant) continue;
          const { id } = told.about;
          const { channel } = told.message;
          const next = replacementsOf(replacedBy, id).flatMap((one) => appointments.get(one) ?? []);
          const chance = byChance(told, appointments, changedAt);
          const isSettled =
            next.some((one) => isTold(one, told, corrections) || hasBegun(one, happening.at)) ||
            chance.some((one) => begunByMove.has(`${one.id} ${channel}`));
          const isStillFalse = !isSettled && isFalse(told, appointments.get(id), happening.at);
          told.readings = isStillFalse ? told.readings + 1 : 0;
          const isShown = [id, ...[...next, ...chance].map((one) => one.id)].some((one) =>
            shown.has(`${one} ${channel}`),
          );
          if (told.readings > 1 && !isShown) wrong.add(name);
        }
      }
    }
  }
  return { told: seen.size, corrected, listed: listed.size, strangers: strangers.size, false: [...wrong] };
}

type Sets = [Set<string>, Set<string>, Set<string>, Set<string>, Set<string>, Set<string>];

/** Keeps a deleted appointment as cancelled if another one replaces it. */
function learn(
  known: {
    appointments: Map<string, TrueAppointment>;
    gone: Map<string, TrueAppointment>;
    replacedBy: Map<string, string>;
  },
  { id, now }: Extract<Happening, { kind: 'appointment' }>,
): void {
  const { appointments, gone, replacedBy } = known;
  const before = appointments.get(id);
  if (now !== null) {
    appointments.set(id, now);
    if (now.replaces !== undefined) replacedBy.set(now.replaces, id);
  } else if (before !== undefined) {
    appointments.delete(id);
    gone.set(id, { ...before, status: 'cancelled' });
  }
  for (const one of [id, now?.replaces ?? '']) {
    const replaced = gone.get(one);
    if (replaced !== undefined && replacedBy.has(one) && !appointments.has(one)) appointments.set(one, replaced);
  }
}

/**
 * A visit of the patient was cancelled and another one booked between two reads, by chance: no one can distinguish that from a move.
 * @returns the others that a first correction may tell, or the desk may be shown
 */
function byChance(
  { about }: Told,
  appointments: ReadonlyMap<string, TrueAppointment>,
  changedAt: ReadonlyMap<string, { bookedAt: number; goneAt: number | null }>,
): TrueAppointment[] {
  const goneAt = changedAt.get(about.id)?.goneAt ?? Number.NaN;
  return [...appointments.values()].filter(
    ({ id, agendaId, patientId }) =>
      agendaId === about.agendaId &&
      patientId === about.patientId &&
      Math.abs((changedAt.get(id)?.bookedAt ?? Number.NaN) - goneAt) <= BETWEEN_READS_MS,
  );
}

/** The patient knows the visit that replaces the one of a message: by the same time, or by a correction. */
function isTold(next: TrueAppointment, { message }: Told, corrections: ReadonlySet<string>): boolean {
  return textOf(next) === message.told || corrections.has(`${next.id} ${message.channel}`);
}

function hasBegun({ startAt, status }: TrueAppointment, at: number): boolean {
  return status !== 'cancelled' && startAt <= at;
}

/** The ids that replace an id, one after the other. */
function replacementsOf(replacedBy: ReadonlyMap<string, string>, id: string): string[] {
  const next = replacedBy.get(id);
  return next === undefined ? [] : [next, ...replacementsOf(replacedBy, next)];
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
  const alike = own.filter((one) => textOf(one) === told);
  // A visit that was booked again at the same time is in the list with the cancelled one.
  const active = alike.find(({ status }) => status !== 'cancelled') ?? alike[0];
  return (correction === 'cancelled' ? before : active) ?? null;
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
