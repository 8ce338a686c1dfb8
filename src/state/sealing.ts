import { createCipheriv, createDecipheriv, type KeyObject, randomBytes } from 'node:crypto';
import { type DamagedKind, treatmentOf } from '../core/model/damaged-kinds.ts';
import { MirrorError } from '../core/model/errors.ts';
import { derivedKey } from '../core/model/hashes.ts';
import { message } from '../messages/message.ts';
import { damagedError, readStored } from './damaged.ts';
import type { RedisClient } from './redis.ts';
import { compareAndSet, fencedScript, type LeaseToken } from './script.ts';

const FORMAT = 's1';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const NONCES_AT_ONCE = 64;

/** Encryption key: 32 bytes, and the id in encrypted values (`[a-z0-9-]`). */
export interface SealingKey {
  id: string;
  key: Uint8Array;
}

/** Seals and opens values of one tenant. `context` identifies the location of a value: the value opens only with an equal context. */
export interface Sealer {
  /** Tenant, or for shared data a name in braces, which no tenant's id contains. */
  owner: string;
  seal(plaintext: string, context: string): string;
  /** @throws MirrorError `settings`, code `sealing-key-unknown`, or `state-damaged` if the value was modified or moved */
  open(sealed: string, context: string): string;
  /** Returns whether the value was encrypted with a key other than the active key. */
  isStale(sealed: string): boolean;
  /** Returns whether the value names a key that is not configured. */
  lacksKey(sealed: string): boolean;
}

/**
 * Creates a sealer: AES-256-GCM with a key per tenant, derived by HKDF-SHA256 from the ring's keys. The first key of the ring seals, all
 * keys open. To rotate a key, add a new first key, and remove the old key when no value is stale. An encrypted value has the form `s1.<key
 * id>.<base64url of nonce, tag and ciphertext>`; tenant and context are its associated data.
 */
export function createSealer(ring: readonly SealingKey[], tenant: string): Sealer {
  const derived = new Map(ring.map(({ id, key }) => [id, derivedKey(key, tenant, 'sealing')]));
  const nonce = createNonces();
  const active = ring[0];
  if (active === undefined) {
    throw new MirrorError(message('no-sealing-key'), {
      actor: 'settings',
      code: 'no-sealing-key',
      retry: 'never',
    });
  }
  return {
    owner: tenant,
    seal(plaintext, context) {
      const associated = `${active.id}/${tenant}/${context}`;
      const payload = encrypt(plaintext, requireKey(derived, active.id), nonce(), associated);
      return `${FORMAT}.${active.id}.${payload.toString('base64url')}`;
    },
    open: (sealed, context) => open(sealed, derived, `${tenant}/${context}`),
    isStale: (sealed) => !sealed.startsWith(`${FORMAT}.${active.id}.`),
    lacksKey: (sealed) => sealed.startsWith(`${FORMAT}.`) && !derived.has(sealed.split('.')[1] ?? ''),
  };
}

/**
 * Creates a sealer for data behind the daemon's decisions, with a key derived from the constant identity key. An attacker with mere write
 * access to Redis cannot create such values, and a new encryption key invalidates none.
 * @param owner see {@link Sealer.owner}
 */
export function createProofSealer(identityKey: Uint8Array, owner: string): Sealer {
  return createSealer([{ id: 'identity', key: identityKey }], owner);
}

/**
 * Creates the sealer for administrators' access: an attacker with mere write access to Redis cannot create a session, token or passphrase.
 */
export const createAccessSealer = (identityKey: Uint8Array) => createProofSealer(identityKey, '{access}');

/**
 * Returns the content of an encrypted value, see {@link readStored}. The treatment of its kind applies, without a report, to a value whose
 * key is not configured.
 * @throws MirrorError as {@link Sealer.open}, for kinds with the treatment `stop`
 */
export function openSealed<Content>(
  sealer: Sealer,
  sealed: string,
  context: string,
  kind: DamagedKind,
): Content | null {
  let text: string | null = null;
  try {
    text = readStored({ owner: sealer.owner, kind }, () => sealer.open(sealed, context));
  } catch (error) {
    if (!(error instanceof MirrorError) || treatmentOf(kind) === 'stop') throw error;
  }
  return text === null ? null : (JSON.parse(text) as Content);
}

function requireKey(derived: ReadonlyMap<string, () => KeyObject>, id: string): KeyObject {
  const key = derived.get(id);
  if (key !== undefined) return key();
  throw new MirrorError(message('sealing-key-unknown', { id }), {
    actor: 'settings',
    code: 'sealing-key-unknown',
    retry: 'never',
    remedy: message('sealing-key-unknown.remedy'),
  });
}

/** Draws many random nonces together: drawing one costs as much as encryption. */
function createNonces(): () => Uint8Array {
  let drawn = Buffer.alloc(0);
  return () => {
    if (drawn.length === 0) drawn = randomBytes(NONCES_AT_ONCE * NONCE_BYTES);
    const nonce = drawn.subarray(0, NONCE_BYTES);
    drawn = drawn.subarray(NONCE_BYTES);
    return nonce;
  };
}

function encrypt(plaintext: string, key: KeyObject, nonce: Uint8Array, associated: string): Buffer {
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(associated));
  const ciphertext = cipher.update(plaintext, 'utf8');
  // In this mode, `final` returns no data (NIST SP 800-38D).
  cipher.final();
  return Buffer.concat([nonce, cipher.getAuthTag(), ciphertext]);
}

