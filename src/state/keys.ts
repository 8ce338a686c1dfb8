/**
 * Keys of the daemon in Redis. BullMQ's keys have the prefix `{clinic-mirror}:`.
 *
 * | key                                  | type   | lifetime          | writer            | reader                |
 * |--------------------------------------|--------|-------------------|-------------------|-----------------------|
 * | `cm:{T}:links:<target>`              | hash   | target's          | lane, planner     | planner, lane         |
 * | `cm:{T}:links:<target>:<gen>:<n>`    | hash   | target's          | lane, planner     | planner, lane         |
 * | `cm:{T}:drifted:<target>`            | set    | target's          | audit             | audit, status         |
 * | `cm:{T}:unseen:<target>`             | zset   | until read back   | lane              | audit                 |
 * | `cm:{T}:unanswered:<target>`         | zset   | ten minutes       | lane              | lane                  |
 * | `cm:{T}:taken-out:<target>`          | set    | until re-created  | lane              | lane                  |
 * | `cm:{T}:recent-objects:<target>`      | hash   | a day             | planner, lane     | planner, lane         |
 * | `cm:{T}:outbox:<target>`             | hash   | until done        | planner, lane     | lane, status          |
 * | `cm:{T}:outbox-due:<target>`         | zset   | until done        | planner, lane     | lane                  |
 * | `cm:{T}:outbox-failing:<target>`      | zset   | until done        | lane              | status                |
 * | `cm:{T}:target:<target>`             | hash   | target's          | planner, lane     | status                |
 * | `cm:{T}:misses:<stream>`             | hash   | seven days        | planner           | planner               |
 * | `cm:{T}:restorations:<target>:<day>`  | hash   | two days          | audit             | audit, planner        |
 * | `cm:{T}:configuration`               | hash   | tenant's          | planner, lane     | planner, lane, status |
 * | `cm:{T}:removed`                     | hash   | until released    | release           | release, status       |
 * | `cm:{T}:storage`                     | hash   | a day after a count | release, planner | planner, status      |
 * | `cm:{T}:upkeep`                      | hash   | permanent         | release           | retention page        |
 * | `cm:{T}:holds`                       | hash   | until expiry      | planner, operator | planner, status       |
 * | `cm:{T}:clinic-tenant`               | string | permanent         | oauth, planner    | clients of the clinic |
 * | `cm:{T}:runs`                        | list   | last 50           | planner           | status                |
 * | `cm:{T}:journal:<run>`                | hash   | retention         | lane              | undo                  |
 * | `cm:{T}:journals`                    | zset   | retention         | lane              | undo                  |
 * | `cm:{T}:pins:<target>`               | string | until expiry      | undo, planner     | planner               |
 * | `cm:{T}:credential:<connection>`     | hash   | connection's      | oauth             | oauth                 |
 * | `cm:{login}:<hash of state>`         | string | ten minutes       | oauth             | callback, once        |
 * | `cm:{login}:login-link:<ticket hash>` | string | as its link       | oauth             | the link's page       |
 * | `cm:{T}:login-links`                 | hash   | until opened, withdrawn or expired | oauth, operator | the link's page, operator |
 * | `cm:{T}:subscriptions`               | hash   | target's          | subscriptions     | subscriptions, status |
 * | `cm:{subscription-<id>}:subscription` | string | subscription's    | subscriptions | receiver, subscriptions      |
 * | `cm:{T}:reminder:<id>`               | hash   | retention         | planner, sender   | sender, operator      |
 * | `cm:{T}:reminder-claim:<id>`         | string | two minutes       | sender            | sender                |
 * | `cm:{T}:reminders-open`              | zset   | until settled     | planner, sender   | planner, status       |
 * | `cm:{T}:reminders-settled`           | zset   | retention         | planner, sender   | operator              |
 * | `cm:{T}:reminders-of:<appointment>`  | set    | retention         | planner           | operator              |
 * | `cm:{T}:reminder-counts`             | hash   | permanent         | planner, sender   | metrics               |
 * | `cm:{T}:reminders-hour:<hour>`       | string | two hours         | sender            | sender                |
 * | `cm:{T}:reminder-report:<reference>` | string | retention         | callbacks         | operator              |
 * | `cm:{T}:reminders-told`              | zset   | appointment's     | sender, planner   | planner               |
 * | `cm:{T}:reminders-known`             | hash   | appointment's     | planner           | planner               |
 * | `cm:{T}:reminders-recipient:<hash>`  | set    | four days         | planner           | sender                |
 * | `cm:{T}:reminders-corrected:<hash>`  | zset   | an hour           | sender            | sender                |
 * | `cm:{T}:reminders-order`             | string | permanent         | sender            | sender                |
 * | `cm:{T}:reminders-wrong`             | hash   | until it ends     | planner, sender   | planner, status       |
 * | `cm:{T}:reminder-replies`            | hash   | three days        | callbacks         | operator, status      |
 * | `cm:{T}:reminder-channel-closed:<channel>` | string | until reopened | sender        | sender, status        |
 * | `cm:{answer-H}:answer-link`          | string | retention         | sender            | answers               |
 * | `cm:{T}:answer-claim:<id>`           | string | two minutes       | answers           | answers               |
 * | `cm:{T}:answers-minute:<minute>:<id>` | string | two minutes      | answers           | answers               |
 * | `cm:{T}:feed:<target>`               | hash   | target's          | lane              | lane, readers of feeds |
 * | `cm:{T}:feed-access:<target>`        | hash   | until withdrawn   | operator, readers of feeds | operator, readers of feeds |
 * | `cm:{feed-H}:feed-token`             | string | until withdrawn   | operator          | readers of feeds      |
 * | `cm:{feed-H}:feed-minute:<minute>`   | string | two minutes       | readers of feeds  | readers of feeds      |
 * | `cm:{T}:opt-in:<hash of message>`    | string | 800 days          | callbacks         | callbacks             |
 * | `cm:{T}:opt-outs`                    | hash   | permanent         | callbacks, operator | sender              |
 * | `cm:{T}:tombstones`                | hash   | permanent         | forget            | planner               |
 * | `cm:{T}:receipts`                  | hash   | permanent         | forget            | operator              |
 * | `cm:{T}:trigger-readings`            | hash   | endpoint's        | triggers          | triggers, status      |
 * | `cm:{T}:triggers-known:<endpoint>/<event>` | zset | 90 days after its document | triggers | triggers          |
 * | `cm:{T}:triggers-appointments:<endpoint>/<event>` | hash | until the appointment is over | triggers | triggers |
 * | `cm:{T}:triggers-waiting:<endpoint>/<event>` | hash | until taken    | triggers          | triggers, status      |
 * | `cm:{T}:trigger-endpoint:<endpoint>` | hash   | endpoint's        | triggers, operator | triggers, status     |
 * | `cm:{T}:trigger-counts`              | hash   | permanent         | triggers          | status, metrics       |
 * | `cm:{T}:protection`                 | hash   | permanent         | planner, operator | planner, sender       |
 * | `cm:{S}:epoch`                       | hash   | permanent         | all processes     | all processes         |
 * | `cm:{S}:probe`                       | string | ten seconds       | all processes     | none                  |
 * | `cm:{S}:writes`                      | hash   | permanent         | push              | push, pull            |
 * | `cm:{clinic-mirror}:daemon-seen`     | string | a day             | every daemon      | status                |
 * | `cm:{clinic-mirror}:removed-tenants` | hash   | until released    | release           | release, status       |
 * | `cm:{clinic-mirror}:alerts`          | hash   | while configured  | alerts            | alerts, status        |
 * | `cm:{clinic-mirror}:certificates`    | hash   | seven days        | certificates      | status                |
 * | `cm:{clinic-mirror}:processes`       | hash   | 15 minutes after a death | every process | every process      |
 * | `cm:{clinic-mirror}:damaged`         | hash   | a day             | who finds damage  | status                |
 * | `cm:{clinic-mirror}:reloads`         | hash   | while files are refused | reload      | status                |
 * | `cm:{clinic-mirror}:managed-tenants` | hash   | until removed     | operator          | all processes |
 * | `cm:{clinic-mirror}:managed-revisions` | hash | permanent         | operator          | all processes |
 * | `cm:{clinic-mirror}:audit-log`       | hash   | permanent         | audit log         | audit log             |
 * | `cm:{clinic-mirror}:session:<hash>`  | string | idle time         | sign-in, pages    | pages, API            |
 * | `cm:{clinic-mirror}:sessions-of:<hash of account>` | set | longest session | sign-in        | list of own sessions  |
 * | `cm:{clinic-mirror}:sessions-era:<hash of account>` | string | longest session | "sign out everywhere" | pages, API  |
 * | `cm:{clinic-mirror}:sign-in-link:<ticket hash>` | string | an hour   | daemon, operator  | sign-in, once         |
 * | `cm:{clinic-mirror}:sign-in-attempts:<who>` | string | quarter of an hour | sign-in      | sign-in               |
 * | `cm:{requests-<who>}:requests`       | string | one minute        | pages, API        | pages, API            |
 * | `cm:{clinic-mirror}:passphrase`      | string | permanent         | sign-in           | sign-in               |
 * | `cm:{clinic-mirror}:known-accounts`  | hash   | until released by a command | sign-in | sign-in               |
 * | `cm:{clinic-mirror}:access-tokens`   | hash   | until revoked or expired | operator   | pages, API            |
 * | `cm:{T}:approvals`                   | hash   | until expiry      | operator          | operator, status      |
 * | `cm:{T}:document:<kind>:<id>`        | string | an hour           | operator          | operator              |
 * | `cm:{T}:documents:<kind>`            | zset   | an hour           | operator          | operator              |
 * | `cm:{T}:lease:<name>`                | string | lease time        | its holder        | every fenced write    |
 * | `cm:{T}:lease-waiting:<name>`        | hash   | ten seconds       | leases            | leases                |
 * | `cm:{T}:fence:<name>`                | string | permanent         | leases            | leases                |
 * | `cm:{outage-H}:outage`               | hash   | a day             | push, pull, audit | push, pull            |
 * | `cm:{outage-H}:outage:ended`         | string | five minutes      | push, pull        | push, pull            |
 * | `cm:{clinic-mirror}:outages`         | set    | while a host fails | push, pull       | status                |
 * | `cm:{B}:budget`                      | hash   | an hour           | budget            | budget                |
 * | `cm:{B}:budget:waiting`              | hash   | until granted     | budget            | budget                |
 * | `cm:{B}:budget:shares`               | hash   | while some wait   | budget            | budget                |
 * | `cm:{B}:budget:refused`              | zset   | one minute        | budget            | budget                |
 * | `cm:{B}:budget:used`                 | hash   | two days          | budget            | status                |
 *
 * `T` is the tenant id and the hash tag, so that all keys of one tenant are on one node of a Redis Cluster. `B` names a shared budget. `S` is a
 * part of the state that is lost or kept together (`clinic-mirror`; on a cluster one for each master). `H` is the hash of a host, an answer link's or
 * a feed's token. No value contains patient data or a secret in clear: items and credentials are encrypted. Keys with the lifetime "target's",
 * "connection's" or "tenant's" exist until their owner was removed from the configuration and `removed.keepDays` have passed
 * (`jobs/release.ts`). Permanent keys are released in this way too, except for keys with the owner `nobody`.
 */
