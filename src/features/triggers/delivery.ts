import { isTooLarge, postSigned, type WebhookAnswer } from '../../core/http/signed-webhook.ts';
import { asMirrorError, MirrorError } from '../../core/model/errors.ts';
import { type Instant, MINUTE_MS, SECOND_MS } from '../../core/model/time.ts';
import type { TriggerDrop, WaitingTrigger } from '../../core/model/triggers.ts';
import { nextTry, targetBackoffMs } from '../../engine/retry.ts';
import type { Lease } from '../../engine/store.ts';
import { message } from '../../messages/message.ts';
import type { TriggerEndpoint } from '../../settings/tenant-schema.ts';
import type { Subject } from './events.ts';
import { messageOf } from './events.ts';
import { readSubject } from './lists.ts';
import type { OpenTriggers, TriggerTenant } from './ports.ts';
import type { TriggerKey } from './store.ts';

/** Longest time for an endpoint per job. Then lists are read, and other endpoints are processed. */
const TURN_MS = 20 * SECOND_MS;
/** Delay between queries of an unreachable clinic. */
const SOURCE_RETRY_MS = MINUTE_MS;

/** Parts of a delivery job. */
export interface DeliveryParts {
  tenant: TriggerTenant;
  triggers: OpenTriggers;
  lease: Lease;
  isForgotten: (patientId: string) => boolean;
  /** Stops the job between two messages, or during a message. */
  stop: AbortSignal;
  abort: AbortSignal;
}

/** A message and its destination. */
interface Parcel {
  triggerKey: TriggerKey;
  entry: WaitingTrigger;
}

/** Continue with the next message, or the time of the next check; null requires action. */
type Next = 'go-on' | { againAt: Instant | null };

/**
 * Delivers waiting messages of one endpoint. Each document is read again before delivery.
 * @returns time of the next work, or null
 */
export async function deliverTo(
  parts: DeliveryParts,
  name: string,
  endpoint: TriggerEndpoint,
): Promise<Instant | null> {
  const { store } = parts.triggers;
  const { closed, restUntil } = await store.endpoint(name);
  if (closed !== null) return null;
  const parcels = await parcelsOf(parts, name, endpoint);
  if (parcels.length === 0) return null;
  const startedAt = parts.tenant.clock();
  if (restUntil !== null && restUntil > startedAt) return restUntil;
  let firstDeferredAt: Instant | null = null;
  const defer = (at: Instant) => {
    firstDeferredAt = firstDeferredAt === null ? at : Math.min(firstDeferredAt, at);
  };
  for (const parcel of parcels) {
    const now = parts.tenant.clock();
    if (parts.stop.aborted || now - startedAt > TURN_MS) return now;
    if (parcel.entry.dueAt > now) {
      defer(parcel.entry.dueAt);
      continue;
    }
    const next = await deliver(parts, parcel, endpoint, defer);
    if (next !== 'go-on') return next.againAt;
  }
  return firstDeferredAt;
}

async function parcelsOf({ triggers }: DeliveryParts, name: string, { events }: TriggerEndpoint): Promise<Parcel[]> {
  const parcels: Parcel[] = [];
  for (const event of events) {
    const triggerKey = { endpoint: name, event };
    for (const entry of await triggers.store.waiting(triggerKey)) parcels.push({ triggerKey, entry });
  }
  return parcels.sort((one, other) => one.entry.dueAt - other.entry.dueAt);
}

/** @param defer called with the due time of a postponed message */
async function deliver(
  parts: DeliveryParts,
  parcel: Parcel,
  endpoint: TriggerEndpoint,
  defer: (at: Instant) => void,
): Promise<Next> {
  const { tenant, triggers, lease, abort } = parts;
  const { triggerKey, entry } = parcel;
  const drop = (reason: TriggerDrop) => triggers.store.finishDropped(triggerKey, entry.id, reason, lease);
  let subject: Subject | TriggerDrop;
  try {
    subject = await readCurrentSubject(parts, parcel);
  } catch (error) {
    abort.throwIfAborted();
    defer(await putOffForSource(parts, parcel, asMirrorError(error)));
    return 'go-on';
  }
  if (typeof subject === 'string') {
    await drop(subject);
    tenant.log.info({ ...triggerKey, message: entry.id, reason: subject }, 'message was dropped');
    return 'go-on';
  }
  const body = messageOf(tenant.id, triggerKey.event, subject, entry.foundAt);
  if (isTooLarge(body)) {
    await drop('payload-too-large');
    return 'go-on';
  }
  const message = { label: 'trigger.webhook', id: entry.id, now: tenant.clock(), body };
  return tenant.outages.watch(async () => {
    let answer: WebhookAnswer;
    try {
      answer = await postSigned(triggers.http, endpoint, message, abort);
    } catch (error) {
      abort.throwIfAborted();
      return backOff(parts, parcel, asMirrorError(error));
    }
    return afterAnswer(parts, parcel, answer, defer);
  });
}

