import { createZone } from '../clinic/read/timestamps.ts';
import type { Connector } from '../connectors/connector.ts';
import { readForDisplay } from '../jobs/clinic-reading.ts';
import type { OpenTarget, OpenTenant } from '../jobs/tenant.ts';
import { message } from '../messages/message.ts';
import { asMirrorError, type ErrorTexts, MirrorError } from '../model/errors.ts';
import type { CalendarItem, ItemTime } from '../model/items.ts';
import type { Link, RemoteItem } from '../model/operations.ts';
import type { Hold, PendingChange } from '../model/plan.ts';
import type { Appointment, AppointmentStatus } from '../model/records.ts';
import type { PartialReason } from '../model/snapshots.ts';
import { DAY_MS, type Instant, offsetMs, type TimeWindow } from '../model/time.ts';
import { restoring } from '../sync/diff.ts';
import { windowOf } from '../sync/mapping-sources.ts';
import { compareWeek, recordOf, type WeekDifference, type WeekEntry } from '../sync/week.ts';
import { type Installation, requireTenant } from './installation.ts';
import { type EventDecisionSource, eventDecision, NO_DIRECTORY, pagesOf } from './target-objects.ts';

/** Objects whose appointment is not in the list are asked for alone up to this many, and appointments whose object is elsewhere likewise. */
const MOST_ASKED_ALONE = 20;

/** When an entry is: instants, or whole days (`endDate` exclusive, `YYYY-MM-DD`). */
export type WeekTime =
  | { kind: 'timed'; startAt: Instant; endAt: Instant }
  | { kind: 'all-day'; startDate: string; endDate: string };

/**
 * What becomes of a difference: it goes with the next cycle, it waits in the outbox (`failing` with the code of the last failure), a hold keeps
 * it back, it stays by the target's policy, or because it was put right too often today (`churning`), or nothing is written (`paused`), or a
 * person has to look (`person`).
 */
export type WeekNext =
  | { step: 'next-cycle' | 'paused' | 'churning' | 'person' }
  | { step: 'waits'; dueAt: Instant; failing: string | null }
  | { step: 'held'; hold: string }
  | { step: 'stays'; policy: 'keep' | 'report' };

/** One record of a week, on both sides. */
export interface WeekEntryView {
  /** Null for an object of ours that names no record. */
  record: string | null;
  clinic: { time: WeekTime; status: AppointmentStatus; agenda: string } | null;
  /** What the calendar holds; `time` is null where a person changed it beyond reading. `page` leads a person to it. */
  calendar: { time: WeekTime | null; page: string | null } | null;
  /** What the target's policy has stand there today; null for whoever may not see it, and where nothing should stand there. */
  title: string | null;
  /** Code of the rule that leaves the appointment out, `before-window` or `beyond-window`; null when none does. */
  omitted: string | null;
  difference: WeekDifference | null;
  /** Null without a difference. */
  next: WeekNext | null;
}

/** A side that could not be read, and why. */
export interface SideFailure {
  code: string;
  texts: ErrorTexts;
}

/** A week of a calendar beside what the clinic shows of it. */
export interface WeekView {
  tenant: string;
  target: string;
  connector: string;
  /** The clinic's zone, in which days begin. */
  zone: string;
  /** Monday, `YYYY-MM-DD`. */
  from: string;
  days: { date: string; startAt: Instant; endAt: Instant }[];
  /** When the reading of the clinic began. */
  asOf: Instant;
  clinic: { failure: SideFailure | null; partial: PartialReason | null; unusable: number };
  /** `none`: the calendar was not made yet. */
  calendar: { state: 'read' | 'none' | 'failed'; failure: SideFailure | null };
  /** By their beginning. Differences are told only where both sides were read. */
  entries: WeekEntryView[];
}

/** What is asked of {@link viewWeek}. */
export interface WeekQuestion {
  /** A local date of the week, `YYYY-MM-DD`; null for the week of today. */
  date: string | null;
  /** Whether whoever asks may see what the target's policy shows. */
  titles: boolean;
}

/**
 * Reads a week of the clinic's agendas that feed a calendar, and of the calendar what is ours, and compares them as a plan would. Writes nothing.
 * A side that can't be read is told as such.
 * @throws MirrorError `settings`, code `no-such-tenant` or `no-such-target`
 */
