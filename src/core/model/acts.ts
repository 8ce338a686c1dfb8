import { z } from 'zod';
import { message } from '../../messages/message.ts';
import { MirrorError } from './errors.ts';
import { instant } from './schemas.ts';

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

export const principal = z.object({
  /** `holder`: unidentified. `browser`: also attempts a sign-in. `daemon`: acts automatically. */
  kind: z
    .enum(['os-user', 'account', 'holder', 'browser', 'daemon'])
    .describe('`os-user`, `account` (administrator), `browser` (link), `holder` (token) or `daemon`'),
  /** Name in the operating system or at the identity provider. */
  name: z.string(),
  /** Distinguishes actors as far as the system can: `login:1001`, `uid:1001`, `account:<issuer>#<subject>`. */
  id: z.string(),
  /** Unverified name that the actor gave; null if none. */
  claimed: z.string().nullable(),
});
/** The actor of an action. */
export type Principal = z.infer<typeof principal>;

/** Facts of an action: numbers and names created by clinic-mirror. Patient data and free text are not allowed. */
export const actFacts = z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()]));
export type ActFacts = z.infer<typeof actFacts>;

/**
 * Progress of an action. `requested`: waits for a second approver. `refused`: did not begin. `begun`: possibly carried out. `done` and
 * `failed`: ended.
 */
const outcome = z.enum(['requested', 'refused', 'begun', 'done', 'failed']);
export type ActOutcome = z.infer<typeof outcome>;

export const auditEntry = z.object({
  chain: z.string(),
  /** From 1 on, without gaps. */
  sequence: z.number(),
  at: z.string().describe('RFC 3339, UTC'),
  previous: z.string().nullable().describe('MAC of the previous record; null for the first record of a chain'),
  /** An older record can have a verb that no longer exists. */
  verb: z.string(),
  /** Null for no tenant, or for all. */
  tenant: z.string().nullable(),
  who: principal,
  what: actFacts,
  /** Reason in the actor's words; null if none was given. */
  why: z.string().nullable(),
  outcome,
  /** Code of the error that ended or refused the action. */
  code: z.string().nullable(),
  act: z.number().nullable().describe('Number of the record that recorded the beginning of the action'),
});
/** A record of the audit log. */
export type AuditEntry = Omit<z.infer<typeof auditEntry>, 'verb'> & { verb: AuditVerb };
/** An audit record before the log adds its position and MAC. */
export type AuditDraft = Omit<AuditEntry, 'chain' | 'sequence' | 'at' | 'previous'>;

/** Action of one administrator that needs a second administrator's approval. */
export const approvalRequest = z.object({
  /** Keyed digest of the exact action: a repeated request has an equal id. */
  id: z.string(),
  verb: z.enum(ACT_VERBS),
  what: actFacts,
  by: principal,
  at: instant,
  expiresAt: instant,
});
export type ApprovalRequest = z.infer<typeof approvalRequest>;

/** Access levels of administrators, least first: view; decide, sync and connect; change access and do irreversible actions. */
export const ACCESS_LEVELS = ['viewer', 'operator', 'owner'] as const;
/** An access level. Each level includes the levels before it. */
export type AccessLevel = (typeof ACCESS_LEVELS)[number];

export const accessToken = z.object({
  name: z.string(),
  level: z.enum(ACCESS_LEVELS),
  tenants: z.array(z.string()).nullable().describe('Null: every tenant'),
  by: z.string().describe('Creator'),
  madeAt: instant,
  endsAt: instant,
});
/** API token of a program. */
export type AccessToken = z.infer<typeof accessToken>;

export const loginLink = z.object({
  /** Public id of the link; gives no access. */
  id: z.string(),
  tenant: z.string(),
  connection: z.string(),
  by: z.string().describe('Creator'),
  madeAt: instant,
  endsAt: instant,
});
/** Single-use link for starting an authorization in any browser. */
export type LoginLink = z.infer<typeof loginLink>;

const auditLogHead = z.object({ sequence: z.number(), mac: z.string(), at: instant });
/** End of an audit chain, as stored in Redis. */
export type AuditLogHead = z.infer<typeof auditLogHead>;

/** Result of a check of the audit log. */
export const auditLogCheck = z.object({
  chains: z.array(
    z.object({
      chain: z.string(),
      /** Numbers of the first and last record; 0 without records. */
      first: z.number(),
      last: z.number(),
      entries: z.number(),
      /** MAC of the last record; a copy outside clinic-mirror later proves an unchanged end. */
      mac: z.string(),
      /** End of the chain in Redis; null if unknown. */
      head: auditLogHead.nullable(),
    }),
  ),
  faults: z.array(
    z.object({
      chain: z.string(),
      /** First and last affected record; both null: the whole chain. */
      from: z.number().nullable(),
      to: z.number().nullable(),
      /**
       * `changed`: the MAC does not match the content; `misplaced`: a different record or chain; `unlinked`: the record does not follow its
       * predecessor; `missing`: records between others, or before all others, are missing; `cut-off`: the last records are missing compared
       * with Redis; `replaced`: the last record differs from Redis; `absent`: Redis knows the chain, but the directory does not contain the
       * chain.
       */
      fault: z.enum(['changed', 'misplaced', 'unlinked', 'missing', 'cut-off', 'replaced', 'absent']),
    }),
  ),
});
export type AuditLogCheck = z.infer<typeof auditLogCheck>;
/** Fault in the log at one position. */
export type AuditLogFault = AuditLogCheck['faults'][number];
export type SeenChain = AuditLogCheck['chains'][number];

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
