import { asMirrorError, MirrorError } from '../../core/model/errors.ts';
import { eachInPieces, type Pieces } from '../../core/model/pieces.ts';
import type { Appointment } from '../../core/model/records.ts';
import type { AppointmentSnapshot, Lookup } from '../../core/model/snapshots.ts';
import { DAY_MS, hasPassed, type Instant, overlaps } from '../../core/model/time.ts';
import type { AppointmentEvent, StoredAppointment } from '../../core/model/triggers.ts';
import { inPieces } from '../../core/pieces/in-pieces.ts';
import { belongsOnList } from '../../domain/absence.ts';
import { tombstonesIn } from '../../domain/mapping-sources.ts';
import { confirmAbsence } from '../../engine/confirm.ts';
import {
  type AppointmentChange,
  changeName,
  changeOf,
  isAppointmentEvent,
  unusableAtFirst,
  vanished,
} from './lists.ts';
import {
  baselinePartial,
  closeForFlood,
  hasRoom,
  type ReadingParts,
  switchOff,
  triggerKeysOf,
  withoutRoom,
} from './reading.ts';
import type { FollowedAppointment, TriggerKey } from './store.ts';

/** Range of past appointments, to report late changes. */
const PAST_MS = DAY_MS;
/** Range of future appointments. Later appointments are found when they enter the range. */
const AHEAD_MS = 365 * DAY_MS;
/** Name of the receivers in the list of targets without a record. No target can have this name. */
const TRIGGERS = '(triggers)';

/** Appointment event of an endpoint. */
interface AppointmentTriggerKey extends TriggerKey {
  event: AppointmentEvent;
}

/** Appointment list from the clinic, shared by endpoints. */
interface AppointmentList {
  snapshot: AppointmentSnapshot;
  /** Begin of the read. */
  readAt: Instant;
  /** Reads a single appointment, once for all endpoints. */
  readAlone(recordId: string, signal: AbortSignal): Promise<Lookup<Appointment>>;
}

/**
 * Reads the appointments for triggers.
 * @returns null without appointment events; the error of a failed read
 * @throws the signal's reason
 */
export async function readAppointmentList({
  tenant,
  triggers,
  signal,
}: ReadingParts): Promise<AppointmentList | MirrorError | null> {
  if (!triggerKeysOf(triggers).some(({ event }) => isAppointmentEvent(event))) return null;
  const { source } = triggers;
  const readAt = tenant.clock();
  const window = { fromAt: readAt - PAST_MS, toAt: readAt + AHEAD_MS };
  const answers = new Map<string, Promise<Lookup<Appointment>>>();
  const readAlone: AppointmentList['readAlone'] = (recordId, reading) => {
    const answer = answers.get(recordId) ?? source.readAppointment(recordId, reading);
    answers.set(recordId, answer);
    return answer;
  };
  try {
    return { snapshot: await source.readAppointments({ agendaIds: null, window }, signal), readAt, readAlone };
  } catch (error) {
    signal.throwIfAborted();
    return asMirrorError(error);
  }
}

/**
 * Updates the stored appointments of an endpoint. The first complete list causes no events; later lists are compared with the previous
 * list. Safe to interrupt anywhere: unsaved changes are found again.
 */
