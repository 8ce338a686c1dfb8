import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import { ALL_KEYS } from '../../src/daemon/key-tables.ts';
import { createClinicTenantStore } from '../../src/domain/clinic-tenant.ts';
import { createTenantFeeds } from '../../src/features/feeds/store.ts';
import { triggerRedisKeys } from '../../src/features/triggers/keys.ts';
import { createTriggerStore } from '../../src/features/triggers/store.ts';
import {
  createAccessTokenStore,
  createAccountRegistry,
  createPassphraseStore,
  createSessionStore,
} from '../../src/operator/control/access-stores.ts';
import { controlKeys } from '../../src/operator/control/keys.ts';
import { createLoginLinks, createLoginStore } from '../../src/operator/control/login-stores.ts';
import { createRecentObjects } from '../../src/state/recent-objects.ts';
import { createProofSealer } from '../../src/state/sealing.ts';
import { createApprovalStore, createStoredDocuments } from '../../src/state/stored-documents.ts';
import { KEY_PROTECTIONS } from '../../tools/redis-keys-table.ts';
import { NOW } from '../domain/arbitraries.ts';
import { person } from '../operator/control/acting.ts';
import { useRedis } from '../support/redis.ts';

const redis = useRedis();
const TENANT = 'studio-rossi';
const WALK = 'state/keys.test.ts';
const RING = [{ id: 'k1', key: Buffer.alloc(32, 9) }];
const IDENTITY_KEY = Buffer.alloc(32, 7);
const clock = () => NOW;
const sealer = createProofSealer(IDENTITY_KEY, TENANT);
const LIFE = { idleMs: 60_000, mostMs: 600_000 };
const LATER = NOW + 3_600_000;

/**
 * Writes a key of clinic-mirror.
 * @returns its reader: null, empty or an error for a refused value
 */
type Make = (connection: Redis) => Promise<() => Promise<unknown>>;
const ISSUER = 'https://id.test';
const PLACE = { endpoint: 'mail', event: 'booked' } as never;

const MAKERS: Readonly<Record<string, Make>> = {
  async clinicTenant(connection) {
    const store = createClinicTenantStore(connection, TENANT, sealer);
    await store.bind('7', false);
    return store.read;
  },
  async login(connection) {
    const store = createLoginStore<{ verifier: string }>(connection, RING);
    await store.put('state', { verifier: 'v' });
    return () => store.find('state');
  },
  async signInLink(connection) {
    const store = createLoginStore<{ by: string }>(connection, RING, controlKeys.signInLink);
    await store.put('ticket', { by: 'root' });
    return () => store.find('ticket');
  },
  loginLinks: makeLoginLink,
  loginLink: makeLoginLink,
  async recentObjects(connection) {
    const events = createRecentObjects(connection, TENANT, sealer);
    await events.recordRemoved('doctor', '1', { additions: 'note', fingerprint: 'f' }, NOW);
    return () => events.additionsOf('doctor', '1');
  },
  async feed(connection) {
    const shelf = createTenantFeeds(connection, TENANT, sealer, IDENTITY_KEY).feedStore('doctor');
    await shelf.put('e1', { revision: 1, text: 'BEGIN:VEVENT' } as never);
    return async () => (await shelf.entries(['e1'])).get('e1') ?? null;
  },
  async session(connection) {
    const store = createSessionStore<{ name: string }>(connection, sealer, clock);
    const session = await store.begin('olga', { name: 'olga' }, LIFE);
    return () => store.look(session, LIFE);
  },
  async passphrase(connection) {
    const store = createPassphraseStore(connection, sealer, { N: 2, r: 1, p: 1 });
    await store.set('correct horse battery');
    return async () => (await store.fits('correct horse battery')) || null;
  },
  async knownAccounts(connection) {
    const store = createAccountRegistry(connection, sealer);
    await store.claim(ISSUER, 'olga@clinic.example', 'subject');
    return async () => (await store.ofAddresses(ISSUER, ['olga@clinic.example'])).get('olga@clinic.example') ?? null;
  },
  async accessTokens(connection) {
    const store = createAccessTokenStore(connection, sealer, clock);
    const shown = await store.make({
      name: 'ops',
      level: 'owner',
      tenants: null,
      by: 'root',
      madeAt: NOW,
      endsAt: LATER,
    });
    return () => store.find(shown ?? '');
  },
  async approvals(connection) {
    const store = createApprovalStore(connection, TENANT, IDENTITY_KEY, clock);
    await store.put({ id: 'r1', verb: 'forget', what: {}, by: person('anna'), at: NOW, expiresAt: LATER });
    return async () => (await store.list())[0] ?? null;
  },
  async document(connection) {
    const store = createStoredDocuments<{ lines: number }>(connection, TENANT, 'plan', { sealer, clock });
    await store.put('p1', { lines: 3 });
    return () => store.read('p1');
  },
  async triggersWaiting(connection) {
    const [place, store] = [
      triggerRedisKeys.triggersWaiting(TENANT, 'mail/booked'),
      createTriggerStore(connection, TENANT, sealer),
    ];
    await connection.hset(place, 't1', sealer.seal(JSON.stringify({ dueAt: NOW }), `${place} t1`));
    return async () => (await store.waiting(PLACE))[0] ?? null;
  },
  async triggersAppointments(connection) {
    const place = triggerRedisKeys.triggersAppointments(TENANT, 'mail/booked');
    const store = createTriggerStore(connection, TENANT, sealer);
    await connection.hset(place, 'a1', sealer.seal(JSON.stringify({ version: 1 }), `${place} a1`));
    return async () => (await store.appointments(PLACE)).get('a1') ?? null;
  },
};

