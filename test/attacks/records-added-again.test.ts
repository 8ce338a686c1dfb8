import type { Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import type { DamagedKind } from '../../src/core/model/damaged-kinds.ts';
import type { MirrorError } from '../../src/core/model/errors.ts';
import { DAY_MS } from '../../src/core/model/time.ts';
import { decideHold } from '../../src/features/holds/decide.ts';
import { managedTenantKeys } from '../../src/features/managed-tenants/keys.ts';
import { CONFIGURATION_OPERATIONS } from '../../src/features/managed-tenants/operations.ts';
import { storeLogin } from '../../src/oauth/login.ts';
import { createAccessTokenStore } from '../../src/operator/control/access-stores.ts';
import { controlKeys } from '../../src/operator/control/keys.ts';
import { type ActAbout, type Acting, recordAct } from '../../src/operator/control/recording.ts';
import { keys } from '../../src/state/keys.ts';
import { createAccessSealer } from '../../src/state/sealing.ts';
import { createApprovalStore } from '../../src/state/stored-documents.ts';
import { NOW } from '../domain/arbitraries.ts';
import { NEVER, openWorker } from '../oauth/connection.ts';
import { startTokenServer } from '../oauth/token-server.ts';
import { openActing, person } from '../operator/control/acting.ts';
import { openConfigurations } from '../operator/control/open-configurations.ts';
import { openBooked, openInstallation } from '../operator/control/open-installation.ts';
import { contextWith } from '../operator/operations/run-operation.ts';
import { useRedis } from '../support/redis.ts';
import { cycle } from '../tenant/cycle.ts';

/* A user who can write to Redis deletes or damages an encrypted record, so that an operation adds the record again instead of replacing it. */

const redis = useRedis();
const KEY = Buffer.alloc(32, 7);
/** An approval by one operator is not enough. */
const SECOND = 'second-person-needed';

/** Deletes a record, or changes each of its values. */
type Damage = (connection: Redis, key: string) => Promise<unknown>;
const DAMAGES: readonly (readonly [string, Damage])[] = [
  ['deleted', (connection, key) => connection.del(key)],
  [
    'damaged',
    async (connection, key) => {
      if ((await connection.type(key)) === 'string') return connection.set(key, 'garbage');
      const sealed = Object.entries(await connection.hgetall(key)).filter(([, value]) => value.startsWith('s1.'));
      expect(sealed).not.toEqual([]);
      return connection.hset(
        key,
        Object.fromEntries(sealed.map(([field, value]) => [field, value.replace(/.{9}$/, 'forgotten')])),
      );
    },
  ],
];

/** Adds a record again over a record that was damaged. @returns the results, of which none may be less than a replacement needs */
type AddedAnew = (damage: Damage) => Promise<unknown>;

async function outcomeOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => 'done',
    ({ code }: MirrorError) => code,
  );
}

/** The second operator approves after the first operator's request was lost. */
async function approvedAnew(damage: Damage) {
  const connection = redis.connect();
  const store = createApprovalStore(connection, 'studio-rossi', KEY, () => NOW);
  const as = (who: string): Acting => openActing({ who: person(who), store, policy: { forget: true } });
  const second = { subject: 'p1', isNeeded: ({ forget }: { forget: boolean }) => forget };
  const about: ActAbout = { verb: 'forget', tenant: 'studio-rossi', what: {}, second };
  const forget = (who: string) => outcomeOf(recordAct(as(who), about, async () => {}));
  const requested = await forget('anna');
  await damage(connection, keys.approvals('studio-rossi'));
  return [requested, await forget('bruno'), await forget('bruno'), await forget('anna')];
}

/** A hold that one operator has approved is lost; the next cycle holds the changes again. */
async function heldAnew(damage: Damage) {
  const { clinic, tenant, installation, model } = openBooked(redis, 30);
  await cycle(tenant);
  clinic.appointments.clear();
  await cycle(tenant);
  const connection = redis.connect();
  const store = createApprovalStore(connection, tenant.id, KEY, () => NOW);
  const approve = async (who: string) => {
    const hold = (await tenant.holds.list())[0]?.id ?? '';
    const acting = openActing({ who: person(who), store, policy: { holdsAbove: 5 } });
    return outcomeOf(decideHold(acting, installation, { tenant: tenant.id, hold, decision: 'approved' }));
  };
  const requested = await approve('anna');
  await damage(connection, keys.holds(tenant.id));
  await cycle(tenant);
  return [requested, await approve('bruno'), model.objects().length];
}

/** The record of a target with `firstRun: plan` is lost after the approved first run; an appointment is booked. */
async function firstRunAnew(damage: Damage) {
  const { clinic, tenant, installation, model } = openBooked(redis, 5, {}, { firstRun: 'plan' });
  await cycle(tenant);
  const hold = (await tenant.holds.list())[0]?.id ?? '';
  await decideHold(openActing(), installation, { tenant: tenant.id, hold, decision: 'approved' });
  await cycle(tenant);
  const written = model.objects().length;
  await damage(redis.connect(), keys.target(tenant.id, 'doctor'));
  const [[id, appointment] = []] = clinic.appointments;
  if (id !== undefined && appointment !== undefined) clinic.appointments.set('new', { ...appointment, id: 'new' });
  await cycle(tenant);
  const open = (await tenant.holds.list()).filter(({ state }) => state === 'open').map(({ kind }) => kind);
  return [written, model.objects().length, open];
}

