/**
 * Every key that the daemon keeps in Redis (BullMQ's own stand under `{clinic-mirror}:` beside them).
 *
 * | key                                  | type   | lifetime          | writer            | reader                |
 * |--------------------------------------|--------|-------------------|-------------------|-----------------------|
 * | `cm:{T}:links:<target>`              | hash   | target's          | lane, planner     | planner, lane         |
 * | `cm:{T}:links:<target>:<gen>:<n>`    | hash   | target's          | lane, planner     | planner, lane         |
 * | `cm:{T}:drifted:<target>`            | set    | target's          | audit             | audit, status         |
 * | `cm:{T}:unseen:<target>`             | zset   | until read back   | lane              | audit                 |
 * | `cm:{T}:unanswered:<target>`         | zset   | ten minutes       | lane              | lane                  |
 * | `cm:{T}:taken-out:<target>`          | set    | until made again  | lane              | lane                  |
 * | `cm:{T}:outbox:<target>`             | hash   | until done        | planner, lane     | lane, status          |
 * | `cm:{T}:outbox-due:<target>`         | zset   | until done        | planner, lane     | lane                  |
 * | `cm:{T}:outbox-failing:<target>`      | zset   | until done        | lane              | status                |
 * | `cm:{T}:target:<target>`             | hash   | target's          | planner, lane     | status                |
 * | `cm:{T}:misses:<stream>`             | hash   | seven days        | planner           | planner               |
 * | `cm:{T}:restorations:<target>:<day>`  | hash   | two days          | audit             | audit, planner        |
 * | `cm:{T}:configuration`               | hash   | tenant's          | planner, lane     | planner, lane, status |
 * | `cm:{T}:removed`                     | hash   | until released    | release           | release, status       |
 * | `cm:{T}:holds`                       | hash   | until expiry      | planner, operator | planner, status       |
 * | `cm:{T}:clinic-tenant`               | string | for ever          | login, planner    | whoever asks the clinic |
 * | `cm:{T}:runs`                        | list   | last 50           | planner           | status                |
 * | `cm:{T}:journal:<run>`                | hash   | retention         | lane              | undo                  |
 * | `cm:{T}:journals`                    | zset   | retention         | lane              | undo                  |
 * | `cm:{T}:pins:<target>`               | string | until expiry      | undo, planner     | planner               |
 * | `cm:{T}:credential:<connection>`     | hash   | connection's      | oauth             | oauth                 |
 * | `cm:{login}:<hash of state>`         | string | ten minutes       | login             | callback, once        |
 * | `cm:{login}:login-link:<ticket hash>` | string | as its link       | login             | the link's page       |
 * | `cm:{T}:login-links`                 | hash   | until opened, withdrawn or expired | login, operator | the link's page, operator |
 * | `cm:{T}:subscriptions`               | hash   | target's          | subscriptions' upkeep| upkeep, status        |
 * | `cm:{subscription-<id>}:subscription` | string | subscription's    | subscriptions' upkeep | receiver, upkeep      |
 * | `cm:{T}:reminder:<id>`               | hash   | retention         | planner, sender   | sender, operator      |
 * | `cm:{T}:reminder-claim:<id>`         | string | two minutes       | sender            | sender                |
 * | `cm:{T}:reminders-open`              | zset   | until settled     | planner, sender   | planner, status       |
 * | `cm:{T}:reminders-settled`           | zset   | retention         | planner, sender   | operator              |
 * | `cm:{T}:reminders-of:<appointment>`  | set    | retention         | planner           | operator              |
 * | `cm:{T}:reminder-counts`             | hash   | for ever          | planner, sender   | metrics               |
 * | `cm:{T}:reminders-hour:<hour>`       | string | two hours         | sender            | sender                |
 * | `cm:{T}:reminder-report:<reference>` | string | retention         | callbacks         | operator              |
 * | `cm:{T}:reminders-told`              | zset   | appointment's     | sender, planner   | planner               |
 * | `cm:{T}:reminders-order`             | string | for ever          | sender            | sender                |
 * | `cm:{T}:reminders-wrong`             | hash   | until it ends     | planner, sender   | planner, status       |
 * | `cm:{T}:reminder-channel-closed:<channel>` | string | until reopened | sender        | sender, status        |
 * | `cm:{answer-H}:answer-link`          | string | retention         | sender            | answers               |
 * | `cm:{T}:answer-claim:<id>`           | string | two minutes       | answers           | answers               |
 * | `cm:{T}:answers-minute:<minute>:<id>` | string | two minutes      | answers           | answers               |
 * | `cm:{T}:feed:<target>`               | hash   | target's          | lane              | lane, readers of feeds |
 * | `cm:{T}:feed-access:<target>`        | hash   | until withdrawn   | operator, readers of feeds | the same     |
 * | `cm:{feed-H}:feed-token`             | string | until withdrawn   | operator          | readers of feeds      |
 * | `cm:{feed-H}:feed-minute:<minute>`   | string | two minutes       | readers of feeds  | readers of feeds      |
 * | `cm:{T}:opt-in:<hash of message>`    | string | 800 days          | callbacks         | callbacks             |
 * | `cm:{T}:opt-outs`                    | hash   | for ever          | callbacks, operator | sender              |
 * | `cm:{T}:tombstones`                | hash   | for ever          | forget            | planner               |
 * | `cm:{T}:receipts`                  | hash   | for ever          | forget            | operator              |
 * | `cm:{T}:trigger-readings`            | hash   | endpoint's        | triggers          | triggers, status      |
 * | `cm:{T}:triggers-known:<endpoint>/<event>` | zset | 90 days after its document | triggers | triggers          |
 * | `cm:{T}:triggers-appointments:<endpoint>/<event>` | hash | until the appointment is over | triggers | triggers |
 * | `cm:{T}:triggers-waiting:<endpoint>/<event>` | hash | until taken    | triggers          | triggers, status      |
 * | `cm:{T}:trigger-endpoint:<endpoint>` | hash   | endpoint's        | triggers, operator | triggers, status     |
 * | `cm:{T}:trigger-counts`              | hash   | for ever          | triggers          | status, metrics       |
 * | `cm:{T}:protection`                 | hash   | for ever          | planner, operator | planner, sender       |
 * | `cm:{S}:epoch`                       | hash   | for ever          | whoever decides   | whoever decides       |
 * | `cm:{S}:writes`                      | hash   | for ever          | push              | push, pull            |
 * | `cm:{clinic-mirror}:removed-tenants` | hash   | until released    | release           | release, status       |
 * | `cm:{clinic-mirror}:alerts`          | hash   | while configured  | alerts            | alerts, status        |
 * | `cm:{clinic-mirror}:certificates`    | hash   | seven days        | certificates      | status                |
 * | `cm:{clinic-mirror}:processes`       | hash   | 15 minutes after a death | every process | every process      |
 * | `cm:{clinic-mirror}:reloads`         | hash   | while files are refused | reload      | status                |
 * | `cm:{clinic-mirror}:managed-tenants` | hash   | until removed     | operator          | whoever is configured |
 * | `cm:{clinic-mirror}:managed-revisions` | hash | for ever          | operator          | whoever is configured |
 * | `cm:{clinic-mirror}:audit-log`       | hash   | for ever          | audit log         | audit log             |
 * | `cm:{clinic-mirror}:session:<hash>`  | string | idle time         | sign-in, pages    | pages, API            |
 * | `cm:{clinic-mirror}:sessions-era:<hash of account>` | string | longest session | "sign out everywhere" | pages, API  |
 * | `cm:{clinic-mirror}:sign-in-link:<ticket hash>` | string | an hour   | daemon, operator  | sign-in, once         |
 * | `cm:{clinic-mirror}:sign-in-attempts:<who>` | string | quarter of an hour | sign-in      | sign-in               |
 * | `cm:{requests-<who>}:requests`       | string | one minute        | pages, API        | pages, API            |
 * | `cm:{clinic-mirror}:passphrase`      | string | for ever          | sign-in           | sign-in               |
 * | `cm:{clinic-mirror}:known-accounts`  | hash   | until released by a command | sign-in | sign-in               |
 * | `cm:{clinic-mirror}:access-tokens`   | hash   | until revoked or expired | operator   | pages, API            |
 * | `cm:{T}:approvals`                   | hash   | until expiry      | operator          | operator, status      |
 * | `cm:{T}:document:<kind>:<id>`        | string | an hour           | operator          | operator              |
 * | `cm:{T}:documents:<kind>`            | zset   | an hour           | operator          | operator              |
 * | `cm:{T}:lease:<name>`                | string | lease time        | its holder        | every fenced write    |
 * | `cm:{T}:lease-waiting:<name>`        | hash   | ten seconds       | leases            | leases                |
 * | `cm:{T}:fence:<name>`                | string | for ever          | leases            | leases                |
 * | `cm:{outage-H}:outage`               | hash   | a day             | push, pull, audit | push, pull            |
 * | `cm:{outage-H}:outage:ended`         | string | five minutes      | push, pull        | push, pull            |
 * | `cm:{clinic-mirror}:outages`         | set    | while a host fails | push, pull       | status                |
 * | `cm:{B}:budget`                      | hash   | an hour           | budget            | budget                |
 * | `cm:{B}:budget:waiting`              | hash   | until granted     | budget            | budget                |
 * | `cm:{B}:budget:shares`               | hash   | while some wait   | budget            | budget                |
 * | `cm:{B}:budget:refused`              | zset   | one minute        | budget            | budget                |
 * | `cm:{B}:budget:used`                 | hash   | two days          | budget            | status                |
 *
 * `T` is the tenant id and the hash tag, so that all keys of one tenant live on one node of a Redis Cluster; `B` names a
 * shared budget, `S` a part of the state that is lost or kept together (`clinic-mirror`; on a cluster one for each master), `H` is the hash of
 * an address in a reminder, or of a feed. No value holds patient data or a secret in clear: items and credentials are sealed.
 * "Target's", "connection's" and "tenant's" last until that is taken out of the configuration and `removed.keepDays` have passed
 * (`jobs/release.ts`); so does what is kept for ever, but for {@link KEPT_KINDS}.
 */
