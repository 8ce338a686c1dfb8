import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createServer } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { createCertificate } from '../../sandbox/kit/certificate.ts';
import { DAY_MS } from '../../src/core/model/time.ts';
import { lookAtCertificates } from '../../src/daemon/outlook.ts';
import { status } from '../../src/operator/control/status.ts';
import { useSmallWorld } from '../e2e/support/small-world.ts';
import { useRedis } from '../support/redis.ts';

const redis = useRedis();

test('status shows when certificates and secrets expire, and the used part of each quota', async () => {
  const { certificate, privateKey } = createCertificate('localhost');
  const server = createServer({ cert: certificate, key: privateKey }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const of = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const endsOn = new Date(Date.now() + 10 * DAY_MS).toISOString().slice(0, 10);
  // Five in a day: the first cycle takes more.
  const budget = { requestsPerMinute: 600, burst: 500, requestsPerDay: 5 };
  const world = await useSmallWorld({
    redisUrl: redis.url,
    settings: { http: { port: 0 }, notifications: { url: `https://${of}/` } },
    clinicClient: { budget },
  });
  const file = join(world.configDir, 'clinic-mirror.yaml');
  const settings = await readFile(file, 'utf8');
  await writeFile(file, settings.replace('googleClients:\n  main:\n', `$&    clientSecretEndsOn: ${endsOn}\n`));
  const composition = world.open();
  const { configuration, certificates, installation } = composition;
  await lookAtCertificates(configuration, certificates, new AbortController().signal);
  await world.cycle();
  const { endings, quotas, problems } = await status(installation);
  expect(endings).toEqual([
    { kind: 'secret', of: 'googleClients main', beganAt: null, endsAt: Date.parse(endsOn) },
    { kind: 'certificate', of, beganAt: expect.any(Number), endsAt: expect.any(Number) },
  ]);
  const [clinic] = quotas.filter(({ client }) => client === 'clinicClients main');
  expect(clinic?.hourShare).toBeGreaterThan(0);
  expect(clinic?.days).toMatchObject([{ tenant: world.tenants[0]!.id, usedUpAt: expect.any(Number) }]);
  expect(problems.map(({ subject, code }) => `${subject}: ${code}`).sort()).toEqual([
    'googleClients main: secret-ending',
    'quota of clinicClients main: daily-quota-short',
  ]);
});
