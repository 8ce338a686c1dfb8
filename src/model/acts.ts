import { message } from '../messages/message.ts';
import { MirrorError } from './errors.ts';

/** Actions of an operator through a command or an API, named as in the audit log. */
export const ACT_VERBS = [
  ...['login', 'login-link', 'logout', 'accept-account'],
  ...['approve', 'reject', 'undo', 'release', 'match', 'unmatch', 'sync', 'apply', 'audit', 'retry'],
  ...['export-patient', 'forget', 'follow-again', 'backup', 'restore', 'accept-loss'],
  ...['opt-out', 'lift-opt-out', 'end-reply', 'reopen-channel', 'reopen-endpoint', 'clinic-write'],
  ...['withdraw-link', 'sign-in-link', 'access-token', 'revoke-access-token', 'release-account'],
  'end-sessions',
  ...['rotate-feed', 'withdraw-feed'],
  ...['add-tenant', 'replace-tenant', 'remove-tenant', 'adopt-tenant', 'accept-tenant'],
] as const;
export type ActVerb = (typeof ACT_VERBS)[number];

/**
 * Adds the automatic events of the audit log. Examples: an administrator signs in or out, a browser opens a connection link, a daemon
 * applies files or starts with other encryption keys, the oldest audit records are removed.
 */
export type AuditVerb =
  | ActVerb
  | 'sign-in'
  | 'sign-out'
  | 'set-passphrase'
  | 'open-link'
  | 'end-link'
  | 'reload-configuration'
  | 'change-keys'
  | 'begin-log'
  | 'trim-log';

/** The actor of an action. */
export interface Principal {
  /**
   * `os-user`: uses the command line. `account`: an administrator, through pages or the API. `holder`: an unidentified holder of a token or
   * of the owner's passphrase. `browser`: holds a connection link, or attempts a sign-in. `daemon`: acts automatically.
   */
  kind: 'os-user' | 'account' | 'holder' | 'browser' | 'daemon';
  /** Name in the operating system or at the identity provider. */
  name: string;
  /** Distinguishes actors as far as the system can: `login:1001`, `uid:1001`, `account:<issuer>#<subject>`. */
  id: string;
  /** Unverified name that the actor gave; null if none. */
  claimed: string | null;
}

/** Numbers and names created by clinic-mirror. Patient data and free text are not allowed. */
export type ActFacts = Readonly<Record<string, string | number | boolean | null>>;

/**
 * Progress of an action. `requested`: waits for a second approver. `refused`: did not begin. `begun`: possibly carried out. `done` and
 * `failed`: ended.
 */
export type ActOutcome = 'requested' | 'refused' | 'begun' | 'done' | 'failed';

/** An audit record before the log adds its position and MAC. */
export interface AuditDraft {
  verb: AuditVerb;
  /** Null for no tenant, or for all. */
  tenant: string | null;
  who: Principal;
  what: ActFacts;
  /** Reason in the actor's words; null if none was given. */
  why: string | null;
  outcome: ActOutcome;
  /** Code of the error that ended or refused the action. */
  code: string | null;
  /** Sequence number of the record in which the action began; null in that record. */
  act: number | null;
}

/** A record of the audit log. */
export interface AuditEntry extends AuditDraft {
  /** Name of the chain that contains the record. */
  chain: string;
  /** From 1 on, without gaps. */
  sequence: number;
  /** RFC 3339, UTC. */
  at: string;
  /** MAC of the previous record; null in the first record of a chain. */
  previous: string | null;
}

/** Access levels of administrators, least first: view; decide, sync and connect; change access and do irreversible actions. */
export const ACCESS_LEVELS = ['viewer', 'operator', 'owner'] as const;
/** An access level. Each level includes the levels before it. */
export type AccessLevel = (typeof ACCESS_LEVELS)[number];

/** Level and tenants of an administrator. */
export interface AccessRights {
  level: AccessLevel;
  /** Visible tenants; null for all. */
  tenants: ReadonlySet<string> | null;
}

/** Returns whether the rights include a tenant. Null stands for no tenant or all tenants. */
export function maySee({ tenants }: AccessRights, tenant: string | null): boolean {
  return tenants === null || (tenant !== null && tenants.has(tenant));
}

/**
 * Requires access to all tenants, because a tenant's configuration also affects other tenants: clinics and clients can be shared.
 * @throws MirrorError `guard`, code `not-allowed`
 */
export function requireAllTenants({ tenants }: AccessRights): void {
  if (tenants === null) return;
  throw new MirrorError(message('owner-needed'), {
    ...{ actor: 'guard', code: 'not-allowed', retry: 'never' },
    remedy: message('owner-needed.remedy'),
  });
}
