import { message } from '../messages/message.ts';
import { MirrorError } from './errors.ts';

/** What a person does to an installation with a command or an API, by the words of the audit log. */
export const ACT_VERBS = [
  ...['login', 'login-link', 'logout', 'accept-account'],
  ...['approve', 'reject', 'undo', 'release', 'match', 'unmatch', 'sync', 'apply', 'audit', 'retry'],
  ...['forget', 'follow-again', 'backup', 'restore', 'accept-loss'],
  ...['opt-out', 'lift-opt-out', 'reopen-channel', 'reopen-endpoint', 'clinic-write'],
  ...['withdraw-link', 'sign-in-link', 'access-token', 'revoke-access-token', 'release-account'],
  ...['rotate-feed', 'withdraw-feed'],
  ...['add-tenant', 'replace-tenant', 'remove-tenant', 'adopt-tenant', 'accept-tenant'],
] as const;
/** Such a word. */
export type ActVerb = (typeof ACT_VERBS)[number];

/**
 * What the log tells beside them: an administrator signed in, out, or set the passphrase; a browser opened the link of a login, or came back from the provider; a daemon took files up, was
 * started with other sealing keys; the log itself was begun, or its oldest entries went.
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

/** Who acts. */
export interface Principal {
  /**
   * `os-user`: by the command line; `account`: of an administrator, by pages or API; `holder`: whoever has a token, or the owner's passphrase,
   * and nobody knows who that is; `browser`: whoever holds a login's link, or tries to sign in; `daemon`: by itself.
   */
  kind: 'os-user' | 'account' | 'holder' | 'browser' | 'daemon';
  /** What the system calls them. */
  name: string;
  /** What tells two persons apart, as far as the system can: `login:1001`, `uid:1001`, `account:<issuer>#<subject>`. */
  id: string;
  /** The name that they gave themselves; null when none. Nobody checks it. */
  claimed: string | null;
}

/** Numbers and names of our own; nothing of patients, and no text that somebody typed. */
export type ActFacts = Readonly<Record<string, string | number | boolean | null>>;

/**
 * How far an act came. `requested`: it waits for a second person; `refused`: it was not begun; `begun`: it may have been done; `done`, and
 * `failed`: how that ended.
 */
export type ActOutcome = 'requested' | 'refused' | 'begun' | 'done' | 'failed';

/** What is written of an act. */
export interface AuditDraft {
  verb: AuditVerb;
  /** Null: none, or all. */
  tenant: string | null;
  who: Principal;
  what: ActFacts;
  /** In the person's own words; null where none were given. */
  why: string | null;
  outcome: ActOutcome;
  /** Code of the error that ended or refused it. */
  code: string | null;
  /** Number of the entry in which the act was begun; null in that entry. */
  act: number | null;
}

/** An entry of the audit log. */
export interface AuditEntry extends AuditDraft {
  /** Name of its chain. */
  chain: string;
  /** From 1 on, without gaps. */
  sequence: number;
  /** RFC 3339, UTC. */
  at: string;
  /** MAC of the entry before; null in the first of a chain. */
  previous: string | null;
}

/** What an administrator may do, least first: look; decide, sync, connect; and what can't be taken back, or concerns who may do what. */
export const ACCESS_LEVELS = ['viewer', 'operator', 'owner'] as const;
/** Such a level. Each may do what those before it may. */
export type AccessLevel = (typeof ACCESS_LEVELS)[number];

/** What somebody may do, and where. */
export interface AccessRights {
  level: AccessLevel;
  /** Tenants that they may see and work on; null for all. */
  tenants: ReadonlySet<string> | null;
}

/** Whether someone with these rights may see a tenant; null: what concerns none, or all. */
export function maySee({ tenants }: AccessRights, tenant: string | null): boolean {
  return tenants === null || (tenant !== null && tenants.has(tenant));
}

/**
 * How a tenant is configured concerns others: whose clinic it is, and which clients it shares.
 * @throws MirrorError `guard`, code `not-allowed`
 */
export function requireAllTenants({ tenants }: AccessRights): void {
  if (tenants === null) return;
  throw new MirrorError(message('owner-needed'), {
    ...{ actor: 'guard', code: 'not-allowed', retry: 'never' },
    remedy: message('owner-needed.remedy'),
  });
}
