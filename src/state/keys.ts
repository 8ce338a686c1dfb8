/**
 * Keys of the stores of this folder in Redis. Other modules declare theirs with {@link keyKinds}, each in a table of its own. BullMQ's keys
 * have the prefix `{clinic-mirror}:`.
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
 * | `cm:{T}:history:<target>`             | hash   | 32 days           | planner, lane     | history               |
 * | `cm:{T}:past-outages`                | zset   | 32 days           | push, pull        | history               |
 * | `cm:{T}:misses:<stream>`             | hash   | seven days        | planner           | planner               |
 * | `cm:{T}:restorations:<target>:<day>`  | hash   | two days          | audit             | audit, planner        |
 * | `cm:{T}:configuration`               | hash   | tenant's          | planner, lane     | planner, lane, status |
 * | `cm:{T}:removed`                     | hash   | until released    | release           | release, status       |
 * | `cm:{T}:storage`                     | hash   | a day after a count | release, planner | planner, status      |
 * | `cm:{T}:upkeep`                      | hash   | permanent         | release           | retention page        |
 * | `cm:{T}:holds`                       | hash   | until expiry      | planner, operator | planner, status       |
 * | `cm:{T}:runs`                        | list   | last 50           | planner           | status                |
 * | `cm:{T}:journal:<run>`                | hash   | retention         | lane              | undo                  |
 * | `cm:{T}:journals`                    | zset   | retention         | lane              | undo                  |
 * | `cm:{T}:pins:<target>`               | string | until expiry      | undo, planner     | planner               |
 * | `cm:{T}:credential:<connection>`     | hash   | connection's      | oauth             | oauth                 |
 * | `cm:{T}:subscriptions`               | hash   | target's          | subscriptions     | subscriptions, status |
 * | `cm:{subscription-<id>}:subscription` | string | subscription's    | subscriptions | receiver, subscriptions      |
 * | `cm:{T}:opt-in:<hash of message>`    | string | 800 days          | callbacks         | callbacks             |
 * | `cm:{T}:opt-outs`                    | hash   | permanent         | callbacks, operator | sender              |
 * | `cm:{T}:tombstones`                | hash   | permanent         | forget            | planner               |
 * | `cm:{T}:receipts`                  | hash   | permanent         | forget            | operator              |
 * | `cm:{T}:protection`                 | hash   | permanent         | planner, operator | planner, sender       |
 * | `cm:{S}:epoch`                       | hash   | permanent         | all processes     | all processes         |
 * | `cm:{S}:probe`                       | string | ten seconds       | all processes     | none                  |
 * | `cm:{S}:writes`                      | hash   | permanent         | push              | push, pull            |
 * | `cm:{clinic-mirror}:daemon-seen`     | string | a day             | every daemon      | status                |
 * | `cm:{clinic-mirror}:removed-tenants` | hash   | until released    | release           | release, status       |
 * | `cm:{clinic-mirror}:processes`       | hash   | 15 minutes after a death | every process | every process      |
 * | `cm:{clinic-mirror}:damaged`         | hash   | a day             | who finds damage  | status                |
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
 * `T` is the tenant id and the hash tag, so that all keys of one tenant are on one node of a Redis Cluster. `B` names a shared budget. `S`
 * is a part of the state that is lost or kept together (`clinic-mirror`; on a cluster one for each master). `H` is the hash of a host. No
 * value contains data of a person or a secret in clear: items and credentials are encrypted. Keys with the lifetime "target's",
 * "connection's" or "tenant's" exist until their owner was removed from the configuration and `removed.keepDays` have passed
 * (`tenant/release.ts`). Permanent keys are released in this way too, except for keys with the owner `none`.
 */
function tenantKey(tenant: string, ...parts: readonly Part[]): string {
  return ['cm', `{${tenant}}`, ...parts].join(':');
}

type Part = string | number;

/**
 * Owner of a tenant's keys, whose removal releases the keys: the target or connection named after the kind, or the tenant. `none`: never
 * released, because the keys protect persons or prove the protection; leases and their queues expire.
 */
type Owner = 'target' | 'connection' | 'tenant' | 'none';

/** What a declared kind of keys knows of itself, see {@link keyKinds}. */
interface KeyKind {
  owner: Owner;
  kind: string;
  isReadUnderFormerIds: boolean;
}

/**
 * Returns the declarations of keys with an owner. A returned function's arguments after the tenant are the parts of the key after its kind.
 * @param isReadUnderFormerIds whether the keys are also read under former ids of a renamed tenant or target (`formerly`)
 */
