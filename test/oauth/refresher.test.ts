import { describe, expect, test, vi } from 'vitest';
import { silentLogger } from '../../src/core/log/logger.ts';
import type { Credential } from '../../src/core/model/credentials.ts';
import { MirrorError } from '../../src/core/model/errors.ts';
import type { CredentialStorage, HeldLease } from '../../src/oauth/credential.ts';
import { createRefresher } from '../../src/oauth/refresh.ts';
import type { TokenAnswer } from '../../src/oauth/token-requests.ts';

const NOW = Date.parse('2026-06-15T08:00:00Z');
const STORED: Credential = {
  version: 1,
  tokens: { accessToken: 'access-0', refreshToken: 'refresh-0' },
  grantedScopes: ['agenda', 'patients'],
  obtainedAt: NOW - 9_000,
  refreshedAt: null,
  accessExpiresAt: NOW,
  refreshExpiresAt: null,
  state: 'connected',
  reason: null,
  since: NOW - 9_000,
  unansweredSince: null,
};
const ANSWER: TokenAnswer = {
  accessToken: 'access-1',
  refreshToken: 'refresh-1',
  accessLifeMs: 3_600_000,
  refreshLifeMs: null,
  scopes: null,
  baseUrl: null,
  account: null,
  sentAt: NOW,
};

const failure = (code: string, changes: Partial<ConstructorParameters<typeof MirrorError>[1]> = {}) =>
  new MirrorError('x', { actor: 'remote', code, retry: 'later', ...changes });
const lost = failure('connection-failed', { ambiguous: true });
const away = failure('redis-failed');
const refused = failure('login-ended', { actor: 'authorization', retry: 'never' });

/** One process over a store in memory. */
function open({ stored = STORED as Credential | null, answers = [ANSWER] as (TokenAnswer | MirrorError)[] } = {}) {
  const world = { stored, now: NOW, leases: 0, isLeaseBusy: false, writesFail: 0, notesFail: false };
  const pauses: number[] = [];
  const events: string[] = [];
  const log = { ...silentLogger, warn: vi.fn(), info: vi.fn() };
  /** Called with each pause: what happens meanwhile. */
  const meanwhile = { pause: (_count: number) => {}, asked: async () => {} };
  const credentials: CredentialStorage = {
    read: async () => world.stored,
    recent: async () => world.stored,
    async write(_lease, connection, expectedVersion, next) {
      events.push(`write ${connection} ${expectedVersion}`);
      if (world.writesFail-- > 0) throw away;
      if (world.stored?.version !== expectedVersion) return false;
      world.stored = next;
      return true;
    },
    async record(_lease, _connection, version, standing) {
      events.push(`note ${standing.state} ${standing.reason} ${standing.unansweredSince}`);
      if (world.notesFail) throw away;
      if (world.stored?.version !== version) return false;
      world.stored = { ...world.stored, ...standing };
      return true;
    },
    remove: async () => true,
  };
  const lease: HeldLease = {
    key: 'k',
    token: 't',
    async release() {
      world.leases -= 1;
      throw new Error('Redis is away');
    },
  };
  const tryTake = async (name: string) => {
    expect(name).toBe('credential:clinic');
    if (world.isLeaseBusy) return null;
    world.leases += 1;
    expect(world.leases).toBe(1);
    return lease;
  };
  const asked: string[] = [];
  const refresher = createRefresher({
    context: {
      tenant: 'studio',
      connection: 'clinic',
      credentials,
      leases: { tryTake, take: () => Promise.reject(away) },
    },
    server: {
      async refresh(refreshToken: string) {
        asked.push(refreshToken);
        events.push('ask');
        await meanwhile.asked();
        const answer = answers[asked.length - 1];
        if (answer === undefined) throw new Error('unexpected request');
        if (answer instanceof MirrorError) throw answer;
        return answer;
      },
    },
    scopes: ['agenda', 'patients'],
    clock: () => world.now,
    ...{ log, confirmAfterMs: 120_000 },
    async pause(durationMs) {
      pauses.push(durationMs);
      meanwhile.pause(pauses.length);
    },
  });
  return { world, refresher, asked, events, pauses, log, meanwhile };
}

