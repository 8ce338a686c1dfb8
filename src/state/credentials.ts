import type { Logger } from '../log/logger.ts';
import { message } from '../messages/message.ts';
import type { Credential, CredentialState } from '../model/credentials.ts';
import { MirrorError } from '../model/errors.ts';
import { SECOND_MS } from '../model/time.ts';
import { keys } from './keys.ts';
import type { AwaitDurable, RedisClient } from './redis.ts';
import { compareAndSet, fencedScript, type LeaseToken, type LocatedValue } from './script.ts';
import type { Sealer } from './sealing.ts';

const writeCredential = fencedScript<number>(import.meta.url, 'credential-write');

/**
 * A credential as a Redis hash holds it: its version, what changes with it alone, and where the login stands. Both are sealed under
 * tenant, connection and version.
 */
type CredentialFields = Readonly<Record<string, string>>;

/** The credentials of one tenant, one per connection, tokens sealed. */
export interface CredentialStore {
  /**
   * A value that was sealed with an old key is sealed again with the active one on the way.
   * @throws MirrorError `settings` when its sealing key is missing, `contract` when it was tampered with
   */
  read(connection: string): Promise<Credential | null>;
  /**
   * The same for whoever wants nothing of it but its access token: as this process read it at most a second ago, unless it has changed it
   * since. Its refresh token may be used up.
   */
  recent(connection: string): Promise<Credential | null>;
  /** What was read so far is not recent any more: for work that somebody may have asked for after a login in another process. */
  beginAnew(): void;
  /**
   * Replaces the credential if it still has the version that was read (null: there is none) and the lease is still held,
   * in one step. On the disk when it returns, where Redis can tell.
   * @returns false when another version stands there
   * @throws MirrorError `conflict`, code `lease-lost`
   */
  write(lease: LeaseToken, connection: string, expectedVersion: number | null, next: Credential): Promise<boolean>;
  /** Changes where the login stands and leaves the tokens alone; the same conditions as `write`. */
  record(lease: LeaseToken, connection: string, version: number, credentialState: CredentialState): Promise<boolean>;
  /** Removes the credential, whoever is at work on it: a refresh under way finds nothing to replace. */
  remove(connection: string): Promise<boolean>;
  /** The credentials of those connections that have one. */
  readAll(connections: readonly string[]): Promise<Record<string, Credential>>;
  /** Puts them back where nothing stands: a credential that is there is newer, since providers replace refresh tokens. */
  restore(credentials: Readonly<Record<string, Credential>>): Promise<{ restored: string[]; unchanged: string[] }>;
}

/** What a credential store works with. */
export interface CredentialStoreOptions {
  redis: RedisClient;
  /**
   * A connection of its own for writes: waiting for the disk holds up whatever else is sent over it, up to a second.
   */
  writer: RedisClient;
  /** Waits for the disk over that connection. */
  awaitDurable: AwaitDurable;
  sealer: Sealer;
  tenant: string;
  log: Logger;
}

/**
 * A cycle asks the clinic for one page after the other, each with the login. What another process stores counts after this time, and at once
 * after a 401.
 */
const RECENT_MS = SECOND_MS;

/**
 * Opens the credentials of a tenant.
 *
 * Durability: a write waits until it can't be lost, because a rotated refresh token that is lost ends the login. What is not confirmed in
 * time is used all the same, since the old token is worth nothing by then.
 */
export function createCredentialStore(options: CredentialStoreOptions): CredentialStore {
  const { redis, writer, sealer, tenant, log } = options;
  const keyOf = (connection: string) => keys.credential(tenant, connection);
  // A list's pages are asked for one after the other with the same login: it is opened once.
  let opened: { stored: string; credential: Credential } | null = null;
  const recent = new Recent(readNow);

  async function awaitDisk(connection: string): Promise<void> {
    if ((await options.awaitDurable(keyOf(connection)).catch(() => 'late')) === 'late')
      log.warn({}, 'a credential is stored but not on the disk yet');
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
      // All of them lie on one server.
      for (const connection of result.restored.slice(-1)) await awaitDisk(connection);
      return result;
    },
  };
}

function encode(credential: Credential, sealer: Sealer, connection: string): CredentialFields {
  const { version, state, reason, since, unansweredSince, refusedAt, ...login } = credential;
  const context = contextOf(connection, version);
  return {
    version: String(version),
    sealed: sealer.seal(JSON.stringify(login), context),
    ...sealedState({ state, reason, since, unansweredSince, refusedAt: refusedAt ?? null }, sealer, context),
  };
}

/** @throws what the sealer throws */
function decode(
  { version = '', sealed = '', standing: state = '' }: CredentialFields,
  sealer: Sealer,
  connection: string,
) {
  const context = contextOf(connection, version);
  const login = JSON.parse(sealer.open(sealed, context)) as Omit<Credential, 'version' | keyof CredentialState>;
  const currentState = JSON.parse(sealer.open(state, `${context}/standing`)) as CredentialState;
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

/** The fields of a hash as values that are compared or set. */
function valuesOf(key: string, fields: CredentialFields): LocatedValue[] {
  return Object.entries(fields).map(([field, value]) => ({ key, field, value }));
}

function contextOf(connection: string, version: string | number): string {
  return `credential/${connection}/${version}`;
}

/** Credentials as they were read last, for as long as they surely stand so, or {@link RECENT_MS}. */
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
    // Whoever has to log in may do so at any moment.
    const isCacheable = credential?.state === 'connected' && this.#changes === changes;
    if (isCacheable) this.#stored.set(connection, { credential, readAt });
    else this.#stored.delete(connection);
    return credential;
  };

  /** What was read before is not known any more, also where the answer is still on its way. */
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
    throw error instanceof MirrorError ? error : storeError(error);
  }
}

/** Redis did not answer: the write may have been made all the same. */
function storeError(error: unknown): MirrorError {
  return new MirrorError(message('credential-not-stored'), {
    actor: 'remote',
    code: 'redis-failed',
    retry: 'later',
    ambiguous: true,
    cause: error,
  });
}
