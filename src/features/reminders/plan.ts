import type { Logger } from '../../core/log/logger.ts';
import type { Appointment } from '../../core/model/records.ts';
import type { LedgerEntry, PlannedReminder, Withdrawal } from '../../core/model/reminders.ts';
import { REMINDERS, WITHDRAWALS } from '../../core/model/reminders.ts';
import { type Clock, DAY_MS, type Instant } from '../../core/model/time.ts';
import type { ClinicSource } from '../../domain/clinic-requests.ts';
import type { CycleFollower, Learned, ReadingScope } from '../../domain/followers.ts';
import { roomForEntries, TENANT_TOO_LARGE } from '../../engine/storage-limit.ts';
import type { Store } from '../../engine/store.ts';
import type { TenantConfiguration } from '../../settings/configuration.ts';
import { announcedStarts, planCorrections, type SeenByPatients } from './corrections.ts';
import { withDeleted } from './deleted.ts';
import { type LocationCatalogue, locationOf } from './places.ts';
import type { OpenReminders } from './ports.ts';
import { expectRecipients, followMergedPatients } from './recipients.ts';
import { followReschedules } from './reschedules.ts';
import { lateness, longestAheadMs, remindersFor, withdrawalOf } from './rules.ts';

/** Later cycles plan reminders due after this time. */
const HORIZON_MS = 2 * DAY_MS;

/** Counts of planned and withdrawn reminders. */
export interface ReminderPlan {
  planned: number;
  withdrawn: number;
}

/** Parts of reminder planning. The tenant is not open yet. */
export interface ReminderPlanning {
  configuration: TenantConfiguration;
  clock: Clock;
  log: Logger;
  holds: Store['holds'];
  storage: Store['storage'];
  tombstones: Store['tombstones'];
  reminders: OpenReminders;
  readPatient: ClinicSource['readPatient'];
  readAppointment: ClinicSource['readAppointment'];
}

/** Plans reminders in each cycle of a tenant. */
export function reminderFollower(tenant: ReminderPlanning): CycleFollower {
  const { reminders } = tenant;
  return {
    name: REMINDERS,
    stream: 'appointments',
    namedIds: new Map([...reminders.rules.rules].map(([id, rule]) => [`reminders/${id}`, rule])),
    readingScope: (now) => readingScope(reminders, now),
    resume: () => resumeReminders(tenant),
    absent: (isSeen) => absentReminded(tenant, isSeen),
    follow: async (learned) => void (await planReminders(tenant, learned)),
  };
}

/** Returns the range of appointments with reminders in the next days. */
function readingScope({ rules }: OpenReminders, now: Instant): ReadingScope {
  const agendas = [...rules.rules.values()].map((rule) => rule.agendas);
  return {
    window: { fromAt: now, toAt: now + HORIZON_MS + longestAheadMs(rules) },
    agendas: agendas.includes('all') ? 'all' : agendas.flat(),
  };
}

/** Restores lost jobs by adding each job again; existing jobs remain unchanged. */
export async function resumeReminders({
  reminders,
  configuration,
}: Pick<ReminderPlanning, 'reminders' | 'configuration'>): Promise<void> {
  if (configuration.paused) return;
  await reminders.alarms.set(await reminders.ledger.open());
}

/**
 * Returns the appointments of waiting and sent messages that are missing in a complete list, with their known start.
 * @param isSeen includes unreadable rows
 */
async function absentReminded(
  { reminders, clock }: Pick<ReminderPlanning, 'reminders' | 'clock'>,
  isSeen: (recordId: string) => boolean,
): Promise<Map<string, Instant[]>> {
  const now = clock();
  const open = (await reminders.ledger.open()).filter(({ startAt }) => startAt > now);
  const absent = open.filter(({ appointmentId }) => !isSeen(appointmentId));
  const byAppointment = Map.groupBy(absent, ({ appointmentId }) => appointmentId);
  const starts = new Map([...byAppointment].map(([id, entries]) => [id, entries.map(({ startAt }) => startAt)]));
  for (const [id, announced] of await announcedStarts(reminders, now)) {
    if (!isSeen(id)) starts.set(id, [...(starts.get(id) ?? []), ...announced]);
  }
  return starts;
}

/**
 * Updates the ledger from a cycle: plans reminders within the horizon, withdraws unwanted reminders, and corrects announced facts.
 * Appointments that the cycle did not see are unchanged.
 */
async function planReminders(tenant: ReminderPlanning, learned: Learned): Promise<ReminderPlan> {
  const { reminders } = tenant;
  const now = tenant.clock();
  const appointments = new Map([...learned.records, ...learned.found.map((one) => [one.id, one] as const)]);
  const isForgotten = await tenant.tombstones.load();
  const ofNobodyForgotten = [...appointments.values()].filter(
    ({ patientId }) => patientId === null || !isForgotten(patientId),
  );
  const { zone } = tenant.configuration;
  const wanted = wantedOf(reminders, ofNobodyForgotten, { locations: learned.directory, now, zone });
  const withdrawn = await withdraw(reminders, { appointments, vanished: learned.vanished, wanted }, now);
  const planned = await plan(tenant, reminders, { wanted, appointments }, now);
  const seen = await withDeleted(tenant, seenByPatients(learned, ofNobodyForgotten, zone), now);
  const soon = [...wanted.values()].filter(({ dueAt }) => dueAt <= now + HORIZON_MS);
  const watched = soon.map(({ appointmentId }) => appointmentId);
  await followReschedules(tenant, reminders, { ...seen, watched, coveredUntilAt: learned.coveredUntilAt }, now);
  const followed = await followMergedPatients(tenant, reminders, seen, now);
  const corrections = await planCorrections(tenant.holds, reminders, followed, now);
  const all = { planned: planned + corrections.planned, withdrawn: withdrawn + corrections.withdrawn };
  if (corrections.held > 0) tenant.log.warn({ held: corrections.held }, 'corrections of reminders wait for approval');
  if (all.planned + all.withdrawn > 0)
    tenant.log.info({ ...all, corrections: corrections.planned }, 'daemon planned reminders');
  return all;
}