function tenantKey(tenant: string, ...parts: readonly Part[]): string {
  return ['cm', `{${tenant}}`, ...parts].join(':');
}

type Part = string | number;

/**
 * Owner of a tenant's keys, whose removal releases the keys: the target or connection named after the kind, or the tenant. `nobody`: never
 * released, because the keys protect patients or prove the protection; leases and their queues expire.
 */
type Owner = 'target' | 'connection' | 'tenant' | 'nobody';

/** Declares the keys of a kind. The returned function's arguments after the tenant are the parts of the key after its kind. */
function owned<Parts extends readonly Part[]>(owner: Owner, kind: string) {
  return Object.assign((tenant: string, ...parts: Parts) => tenantKey(tenant, kind, ...parts), { owner, kind });
}

const ofTarget = (kind: string) => owned<[target: string]>('target', kind);
const ofTenant = (kind: string) => owned<[]>('tenant', kind);
const ofTenantEach = (kind: string) => owned<[id: string]>('tenant', kind);

/** Declares a key of the whole installation, once or per id. */
const shared = (kind: string) => () => `cm:${QUEUE_PREFIX}:${kind}`;
const sharedEach = (kind: string) => (id: string) => `cm:${QUEUE_PREFIX}:${kind}:${id}`;

/** Prefix of BullMQ's keys: one hash tag, as BullMQ's scripts require on a Redis Cluster. */
export const QUEUE_PREFIX = '{clinic-mirror}';