export async function takeAppointments(
  parts: ReadingParts,
  triggerKey: AppointmentTriggerKey,
  list: AppointmentList | MirrorError,
): Promise<void> {
  const { tenant, triggers, lease, signal } = parts;
  const { store } = triggers;
  const reading = await store.reading(triggerKey);
  if (list instanceof MirrorError) return switchOff(parts, triggerKey, reading, list);
  const { snapshot, readAt } = list;
  const isWhole = snapshot.completeness === 'complete' && snapshot.unidentified === 0;
  const stored = await openStored(parts, triggerKey);
  if (reading.sinceAt === null || stored === null) {
    if (!isWhole) return switchOff(parts, triggerKey, { ...reading, sinceAt: null }, baselinePartial());
    const all = await inPieces(atFirst(parts, triggerKey, list), signal);
    if (!(await hasRoom(parts, all.length))) return switchOff(parts, triggerKey, reading, withoutRoom(all.length));
    await store.remove(triggerKey);
    await store.follow(triggerKey, all, lease);
    await store.recordReading(triggerKey, { sinceAt: readAt, readAt, off: null, letThrough: false }, lease);
    tenant.log.info(triggerKey, 'existing appointments are recorded without messages');
    return;
  }
  const changes = await inPieces(
    compare(parts, triggerKey, snapshot.records.values(), { stored, now: readAt }),
    signal,
  );
  changes.push(...buried(parts, triggerKey, snapshot, { stored, readAt }));
  const added = changes.filter(({ name, now }) => now !== null && !stored.has(name)).length;
  if (!(await hasRoom(parts, added))) return switchOff(parts, triggerKey, reading, withoutRoom(added));
  const { over, missing } = isWhole ? absentOf(snapshot, stored) : { over: [], missing: [] };
  const suspects = changes.filter(({ message }) => message !== null).length + missing.length;
  const isMany = suspects > triggers.file.mostAtOnce;
  const isFlood = isMany && !reading.letThrough;
  if (isFlood) await closeForFlood(parts, triggerKey, suspects);
  else {
    const recorded = await store.follow(triggerKey, changes, lease);
    await store.follow(
      triggerKey,
      over.map((name) => ({ name, now: null, message: null })),
      lease,
    );
    const gone = await store.follow(triggerKey, await lookAtMissing(parts, triggerKey, list, missing), lease);
    if (recorded + gone > 0)
      tenant.log.info({ ...triggerKey, count: recorded + gone }, 'messages about appointments are queued');
  }
  const letThrough = isMany || suspects === 0 ? reading.letThrough : false;
  await store.recordReading(triggerKey, { ...reading, readAt, off: null, letThrough }, lease);
}

/** Yields the present appointments without events. */
function* atFirst(
  parts: ReadingParts,
  triggerKey: AppointmentTriggerKey,
  { snapshot: { records, unusable, window }, readAt }: AppointmentList,
): Pieces<FollowedAppointment[]> {
  const usable = yield* compare(parts, triggerKey, records.values(), { stored: new Map(), now: readAt });
  const unusableIds = unusable.flatMap(({ recordId }) =>
    recordId === null || records.has(recordId) ? [] : [recordId],
  );
  return [
    ...usable.map((each) => ({ ...each, message: null })),
    ...unusableIds.map((recordId) => {
      const name = parts.triggers.name({ ...triggerKey, recordId });
      return { name, now: unusableAtFirst(recordId, window), message: null };
    }),
  ];
}

/** Returns null for undecryptable data. Known appointments are then unknown, as for a first list. */
async function openStored(
  { tenant, triggers: { store } }: ReadingParts,
  triggerKey: AppointmentTriggerKey,
): Promise<Map<string, StoredAppointment> | null> {
  const stored = new Map<string, StoredAppointment>();
  let lost = (await store.unreadable(triggerKey)).length;
  for (const [name, appointment] of await store.appointments(triggerKey)) {
    if (appointment === null) lost += 1;
    else stored.set(name, appointment);
  }
  if (lost === 0) return stored;
  tenant.log.error(
    { ...triggerKey, count: lost },
    'stored appointments could not be decrypted: the trigger starts again',
  );
  return null;
}

/** Yields new and changed appointments. Appointments of forgotten patients are removed without events. */
function* compare(
  parts: ReadingParts,
  triggerKey: AppointmentTriggerKey,
  appointments: Iterable<Appointment>,
  { stored, now }: { stored: ReadonlyMap<string, StoredAppointment>; now: Instant },
): Pieces<FollowedAppointment[]> {
  const followed: FollowedAppointment[] = [];
  yield* eachInPieces(appointments, (appointment) => {
    const { id, patientId } = appointment;
    const name = parts.triggers.name({ ...triggerKey, recordId: id });
    const before = stored.get(name) ?? null;
    if (patientId !== null && parts.isForgotten(patientId)) {
      if (before !== null) followed.push({ name, now: null, message: null });
      return;
    }
    const change = changeOf(before, appointment);
    if (change === null || isSame(before, change.now)) return;
    followed.push(followedBy(parts, triggerKey, { name, change, foundAt: now }));
  });
  return followed;
}

