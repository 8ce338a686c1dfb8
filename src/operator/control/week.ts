import { createZone } from '../../clinic/read/timestamps.ts';
import type { Connector } from '../../connectors/connector.ts';
import { asMirrorError, type ErrorTexts, MirrorError } from '../../core/model/errors.ts';
import type { CalendarItem, ItemTime } from '../../core/model/items.ts';
import type { Link, RemoteItem } from '../../core/model/operations.ts';
import type { Hold, PendingChange } from '../../core/model/plan.ts';
import type { Appointment, AppointmentStatus } from '../../core/model/records.ts';
import type { PartialReason } from '../../core/model/snapshots.ts';
import { DAY_MS, type Instant, offsetMs, type TimeWindow, upcoming } from '../../core/model/time.ts';
import type { ClinicSource } from '../../domain/clinic-requests.ts';
import { windowOf } from '../../domain/mapping-sources.ts';
import { readForDisplay } from '../../domain/read-clinic.ts';
import { compareWeek, recordOf, type WeekDifference, type WeekEntry } from '../../domain/week.ts';
import { restoring } from '../../engine/diff.ts';
import { auditRules, withheldIn } from '../../engine/policy.ts';
import type { ChangeTable, HoldTable, LinkTable, TargetTable } from '../../engine/store.ts';
import { message } from '../../messages/message.ts';
import type { OpenTarget } from '../../tenant/tenant.ts';
import { type Installation, requireTenant } from './installation.ts';
import { type EventDecisionSource, eventDecision, NO_DIRECTORY, pagesOf } from './target-objects.ts';

/** Largest number of single reads: objects without a listed appointment, and appointments whose object is outside the week. */
const MOST_ASKED_ALONE = 20;

/** Time of an appointment or event: instants, or whole days (`endDate` exclusive, `YYYY-MM-DD`). */
export type WeekTime =
  | { kind: 'timed'; startAt: Instant; endAt: Instant }
  | { kind: 'all-day'; startDate: string; endDate: string };

/**
 * Next step of a difference: the next cycle writes the change, the change waits in the outbox (`failing` with the last failure code; without
 * `nextTryAt`, the write is due), a hold stops the change, the target's policy keeps the difference, today's repair limit is reached
 * (`churning`), no writes occur (`paused`), or an administrator must decide (`person`).
 */
export type WeekNext =
  | { step: 'next-cycle' | 'paused' | 'churning' | 'person' | 'policy' }
  | { step: 'waits'; nextTryAt: Instant | null; failing: string | null }
  | { step: 'held'; hold: string }
  | { step: 'stays'; policy: 'keep' | 'report' };

/** A record of a week in clinic and calendar. */
export interface WeekEntryView {
  /** Null for a managed object without a record. */
  record: string | null;
  clinic: { time: WeekTime; status: AppointmentStatus; agenda: string } | null;
  /** Event in the calendar; `time` is null after an unreadable manual change. `page` is the event's URL. */
  calendar: { time: WeekTime | null; page: string | null } | null;
  /** Title that the target's policy shows; null if the caller may not see titles, or without an event. */
  title: string | null;
  /** Code of the rule that excludes the appointment, `before-window` or `beyond-window`, or null. */
  omitted: string | null;
  difference: WeekDifference | null;
  /** Null without a difference. */
  next: WeekNext | null;
}

/** Reason why a side is unreadable. */
export interface SideFailure {
  code: string;
  texts: ErrorTexts;
}

/** A week of a calendar, compared with the clinic. */
export interface WeekView {
  tenant: string;
  target: string;
  connector: string;
  /** Zone of the clinic, for the begin of days. */
  zone: string;
  /** Monday, `YYYY-MM-DD`. */
  from: string;
  days: { date: string; startAt: Instant; endAt: Instant }[];
  /** Begin of the clinic read. */
  asOf: Instant;
  clinic: { failure: SideFailure | null; partial: PartialReason | null; unusable: number };
  /** `none`: the calendar is not created yet. */
  calendar: { state: 'read' | 'none' | 'failed'; failure: SideFailure | null };
  /** Ordered by begin. Differences require that both sides are readable. */
  entries: WeekEntryView[];
}

/** Query for {@link viewWeek}. */
export interface WeekQuestion {
  /** A local date in the week, `YYYY-MM-DD`; null for the present week. */
  date: string | null;
  /** Whether the caller may see titles that the target's policy allows. */
  titles: boolean;
}

