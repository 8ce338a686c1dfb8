import { auditTarget } from '../../src/jobs/audit.ts';
import type { OpenTenant } from '../../src/jobs/tenant.ts';
import type { CalendarItem, Item } from '../../src/model/items.ts';
import type { RemoteItem } from '../../src/model/operations.ts';
import type { TargetConfiguration } from '../../src/settings/configuration.ts';
import type { RedisClient } from '../../src/state/redis.ts';
import type { DriftReport } from '../../src/state/targets.ts';
import { project } from '../../src/sync/project.ts';
import { appointmentOf, EMPTY_DIRECTORY, NOW } from '../sync/arbitraries.ts';
import { NEVER, targetOf } from './cycle.ts';
import { createModelClinic, type ModelClinic } from './model-clinic.ts';
import { createModelTarget, type ModelObject, type ModelTarget } from './model-target.ts';
import { openTenant } from './open-tenant.ts';

export const POLICIES = ['repair', 'keep', 'report'] as const;
export type Policy = (typeof POLICIES)[number];

export interface AuditWorld {
  clinic: ModelClinic;
  model: ModelTarget;
  clock: { now: number };
  tenant: OpenTenant;
}

/** A clinic with some appointments, one an hour from tomorrow on, and a target that shows them all. Nothing is written yet. */
export function openWorld(
  redis: RedisClient,
  booked: number,
  drift: Policy,
  changes: Partial<TargetConfiguration> = {},
): AuditWorld {
  const clinic = createModelClinic();
  for (let index = 0; index < booked; index += 1) {
    clinic.appointments.set(`${index}`, appointmentOf(`${index}`, { inHours: 24 + index }));
  }
  const model = createModelTarget();
  model.addForeign('Dentist');
  const clock = { now: NOW };
  const configuration = { audit: { drift, rewritesPerDay: 3 }, ...changes };
  const tenant = openTenant({ redis, clinic, targets: [{ model, configuration }], clock: () => clock.now });
  return { clinic, model, clock, tenant };
}

export function auditOf(tenant: OpenTenant, options: { whole?: boolean } = {}): Promise<DriftReport | null> {
  return auditTarget(tenant, targetOf(tenant), NEVER, options);
}

/** The object of a record, if it lies in the calendar. */
export function objectIn({ model, tenant }: AuditWorld, recordId: string): ModelObject | undefined {
  const key = targetOf(tenant).identity.key(recordId, 0);
  return model.objects().find((object) => object.key === key);
}

export function objectOf(world: AuditWorld, recordId: string): ModelObject {
  const found = objectIn(world, recordId);
  if (found === undefined) throw new Error(`record ${recordId} has no object`);
  return found;
}

export function editByHand(world: AuditWorld, recordId: string, changes: Partial<CalendarItem>): void {
  const object = objectOf(world, recordId);
  object.item = { ...object.item, ...changes };
  object.version += 1;
}

/** @returns the object, to be taken back from the trash */
export function removeByHand(world: AuditWorld, recordId: string): ModelObject {
  const object = objectOf(world, recordId);
  object.deleted = true;
  return object;
}

/** Items that carry our owner tag, as texts in order. */
export function shownBy({ model }: AuditWorld): string[] {
  return model
    .objects()
    .filter(({ ownerTag }) => ownerTag !== null)
    .map(({ item }) => JSON.stringify(item))
    .sort();
}

/** What the target should show of a record now; null when nothing. */
export function wantedOf({ clinic, tenant }: AuditWorld, recordId: string): string | null {
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
