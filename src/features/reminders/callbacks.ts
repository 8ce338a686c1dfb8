import { isStorable } from '../../core/model/stored-limits.ts';
import type { Instant } from '../../core/model/time.ts';
import type { Installation } from '../../operator/control/installation.ts';
import type { ChannelCallback, ChannelEvent } from './channels/channel.ts';
import type { OpenReminders } from './ports.ts';

/** A request to the callback URL of a tenant's channel. */
export interface ReminderCallback extends ChannelCallback {
  tenant: string;
  channel: string;
}

/**
 * Receives reports of a gateway or replies of a patient. The URL is public: the channel verifies requests, and invalid requests change
 * nothing. An opt-out is stored before the function returns.
 * @returns the HTTP status of the empty answer; 404 for an unknown channel
 */
export async function takeReminderCallback(
  { outlines, tenants, clock }: Pick<Installation, 'outlines' | 'tenants' | 'clock'>,
  { tenant: tenantId, channel: channelId, ...callback }: ReminderCallback,
): Promise<number> {
  // A tenant without reminders is not opened, so that guessed names cost little.
  const tenant = outlines.get(tenantId)?.hasReminders === true ? tenants.get(tenantId) : undefined;
  const channel = tenant?.reminders?.channels.get(channelId)?.channel;
  if (tenant?.reminders == null || channel?.takeCallback === undefined) return 404;
  const { status, events } = channel.takeCallback(callback);
  for (const event of events) await apply(tenant.reminders, event, clock());
  for (const { kind } of events) tenant.log.info({ channel: channelId, event: kind }, 'channel sent a report');
  return status;
}

async function apply({ ledger, optOuts, replies }: OpenReminders, event: ChannelEvent, at: Instant): Promise<void> {
  if (event.kind === 'delivered' || event.kind === 'failed') {
    if (!isStorable('reference', event.reference)) return;
    const code = event.kind === 'failed' ? event.code : null;
    return ledger.report(event.reference, { state: event.kind, code, at });
  }
  if (event.kind === 'replied') {
    const { who, text, message } = event;
    return replies.add({ phone: who.phone, text, at, message, recipient: optOuts.hashOf('phone', who.phone) });
  }
  if (event.kind === 'opted-in') return optOuts.optIn(optOuts.hashOf('phone', event.who.phone), event.message);
  const hash =
    'phone' in event.who ? optOuts.hashOf('phone', event.who.phone) : await ledger.recipientOf(event.who.reminderId);
  if (hash === null) return;
  await optOuts.add(hash, { source: 'phone' in event.who ? 'reply' : 'unsubscribe', at });
}
