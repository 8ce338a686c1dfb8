import { expect, test } from 'vitest';
import { DAY_MS } from '../../../src/core/model/time.ts';
import { createCertificateStore } from '../../../src/operator/control/certificate-store.ts';
import { controlKeys } from '../../../src/operator/control/keys.ts';
import { NOW } from '../../domain/arbitraries.ts';
import { useRedis } from '../../support/redis.ts';

const redis = useRedis({ appendOnly: false });
const IDENTITY_KEY = Buffer.alloc(32, 7);

test('certificates replace all that were stored, and expire after seven days', async () => {
  const connection = redis.connect();
  const store = createCertificateStore(connection, IDENTITY_KEY);
  const certificate = (of: string) => ({ kind: 'certificate', of, beganAt: NOW, endsAt: NOW + DAY_MS }) as const;
  await store.write([certificate('a:443'), certificate('b:443')]);
  await store.write([certificate('b:443')]);
  expect(await store.read()).toEqual([certificate('b:443')]);
  expect(await connection.pttl(controlKeys.certificates())).toBeGreaterThan(6 * DAY_MS);
  expect(await createCertificateStore(connection, Buffer.alloc(32, 8)).read()).toEqual([]);
});
