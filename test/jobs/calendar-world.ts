import { targetStatus } from '../../src/control/status.ts';
import { auditTarget } from '../../src/jobs/audit.ts';
import type { OpenTenant } from '../../src/jobs/tenant.ts';
import type { CalendarItem, Item } from '../../src/model/items.ts';
import type { RemoteItem } from '../../src/model/operations.ts';
import type { TargetConfiguration } from '../../src/settings/configuration.ts';
import type { RedisClient } from '../../src/state/redis.ts';
import type { DriftReport } from '../../src/state/targets.ts';
import { project } from '../../src/sync/project.ts';
import { EMPTY_DIRECTORY, NOW } from '../sync/arbitraries.ts';
import { NEVER, targetOf } from './cycle.ts';
import { createModelClinic, type ModelClinic } from './model-clinic.ts';
import { createModelTarget, type ModelObject, type ModelTarget } from './model-target.ts';
import { openTenant, type TargetChoice, type TenantChoice } from './open-tenant.ts';

export const POLICIES = ['repair', 'keep', 'report'] as const;
export type Policy = (typeof POLICIES)[number];

export interface CalendarWorld {
  clinic: ModelClinic;
  model: ModelTarget;
  clock: { now: number };
  tenant: OpenTenant;
  /** Another process with the same state. */
  again(changes?: Partial<TenantChoice>): OpenTenant;
}

/** A clinic with some appointments, one an hour from tomorrow on, and a target. Nothing is written yet. */
export function openCalendarWorld(
  redis: { connect(): RedisClient },
  booked: number,
  choice: Partial<TargetChoice> = {},
): CalendarWorld {
  const clinic = createModelClinic(booked);
  const model = choice.model ?? createModelTarget();
  const clock = { now: NOW };
  const again = (changes: Partial<TenantChoice> = {}) =>
    openTenant({
      redis: redis.connect(),
      clinic,
      targets: [{ model, ...choice }],
      clock: () => clock.now,
      ...changes,
    });
  return { clinic, model, clock, again, tenant: again() };
}

/** The same beside an event that somebody else made, with a policy for changes by hand. */
export function openWorld(
  redis: RedisClient,
  booked: number,
  drift: Policy,
  changes: Partial<TargetConfiguration> = {},
): CalendarWorld {
  const configuration = { audit: { drift, rewritesPerDay: 3 }, ...changes };
  const world = openCalendarWorld({ connect: () => redis }, booked, { configuration });
  world.model.addForeign('Dentist');
  return world;
}

/** What the status says of a target. */
export async function stateOf(tenant: OpenTenant, id = 'doctor') {
  return targetStatus(tenant, targetOf(tenant, id), await tenant.holds.list());
}

export function auditOf(tenant: OpenTenant, options: { whole?: boolean } = {}): Promise<DriftReport | null> {
  return auditTarget(tenant, targetOf(tenant), NEVER, options);
}

/** The object of a record, if it lies in the calendar. */
export function objectIn(
  { model, tenant }: Pick<CalendarWorld, 'model' | 'tenant'>,
  recordId: string,
): ModelObject | undefined {
  const key = targetOf(tenant).identity.key(recordId, 0);
  return model.objects().find((object) => object.key === key);
}

export function objectOf(world: Pick<CalendarWorld, 'model' | 'tenant'>, recordId: string): ModelObject {
  const found = objectIn(world, recordId);
  if (found === undefined) throw new Error(`record ${recordId} has no object`);
  return found;
}

export function editByHand(
  world: Pick<CalendarWorld, 'model' | 'tenant'>,
  recordId: string,
  changes: Partial<CalendarItem>,
): void {
  const object = objectOf(world, recordId);
  object.item = { ...object.item, ...changes };
  object.version += 1;
}

/** @returns the object, to be taken back from the trash */
export function removeByHand(world: Pick<CalendarWorld, 'model' | 'tenant'>, recordId: string): ModelObject {
  const object = objectOf(world, recordId);
  object.deleted = true;
  return object;
}

/** Items that carry our owner tag, as texts in order. */
export function shownBy({ model }: CalendarWorld): string[] {
  return model
    .objects()
    .filter(({ ownerTag }) => ownerTag !== null)
    .map(({ item }) => JSON.stringify(item))
    .sort();
}

/** What the target should show of a record now; null when nothing. */
export function wantedOf({ clinic, tenant }: CalendarWorld, recordId: string): string | null {
  const appointment = clinic.appointments.get(recordId);
  if (appointment === undefined) return null;
  const { configuration, identity } = targetOf(tenant);
  const policy = { ...configuration, presets: [], language: 'en', zone: 'Europe/Rome' } as const;
  const item = project(appointment, policy, EMPTY_DIRECTORY, () => identity.key(recordId, 0));
  return item === null ? null : JSON.stringify(item);
}

/** How a provider differs from a plain one. */
export interface Habits {
  /** What it makes of an item that it is given. */
  spell?: (item: CalendarItem) => CalendarItem;
  /** It gives no version tags. */
  withoutTags?: boolean;
}

/** Lets the target keep another spelling than it was sent, and say so in its answers. */
export function giveHabits(tenant: OpenTenant, { spell = (item) => item, withoutTags = false }: Habits): void {
  const target = targetOf(tenant);
  const { connector } = target;
  const tag = (versionTag: string | null) => (withoutTags ? null : versionTag);
  target.connector = {
    ...connector,
    async apply(container, operations, signal) {
      const spelt = operations.map((each) =>
        each.kind === 'delete' ? each : { ...each, item: spell(each.item as CalendarItem) },
      );
      const items = new Map(spelt.map((each) => [each.recordId, each.kind === 'delete' ? null : each.item]));
      return (await connector.apply(container, spelt, signal)).map((outcome) => {
        const stored = items.get(outcome.recordId);
        if (outcome.result !== 'written' || stored == null) return outcome;
        return { ...outcome, versionTag: tag(outcome.versionTag), stored };
      });
    },
    async *read(...given) {
      for await (const page of connector.read(...given)) yield page.map(untagged(tag));
    },
    async changes(...given) {
      const changes = await connector.changes(...given);
      return { ...changes, items: changes.items.map(untagged(tag)) };
    },
  };
}

function untagged(tag: (versionTag: string | null) => string | null) {
  return (remote: RemoteItem<Item>): RemoteItem<Item> => ({ ...remote, versionTag: tag(remote.versionTag) });
}
