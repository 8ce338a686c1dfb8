import { type Appointment, agendasOf } from '../../core/model/records.ts';
import type { LedgerEntry } from '../../core/model/reminders.ts';
import { DAY_MS, HOUR_MS, type Instant, MINUTE_MS, SECOND_MS } from '../../core/model/time.ts';
import type { ClinicSource } from '../../domain/clinic-requests.ts';
import type { SeenByPatients } from './corrections.ts';
import type { ObservedVisit } from './message-ledger.ts';
import type { OpenReminders } from './ports.ts';
import { isSameRecipient, type ReadPatient, readThrough } from './recipients.ts';

/** Time after its start for which an appointment is kept, as in the ledger. */
const RETENTION_MS = 2 * DAY_MS;

/** Patients read in one cycle to find a merge, and the time for all of them. Project choice: a merge concerns one or two. */
const MOST_READ = 10;
const READING_MS = 30 * SECOND_MS;

/** Appointments of patients who have a reminder, as earlier cycles and this cycle found them. */
type Observations = ReadonlyMap<string, ObservedVisit>;

/** Result of a cycle that reschedules use. */
interface SeenLists extends SeenByPatients {
  /** Appointments with a reminder in the next days. */
  watched: Iterable<string>;
  /** End of the window of a complete list of all appointments; null for another list. */
  coveredUntilAt: Instant | null;
}

/** Announced appointments that do not take place, with their messages and observations. */
interface Notified {
  messages: ReadonlyMap<string, readonly LedgerEntry[]>;
  /** Patient of each watched appointment. */
  patients: ReadonlyMap<string, string>;
  observed: Observations;
}

/**
 * Recognises a move under another id: an appointment that a patient was told of is cancelled or deleted, and a new appointment of the
 * patient, with the same treatment or agenda, was found within `rescheduleWithinMinutes`, in either order; or the clinic changed both within
 * that time. The messages are then about the new appointment, so that one correction announces the move.
 */
export async function followReschedules(
  { readPatient }: { readPatient: ClinicSource['readPatient'] },
  reminders: OpenReminders,
  seen: SeenLists,
  now: Instant,
): Promise<void> {
  const { ledger, file } = reminders;
  const { watched, coveredUntilAt } = seen;
  if (file.rescheduleWithinMinutes === 0) return;
  const notified = await ledger.notifiedSince(now);
  const ids = new Set([...watched, ...notified]);
  if (ids.size === 0) return;
  const before = await ledger.observed();
  const isWhole = coveredUntilAt !== null;
  const missing = notified.filter((id) => isGone(seen, id) || (isWhole && !seen.appointments.has(id)));
  const messages = await ledger.ofAppointments(missing);
  const patients = patientsOf(reminders, seen, ids, messages);
  const observed = observe(seen, { ids, patients }, { ...before, isWhole }, now);
  const changes = new Map<string, ObservedVisit | null>(observed);
  for (const [id, { startAt }] of before.visits) {
    if (!observed.has(id) && startAt < now - RETENTION_MS) changes.set(id, null);
  }
  const covered = coveredUntilAt ?? before.coveredUntilAt;
  const isCoverageOld = Math.abs(covered - before.coveredUntilAt) > HOUR_MS;
  if (changes.size > 0 || isCoverageOld) await ledger.storeObserved(changes, covered);
  const signal = AbortSignal.timeout(READING_MS);
  let unread = MOST_READ;
  const read: ReadPatient = async (id) => (unread-- > 0 ? readThrough(readPatient, id, signal) : null);
  const all = { messages, patients, observed: new Map([...before.visits, ...observed]) };
  const pairs = [...messages.keys()].map((from) => movesOf(reminders, seen, { ...all, from, read }, now));
  await followAll(reminders, messages, (await Promise.all(pairs)).flat(), now);
}

function isGone({ appointments, vanished }: SeenByPatients, id: string): boolean {
  return vanished.has(id) || appointments.get(id)?.status === 'cancelled';
}

