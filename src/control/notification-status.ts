import type { OpenTarget, OpenTenant } from '../jobs/tenant.ts';
import type { Instant } from '../model/time.ts';
import type { KeptChannel, TargetChannels } from '../state/channels.ts';

/** Whether a target's vendor tells us of changes. Polling goes on either way. */
export interface NotificationStatus {
  /** Since when it does; null when it doesn't. */
  sinceAt: Instant | null;
  /** When that ends unless it is prolonged. */
  untilAt: Instant | null;
  /**
   * Why it doesn't: `not-offered` by the vendor, `no-public-address`, `paused`, `not-yet`, or the code of the error. While it does: the
   * code of the error that kept the channel from being looked after.
   */
  reason: string | null;
}

/** @param channels of the whole tenant: targets on one calendar share a channel */
export function notificationStatus(
  tenant: OpenTenant,
  target: OpenTarget,
  container: string | null,
  channels: ReadonlyMap<string, TargetChannels>,
): NotificationStatus {
  const { connector, connection } = target.configuration;
  const isOurs = ({ current }: TargetChannels) =>
    current?.container === container && current.connector === connector && current.connection === connection;
  const kept = [...channels.values()].find(isOurs);
  const reason = kept?.trouble?.code ?? channels.get(target.id)?.trouble?.code ?? null;
  const current = kept?.current ?? null;
  if (current !== null && isHeard(tenant, target, current)) {
    return { sinceAt: current.heardSinceAt, untilAt: current.expiresAt, reason };
  }
  return { sinceAt: null, untilAt: null, reason: whyNot(tenant, target) ?? reason ?? 'not-yet' };
}

function isHeard(tenant: OpenTenant, target: OpenTarget, { expiresAt }: KeptChannel): boolean {
  return expiresAt > tenant.clock() && whyNot(tenant, target) === null;
}

function whyNot(tenant: OpenTenant, target: OpenTarget): string | null {
  if (target.connector.channels === undefined) return 'not-offered';
  if (tenant.notifications.url === null) return 'no-public-address';
  return tenant.configuration.paused || target.configuration.paused ? 'paused' : null;
}
