import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { expect, onTestFinished, test, vi } from 'vitest';
import { connectors } from '../../src/connectors/registry.ts';
import { createLogger } from '../../src/core/log/create-logger.ts';
import { silentLogger } from '../../src/core/log/logger.ts';
import type { StateCounterView } from '../../src/core/model/state-schemas.ts';
import { HOUR_MS, MINUTE_MS } from '../../src/core/model/time.ts';
import { compose } from '../../src/daemon/compose.ts';
import { startAlerting, startReleasing, watchStateCounter } from '../../src/daemon/upkeep.ts';
import type { StoredAlerts } from '../../src/features/alerts/store.ts';
import { reminderChannels } from '../../src/features/reminders/channels/registry.ts';
import { status } from '../../src/operator/control/status.ts';
import { openStatuses } from '../../src/operator/control/statuses.ts';
import { ConfigurationFiles } from '../../src/settings/configuration-files.ts';
import { keys } from '../../src/state/keys.ts';
import type { Durability } from '../../src/state/redis.ts';
import type { StateCounter } from '../../src/state/state-counter.ts';
import { useSmallWorld } from '../e2e/support/small-world.ts';
import { startReceiver } from '../support/receiver.ts';
import { useRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';

const redis = useRedis();

/** Returns the log lines of a start. @param told the finding of an earlier start; `now`: the finding of this one */
async function linesOfStart(told: Durability | null, now: Durability): Promise<Record<string, unknown>[]> {
  const view: StateCounterView = {
    durability: told,
    directory: 'kept',
    wentBackAt: null,
    wentBackTo: null,
    writesLostAt: null,
  };
  const epoch: Pick<StateCounter, 'requireIdentity' | 'check' | 'confirm' | 'view'> = {
    requireIdentity: async () => {},
    check: async () => 0,
    confirm: async () => {
      view.durability = now;
      return 0;
    },
    view: async () => ({ ...view }),
  };
  const lines: string[] = [];
  const log = createLogger({ level: 'info', destination: { write: (line) => lines.push(line) } });
  const end = await watchStateCounter({ stateCounter: epoch as StateCounter, redis: redis.connect(), log });
  await setImmediate();
  end();
  return lines.map((line) => JSON.parse(line));
}

test('a Redis that does not report persisted decisions is reported once, with cause and remedy', async () => {
  expect(await linesOfStart(null, 'unsupported')).toMatchObject([
    {
      level: 'warn',
      msg: expect.stringMatching(/older than 7\.2, or its user has no permission for WAITAOF.*lose the last second/),
      remedy: expect.stringContaining('run Redis 7.2 or newer'),
    },
  ]);
  expect(await linesOfStart('unsupported', 'unsupported')).toEqual([]);
  expect(await linesOfStart('durable', 'unsupported')).toHaveLength(1);
  expect(await linesOfStart('unsupported', 'durable')).toEqual([]);
});

test.each(['settle', 'view'] as const)(
  'a failed start during a Redis query by %s leaves no rejection and no log line',
  async (asked) => {
    const rejections: unknown[] = [];
    const note = (reason: unknown) => rejections.push(reason);
    process.on('unhandledRejection', note);
    onTestFinished(() => void process.off('unhandledRejection', note));
    const pending = Promise.withResolvers<never>();
    const view = {
      durability: null,
      directory: 'kept',
      wentBackAt: null,
      wentBackTo: null,
      writesLostAt: null,
    } as const;
    const epoch: Pick<StateCounter, 'requireIdentity' | 'check' | 'confirm' | 'view'> = {
      requireIdentity: async () => {},
      check: async () => 0,
      confirm: async () => {
        if (asked === 'settle') await pending.promise;
        // The query of the start itself was answered; later queries get no answer.
        epoch.view = () => pending.promise;
        return 0;
      },
      view: async () => view,
    };
    const lines: string[] = [];
    const log = createLogger({ level: 'info', destination: { write: (line) => lines.push(line) } });
    const end = await watchStateCounter({ stateCounter: epoch as StateCounter, redis: redis.connect(), log });
    await setImmediate();
    end();
    // As ioredis rejects what is pending when its connection is closed.
    pending.reject(new Error('Connection is closed.'));
    await setImmediate();
    expect(rejections).toEqual([]);
    expect(lines).toEqual([]);
  },
);

const LOOK_MS = 20;
/** Longer than where clinics stand is known without looking again. */
const STATUS_LIFE_MS = MINUTE_MS;

type Alerting = Awaited<ReturnType<typeof openAlerting>>;

/** Opens a process that reports required actions to a receiver, with a clock of the test. */
async function openAlerting() {
  const answer = { status: 202 };
  const { url, requests, close } = await startReceiver(() => answer);
  onTestFinished(close);
  const world = await useSmallWorld({ redisUrl: redis.url, targets: ['google-calendar'] });
  const { configDir: dir, env } = world;
  const settings = join(dir, 'clinic-mirror.yaml');
  const signing = `whsec_${Buffer.alloc(32, 5).toString('base64')}`;
  const alerts = { webhook: { url, secrets: [{ env: 'ALERTS_SECRET' }], allowPrivateAddresses: true } };
  await writeFile(settings, `${await readFile(settings, 'utf8')}\nalerts: ${JSON.stringify(alerts)}\n`);
  const files = { dir, env: { ...env, ALERTS_SECRET: signing }, connectors, reminderChannels };
  const { configuration } = new ConfigurationFiles({ ...files, mode: 'set-aside' });
  const clock = { now: Date.now() };
  const composition = compose({ configuration, log: silentLogger, priority: 'background', clock: () => clock.now });
  vi.spyOn(composition.redis as Redis, 'time').mockImplementation(async () => [Math.floor(clock.now / 1_000), 0]);
  const end = startAlerting(composition, openStatuses(), LOOK_MS);
  onTestFinished(async () => {
    await end();
    await composition.close();
  });
  const tenant = world.tenants[0]!.id;
  const { credentials, connections } = composition.composed.get(tenant)!;
  const login = [...connections.keys()].find((id) => id !== 'clinic')!;
  const kept = await credentials.readAll([login]);
  return {
    ...{ composition, clock, answer, tenant, login, requests },
    async logOut() {
      await credentials.remove(login);
      clock.now += STATUS_LIFE_MS;
    },
    async logIn() {
      await credentials.restore(kept);
      clock.now += STATUS_LIFE_MS;
    },
    told: () => requests.map(({ body }) => JSON.parse(body).data),
    messages: (count: number) => waitFor(() => requests.length >= count, { what: `${count} messages` }),
  };
}

/** What the process remembers, as soon as that fulfils a condition. */
async function remembered(
  { composition }: Alerting,
  what: string,
  holds: (alerts: StoredAlerts) => boolean,
): Promise<void> {
  const read = async () => (await composition.alerts.read()).get('webhook');
  await waitFor(
    async () => {
      const alerts = await read();
      return alerts !== undefined && holds(alerts);
    },
    { what },
  );
}

test('a missing connection is reported if it lasts, and its end is reported', async () => {
  const opened = await openAlerting();
  const { clock, tenant, login, told, messages } = opened;
  await opened.logOut();
  await remembered(
    opened,
    'the missing connection to be noticed',
    ({ memory }) => memory?.includes('not-connected') ?? false,
  );
  clock.now += 5 * MINUTE_MS;
  await messages(1);
  const problem = { tenant, subject: `connection ${login}`, next: `clinic-mirror login ${tenant} ${login}` };
  expect(told()[0].begun.problems).toMatchObject([problem]);

  await opened.logIn();
  await remembered(opened, 'the restored connection to be noticed', ({ memory }) => /"goneAt":\d/.test(memory ?? ''));
  clock.now += HOUR_MS;
  await messages(2);
  expect(told()[1]).toMatchObject({ begun: { count: 0 }, over: { count: 1, problems: [{ ...problem, next: null }] } });
});

test('a receiver that refuses messages is listed in status, and gets the message when it recovers', async () => {
  const opened = await openAlerting();
  const { clock, answer, composition, told } = opened;
  answer.status = 503;
  await opened.logOut();
  await remembered(
    opened,
    'the missing connection to be noticed',
    ({ memory }) => memory?.includes('not-connected') ?? false,
  );
  clock.now += 5 * MINUTE_MS;
  await remembered(opened, 'the failure', ({ failure }) => failure?.code === 'webhook-unavailable');
  const view = await status(composition.installation);
  expect(view.problems.map(({ subject }) => subject)).toContain('alerts by webhook');
  answer.status = 401;
  await remembered(opened, 'the refusal', ({ failure }) => failure?.code === 'webhook-unauthorized');
  const { problems } = await status(composition.installation);
  expect(problems.find(({ subject }) => subject === 'alerts by webhook')?.next).toBe(
    'set the same signing secret on both sides; the secret comes from the environment variable ALERTS_SECRET',
  );
  answer.status = 202;
  await remembered(opened, 'the message to be taken', ({ failure }) => failure === null);
  expect(told().at(-1).begun.problems).toMatchObject([{ code: 'not-connected' }]);
});

test('the process itself reports a Redis that does not answer', async () => {
  const opened = await openAlerting();
  await remembered(opened, 'a look', () => true);
  await redis.crash();
  await waitFor(
    () => {
      opened.clock.now += MINUTE_MS;
      return opened.requests.length > 0;
    },
    { what: 'the message' },
  );
  expect(opened.told()[0].begun.problems).toMatchObject([{ tenant: null, code: 'redis-unreachable' }]);
});

test('the hourly check deletes expired approval requests that nobody lists, and records how many', async () => {
  const { composition, clock, tenant } = await openAlerting();
  const { store } = composition.acts.approvalsOf(tenant);
  const by = { kind: 'os-user', name: 'anna', id: 'uid:1', claimed: null } as const;
  const ask = (id: string, expiresAt: number) =>
    store.put({ id, verb: 'forget', what: {}, by, at: clock.now - HOUR_MS, expiresAt });
  await ask('old', clock.now);
  await ask('new', clock.now + HOUR_MS);
  await startReleasing(composition).end();
  expect(await composition.redis.hkeys(keys.approvals(tenant))).toEqual(['new']);
  const { upkeep } = composition.installation;
  expect(await upkeep.read(tenant)).toEqual({ approvals: { at: clock.now, ended: 1 } });
  expect(await upkeep.read(null)).toEqual({ check: { at: clock.now, ended: 1 } });
});
