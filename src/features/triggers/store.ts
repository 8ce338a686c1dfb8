import { z } from 'zod';
import { slices } from '../../core/model/pieces.ts';
import type { Instant } from '../../core/model/time.ts';
import type {
  StoredAppointment,
  TriggerDrop,
  TriggerEndpointState,
  TriggerEvent,
  TriggerReading,
  WaitingTrigger,
} from '../../core/model/triggers.ts';
import type { Lease } from '../../engine/store.ts';
import { closingIn, codeIn, DAMAGED, openNumber, openPlain } from '../../state/damaged.ts';
import type { RedisClient } from '../../state/redis.ts';
import { type FencedScript, fencedScript, scoresOf } from '../../state/script.ts';
import { openSealed, type Sealer, sealedTable } from '../../state/sealing.ts';
import { triggerRedisKeys } from './keys.ts';

const scripts = {
  setFields: fencedScript<number>(import.meta.url, '../../../state/scripts/fenced-set'),
  record: fencedScript<number>(import.meta.url, 'trigger-record'),
  follow: fencedScript<number>(import.meta.url, 'trigger-follow'),
  seen: fencedScript<number>(import.meta.url, 'trigger-seen'),
  end: fencedScript<number>(import.meta.url, 'trigger-end'),
  defer: fencedScript<number>(import.meta.url, 'trigger-defer'),
};

/** An event of an endpoint. */
export interface TriggerKey {
  endpoint: string;
  event: TriggerEvent;
}

/** Change of a stored appointment. */
export interface FollowedAppointment {
  /** Keyed hash of the appointment, as the key in Redis. */
  name: string;
  /** New state; null deletes the appointment. */
  now: StoredAppointment | null;
  /** Message to send, or null. */
  message: WaitingTrigger | null;
}

/** Totals of an event's messages since the state began. */
export interface TriggerCount extends TriggerKey {
  /** `failed` counts attempts; reason is a code, or null for sent messages. */
  result: 'sent' | 'failed' | 'dropped';
  reason: string | null;
  count: number;
}

/**
 * Known documents and waiting messages of a tenant's receivers. Documents are stored as keyed hashes, messages are encrypted. Writes with a
 * lease throw MirrorError `conflict`, code `lease-lost`, if a different worker holds the lease.
 */
export interface TriggerStore {
  reading(triggerKey: TriggerKey): Promise<TriggerReading>;
  recordReading(triggerKey: TriggerKey, reading: TriggerReading, lease: Lease): Promise<void>;
  /** Returns known or waiting names, with the time since their documents left the list; 0 for listed documents. */
  stored(triggerKey: TriggerKey): Promise<Map<string, Instant | 0>>;
  /** Stores names as known, without a message. */
  know(triggerKey: TriggerKey, names: readonly string[], lease: Lease): Promise<void>;
  /** Stores new messages before sending. Known names are unchanged. @returns number of new messages */
  record(triggerKey: TriggerKey, entries: readonly WaitingTrigger[], lease: Lease): Promise<number>;
  /** Returns stored appointments by name; null for data encrypted with a lost key. */
  appointments(triggerKey: TriggerKey): Promise<Map<string, StoredAppointment | null>>;
  /** Stores changed appointments, each atomically with its message. @returns number of messages */
  follow(triggerKey: TriggerKey, followed: readonly FollowedAppointment[], lease: Lease): Promise<number>;
  /** Stores the time since documents left the list; null deletes a name without waiting message. */
  recordAbsence(triggerKey: TriggerKey, changes: ReadonlyMap<string, Instant | 0 | null>, lease: Lease): Promise<void>;
  /** Returns waiting messages by due time, without undecryptable messages. */
  waiting(triggerKey: TriggerKey): Promise<WaitingTrigger[]>;
  /** Returns ids of undecryptable messages, encrypted with a lost key. */
  unreadable(triggerKey: TriggerKey): Promise<string[]>;
  waitingCount(triggerKey: TriggerKey): Promise<number>;
  finishSent(triggerKey: TriggerKey, id: string, now: Instant, lease: Lease): Promise<void>;
  finishDropped(triggerKey: TriggerKey, id: string, reason: TriggerDrop, lease: Lease): Promise<void>;
  /** @param options.failed adds the attempt to the totals of the message's code */
  defer(triggerKey: TriggerKey, entry: WaitingTrigger, options: { failed: boolean }, lease: Lease): Promise<void>;
  endpoint(endpoint: string): Promise<TriggerEndpointState>;
  rest(endpoint: string, rest: { untilAt: Instant; sinceAt: Instant; code: string }): Promise<void>;
  /** Ends the back-off of an endpoint after one of these codes. @returns whether such a back-off existed */
  endRest(endpoint: string, now: Instant, codes: ReadonlySet<string>): Promise<boolean>;
  /** Closes an endpoint; the first closing is kept. */
  close(endpoint: string, closing: { code: string; at: Instant }): Promise<void>;
  /** Reopens an endpoint and ends its back-off. @returns the closing, or null */
  reopen(endpoint: string): Promise<{ code: string; at: Instant } | null>;
  /** Deletes an event of an endpoint. The next list then causes no messages. */
  remove(triggerKey: TriggerKey): Promise<void>;
  /** Deletes all other events. */
  retainOnly(triggerKeys: readonly TriggerKey[]): Promise<void>;
  counts(): Promise<TriggerCount[]>;
}