/** A deleted appointment names no patient: the proofs of its messages do. */
function patientsOf(
  { proofs }: OpenReminders,
  { appointments }: SeenByPatients,
  ids: ReadonlySet<string>,
  messages: Notified['messages'],
): Map<string, string> {
  const all = new Set([...appointments.values()].flatMap(({ patientId }) => patientId ?? []));
  const patients = new Map<string, string>();
  for (const id of ids) {
    const appointment = appointments.get(id);
    const message = messages.get(id)?.find(({ patientProof }) => patientProof !== null);
    const patient =
      appointment === undefined && message !== undefined
        ? [...all].find((one) => proofs.patient(message.id, one) === message.patientProof)
        : appointment?.patientId;
    if (patient != null) patients.set(id, patient);
  }
  return patients;
}

/**
 * Returns new and changed appointments of the watched patients. An appointment is new if an earlier complete list with its day showed other
 * appointments of the patient, but not this one.
 */
function observe(
  seen: SeenByPatients,
  watched: { ids: ReadonlySet<string>; patients: Notified['patients'] },
  { visits, coveredUntilAt, isWhole }: { visits: Observations; coveredUntilAt: Instant; isWhole: boolean },
  now: Instant,
): Map<string, ObservedVisit> {
  const observed = new Set([...watched.patients].flatMap(([id, patient]) => (visits.has(id) ? [patient] : [])));
  const patients = new Set(watched.patients.values());
  const changes = new Map<string, ObservedVisit>();
  const store = (id: string, one: ObservedVisit) => {
    if (JSON.stringify(one) !== JSON.stringify(visits.get(id))) changes.set(id, one);
  };
  for (const appointment of seen.appointments.values()) {
    const { id, patientId, treatmentId, time } = appointment;
    if (patientId === null || !patients.has(patientId)) continue;
    const before = visits.get(id);
    const isNew = observed.has(patientId) && time.startAt < coveredUntilAt;
    if (before === undefined && !isNew && !isWhole) continue;
    const goneAt = isGone(seen, id) ? (before?.goneAt ?? now) : null;
    const { foundAt = now } = before ?? {};
    store(id, {
      foundAt,
      isNew: before?.isNew ?? isNew,
      startAt: time.startAt,
      agendaIds: agendasOf(appointment),
      treatmentId,
      goneAt,
    });
  }
  for (const id of watched.ids) {
    const before = visits.get(id);
    const isMissing = !seen.appointments.has(id) && (isWhole || seen.vanished.has(id));
    if (before !== undefined && isMissing) store(id, { ...before, goneAt: before.goneAt ?? now });
  }
  return changes;
}

/** A possible move, with the order of preference. */
interface Move {
  from: string;
  to: string;
  /** 0 for the same treatment, 1 for the same agenda. */
  likeness: number;
  distanceMs: number;
}

/** Returns the possible moves of an announced appointment. */
async function movesOf(
  reminders: OpenReminders,
  seen: SeenByPatients,
  { messages, patients, observed, from, read }: Notified & { from: string; read: ReadPatient },
  now: Instant,
): Promise<Move[]> {
  const gone = observed.get(from);
  const entries = messages.get(from) ?? [];
  if (gone?.goneAt == null || !isGone(seen, from) || entries.some(({ answer }) => answer?.is === 'cancelled'))
    return [];
  const { goneAt, startAt } = gone;
  const windowMs = reminders.file.rescheduleWithinMinutes * MINUTE_MS;
  const isInWindow = (at: Instant | null | undefined, of: Instant | null = goneAt) =>
    at != null && of !== null && Math.abs(at - of) <= windowMs;
  const changedAt = seen.appointments.get(from)?.updatedAt ?? null;
  const isNewOf = ({ id, updatedAt }: Appointment) =>
    observed.get(id)?.isNew === true && (isInWindow(observed.get(id)?.foundAt) || isInWindow(updatedAt, changedAt));
  const alike = [...seen.appointments.values()].flatMap((to) => {
    // Messages are about the visit of each patient, not about an appointment of several.
    const isOther = to.id !== from && to.patientIds === undefined && to.time.startAt > now && !isGone(seen, to.id);
    const likeness = isOther ? likenessOf(gone, to) : null;
    return likeness === null ? [] : [{ to, likeness }];
  });
  const patient = patients.get(from) ?? null;
  let found = alike.filter(({ to }) => to.patientId === patient && isNewOf(to));
  if (found.length === 0) {
    // The other record of a merged patient was not observed, so the clinic's change time must show that the appointment is new.
    const others = alike.filter(
      ({ to }) => isInWindow(to.updatedAt) && isInWindow(observed.get(to.id)?.foundAt ?? now),
    );
    const merged = others.length === 0 ? null : await mergedOf(reminders, { patient, entries, others, read });
    found = others.filter(({ to }) => to.patientId === merged);
  }
  return found.map(({ to, likeness }) => ({
    ...{ from, to: to.id, likeness },
    distanceMs: Math.abs(to.time.startAt - startAt),
  }));
}