function seenByPatients(
  { vanished, directory }: Learned,
  appointments: readonly Appointment[],
  zone: string,
): SeenByPatients {
  const byId = new Map(appointments.map((appointment) => [appointment.id, appointment]));
  return { appointments: byId, vanished, locations: directory, zone };
}

function wantedOf(
  reminders: OpenReminders,
  appointments: Iterable<Appointment>,
  { locations, now, zone: zoneOfClinic }: { locations: LocationCatalogue; now: Instant; zone: string },
): Map<string, PlannedReminder> {
  const wanted = new Map<string, PlannedReminder>();
  for (const appointment of appointments) {
    if (appointment.time.startAt <= now) continue;
    const zone = locationOf(appointment, locations)?.zone ?? zoneOfClinic;
    for (const decision of remindersFor(appointment, reminders.rules, zone, reminders.name)) {
      if ('reminder' in decision) wanted.set(decision.reminder.id, decision.reminder);
    }
  }
  return wanted;
}

async function withdraw(
  { ledger, alarms }: OpenReminders,
  seen: {
    appointments: ReadonlyMap<string, Appointment>;
    vanished: ReadonlySet<string>;
    wanted: ReadonlyMap<string, PlannedReminder>;
  },
  now: Instant,
): Promise<number> {
  const gone: LedgerEntry[] = [];
  for (const entry of await ledger.open()) {
    const reason = reasonToWithdraw(entry, seen, now);
    if (reason !== null && (await ledger.withdraw(entry.id, reason, now))) gone.push(entry);
  }
  await alarms.cancel(gone);
  return gone.length;
}

function reasonToWithdraw(
  entry: LedgerEntry,
  { appointments, vanished, wanted }: Parameters<typeof withdraw>[1],
  now: Instant,
): Withdrawal | null {
  // Corrections are withdrawn by the comparison with present facts.
  if (wanted.has(entry.id) || entry.correction !== null) return null;
  if (vanished.has(entry.appointmentId)) return 'vanished';
  const appointment = appointments.get(entry.appointmentId);
  // A begun appointment is dropped as too late at the time of sending.
  if (appointment === undefined || (appointment.time.startAt <= now && appointment.time.startAt === entry.startAt)) {
    return null;
  }
  return withdrawalOf(entry, appointment);
}

/** A reminder first seen too late is stored as dropped, so that the operator can find the reason. */
async function plan(
  tenant: Pick<ReminderPlanning, 'log' | 'readPatient' | 'storage'>,
  reminders: OpenReminders,
  {
    wanted,
    appointments,
  }: { wanted: ReadonlyMap<string, PlannedReminder>; appointments: ReadonlyMap<string, Appointment> },
  now: Instant,
): Promise<number> {
  const { ledger, alarms, rules } = reminders;
  const upcoming = [...wanted.values()].filter(({ dueAt }) => dueAt <= now + HORIZON_MS);
  const stored = await ledger.readSome(upcoming.map(({ id }) => id));
  const wakes = [];
  const unknown: (PlannedReminder & { patientId: string })[] = [];
  const room = await roomForEntries(tenant.storage);
  let withoutRoom = 0;
  for (const reminder of upcoming) {
    const entry = stored.get(reminder.id);
    const patientId = appointments.get(reminder.appointmentId)?.patientId ?? null;
    if (entry === undefined && !room.take(1)) {
      withoutRoom += 1;
      continue;
    }
    const isWaiting = entry === undefined || entry.state === 'planned';
    if (isWaiting && reminder.dueAt > now && entry?.recipient == null && patientId !== null)
      unknown.push({ ...reminder, patientId });
    if (entry !== undefined && !isOpenToChange(entry, reminder)) continue;
    const minimumLeadMs = rules.rules.get(reminder.rule)?.minimumLeadMs ?? 0;
    const updatedAt = appointments.get(reminder.appointmentId)?.updatedAt ?? null;
    // A waiting reminder was planned in time; only its due time changed.
    const late = entry?.state === 'planned' ? null : lateness(reminder, { now, updatedAt, minimumLeadMs });
    const changed = await ledger.plan(reminder, late, now);
    if (changed && late === null) wakes.push({ id: reminder.id, wakeAt: reminder.dueAt });
  }
  await room.record();
  if (withoutRoom > 0)
    tenant.log.warn({ count: withoutRoom, code: TENANT_TOO_LARGE }, 'reminders wait for room of the tenant in Redis');
  await alarms.set(wakes);
  await expectRecipients(tenant, reminders, unknown);
  return wakes.length;
}

function isOpenToChange(entry: LedgerEntry, { dueAt, zone }: PlannedReminder): boolean {
  if (entry.state === 'planned') return entry.dueAt !== dueAt || entry.zone !== zone;
  return entry.state === 'dropped' && WITHDRAWALS.some((reason) => reason === entry.reason);
}