const NEVER_READ: TriggerReading = { sinceAt: null, readAt: null, off: null, letThrough: false };
/** Number of names per script, because a script blocks Redis. */
const BATCH = 500;
/** Dropped documents that cause a message after their return. */
const MAY_RETURN: readonly TriggerDrop[] = ['withdrawn', 'vanished', 'unreadable'];

/** Deletes the other events of a tenant. When an event is configured again, its first list causes no messages. */
async function retainTriggers(redis: RedisClient, tenant: string, triggerKeys: readonly TriggerKey[]): Promise<void> {
  const retained = new Set(triggerKeys.map(fieldOf));
  const endpoints = new Set(triggerKeys.map(({ endpoint }) => endpoint));
  for (const field of await redis.hkeys(triggerRedisKeys.triggerReadings(tenant))) {
    const [endpoint = ''] = field.split('/');
    if (!endpoints.has(endpoint)) await redis.del(triggerRedisKeys.triggerEndpoint(tenant, endpoint));
    if (!retained.has(field)) await removeTrigger(redis, tenant, field);
  }
}

/** Deletes stored triggers of a tenant without configured triggers. */
export function clearTriggersIn(redis: RedisClient): (tenant: string) => Promise<void> {
  return (tenant) => retainTriggers(redis, tenant, []);
}

/** The read state is deleted first, so that an interrupted deletion restarts with a first list. */
async function removeTrigger(redis: RedisClient, tenant: string, field: string): Promise<void> {
  await redis.hdel(triggerRedisKeys.triggerReadings(tenant), field);
  await redis.del(
    ...[triggerRedisKeys.triggersKnown, triggerRedisKeys.triggersWaiting, triggerRedisKeys.triggersAppointments].map(
      (key) => key(tenant, field),
    ),
  );
}

function fieldOf({ endpoint, event }: TriggerKey): string {
  return `${endpoint}/${event}`;
}

