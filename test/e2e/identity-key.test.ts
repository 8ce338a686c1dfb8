import { expect, it } from 'vitest';
import { useRadicale } from '../support/radicale.ts';
import { useRedis } from '../support/redis.ts';
import { FAMILIES, RADICALE_USERS } from './support/small-targets.ts';
import { expectExact, useSmallWorld } from './support/small-world.ts';
import { writesAt } from './support/traffic.ts';

const redis = useRedis();
const radicale = useRadicale({ users: RADICALE_USERS });

it('another identity key is refused by Redis, and by the calendars themselves when Redis was emptied', async () => {
  const world = await useSmallWorld({
    redisUrl: redis.url,
    davServer: radicale(),
    targets: FAMILIES,
    appointments: 30,
  });
  await world.cycle();
  const rightKey = world.env.CLINIC_MIRROR_IDENTITY_KEY ?? '';
  const otherKey = Buffer.alloc(32, 99).toString('base64');
  for (const { proxy } of world.targets) proxy.forget();
  const refused = { code: 1, err: expect.stringContaining('identity-key-changed') };

  world.env.CLINIC_MIRROR_IDENTITY_KEY = otherKey;
  expect(await world.cli('plan', 'clinic-1')).toMatchObject(refused);

  // All state except the connections is lost.
  const connection = redis.connect();
  const lost = (await connection.keys('*')).filter((key) => !key.includes(':credential:'));
  for (const key of lost) await connection.del(key);
  expect(await world.cli('plan', 'clinic-1')).toMatchObject(refused);
  const synced = await world.cli('sync', 'clinic-1', '--json');
  expect(synced).toMatchObject({ code: 1 });
  expect(JSON.parse(synced.out)).toMatchObject({ run: { error: { code: 'identity-key-changed' } } });
  expect(world.targets.flatMap(({ proxy }) => writesAt(proxy))).toEqual([]);

  world.env.CLINIC_MIRROR_IDENTITY_KEY = rightKey;
  const looked = await world.cli('plan', 'clinic-1');
  expect(looked.code).toBe(0);
  expect(looked.out).not.toMatch(/[1-9]\d* to (create|update|delete)/);
  await world.cycle();
  await expectExact(world);
});