/** One operator adds a managed tenant whose lost document required two. */
async function managedAnew(damage: Damage) {
  const connection = redis.connect();
  await connection.flushall();
  const desk = openConfigurations(connection);
  const context = contextWith({
    installation: openInstallation({ tenants: [] }),
    acting: openActing(),
    configurations: async () => desk,
  });
  const { addTenant } = CONFIGURATION_OPERATIONS;
  const yaml = JSON.stringify({ name: 'Studio', approvals: { configuration: true } });
  const added = await outcomeOf(addTenant.run({ tenant: 'nuova', yaml, secrets: {} }, context));
  await damage(connection, managedTenantKeys.managedRevisions());
  const again = () => outcomeOf(addTenant.run({ tenant: 'nuova', yaml: 'name: Altro\n', secrets: {} }, context));
  const seen = [added, await again()];
  await damage(connection, managedTenantKeys.managedTenants());
  return [...seen, await again()];
}

/** A stranger signs in by link at a connection whose confirmed account is lost. */
async function connectedAnew(damage: Damage) {
  const server = await startTokenServer();
  const connection = redis.connect();
  await connection.flushall();
  const worker = openWorker({ redis: connection, issuer: server.url });
  const logIn = (subject: string, way: 'here' | 'elsewhere') => {
    const account = { subject, address: null, domain: null };
    const target = {
      ...{ context: worker.place, scopes: [], clock: Date.now },
      server: { ...worker.server, accountOf: async () => account },
    };
    const answer = {
      ...{ accessToken: 'access-1', refreshToken: 'refresh-1', accessLifeMs: 3_600_000, refreshLifeMs: null },
      ...{ scopes: null, baseUrl: null, account: null, sentAt: Date.now(), skewMs: 0 },
      names: { idToken: null, identityUrl: null, hubId: null },
    };
    return storeLogin(target, answer, { way }, NEVER);
  };
  const first = await logIn('doctor', 'here');
  await damage(connection, keys.credential(worker.place.tenant, 'clinic'));
  worker.beginAnew();
  return [first.isUnconfirmed, (await logIn('stranger', 'elsewhere')).isUnconfirmed];
}

/** An owner makes a token under the name of one that is lost: the holder of the lost token gains nothing. */
async function tokenAnew(damage: Damage) {
  const connection = redis.connect();
  await connection.flushall();
  const tokens = createAccessTokenStore(connection, createAccessSealer(KEY), () => NOW);
  const token = {
    name: 'robot',
    level: 'viewer',
    tenants: null,
    by: 'anna',
    madeAt: NOW,
    endsAt: NOW + DAY_MS,
  } as const;
  const lost = (await tokens.make(token)) ?? '';
  await damage(connection, controlKeys.accessTokens());
  const made = await tokens.make({ ...token, level: 'owner' }).catch(({ code }: MirrorError) => code);
  const found = await tokens.find(lost).catch(({ code }: MirrorError) => code);
  return [made === 'state-damaged' ? made : 'made', found];
}

/** Each kind of encrypted data: how it is added again, or why no operation of an operator could add it with less than a replacement needs. */
const ANEW: Readonly<Record<DamagedKind, AddedAnew | string>> = {
  access: tokenAnew,
  alerts: 'Only the daemon writes it.',
  approvals: approvedAnew,
  'audit-log': 'Only the daemon writes it; a damaged end counts as a cut log.',
  certificates: 'Only the daemon writes it.',
  'clinic-tenant': 'Only a sign-in or a cycle writes it; the tenant file and the guard decide.',
  configuration: 'Only the daemon writes it.',
  credentials: connectedAnew,
  documents: 'A plan is applied only as stored, and saving or applying one needs the same level.',
  'feed-access': 'A replaced URL needs the same command as a new one.',
  feeds: 'A replaced URL needs the same command as a new one.',
  holds: heldAnew,
  journals: 'Only the daemon writes it.',
  logins: 'Each link is new, and no link is replaced.',
  'managed-tenants': managedAnew,
  misses: 'Only the daemon writes it.',
  outages: 'Only the daemon writes it.',
  outbox: 'Only the daemon writes it.',
  pins: 'Undoing a run again needs the same command.',
  processes: 'Only the daemon writes it.',
  'recent-objects': 'Only the daemon writes it; a lost text of users is not taken over.',
  reloads: 'Only the daemon writes it.',
  reminders: 'Only the daemon writes it.',
  removed: 'Only the daemon writes it.',
  runs: 'Only the daemon writes it.',
  safeguards: 'Deleted opt-outs and erasures stop patient data until an operator decides: who-takes-from-redis.',
  'state-counter': 'A damaged counter is a loss of state.',
  storage: 'Only the daemon writes it.',
  subscriptions: 'Only the daemon writes it.',
  targets: firstRunAnew,
  triggers: 'Only the daemon writes it.',
};

/** Results of each kind that are no less than a replacement needs. */
const NEEDED: Readonly<Partial<Record<DamagedKind, unknown>>> = {
  // The holder of the lost token is not found; over a damaged token nothing is made.
  access: expect.toSatisfy((results) => ['made,', 'state-damaged,state-damaged'].includes(String(results))),
  approvals: [SECOND, SECOND, 'second-person-same', 'done'],
  // A link's account is unconfirmed.
  credentials: [false, true],
  holds: [SECOND, SECOND, 30],
  // A second operator, or the refusal of an addition over a damaged document.
  'managed-tenants': ['done', ...Array(2).fill(expect.stringMatching(/^(second-person-needed|tenant-exists)$/))],
  targets: [5, 5, ['first-run']],
};

describe.each(DAMAGES)(
  'an addition over a record that was %s in Redis needs what a replacement needs:',
  (_, damage) => {
    test.each(Object.entries(ANEW).flatMap(([kind, add]) => (typeof add === 'string' ? [] : [[kind, add] as const])))(
      '%s',
      async (kind, add) => {
        expect(await add(damage)).toEqual(NEEDED[kind as DamagedKind]);
      },
    );
  },
);
