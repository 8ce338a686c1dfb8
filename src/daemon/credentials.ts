import type { Logger } from '../core/log/logger.ts';
import type { Credential, CredentialState } from '../core/model/credentials.ts';
import { MirrorError, redisFaultOf } from '../core/model/errors.ts';
import { storable } from '../core/model/stored-limits.ts';
import { SECOND_MS } from '../core/model/time.ts';
import { message } from '../messages/message.ts';
import { keys } from '../state/keys.ts';
import type { AwaitDurable, RedisClient } from '../state/redis.ts';
import { compareAndSet, fencedScript, type LeaseToken, type LocatedValue } from '../state/script.ts';
import { openSealed, type Sealer } from '../state/sealing.ts';

const writeCredential = fencedScript<number>(import.meta.url, 'credential-write');

/**
 * Credential as a Redis hash: version, content with the version, and state. Content and state are encrypted under tenant, connection and
 * version.
 */
type CredentialFields = Readonly<Record<string, string>>;

/** Credentials of one tenant, one per connection, with encrypted tokens. */
export interface CredentialStore {
  /**
   * Reads a credential; a value under an old key is encrypted again with the active key.
   * @throws MirrorError `settings` if the encryption key is missing, `contract` if the value was modified
   */
  read(connection: string): Promise<Credential | null>;
  /**
   * Reads a credential for callers that use only the access token: at most one second old, unless this process changed the credential
   * since. The refresh token may already be used.
   */
  recent(connection: string): Promise<Credential | null>;
  /** Discards recent reads: for work that may have been requested after an authorization in a different process. */
  beginAnew(): void;
  /**
   * Replaces a credential in one step if the version (null: absent) and the lease are unchanged. Durable if Redis supports confirmation.
   * @returns false if a different version is stored
   * @throws MirrorError `conflict`, code `lease-lost`
   */
  write(lease: LeaseToken, connection: string, expectedVersion: number | null, next: Credential): Promise<boolean>;
  /** Changes the state without the tokens, under the conditions of `write`. */
  record(lease: LeaseToken, connection: string, version: number, credentialState: CredentialState): Promise<boolean>;
  /** Removes the credential without a lease: a running refresh then finds no credential to replace. */
  remove(connection: string): Promise<boolean>;
  /** Returns the existing credentials of the given connections. */
  readAll(connections: readonly string[]): Promise<Record<string, Credential>>;
  /** Restores absent credentials: an existing credential is newer, because providers replace refresh tokens. */
  restore(credentials: Readonly<Record<string, Credential>>): Promise<{ restored: string[]; unchanged: string[] }>;
}

export interface CredentialStoreOptions {
  redis: RedisClient;
  /** Separate connection for writes: waiting for the disk blocks the connection for up to a second. */
  writer: RedisClient;
  /** Waits for the disk over the separate connection. */
  awaitDurable: AwaitDurable;
  sealer: Sealer;
  tenant: string;
  log: Logger;
}

/**
 * A cycle fetches pages from the source one after another, each with the credential. Changes by other processes take effect after this
 * time, and immediately after a 401.
 */
const RECENT_MS = SECOND_MS;

/**
 * Opens the credentials of a tenant.
 *
 * Durability: a write waits until it is durable, because a lost refresh token after rotation ends the connection. A write without confirmation
 * in time is used anyway, because the old token is already invalid.
 */
export function createCredentialStore(options: CredentialStoreOptions): CredentialStore {
  const { redis, writer, sealer, tenant, log } = options;
  const keyOf = (connection: string) => keys.credential(tenant, connection);
  // Consecutive pages of a list use one credential, which is therefore decrypted once.
  let opened: { stored: string; credential: Credential } | null = null;
  const recent = new Recent(readNow);

  async function awaitDisk(connection: string): Promise<void> {
    if ((await options.awaitDurable(keyOf(connection)).catch(() => 'late')) === 'late')
      log.warn({}, 'credential is stored but not on the disk yet');
  }

  async function readNow(connection: string): Promise<Credential | null> {
    const fields = await redis.hgetall(keyOf(connection));
    if (Object.keys(fields).length === 0) return null;
    const stored = JSON.stringify([connection, fields]);
    const credential = opened?.stored === stored ? opened.credential : decode(fields, sealer, connection);
    opened = { stored, credential };
    if (sealer.isStale(fields.sealed ?? '')) await reseal(connection, fields, credential);
    return credential;
  }

  async function reseal(connection: string, fields: CredentialFields, credential: Credential): Promise<void> {
    const key = keyOf(connection);
    await compareAndSet(redis, valuesOf(key, fields), valuesOf(key, encode(credential, sealer, connection)));
  }

  async function change(lease: LeaseToken, connection: string, version: number | null, fields: CredentialFields) {
    const args = [version ?? '', ...Object.entries(fields).flat()];
    return stored(recent.changing(writeCredential(writer, lease, [keyOf(connection)], args)));
  }

  async function restoreOne(connection: string, credential: Credential): Promise<boolean> {
    const key = keyOf(connection);
    const written = valuesOf(key, encode(credential, sealer, connection));
    // Each credential has a version.
    return (await recent.changing(compareAndSet(writer, [{ key, field: 'version', value: null }], written))) === null;
  }

  return {
    read: recent.read,
    recent: recent.recent,
    beginAnew: () => recent.invalidate(),
    async write(lease, connection, expectedVersion, next) {
      const written = await change(lease, connection, expectedVersion, encode(next, sealer, connection));
      if (written) await awaitDisk(connection);
      return written;
    },
    record: (lease, connection, version, credentialState) =>
      change(lease, connection, version, sealedState(credentialState, sealer, contextOf(connection, version))),
    remove: async (connection) => (await recent.changing(writer.del(keyOf(connection)))) === 1,
    async readAll(connections) {
      const credentials: Record<string, Credential> = {};
      for (const connection of connections) {
        const credential = await recent.read(connection);
        if (credential !== null) credentials[connection] = credential;
      }
      return credentials;
    },
    async restore(credentials) {
      const result = { restored: [] as string[], unchanged: [] as string[] };
      for (const [connection, credential] of Object.entries(credentials)) {
        result[(await restoreOne(connection, credential)) ? 'restored' : 'unchanged'].push(connection);
      }
      // All keys are on one server.
      for (const connection of result.restored.slice(-1)) await awaitDisk(connection);
      return result;
    },
  };
}

