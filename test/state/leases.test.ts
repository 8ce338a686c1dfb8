import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import type { Lease } from '../../src/engine/store.ts';
import { createLeases } from '../../src/state/leases.ts';
import { untilSeen, useFakeTime } from '../support/fake-time.ts';
import { useRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';

const TENANT = 'studio-rossi';
const NEVER = new AbortController().signal;
const redis = useRedis();

function numberOf(token: string): number {
  return Number(token.split(':')[0]);
}

describe('a lease', () => {
  test('has one holder among fifty that ask at once, over several connections', async () => {
    const connections = Array.from({ length: 5 }, () => redis.connect());
    const asked = Array.from({ length: 50 }, (_, index) => {
      const connection = connections[index % 5];
      if (connection === undefined) throw new Error('unreachable');
      return createLeases(connection, TENANT, 60_000).tryTake('plan');
    });
    const held = (await Promise.all(asked)).filter((lease) => lease !== null);
    expect(held).toHaveLength(1);
    await held[0]?.release();
    expect(await createLeases(redis.connect(), TENANT, 60_000).tryTake('plan')).not.toBeNull();
  });

  test('of another name or tenant is another one', async () => {
    const connection = redis.connect();
    expect(await createLeases(connection, TENANT, 60_000).tryTake('plan')).not.toBeNull();
    expect(await createLeases(connection, TENANT, 60_000).tryTake('lane-doctor')).not.toBeNull();
    expect(await createLeases(connection, 'studio-bianchi', 60_000).tryTake('plan')).not.toBeNull();
  });

  test('numbers its holders upwards, through release, expiry and loss', async () => {
    const connection = redis.connect();
    const leases = createLeases(connection, TENANT, 60_000);
    const numbers: number[] = [];
    for (let round = 0; round < 4; round += 1) {
      const lease = await leases.tryTake('plan');
      if (lease === null) throw new Error('the lease is taken');
      numbers.push(numberOf(lease.token));
      if (round % 2 === 0) await lease.release();
      else await connection.del(lease.key);
    }
    expect(numbers).toEqual([1, 2, 3, 4]);
  });

  test('expires when its holder died', async () => {
    const holder = redis.connect();
    const lease = await createLeases(holder, TENANT, 300).tryTake('plan');
    expect(lease).not.toBeNull();
    holder.disconnect();
    const leases = createLeases(redis.connect(), TENANT, 60_000);
    const next = await waitFor(() => leases.tryTake('plan'), { what: 'the dead holder to be succeeded' });
    expect(numberOf(next.token)).toBe(2);
  });

  test('released late is not taken from its current holder', async () => {
    const connection = redis.connect();
    const leases = createLeases(connection, TENANT, 60_000);
    const late = await leases.tryTake('plan');
    await connection.del(late?.key ?? '');
    const successor = await leases.tryTake('plan');
    await late?.release();
    expect(await connection.get(successor?.key ?? '')).toBe(successor?.token);
    await successor?.release();
    await successor?.release();
    expect(await connection.exists(successor?.key ?? '')).toBe(0);
  });
});

describe('a waiter for a lease', () => {
  test('gets it when it is free', async () => {
    const leases = createLeases(redis.connect(), TENANT, 60_000);
    const first = await leases.tryTake('plan');
    const waiting = leases.take('plan', 10_000, NEVER);
    await first?.release();
    expect(numberOf((await waiting).token)).toBe(2);
  });

  test('is informed at the end of the wait that another process holds it', async () => {
    const leases = createLeases(redis.connect(), TENANT, 60_000);
    await leases.tryTake('plan');
    await expect(leases.take('plan', 50, NEVER)).rejects.toMatchObject({
      message: 'another process uses "plan"',
      actor: 'remote',
      code: 'lease-busy',
      retry: 'later',
    });
  });

  test('that was stopped before takes nothing, although the lease is free', async () => {
    const leases = createLeases(redis.connect(), TENANT, 60_000);
    const stopped = AbortSignal.abort(new Error('stopped'));
    await expect(leases.take('plan', 60_000, stopped)).rejects.toThrow('stopped');
    expect(await leases.tryTake('plan')).not.toBeNull();
  });

  test('stops waiting when it is stopped, even during a pause', async () => {
    const leases = createLeases(redis.connect(), TENANT, 60_000);
    await leases.tryTake('plan');
    useFakeTime();
    const stop = new AbortController();
    const waiting = leases.take('plan', 60_000, stop.signal);
    await untilSeen(() => vi.getTimerCount() > 0, 'the pause');
    stop.abort(new Error('stopped'));
    await expect(waiting).rejects.toThrow('stopped');
  });

  test('asks again after 20 ms, then after twice as long, up to half a second', async () => {
    const leases = createLeases(redis.connect(), TENANT, 600_000);
    await leases.tryTake('plan');
    const time = useFakeTime();
    const asked = countEvals();
    const waiting = createLeases(asked.client, TENANT, 600_000).take('plan', 2_120, NEVER);
    const ended = expect(waiting).rejects.toMatchObject({ code: 'lease-busy' });
    // 0, 20, 60, 140, 300, 620, 1120, 1620; at 2,120 the wait is over.
    for (const [index, pauseMs] of [20, 40, 80, 160, 320, 500, 500].entries()) {
      await untilSeen(() => asked.count() === index + 1 && vi.getTimerCount() > 0, 'the pause');
      await time.pass(pauseMs - 1);
      expect(asked.count()).toBe(index + 1);
      await time.pass(1);
    }
    await untilSeen(() => asked.count() === 8 && vi.getTimerCount() > 0, 'the last pause');
    await time.pass(500);
    await ended;
    expect(asked.count()).toBe(9);
  });
});

describe('the queue position of a waiter for a lease', () => {
  test('ensures that work that restarts at once does not block other work', async () => {
    const time = useFakeTime();
    const busy = createLeases(redis.connect(), TENANT, 600_000);
    const first = await busy.tryTake('plan');
    const asked = countEvals();
    const waiting = createLeases(asked.client, TENANT, 600_000).take('plan', Number.POSITIVE_INFINITY, NEVER);
    await untilSeen(() => asked.count() === 1 && vi.getTimerCount() > 0, 'the place');
    await first?.release();
    expect(await busy.tryTake('plan')).toBeNull();
    await time.pass(500);
    const second = await waiting;
    expect(numberOf(second.token)).toBe(2);
    await second.release();
    expect(await busy.tryTake('plan')).not.toBeNull();
  });

  test('follows the order of arrival, also for returning waiters: the lease goes to the first without a predecessor', async () => {
    const connection = redis.connect();
    const leases = createLeases(connection, TENANT, 600_000);
    const places = ['', 'check-target', 'push', 'sync'];
    const move = fc.oneof(
      fc.constant('release' as const),
      fc.constantFrom(...places).map((place) => ({ place })),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(move, { maxLength: 40 }), async (moves) => {
        await connection.flushall();
        const line: string[] = [];
        let holder: Lease | null = null;
        for (const one of moves) {
          if (one === 'release') {
            await holder?.release();
            holder = null;
            continue;
          }
          const { place } = one;
          const isNext: boolean = holder === null && (line[0] ?? place) === place;
          const taken: Lease | null = await leases.tryTake('plan', place);
          expect(taken !== null).toBe(isNext);
          holder = taken ?? holder;
          if (isNext) line.splice(0, line[0] === place ? 1 : 0);
          else if (place !== '' && !line.includes(place)) line.push(place);
        }
        await holder?.release();
      }),
      { numRuns: 60 },
    );
  });

  test('blocks no other waiter once its waiter stops asking', async () => {
    const connection = redis.connect();
    const leases = createLeases(connection, TENANT, 600_000);
    const first = await leases.tryTake('plan');
    expect(await leases.tryTake('plan', 'dead')).toBeNull();
    await first?.release();
    await passFor(connection, 9_000);
    expect(await leases.tryTake('plan')).toBeNull();
    await passFor(connection, 1_000);
    expect(await leases.tryTake('plan')).not.toBeNull();
  });

  test('keeps its rank when the clock of Redis is set back', async () => {
    const connection = redis.connect();
    const leases = createLeases(connection, TENANT, 600_000);
    const first = await leases.tryTake('plan');
    await leases.tryTake('plan', 'early');
    await passFor(connection, -3_600_000);
    // Its wait was two hours long when the clock was set back by one hour.
    const notedAt = [-1, 1].map((hours) => (Date.now() + hours * 3_600_000) * 1_000);
    await connection.hset(WAITING, 'dead', notedAt.join(' '));
    expect(await leases.tryTake('plan', 'early')).toBeNull();
    expect(await leases.tryTake('plan', 'late')).toBeNull();
    await first?.release();
    expect(await leases.tryTake('plan', 'late')).toBeNull();
    expect(await leases.tryTake('plan', 'early')).not.toBeNull();
  });

  test('is released when its waiter is stopped, or the wait is over', async () => {
    const connection = redis.connect();
    const leases = createLeases(connection, TENANT, 600_000);
    const first = await leases.tryTake('plan');
    const stop = new AbortController();
    const stopped = expect(leases.take('plan', 60_000, stop.signal)).rejects.toThrow('stopped');
    await waitFor(async () => (await connection.exists(WAITING)) === 1, { what: 'the place' });
    stop.abort(new Error('stopped'));
    await stopped;
    await expect(leases.take('plan', 30, NEVER)).rejects.toMatchObject({ code: 'lease-busy' });
    expect(await connection.exists(WAITING)).toBe(0);
    await first?.release();
    expect(await leases.tryTake('plan')).not.toBeNull();
  });

  test('applies to that lease only', async () => {
    const leases = createLeases(redis.connect(), TENANT, 600_000);
    const first = await leases.tryTake('plan');
    await leases.tryTake('plan', 'check-target');
    expect(await leases.tryTake('lane-doctor')).not.toBeNull();
    await first?.release();
  });
});

