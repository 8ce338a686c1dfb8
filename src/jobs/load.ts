import type { Confirmations } from '../domain/absence.ts';
import { indexByAgenda } from '../domain/agenda-index.ts';
import type { ContactsInput, CycleInput, TargetInput } from '../domain/cycle-input.ts';
import type { PatientHistory } from '../domain/derive.ts';
import { listedIn, missingFrom, unusableIn } from '../domain/mapping-sources.ts';
import type { TargetPlan } from '../domain/plan-targets.ts';
import { withheldIn } from '../engine/policy.ts';
import { inPieces } from '../http/in-pieces.ts';
import type { Logger } from '../log/logger.ts';
import { message } from '../messages/message.ts';
import type { SkippedTarget } from '../model/plan-view.ts';
import type { Uncertainty } from '../model/state-schemas.ts';
import type { Progress } from '../model/tasks.ts';
import { HOUR_MS, type Instant, MINUTE_MS, type TimeWindow } from '../model/time.ts';
import { appointmentIdOf, withVisits } from '../model/visits.ts';
import { DEFAULT_RESCHEDULE_MINUTES } from '../settings/reminder-schema.ts';
import type { Lease } from '../engine/store.ts';
import type { RunReport } from '../state/runs.ts';
import { confirmAll, nextOutside, type Questioner, withProvedGaps } from './absence.ts';
import { type ClinicReading, gapsConfirmed, gapsOf } from '../domain/clinic-reading.ts';
import { type LoadContext, plannedBefore } from './cycle.ts';
import { type Opener, openStates, readState, restorationsOf } from './open-states.ts';
import { createListSize, type History, isBelievable, type ListSize, type Taken } from '../domain/stream-memory.ts';
import type { CycleFollower, OpenTarget, OpenTenant } from './tenant.ts';

/** A patient history, with the times of its reads. */
interface CachedHistory {
  patientHistory: PatientHistory;
  taken: Taken;
}

/** Adds a cycle's reads to the histories for derived properties. */
async function updatePatientHistories(
  { targets, log }: Pick<OpenTenant, 'targets' | 'log'>,
  { snapshot, streams, startedAt }: ClinicReading,
  { appointments }: Confirmations,
  signal: AbortSignal,
): Promise<void> {
  for (const { crm } of targets.values()) {
    if (crm === null || crm.patientHistory === null) continue;
    const cachedHistory = { patientHistory: crm.patientHistory, taken: crm.taken };
    await putHistory(cachedHistory, streams.history, signal);
    await putWindow(log, cachedHistory, { snapshot, appointments, startedAt }, signal);
    await putInvoices(cachedHistory, streams.invoices, startedAt, signal);
    crm.patientHistory.prune(startedAt);
  }
  if (streams.history !== null) streams.history.appointments = new Map();
}

/** Adds each read once. The cycles' own windows are newer and are added last. */
async function putHistory(
  { patientHistory, taken }: CachedHistory,
  history: History | null,
  signal: AbortSignal,
): Promise<void> {
  // An older read was emptied after use, and would remove all appointments.
  if (history === null || history.readAt <= (taken.historyAt ?? -Infinity)) return;
  const window = { fromAt: history.fromAt, toAt: history.readAt };
  await inPieces(patientHistory.replaceWindow(window, history.appointments.values(), history.unusable), signal);
  taken.historyAt = history.readAt;
}

/** A truncated list, or a list with far fewer appointments than before, only adds records. */
async function putWindow(
  log: Logger,
  { patientHistory, taken }: CachedHistory,
  {
    snapshot,
    appointments,
    startedAt,
  }: Pick<ClinicReading, 'snapshot' | 'startedAt'> & Pick<Confirmations, 'appointments'>,
  signal: AbortSignal,
): Promise<void> {
  const isWhole = snapshot.completeness === 'complete' && snapshot.agendaIds === null;
  const isBelieved = !isWhole || isBelievable(sizeOf(taken, snapshot.window), snapshot.records.size, startedAt);
  if (!isBelieved) {
    log.warn({ records: snapshot.records.size }, 'far fewer appointments than before: derived properties wait');
  }
  if (isWhole && isBelieved) {
    const present = unusableIn(snapshot);
    for (const { id } of appointments.found) present.add(appointmentIdOf(id));
    await inPieces(patientHistory.replaceWindow(snapshot.window, snapshot.records.values(), present), signal);
  } else {
    for (const appointment of snapshot.records.values()) patientHistory.put(appointment);
  }
  for (const appointment of appointments.found) patientHistory.put(appointment);
  if (isBelieved) for (const id of appointments.vanished) patientHistory.remove(id);
}