function encode(credential: Credential, sealer: Sealer, connection: string): CredentialFields {
  const { version, state, reason, since, unansweredSince, refusedAt, ...login } = credential;
  const context = contextOf(connection, version);
  storable('token', login.tokens.accessToken);
  storable('token', login.tokens.refreshToken);
  return {
    version: String(version),
    sealed: sealer.seal(JSON.stringify(login), context),
    ...sealedState({ state, reason, since, unansweredSince, refusedAt: refusedAt ?? null }, sealer, context),
  };
}

/** @throws errors of the sealer */
function decode(
  { version = '', sealed = '', standing: state = '' }: CredentialFields,
  sealer: Sealer,
  connection: string,
) {
  const context = contextOf(connection, version);
  const login = openSealed(sealer, sealed, context, 'credentials') as Omit<
    Credential,
    'version' | keyof CredentialState
  >;
  const currentState = openSealed(sealer, state, `${context}/standing`, 'credentials') as CredentialState;
  return { version: Number(version), ...login, ...currentState } satisfies Credential;
}

function sealedState(
  { state, reason, since, unansweredSince, refusedAt }: CredentialState,
  sealer: Sealer,
  context: string,
): CredentialFields {
  const written = { state, reason, since, unansweredSince, ...(refusedAt == null ? {} : { refusedAt }) };
  return { standing: sealer.seal(JSON.stringify(written), `${context}/standing`) };
}

/** Returns the fields of a hash as values for comparing or writing. */
function valuesOf(key: string, fields: CredentialFields): LocatedValue[] {
  return Object.entries(fields).map(([field, value]) => ({ key, field, value }));
}

function contextOf(connection: string, version: string | number): string {
  return `credential/${connection}/${version}`;
}

/** Recently read credentials, valid until a known change or {@link RECENT_MS}. */
class Recent {
  readonly #readNow: (connection: string) => Promise<Credential | null>;
  readonly #stored = new Map<string, { credential: Credential; readAt: number }>();
  #changes = 0;

  constructor(readNow: (connection: string) => Promise<Credential | null>) {
    this.#readNow = readNow;
  }

  recent = async (connection: string): Promise<Credential | null> => {
    const cached = this.#stored.get(connection);
    const isRecent = cached !== undefined && performance.now() - cached.readAt < RECENT_MS;
    return isRecent ? cached.credential : this.read(connection);
  };

  read = async (connection: string): Promise<Credential | null> => {
    const [readAt, changes] = [performance.now(), this.#changes];
    const credential = await this.#readNow(connection);
    // A disconnected connection may be reconnected at any time, so its state is not cached.
    const isCacheable = credential?.state === 'connected' && this.#changes === changes;
    if (isCacheable) this.#stored.set(connection, { credential, readAt });
    else this.#stored.delete(connection);
    return credential;
  };

  /** Earlier reads become invalid, even while the change is still in progress. */
  changing<Answer>(change: Promise<Answer>): Promise<Answer> {
    return change.finally(() => this.invalidate());
  }

  invalidate(): void {
    this.#changes += 1;
    this.#stored.clear();
  }
}

async function stored(answer: Promise<number>): Promise<boolean> {
  try {
    return (await answer) === 1;
  } catch (error) {
    if (error instanceof MirrorError) throw error;
    // A refused command was not executed, so its code is kept.
    const fault = redisFaultOf(error);
    throw fault === null || fault.code === 'redis-unreachable' ? storeError(error) : fault;
  }
}

/** Redis did not answer: the write may have been executed. */
function storeError(error: unknown): MirrorError {
  return new MirrorError(message('credential-not-stored'), {
    actor: 'remote',
    code: 'redis-failed',
    retry: 'later',
    ambiguous: true,
    cause: error,
  });
}
