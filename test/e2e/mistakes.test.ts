import fs from 'node:fs';
import { appendFile, copyFile, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, vi } from 'vitest';
import { startDaemon } from '../../demo/daemon.ts';
import { freePort } from '../../tools/free-port.ts';
import { useRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';
import { type Attempt, checkedBy, examinedBy, type Mistake, saidBy, testMistakes } from './support/mistakes.ts';
import { type SmallWorld, startSmallWorld } from './support/small-world.ts';

const redis = useRedis({ isStored: true });
const SETTINGS = 'clinic-mirror.yaml';
const TENANT = 'tenants/clinic-1.yaml';
/** As `config check` ends. */
const AGAIN = 'Correct this, then run: clinic-mirror --config config config check';
const OTHER_KEY = Buffer.alloc(32, 7).toString('base64');
let world: SmallWorld;
/** State in Redis before the first cycle. */
let older: Snapshot = [];

beforeAll(async () => {
  world = await startSmallWorld({ redisUrl: redis.url, appointments: 10 });
  await appendFile(join(world.configDir, SETTINGS), `dataDirectory: ${join(world.dir, 'kept')}\n`);
  await world.logIn();
  older = await keep();
  await world.cycle();
});
afterAll(() => world.close());

type Snapshot = (readonly [key: string, content: Buffer])[];

async function keep(): Promise<Snapshot> {
  const admin = redis.connect();
  const keys = await admin.keys('*');
  return Promise.all(keys.map(async (key) => [key, (await admin.dumpBuffer(key)) ?? Buffer.alloc(0)] as const));
}

/** Restores an old backup of Redis, as an operator would. */
async function putBack(snapshot: Snapshot): Promise<void> {
  const admin = redis.connect();
  await admin.flushall();
  // A daemon of another test that still runs may have registered again meanwhile.
  for (const [key, content] of snapshot) await admin.restore(key, 0, content, 'REPLACE');
}

const inFile = (at: RegExp, cause: RegExp, next: RegExp) => ({
  where: at,
  cause,
  next: new RegExp(`${next.source}.*${AGAIN}`),
});

const FILES: Mistake[] = [
  {
    name: 'zone',
    ...checkedBy((made) => made.replace(TENANT, 'Europe/Rome', 'Europe/Milan')),
    ...inFile(/^1 error .*clinic-1\.yaml line 3, zone/, /"Europe\/Milan"/, /did you mean Europe\/Rome\?/),
  },
  {
    name: 'two files for one clinic',
    ...checkedBy((made) => copyFile(join(made.configDir, TENANT), join(made.configDir, 'tenants/copy.yaml'))),
    ...inFile(/^1 error .*copy\.yaml line \d+, clinic\.tenantId/, /clinic-1 is the same clinic/, /keep one file/),
  },
  {
    name: 'two files for one clinic without its id',
    ...checkedBy(async (made) => {
      await made.edit(TENANT, ({ clinic }) => void delete clinic.tenantId);
      await copyFile(join(made.configDir, TENANT), join(made.configDir, 'tenants/copy.yaml'));
    }),
    ...inFile(/^1 error .*copy\.yaml line \d+, targets\.doctor-1/, /clinic-1 writes the same agendas/, /keep one file/),
  },
  {
    name: 'file name',
    ...checkedBy((made) => rename(join(made.configDir, TENANT), join(made.configDir, 'tenants/Clinic 1.yaml'))),
    ...inFile(/^1 error .*tenants\/Clinic 1\.yaml/, /name of the file cannot be an id/, /use lower-case letters/),
  },
  {
    name: 'file extension',
    ...checkedBy((made) => rename(join(made.configDir, TENANT), join(made.configDir, 'tenants/clinic-1.yml'))),
    ...inFile(/^1 error .*tenants\/clinic-1\.yml/, /is ignored/, /rename the file to end in \.yaml/),
  },
  {
    name: 'tab',
    ...checkedBy((made) => made.replace(TENANT, '    connector', '  \tconnector')),
    ...inFile(/^1 error .*clinic-1\.yaml line 13:/, /a tab is used as indentation/, /indent with spaces/),
  },
  {
    name: 'unknown key',
    ...checkedBy((made) => made.replace(TENANT, 'targets:', 'target:')),
    ...inFile(/^1 error .*clinic-1\.yaml line \d+, target:/, /unknown key/, /did you mean targets\?/),
  },
  {
    name: 'unknown key of a target',
    ...checkedBy((made) => made.replace(TENANT, 'agendas:', 'agenda:')),
    ...inFile(/^1 error .*clinic-1\.yaml line \d+, targets\.[\w-]+\.agenda:/, /unknown key/, /did you mean agendas\?/),
  },
  {
    name: 'secret file',
    ...checkedBy((made) =>
      made.edit(SETTINGS, ({ clinicClients }) => (clinicClients.main.clientSecret = { file: 'keys/nowhere' })),
    ),
    ...inFile(
      /^1 error .*clinic-mirror\.yaml line \d+, clinicClients\.main\.clientSecret/,
      /ENOENT/,
      /correct the path/,
    ),
  },
  {
    name: 'variable',
    ...checkedBy(async ({ env }) => void delete env.CLINIC_CLIENT_SECRET),
    ...inFile(
      /^1 error .*clinic-mirror\.yaml line \d+/,
      /variable CLINIC_CLIENT_SECRET is not set/,
      /set the variable .*export CLINIC_CLIENT_SECRET=/,
    ),
  },
  {
    name: 'scope that does not exist',
    ...checkedBy((made) => made.edit(TENANT, ({ clinic }) => (clinic.scopes = ['agendas']))),
    ...inFile(/^1 error .*clinic-1\.yaml line \d+, clinic\.scopes\.0/, /"agendas"/, /did you mean agenda\?/),
  },
  {
    name: 'Redis URL',
    ...checkedBy(async ({ env }) => void Object.assign(env, { REDIS_URL: 'http://localhost:6379' })),
    ...inFile(/^1 error .*clinic-mirror\.yaml line 2, redis\.url/, /is not valid/, /set rediss:\/\//),
  },
  {
    name: 'missing directory',
    ...saidBy('status', async (made) => rm(made.configDir, { recursive: true })),
    ...inFile(/config\/clinic-mirror\.yaml/, /the file does not exist/, /clinic-mirror init.*--config <directory>/),
  },
  {
    name: 'missing answer',
    surface: 'init',
    async make(made) {
      const answers = join(made.configDir, 'answers.yaml');
      await writeFile(answers, `redisUrl: ${redis.url}\n`);
      const { err } = await made.run('init', join(made.configDir, 'new'), '--answers', answers);
      return err;
    },
    where: /config\/answers\.yaml/,
    cause: /has no clinic\.baseUrl/,
    next: /add clinic\.baseUrl to config\/answers\.yaml, and run the same command again/,
  },
];

const REDIS: Mistake[] = [
  {
    name: 'Redis down',
    ...examinedBy('doctor', async ({ env }) => {
      env.REDIS_URL = redis.url.replace(/:\d+$/, `:${await freePort()}`);
    }),
    where: /"redis" in clinic-mirror\.yaml.*variable REDIS_URL/,
    cause: /does not answer at 127\.0\.0\.1:\d+/,
    next: /check that Redis runs/,
  },
  {
    name: 'Redis password',
    ...examinedBy('doctor', async (made) => {
      made.env.REDIS_URL = redis.url.replace(/:[^:@]*@/, ':wrong@');
      // Redis refuses the password as it should.
      made.afterwards(() => redis.connect().call('ACL', 'LOG', 'RESET'));
    }),
    where: /redis\.url of clinic-mirror\.yaml.*comes from the environment variable REDIS_URL/,
    cause: /does not accept the password/,
    next: /set user and password/,
  },
  {
    name: 'Redis eviction',
    ...examinedBy('doctor', async (made) => {
      const admin = redis.connect();
      await admin.config('SET', 'maxmemory-policy', 'allkeys-lru');
      made.afterwards(() => admin.config('SET', 'maxmemory-policy', 'noeviction'));
    }),
    where: /redis\.conf/,
    cause: /may evict keys/,
    next: /redis-cli CONFIG SET maxmemory-policy noeviction/,
  },
  {
    name: 'clock skew',
    ...examinedBy('doctor', async (made) => {
      const seconds = Math.floor(Date.now() / 1_000) + 600;
      const time = vi.spyOn(Redis.prototype, 'time').mockResolvedValue([seconds, 0]);
      made.afterwards(() => time.mockRestore());
    }),
    where: /on this host and on the host of Redis/,
    cause: /differ by [\d.]+ s/,
    next: /timedatectl/,
  },
];

const KEYS: Mistake[] = [
  {
    name: 'restore with other keys',
    surface: 'credentials restore',
    async make(made) {
      const { out: backup } = await made.run('credentials', 'backup', 'clinic-1');
      const file = join(made.configDir, 'backup');
      await writeFile(file, backup);
      made.env.CLINIC_MIRROR_SEALING_KEY = OTHER_KEY;
      const { err } = await made.run('credentials', 'restore', 'clinic-1', file);
      return err
        .split('\n')
        .filter((line) => !line.startsWith('{'))
        .join('\n');
    },
    where: /secrets\.sealingKeys in clinic-mirror\.yaml/,
    cause: /encrypted with another key/,
    next: /restore the previous key/,
  },
  {
    name: 'start with other encryption keys',
    ...examinedBy('doctor', async ({ env }) => void Object.assign(env, { CLINIC_MIRROR_SEALING_KEY: OTHER_KEY })),
    where: /secrets\.sealingKeys in clinic-mirror\.yaml/,
    cause: /encrypted with another key/,
    next: /restore the previous key/,
  },
  {
    name: 'start with another identity key',
    ...examinedBy('doctor', async ({ env }) => void Object.assign(env, { CLINIC_MIRROR_IDENTITY_KEY: OTHER_KEY })),
    where: /secrets\.identityKey in clinic-mirror\.yaml/,
    cause: /differs from the key of the stored state/,
    next: /set the previous key as secrets\.identityKey/,
  },
];

/** Where in this process something is appended to the data directory, the disk is full. */
function fillDisk(made: Attempt): void {
  const { open } = fs.promises;
  const full = Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' });
  fs.promises.open = (...given) => (String(given[0]).includes('/kept/') ? Promise.reject(full) : open(...given));
  syncBuiltinESMExports();
  made.afterwards(() => {
    fs.promises.open = open;
    syncBuiltinESMExports();
  });
}

async function daemonLog(made: Attempt): Promise<string> {
  return readFile(join(made.configDir, 'daemon.log'), 'utf8').catch(() => '');
}

/** A daemon in a separate process, until the row ends. */
async function runDaemon(made: Attempt) {
  const daemon = startDaemon({ configDir: made.configDir, dir: made.configDir, env: made.env });
  made.afterwards(() => daemon.kill());
  await waitFor(async () => (await daemonLog(made)).includes('daemon started'), { what: 'the daemon to run' });
  return daemon.process;
}

const RUNNING: Mistake[] = [
  {
    name: 'disk full',
    ...examinedBy('doctor', async (made) => fillDisk(made)),
    where: /"dataDirectory" \(clinic-mirror\.yaml\)/,
    cause: /the disk is full \(ENOSPC\)/,
    next: /free space on the disk/,
  },
  {
    name: 'port taken',
    ...saidBy('run', (made) =>
      made.edit(SETTINGS, ({ operator }) => (operator.port = Number(new URL(world.clinic.baseUrl).port))),
    ),
    where: /operator\.port in clinic-mirror\.yaml/,
    cause: /127\.0\.0\.1:\d+ is taken by another process/,
    next: /set another .*or end the process/,
  },
  {
    name: 'daemon twice',
    ...saidBy('run', async (made) => {
      const port = await freePort();
      await made.edit(SETTINGS, ({ operator }) => (operator.port = port));
      await runDaemon(made);
    }),
    where: /operator\.port in clinic-mirror\.yaml/,
    cause: /is taken by another process/,
    next: /end the process that uses the port: the process may be a daemon of this configuration/,
  },
  {
    name: 'SIGHUP with a broken file',
    surface: "the daemon's log",
    async make(made) {
      const daemon = await runDaemon(made);
      await made.replace(TENANT, 'zone: Europe/Rome', 'zone: Europe/Milan');
      daemon.kill('SIGHUP');
      const refusal = async () => (await daemonLog(made)).split('\n').find((line) => line.includes('was refused'));
      await waitFor(async () => (await refusal()) !== undefined, { what: 'the refusal' });
      return (await refusal()) ?? '';
    },
    where: /clinic-1\.yaml.*"line":3.*zone/,
    cause: /Europe\/Milan/,
    next: /did you mean Europe\/Rome\?/,
  },
  {
    name: 'old state in Redis',
    ...examinedBy('doctor', () => putBack(older)),
    where: /"dataDirectory" of clinic-mirror\.yaml/,
    cause: /Redis is older than/,
    next: /restore the newest backup of Redis/,
  },
];

testMistakes([...FILES, ...REDIS, ...KEYS, ...RUNNING], () => world);