/**
 * Returns the patient into whom a patient was merged: the clinic no longer has the first, or the appointment now has another patient, and
 * the other is the same recipient.
 */
async function mergedOf(
  reminders: OpenReminders,
  notified: {
    patient: string | null;
    entries: readonly LedgerEntry[];
    others: readonly { to: Appointment }[];
    read: ReadPatient;
  },
): Promise<string | null> {
  const handed = notified.entries.filter(({ handedAs }) => handedAs !== null);
  const message = handed.find(({ recipient }) => recipient !== null) ?? handed[0];
  if (message === undefined) return null;
  const { patient } = notified;
  const candidates = new Set(notified.others.flatMap(({ to }) => to.patientId ?? []));
  if (patient !== null && reminders.proofs.patient(message.id, patient) === message.patientProof) {
    candidates.delete(patient);
    if (candidates.size === 0) return null;
    const before = await notified.read(patient);
    if (before === null || (before.id === patient && !('absent' in before.answer))) return null;
  }
  for (const id of candidates) if ((await isSameRecipient(reminders, message, id, notified.read)) === true) return id;
  return null;
}

/** Follows each move. Same treatment and nearest start first; each new appointment replaces one. */
async function followAll(
  reminders: OpenReminders,
  messages: Notified['messages'],
  moves: readonly Move[],
  now: Instant,
): Promise<void> {
  const inOrder = moves.toSorted(
    (one, other) =>
      one.likeness - other.likeness ||
      one.distanceMs - other.distanceMs ||
      one.from.localeCompare(other.from) ||
      one.to.localeCompare(other.to),
  );
  const announced = await reminders.ledger.ofAppointments(moves.map(({ to }) => to));
  const taken = new Set([...announced].flatMap(([id, entries]) => (entries.some(isAnnounced) ? [id] : [])));
  for (const { from, to } of inOrder) {
    if (taken.has(from) || taken.has(to)) continue;
    if (await follow(reminders, messages.get(from) ?? [], { from, to }, now)) taken.add(from).add(to);
  }
}

function isAnnounced({ state }: LedgerEntry): boolean {
  return state === 'sent' || state === 'unknown' || state === 'sending';
}

/** Returns 0 for the same treatment, 1 for the same agenda, otherwise null. */
function likenessOf(from: ObservedVisit, to: Appointment): 0 | 1 | null {
  if (from.treatmentId !== null && from.treatmentId === to.treatmentId) return 0;
  return agendasOf(to).some((id) => from.agendaIds.includes(id)) ? 1 : null;
}

async function follow(
  { ledger, alarms }: OpenReminders,
  entries: readonly LedgerEntry[],
  { from, to }: { from: string; to: string },
  now: Instant,
): Promise<boolean> {
  const waiting = entries.filter(({ correction, state }) => correction !== null && state === 'planned');
  for (const { id } of waiting) await ledger.withdraw(id, 'outdated', now);
  await alarms.cancel(waiting);
  for (const channel of new Set(entries.map((entry) => entry.channel)))
    await ledger.clearWrong({ appointmentId: from, channel });
  return ledger.follow(from, to);
}