function tenantKey(tenant: string, ...parts: readonly (string | number)[]): string {
  return ['cm', `{${tenant}}`, ...parts].join(':');
}

/** Names of the keys; arguments are ids from the configuration. */
export const keys = {
  linksMeta: (tenant: string, target: string) => tenantKey(tenant, 'links', target),
  linksBucket: (tenant: string, target: string, generation: number, bucket: number) =>
    tenantKey(tenant, 'links', target, generation, bucket),
  drifted: (tenant: string, target: string) => tenantKey(tenant, 'drifted', target),
  unseen: (tenant: string, target: string) => tenantKey(tenant, 'unseen', target),
  unanswered: (tenant: string, target: string) => tenantKey(tenant, 'unanswered', target),
  takenOut: (tenant: string, target: string) => tenantKey(tenant, 'taken-out', target),
  outbox: (tenant: string, target: string) => tenantKey(tenant, 'outbox', target),
  outboxDue: (tenant: string, target: string) => tenantKey(tenant, 'outbox-due', target),
  outboxFailing: (tenant: string, target: string) => tenantKey(tenant, 'outbox-failing', target),
  target: (tenant: string, target: string) => tenantKey(tenant, 'target', target),
  misses: (tenant: string, stream: string) => tenantKey(tenant, 'misses', stream),
  restorations: (tenant: string, target: string, day: number) => tenantKey(tenant, 'restorations', target, day),
  configuration: (tenant: string) => tenantKey(tenant, 'configuration'),
  removed: (tenant: string) => tenantKey(tenant, 'removed'),
  holds: (tenant: string) => tenantKey(tenant, 'holds'),
  clinicTenant: (tenant: string) => tenantKey(tenant, 'clinic-tenant'),
  runs: (tenant: string) => tenantKey(tenant, 'runs'),
  journal: (tenant: string, run: string) => tenantKey(tenant, 'journal', run),
  journals: (tenant: string) => tenantKey(tenant, 'journals'),
  pins: (tenant: string, target: string) => tenantKey(tenant, 'pins', target),
  credential: (tenant: string, connection: string) => tenantKey(tenant, 'credential', connection),
  subscriptions: (tenant: string) => tenantKey(tenant, 'subscriptions'),
  subscription: (id: string) => `cm:{subscription-${id}}:subscription`,
  login: (state: string) => `cm:{login}:${state}`,
  loginLinks: (tenant: string) => tenantKey(tenant, 'login-links'),
  loginLink: (ticket: string) => `cm:{login}:login-link:${ticket}`,
  reminder: (tenant: string, id: string) => tenantKey(tenant, 'reminder', id),
  reminderClaim: (tenant: string, id: string) => tenantKey(tenant, 'reminder-claim', id),
  remindersOpen: (tenant: string) => tenantKey(tenant, 'reminders-open'),
  remindersSettled: (tenant: string) => tenantKey(tenant, 'reminders-settled'),
  remindersOf: (tenant: string, appointment: string) => tenantKey(tenant, 'reminders-of', appointment),
  remindersTold: (tenant: string) => tenantKey(tenant, 'reminders-told'),
  remindersOrder: (tenant: string) => tenantKey(tenant, 'reminders-order'),
  remindersWrong: (tenant: string) => tenantKey(tenant, 'reminders-wrong'),
  reminderCounts: (tenant: string) => tenantKey(tenant, 'reminder-counts'),
  remindersHour: (tenant: string, hour: number) => tenantKey(tenant, 'reminders-hour', hour),
  reminderReport: (tenant: string, reference: string) => tenantKey(tenant, 'reminder-report', reference),
  reminderChannelClosed: (tenant: string, channel: string) => tenantKey(tenant, 'reminder-channel-closed', channel),
  answerLink: (hash: string) => `cm:{answer-${hash}}:answer-link`,
  answerClaim: (tenant: string, id: string) => tenantKey(tenant, 'answer-claim', id),
  answersMinute: (tenant: string, minute: number, id: string) => tenantKey(tenant, 'answers-minute', minute, id),
  tombstones: (tenant: string) => tenantKey(tenant, 'tombstones'),
  receipts: (tenant: string) => tenantKey(tenant, 'receipts'),
  triggerReadings: (tenant: string) => tenantKey(tenant, 'trigger-readings'),
  triggersKnown: (tenant: string, place: string) => tenantKey(tenant, 'triggers-known', place),
  triggersAppointments: (tenant: string, place: string) => tenantKey(tenant, 'triggers-appointments', place),
  triggersWaiting: (tenant: string, place: string) => tenantKey(tenant, 'triggers-waiting', place),
  triggerEndpoint: (tenant: string, endpoint: string) => tenantKey(tenant, 'trigger-endpoint', endpoint),
  triggerCounts: (tenant: string) => tenantKey(tenant, 'trigger-counts'),
  feed: (tenant: string, target: string) => tenantKey(tenant, 'feed', target),
  feedAccess: (tenant: string, target: string) => tenantKey(tenant, 'feed-access', target),
  feedToken: (hash: string) => `cm:{feed-${hash}}:feed-token`,
  feedMinute: (name: string, minute: number) => `cm:{feed-${name}}:feed-minute:${minute}`,
  optIn: (tenant: string, message: string) => tenantKey(tenant, 'opt-in', message),
  optOuts: (tenant: string) => tenantKey(tenant, 'opt-outs'),
  protection: (tenant: string) => tenantKey(tenant, 'protection'),
  epoch: (shard: number) => `cm:${shardTag(shard)}:epoch`,
  writes: (shard: number) => `cm:${shardTag(shard)}:writes`,
  removedTenants: () => `cm:${QUEUE_PREFIX}:removed-tenants`,
  alerts: () => `cm:${QUEUE_PREFIX}:alerts`,
  certificates: () => `cm:${QUEUE_PREFIX}:certificates`,
  processes: () => `cm:${QUEUE_PREFIX}:processes`,
  reloads: () => `cm:${QUEUE_PREFIX}:reloads`,
  managedTenants: () => `cm:${QUEUE_PREFIX}:managed-tenants`,
  managedRevisions: () => `cm:${QUEUE_PREFIX}:managed-revisions`,
  auditLog: () => `cm:${QUEUE_PREFIX}:audit-log`,
  session: (hash: string) => `cm:${QUEUE_PREFIX}:session:${hash}`,
  sessionsEra: (account: string) => `cm:${QUEUE_PREFIX}:sessions-era:${account}`,
  signInLink: (ticket: string) => `cm:${QUEUE_PREFIX}:sign-in-link:${ticket}`,
  signInAttempts: (who: string) => `cm:${QUEUE_PREFIX}:sign-in-attempts:${who}`,
  /** Each on a master of its own, of a cluster: they are asked with every request. */
  requests: (who: string) => `cm:{requests-${who}}:requests`,
  passphrase: () => `cm:${QUEUE_PREFIX}:passphrase`,
  knownAccounts: () => `cm:${QUEUE_PREFIX}:known-accounts`,
  accessTokens: () => `cm:${QUEUE_PREFIX}:access-tokens`,
  approvals: (tenant: string) => tenantKey(tenant, 'approvals'),
  document: (tenant: string, kind: string, id: string) => tenantKey(tenant, 'document', kind, id),
  documents: (tenant: string, kind: string) => tenantKey(tenant, 'documents', kind),
  lease: (tenant: string, name: string) => tenantKey(tenant, 'lease', name),
  leaseWaiting: (tenant: string, name: string) => tenantKey(tenant, 'lease-waiting', name),
  fence: (tenant: string, name: string) => tenantKey(tenant, 'fence', name),
  outage: (host: string) => {
    const waiting = `cm:{outage-${host}}:outage`;
    return { waiting, ended: `${waiting}:ended` };
  },
  outages: () => `cm:${QUEUE_PREFIX}:outages`,
  budget: (name: string) => {
    const budget = `cm:{budget-${name}}:budget`;
    return {
      budget,
      waiting: `${budget}:waiting`,
      shares: `${budget}:shares`,
      refused: `${budget}:refused`,
      used: `${budget}:used`,
    };
  },
} as const;