function sizeOf({ windowSizes }: Taken, { fromAt, toAt }: TimeWindow): ListSize {
  const hours = Math.round((toAt - fromAt) / HOUR_MS);
  const listSize = windowSizes.get(hours) ?? createListSize();
  windowSizes.set(hours, listSize);
  return listSize;
}

async function putInvoices(
  { patientHistory, taken }: CachedHistory,
  reading: ClinicReading['streams']['invoices'],
  now: Instant,
  signal: AbortSignal,
): Promise<void> {
  if (reading?.snapshot.completeness !== 'complete') return;
  const { records } = reading.snapshot;
  if (isBelievable(taken.invoices, records.size, now)) {
    await inPieces(patientHistory.replaceInvoices(null, records.values(), unusableIn(reading.snapshot)), signal);
  } else {
    for (const invoice of records.values()) patientHistory.putInvoice(invoice);
  }
}

/** A plan's input, and related results. */
export interface Loaded {
  input: CycleInput;
  loadContext: LoadContext;
  /** Calendars with unchanged input and their earlier plan; their states are not opened. */
  resting: ReadonlyMap<OpenTarget, TargetPlan>;
  skippedTargets: readonly SkippedTarget[];
  uncertainty: Uncertainty | null;
}

/** A target's input before the last values are read. */
type PreparedInput = Omit<TargetInput, 'stored' | 'gone' | 'restorations' | 'recent'>;

/** A target with opened state. */
interface Opened extends PreparedInput {
  target: OpenTarget;
}

/** Options of loading a cycle. */
export interface Loading extends Pick<RunReport, 'unconfirmableCycles'> {
  clinicReading: ClinicReading;
  /** Null for read-only use: no writes, no adoption. */
  lease: Lease | null;
  progress: Progress;
}

/** Members of a tenant that loading a cycle uses. */
export type CycleLoader = Opener &
  Questioner &
  Stores &
  Pick<OpenTenant, 'clinic' | 'followers' | 'memory' | 'tombstones'>;

/** Loads a plan's additional input: the state, and the clinic's answers about absent records. */
export async function loadCycle(
  tenant: CycleLoader,
  targets: readonly OpenTarget[],
  { clinicReading: listed, lease, progress, unconfirmableCycles: cycles = 0 }: Loading,
  signal: AbortSignal,
): Promise<Loaded> {
  progress('reading the targets');
  const byAgenda = indexByAgenda(listed.snapshot.records, tenant.memory.byAgenda);
  tenant.memory.byAgenda = tenant.memory.appointments.isInvalidated ? null : byAgenda;
  const gaps = gapsOf(targets, tenant.followers, listed);
  const before = await lookAround(tenant, targets, { clinicReading: listed, byAgenda, gaps });
  // Read-only use always computes its own result.
  const resting = lease === null ? new Map<OpenTarget, TargetPlan>() : await plannedBefore(tenant, targets, before);
  const moving = targets.filter((target) => !resting.has(target));
  const some = await openAll(tenant, moving, { loadContext: before, lease }, signal);
  const unlisted = await withUnlisted(tenant, some.opened, { clinicReading: listed, isRecorded: lease !== null });
  const confirmations = await confirmUnlisted(tenant, unlisted, { clinicReading: listed, progress }, signal);
  const clinicReading = withProvedGaps(listed, confirmations);
  const loadContext = { ...before, clinicReading, gaps: gapsConfirmed(before.gaps, targets, confirmations, cycles) };
  progress('planning');
  await updatePatientHistories(tenant, clinicReading, confirmations, signal);
  // After the targets are opened: objects found there may prove that the state was lost.
  const uncertainty = await tenant.protection.uncertainty({ lookOnly: lease === null, whole: true });
  const isForgotten = await tenant.tombstones.load();
  const isMore = isForgotten.version !== loadContext.forgotten || saysMore(confirmations);
  const others = await openAll(tenant, isMore ? [...resting.keys()] : [], { loadContext, lease }, signal);
  const cycle = { clinicReading, byAgenda, confirmations, isForgotten, isUncertain: uncertainty !== null };
  const opened = [...unlisted, ...others.opened];
  return {
    ...{ input: await inputOf(tenant, opened, cycle), loadContext, uncertainty },
    resting: isMore ? new Map() : resting,
    skippedTargets: [...some.skippedTargets, ...others.skippedTargets],
  };
}

