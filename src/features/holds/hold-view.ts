import type { ApprovalRequest } from '../../core/model/acts.ts';
import { asMirrorError } from '../../core/model/errors.ts';
import type { Link } from '../../core/model/operations.ts';
import type { Hold } from '../../core/model/plan.ts';
import type { FieldChange } from '../../core/model/plan-view.ts';
import type { Appointment } from '../../core/model/records.ts';
import { REMINDERS } from '../../core/model/reminders.ts';
import { DAY_MS, type TimeWindow } from '../../core/model/time.ts';
import { withVisits } from '../../core/model/visits.ts';
import { fieldTeller } from '../../domain/field-changes.ts';
import { windowOf } from '../../domain/mapping-sources.ts';
import type { Directory } from '../../domain/project.ts';
import { readForDisplay } from '../../domain/read-clinic.ts';
import { type Installation, requireTenant } from '../../operator/control/installation.ts';
import { calendarOf } from '../../operator/control/plan.ts';
import type { Acting } from '../../operator/control/recording.ts';
import type { HeldItem } from '../../operator/control/target-objects.ts';
import { eventDecision, heldObjects, NO_DIRECTORY } from '../../operator/control/target-objects.ts';
import { noSuchHold } from '../../state/holds.ts';
import type { OpenTarget } from '../../tenant/tenant.ts';
import { type HeldTenant, shownHold, type TenantHold, usualOfHold } from './holds.ts';
import type { UsualChanges } from './usual.ts';

/** A hold with the details for a decision. */
export interface HoldView {
  hold: TenantHold;
  /** Null for a hold of corrections, which has no target. */
  connector: string | null;
  zone: string;
  /** Name of the target's calendar; null for a CRM, and for a calendar that is known only by its URL. */
  calendar: string | null;
  /** Comparable changes of the last thirty days; null for kinds that are not counted. */
  usual: UsualChanges | null;
  /** By time; records without a time are last. */
  items: HeldItem[];
  /** Reason why the clinic's list is unreadable; null if the list was read or not required. */
  unread: string | null;
  /** Whether parts can be decided: each record is a separate removal. */
  isDivisible: boolean;
  /** Existing approval requests, if two users must approve. */
  requests: Pick<ApprovalRequest, 'by' | 'at' | 'expiresAt' | 'what'>[];
}

/**
 * Returns a hold with the usual number of changes. Reads one list from the clinic, and the objects of the first hundred records from the
 * target; writes nothing.
 * @throws MirrorError `settings`, code `no-such-tenant` or `no-such-hold`
 */
export async function viewHold(
  installation: Installation,
  tenantId: string,
  holdId: string,
  signal: AbortSignal,
): Promise<HoldView> {
  const tenant = requireTenant(installation, tenantId);
  const hold = (await tenant.holds.list()).find(({ id }) => id === holdId);
  if (hold === undefined) throw noSuchHold(holdId);
  const requests = await installation.approvals(tenantId);
  return {
    hold: shownHold(hold, tenant),
    zone: tenant.configuration.zone,
    ...(await holdContentOf(tenant, hold, signal)),
    requests: requests
      .filter(({ what }) => what.hold === holdId)
      .map(({ by, at, expiresAt, what }) => ({ by, at, expiresAt, what })),
  };
}

type HoldContent = Omit<HoldView, 'hold' | 'zone' | 'requests'>;

/** @throws MirrorError `settings`, code `no-such-hold` if the target or the reminders are no longer configured */
async function holdContentOf(tenant: HeldTenant, hold: Hold, signal: AbortSignal): Promise<HoldContent> {
  const { clinic, reminders } = tenant;
  if (hold.target === REMINDERS && reminders !== null) {
    const held = { recordIds: hold.recordIds, now: tenant.clock(), zone: tenant.configuration.zone };
    const { items, unread } = await reminders.heldCorrections(clinic, held, signal);
    return { connector: null, calendar: null, usual: null, items, unread, isDivisible: false };
  }
  const target = tenant.targets.get(hold.target);
  if (target === undefined) throw noSuchHold(hold.id);
  const { items, unread } = await itemsOf(tenant, target, hold, signal);
  return {
    connector: target.configuration.connector,
    calendar: calendarOf(target),
    usual: await usualOfHold(tenant, hold),
    ...{ items, unread, isDivisible: isRemoval(hold.kind) },
  };
}

