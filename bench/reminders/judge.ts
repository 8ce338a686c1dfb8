import { allowedFor, isNight, localText } from './local-time.ts';
import {
  AGENDAS,
  type Happening,
  type PlannedRule,
  PROMISE,
  type ReceivedMessage,
  RULES,
  type TrueAppointment,
  type TruePatient,
} from './world-plan.ts';

/** Why a message should not have come. */
export type Wrong =
  | 'nothing-then'
  | 'cancelled'
  | 'arrived'
  | 'opted-out'
  | 'no-consent'
  | 'patient-gone'
  | 'rule'
  | 'night'
  | 'begun'
  | 'early'
  | 'late'
  | 'booked-late';

/** What the messages were worth. */
export interface Judgement {
  /** Messages that should not have come, by the reason. */
  wrong: Partial<Record<Wrong, number>>;
  /** Messages after the first message of one reminder. */
  double: number;
  /** Webhooks that came again under their id, which their receiver knows. */
  repeated: number;
  /** Names of the reminders that were received, as {@link reminderName} makes them. */
  received: ReadonlySet<string>;
}

/** Names a reminder in the judge's words. */
export function reminderName(appointmentId: string, startAt: number, rule: string, channel: string): string {
  return [appointmentId, startAt, rule, channel].join(' ');
}

/** The world as far as the history has been read. */
interface Known {
  appointments: Map<string, TrueAppointment>;
  patients: Map<string, TruePatient>;
  /** Patients by phone number and mail address. */
  byAddress: Map<string, TruePatient>;
  ofPatient: Map<string, Set<string>>;
  optedOut: Set<string>;
  /** When an appointment first had this start. */
  stoodSince: Map<string, number>;
  /** Cancellations already sent: recipient, time and channel. */
  toldCancelled: Set<string>;
}

/** Reads the history from its start and judges each message by the facts at its arrival. */
export function judge(history: readonly Happening[]): Judgement {
  const known: Known = {
    appointments: new Map(),
    patients: new Map(),
    byAddress: new Map(),
    ofPatient: new Map(),
    optedOut: new Set(),
    stoodSince: new Map(),
    toldCancelled: new Set(),
  };
  const wrong: Judgement['wrong'] = {};
  const messageIds = new Map<string, Set<string>>();
  const received = new Set<string>();
  let [double, repeated] = [0, 0];
  for (const happening of history) {
    if (happening.kind === 'listing') continue;
    if (happening.kind !== 'message') {
      learn(known, happening);
      continue;
    }
    const { message, at } = happening;
    if (message.correction === 'cancelled') known.toldCancelled.add(toldName(message));
    const isCorrection = message.correction !== null || known.toldCancelled.has(toldName(message));
    const about = appointmentTold(known, message);
    const reason = about === null ? 'nothing-then' : wrongOf(known, message, about, { at, isCorrection });
    if (reason !== null) wrong[reason] = (wrong[reason] ?? 0) + 1;
    const name = `${toldName(message)} ${message.rule} ${message.correction ?? isCorrection}`;
    const ids = messageIds.get(name) ?? new Set();
    if (message.channel === 'hook' && ids.has(message.messageId)) repeated += 1;
    else if (ids.size > 0) double += 1;
    messageIds.set(name, ids.add(message.messageId));
    if (about !== null && message.correction === null)
      received.add(reminderName(about.id, about.startAt, message.rule, message.channel));
  }
  return { wrong, double, repeated, received };
}

function learn(known: Known, happening: Exclude<Happening, { kind: 'message' | 'listing' }>): void {
  if (happening.kind === 'opt-out') known.optedOut.add(happening.address);
  else if (happening.kind === 'patient') learnPatient(known, happening.now);
  else if (happening.now === null) known.appointments.delete(happening.id);
  else {
    const { id, startAt, patientId } = happening.now;
    known.appointments.set(id, happening.now);
    known.ofPatient.set(patientId, (known.ofPatient.get(patientId) ?? new Set()).add(id));
    const stand = `${id} ${startAt}`;
    if (!known.stoodSince.has(stand)) known.stoodSince.set(stand, happening.at);
  }
}

function learnPatient({ patients, byAddress }: Known, patient: TruePatient): void {
  patients.set(patient.id, patient);
  for (const address of [patient.id, patient.phone, patient.email]) {
    if (address !== null) byAddress.set(address, patient);
  }
}

function toldName({ to, told, channel }: ReceivedMessage): string {
  return [to, told, channel].join(' ');
}

/** The appointment that the message speaks of, as it stands now: of this patient, at this local time. */
function appointmentTold(known: Known, { to, told }: ReceivedMessage): TrueAppointment | null {
  const patient = known.byAddress.get(to);
  for (const id of known.ofPatient.get(patient?.id ?? '') ?? []) {
    const appointment = known.appointments.get(id);
    if (appointment !== undefined && localText(appointment.startAt, zoneOf(appointment)) === told) return appointment;
  }
  return null;
}

function zoneOf({ agendaId }: TrueAppointment): string {
  return AGENDAS[agendaId]?.zone ?? 'UTC';
}

function wrongOf(
  known: Known,
  message: ReceivedMessage,
  about: TrueAppointment,
  { at, isCorrection }: { at: number; isCorrection: boolean },
): Wrong | null {
  const { id, startAt, status, patientId, agendaId } = about;
  const rule = RULES.find((each) => each.id === message.rule);
  const patient = known.patients.get(patientId);
  if (rule === undefined || !rule.agendas.includes(agendaId) || !rule.channels.includes(message.channel)) return 'rule';
  if ((status === 'cancelled') !== (message.correction === 'cancelled')) return 'cancelled';
  if (status !== 'booked' && status !== 'confirmed' && status !== 'cancelled') return 'arrived';
  if (message.channel !== 'hook' && known.optedOut.has(message.to)) return 'opted-out';
  if (message.channel === 'text' && patient?.agreed !== true) return 'no-consent';
  if (message.channel !== 'hook' && patient?.isActive !== true) return 'patient-gone';
  if (isNight(at, zoneOf(about))) return 'night';
  if (isCorrection) return at >= startAt ? 'begun' : null;
  return lateOrEarly(rule, about, { at, stoodSince: known.stoodSince.get(`${id} ${startAt}`) ?? Number.NaN });
}

function lateOrEarly(
  rule: PlannedRule,
  about: TrueAppointment,
  { at, stoodSince }: { at: number; stoodSince: number },
): Wrong | null {
  if (at >= about.startAt) return 'begun';
  const allowed = allowedFor(rule, about.startAt, zoneOf(about));
  if (allowed === null) return 'night';
  if (at < allowed.fromAt) return 'early';
  if (at > allowed.untilAt) return 'late';
  return stoodSince <= allowed.fromAt - PROMISE.leadMinutes * 60_000 ? null : 'booked-late';
}
