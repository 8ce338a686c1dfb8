import { createZone } from '../../clinic/read/timestamps.ts';
import { asMirrorError, type ErrorTexts, MirrorError } from '../../core/model/errors.ts';
import type { Hold } from '../../core/model/plan.ts';
import { type Appointment, belongsTo } from '../../core/model/records.ts';
import { DAY_MS, type Instant, MINUTE_MS, offsetMs, type TimeWindow } from '../../core/model/time.ts';
import type { ClinicSource } from '../../domain/clinic-requests.ts';
import type { ErasedPersons, LinkTable, PinTable } from '../../engine/store.ts';
import type { Outbox } from '../../state/outbox.ts';
import type { OpenTarget } from '../../tenant/tenant.ts';
import { decide } from './explain.ts';
import { type Installation, requireTenant } from './installation.ts';
import { heldRecords, type StoredRecordState, stateOfRecord } from './record-states.ts';
import { agendaNameOf } from './target-names.ts';

/** Days of a search without a date. */
const DAYS_AHEAD = 7;
/** An appointment matches a time if it takes place, or begins, within this distance. */
const TOLERANCE_MS = 30 * MINUTE_MS;
/** Largest number of listed appointments. */
const MOST_FOUND = 100;
const DATE = /^\d{4}-\d{2}-\d{2}$/;
const TIME = /^([01]\d|2[0-3]):([0-5]\d)$/;

/** States of an appointment over all its targets, most urgent first. */
export const FOUND_STATES = ['on-hold', 'failing', 'waiting', 'changed-by-hand', 'in-calendar', 'excluded'] as const;
export type FoundState = (typeof FOUND_STATES)[number];

const STATE_OF_STORED: Readonly<Record<StoredRecordState, FoundState>> = {
  'on-hold': 'on-hold',
  failed: 'failing',
  pending: 'waiting',
  'changed-by-hand': 'changed-by-hand',
  'in-sync': 'in-calendar',
};

/** Search for appointments; null selects all. */
export interface AppointmentQuestion {
  /** Local date, `YYYY-MM-DD`; null or invalid: seven days from today. */
  date: string | null;
  /** Local time, `HH:MM`, of the date or of today. */
  time: string | null;
  /** Id of the agenda. */
  doctor: string | null;
  state: FoundState | null;
}

/** A found appointment, without its content. */
export interface FoundAppointment {
  record: string;
  startAt: Instant;
  /** Name of the agenda; null if the clinic's list lacks the appointment. */
  doctor: string | null;
  state: FoundState;
  /** Ids of the targets in this state. */
  targets: readonly string[];
}

/** Result of a search. */
export interface FoundAppointments {
  window: TimeWindow;
  /** In order of time, at most a hundred. */
  items: readonly FoundAppointment[];
  /** Number of further matches. */
  more: number;
  /** Why the clinic was not read; only appointments with stored changes are then found. */
  failure: { code: string; texts: ErrorTexts } | null;
}

/** Finds appointments by time, doctor and state, from the clinic's present list and the stored links, changes and holds. Writes nothing. */
export async function findAppointments(
  installation: Installation,
  tenantId: string,
  question: AppointmentQuestion,
  signal: AbortSignal,
): Promise<FoundAppointments> {
  const tenant = requireTenant(installation, tenantId);
  const { window, isMatch } = periodOf(question, tenant.configuration.zone, tenant.clock());
  const { appointments, failure } = await readList(tenant, window, signal);
  const listed = appointments.filter(({ time }) => isMatch(time.startAt, time.endAt));
  const holds = await tenant.holds.list();
  const pieces = { listed, holds, isForgotten: await tenant.tombstones.load() };
  const targets = [...tenant.targets.values()].filter(({ stream }) => stream === 'appointments');
  const found = await Promise.all(targets.map((target) => inTarget(tenant, target, pieces)));
  const byId = new Map(listed.map((appointment) => [appointment.id, appointment]));
  const ofDoctor = (each: Found) => isOfDoctor(byId.get(each.record), each.target, question.doctor);
  const all = [...Map.groupBy(found.flat().filter(ofDoctor), ({ record }) => record).values()];
  const inTargets = new Set(found.flat().map(({ record }) => record));
  const excluded = listed
    .filter((appointment) => !inTargets.has(appointment.id) && isOfAgenda(appointment, question.doctor))
    .map(({ id, time }): FoundAppointment => ({ record: id, startAt: time.startAt, ...NOWHERE, doctor: nameOf(id) }));
  const items = [...all.map(combined), ...excluded]
    .filter(({ startAt, state, record }) => {
      return (byId.has(record) || isMatch(startAt, startAt)) && isWanted(state, question.state);
    })
    .toSorted((one, other) => one.startAt - other.startAt);
  return { window, items: items.slice(0, MOST_FOUND), more: Math.max(0, items.length - MOST_FOUND), failure };

  function nameOf(record: string): string | null {
    const appointment = byId.get(record);
    return appointment === undefined ? null : agendaNameOf(tenant, appointment.agendaId);
  }

  function combined(some: readonly Found[]): FoundAppointment {
    const [{ record, startAt } = { record: '', startAt: 0 }] = some;
    const state = FOUND_STATES.find((each) => some.some((one) => one.state === each)) ?? 'excluded';
    const inState = some.filter((one) => one.state === state && state !== 'excluded').map(({ target }) => target.id);
    return {
      record,
      startAt: byId.get(record)?.time.startAt ?? startAt,
      doctor: nameOf(record),
      state,
      targets: inState,
    };
  }
}