function open(sealed: string, derived: ReadonlyMap<string, () => KeyObject>, associated: string): string {
  const [format, keyId, payload] = sealed.split('.');
  if (format !== FORMAT || keyId === undefined || payload === undefined) throw damagedError();
  const bytes = Buffer.from(payload, 'base64url');
  if (bytes.length < NONCE_BYTES + TAG_BYTES) throw damagedError();
  const decipher = createDecipheriv('aes-256-gcm', requireKey(derived, keyId), bytes.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  }).setAAD(Buffer.from(`${keyId}/${associated}`));
  try {
    decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
    return decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
  } catch {
    throw damagedError();
  }
}

const setFields = fencedScript<number>(import.meta.url, 'fenced-set');

interface SealedStoreOptions {
  redis: RedisClient;
  sealer: Sealer;
  /** Decides the treatment of values that do not open. */
  kind: DamagedKind;
}

interface SealedRead<Value> {
  /** Null if absent or not decryptable. */
  value: Value | null;
  /** Stored form. */
  sealed: string | null;
}

/** Reads and removes fields of a hash with encrypted values. */
function sealedFields<Value>(key: string, { redis, sealer, kind }: SealedStoreOptions) {
  const contextOf = (field: string) => `${key} ${field}`;
  const open = (field: string, sealed: string) => openSealed<Value>(sealer, sealed, contextOf(field), kind);
  return {
    open,
    seal: (field: string, value: Value) => sealer.seal(JSON.stringify(value), contextOf(field)),
    /** Returns all fields. */
    async entries(): Promise<{ field: string; value: Value | null; sealed: string }[]> {
      const all = Object.entries(await redis.hgetall(key));
      return all.map(([field, sealed]) => ({ field, value: open(field, sealed), sealed }));
    },
    async read(field: string): Promise<SealedRead<Value>> {
      const sealed = await redis.hget(key, field);
      return { value: sealed === null ? null : open(field, sealed), sealed };
    },
    remove: async (fields: readonly string[]) => (fields.length === 0 ? 0 : redis.hdel(key, ...fields)),
  };
}

/** Opens a hash with JSON values, each encrypted under the hash's key and its field: a value cannot be moved. */
export function sealedTable<Value>(key: string, options: SealedStoreOptions) {
  const { redis, sealer } = options;
  const { open, seal, entries, read, remove } = sealedFields<Value>(key, options);
  return {
    key,
    seal,
    entries,
    remove,
    read,
    get: async (field: string) => (await read(field)).value,
    /** Returns all readable values. */
    async all(): Promise<Map<string, Value>> {
      return new Map(
        (await entries()).flatMap(({ field, value }) => (value === null ? [] : [[field, value] as const])),
      );
    },
    /** Returns the readable values of the given fields. */
    async some(fields: readonly string[]): Promise<Map<string, Value>> {
      const stored = fields.length === 0 ? [] : await redis.hmget(key, ...fields);
      const opened = fields.map((field, index) => [field, stored[index] == null ? null : open(field, stored[index])]);
      return new Map(opened.filter((pair): pair is [string, Value] => pair[1] !== null));
    },
    /** Removes expired and damaged values; a value whose key is not configured stays. @returns the remaining readable values */
    async prune(isOver: (value: Value) => boolean = () => false): Promise<Map<string, Value>> {
      const [current, over] = [new Map<string, Value>(), [] as string[]];
      for (const { field, value, sealed } of await entries()) {
        if (value === null ? !sealer.lacksKey(sealed) : isOver(value)) over.push(field);
        else if (value !== null) current.set(field, value);
      }
      await remove(over);
      return current;
    },
    /** Removes all other fields. */
    async retainOnly(fields: readonly string[]): Promise<void> {
      await remove((await redis.hkeys(key)).filter((field) => !fields.includes(field)));
    },
    async set(field: string, value: Value): Promise<void> {
      await redis.hset(key, field, seal(field, value));
    },
    /** Writes a field; null removes the field. @throws MirrorError `conflict`, code `lease-lost` */
    async setFenced(field: string, value: Value | null, lease: LeaseToken): Promise<void> {
      await setFields(redis, lease, [key], [field, value === null ? '' : seal(field, value)]);
    },
    /** @returns false if a value exists, which stays */
    add: async (field: string, value: Value) => (await redis.hsetnx(key, field, seal(field, value))) === 1,
    /**
     * Writes fields in one step if one field is unchanged since it was read; null removes a field.
     * @returns false after a change
     */
    async replace(field: string, before: string | null, written: Iterable<readonly [string, Value | null]>) {
      const values = Array.from(written, ([name, value]) => ({
        ...{ key, field: name },
        value: value === null ? null : seal(name, value),
      }));
      return (await compareAndSet(redis, [{ key, field, value: before }], values)) === null;
    },
  };
}

/** Opens a string key with a JSON value, encrypted under the key. */
export function sealedValue<Value>(key: string, { redis, sealer, kind }: SealedStoreOptions) {
  const seal = (value: Value) => sealer.seal(JSON.stringify(value), key);
  const open = (sealed: string | null): SealedRead<Value> => ({
    value: sealed === null ? null : openSealed<Value>(sealer, sealed, key, kind),
    sealed,
  });
  const read = async () => open(await redis.get(key));
  return {
    seal,
    open,
    read,
    get: async () => (await read()).value,
    /** Returns and removes the value. */
    take: async () => open(await redis.getdel(key)).value,
    async set(value: Value): Promise<void> {
      await redis.set(key, seal(value));
    },
    async setFor(lifeMs: number, value: Value): Promise<void> {
      await redis.set(key, seal(value), 'PX', lifeMs);
    },
    /** @returns false if the value changed since it was read */
    replace: async (before: string | null, value: Value) =>
      (await compareAndSet(redis, [{ key, value: before }], [{ key, value: seal(value) }])) === null,
  };
}
