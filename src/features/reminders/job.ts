import type { Logger } from '../../core/log/logger.ts';
import { exponentialBackoffMs } from '../../core/model/backoff.ts';
import { asMirrorError, MirrorError, STATE_WENT_BACK } from '../../core/model/errors.ts';
import { type Instant, MINUTE_MS, SECOND_MS } from '../../core/model/time.ts';
import { reportDamaged } from '../../state/damaged.ts';
import type { Delivery } from './channels/channel.ts';
import { recordOutcome } from './corrections.ts';
import { gather, type Member } from './group.ts';
import type { OpenReminders, RemindedTenant } from './ports.ts';
import { prepare, type Ready, UNCERTAINTY_RETRY_MS } from './prepare.ts';
import { deadlineOf, PATIENT_INACTIVE } from './rules.ts';
import { dropped, isForInactive, nextHour, type Step, stillAt, unclear } from './steps.ts';
import { CLAIM_MS, type Claim } from './store.ts';

/** Time limit for clinic query and delivery, so that no claim of a live worker expires. */
const READING_MS = 30 * SECOND_MS;
const SENDING_MS = 80 * SECOND_MS;
/** Delay between delivery attempts, doubled each time, at most 15 minutes. */
const CHANNEL_BACKOFF = { firstMs: 30 * SECOND_MS, longestMs: 15 * MINUTE_MS };
/** Delay between checks of whether decisions are persisted. */
const DURABLE_RETRY_MS = 30 * SECOND_MS;

/**
 * Processes one reminder with present clinic data: delivers, drops or reschedules the reminder. Safe to run twice, in parallel, and to
 * interrupt anywhere. A possibly delivered reminder is not delivered again, unless the receiver recognises repeated ids.
 */
export async function remind(
  tenant: RemindedTenant,
  id: string,
  { stop, abort }: { stop: AbortSignal; abort: AbortSignal },
): Promise<void> {
  const { reminders } = tenant;
  if (reminders === null || stop.aborted) return;
  const claim = await reminders.ledger.claim(id);
  if (claim === null) return;
  if ('busyMs' in claim) return reminders.alarms.set([{ id, wakeAt: tenant.clock() + claim.busyMs }]);
  const { step, claims } = await take(tenant, reminders, claim, abort);
  await finish(tenant, reminders, claims, step);
}

/** Result of one claim. */
interface Taken {
  step: Step;
  /** The claim, and the claims of other visits in the same message. */
  claims: readonly Claim[];
}

/** Returns the step of one claim. Throws only for Redis errors; the claim then expires, and the ledger contains the progress. */
async function take(
  tenant: RemindedTenant,
  reminders: OpenReminders,
  claim: Claim,
  abort: AbortSignal,
): Promise<Taken> {
  const { entry } = claim;
  const alone = (step: Step): Taken => ({ step, claims: [claim] });
  // The name is a keyed hash, so that an attacker with only Redis access cannot send messages.
  if (entry.isDamaged === true || reminders.name(entry) !== entry.id) {
    if (entry.isDamaged !== true) reportDamaged(tenant.id, 'reminders');
    return alone(dropped('state-damaged'));
  }
  const channel = reminders.channels.get(entry.channel);
  // The worker stopped during delivery, so the result is unknown.
  if (entry.state === 'sending' && channel?.deduplicates !== true) return alone(unclear('worker-died'));
  const signal = within(READING_MS, abort);
  const ready = await prepare(tenant, reminders, claim, { signal });
  if (!('reminder' in ready)) return alone(entry.state === 'sending' ? onlyRepeat(ready) : ready);
  const message = await gather(tenant, reminders, { claim, ready }, signal);
  if (!('members' in message)) return alone(message);
  const step = await handOver(tenant, reminders, message.members, { ready: message.ready, abort });
  const claims = message.members.map((member) => member.claim);
  return { step: entry.state === 'sending' ? onlyRepeat(step) : step, claims };
}

