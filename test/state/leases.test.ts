import { describe, expect, test } from 'vitest';
import { createLeases, isFenced } from '../../src/state/leases.ts';
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

  test('is kept for longer than its time by a holder that lives', async () => {
    const connection = redis.connect();
    const leases = createLeases(connection, TENANT, 240);
    const lease = await leases.tryTake('plan');
    const seen: number[] = [];
    await waitFor(
      async () => {
        const left = await connection.pttl(lease?.key ?? '');
        if (seen.at(-1) !== undefined && left > (seen.at(-1) ?? 0)) return true;
        seen.push(left);
        return false;
      },
      { what: 'the lease to be renewed' },
    );
    expect(lease?.signal.aborted).toBe(false);
    expect(await leases.tryTake('plan')).toBeNull();
    await lease?.release();
  });

  test('ends by itself when its holder died', async () => {
    const holder = redis.connect();
    const lease = await createLeases(holder, TENANT, 300).tryTake('plan');
    expect(lease).not.toBeNull();
    holder.disconnect();
    const leases = createLeases(redis.connect(), TENANT, 60_000);
    const next = await waitFor(() => leases.tryTake('plan'), { what: 'the dead holder to be succeeded' });
    expect(numberOf(next.token)).toBe(2);
  });

  test('tells its holder when it was lost', async () => {
    const connection = redis.connect();
    const lease = await createLeases(connection, TENANT, 150).tryTake('plan');
    await connection.del(lease?.key ?? '');
    await waitFor(() => lease?.signal.aborted, { what: 'the loss to be noticed' });
    expect(lease?.signal.reason).toMatchObject({ actor: 'conflict', code: 'lease-lost' });
  });

  test('tells its holder when Redis was away for longer than it lasts', async () => {
    const lease = await createLeases(redis.connect(), TENANT, 300).tryTake('plan');
    await redis.crash();
    await waitFor(() => lease?.signal.aborted, { what: 'the loss to be noticed' });
  });

  test('released late is not taken from whoever holds it now', async () => {
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

describe('whoever waits for a lease', () => {
  test('gets it when it is free', async () => {
    const leases = createLeases(redis.connect(), TENANT, 60_000);
    const first = await leases.tryTake('plan');
    const waiting = leases.take('plan', 10_000, NEVER);
    await first?.release();
    expect(numberOf((await waiting).token)).toBe(2);
  });

  test('is told that somebody else is at work when the wait is over', async () => {
    const leases = createLeases(redis.connect(), TENANT, 60_000);
    await leases.tryTake('plan');
    await expect(leases.take('plan', 50, NEVER)).rejects.toMatchObject({
      actor: 'remote',
      code: 'lease-busy',
      retry: 'later',
    });
  });

  test('waits no longer when it is told to stop', async () => {
    const leases = createLeases(redis.connect(), TENANT, 60_000);
    await leases.tryTake('plan');
    const stop = new AbortController();
    const waiting = leases.take('plan', 60_000, stop.signal);
    stop.abort(new Error('stopped'));
    await expect(waiting).rejects.toThrow('stopped');
  });
});

test('only the refusal of a fenced script is taken for one', () => {
  expect(isFenced(new Error('FENCED script: 1234, on @user_script:1.'))).toBe(true);
  expect(isFenced(new Error('Connection is closed.'))).toBe(false);
  expect(isFenced('FENCED')).toBe(false);
});