function isSame(before: StoredAppointment | null, now: StoredAppointment): boolean {
  return before !== null && JSON.stringify(before) === JSON.stringify(now);
}

function followedBy(
  { triggers }: ReadingParts,
  triggerKey: AppointmentTriggerKey,
  { name, change: { now, event }, foundAt }: { name: string; change: AppointmentChange; foundAt: Instant },
): FollowedAppointment {
  if (event !== triggerKey.event) return { name, now, message: null };
  const { recordId } = now;
  const id = triggers.name({ ...triggerKey, recordId, change: changeName(now) });
  return { name, now, message: { id, recordId, foundAt, attempts: 0, dueAt: foundAt, code: null } };
}

/** Yields known appointments that the list reports only as deleted: cancelled. */
function buried(
  parts: ReadingParts,
  triggerKey: AppointmentTriggerKey,
  snapshot: AppointmentSnapshot,
  { stored, readAt }: { stored: ReadonlyMap<string, StoredAppointment>; readAt: Instant },
): FollowedAppointment[] {
  const off = new Set(tombstonesIn(snapshot));
  return [...stored].flatMap(([name, appointment]) =>
    off.has(appointment.recordId) && appointment.isConfirmed
      ? [followedBy(parts, triggerKey, { name, change: vanished(appointment), foundAt: readAt })]
      : [],
  );
}

/** Yields known appointments missing in a complete list, because they are past or because they should be in the list. */
function absentOf(
  { records, unusable, window }: AppointmentSnapshot,
  stored: ReadonlyMap<string, StoredAppointment>,
): { over: string[]; missing: StoredAppointment[] } {
  const unusableIds = new Set(unusable.map(({ recordId }) => recordId));
  const absent = [...stored].filter(([, { recordId }]) => !records.has(recordId) && !unusableIds.has(recordId));
  return {
    over: absent.filter(([, appointment]) => hasPassed(appointment, window)).map(([name]) => name),
    missing: absent.flatMap(([, appointment]) =>
      overlaps(appointment, window) && appointment.isConfirmed ? [appointment] : [],
    ),
  };
}

/** Reads missing appointments one by one. An appointment missing in two reads is cancelled; an appointment outside the range is moved. */
async function lookAtMissing(
  parts: ReadingParts,
  triggerKey: AppointmentTriggerKey,
  { snapshot, readAt, readAlone }: AppointmentList,
  missing: readonly StoredAppointment[],
): Promise<FollowedAppointment[]> {
  const byId = new Map(missing.map((appointment) => [appointment.recordId, appointment]));
  const missedAt = new Map(
    missing.flatMap((one) => (one.missedAt === null ? [] : [[one.recordId, one.missedAt] as const])),
  );
  const asked = new Map([[TRIGGERS, [...byId.keys()]]]);
  const misses = { missedSince: missedAt, readAt };
  const startsBefore = (id: string) => [byId.get(id)?.startAt ?? Number.NaN];
  const reads = {
    readAlone,
    belongsOnList: (one: Appointment) => belongsOnList(one, snapshot, { startsBefore: startsBefore(one.id), readAt }),
  };
  const answers = await confirmAbsence(parts.tenant, { toConfirm: asked, misses }, reads, parts.signal);
  const nameOf = (recordId: string) => parts.triggers.name({ ...triggerKey, recordId });
  const named = new Map(missing.map((appointment) => [nameOf(appointment.recordId), appointment]));
  const followed = await inPieces(
    compare(parts, triggerKey, answers.found, { stored: named, now: readAt }),
    parts.signal,
  );
  for (const [name, appointment] of named) {
    const { recordId } = appointment;
    if (answers.vanished.has(recordId))
      followed.push(followedBy(parts, triggerKey, { name, change: vanished(appointment), foundAt: readAt }));
    else if (answers.missedOnce.has(recordId) && appointment.missedAt === null) {
      followed.push({ name, now: { ...appointment, missedAt: readAt }, message: null });
    }
  }
  return followed;
}