/** Opens the states of all targets, if individual fetches found additional records. */
export async function withResting(
  tenant: Opener & Stores,
  { input, loadContext, resting, skippedTargets, uncertainty }: Loaded,
  lease: Lease | null,
  signal: AbortSignal,
): Promise<Loaded> {
  const rest = await openAll(tenant, [...resting.keys()], { loadContext, lease }, signal);
  const all = await inputOf(tenant, [...input.targets, ...rest.opened], input);
  return {
    input: all,
    loadContext,
    resting: new Map(),
    skippedTargets: [...skippedTargets, ...rest.skippedTargets],
    uncertainty,
  };
}

/** Reads the summaries of all targets in one request. */
export async function lookAround(
  {
    tombstones,
    holds,
    targetStore,
    protection,
  }: Pick<OpenTenant, 'tombstones' | 'holds' | 'targetStore' | 'protection'>,
  targets: readonly OpenTarget[],
  prepared: Pick<LoadContext, 'clinicReading' | 'byAgenda' | 'gaps'>,
): Promise<LoadContext> {
  return {
    ...prepared,
    wentBackAt: await protection.wentBackAt(),
    forgotten: (await tombstones.load()).version,
    holds: await holds.list(),
    summaries: await targetStore.summarize(targets.map(({ id }) => id)),
  };
}

/** Opens the states of targets, before absent records are known. */
export async function openAll(
  tenant: Opener & Pick<OpenTenant, 'journal'>,
  targets: readonly OpenTarget[],
  { loadContext: { clinicReading, wentBackAt }, lease }: { loadContext: LoadContext; lease: Lease | null },
  signal: AbortSignal,
): Promise<{ opened: Opened[]; skippedTargets: readonly SkippedTarget[] }> {
  const { states, skippedTargets } = await openStates(tenant, targets, { clinicReading, lease, wentBackAt }, signal);
  const opened: Opened[] = [];
  for (const [target, state] of states) {
    // Records that an administrator restored. The planner removes damaged pins.
    const { journal, clock } = tenant;
    const pinned = await (lease === null ? journal.pinned : journal.confirmPins)(target.id, clock());
    opened.push({ target, state, pinned, absent: [], missing: [] });
  }
  return { opened, skippedTargets };
}

/** Adds absent records by target: missing from lists, and due for individual fetches. */
async function withUnlisted(
  { targetStore }: Pick<OpenTenant, 'targetStore'>,
  opened: readonly Opened[],
  { clinicReading, isRecorded }: { clinicReading: ClinicReading; isRecorded: boolean },
): Promise<Opened[]> {
  const found: Opened[] = [];
  for (const one of opened) {
    const { target, state, pinned } = one;
    const absent = missingFrom(clinicReading, target, state, pinned);
    const beyond = await nextOutside(
      targetStore,
      target,
      { clinicReading, state, targets: opened.length, isRecorded },
      absent,
    );
    found.push({ ...one, absent, missing: [...absent, ...beyond] });
  }
  return found;
}