async function makeLoginLink(connection: Redis) {
  const links = createLoginLinks(connection, RING, clock);
  await links.put('ticket', { tenant: TENANT, connection: 'work', madeAt: NOW, endsAt: LATER } as never);
  return () => links.find('ticket');
}

/** Another letter in the middle of each value of a kind: in the cipher text, or in what a MAC covers. */
async function changeAll(connection: Redis, kind: string): Promise<number> {
  const altered = (text: string) => {
    const at = Math.floor(text.length * 0.7);
    return `${text.slice(0, at)}${text[at] === 'A' ? 'B' : 'A'}${text.slice(at + 1)}`;
  };
  let count = 0;
  for (const key of await connection.keys('cm:*')) {
    if (!key.includes(`:${kind}`)) continue;
    if ((await connection.type(key)) === 'string') {
      await connection.set(key, altered((await connection.get(key)) ?? ''));
      count += 1;
    }
    if ((await connection.type(key)) !== 'hash') continue;
    for (const [field, value] of Object.entries(await connection.hgetall(key))) {
      if (value.length < 40) continue;
      await connection.hset(key, field, altered(value));
      count += 1;
    }
  }
  return count;
}

const NAMES = Object.keys(ALL_KEYS) as (keyof typeof ALL_KEYS)[];
/** `cm:{T}:outbox:…` is of the kind `outbox`. */
function kindOf(name: keyof typeof ALL_KEYS): string {
  const given = name === 'epoch' || name === 'writes' || name === 'probe' ? [0] : ['T', 'x', 0, 0];
  const made: unknown = (ALL_KEYS[name] as (...given: unknown[]) => unknown)(...given);
  return (typeof made === 'string' ? made : JSON.stringify(made)).replace(/^.*?\}:/, '').replace(/:.*/, '');
}

describe('each key of each table', () => {
  test('has a described protection against change and rollback', () => {
    expect(Object.keys(KEY_PROTECTIONS).toSorted()).toEqual(NAMES.toSorted());
    for (const { changed, older } of Object.values(KEY_PROTECTIONS))
      for (const { text } of [changed, older]) expect(text).toMatch(/^.{6}/);
  });

  test.each(NAMES)('%s names the test that tries what is refused', (name) => {
    const { changed, older, test: file } = KEY_PROTECTIONS[name];
    expect(file !== null).toBe([changed, older].some(({ kind }) => kind === 'refused'));
    if (file === null) return;
    const text = readFileSync(join(import.meta.dirname, '..', file), 'utf8');
    if (file === WALK) expect(Object.keys(MAKERS)).toContain(name);
    else expect(text.includes(`eys.${name}(`) || text.includes(kindOf(name))).toBe(true);
  });

  test.each(Object.keys(MAKERS) as (keyof typeof ALL_KEYS)[])('%s is refused when it was changed', async (name) => {
    expect(KEY_PROTECTIONS[name].test).toBe(WALK);
    const connection = redis.connect();
    await connection.flushall();
    const read = await (MAKERS[name] as Make)(connection);
    expect(await read()).not.toBeNull();
    // The key of a connection has no kind: it contains nothing else.
    const changed = await changeAll(connection, name === 'login' ? '' : kindOf(name));
    expect(changed).toBeGreaterThan(0);
    expect(await read().catch(() => null)).toBeNull();
  });
});
