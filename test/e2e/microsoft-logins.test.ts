import { expect, onTestFinished, test } from 'vitest';
import { startDaemon } from '../../demo/daemon.ts';
import { useRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';
import { runHere } from './support/run-command.ts';
import type { SmallTarget } from './support/small-configuration.ts';
import { expectExact, type SmallWorld, startSmallWorld, useSmallWorld } from './support/small-world.ts';

const redis = useRedis();
const TOKEN = /\/oauth2\/v2\.0\/token$/;

test('a user signs in to Microsoft by a code on another device, and the calendar is synced', async () => {
  const world = await openWorld();
  const target = world.targets[0] as SmallTarget;
  await world.logIn({ connections: ['clinic'] });

  const { code, out, err } = await loginByDevice(world, async ({ page, userCode }) => {
    expect(await (await fetch(page)).text()).toContain('name="user_code"');
    await waitFor(() => polls(world) > 0, { what: 'a poll before anybody came' });
    await world.graph.approveDevice(userCode, { account: target.account });
  });

  // Anyone with the code can use it, so the operator names the intended account.
  expect(code).toBe(1);
  expect(out).toContain(`Connected: doctor-1 of clinic-1, account ${target.account}`);
  expect(await world.cli('accept-account', 'clinic-1', 'doctor-1', target.account)).toMatchObject({ code: 0 });
  // Microsoft returns no URL that contains the code.
  expect(err).not.toMatch(/or open|user_code=/);
  await world.cycle();
  await expectExact(world);
  expect(await credentialOf(world)).toMatchObject({ state: 'connected', reason: null });
});

test('a logout reports that Microsoft offers no revocation, and still forgets the connection', async () => {
  const world = await useSmallWorld({ redisUrl: redis.url, targets: ['outlook-calendar'] });
  const before = world.entraProxy.requests.length;

  const { code, out } = await world.cli('logout', 'clinic-1', 'doctor-1');

  expect({ code, out }).toMatchObject({ code: 0, out: expect.stringMatching(/no revocation\s+service/) });
  expect(world.entraProxy.requests).toHaveLength(before);
  expect(await credentialOf(world)).toBeNull();
  const { targets } = await world.cycle();
  expect(targets[0]).toMatchObject({ reason: 'error', failure: { actor: 'authorization' } });
});

test('a daemon that dies while Microsoft’s tokens are in transit loses no connection', async () => {
  const world = await openDueWorld();
  const target = world.targets[0] as SmallTarget;
  const first = await credentialOf(world);
  await killedWhile(world, (strike) =>
    world.entraProxy.add({ url: TOKEN, fault: { kind: 'rewrite', answer: (answer) => strike(answer) } }),
  );
  expect(await credentialOf(world), 'the connection after the lost answer').toMatchObject({
    state: 'connected',
    tokens: { refreshToken: first?.tokens.refreshToken },
  });

  // Microsoft takes the old refresh token again. Now daemon and Redis die when the new access token is first used.
  const brought: { access_token: string; refresh_token: string }[] = [];
  const used: string[] = [];
  const died: Promise<void>[] = [];
  world.entraProxy.add({
    url: TOKEN,
    fault: {
      kind: 'rewrite',
      answer(answer) {
        brought.push(JSON.parse(answer.body.toString()));
        return answer;
      },
    },
  });
  await killedWhile(world, (strike) =>
    target.proxy.add({
      fault: {
        kind: 'rewrite',
        request(request) {
          died.push(redis.crash());
          used.push(request.headers.authorization ?? '');
          return strike(request);
        },
      },
    }),
  );
  await Promise.all(died);
  await redis.startAgain();

  expect(used).toEqual([`Bearer ${brought[0]?.access_token}`]);
  expect(await credentialOf(world), 'what is on the disk').toMatchObject({
    state: 'connected',
    tokens: { refreshToken: brought[0]?.refresh_token },
  });
  await runUntilExact(world);
});

async function openWorld(): Promise<SmallWorld> {
  const world = await startSmallWorld({
    redisUrl: redis.url,
    targets: ['outlook-calendar'],
    graph: { devicePollIntervalS: 0.1 },
  });
  onTestFinished(() => world.close());
  return world;
}

/** Everybody is logged in, and Microsoft's access token is over. */
async function openDueWorld(): Promise<SmallWorld> {
  const world = await openWorld();
  world.graph.configure({ accessTokenLifetimeMs: 1_000 });
  await world.logIn();
  world.graph.configure({ accessTokenLifetimeMs: 3_600_000 });
  return world;
}

/** Requests to Microsoft's token endpoint. */
function polls({ entraProxy }: SmallWorld): number {
  return entraProxy.requests.filter(({ url }) => TOKEN.test(url)).length;
}

interface Shown {
  page: string;
  userCode: string;
}

/** Runs the command while a user follows its instructions. */
async function loginByDevice(world: SmallWorld, person: (shown: Shown) => Promise<void>) {
  let acted: Promise<void> | null = null;
  const ended = await runHere(world, ['login', 'clinic-1', 'doctor-1', '--device'], (shown) => {
    const [, page, userCode] = /Open (\S+) on any device and enter the code {2}(\S+)/.exec(shown) ?? [];
    if (page !== undefined && userCode !== undefined) acted ??= person({ page, userCode });
  });
  await acted;
  return ended;
}

async function credentialOf(world: SmallWorld) {
  const composed = world.opened().composed.get('clinic-1');
  return composed === undefined ? null : await composed.credentials.read('doctor-1');
}

/** Starts a daemon, which the armed fault strikes dead, and waits until it died. */
async function killedWhile(
  world: SmallWorld,
  arm: (strike: <Passed>(passed: Passed) => Passed) => void,
): Promise<void> {
  const daemon = startDaemon(world);
  onTestFinished(() => daemon.kill());
  arm((passed) => {
    daemon.process.kill('SIGKILL');
    return passed;
  });
  await waitFor(() => daemon.process.signalCode === 'SIGKILL', { what: 'the kill' });
  for (const proxy of [world.entraProxy, ...world.targets.map((target) => target.proxy)]) proxy.clear();
}

async function runUntilExact(world: SmallWorld): Promise<void> {
  const daemon = startDaemon(world);
  onTestFinished(() => daemon.kill());
  const exact = async () => {
    const [comparison] = await world.compareAll();
    return comparison !== undefined && comparison.remoteEvents > 0 && comparison.missing + comparison.duplicates === 0;
  };
  await waitFor(exact, { what: 'the calendar to be filled', intervalMs: 100 });
}
