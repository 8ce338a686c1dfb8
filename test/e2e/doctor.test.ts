import { appendFile, chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { requireEntry } from '../../src/daemon/open-connection.ts';
import { examine, type StateProbe } from '../../src/operator/control/doctor.ts';
import type { Finding } from '../../src/operator/control/findings.ts';
import { inEnglish } from '../../src/operator/control/findings.ts';
import { requireTenant } from '../../src/operator/control/installation.ts';
import type { Status } from '../../src/operator/control/status-schemas.ts';
import { paced } from '../support/pace.ts';
import { useRedis } from '../support/redis.ts';
import { DAEMON } from '../support/redis-users.ts';
import { runHere } from './support/run-command.ts';
import type { SmallWorld } from './support/small-world.ts';
import { editTenant, useSmallWorld } from './support/small-world.ts';

const redis = useRedis();

async function open(): Promise<SmallWorld> {
  const world = await useSmallWorld({ redisUrl: redis.url, targets: ['google-calendar', 'outlook-calendar'] });
  await appendFile(join(world.configDir, 'clinic-mirror.yaml'), `\ndataDirectory: ${join(world.dir, 'kept')}\n`);
  return world;
}

/** @param env what the process of the command has otherwise */
async function findingsOf(world: SmallWorld, env: Record<string, string> = {}) {
  const place = { configDir: world.configDir, env: { ...world.env, ...env } };
  const { code, out, err } = await runHere(place, ['doctor', '--json']);
  expect(err).toBe('');
  const { findings } = JSON.parse(out) as { findings: Finding[] };
  const problems = findings.filter(({ result }) => result === 'problem');
  return { code, findings, problems: problems.map(({ subject, code: why, next }) => ({ subject, code: why, next })) };
}

test('a clinic that works has nothing in the way, before its first cycle and after it, and a secret that all may read is a warning', async () => {
  const world = await open();
  for (const round of ['before', 'after']) {
    const { code, problems, findings } = await findingsOf(world);
    expect(problems, round).toEqual([]);
    expect(code).toBe(0);
    const subjects = [
      'Redis',
      'keys',
      'sealing keys',
      'clock',
      'DNS',
      'clinic',
      ...world.targets.map(({ target }) => `target ${target}`),
    ];
    expect(findings.map(({ subject }) => subject)).toEqual(expect.arrayContaining(subjects));
    await world.cycle();
  }
  expect((await world.cli('doctor')).out).toContain('No problems found.');
  const secret = join(world.configDir, 'spare.secret');
  await writeFile(secret, 'shh-spare');
  await chmod(secret, 0o644);
  const urls = 'authorizeUrl: "http://127.0.0.1:9/a", tokenUrl: "http://127.0.0.1:9/t"';
  const spare = `\nhubspotClients: { spare: { clientId: spare, clientSecret: { file: spare.secret }, ${urls} } }\n`;
  await appendFile(join(world.configDir, 'clinic-mirror.yaml'), spare);
  for (const command of [['doctor'], ['config', 'check']]) {
    const { code, out } = await world.cli(...command);
    expect(code, out).toBe(0);
    expect(out).toContain('every user of this host may read the file of hubspotClients.spare.clientSecret');
    expect(out).toMatch(/^ +chmod 600 spare\.secret$/m);
    expect(out).not.toContain('shh-spare');
  }
  await chmod(secret, 0o600);
  expect((await world.cli('doctor')).out).not.toContain('spare');
  expect((await world.cli('config', 'check')).out).not.toContain('chmod');
});

test('obstacles are listed in the order of their repair, with the command', async () => {
  const world = await open();
  const [tenant] = world.tenants;
  const [target] = world.targets;
  await editTenant(world, tenant!.id, ({ targets }) => {
    targets[target!.target]!.agendas = ['no-such-agenda'];
    Object.assign(targets[target!.target]!, { labels: [{ agendas: ['of-a-label'], colour: 'gray' }] });
  });
  const { credentials, tenant: opened } = requireEntry(world.opened().composed, tenant!.id);
  const [, other] = world.targets;
  const { connection } = opened.targets.get(other!.target)!.configuration;
  await credentials.remove(connection);
  const { code, problems, findings } = await findingsOf(world);
  expect(code).toBe(1);
  expect(problems).toEqual([
    {
      subject: `connection ${connection}`,
      code: 'not-connected',
      next: `clinic-mirror login ${tenant!.id} ${connection}`,
    },
    {
      subject: `target ${target!.target}`,
      code: 'agenda-unknown',
      next: `correct agendas in tenants/${tenant!.id}.yaml`,
    },
  ]);
  expect(await world.cli('config', 'check', '--live', tenant!.id)).toMatchObject({
    code: 1,
    out: expect.stringMatching(/target doctor-1: google[\s\S]*of-a-label[\s\S]*agenda-unknown[\s\S]*Fix in this order/),
  });
  expect(findings.find(({ subject }) => subject === `target ${other!.target}`)).toMatchObject({ result: 'not-asked' });
  const [view] = (JSON.parse((await world.cli('status', '--json')).out) as Status).tenants;
  expect(view?.targets.map(({ target: id, health }) => [id, health])).toEqual([
    [target!.target, 'ok'],
    [other!.target, 'action-required'],
  ]);
  const { out } = await world.cli('doctor');
  expect(out).toMatch(/1\. .*connection .*:\n {3}clinic-mirror login /);
  for (const line of out.split('\n')) expect(line.length).toBeLessThanOrEqual(100);
});

test('two files with connections to one clinic are reported', async () => {
  const world = await open();
  const { installation } = world.opened();
  const name = world.tenants[0]!.id;
  const tenant = requireTenant(installation, name);
  const twice = new Map([
    [name, tenant],
    ['same', { ...tenant, id: 'same' }],
  ]);
  const state: StateProbe = {
    check: async () => {},
    requireRights: async () => {},
    requireWrites: async () => {},
    requireIdentity: async () => {},
    unopened: async () => [],
    openSecrets: () => [],
    lacksTrustedProxies: () => false,
    hosts: () => [],
    resolve: null,
    time: async () => installation.clock(),
    view: () => installation.stateCounter.view(),
  };
  const findings = await Array.fromAsync(
    examine({ ...installation, tenants: twice }, state, {}, AbortSignal.timeout(paced(20_000))),
  );
  const found = findings.filter(({ code }) => code === 'clinic-twice').map(inEnglish);
  expect(found).toMatchObject([
    { tenant: 'same', result: 'problem', what: expect.stringContaining(`tenant ${name} `) },
  ]);
});

test('an unreachable clinic, a Redis that may evict keys and an unreachable Redis are reported without hanging', async () => {
  const world = await open();
  world.clinicProxy.add({ fault: { kind: 'cut' }, times: 1_000 });
  expect((await findingsOf(world)).problems.map(({ subject }) => subject)).toContain('clinic');
  world.clinicProxy.clear();
  const connection = redis.connect();
  await connection.config('SET', 'maxmemory-policy', 'allkeys-lru');
  expect((await findingsOf(world)).problems[0]).toMatchObject({ subject: 'Redis', code: 'redis-evicts' });
  await connection.config('SET', 'maxmemory-policy', 'noeviction');
  await redis.crash();
  const { code, problems, findings } = await findingsOf(world);
  expect(code).toBe(1);
  expect(problems).toMatchObject([{ subject: 'Redis', code: 'redis-unreachable' }]);
  expect(findings[0]!.what).toBe(`Redis does not answer at ${new URL(redis.url).host}`);
});

test('a Redis user with too few rights, a wrong password and another encryption key are reported before any refusal', async () => {
  const world = await open();
  const admin = redis.connect();
  const told = async (env?: Record<string, string>) => {
    const { findings, code } = await findingsOf(world, env);
    const [first, ...others] = findings.filter(({ result }) => result === 'problem');
    return { code, first, others };
  };

  await admin.call('ACL', 'SETUSER', DAEMON.username, '-hset', '-zadd');
  const keys = await admin.dbsize();
  expect(await told()).toMatchObject({
    code: 1,
    first: {
      ...{
        subject: 'Redis',
        code: 'redis-rights',
        what: 'Redis does not permit the user of clinic-mirror to run hset, zadd',
      },
      next: expect.stringContaining('config/redis-users.acl'),
    },
    others: [],
  });
  await admin.call('ACL', 'SETUSER', DAEMON.username, '+hset', '+zadd', 'resetkeys', '~cm:*');
  expect((await told()).first?.what).toBe(
    'Redis does not permit the user of clinic-mirror to use keys such as {clinic-mirror}:rights-nothing',
  );
  await admin.call('ACL', 'SETUSER', DAEMON.username, '~{clinic-mirror}:*');
  expect(await admin.dbsize()).toBe(keys);

  const { host } = new URL(redis.url);
  for (const [url, says] of [
    [`redis://${DAEMON.username}:wrong@${host}`, 'Redis does not accept the password of clinic-mirror'],
    [`redis://${host}`, 'Redis requires a password, and the settings have none'],
  ] as const) {
    expect(await told({ REDIS_URL: url }), url).toMatchObject({
      first: { subject: 'Redis', code: 'redis-login-refused', what: says, next: expect.stringContaining('redis.url') },
      others: [],
    });
  }

  // It was refused as it should be.
  await admin.call('ACL', 'LOG', 'RESET');

  const otherKey = { CLINIC_MIRROR_SEALING_KEY: Buffer.alloc(32, 9).toString('base64') };
  const other = await told(otherKey);
  expect(other.first).toMatchObject({
    ...{ tenant: null, subject: 'sealing keys', code: 'state-damaged' },
    what: expect.stringMatching(/^cannot decrypt 3 stored connections: /),
    next: expect.stringContaining('restore the previous key in secrets.sealingKeys'),
  });
  // No message asks for a sign-in, which would be needless.
  const status = await runHere({ configDir: world.configDir, env: { ...world.env, ...otherKey } }, ['status']);
  expect(status.out.replaceAll(/\s+/g, ' ')).toContain(
    'connection clinic: a stored value does not open: it was changed, moved or encrypted with another key (state-damaged)',
  );
  expect(status.out).not.toContain('clinic-mirror login');
  expect((await told()).first).toBeUndefined();
});