/** Opens the store of a tenant's triggers. */
export function createTriggerStore(redis: RedisClient, tenant: string, sealer: Sealer): TriggerStore {
  const readings = triggerRedisKeys.triggerReadings(tenant);
  const options = { redis, sealer, kind: 'triggers' } as const;
  const listedKey = (triggerKey: TriggerKey) => triggerRedisKeys.triggersKnown(tenant, fieldOf(triggerKey));
  const waitingOf = (triggerKey: TriggerKey) =>
    sealedTable<Omit<WaitingTrigger, 'id'>>(triggerRedisKeys.triggersWaiting(tenant, fieldOf(triggerKey)), options);
  const appointmentsOf = (triggerKey: TriggerKey) =>
    sealedTable<StoredAppointment>(triggerRedisKeys.triggersAppointments(tenant, fieldOf(triggerKey)), options);
  const written = (triggerKey: TriggerKey, { id, ...entry }: WaitingTrigger) => waitingOf(triggerKey).seal(id, entry);
  const { run, inBatches } = openScripts(redis, tenant);

  return {
    async reading(triggerKey) {
      const value = await redis.hget(readings, fieldOf(triggerKey));
      return value === null ? NEVER_READ : readingIn(sealer, fieldOf(triggerKey), value);
    },
    async recordReading(triggerKey, reading, lease) {
      const field = fieldOf(triggerKey);
      await scripts.setFields(redis, lease, [readings], [field, writtenReading(sealer, field, reading)]);
    },
    stored: async (triggerKey) => scoresOf(await redis.zrange(listedKey(triggerKey), '0', '-1', 'WITHSCORES')),
    async know(triggerKey, names, lease) {
      const unsent = names.flatMap((name) => [name, '']);
      await inBatches(scripts.record, triggerKey, lease, unsent);
    },
    record(triggerKey, entries, lease) {
      const pairs = entries.flatMap((entry) => [entry.id, written(triggerKey, entry)]);
      return inBatches(scripts.record, triggerKey, lease, pairs);
    },
    async recordAbsence(triggerKey, changes, lease) {
      const scores = [...changes].flatMap(([name, score]) => [name, score ?? -1]);
      await inBatches(scripts.seen, triggerKey, lease, scores);
    },
    async appointments(triggerKey) {
      return new Map((await appointmentsOf(triggerKey).entries()).map(({ field, value }) => [field, value]));
    },
    follow(triggerKey, followed, lease) {
      const { seal } = appointmentsOf(triggerKey);
      const tuples = followed.flatMap(({ name, now, message }) => [
        name,
        now === null ? '' : seal(name, now),
        ...(message === null ? ['', ''] : [message.id, written(triggerKey, message)]),
      ]);
      return inBatches(scripts.follow, triggerKey, lease, tuples);
    },
    async waiting(triggerKey) {
      const entries = Array.from(await waitingOf(triggerKey).all(), ([id, entry]) => ({ id, ...entry }));
      return entries.sort((one, other) => one.dueAt - other.dueAt || one.foundAt - other.foundAt);
    },
    unreadable: async (triggerKey) =>
      (await waitingOf(triggerKey).entries()).flatMap(({ field, value }) => (value === null ? [field] : [])),
    waitingCount: (triggerKey) => redis.hlen(triggerRedisKeys.triggersWaiting(tenant, fieldOf(triggerKey))),
    async finishSent(triggerKey, id, now, lease) {
      await run(scripts.end, triggerKey, lease, [id, `${fieldOf(triggerKey)}/sent/`, now, '']);
    },
    async finishDropped(triggerKey, id, reason, lease) {
      const mayReturn = MAY_RETURN.includes(reason) ? '1' : '0';
      await run(scripts.end, triggerKey, lease, [id, `${fieldOf(triggerKey)}/dropped/${reason}`, '', mayReturn]);
    },
    async defer(triggerKey, entry, { failed }, lease) {
      const count = failed ? `${fieldOf(triggerKey)}/failed/${entry.code ?? ''}` : '';
      await run(scripts.defer, triggerKey, lease, [entry.id, count, written(triggerKey, entry)]);
    },
    ...openEndpoints(redis, tenant),
    remove: (triggerKey) => removeTrigger(redis, tenant, fieldOf(triggerKey)),
    retainOnly: (triggerKeys) => retainTriggers(redis, tenant, triggerKeys),
    counts: () => readCounts(redis, tenant),
  };
}

/** Runs scripts on an event of an endpoint, under a lease. */
function openScripts(redis: RedisClient, tenant: string) {
  type Arguments = readonly (string | number)[];
  const run = (script: FencedScript<number>, triggerKey: TriggerKey, lease: Lease, args: Arguments) => {
    const field = fieldOf(triggerKey);
    const named = [
      triggerRedisKeys.triggersKnown(tenant, field),
      triggerRedisKeys.triggersWaiting(tenant, field),
      triggerRedisKeys.triggerReadings(tenant),
      triggerRedisKeys.triggerCounts(tenant),
      triggerRedisKeys.triggerEndpoint(tenant, triggerKey.endpoint),
      triggerRedisKeys.triggersAppointments(tenant, field),
    ];
    return script(redis, lease, named, args);
  };
  async function inBatches(script: FencedScript<number>, triggerKey: TriggerKey, lease: Lease, args: Arguments) {
    let sum = 0;
    for (const batch of slices(args, 2 * BATCH)) sum += await run(script, triggerKey, lease, batch);
    return sum;
  }
  return { run, inBatches };
}

