import { MEBIBYTE } from '../../core/http/client.ts';
import type { Link } from '../../core/model/operations.ts';
import type { StorageUse } from '../../core/model/state-schemas.ts';
import type { Clock, Instant } from '../../core/model/time.ts';
import type { WritePolicyView } from '../../core/model/write-policy.ts';
import { policyViewOf, type StoredWithheld, withheldIn } from '../../engine/policy.ts';
import { type Message, message } from '../../messages/message.ts';
import type { StoredSubscription, TargetSubscriptions } from '../../tenant/subscription-store.ts';
import type { OpenTarget } from '../../tenant/tenant.ts';
import type { NotificationStatus } from './status-schemas.ts';

/** Meaning and remedy of the durability `unsupported`. */
export const DURABILITY_UNSUPPORTED = {
  sentence: message('wait-aof-unsupported'),
  remedy: message('wait-aof-unsupported.remedy'),
};

/** Returns the effect of a target's policy in the last plan. @param drifted links of the target with a manual change */
export function effectOfPolicy(
  target: Pick<OpenTarget, 'configuration'>,
  record: StoredWithheld,
  drifted: readonly Link[] = [],
): { writePolicy?: WritePolicyView } {
  const removed = new Set(drifted.flatMap(({ recordId, drift }) => (drift === 'removed' ? [recordId] : [])));
  const { notRemoved, notUpdated } = withheldIn(target, record);
  return policyViewOf(target.configuration, { notRemoved: notRemoved.filter((id) => !removed.has(id)), notUpdated });
}

/** Returns the later of two instants; null without any. */
export function later(one: Instant | null, other: Instant | null): Instant | null {
  return one === null || other === null ? (one ?? other) : Math.max(one, other);
}

/** Members of a tenant that decide whether vendors may notify it. */
export interface NotificationSource {
  clock: Clock;
  configuration: { paused: boolean };
  notifications: {
    /** Public URL of the receiver; null: no subscriptions. */
    url: string | null;
  };
}

/** @param subscriptions of the whole tenant, because targets on one calendar share a subscription */
export function notificationStatus(
  tenant: NotificationSource,
  target: OpenTarget,
  container: string | null,
  subscriptions: ReadonlyMap<string, TargetSubscriptions>,
): NotificationStatus {
  const { connector, connection } = target.configuration;
  const isOurs = ({ current }: TargetSubscriptions) =>
    current?.container === container && current.connector === connector && current.connection === connection;
  const subscription = [...subscriptions.values()].find(isOurs);
  const reason = subscription?.failure?.code ?? subscriptions.get(target.id)?.failure?.code ?? null;
  const current = subscription?.current ?? null;
  if (current !== null && isHeard(tenant, target, current)) {
    return { sinceAt: current.heardSinceAt, untilAt: current.expiresAt, reason };
  }
  return { sinceAt: null, untilAt: null, reason: whyNot(tenant, target) ?? reason ?? 'not-yet' };
}

function isHeard(tenant: NotificationSource, target: OpenTarget, { expiresAt }: StoredSubscription): boolean {
  return expiresAt > tenant.clock() && whyNot(tenant, target) === null;
}

function whyNot(tenant: NotificationSource, target: OpenTarget): string | null {
  if (target.connector.subscriptions === undefined) return 'not-offered';
  if (tenant.notifications.url === null) return 'no-public-address';
  return tenant.configuration.paused || target.configuration.paused ? 'paused' : null;
}

/** Describes the memory of a tenant in Redis. */
export function storageText({ bytes, limitBytes }: StorageUse): Message {
  const [used, limit] = [bytes ?? 0, limitBytes].map((each) => (each / MEBIBYTE).toFixed(0));
  return bytes === null ? message('storage.unknown') : message('storage', { used: used ?? '', limit: limit ?? '' });
}