const NOWHERE = { state: 'excluded', targets: [] } as const;

/** State of an appointment in one target. */
interface Found {
  record: string;
  startAt: Instant;
  state: FoundState;
  target: OpenTarget;
}

function isWanted<Value>(value: Value, wanted: Value | null): boolean {
  return wanted === null || value === wanted;
}

function isOfAgenda(appointment: Appointment, doctor: string | null): boolean {
  return doctor === null || belongsTo(appointment, [doctor]) === true;
}

/** Without the clinic's record, the agenda is unknown: the agendas of the target decide. */
function isOfDoctor(appointment: Appointment | undefined, target: OpenTarget, doctor: string | null): boolean {
  if (doctor === null) return true;
  if (appointment !== undefined) return isOfAgenda(appointment, doctor);
  const { agendas } = target.configuration;
  return agendas === 'all' || agendas.includes(doctor);
}

/** Returns the period of a search in the clinic's zone, and whether an appointment lies in it. */
function periodOf({ date, time }: AppointmentQuestion, zone: string, now: Instant) {
  const { startOfDay, instantOf } = createZone(zone);
  const today = Math.floor((now + offsetMs(zone, now)) / DAY_MS) * DAY_MS;
  const dateMs = date !== null && DATE.test(date) ? Date.parse(date) : Number.NaN;
  const [, hour, minute] = TIME.exec(time ?? '') ?? [];
  const isDay = !Number.isNaN(dateMs) || hour !== undefined;
  const first = Number.isNaN(dateMs) ? today : dateMs;
  const window = { fromAt: startOfDay(first), toAt: startOfDay(first + (isDay ? 1 : DAYS_AHEAD) * DAY_MS) };
  const wallMs = first + (Number(hour) * 60 + Number(minute)) * MINUTE_MS;
  const at = hour === undefined ? null : instantOf(wallMs, { overlap: 'earlier', gap: 'later' });
  const isMatch = (startAt: Instant, endAt: Instant) =>
    startAt < window.toAt &&
    Math.max(endAt, startAt + 1) > window.fromAt &&
    (at === null || (startAt <= at + TOLERANCE_MS && Math.max(endAt, startAt + TOLERANCE_MS) >= at));
  return { window, isMatch };
}

async function readList(
  { clinic }: { clinic: ClinicSource },
  window: TimeWindow,
  signal: AbortSignal,
): Promise<{ appointments: Appointment[]; failure: FoundAppointments['failure'] }> {
  try {
    await clinic.agendas(signal);
    const { records } = await clinic.readAppointments({ agendaIds: null, window }, signal);
    return { appointments: [...records.values()], failure: null };
  } catch (error) {
    if (signal.aborted || !(error instanceof MirrorError)) throw error;
    const { code, texts } = asMirrorError(error);
    return { appointments: [], failure: { code, texts } };
  }
}

/** Members of a tenant that the states in a target are read from. */
interface FoundSource {
  clock: () => Instant;
  configuration: { paused: boolean };
  journal: PinTable;
  links: LinkTable;
  outbox: Outbox;
}

/** Returns the states of the listed appointments of a target, and of its records with a waiting change or on hold. */
async function inTarget(
  tenant: FoundSource,
  target: OpenTarget,
  {
    listed,
    holds,
    isForgotten,
  }: { listed: readonly Appointment[]; holds: readonly Hold[]; isForgotten: ErasedPersons },
): Promise<Found[]> {
  const own = new Map(
    listed
      .filter((appointment) => belongsTo(appointment, target.configuration.agendas) !== false)
      .map((appointment) => [appointment.id, appointment]),
  );
  const held = new Set(heldRecords(holds, target.id).keys());
  const queued = await tenant.outbox.recordIds(target.id);
  const ids = [...new Set([...own.keys(), ...held, ...queued.waiting, ...queued.failing])];
  const [links, pending, pinned] = await Promise.all([
    tenant.links.readSome(target.id, ids),
    tenant.outbox.pendingOfSome(target.id, ids),
    tenant.journal.pinned(target.id, tenant.clock()),
  ]);
  return ids.map((record): Found => {
    const appointment = own.get(record);
    const startAt = appointment?.time.startAt ?? pending.get(record)?.startAt ?? links.get(record)?.startAt ?? 0;
    const stored = stateOfRecord(record, { links, pending, held });
    if (stored !== null) return { record, startAt, target, state: STATE_OF_STORED[stored] };
    if (appointment === undefined) return { record, startAt, target, state: 'excluded' };
    const source = { state: 'there', status: appointment.status, agenda: appointment.agendaId, startAt } as const;
    const reasons = { isPinned: pinned.has(record), isForgotten: isForgotten(appointment.patientId ?? '') };
    const { shown } = decide(tenant, target, { source: { ...source, updatedAt: null }, appointment }, reasons);
    return { record, startAt, target, state: shown ? 'waiting' : 'excluded' };
  });
}