/**
 * Reads a week of the agendas that feed a calendar, and the managed events of the calendar. Compares both as a plan would, and writes
 * nothing. An unreadable side is reported in the result.
 * @throws MirrorError `settings`, code `no-such-tenant` or `no-such-target`
 */
export async function viewWeek(
  installation: Installation,
  { tenant: tenantId, target: targetId }: { tenant: string; target: string },
  { date, titles }: WeekQuestion,
  signal: AbortSignal,
): Promise<WeekView> {
  const tenant = requireTenant(installation, tenantId);
  const target = calendarOf(tenant.targets, targetId);
  const { zone } = tenant.configuration;
  const days = weekOf(zone, date, tenant.clock());
  const window = { fromAt: days[0]?.startAt ?? 0, toAt: days.at(-1)?.endAt ?? 0 };
  const [clinic, calendar] = await Promise.all([
    tried(signal, () => readForDisplay(tenant, target, window, signal)),
    tried(signal, () => readCalendar(tenant.targetStore, target, window, signal)),
  ]);
  const reading = 'read' in clinic ? clinic.read : null;
  const objects = 'read' in calendar ? calendar.read : null;
  const entries = await entriesOf(tenant, target, { reading, objects, window }, signal);
  const { container } = await tenant.targetStore.read(target.id);
  const remoteIds = entries.flatMap(({ remote }) => remote?.remoteId ?? []);
  const pages = await pagesOf(target, container, remoteIds, signal);
  const pageOf = ({ remoteId }: RemoteItem<CalendarItem>) => pages.get(remoteId) ?? null;
  const isCompared = reading !== null && objects !== null;
  return {
    ...{ tenant: tenantId, target: targetId, connector: target.configuration.connector, zone },
    ...{ from: days[0]?.date ?? '', days, asOf: await tenant.sharedTime(reading?.startedAt ?? tenant.clock()) },
    clinic: {
      failure: 'failure' in clinic ? clinic.failure : null,
      partial: reading?.snapshot.completeness === 'partial' ? reading.snapshot.reason : null,
      unusable: reading?.snapshot.unusable.length ?? 0,
    },
    calendar:
      'failure' in calendar
        ? { state: 'failed', failure: calendar.failure }
        : { state: objects === null ? 'none' : 'read', failure: null },
    entries: (await withNext(tenant, target, isCompared ? entries : entries.map(uncompared)))
      .map(({ entry, next }) => viewOf(entry, next, { titles, pageOf }))
      .sort((one, other) => beginning(one, zone) - beginning(other, zone)),
  };
}

/** @throws MirrorError `settings`, code `no-such-target`, also for a target in a CRM */
function calendarOf(targets: ReadonlyMap<string, OpenTarget>, id: string): OpenTarget {
  const target = targets.get(id);
  if (target !== undefined && target.crm === null) return target;
  throw new MirrorError(message('no-such-calendar', { id: JSON.stringify(id) }), {
    actor: 'settings',
    code: 'no-such-target',
    retry: 'never',
    remedy: message('no-such-calendar.remedy'),
  });
}

/**
 * Returns the days of a week, Monday first; a day may have 23 or 25 hours. @param date null or an invalid date selects the week of `now`
 */
export function weekOf(zone: string, date: string | null, now: Instant): WeekView['days'] {
  const { startOfDay } = createZone(zone);
  const requestedMs = date !== null && /^\d{4}-\d{2}-\d{2}$/.test(date) ? Date.parse(date) : Number.NaN;
  const today = Math.floor((now + offsetMs(zone, now)) / DAY_MS) * DAY_MS;
  const day = Number.isNaN(requestedMs) ? today : requestedMs;
  // 1970-01-01 was a Thursday.
  const monday = day - ((day / DAY_MS + 3) % 7) * DAY_MS;
  return Array.from({ length: 7 }, (_, index) => {
    const dateMs = monday + index * DAY_MS;
    return {
      date: new Date(dateMs).toISOString().slice(0, 10),
      startAt: startOfDay(dateMs),
      endAt: startOfDay(dateMs + DAY_MS),
    };
  });
}

async function tried<Value>(
  signal: AbortSignal,
  read: () => Promise<Value>,
): Promise<{ read: Value } | { failure: SideFailure }> {
  try {
    return { read: await read() };
  } catch (error) {
    signal.throwIfAborted();
    const { code, texts } = asMirrorError(error);
    return { failure: { code, texts } };
  }
}