/** Stores the intent, delivers, and returns the result. */
async function handOver(
  tenant: RemindedTenant,
  reminders: OpenReminders,
  members: readonly [Member, ...Member[]],
  { ready, abort }: { ready: Ready; abort: AbortSignal },
): Promise<Step> {
  const [{ claim }] = members;
  const { entry } = claim;
  if ((await reminders.ledger.closingOf(entry.channel)) !== null) return dropped('channel-gone');
  // Opt-outs or erasures may be unknown: the reminder waits within its grace period.
  const uncertainty = await tenant.protection.uncertainty();
  if (uncertainty !== null)
    return { wakeAt: tenant.clock() + UNCERTAINTY_RETRY_MS, code: uncertainty.code, notSent: true };
  const now = tenant.clock();
  const stillFrom = stillAt(entry, ready.rule, now);
  // Only the first visit's job is repeated if this worker dies: the others would stay `sending` until their own time.
  await reminders.alarms.set(members.slice(1).map((member) => ({ id: member.claim.entry.id, wakeAt: now + CLAIM_MS })));
  const intent = await reminders.ledger.intend(
    members.map((member) => ({ claim: member.claim, ...member.ready.proofs })),
    {
      now,
      maxPerHour: reminders.file.maxPerHour,
      isLimited: stillFrom !== null,
      mayRepeat: ready.channel.deduplicates,
      recipient: ready.recipient,
    },
  );
  if (intent === 'recipient-limit') return { wakeAt: stillFrom ?? now, code: intent, notSent: true };
  if (intent === 'lost') return { wakeAt: tenant.clock(), code: null, notSent: false };
  if (intent === 'opted-out') return dropped('opted-out');
  if (intent === 'limit') return nextHour(tenant.clock(), deadlineOf(entry, ready.rule));
  const dueAt = Math.min(...members.map((member) => member.claim.entry.dueAt));
  const stop = await madeSure(reminders, dueAt, ready, tenant.clock());
  if (stop !== null) return stop;
  // An older Redis that came between the intent and its confirmation lost the intent, and no counter shows the loss.
  if (!(await isIntended(reminders, members))) return { wakeAt: tenant.clock(), code: null, notSent: true };
  const { delivery, longestMs } = await tenant.outages.watch(async () => {
    const came = await deliver(ready, tenant.log, within(SENDING_MS, abort));
    const failed = came.result === 'later' || came.result === 'unknown' ? came : null;
    const other = { kind: 'channel', id: ready.channel.id } as const;
    // The reminder's result is stored even if Redis refuses the outage.
    const recorded = tenant.outages.recordOther(tenant.id, other, failed).catch(() => ({ longestMs: null }));
    return { delivery: came, longestMs: (await recorded).longestMs };
  });
  if (delivery.result === 'refused') await remember(tenant, reminders, ready, delivery);
  return afterDelivery(delivery, claim, { ...ready, longestMs }, tenant.clock());
}

async function isIntended({ ledger }: OpenReminders, members: readonly Member[]): Promise<boolean> {
  const entries = await ledger.readSome(members.map(({ claim }) => claim.entry.id));
  return members.every(({ claim }) => entries.get(claim.entry.id)?.state === 'sending');
}

/** @returns the step instead of delivery; null if the intent is persisted */
async function madeSure(
  reminders: OpenReminders,
  dueAt: Instant,
  { channel }: Ready,
  now: Instant,
): Promise<Step | null> {
  let wentBackAt: Instant;
  try {
    wentBackAt = await reminders.confirm();
  } catch (error) {
    return { wakeAt: now + DURABLE_RETRY_MS, code: asMirrorError(error).code, notSent: true };
  }
  // The lost decisions may include the delivery of a reminder.
  return dueAt <= wentBackAt && !channel.deduplicates ? unclear(STATE_WENT_BACK) : null;
}

function within(durationMs: number, abort: AbortSignal): AbortSignal {
  return AbortSignal.any([abort, AbortSignal.timeout(durationMs)]);
}