/** Returns the present document, or the reason against a message. */
async function readCurrentSubject(
  { triggers, isForgotten, abort }: DeliveryParts,
  { triggerKey, entry }: Parcel,
): Promise<Subject | TriggerDrop> {
  const answer = await readSubject(triggers, triggerKey.event, entry.recordId, abort);
  if ('absent' in answer) return 'vanished';
  if ('unusable' in answer) throw unusable();
  const { found } = answer;
  if (found.patientId !== null && isForgotten(found.patientId)) return 'forgotten';
  return found.sends ? found : 'withdrawn';
}

async function afterAnswer(
  parts: DeliveryParts,
  { triggerKey, entry }: Parcel,
  answer: WebhookAnswer,
  defer: (at: Instant) => void,
): Promise<Next> {
  const { tenant, triggers, lease } = parts;
  if (answer.result === 'taken') {
    await tenant.outages.recordOther(tenant.id, { kind: 'endpoint', id: triggerKey.endpoint }, null);
    await triggers.store.finishSent(triggerKey, entry.id, tenant.clock(), lease);
    tenant.log.info({ ...triggerKey, message: entry.id }, 'receiver accepted a message');
    return 'go-on';
  }
  if (answer.result === 'gone') {
    await triggers.store.close(triggerKey.endpoint, { code: 'webhook-gone', at: tenant.clock() });
    tenant.log.error(
      { endpoint: triggerKey.endpoint, code: 'webhook-gone' },
      'endpoint is gone: no messages until an operator reopens the endpoint',
    );
    return { againAt: null };
  }
  const failure = refusal(answer);
  if (answer.code !== 'webhook-refused') return backOff(parts, { triggerKey, entry }, failure);
  // Only this message may be refused, so other messages continue.
  const { delayMs } = nextTry(failure, entry.attempts, tenant.random);
  defer(await putOff(parts, { triggerKey, entry }, answer.code, delayMs));
  return 'go-on';
}

/** Backs off from the whole endpoint. The message remains due, so that the message is the first retry. */
async function backOff(parts: DeliveryParts, { triggerKey, entry }: Parcel, error: MirrorError): Promise<Next> {
  const { tenant, triggers, lease } = parts;
  const now = tenant.clock();
  const { failingSince, code } = await triggers.store.endpoint(triggerKey.endpoint);
  const isSameFailure = code === error.code && failingSince !== null;
  const sinceAt = isSameFailure ? failingSince : now;
  const own = targetBackoffMs(error, tenant.random, now - sinceAt);
  const { host, longestMs } = await tenant.outages.recordOther(
    tenant.id,
    { kind: 'endpoint', id: triggerKey.endpoint },
    error,
  );
  const untilAt = now + Math.min(own, longestMs ?? own);
  const tried = { ...entry, attempts: entry.attempts + 1, code: error.code };
  await triggers.store.defer(triggerKey, tried, { failed: true }, lease);
  await triggers.store.rest(triggerKey.endpoint, { untilAt, sinceAt, code: error.code });
  // A host outage has a separate log line for all waiting work. Other failures are logged at their begin, and when their code changes.
  tenant.log[host === null && !isSameFailure ? 'warn' : 'debug'](
    {
      endpoint: triggerKey.endpoint,
      code: error.code,
      actor: error.actor,
      remedy: error.remedy,
      host,
      backoffMs: untilAt - now,
    },
    'endpoint backs off',
  );
  return { againAt: untilAt };
}

async function putOff(
  { tenant, triggers, lease }: DeliveryParts,
  { triggerKey, entry }: Parcel,
  code: string,
  delayMs: number,
): Promise<Instant> {
  const dueAt = tenant.clock() + delayMs;
  await triggers.store.defer(
    triggerKey,
    { ...entry, attempts: entry.attempts + 1, dueAt, code },
    { failed: true },
    lease,
  );
  return dueAt;
}

/** Repeats the query of an unreachable clinic. The receiver was not contacted. */
async function putOffForSource(
  { tenant, triggers, lease }: DeliveryParts,
  { triggerKey, entry }: Parcel,
  { code, retryAfterMs = 0 }: MirrorError,
): Promise<Instant> {
  const dueAt = tenant.clock() + Math.max(SOURCE_RETRY_MS, retryAfterMs);
  await triggers.store.defer(triggerKey, { ...entry, dueAt, code }, { failed: false }, lease);
  return dueAt;
}

function refusal({ code, retryAfterMs }: Extract<WebhookAnswer, { result: 'later' }>): MirrorError {
  const mayBeOurs = code === 'webhook-refused';
  return new MirrorError(message('webhook-refused'), {
    actor: mayBeOurs ? 'contract' : 'remote',
    code,
    retry: 'later',
    ...(retryAfterMs === null ? {} : { retryAfterMs }),
  });
}

function unusable(): MirrorError {
  return new MirrorError(message('document-unusable'), {
    actor: 'contract',
    code: 'document-unusable',
    retry: 'later',
  });
}