/** Returns managed objects in a window; null without a calendar. */
async function readCalendar(
  targetStore: TargetTable,
  target: OpenTarget,
  window: TimeWindow,
  signal: AbortSignal,
): Promise<RemoteItem<CalendarItem>[] | null> {
  const { container } = await targetStore.read(target.id);
  if (container === null) return null;
  const objects: RemoteItem<CalendarItem>[] = [];
  for await (const page of eventsOf(target).read(container, window, signal)) objects.push(...page);
  return objects.filter(({ item }) => item === null || target.identity.isShown(target.identity.spanOf(item), window));
}

/** A target without a CRM contains events. */
function eventsOf({ connector }: OpenTarget): Connector<CalendarItem> {
  return connector as unknown as Connector<CalendarItem>;
}

/** Data of both sides; null for an unreadable side. */
interface Sides {
  reading: Awaited<ReturnType<typeof readForDisplay>> | null;
  objects: RemoteItem<CalendarItem>[] | null;
  window: TimeWindow;
}

/** Members of a tenant that the entries of a week are computed from. */
interface WeekSource extends EventDecisionSource {
  clinic: ClinicSource;
  holds: HoldTable;
  links: LinkTable;
  outbox: ChangeTable;
  targetStore: TargetTable;
}

async function entriesOf(
  tenant: WeekSource,
  target: OpenTarget,
  { reading, objects, window }: Sides,
  signal: AbortSignal,
): Promise<WeekEntry[]> {
  const listed = [...(reading?.snapshot.records.values() ?? [])].filter(({ time }) => time.startAt < window.toAt);
  const alone =
    reading === null
      ? NOTHING_ALONE
      : await askClinicAlone(tenant.clinic, target, { listed, objects: objects ?? [] }, signal);
  const appointments = [...listed, ...alone.found];
  const records = [
    ...appointments.map(({ id }) => id),
    ...(objects ?? []).flatMap((each) => recordOf(each, target.identity) ?? []),
  ];
  const links = await tenant.links.readSome(target.id, [...new Set(records)]);
  const elsewhere = objects === null ? [] : await findElsewhere(tenant.targetStore, target, { links, objects }, signal);
  const decide = await eventDecision(tenant, target, links, reading?.directory ?? NO_DIRECTORY);
  return compareWeek({
    ...{ appointments, vanished: alone.vanished, unusable: alone.unusable, decide, links },
    remote: [...(objects ?? []), ...elsewhere],
    identity: target.identity,
    window: windowOf(target, tenant.clock()),
  });
}

const NOTHING_ALONE = { found: [] as Appointment[], vanished: new Set<string>(), unusable: new Set<string>() };
/** An event without a listed appointment may belong to a moved or deleted appointment. */
async function askClinicAlone(
  clinic: ClinicSource,
  target: OpenTarget,
  { listed, objects }: { listed: readonly Appointment[]; objects: readonly RemoteItem<CalendarItem>[] },
  signal: AbortSignal,
): Promise<typeof NOTHING_ALONE> {
  const seen = new Set(listed.map(({ id }) => id));
  const unlisted = new Set(
    objects.flatMap((each) => recordOf(each, target.identity) ?? []).filter((id) => !seen.has(id)),
  );
  const asked = [...unlisted].slice(0, MOST_ASKED_ALONE);
  const answers = await Promise.all(
    asked.map(async (id) => ({ id, answer: await tried(signal, () => clinic.readAppointment(id, signal)) })),
  );
  const lookups = answers.flatMap(({ id, answer }) => ('read' in answer ? [{ id, lookup: answer.read }] : []));
  return {
    found: lookups.flatMap(({ lookup }) => ('found' in lookup ? [lookup.found] : [])),
    vanished: new Set(lookups.flatMap(({ id, lookup }) => ('absent' in lookup ? [id] : []))),
    unusable: new Set(lookups.flatMap(({ id, lookup }) => ('unusable' in lookup ? [id] : []))),
  };
}