/** Returns the number of records above which a second user must approve; null if one user is always enough. */
export function secondPersonAbove({ actServices }: Pick<Acting, 'actServices'>, tenantId: string): number | null {
  return actServices.approvalsOf(tenantId).policy.holdsAbove ?? null;
}

async function itemsOf(
  tenant: HeldTenant,
  target: OpenTarget,
  { recordIds, kind }: Hold,
  signal: AbortSignal,
): Promise<Pick<HoldView, 'items' | 'unread'>> {
  const links = await tenant.links.readSome(target.id, recordIds);
  const window = windowOfItems(links.values()) ?? windowOf(target, tenant.clock());
  const isTimed = target.stream === 'appointments';
  const seen = isTimed ? await listed(tenant, target, window, signal) : NOTHING_LISTED;
  const held = await heldObjects(tenant, target, recordIds, signal);
  const describe = fieldTeller(target, seen.directory);
  const decide = target.crm === null ? await eventDecision(tenant, target, links, seen.directory) : null;
  const changesOf = (record: string, appointment: Appointment | undefined): readonly FieldChange[] => {
    if (isRemoval(kind)) return describe({ fields: [], wanted: null, held: held(record) });
    const decision = appointment === undefined ? undefined : decide?.(appointment);
    if (decision === undefined || !('item' in decision)) return [];
    return describe({ fields: [], wanted: decision.item, held: held(record) });
  };
  const items = recordIds.map((record): HeldItem => {
    const appointment = seen.appointments.get(record);
    const startAt = appointment?.time.startAt ?? links.get(record)?.startAt ?? 0;
    const id = appointment?.agendaId;
    return {
      ...{ record, startAt: startAt === 0 ? null : startAt, status: appointment?.status ?? null },
      agenda: id === undefined ? null : { id, name: seen.directory.agendas.get(id)?.name ?? null },
      fieldChanges: changesOf(record, appointment),
    };
  });
  const at = ({ startAt }: HeldItem) => startAt ?? Number.POSITIVE_INFINITY;
  return { items: items.toSorted((one, other) => at(one) - at(other)), unread: seen.unread };
}

/** Adds a day on each side, because held records may have moved and lists are requested by whole days. Null without a time. */
function windowOfItems(links: Iterable<Link>): TimeWindow | null {
  const spans = [...links].filter(({ startAt }) => startAt > 0);
  if (spans.length === 0) return null;
  return {
    fromAt: Math.min(...spans.map(({ startAt }) => startAt)) - DAY_MS,
    toAt: Math.max(...spans.map(({ endAt }) => endAt)) + DAY_MS,
  };
}

/** Returns whether the hold removes records from the target. */
function isRemoval(kind: Hold['kind']): boolean {
  return kind === 'cancelled' || kind === 'vanished';
}

interface Listed {
  appointments: ReadonlyMap<string, Appointment>;
  directory: Directory;
  unread: string | null;
}

const NOTHING_LISTED: Listed = { appointments: new Map(), directory: NO_DIRECTORY, unread: null };

async function listed(
  tenant: HeldTenant,
  target: OpenTarget,
  window: TimeWindow,
  signal: AbortSignal,
): Promise<Listed> {
  try {
    const { snapshot, directory } = await readForDisplay(tenant, target, window, signal);
    return { appointments: withVisits(snapshot).records, directory, unread: null };
  } catch (error) {
    signal.throwIfAborted();
    return { ...NOTHING_LISTED, unread: asMirrorError(error).code };
  }
}
