import type { OpenTarget, OpenTenant } from '../jobs/tenant.ts';
import type { Instant } from '../model/time.ts';
import type { StoredSubscription, TargetSubscriptions } from '../state/subscriptions.ts';

/** Whether a target's vendor tells us of changes. Polling goes on either way. */
export interface NotificationStatus {
  /** Since when it does; null when it doesn't. */
  sinceAt: Instant | null;
  /** When that ends unless it is prolonged. */
  untilAt: Instant | null;
  /**
   * Why it doesn't: `not-offered` by the vendor, `no-public-address`, `paused`, `not-yet`, or the code of the error. While it does: the
   * code of the error that kept the subscription from being looked after.
   */
  reason: string | null;
}

/** @param subscriptions of the whole tenant: targets on one calendar share a subscription */
export function notificationStatus(
  tenant: Pick<OpenTenant, 'clock' | 'configuration' | 'notifications'>,
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

function isHeard(
  tenant: Pick<OpenTenant, 'clock' | 'configuration' | 'notifications'>,
  target: OpenTarget,
  { expiresAt }: StoredSubscription,
): boolean {
  return expiresAt > tenant.clock() && whyNot(tenant, target) === null;
}

function whyNot(tenant: Pick<OpenTenant, 'configuration' | 'notifications'>, target: OpenTarget): string | null {
  if (target.connector.subscriptions === undefined) return 'not-offered';
  if (tenant.notifications.url === null) return 'no-public-address';
  return tenant.configuration.paused || target.configuration.paused ? 'paused' : null;
}