/** Stores refusals that apply to the patient or channel, for all later reminders. */
async function remember(
  { clock, log }: RemindedTenant,
  { optOuts, ledger }: OpenReminders,
  { channel, recipient }: Ready,
  { optedOut, channelGone, code }: Extract<Delivery, { result: 'refused' }>,
): Promise<void> {
  if (optedOut && recipient !== null) await optOuts.add(recipient, { source: 'refused', at: clock() });
  if (!channelGone) return;
  await ledger.closeChannel(channel.id, { code, at: clock() });
  log.error(
    { channel: channel.id, code },
    'channel is gone: reminders are dropped until an operator reopens the channel',
  );
}

/** A possibly delivered reminder may only wait, or end as unknown. */
function onlyRepeat(step: Step): Step {
  if ('wakeAt' in step) return { ...step, notSent: false };
  return step.finish.state === 'dropped' ? unclear(step.finish.reason) : step;
}

async function finish(
  tenant: RemindedTenant,
  reminders: OpenReminders,
  claims: readonly Claim[],
  step: Step,
): Promise<void> {
  const now = tenant.clock();
  if ('wakeAt' in step) {
    for (const claim of claims) {
      const { id } = claim.entry;
      if (await reminders.ledger.postpone(claim, step)) await reminders.alarms.set([{ id, wakeAt: step.wakeAt }]);
    }
    return;
  }
  if (!(await reminders.ledger.finish(claims, step.finish, now))) return;
  const { state } = step.finish;
  const reason = state === 'dropped' ? step.finish.reason : null;
  const code = state === 'sent' ? null : step.finish.code;
  const level =
    state === 'unknown' || reason === 'state-damaged' || reason === 'channel-failed' || reason === 'hourly-limit'
      ? 'warn'
      : 'info';
  for (const { entry } of claims) {
    const isOver = state === 'sent' || isForInactive({ ...entry, state, lastCode: code });
    const isInactive = entry.correction === null && code === PATIENT_INACTIVE;
    if (!isInactive) await recordOutcome(reminders, entry, isOver ? 'sent' : (reason ?? 'unclear'), now);
    if (state === 'sent') reminders.observeLag(tenant.id, now - entry.dueAt);
    const { id, rule, channel } = entry;
    tenant.log[level]({ reminder: id, rule, channel, state, reason }, 'reminder finished');
  }
}

/** Channels throw only for errors that require action before delivery. Other errors are unclear. */
async function deliver({ reminder, channel }: Ready, log: Logger, signal: AbortSignal): Promise<Delivery> {
  try {
    return await channel.channel.send(reminder, signal);
  } catch (error) {
    const failure = asMirrorError(error);
    const isBefore =
      error instanceof MirrorError && !failure.ambiguous && ['settings', 'authorization'].includes(failure.actor);
    if (isBefore) {
      const { code, remedy, retryAfterMs = null } = failure;
      log.error({ channel: channel.id, code, remedy }, 'channel needs an administrator: reminders wait');
      return { result: 'later', code, retryAfterMs };
    }
    return { result: 'unknown', code: failure.code };
  }
}

function afterDelivery(
  delivery: Delivery,
  { entry }: Claim,
  { channel, rule, longestMs }: Ready & { longestMs: number | null },
  now: Instant,
): Step {
  const own = exponentialBackoffMs(CHANNEL_BACKOFF, entry.attempts);
  const retryMs = Math.min(own, longestMs ?? own);
  switch (delivery.result) {
    case 'sent':
      return { finish: { state: 'sent', reference: delivery.reference } };
    case 'refused':
      // An unusable address is found before any call of the gateway.
      if (delivery.code === 'address-invalid') return dropped('address-invalid', delivery.code);
      return dropped(
        delivery.channelGone ? 'channel-gone' : delivery.optedOut ? 'opted-out' : 'refused',
        delivery.code,
      );
    case 'later': {
      const wakeAt = now + Math.max(delivery.retryAfterMs ?? 0, retryMs);
      if (wakeAt > deadlineOf(entry, rule)) return dropped('channel-failed', delivery.code);
      return { wakeAt, code: delivery.code, notSent: entry.state === 'planned' };
    }
    case 'unknown': {
      const wakeAt = now + retryMs;
      if (!channel.deduplicates || wakeAt > deadlineOf(entry, rule)) return unclear(delivery.code);
      return { wakeAt, code: delivery.code, notSent: false };
    }
  }
}
