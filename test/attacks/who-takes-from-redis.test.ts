import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createOptOuts } from '../../src/features/reminders/opt-outs.ts';
import { keys } from '../../src/state/keys.ts';
import { appointmentOf, NOW } from '../domain/arbitraries.ts';
import { useDamage } from '../support/damage.ts';
import { useRedis } from '../support/redis.ts';
import { cycle } from '../tenant/cycle.ts';
import { createModelClinic } from '../tenant/model-clinic.ts';
import { createModelTarget } from '../tenant/model-target.ts';
import { openTenant } from '../tenant/open-tenant.ts';

const redis = useRedis();
const damage = useDamage();
const TENANT = 'studio-rossi';
const IDENTITY_KEY = Buffer.alloc(32, 7);
const GONE_LATER = { source: 'reply', at: NOW } as const;
let directory = '';

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'safeguards-'));
});

afterAll(() => rm(directory, { recursive: true }));

/** Opens a clinic with one forgotten patient and two opt-outs. @param kept whether there is a copy outside Redis */
async function openClinic(kept: boolean) {
  const connection = redis.connect();
  const clinic = createModelClinic();
  const model = createModelTarget();
  const dataDirectory = kept ? await mkdtemp(join(directory, 'kept-')) : null;
  const open = () => openTenant({ redis: connection, clinic, targets: [{ model }], clock: () => NOW, dataDirectory });
  const tenant = open();
  clinic.appointments.set('1', appointmentOf('1', { patientId: 'p1' }));
  await cycle(tenant);
  await tenant.tombstones.add('p2', NOW);
  const optOuts = createOptOuts(connection, TENANT, IDENTITY_KEY, tenant.protection);
  const hashes = ['+393331111111', '+393332222222'].map((number) => optOuts.hashOf('phone', number));
  for (const hash of hashes) await optOuts.add(hash, GONE_LATER);
  await cycle(tenant);
  expect(await tenant.protection.uncertainty()).toBeNull();
  for (const id of ['2', '3']) clinic.appointments.set(id, appointmentOf(id, { patientId: `p${id}` }));
  const all = () => Promise.all([keys.tombstones(TENANT), keys.optOuts(TENANT)].map((key) => connection.hgetall(key)));
  return { connection, tenant, open, model, optOuts, hash: hashes[0] ?? '', all, before: await all() };
}

type Attack = (connection: Redis, world: { hash: string }) => Promise<unknown>;

const ATTACKS: [string, Attack][] = [
  ['one opt-out', (connection, { hash }) => connection.hdel(keys.optOuts(TENANT), hash)],
  ['all tombstones', (connection) => connection.del(keys.tombstones(TENANT))],
  ['nothing, and makes up a receipt', (connection) => connection.hset(keys.receipts(TENANT), 'made-up', '{}')],
  [
    'an opt-out, with another one in its place',
    async (connection, { hash }) => {
      await connection.hdel(keys.optOuts(TENANT), hash);
      await connection.hset(keys.optOuts(TENANT), 'phone:made-up', JSON.stringify(GONE_LATER));
    },
  ],
  [
    'a tombstone, and the record of their number',
    async (connection) => {
      await connection.del(keys.tombstones(TENANT), keys.protection(TENANT));
    },
  ],
  [
    'a tombstone, and says that all is settled',
    async (connection) => {
      await connection.del(keys.tombstones(TENANT));
      await connection.hset(keys.protection(TENANT), { settledAt: 9e15, proof: 's1.identity.AAAA' });
    },
  ],
];

describe.each(ATTACKS)('an attacker that deletes %s from Redis', (_, attack) => {
  test('sees the data return from the copy outside Redis, and no forgotten patient is written', async () => {
    const world = await openClinic(true);
    await attack(world.connection, world);
    await cycle(world.tenant);
    const [tombstones, optOuts] = await world.all();
    expect(tombstones).toEqual(world.before[0]);
    expect(optOuts).toMatchObject(world.before[1] ?? {});
    expect(world.model.objects()).toHaveLength(2);
    expect(await world.tenant.protection.uncertainty({ whole: true })).toBeNull();
  });

  test('stops all writes of patient data until an operator decides, if there is no copy', async () => {
    const world = await openClinic(false);
    await attack(world.connection, world);
    await cycle(world.tenant);
    expect(world.model.objects()).toHaveLength(1);
    expect((await world.tenant.holds.list()).map(({ kind }) => kind)).toEqual(['people']);
    expect(await world.tenant.protection.uncertainty()).toMatchObject({
      code: expect.stringMatching(/state-damaged|state-lost/),
    });
    await world.tenant.protection.accept();
    expect(await world.tenant.protection.uncertainty({ whole: true })).toBeNull();
  });
});

test('a deletion while no daemon ran is noticed by the next daemon', async () => {
  const world = await openClinic(false);
  await world.connection.hdel(keys.optOuts(TENANT), world.hash);
  expect(await world.open().protection.uncertainty()).toMatchObject({ code: 'state-damaged' });
  expect([...damage]).toEqual([`${TENANT} safeguards`]);
});

test('an older state of the tables, restored with its own record, is noticed by a process that saw a later state, and by the copy', async () => {
  const world = await openClinic(true);
  const [record, before] = [
    await world.connection.hgetall(keys.protection(TENANT)),
    await world.connection.hgetall(keys.optOuts(TENANT)),
  ];
  const late = world.optOuts.hashOf('phone', '+393339999999');
  await world.optOuts.add(late, GONE_LATER);
  const goBack = async () => {
    await world.connection.del(keys.protection(TENANT), keys.optOuts(TENANT));
    await world.connection.hset(keys.protection(TENANT), record);
    await world.connection.hset(keys.optOuts(TENANT), before);
  };
  for (const daemon of [world.tenant, world.open()]) {
    await goBack();
    expect(await daemon.protection.uncertainty()).toBeNull();
    expect(await world.optOuts.find(late)).toEqual(GONE_LATER);
  }
});

test('a deletion is noticed between two cycles too, by the number of records', async () => {
  const world = await openClinic(false);
  await world.connection.hdel(keys.optOuts(TENANT), world.hash);
  expect(await world.tenant.protection.uncertainty()).toMatchObject({ code: 'state-damaged' });
});

test('concurrent additions and removals of several processes add up', async () => {
  const world = await openClinic(false);
  const others = Array.from({ length: 3 }, () => world.open());
  await Promise.all(
    others.flatMap((tenant, index) => {
      const optOuts = createOptOuts(world.connection, TENANT, IDENTITY_KEY, tenant.protection);
      return Array.from({ length: 5 }, (_, number) => optOuts.add(`phone:${index}-${number}`, GONE_LATER));
    }),
  );
  await Promise.all([world.optOuts.remove('phone:0-0'), world.optOuts.remove('phone:1-1')]);
  expect(Object.keys((await world.all())[1] ?? {})).toHaveLength(15);
  expect(await world.tenant.protection.uncertainty({ whole: true })).toBeNull();
});