const WAITING = `cm:{${TENANT}}:lease-waiting:plan`;

/** Redis' own clock can't be set, so what it noted of the line is moved into the past instead. */
async function passFor(connection: ReturnType<typeof redis.connect>, ms: number): Promise<void> {
  for (const [place, came] of Object.entries(await connection.hgetall(WAITING))) {
    const moved = came.split(' ').map((at) => Number(at) - ms * 1_000);
    await connection.hset(WAITING, place, moved.join(' '));
  }
}

/** A connection that counts its script runs. */
function countEvals() {
  const client = redis.connect();
  const run = vi.spyOn(client, 'eval');
  return { client, count: () => run.mock.settledResults.filter(({ type }) => type === 'fulfilled').length };
}

describe("a lease's deadline", () => {
  const TTL_MS = 60_000;

  async function hold(client = redis.connect()) {
    const lease = await createLeases(client, TENANT, TTL_MS).tryTake('plan');
    if (lease === null) throw new Error('the lease is taken');
    return lease;
  }

  test('follows the last answered renewal, with a margin of a tenth', async () => {
    const { client, count } = countEvals();
    const looking = redis.connect();
    const time = useFakeTime();
    const lease = await hold(client);
    for (let renewals = 1; renewals <= 5; renewals += 1) {
      await time.pass(20_000);
      await untilSeen(() => count() === renewals + 1, 'the renewal');
      await untilSeen(async () => (await looking.pttl(lease.key)) > TTL_MS - 5_000, 'its time in Redis');
    }
    const unanswered = vi
      .spyOn(client, 'eval')
      .mockClear()
      .mockReturnValue(new Promise(() => {}));
    await time.pass(53_999);
    expect(lease.signal.aborted).toBe(false);
    await time.pass(1);
    expect(lease.signal.aborted).toBe(true);
    expect(lease.signal.reason).toMatchObject({ actor: 'conflict', code: 'lease-lost' });
    await time.pass(10 * TTL_MS);
    expect(unanswered).toHaveBeenCalledTimes(1);
  });

  test('is measured from the sending of the request, not from the answer', async () => {
    const time = useFakeTime();
    const client = redis.connect();
    const run = client.eval.bind(client) as (...args: unknown[]) => Promise<unknown>;
    vi.spyOn(client, 'eval').mockImplementation(async (...args: unknown[]) => {
      const answer = await run(...args);
      await time.pass(10_000);
      return answer;
    });
    const lease = await hold(client);
    vi.spyOn(client, 'eval').mockReturnValue(new Promise(() => {}));
    await time.pass(43_999);
    expect(lease.signal.aborted).toBe(false);
    await time.pass(1);
    expect(lease.signal.aborted).toBe(true);
  });

  test('is measured from the sending of a renewal, not from the answer', async () => {
    const time = useFakeTime();
    const client = redis.connect();
    const lease = await hold(client);
    const answered = Promise.withResolvers<number>();
    vi.spyOn(client, 'eval')
      .mockReturnValueOnce(answered.promise)
      .mockReturnValue(new Promise(() => {}));
    await time.pass(20_000);
    await time.pass(10_000);
    answered.resolve(1);
    await time.pass(43_999);
    expect(lease.signal.aborted).toBe(false);
    await time.pass(1);
    expect(lease.signal.aborted).toBe(true);
  });

  test('stops a running call, although no code checks the lease meanwhile', async () => {
    const time = useFakeTime();
    const client = redis.connect();
    const renewed = async () => {
      const { signal } = await hold(client);
      const answered = Promise.withResolvers<number>();
      const run = vi
        .spyOn(client, 'eval')
        .mockReturnValueOnce(answered.promise)
        .mockReturnValue(new Promise(() => {}));
      return { signal, answered, run };
    };
    const once = await renewed();
    await time.pass(53_999);
    expect(once.signal.aborted).toBe(false);
    await time.pass(1);
    expect(once.signal.aborted).toBe(true);
    once.run.mockRestore();
    await redis.connect().del(`cm:{${TENANT}}:lease:plan`);
    const twice = await renewed();
    await time.pass(20_000);
    twice.answered.resolve(1);
    await time.pass(53_999);
    expect(twice.signal.aborted).toBe(false);
    await time.pass(1);
    expect(twice.signal.aborted).toBe(true);
  });

  test('is noticed by a suspended process before any of its timers fires', async () => {
    const time = useFakeTime();
    const lease = await hold();
    const before = lease.signal;
    time.jump(53_999);
    expect(lease.signal.aborted).toBe(false);
    time.jump(1);
    expect(lease.signal.aborted).toBe(true);
    expect(before.aborted).toBe(true);
  });

  test('survives failed renewals: each is retried after a ninth of its time', async () => {
    const time = useFakeTime();
    const client = redis.connect();
    const lease = await hold(client);
    const failing = vi.spyOn(client, 'eval').mockRejectedValue(new Error('away'));
    await time.pass(20_000);
    expect(failing).toHaveBeenCalledTimes(1);
    await time.pass(6_665);
    expect(failing).toHaveBeenCalledTimes(1);
    await time.pass(1);
    expect(failing).toHaveBeenCalledTimes(2);
    failing.mockRestore();
    const again = vi.spyOn(client, 'eval');
    await time.pass(6_666);
    await untilSeen(() => again.mock.settledResults[0]?.type === 'fulfilled', 'the renewal');
    await time.pass(25_000);
    expect(lease.signal.aborted).toBe(false);
  });

  test('is over when another process holds the lease: the next renewal reports it, and extends nothing', async () => {
    const time = useFakeTime();
    const connection = redis.connect();
    const client = redis.connect();
    const late = await hold(client);
    const renewals = vi.spyOn(client, 'eval');
    await connection.set(late.key, '2:somebody', 'PX', 600_000);
    await time.pass(20_000);
    await untilSeen(() => late.signal.aborted, 'the loss');
    const message = 'the lease was lost, and no data was written';
    expect(late.signal.reason).toMatchObject({ message, actor: 'conflict', code: 'lease-lost', retry: 'later' });
    expect(await connection.pttl(late.key)).toBeGreaterThan(500_000);
    await time.pass(10 * TTL_MS);
    expect(renewals).toHaveBeenCalledTimes(1);
  });

  test('ends at the release: no renewal follows, also from a running one', async () => {
    const time = useFakeTime();
    const client = redis.connect();
    const lease = await hold(client);
    const answered = Promise.withResolvers<number>();
    const run = vi.spyOn(client, 'eval').mockReturnValueOnce(answered.promise);
    await time.pass(20_000);
    await lease.release();
    answered.resolve(0);
    await time.pass(10 * TTL_MS);
    expect(run).toHaveBeenCalledTimes(2);
    time.jump(60_000);
    expect(lease.signal.aborted).toBe(false);
    expect(await redis.connect().exists(lease.key)).toBe(0);
  });

  test('stops at the release also between two renewals: no renewal follows', async () => {
    const time = useFakeTime();
    const client = redis.connect();
    const lease = await hold(client);
    await lease.release();
    const renewals = vi.spyOn(client, 'eval');
    await time.pass(10 * TTL_MS);
    expect(renewals).not.toHaveBeenCalled();
  });

  test('a release never throws, though Redis is gone', async () => {
    const client = redis.connect();
    const lease = await hold(client);
    client.disconnect();
    await expect(lease.release()).resolves.toBeUndefined();
  });
});