/** A user may have moved an event to a different week. */
async function findElsewhere(
  targetStore: TargetTable,
  target: OpenTarget,
  { links, objects }: { links: ReadonlyMap<string, Link>; objects: readonly RemoteItem<CalendarItem>[] },
  signal: AbortSignal,
): Promise<RemoteItem<CalendarItem>[]> {
  const { container } = await targetStore.read(target.id);
  const seen = new Set(objects.map((each) => recordOf(each, target.identity)));
  const keys = [...links.values()]
    .filter(({ recordId }) => !seen.has(recordId))
    .slice(0, MOST_ASKED_ALONE)
    .map(({ recordId, idAttempt, remoteId }) => [target.identity.key(recordId, idAttempt), remoteId] as const);
  if (container === null || keys.length === 0) return [];
  const ids = new Map(keys);
  const answer = await tried(signal, () => eventsOf(target).find(container, [...ids.keys()], signal, ids));
  const listed = new Set(objects.map(({ remoteId }) => remoteId));
  return 'read' in answer ? answer.read.filter(({ remoteId }) => !listed.has(remoteId)) : [];
}

/** Without both sides, no difference is known. */
function uncompared(entry: WeekEntry): WeekEntry {
  return { ...entry, difference: null };
}

/** Adds the next step to each difference. */
async function withNext(
  tenant: WeekSource,
  target: OpenTarget,
  entries: readonly WeekEntry[],
): Promise<{ entry: WeekEntry; next: WeekNext | null }[]> {
  const audit = auditRules(target.configuration);
  const holds = (await tenant.holds.list()).filter((hold) => hold.target === target.id && hold.state === 'open');
  const restores = restoring(audit, await tenant.targetStore.restorations(target.id, tenant.clock()));
  const { notRemoved, notUpdated } = withheldIn(target, await tenant.targetStore.read(target.id));
  const withheld = new Set([...notRemoved, ...notUpdated]);
  const isPaused = tenant.configuration.paused || target.configuration.paused;
  return Promise.all(
    entries.map(async (entry) => {
      if (entry.difference === null) return { entry, next: null };
      if (isPaused) return { entry, next: { step: 'paused' } };
      if (entry.record !== null && withheld.has(entry.record)) return { entry, next: { step: 'policy' } };
      const pending = entry.record === null ? null : await tenant.outbox.pendingOf(target.id, entry.record);
      return { entry, next: nextOf(entry, { holds, pending, policy: audit.drift, restores, now: tenant.clock() }) };
    }),
  );
}

function nextOf(
  { record, difference }: WeekEntry,
  state: {
    holds: readonly Hold[];
    pending: PendingChange | null;
    policy: 'repair' | 'keep' | 'report';
    restores(record: string): boolean;
    now: Instant;
  },
): WeekNext {
  const { holds, pending, policy, restores, now } = state;
  if (record === null || difference?.kind === 'copy') return { step: 'person' };
  const hold = holds.find(({ recordIds }) => recordIds.includes(record));
  if (hold !== undefined) return { step: 'held', hold: hold.id };
  if (pending !== null) return { step: 'waits', nextTryAt: upcoming(pending.dueAt, now), failing: pending.lastError };
  if (difference?.kind === 'unknown') return { step: 'person' };
  if (difference?.kind !== 'edited' && difference?.kind !== 'removed') return { step: 'next-cycle' };
  if (policy !== 'repair') return { step: 'stays', policy };
  return { step: restores(record) ? 'next-cycle' : 'churning' };
}

function viewOf(
  { record, appointment, wanted, omitted, remote, difference }: WeekEntry,
  next: WeekNext | null,
  { titles, pageOf }: { titles: boolean; pageOf(remote: RemoteItem<CalendarItem>): string | null },
): WeekEntryView {
  return {
    record,
    clinic:
      appointment === null
        ? null
        : { time: appointment.time, status: appointment.status, agenda: appointment.agendaId },
    calendar:
      remote === null ? null : { time: remote.item === null ? null : timeOf(remote.item.time), page: pageOf(remote) },
    title: titles ? (wanted?.title ?? null) : null,
    omitted,
    difference,
    next,
  };
}

function timeOf(time: ItemTime): WeekTime {
  if (time.kind === 'all-day') return time;
  return { kind: 'timed', startAt: Date.parse(time.start), endAt: Date.parse(time.end) };
}

function beginning({ clinic, calendar }: WeekEntryView, zone: string): Instant {
  const time = clinic?.time ?? calendar?.time ?? null;
  if (time === null) return 0;
  return time.kind === 'timed' ? time.startAt : createZone(zone).startOfDay(Date.parse(time.startDate));
}