type Endpoints = Pick<TriggerStore, 'endpoint' | 'rest' | 'endRest' | 'close' | 'reopen'>;

/** Opens the state of endpoints, independent of events. */
function openEndpoints(redis: RedisClient, tenant: string): Endpoints {
  const endpointKey = (endpoint: string) => triggerRedisKeys.triggerEndpoint(tenant, endpoint);
  return {
    async endpoint(endpoint) {
      const fields = await redis.hgetall(endpointKey(endpoint));
      const numberOf = (value: string | undefined) => openNumber(value, { owner: tenant, kind: 'triggers' });
      return {
        closed: closingIn(fields.closed, { owner: tenant, kind: 'triggers' }),
        restUntil: numberOf(fields.restUntil),
        failingSince: numberOf(fields.failingSince),
        code: fields.code === undefined ? null : codeIn(fields.code),
        lastSentAt: numberOf(fields.lastSentAt),
      };
    },
    async rest(endpoint, { untilAt, sinceAt, code }) {
      await redis.hset(endpointKey(endpoint), { restUntil: untilAt, failingSince: sinceAt, code });
    },
    async endRest(endpoint, now, codes) {
      const { code, restUntil } = await this.endpoint(endpoint);
      if (restUntil === null || !codes.has(code ?? '')) return false;
      if (restUntil > now) await redis.hset(endpointKey(endpoint), { restUntil: now });
      return true;
    },
    async close(endpoint, closing) {
      await redis.hsetnx(endpointKey(endpoint), 'closed', JSON.stringify(closing));
    },
    async reopen(endpoint) {
      const { closed } = await this.endpoint(endpoint);
      await redis.hdel(endpointKey(endpoint), 'closed', 'restUntil', 'failingSince', 'code');
      return closed;
    },
  };
}

const offContext = (triggerKey: string) => `trigger/off/${triggerKey}`;

/** The reason for a switched-off event is encrypted, because the reason is shown and sent. */
function writtenReading(sealer: Sealer, triggerKey: string, { off, ...reading }: TriggerReading): string {
  return JSON.stringify({
    ...reading,
    off: off === null ? null : sealer.seal(JSON.stringify(off), offContext(triggerKey)),
  });
}

const readingForm = z.object({
  sinceAt: z.number().nullable(),
  readAt: z.number().nullable(),
  off: z.unknown(),
  letThrough: z.boolean(),
});

/** Damaged data switches the event off until the next read, which compares the list with the known names. */
function readingIn(sealer: Sealer, triggerKey: string, stored: string): TriggerReading {
  const reading = openPlain(stored, { owner: sealer.owner, kind: 'triggers' }, readingForm);
  if (reading === null) return { sinceAt: 0, readAt: null, off: { ...DAMAGED, at: 0 }, letThrough: false };
  const { off, readAt } = reading;
  if (off === null) return { ...reading, off };
  const opened = openSealed<TriggerReading['off']>(sealer, String(off), offContext(triggerKey), 'triggers');
  return { ...reading, off: opened ?? { ...DAMAGED, at: readAt ?? 0 } };
}

async function readCounts(redis: RedisClient, tenant: string): Promise<TriggerCount[]> {
  return Object.entries(await redis.hgetall(triggerRedisKeys.triggerCounts(tenant))).map(
    ([name, count]): TriggerCount => {
      const [endpoint = '', event, result, reason = ''] = name.split('/');
      return {
        endpoint,
        event: event as TriggerEvent,
        result: result as TriggerCount['result'],
        reason: reason === '' ? null : reason,
        count: openNumber(count, { owner: tenant, kind: 'triggers' }) ?? 0,
      };
    },
  );
}
