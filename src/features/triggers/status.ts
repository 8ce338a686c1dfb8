import { signatureRefused } from '../../core/http/signed-webhook.ts';
import { type Instant, upcoming } from '../../core/model/time.ts';
import type { TriggerEndpointState, TriggerStatus } from '../../core/model/triggers.ts';
import type { OpenTriggers } from './ports.ts';
import { triggerKeysOf } from './reading.ts';
import type { TriggerEndpointStatus, TriggerEventStatus } from './schemas.ts';
import type { TriggerCount, TriggerKey } from './store.ts';

/** Returns the state of each endpoint of a tenant, without document ids. */
export async function endpointStatuses(triggers: OpenTriggers, now: Instant): Promise<TriggerEndpointStatus[]> {
  const counts = await triggers.store.counts();
  const endpoints = [...triggers.file.endpoints].map(async ([endpoint, { events }]) => {
    const state = await triggers.store.endpoint(endpoint);
    const each = events.map((event) => eventStatus(triggers, { endpoint, event }, { ...state, now }, counts));
    return { endpoint, ...state, events: await Promise.all(each) };
  });
  return Promise.all(endpoints);
}

async function eventStatus(
  { store }: OpenTriggers,
  { endpoint, event }: TriggerKey,
  { restUntil, closed, now }: TriggerEndpointState & { now: Instant },
  counts: readonly TriggerCount[],
): Promise<TriggerEventStatus> {
  const triggerKey = { endpoint, event };
  const { sinceAt, readAt, off } = await store.reading(triggerKey);
  const waiting = await store.waiting(triggerKey);
  const failing = waiting.filter(({ code }) => code !== null);
  const sumOf = (result: TriggerCount['result']) =>
    counts
      .filter((one) => one.endpoint === endpoint && one.event === event && one.result === result)
      .reduce((sum, { count }) => sum + count, 0);
  const [first] = waiting;
  const nextTryAt = first === undefined || closed !== null ? null : Math.max(first.dueAt, restUntil ?? 0);
  return {
    event,
    sinceAt,
    readAt,
    off,
    waiting: waiting.length,
    failing: failing.length,
    lastCode: failing[0]?.code ?? null,
    nextTryAt: upcoming(nextTryAt, now),
    sent: sumOf('sent'),
    dropped: sumOf('dropped'),
    failedTries: sumOf('failed'),
  };
}

/** Returns the stored status. */
export async function triggerStatus(triggers: Pick<OpenTriggers, 'store' | 'file'>): Promise<TriggerStatus> {
  const { store, file } = triggers;
  const found: TriggerStatus = { waiting: 0, closed: [], off: [], refusing: [] };
  for (const [endpoint, settings] of file.endpoints) {
    const { closed, code, failingSince } = await store.endpoint(endpoint);
    const refused = signatureRefused(settings);
    if (closed !== null) found.closed.push({ endpoint, ...closed });
    else if (code === refused.code)
      found.refusing.push({
        endpoint,
        code,
        remedy: refused.remedy ?? null,
        texts: refused.texts,
        sinceAt: failingSince,
      });
  }
  for (const triggerKey of triggerKeysOf(triggers)) {
    found.waiting += await store.waitingCount(triggerKey);
    const { off } = await store.reading(triggerKey);
    if (off !== null) found.off.push({ ...triggerKey, code: off.code, remedy: off.remedy, texts: off.texts });
  }
  return found;
}