export async function viewWeek(
  installation: Installation,
  { tenant: tenantId, target: targetId }: { tenant: string; target: string },
  { date, titles }: WeekQuestion,
  signal: AbortSignal,
): Promise<WeekView> {
  const tenant = requireTenant(installation, tenantId);
  const target = calendarOf(tenant, targetId);
  const { zone } = tenant.configuration;
  const days = weekOf(zone, date, tenant.clock());
  const window = { fromAt: days[0]?.startAt ?? 0, toAt: days.at(-1)?.endAt ?? 0 };
  const [clinic, calendar] = await Promise.all([
    tried(signal, () => readForDisplay(tenant, target, window, signal)),
    tried(signal, () => readCalendar(tenant, target, window, signal)),
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
    ...{ from: days[0]?.date ?? '', days, asOf: reading?.startedAt ?? tenant.clock() },
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
function calendarOf({ targets }: Pick<OpenTenant, 'targets'>, id: string): OpenTarget {
  const target = targets.get(id);
  if (target !== undefined && target.crm === null) return target;
  throw new MirrorError(message('no-such-calendar', { id: JSON.stringify(id) }), {
    actor: 'settings',
    code: 'no-such-target',
    retry: 'never',
    remedy: message('no-such-calendar.remedy'),
  });
}

/** The days of a week, Monday first; a day may have 23 or 25 hours. @param date null, or what is no date, for the week of `now` */
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

/** Objects of ours that lie in a window; null where there is no calendar yet. */
async function readCalendar(
  tenant: Pick<OpenTenant, 'targetStore'>,
  target: OpenTarget,
  window: TimeWindow,
  signal: AbortSignal,
): Promise<RemoteItem<CalendarItem>[] | null> {
  const { container } = await tenant.targetStore.read(target.id);
  if (container === null) return null;
  const objects: RemoteItem<CalendarItem>[] = [];
  for await (const page of eventsOf(target).read(container, window, signal)) objects.push(...page);
  return objects.filter(({ item }) => item === null || target.identity.isShown(target.identity.spanOf(item), window));
}

/** A target without a CRM's part holds events. */
function eventsOf({ connector }: OpenTarget): Connector<CalendarItem> {
  return connector as unknown as Connector<CalendarItem>;
}

/** What was read of both sides; null for one that was not. */
interface Sides {
  reading: Awaited<ReturnType<typeof readForDisplay>> | null;
  objects: RemoteItem<CalendarItem>[] | null;
  window: TimeWindow;
}

async function entriesOf(
  tenant: EventDecisionSource & Pick<OpenTenant, 'clinic' | 'links' | 'targetStore'>,
  target: OpenTarget,
  { reading, objects, window }: Sides,
  signal: AbortSignal,
): Promise<WeekEntry[]> {
  const listed = [...(reading?.snapshot.records.values() ?? [])].filter(({ time }) => time.startAt < window.toAt);
  const alone =
    reading === null ? NOTHING_ALONE : await askClinicAlone(tenant, target, { listed, objects: objects ?? [] }, signal);
  const appointments = [...listed, ...alone.found];
  const records = [
    ...appointments.map(({ id }) => id),
    ...(objects ?? []).flatMap((each) => recordOf(each, target.identity) ?? []),
  ];
  const links = await tenant.links.readSome(target.id, [...new Set(records)]);
  const elsewhere = objects === null ? [] : await findElsewhere(tenant, target, { links, objects }, signal);
  const decide = await eventDecision(tenant, target, links, reading?.directory ?? NO_DIRECTORY);
  return compareWeek({
    ...{ appointments, vanished: alone.vanished, unusable: alone.unusable, decide, links },
    remote: [...(objects ?? []), ...elsewhere],
    identity: target.identity,
    window: windowOf(target, tenant.clock()),
  });
}

const NOTHING_ALONE = { found: [] as Appointment[], vanished: new Set<string>(), unusable: new Set<string>() };
/** What stands in the calendar and not in the list may have moved to another week, or be gone. */
async function askClinicAlone(
  tenant: Pick<OpenTenant, 'clinic'>,
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
    asked.map(async (id) => ({ id, answer: await tried(signal, () => tenant.clinic.readAppointment(id, signal)) })),
  );
  const lookups = answers.flatMap(({ id, answer }) => ('read' in answer ? [{ id, lookup: answer.read }] : []));
  return {
    found: lookups.flatMap(({ lookup }) => ('found' in lookup ? [lookup.found] : [])),
    vanished: new Set(lookups.flatMap(({ id, lookup }) => ('absent' in lookup ? [id] : []))),
    unusable: new Set(lookups.flatMap(({ id, lookup }) => ('unusable' in lookup ? [id] : []))),
  };
}

/** A person may have moved objects to another week. */
async function findElsewhere(
  tenant: Pick<OpenTenant, 'targetStore'>,
  target: OpenTarget,
  { links, objects }: { links: ReadonlyMap<string, Link>; objects: readonly RemoteItem<CalendarItem>[] },
  signal: AbortSignal,
): Promise<RemoteItem<CalendarItem>[]> {
  const { container } = await tenant.targetStore.read(target.id);
  const seen = new Set(objects.map((each) => recordOf(each, target.identity)));
  const keys = [...links.values()]
    .filter(({ recordId }) => !seen.has(recordId))
    .slice(0, MOST_ASKED_ALONE)
    .map(({ recordId, idAttempt }) => target.identity.key(recordId, idAttempt));
  if (container === null || keys.length === 0) return [];
  const answer = await tried(signal, () => eventsOf(target).find(container, keys, signal));
  return 'read' in answer ? answer.read : [];
}

/** Where one side was not read, nothing can be said to differ. */
function uncompared(entry: WeekEntry): WeekEntry {
  return { ...entry, difference: null };
}

/** Tells of each difference what becomes of it. */
async function withNext(
  tenant: Pick<OpenTenant, 'clock' | 'configuration' | 'holds' | 'outbox' | 'targetStore'>,
  target: OpenTarget,
  entries: readonly WeekEntry[],
): Promise<{ entry: WeekEntry; next: WeekNext | null }[]> {
  const { audit } = target.configuration;
  const holds = (await tenant.holds.list()).filter((hold) => hold.target === target.id && hold.state === 'open');
  const restores = restoring(audit, await tenant.targetStore.restorations(target.id, tenant.clock()));
  const isPaused = tenant.configuration.paused || target.configuration.paused;
  return Promise.all(
    entries.map(async (entry) => {
      if (entry.difference === null) return { entry, next: null };
      if (isPaused) return { entry, next: { step: 'paused' } };
      const pending = entry.record === null ? null : await tenant.outbox.pendingOf(target.id, entry.record);
      return { entry, next: nextOf(entry, { holds, pending, policy: audit.drift, restores }) };
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
  },
): WeekNext {
  const { holds, pending, policy, restores } = state;
  if (record === null || difference?.kind === 'copy') return { step: 'person' };
  const hold = holds.find(({ recordIds }) => recordIds.includes(record));
  if (hold !== undefined) return { step: 'held', hold: hold.id };
  if (pending !== null) return { step: 'waits', dueAt: pending.dueAt, failing: pending.lastError };
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
