import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest';
import { createCertificate } from '../../sandbox/kit/certificate.ts';
import type { RedisLocation } from '../../src/settings/redis-schema.ts';
import { connectForWorkers, connectRedis } from '../../src/state/redis.ts';
import { freePort, onFreePort } from '../../tools/free-port.ts';
import { startGuarded } from '../../tools/guarded-process.ts';
import { startRedis } from '../../tools/redis.ts';
import { waitFor } from '../support/wait-for.ts';

/** The one name in the certificate: who is reached by an address instead is not trusted. */
const HOST = 'localhost';
const MASTER = 'clinic-mirror';
const NOBODY = { username: undefined, password: undefined };

const { certificate, privateKey } = createCertificate(HOST);
const trusted = getCACertificates('default');
let tls: Record<string, string> = {};

beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'clinic-mirror-tls-'));
  const [certificateFile, keyFile] = [join(folder, 'certificate.pem'), join(folder, 'key.pem')];
  await Promise.all([writeFile(certificateFile, certificate), writeFile(keyFile, privateKey)]);
  tls = {
    ...{ port: '0', 'tls-cert-file': certificateFile, 'tls-key-file': keyFile, 'tls-ca-cert-file': certificateFile },
    ...{ 'tls-auth-clients': 'no', 'tls-replication': 'yes' },
  };
  setDefaultCACertificates([...trusted, certificate]);
  return () => rm(folder, { recursive: true });
});
afterAll(() => setDefaultCACertificates(trusted));

/** A Redis that speaks TLS alone. */
async function startSecure(settings: Record<string, string> = {}): Promise<number> {
  const redis = await onFreePort((port) =>
    startRedis({ port, settings: { ...tls, 'tls-port': String(port), ...settings }, server: inject('redisServer') }),
  );
  onTestFinished(() => redis.stop());
  return redis.port;
}

/** A sentinel that speaks TLS alone, and tells names rather than addresses. */
async function startSecureSentinel(masterPort: number): Promise<number> {
  return await onFreePort((port) => startSecureSentinelOn(port, masterPort));
}

async function startSecureSentinelOn(port: number, masterPort: number): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'clinic-mirror-sentinel-'));
  const file = join(folder, 'sentinel.conf');
  const lines = [
    ...Object.entries({ ...tls, 'tls-port': String(port), dir: folder }).map(([name, value]) => `${name} ${value}`),
    ...['sentinel resolve-hostnames yes', 'sentinel announce-hostnames yes'],
    `sentinel monitor ${MASTER} ${HOST} ${masterPort} 1`,
  ];
  await writeFile(file, `${lines.join('\n')}\n`);
  const { process } = await startGuarded({
    ...{ server: inject('redisServer'), args: [file, '--sentinel'], ownFolder: folder },
    ...{ ready: /\+monitor master/, readyTimeoutMs: 15_000 },
  });
  onTestFinished(() => process.stop());
  return port;
}

/** One server that is a cluster by itself. */
async function startSecureCluster(): Promise<number> {
  const port = await startSecure({
    ...{ 'cluster-enabled': 'yes', 'tls-cluster': 'yes', 'cluster-port': String(await freePort()) },
    ...{ 'cluster-announce-hostname': HOST, 'cluster-preferred-endpoint-type': 'hostname' },
  });
  const client = connectRedis(`rediss://${HOST}:${port}`);
  await client.call('CLUSTER', 'ADDSLOTSRANGE', 0, 16_383);
  const isWhole = async () => String(await client.call('CLUSTER', 'INFO')).includes('cluster_state:ok');
  await waitFor(isWhole, { what: 'the cluster to serve every slot' });
  client.disconnect();
  return port;
}

const PLACES: Record<string, () => Promise<RedisLocation>> = {
  'one server': async () => `rediss://${HOST}:${await startSecure()}`,
  'the master that a sentinel knows': async () => {
    const port = await startSecureSentinel(await startSecure());
    const nobody = { ...NOBODY, sentinelUsername: undefined, sentinelPassword: undefined };
    return { ...nobody, sentinels: [{ host: HOST, port }], name: MASTER, tls: true };
  },
  'a cluster': async () => ({ ...NOBODY, cluster: [{ host: HOST, port: await startSecureCluster() }], tls: true }),
};

describe.for(Object.entries(PLACES))('%s that speaks TLS alone', ([, start]) => {
  test.for([
    ['', connectRedis],
    [' by workers', connectForWorkers],
  ] as const)('is reached by the name in its certificate%s', async ([, connect]) => {
    const client = connect(await start());
    onTestFinished(() => client.disconnect());
    await client.set('key', 'value');
    expect(await client.get('key')).toBe('value');
  });

  test('is told nothing while its certificate is not trusted', async () => {
    const place = await start();
    setDefaultCACertificates(trusted);
    onTestFinished(() => setDefaultCACertificates([...trusted, certificate]));
    const client = connectRedis(place);
    onTestFinished(() => client.disconnect());
    const failed = Promise.withResolvers<unknown>();
    client.on('error', failed.resolve);
    client.on('close', () => failed.resolve('closed'));
    client.set('key', 'value').catch(() => {});
    await failed.promise;
    expect(client.status).not.toBe('ready');
  });
});
