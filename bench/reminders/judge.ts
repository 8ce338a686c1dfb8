import { allowedFor, isNight, localText } from './local-time.ts';
import {
  AGENDAS,
  type Happening,
  type PlannedRule,
  PROMISE,
  type ReceivedMessage,
  RULES,
  remaining,
  type TrueAppointment,
  type TruePatient,
} from './world-plan.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** A correction of a visit that begins within so long has no limit. */
const SOON_MS = 45 * MINUTE_MS;

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
  /** Corrections above the limit of their recipient. */
  flooded: number;
  /** Cancellations of a visit that already has another id. */
  split: number;
  /** Names of the reminders that were received, as {@link reminderName} makes them. */
  received: ReadonlySet<string>;
  /** Names of the reminders whose time a correction told shortly before them, or while they were allowed. */
  corrected: ReadonlySet<string>;
}

/** Names a reminder in the judge's words. */
export function reminderName(appointmentId: string, startAt: number, rule: string, channel: string): string {
  return [appointmentId, startAt, rule, channel].join(' ');
}

/** The world as far as the history has been read. */
interface Known {
  appointments: Map<string, TrueAppointment>;
  patients: Map<string, TruePatient>;
  /** Ids of patients by phone number and mail address. */
  byAddress: Map<string, Set<string>>;
  ofPatient: Map<string, Set<string>>;
  optedOut: Set<string>;
  /** When an appointment first had this start. */
  stoodSince: Map<string, number>;
  /** Appointments that are gone from the clinic. */
  gone: Map<string, TrueAppointment>;
  /** When an appointment was last booked, moved or cancelled. */
  changedAt: Map<string, number>;
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
    gone: new Map(),
    changedAt: new Map(),
    toldCancelled: new Set(),
  };
  const wrong: Judgement['wrong'] = {};
  const messageIds = new Map<string, Set<string>>();
  const received = new Set<string>();
  const corrected = new Set<string>();
  const corrections: CorrectionLine[] = [];
  const lineCounts = new Map<string, number>();
  for (const one of history) {
    if (one.kind === 'message') lineCounts.set(idOf(one.message), (lineCounts.get(idOf(one.message)) ?? 0) + 1);
  }
  let [double, repeated, split] = [0, 0, 0];
  for (const happening of history) {
    if (happening.kind === 'listing') continue;
    if (happening.kind !== 'message') {
      learn(known, happening);
      continue;
    }
    const { message, at } = happening;
    if (message.correction === 'cancelled') known.toldCancelled.add(toldName(message));
    const about = appointmentTold(known, message);
    const isCorrection = message.correction !== null || wasCancelled(known, message, about);
    const reason =
      about === null
        ? 'nothing-then'
        : wrongOf(known, message, about, { at, isCorrection, isListed: (lineCounts.get(idOf(message)) ?? 0) > 1 });
    if (reason !== null) wrong[reason] = (wrong[reason] ?? 0) + 1;
    const name = `${toldName(message)} ${message.rule} ${message.correction ?? isCorrection}`;
    const ids = messageIds.get(name) ?? new Set();
    if (message.channel === 'hook' && ids.has(message.messageId)) repeated += 1;
    else if (ids.size > 0) double += 1;
    messageIds.set(name, ids.add(message.messageId));
    if (about !== null && message.correction === null)
      received.add(reminderName(about.id, about.startAt, message.rule, message.channel));
    if (about === null || !isCorrection) continue;
    if (message.correction === 'cancelled' && isReplaced(known, about, at)) split += 1;
    // After a cancellation that was taken back, the text of the reminder is the correction.
    if (message.correction !== 'cancelled') for (const name of toldBy(about, message, at)) corrected.add(name);
    const isStill = at - (known.changedAt.get(about.id) ?? at) >= PROMISE.stillMinutes * MINUTE_MS;
    corrections.push({ at, message, isStill, isSoon: about.startAt - at < SOON_MS });
  }
  return { wrong, double, repeated, received, corrected, split, flooded: floodedOf(corrections) };
}

/** The patient was told a cancellation of this time, or of the visit that this one replaces. */
function wasCancelled(known: Known, message: ReceivedMessage, about: TrueAppointment | null): boolean {
  const replaced = known.appointments.get(about?.replaces ?? '');
  const before = replaced === undefined ? message.told : localText(replaced.startAt, zoneOf(replaced));
  return [message.told, before].some((told) => known.toldCancelled.has(toldName({ ...message, told })));
}

/** A correction, or a line of a list of them. */
interface CorrectionLine {
  at: number;
  message: ReceivedMessage;
  /** The visit did not change in the last minutes. */
  isStill: boolean;
  /** No limit holds for a visit that begins so soon. */
  isSoon: boolean;
}

/** Counts messages that came in spite of the corrections of the hour before: after two only one, about a visit that no longer moves. */
function floodedOf(corrections: readonly CorrectionLine[]): number {
  const byMessage = Map.groupBy(corrections, ({ message }) => idOf(message));
  const sent = new Map<string, number[]>();
  let flooded = 0;
  for (const lines of byMessage.values()) {
    const [{ at, message } = { at: 0, message: undefined }] = lines;
    if (message === undefined || message.channel === 'hook') continue;
    const before = (sent.get(message.to) ?? []).filter((each) => each > at - HOUR_MS);
    sent.set(message.to, [...before, at]);
    if (lines.some(({ isSoon }) => isSoon) || before.length < PROMISE.correctionsPerHour) continue;
    if (before.length > PROMISE.correctionsPerHour || !lines.some(({ isStill }) => isStill)) flooded += 1;
  }
  return flooded;
}