/** Key functions; arguments are ids from the configuration. */
export const keys = {
  linksMeta: ofTarget('links'),
  linksBucket: owned<[target: string, generation: number, bucket: number]>('target', 'links'),
  drifted: ofTarget('drifted'),
  unseen: ofTarget('unseen'),
  unanswered: ofTarget('unanswered'),
  takenOut: ofTarget('taken-out'),
  recentObjects: ofTarget('recent-objects'),
  outbox: ofTarget('outbox'),
  outboxDue: ofTarget('outbox-due'),
  outboxFailing: ofTarget('outbox-failing'),
  target: ofTarget('target'),
  misses: ofTenantEach('misses'),
  restorations: owned<[target: string, day: number]>('target', 'restorations'),
  configuration: ofTenant('configuration'),
  removed: ofTenant('removed'),
  storage: ofTenant('storage'),
  upkeep: ofTenant('upkeep'),
  holds: ofTenant('holds'),
  clinicTenant: ofTenant('clinic-tenant'),
  runs: ofTenant('runs'),
  journal: ofTenantEach('journal'),
  journals: ofTenant('journals'),
  pins: ofTarget('pins'),
  credential: owned<[connection: string]>('connection', 'credential'),
  subscriptions: ofTenant('subscriptions'),
  subscription: (id: string) => `cm:{subscription-${id}}:subscription`,
  login: (state: string) => `cm:{login}:${state}`,
  loginLinks: ofTenant('login-links'),
  loginLink: (ticket: string) => `cm:{login}:login-link:${ticket}`,
  reminder: ofTenantEach('reminder'),
  reminderClaim: ofTenantEach('reminder-claim'),
  remindersOpen: ofTenant('reminders-open'),
  remindersSettled: ofTenant('reminders-settled'),
  remindersOf: ofTenantEach('reminders-of'),
  remindersTold: ofTenant('reminders-told'),
  remindersRecipient: ofTenantEach('reminders-recipient'),
  remindersCorrected: ofTenantEach('reminders-corrected'),
  remindersKnown: ofTenant('reminders-known'),
  remindersOrder: ofTenant('reminders-order'),
  remindersWrong: ofTenant('reminders-wrong'),
  reminderCounts: ofTenant('reminder-counts'),
  remindersHour: owned<[hour: number]>('tenant', 'reminders-hour'),
  reminderReport: ofTenantEach('reminder-report'),
  reminderReplies: ofTenant('reminder-replies'),
  reminderChannelClosed: ofTenantEach('reminder-channel-closed'),
  answerLink: (hash: string) => `cm:{answer-${hash}}:answer-link`,
  answerClaim: ofTenantEach('answer-claim'),
  answersMinute: owned<[minute: number, id: string]>('tenant', 'answers-minute'),
  tombstones: owned<[]>('nobody', 'tombstones'),
  receipts: owned<[]>('nobody', 'receipts'),
  triggerReadings: ofTenant('trigger-readings'),
  triggersKnown: ofTenantEach('triggers-known'),
  triggersAppointments: ofTenantEach('triggers-appointments'),
  triggersWaiting: ofTenantEach('triggers-waiting'),
  triggerEndpoint: ofTenantEach('trigger-endpoint'),
  triggerCounts: ofTenant('trigger-counts'),
  feed: ofTarget('feed'),
  feedAccess: ofTarget('feed-access'),
  feedToken: (hash: string) => `cm:{feed-${hash}}:feed-token`,
  feedMinute: (name: string, minute: number) => `cm:{feed-${name}}:feed-minute:${minute}`,
  optIn: owned<[message: string]>('nobody', 'opt-in'),
  optOuts: owned<[]>('nobody', 'opt-outs'),
  protection: owned<[]>('nobody', 'protection'),
  epoch: (shard: number) => `cm:${shardTag(shard)}:epoch`,
  writes: (shard: number) => `cm:${shardTag(shard)}:writes`,
  probe: (shard: number) => `cm:${shardTag(shard)}:probe`,
  daemonSeen: shared('daemon-seen'),
  removedTenants: shared('removed-tenants'),
  alerts: shared('alerts'),
  certificates: shared('certificates'),
  damaged: shared('damaged'),
  processes: shared('processes'),
  reloads: shared('reloads'),
  managedTenants: shared('managed-tenants'),
  managedRevisions: shared('managed-revisions'),
  auditLog: shared('audit-log'),
  session: sharedEach('session'),
  sessionsOf: sharedEach('sessions-of'),
  sessionsEra: sharedEach('sessions-era'),
  signInLink: sharedEach('sign-in-link'),
  signInAttempts: sharedEach('sign-in-attempts'),
  /** On a cluster, spread over masters: checked with every request. */
  requests: (who: string) => `cm:{requests-${who}}:requests`,
  passphrase: shared('passphrase'),
  knownAccounts: shared('known-accounts'),
  accessTokens: shared('access-tokens'),
  approvals: ofTenant('approvals'),
  document: owned<[kind: string, id: string]>('tenant', 'document'),
  documents: ofTenantEach('documents'),
  lease: owned<[name: string]>('nobody', 'lease'),
  leaseWaiting: owned<[name: string]>('nobody', 'lease-waiting'),
  fence: ofTenantEach('fence'),
  outage: (host: string) => {
    const waiting = `cm:{outage-${host}}:outage`;
    return { waiting, ended: `${waiting}:ended` };
  },
  outages: shared('outages'),
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

/** Returns the hash tag of a number: the first is the tag of the queues. */
function shardTag(shard: number): string {
  return shard === 0 ? QUEUE_PREFIX : `{clinic-mirror-${shard}}`;
}

/** Owners by kind, from the declarations. */
const OWNERS: ReadonlyMap<string, Owner> = new Map(
  Object.values(keys).flatMap((key) => ('owner' in key ? [[key.kind, key.owner] as const] : [])),
);

/** Kinds that are also read under former ids of a renamed tenant or target (`formerly`). */
export const READ_UNDER_FORMER_IDS: ReadonlySet<string> = new Set(
  [...OWNERS.keys()].filter((kind) => /^(pins|journals?|reminder|answer)/.test(kind)),
);

/** Owner of a key: a target or a connection, otherwise the tenant. */
export interface KeyOwner {
  tenant: string;
  kind: string;
  /** Null: the tenant. */
  part: RemovablePart | null;
}

/** Target or connection; the prefix separates equal names. */
export type RemovablePart = `${'target' | 'connection'}/${string}`;

const KEY = /^cm:\{([^}]+)\}:([^:]+)(?::([^:]+))?/;

/** @returns null for a key without a tenant: the installation also has leases, whose keys are like those of a tenant */
export function ownerOfKey(key: string): KeyOwner | null {
  const [, tenant = '', kind = '', name = ''] = KEY.exec(key) ?? [];
  if (`{${tenant}}` === QUEUE_PREFIX) return null;
  const owner = OWNERS.get(kind);
  if (owner === undefined || owner === 'nobody') return null;
  return { tenant, kind, part: owner === 'tenant' ? null : `${owner}/${name}` };
}

/** Returns the tenant in a key's hash tag; null for the installation's keys. Other hash tags are no ids of tenants. */
export function tenantOfKey(key: string): string | null {
  const [, tenant = ''] = /^cm:\{([^}]+)\}:/.exec(key) ?? [];
  return tenant === '' || `{${tenant}}` === QUEUE_PREFIX ? null : tenant;
}

/** Returns the pattern for keys of a tenant, or of all tenants and shared keys. */
export function keysOfTenant(tenant: string | null): string {
  return tenant === null ? 'cm:{*' : tenantKey(tenant, '*');
}