const told = (calls: { mock: { calls: unknown[][] } }) => calls.mock.calls;
const errorOf = (work: Promise<unknown>): Promise<MirrorError> =>
  work.then(
    () => failure('nothing failed'),
    (error) => error,
  );

describe('a refresh', () => {
  test('stores its intent, sends the request, and stores the answer before any use', async () => {
    const { world, refresher, asked, events, log } = open();
    const credential = await refresher.refresh(1);
    expect(credential).toMatchObject({ version: 2, tokens: { accessToken: 'access-1', refreshToken: 'refresh-1' } });
    expect(world.stored).toEqual(credential);
    expect(credential.unansweredSince).toBeNull();
    expect(asked).toEqual(['refresh-0']);
    expect(events).toEqual([`note connected null ${NOW}`, 'ask', 'write clinic 1']);
    expect(world.leases).toBe(0);
    expect(told(log.info)).toEqual([
      [{ connection: 'clinic', accessExpiresAt: NOW + 3_600_000 }, 'tokens were refreshed'],
    ]);
    expect(told(log.warn)).toEqual([]);
  });

  test('is shared by all callers with the same stale token, and is then over', async () => {
    const { refresher, asked } = open({ answers: [ANSWER, { ...ANSWER, accessToken: 'access-2' }] });
    const [one, other] = await Promise.all([refresher.refresh(1), refresher.refresh(1)]);
    expect(one).toBe(other);
    expect(asked).toHaveLength(1);
    expect((await refresher.refresh(2)).tokens.accessToken).toBe('access-2');
    expect(await refresher.refresh(1)).toMatchObject({ version: 3 });
    expect(asked).toHaveLength(2);
  });

  test('reports scopes that the provider removed', async () => {
    const { refresher, log } = open({ answers: [{ ...ANSWER, scopes: ['agenda'] }] });
    expect(await refresher.refresh(1)).toMatchObject({ reason: 'missing-scopes', grantedScopes: ['agenda'] });
    expect(told(log.warn)).toEqual([[{ connection: 'clinic', lostScopes: ['patients'] }, 'provider removed scopes']]);
  });

  test('delays the shutdown until its end', async () => {
    const { refresher, meanwhile } = open();
    const answer = Promise.withResolvers<void>();
    meanwhile.asked = () => answer.promise;
    const flight = refresher.refresh(1);
    let isIdle = false;
    const settled = refresher.whenIdle().then(() => {
      isIdle = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(isIdle).toBe(false);
    answer.resolve();
    await settled;
    expect(await flight).toMatchObject({ version: 2 });
  });

  test('sends no request for an ended or missing connection, or without a refresh token', async () => {
    const ended = open({ stored: { ...STORED, state: 'needs-login', reason: 'login-ended' } });
    expect(await errorOf(ended.refresher.refresh(1))).toMatchObject({ actor: 'authorization', code: 'login-ended' });
    const none = open({ stored: null });
    expect(await errorOf(none.refresher.refresh(1))).toMatchObject({ code: 'not-connected' });
    const tokenless = open({ stored: { ...STORED, tokens: { accessToken: 'a', refreshToken: null } } });
    expect(await errorOf(tokenless.refresher.refresh(1))).toMatchObject({ code: 'no-refresh-token' });
    expect(tokenless.world.stored).toMatchObject({ state: 'needs-login', reason: 'no-refresh-token', since: NOW });
    expect([...ended.asked, ...none.asked, ...tokenless.asked]).toEqual([]);
  });
});

describe('while another process is at work', () => {
  test('what it stored is taken at once', async () => {
    const { world, refresher, asked, pauses } = open();
    Object.assign(world, { isLeaseBusy: true, stored: { ...STORED, version: 2 } });
    expect(await refresher.refresh(1)).toMatchObject({ version: 2 });
    expect([asked, pauses]).toEqual([[], []]);
  });

  test('the lease is checked every tenth of a second, and the refresh continues when it is free', async () => {
    const { world, refresher, pauses, meanwhile } = open();
    world.isLeaseBusy = true;
    meanwhile.pause = (count) => {
      if (count === 3) world.isLeaseBusy = false;
    };
    expect(await refresher.refresh(1)).toMatchObject({ version: 2 });
    expect(pauses).toEqual([100, 100, 100]);
  });

  test('the wait ends after at most 75 seconds', async () => {
    const { world, refresher, pauses } = open();
    world.isLeaseBusy = true;
    expect(await errorOf(refresher.refresh(1))).toMatchObject({
      message: 'another process uses the same connection',
      actor: 'remote',
      code: 'lease-busy',
      retry: 'later',
    });
    expect(pauses).toEqual(Array(750).fill(100));
  });

  test('what it did just before is seen under the lease', async () => {
    const { refresher, asked } = open({ stored: { ...STORED, version: 5 } });
    expect(await refresher.refresh(1)).toMatchObject({ version: 5 });
    expect(asked).toEqual([]);
  });

  test('a refresh that lost its lease before it asked asks nothing', async () => {
    const { world, refresher, asked } = open();
    let reads = 0;
    const peer = { ...STORED, version: 7 };
    Object.defineProperty(world, 'stored', { get: () => (reads++ === 0 ? STORED : peer) });
    expect(await refresher.refresh(1)).toMatchObject({ version: 7 });
    expect(asked).toEqual([]);
  });
});

/** A wait that chance makes longer, up to the double of it. */
function upToDoubled(leastMs: number) {
  return expect.toSatisfy((pausedMs: number) => pausedMs >= leastMs && pausedMs <= leastMs * 2);
}

describe('a store that is away when the new tokens came', () => {
  test('gets them later, and they are not used before', async () => {
    const { world, refresher, asked, pauses, log } = open();
    world.writesFail = 3;
    expect(await refresher.refresh(1)).toMatchObject({ version: 2 });
    expect([asked.length, pauses]).toEqual([1, [250, 500, 1_000].map(upToDoubled)]);
    expect(told(log.warn)).toEqual(
      [1, 2, 3].map((attempt) => [
        { connection: 'clinic', attempt, code: 'redis-failed' },
        'new tokens are not stored yet, retrying',
      ]),
    );
  });

  test('is tried seven times, then the next refresh stores them instead of asking again', async () => {
    const { world, refresher, asked, pauses } = open();
    world.writesFail = 7;
    expect(await errorOf(refresher.refresh(1))).toBe(away);
    expect(pauses).toEqual([...[250, 500, 1_000, 2_000, 4_000].map(upToDoubled), 8_000]);
    expect(await refresher.refresh(1)).toMatchObject({ version: 2, tokens: { refreshToken: 'refresh-1' } });
    expect(asked).toHaveLength(1);
    // They are stored: the next one asks.
    expect(await errorOf(refresher.refresh(2))).toMatchObject({ message: expect.anything() });
    expect(asked).toEqual(['refresh-0', 'refresh-1']);
  });

  test('that holds another connection by then keeps that one', async () => {
    const { world, refresher, asked } = open();
    world.writesFail = 7;
    await errorOf(refresher.refresh(1));
    world.stored = { ...STORED, version: 9 };
    expect(await refresher.refresh(1)).toMatchObject({ version: 9 });
    expect(world.stored).toMatchObject({ tokens: { refreshToken: 'refresh-0' } });
    expect(asked).toHaveLength(1);
  });

  test('and has none by then stays without', async () => {
    const { world, refresher } = open();
    world.writesFail = 7;
    await errorOf(refresher.refresh(1));
    world.stored = null;
    expect(await errorOf(refresher.refresh(1))).toMatchObject({ code: 'not-connected' });
    expect(world.stored).toBeNull();
  });

  test('an error before any tokens came is not retried here', async () => {
    const { world, refresher, asked, pauses } = open();
    world.notesFail = true;
    expect(await errorOf(refresher.refresh(1))).toBe(away);
    expect([asked, pauses]).toEqual([[], []]);
  });

  test('a connection that an operator made during the request is not overwritten', async () => {
    const { world, refresher, meanwhile } = open();
    meanwhile.asked = async () => {
      world.stored = { ...STORED, version: 9 };
    };
    expect(await refresher.refresh(1)).toMatchObject({ version: 9 });
    expect(world.stored).toMatchObject({ version: 9, tokens: { refreshToken: 'refresh-0' } });
  });
});

describe('an answer that is lost', () => {
  test('is requested once more, with the same token', async () => {
    const { refresher, asked } = open({ answers: [lost, ANSWER] });
    expect(await refresher.refresh(1)).toMatchObject({ version: 2, unansweredSince: null });
    expect(asked).toEqual(['refresh-0', 'refresh-0']);
  });

  test('twice leaves the connection unchanged, and records since when the state of the provider is unknown', async () => {
    const { world, refresher } = open({ answers: [lost, lost] });
    expect(await errorOf(refresher.refresh(1))).toBe(lost);
    expect(world.stored).toMatchObject({
      state: 'connected',
      reason: 'connection-failed',
      since: NOW,
      unansweredSince: NOW,
    });
    const later = open({ stored: { ...STORED, unansweredSince: NOW - 5_000 }, answers: [failure('server-error')] });
    expect(await errorOf(later.refresher.refresh(1))).toMatchObject({ code: 'server-error' });
    expect(later.world.stored).toMatchObject({ unansweredSince: NOW - 5_000 });
  });

  test('is certain if the provider clearly said that it did nothing', async () => {
    const { world, refresher, asked } = open({ answers: [failure('server-error')] });
    await errorOf(refresher.refresh(1));
    expect(world.stored).toMatchObject({ state: 'connected', reason: 'server-error', unansweredSince: null });
    expect(asked).toHaveLength(1);
  });

  test.each([
    ['in this refresh', STORED, [lost, refused]],
    ['in an earlier one', { ...STORED, unansweredSince: NOW - 5_000 }, [refused]],
  ])('%s is recorded as the reason when a token is refused', async (_, stored, answers) => {
    const { world, refresher } = open({ stored, answers });
    expect(await errorOf(refresher.refresh(1))).toMatchObject({ actor: 'authorization', code: 'refresh-answer-lost' });
    expect(world.stored).toMatchObject({ state: 'needs-login', reason: 'refresh-answer-lost', unansweredSince: null });
  });

  test('is not why, where an administrator must set something right first', async () => {
    const inactive = failure('account-inactive', { actor: 'authorization', retry: 'never' });
    const { world, refresher } = open({ answers: [lost, inactive] });
    expect(await errorOf(refresher.refresh(1))).toMatchObject({ code: 'account-inactive' });
    expect(world.stored).toMatchObject({ reason: 'account-inactive' });
  });
});

describe('a refused token', () => {
  test('ends the connection, which is reported', async () => {
    const { world, refresher, log } = open({ answers: [refused] });
    expect(await errorOf(refresher.refresh(1))).toMatchObject({
      actor: 'authorization',
      code: 'login-ended',
      retry: 'never',
    });
    expect(world.stored).toMatchObject({ state: 'needs-login', reason: 'login-ended', since: NOW, version: 1 });
    expect(told(log.warn)).toEqual([
      [{ connection: 'clinic', reason: 'login-ended' }, 'connection expired: an administrator must connect again'],
    ]);
  });

  test('does not end it when another process has a newer one', async () => {
    const { world, refresher, meanwhile, log } = open({ answers: [refused] });
    meanwhile.asked = async () => {
      // The lease is held by now, so that the refresher can record nothing.
      Object.assign(world, { stored: { ...STORED, version: 4 }, notesFail: true });
    };
    expect(await refresher.refresh(1)).toMatchObject({ version: 4, state: 'connected' });
    expect(told(log.warn)).toEqual([]);
  });

  test('does not end it when another process takes over in that moment', async () => {
    const { world, refresher, meanwhile, log } = open({ answers: [refused] });
    let reads = 0;
    meanwhile.asked = async () => {
      // The first read returns the old state, so that the record comes too late.
      Object.defineProperty(world, 'stored', { get: () => ({ ...STORED, version: reads++ === 0 ? 1 : 4 }) });
    };
    expect(await refresher.refresh(1)).toMatchObject({ version: 4 });
    expect(told(log.warn)).toEqual([]);
  });

  test('that cannot be recorded is still reported', async () => {
    const { world, refresher, meanwhile, log } = open({ answers: [failure('server-error')] });
    meanwhile.asked = async () => {
      world.notesFail = true;
    };
    expect(await errorOf(refresher.refresh(1))).toMatchObject({ code: 'server-error' });
    expect(told(log.warn)).toEqual([[{ connection: 'clinic' }, 'failed refresh could not be recorded']]);
  });
});
