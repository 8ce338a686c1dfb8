import type { Credential, CredentialState } from '../model/credentials.ts';

/** A lease as far as a fenced write needs it. */
export interface HeldLease {
  readonly key: string;
  readonly token: string;
  release(): Promise<void>;
}

/** Gives leases of one tenant: at most one holder per name. */
export interface LeaseTaker {
  /** @returns null when somebody else holds it */
  tryTake(name: string): Promise<HeldLease | null>;
  /** @throws MirrorError `remote`, code `lease-busy`, when `waitMs` passes */
  take(name: string, waitMs: number, signal: AbortSignal): Promise<HeldLease>;
}

/** Where the credentials of one tenant are kept. */
export interface CredentialStorage {
  read(connection: string): Promise<Credential | null>;
  /** As it was read a short while ago: for whoever wants nothing of it but its access token. Its refresh token may be used up. */
  recent(connection: string): Promise<Credential | null>;
  /**
   * Durable when it returns. @returns false when another version than `expectedVersion` stands there (null: none)
   * @throws MirrorError `conflict` when the lease was lost
   */
  write(lease: HeldLease, connection: string, expectedVersion: number | null, next: Credential): Promise<boolean>;
  /** Changes where the login stands, not its tokens. */
  note(lease: HeldLease, connection: string, version: number, credentialState: CredentialState): Promise<boolean>;
  remove(connection: string): Promise<boolean>;
}

/** A login that a person has begun: what its answer must fit, kept for ten minutes and given once. */
export interface PendingLogin {
  tenant: string;
  connection: string;
  issuer: string;
  redirectUri: string;
  codeVerifier: string;
  /** Its id_token must repeat it; null where none is asked for. */
  nonce: string | null;
  /** Digest of what the one browser holds that may end it; null for a login that ends at a receiver of its own on this machine. */
  browser: string | null;
  scopes: readonly string[];
}

/** Keeps begun logins by their `state`. */
export interface PendingLogins {
  put(state: string, login: PendingLogin): Promise<void>;
  take(state: string): Promise<PendingLogin | null>;
}

/** One connection of one tenant, where its credential is kept and the lease under which it is changed. */
export interface ConnectionContext {
  tenant: string;
  connection: string;
  credentials: CredentialStorage;
  leases: LeaseTaker;
}

/** Name of the lease under which a connection's credential is changed. */
export function credentialLease(connection: string): string {
  return `credential:${connection}`;
}