/** Fetches absent records of targets and followers individually. */
async function confirmUnlisted(
  tenant: Questioner & Pick<OpenTenant, 'clinic' | 'followers' | 'targetStore' | 'targets'>,
  opened: readonly Opened[],
  { clinicReading, progress }: Pick<Loading, 'clinicReading' | 'progress'>,
  signal: AbortSignal,
): Promise<Confirmations> {
  const missing = new Map<string, readonly string[]>(opened.map((one) => [one.target.id, one.missing]));
  const followed: ReadonlyMap<string, readonly Instant[]>[] = [];
  for (const follower of tenant.followers) {
    const absent = await absentOf(follower, clinicReading);
    missing.set(follower.name, [...absent.keys()]);
    followed.push(absent);
  }
  const questions = new Set([...missing.values()].flat()).size;
  if (questions > 0) progress(message('step.absent-records'), 0, questions);
  const startsBefore = (id: string) => [
    ...opened.flatMap(({ state: { links, pending } }) => (pending.get(id) ?? links.get(id))?.startAt ?? []),
    ...followed.flatMap((absent) => absent.get(id) ?? []),
  ];
  return confirmAll(tenant, clinicReading, { missing, startsBefore }, signal);
}

/** Returns whether individual fetches found any appointment, which may belong to every target. */
export function saysMore({ appointments }: Confirmations): boolean {
  const { found, unusable, vanished, missedOnce, present } = appointments;
  return found.length + unusable.size + vanished.size + missedOnce.size + present.size > 0;
}

/** Returns appointments that a follower waits for and that a complete list omitted, with their known start. */
async function absentOf(
  follower: CycleFollower,
  { snapshot }: ClinicReading,
): Promise<ReadonlyMap<string, readonly Instant[]>> {
  return snapshot.completeness === 'complete' ? follower.absent(listedIn(withVisits(snapshot))) : new Map();
}

/** Clinic data of the cycle. */
type Seen = Pick<CycleInput, 'byAgenda' | 'confirmations' | 'isUncertain' | 'isForgotten' | 'clinicReading'>;

/** Stores for the last values. */
export type Stores = Pick<OpenTenant, 'clock' | 'configuration' | 'configVersion' | 'holds' | 'journal' | 'links'> &
  Pick<OpenTenant, 'outbox' | 'recentObjects' | 'targetStore' | 'targets'>;

/** Reads the last values of a plan's input. Later decisions apply in the next cycle. */
export async function inputOf(tenant: Stores, prepared: readonly PreparedInput[], seen: Seen): Promise<CycleInput> {
  const { configuration, targetStore } = tenant;
  const now = tenant.clock();
  const newestConfig = await tenant.configVersion.newest();
  // Read holds before target records: an approval updates the hold first.
  const holds = await tenant.holds.list();
  const targets: TargetInput[] = [];
  for (const one of prepared) {
    const { id } = one.target;
    const recentObjects = one.target.crm === null ? tenant.recentObjects.read(id, now) : new Map();
    const [{ firstRunApprovedAt, comparableUnder, refusedThere, ...record }, gone, restorations, recent] =
      await Promise.all([
        targetStore.read(id),
        targetStore.gone(id, now),
        restorationsOf(targetStore, one.target, now),
        recentObjects,
      ]);
    const { notRemoved, notUpdated } = withheldIn(one.target, record);
    const withheldBefore = new Set([...notRemoved, ...notUpdated]);
    const stored = { firstRunApprovedAt, comparableUnder, refusedThere, withheldBefore };
    targets.push({ ...one, stored, gone, restorations, recent });
  }
  const { language, zone, reminders } = configuration;
  return {
    ...seen,
    now,
    rescheduleWithinMs: (reminders?.rescheduleWithinMinutes ?? DEFAULT_RESCHEDULE_MINUTES) * MINUTE_MS,
    configVersion: newestConfig,
    holds,
    locale: { language, zone },
    targets,
    unplannedContacts: await unplannedContactsOf(tenant, prepared),
  };
}

/** Returns paused or unreadable targets of contacts that activities and deals depend on. */
async function unplannedContactsOf(
  tenant: Stores,
  prepared: readonly PreparedInput[],
): Promise<Map<string, ContactsInput>> {
  const planned = new Set(prepared.map(({ target }) => target.id));
  const extra = new Map<string, ContactsInput>();
  for (const { target } of prepared) {
    const contacts = tenant.targets.get(target.configuration.crm?.contacts ?? '');
    if (contacts === undefined || planned.has(contacts.id) || extra.has(contacts.id)) continue;
    const { id } = contacts;
    const state = await readState(tenant, id);
    extra.set(id, { target: contacts, state, pinned: await tenant.journal.pinned(id, tenant.clock()) });
  }
  return extra;
}