function isReplaced({ appointments }: Known, about: TrueAppointment, at: number): boolean {
  return [...appointments.values()].some(
    ({ replaces, status, startAt }) => replaces === about.id && status === 'booked' && startAt > at,
  );
}

function toldBy(about: TrueAppointment, { channel }: ReceivedMessage, at: number): string[] {
  return RULES.flatMap((rule) => {
    const allowed = allowedFor(rule, about.startAt, zoneOf(about));
    const isTold =
      allowed !== null && at <= allowed.untilAt && at >= allowed.fromAt - PROMISE.toldByCorrectionMinutes * MINUTE_MS;
    return isTold ? [reminderName(about.id, about.startAt, rule.id, channel)] : [];
  });
}

function learn(known: Known, happening: Exclude<Happening, { kind: 'message' | 'listing' }>): void {
  if (happening.kind === 'opt-out') known.optedOut.add(happening.address);
  else if (happening.kind === 'patient') learnPatient(known, happening.now);
  else if (happening.now === null) {
    const gone = known.appointments.get(happening.id);
    known.appointments.delete(happening.id);
    if (gone === undefined) return;
    known.gone.set(happening.id, { ...gone, status: 'cancelled' });
    keepReplaced(known, happening.id);
  } else {
    const { id, startAt, patientId } = happening.now;
    const before = known.appointments.get(id);
    if (before?.startAt !== startAt || before.status !== happening.now.status) known.changedAt.set(id, happening.at);
    known.appointments.set(id, happening.now);
    keepReplaced(known, happening.now.replaces);
    known.ofPatient.set(patientId, (known.ofPatient.get(patientId) ?? new Set()).add(id));
    const stand = `${id} ${startAt}`;
    if (!known.stoodSince.has(stand)) known.stoodSince.set(stand, happening.at);
  }
}

/** Messages about a deleted visit remain messages about the one that replaces it. */
function keepReplaced({ appointments, gone }: Known, id: string | undefined): void {
  const replaced = id === undefined ? undefined : gone.get(id);
  if (replaced !== undefined && [...appointments.values()].some(({ replaces }) => replaces === id))
    appointments.set(replaced.id, replaced);
}

function learnPatient({ patients, byAddress }: Known, patient: TruePatient): void {
  patients.set(patient.id, patient);
  for (const address of [patient.id, patient.phone, patient.email]) {
    if (address !== null) byAddress.set(address, (byAddress.get(address) ?? new Set()).add(patient.id));
  }
}

function idOf({ to, channel, messageId }: ReceivedMessage): string {
  return [to, channel, messageId].join(' ');
}

function toldName({ to, told, channel }: ReceivedMessage): string {
  return [to, told, channel].join(' ');
}

/** The appointment that the message speaks of, as it stands now: of this patient, at this local time. */
function appointmentTold(known: Known, { to, told, correction }: ReceivedMessage): TrueAppointment | null {
  const ids = [...(known.byAddress.get(to) ?? [])].flatMap((patientId) => [...(known.ofPatient.get(patientId) ?? [])]);
  const all = ids.flatMap((id) => known.appointments.get(id) ?? []);
  const alike = all.filter((one) => localText(one.startAt, zoneOf(one)) === told);
  // A visit that was booked again at the same time exists with the cancelled one.
  return alike.find(({ status }) => (status === 'cancelled') === (correction === 'cancelled')) ?? alike[0] ?? null;
}

function zoneOf({ agendaId }: TrueAppointment): string {
  return AGENDAS[agendaId]?.zone ?? 'UTC';
}

function wrongOf(
  known: Known,
  message: ReceivedMessage,
  about: TrueAppointment,
  { at, isCorrection, isListed }: { at: number; isCorrection: boolean; isListed: boolean },
): Wrong | null {
  const { id, startAt, status, patientId, agendaId } = about;
  const isOf = (each: PlannedRule) => each.agendas.includes(agendaId) && each.channels.includes(message.channel);
  const rule = RULES.find((each) => (message.rule === '' ? isCorrection && isOf(each) : each.id === message.rule));
  const patient = remaining(known.patients, patientId);
  if (rule === undefined || !isOf(rule)) return 'rule';
  if ((status === 'cancelled') !== (message.correction === 'cancelled')) return 'cancelled';
  if (status !== 'booked' && status !== 'confirmed' && status !== 'cancelled') return 'arrived';
  if (message.channel !== 'hook' && known.optedOut.has(message.to)) return 'opted-out';
  if (message.channel === 'text' && patient?.agreed !== true) return 'no-consent';
  if (message.channel !== 'hook' && patient?.isActive !== true) return 'patient-gone';
  if (isNight(at, zoneOf(about))) return 'night';
  if (isCorrection) return at >= startAt ? 'begun' : null;
  return lateOrEarly(rule, about, { at, isListed, stoodSince: known.stoodSince.get(`${id} ${startAt}`) ?? Number.NaN });
}

function lateOrEarly(
  rule: PlannedRule,
  about: TrueAppointment,
  { at, isListed, stoodSince }: { at: number; isListed: boolean; stoodSince: number },
): Wrong | null {
  if (at >= about.startAt) return 'begun';
  const allowed = allowedFor(rule, about.startAt, zoneOf(about));
  if (allowed === null) return 'night';
  // A list is as late as its first visit.
  const earliestAt = allowed.fromAt - (isListed ? PROMISE.togetherMinutes * MINUTE_MS : 0);
  if (at < earliestAt) return 'early';
  if (at > allowed.untilAt) return 'late';
  return stoodSince <= allowed.fromAt - PROMISE.leadMinutes * MINUTE_MS ? null : 'booked-late';
}