export function keyKinds({ isReadUnderFormerIds }: Pick<KeyKind, 'isReadUnderFormerIds'>) {
  function owned<Parts extends readonly Part[]>(owner: Owner, kind: string) {
    const described: KeyKind = { owner, kind, isReadUnderFormerIds };
    return Object.assign((tenant: string, ...parts: Parts) => tenantKey(tenant, kind, ...parts), described);
  }
  return {
    owned,
    ofTarget: (kind: string) => owned<[target: string]>('target', kind),
    ofTenant: (kind: string) => owned<[]>('tenant', kind),
    ofTenantEach: (kind: string) => owned<[id: string]>('tenant', kind),
  };
}

const { owned, ofTarget, ofTenant, ofTenantEach } = keyKinds({ isReadUnderFormerIds: false });
const renamed = keyKinds({ isReadUnderFormerIds: true });

/** Declares a key of the whole installation. */
export const ofInstallation = (kind: string) => () => `cm:${QUEUE_PREFIX}:${kind}`;
/** Declares keys of the whole installation, one per id. */
export const ofInstallationEach = (kind: string) => (id: string) => `cm:${QUEUE_PREFIX}:${kind}:${id}`;

/** Prefix of BullMQ's keys: one hash tag, as BullMQ's scripts require on a Redis Cluster. */
export const QUEUE_PREFIX = '{clinic-mirror}';

/** Key functions of the stores of this folder; arguments are ids from the configuration. */
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
  history: ofTarget('history'),
  pastOutages: ofTenant('past-outages'),
  misses: ofTenantEach('misses'),
  restorations: owned<[target: string, day: number]>('target', 'restorations'),
  configuration: ofTenant('configuration'),
  removed: ofTenant('removed'),
  storage: ofTenant('storage'),
  upkeep: ofTenant('upkeep'),
  holds: ofTenant('holds'),
  runs: ofTenant('runs'),
  journal: renamed.ofTenantEach('journal'),
  journals: renamed.ofTenant('journals'),
  pins: renamed.ofTarget('pins'),
  credential: owned<[connection: string]>('connection', 'credential'),
  subscriptions: ofTenant('subscriptions'),
  subscription: (id: string) => `cm:{subscription-${id}}:subscription`,
  tombstones: owned<[]>('none', 'tombstones'),
  receipts: owned<[]>('none', 'receipts'),
  optIn: owned<[message: string]>('none', 'opt-in'),
  optOuts: owned<[]>('none', 'opt-outs'),
  protection: owned<[]>('none', 'protection'),
  epoch: (shard: number) => `cm:${shardTag(shard)}:epoch`,
  writes: (shard: number) => `cm:${shardTag(shard)}:writes`,
  probe: (shard: number) => `cm:${shardTag(shard)}:probe`,
  daemonSeen: ofInstallation('daemon-seen'),
  removedTenants: ofInstallation('removed-tenants'),
  damaged: ofInstallation('damaged'),
  processes: ofInstallation('processes'),
  approvals: ofTenant('approvals'),
  document: owned<[kind: string, id: string]>('tenant', 'document'),
  documents: ofTenantEach('documents'),
  lease: owned<[name: string]>('none', 'lease'),
  leaseWaiting: owned<[name: string]>('none', 'lease-waiting'),
  fence: ofTenantEach('fence'),
  outage: (host: string) => {
    const waiting = `cm:{outage-${host}}:outage`;
    return { waiting, ended: `${waiting}:ended` };
  },
  outages: ofInstallation('outages'),
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

/** Owners of all keys of an installation. */
export interface KeyOwners {
  /** @returns null for a key without a tenant: the installation also has leases, whose keys are like those of a tenant */
  of(key: string): KeyOwner | null;
  /** Kinds that are also read under former ids of a renamed tenant or target (`formerly`). */
  readUnderFormerIds: ReadonlySet<string>;
}

/** Returns the owners of keys. @param all all declared keys by name: a key of another kind has no owner, and is never released */
export function keyOwners(all: Readonly<Record<string, object>>): KeyOwners {
  const kinds = Object.values(all).filter(isKeyKind);
  const owners = new Map(kinds.map(({ kind, owner }) => [kind, owner]));
  return {
    of(key) {
      const [, tenant = '', kind = '', name = ''] = KEY.exec(key) ?? [];
      if (`{${tenant}}` === QUEUE_PREFIX) return null;
      const owner = owners.get(kind);
      if (owner === undefined || owner === 'none') return null;
      return { tenant, kind, part: owner === 'tenant' ? null : `${owner}/${name}` };
    },
    readUnderFormerIds: new Set(
      kinds.filter(({ isReadUnderFormerIds }) => isReadUnderFormerIds).map(({ kind }) => kind),
    ),
  };
}

function isKeyKind(key: object): key is KeyKind {
  return 'owner' in key;
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
