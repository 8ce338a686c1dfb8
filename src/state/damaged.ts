import { channel } from 'node:diagnostics_channel';
import { z } from 'zod';
import type { Logger } from '../core/log/logger.ts';
import { type DamagedKind, isDamagedKind, treatmentOf } from '../core/model/damaged-kinds.ts';
import { MirrorError, type StoredError } from '../core/model/errors.ts';
import type { DamagedState } from '../core/model/state-schemas.ts';
import { type Clock, DAY_MS, type Instant, MINUTE_MS } from '../core/model/time.ts';
import { message, render } from '../messages/message.ts';
import { keys } from './keys.ts';
import type { RedisClient } from './redis.ts';
import { sendAll } from './script.ts';

/** Damaged values of the process. A channel of Node, because values are opened in every part of the state. */
const found = channel('clinic-mirror:state-damaged');

/** Reports a value that does not open, or that is not the last one written. @param owner tenant in the state; shared data has a name in braces */
export function reportDamaged(owner: string, kind: DamagedKind): void {
  found.publish({ owner, kind } satisfies StoredOrigin);
}

const TEXTS = { message: message('state-damaged'), remedy: message('state-damaged.remedy') };

/** The error of every damaged value. Its text replaces the value's words, which are never shown. */
export const DAMAGED = {
  code: 'state-damaged',
  // Write access to Redis is the operator's responsibility.
  actor: 'settings',
  message: render(TEXTS.message),
  remedy: render(TEXTS.remedy),
  texts: TEXTS,
} as const satisfies StoredError;

/** Returns the error {@link DAMAGED}. */
export function damagedError(): MirrorError {
  const { actor, code, texts } = DAMAGED;
  return new MirrorError(texts.message, { actor, code, retry: 'never', remedy: texts.remedy });
}

/** Owner (as of {@link reportDamaged}) and kind of a stored value. */
export interface StoredOrigin {
  owner: string;
  kind: DamagedKind;
}

/**
 * Reads a stored value, the only way to read state. A damaged value is reported, and is null or throws as its kind demands.
 * @param read returns the value; for a damaged value throws {@link damagedError}, or as `JSON.parse` or a schema. Other errors are passed on
 */
export function readStored<Content>({ owner, kind }: StoredOrigin, read: () => Content): Content | null {
  try {
    return read();
  } catch (error) {
    if (!isDamage(error)) throw error;
    reportDamaged(owner, kind);
    if (treatmentOf(kind) === 'stop') throw damagedError();
    return null;
  }
}

function isDamage(error: unknown): boolean {
  return error instanceof MirrorError
    ? error.code === DAMAGED.code
    : error instanceof SyntaxError || error instanceof z.ZodError;
}

/** Reads a stored value in plain JSON, see {@link readStored}. @param schema form of the value. @returns null also if absent */
export function openPlain<Content>(
  stored: string | null | undefined,
  origin: StoredOrigin,
  schema: { parse(value: unknown): Content },
): Content | null {
  return stored == null ? null : readStored(origin, () => schema.parse(JSON.parse(stored)));
}

const number = z.number();

/** Returns the names in a field of a table that several names identify; empty for a damaged field. */
export function namesIn(field: string, origin: StoredOrigin): readonly string[] {
  return openPlain(field, origin, z.array(z.string())) ?? [];
}

/** Reads a stored number, see {@link readStored}. @returns null also if absent or empty */
export function openNumber(stored: string | null | undefined, origin: StoredOrigin): number | null {
  return openPlain(stored === '' ? null : stored, origin, number);
}

const closing = z.object({ code: z.string(), at: number });
/** Reason and time of a closing, see {@link closingIn}. */
export type Closing = z.infer<typeof closing>;
const CODE = /^[a-z][a-z0-9-]{0,63}$/;

/** Validates a plain-text code from Redis: a code that could contain a sentence or a URL is damaged. */
export function codeIn(text: string): string {
  return CODE.test(text) ? text : DAMAGED.code;
}

/** Reads the record of a channel or endpoint that is closed until an operator opens it. With a damaged record, it stays closed. */
export function closingIn(stored: string | null | undefined, origin: StoredOrigin): Closing | null {
  if (stored == null) return null;
  const { code, at } = openPlain(stored, origin, closing) ?? { code: DAMAGED.code, at: 0 };
  return { code: codeIn(code), at };
}

/** Record of damaged data of all tenants. */
export type DamagedStore = ReturnType<typeof openDamagedStore>;

/**
 * Opens the only place that reports damaged values: a log line for each tenant and kind, at most one a minute; a count for the metric; and
 * a shared record of times, because the process that drops a value is not the one that shows the status.
 */
export function openDamagedStore({ redis, clock, log }: { redis: RedisClient; clock: Clock; log: Logger }) {
  const counts = new Map<DamagedKind, number>();
  const times = new Map<string, Instant>();
  function take(found: unknown): void {
    const { owner, kind } = found as StoredOrigin;
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
    const [field, now] = [`${owner} ${kind}`, clock()];
    if (Math.abs(now - (times.get(field) ?? -Infinity)) < MINUTE_MS) return;
    times.set(field, now);
    const details = { code: 'state-damaged', kind, tenant: tenantOf(owner), treatment: treatmentOf(kind) };
    log.error(details, 'stored value in Redis is damaged: it has no effect');
    // Without a writable Redis, log and metric remain.
    sendAll(redis.pipeline().hset(keys.damaged(), field, now).pexpire(keys.damaged(), DAY_MS)).catch(() => {});
  }
  found.subscribe(take);
  return {
    /** Number of values that this process found, by kind. */
    counts: counts as ReadonlyMap<DamagedKind, number>,
    /** Returns the data found by all processes in the last day. Anyone who can write to Redis can write the record: only known kinds count. */
    async list(): Promise<DamagedState[]> {
      const recorded = Object.entries(await redis.hgetall(keys.damaged()));
      const recent = [...recorded, ...times].flatMap(([field, at]) => {
        const [owner = '', kind = ''] = field.split(' ');
        const isShown = isRebuilt(kind) && Math.abs(clock() - Number(at)) < DAY_MS;
        return isShown ? [{ tenant: tenantOf(owner), kind, at: Number(at) }] : [];
      });
      return Array.from(
        Map.groupBy(recent, ({ tenant }) => tenant),
        ([tenant, all]) => ({
          tenant,
          kinds: [...new Set(all.map(({ kind }) => kind))].sort(),
          sinceAt: Math.max(...all.map(({ at }) => at)),
        }),
      );
    },
    close: () => void found.unsubscribe(take),
  };
}

/** The name of shared data has braces. */
function tenantOf(owner: string): string | null {
  return owner.startsWith('{') ? null : owner;
}

function isRebuilt(kind: string): kind is DamagedKind {
  return isDamagedKind(kind) && treatmentOf(kind) === 'rebuild';
}