/** Prefix of BullMQ's keys: one hash tag, so that its scripts work on a Redis Cluster. */
export const QUEUE_PREFIX = '{clinic-mirror}';

/** One hash tag for each number: the first is that of the queues. */
function shardTag(shard: number): string {
  return shard === 0 ? QUEUE_PREFIX : `{clinic-mirror-${shard}}`;
}

/** Kinds of keys that go when their target was removed; its name is the part after the kind. The first tells that links can be trusted. */
export const TARGET_KINDS = [
  'target',
  'links',
  'drifted',
  'unseen',
  'unanswered',
  'taken-out',
  'outbox',
  'outbox-due',
  'outbox-failing',
  'restorations',
  'pins',
  'feed',
  'feed-access',
] as const;
/** The same of a connection. */
export const CONNECTION_KINDS = ['credential'] as const;
/** Kinds that go with their tenant, beside those of its targets and connections. */
export const TENANT_KINDS = [
  'configuration',
  'misses',
  'removed',
  'holds',
  'approvals',
  'login-links',
  'document',
  'documents',
  'clinic-tenant',
  'runs',
  'journal',
  'journals',
  'subscriptions',
  'reminder',
  'reminder-claim',
  'reminders-open',
  'reminders-settled',
  'reminders-of',
  'reminders-told',
  'reminders-order',
  'reminders-wrong',
  'reminder-counts',
  'reminders-hour',
  'reminder-report',
  'reminder-channel-closed',
  'answer-claim',
  'answers-minute',
  'trigger-readings',
  'triggers-known',
  'triggers-appointments',
  'triggers-waiting',
  'trigger-endpoint',
  'trigger-counts',
  'fence',
] as const;
/** Kinds that stay, whatever is removed: they protect people, or prove that they were. Leases and their lines end by themselves. */
export const KEPT_KINDS = [
  'tombstones',
  'receipts',
  'opt-outs',
  'opt-in',
  'protection',
  'lease',
  'lease-waiting',
] as const;
/** Kinds that are still read under the id of before when a tenant or a target was renamed (`formerly`). */
export const READ_UNDER_FORMER_IDS: ReadonlySet<string> = new Set([
  'pins',
  'journal',
  'journals',
  ...TENANT_KINDS.filter((kind) => /^(reminder|answer)/.test(kind)),
]);

/** What a key belongs to: a target or a connection, else the tenant itself. */
export interface KeyOwner {
  tenant: string;
  kind: string;
  /** Null: the tenant itself. */
  part: RemovablePart | null;
}

/** A target, or a connection: each may have the other's name. */
export type RemovablePart = `${'target' | 'connection'}/${string}`;

const KEY = /^cm:\{([^}]+)\}:([^:]+)(?::([^:]+))?/;

/** @returns null for a key that no tenant leaves behind */
export function ownerOfKey(key: string): KeyOwner | null {
  const [, tenant = '', kind = '', name = ''] = KEY.exec(key) ?? [];
  const isOf = (kinds: readonly string[]) => kinds.includes(kind);
  if (isOf(TARGET_KINDS)) return { tenant, kind, part: `target/${name}` };
  if (isOf(CONNECTION_KINDS)) return { tenant, kind, part: `connection/${name}` };
  return isOf(TENANT_KINDS) ? { tenant, kind, part: null } : null;
}

/** Pattern of all keys of a tenant, or of all tenants and more. */
export function keysOfTenant(tenant: string | null): string {
  return tenant === null ? 'cm:{*' : tenantKey(tenant, '*');
}
