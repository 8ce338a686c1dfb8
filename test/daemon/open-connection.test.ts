import { describe, expect, test } from 'vitest';
import type { Credential } from '../../src/core/model/credentials.ts';
import { MirrorError } from '../../src/core/model/errors.ts';
import { HOUR_MS, MINUTE_MS } from '../../src/core/model/time.ts';
import { connectionStatuses, type OpenConnection, withIdentity } from '../../src/daemon/open-connection.ts';
import type { BudgetPause } from '../../src/state/budget.ts';
import { NOW } from '../domain/arbitraries.ts';

const CREDENTIAL: Credential = {
  ...{ state: 'connected', reason: null, since: NOW - HOUR_MS, unansweredSince: null, version: 1 },
  ...{ grantedScopes: ['calendar'], obtainedAt: NOW - HOUR_MS, refreshedAt: null },
  ...{ accessExpiresAt: NOW + HOUR_MS, refreshExpiresAt: null },
  tokens: {
    accessToken: 'access-canary',
    refreshToken: 'refresh-canary',
    account: { subject: '7', address: 'rossi@clinic.example', domain: null },
  },
};

interface World {
  credential?: Credential | MirrorError | null;
  connection?: Partial<OpenConnection>;
  pause?: BudgetPause | null;
  lastError?: { code: string; startedAt: number };
  /** Earlier cycles, newest first. */
  earlier?: { code: string | null; startedAt: number }[];
}

/** Returns the status of one connection. */
async function statusOf({ credential = CREDENTIAL, connection = {}, pause = null, lastError, earlier = [] }: World) {
  const opened = {
    ...{ id: 'calendar', kind: 'google', scopes: ['calendar'], user: null, tokens: { login: { expected: null } } },
    budget: { pause: async () => pause },
    ...connection,
  } as unknown as OpenConnection;
  const all = lastError === undefined ? [] : [lastError, ...earlier];
  const runs = all.map(({ code, startedAt }) => ({ startedAt, error: code === null ? null : { code } }));
  const composed = {
    connections: new Map([[opened.id, opened]]),
    credentials: {
      read: async () => {
        if (credential instanceof MirrorError) throw credential;
        return credential;
      },
    },
    tenant: { runs: { list: async (limit: number) => runs.slice(0, limit) } },
  } as unknown as Parameters<typeof connectionStatuses>[0];
  const [status] = await connectionStatuses(composed, MINUTE_MS, () => NOW);
  return status;
}

describe('the status of a connection', () => {
  test('contains the account and never the tokens', async () => {
    const status = await statusOf({});
    expect(status).toMatchObject({ state: 'connected', reason: null, nextTryAt: null, usedAt: NOW - HOUR_MS });
    expect(status?.account).toContain('rossi@clinic.example');
    expect(JSON.stringify(status)).not.toContain('canary');
  });

  test('is never if no one connected, and static without managed tokens', async () => {
    expect(await statusOf({ credential: null })).toMatchObject({ state: 'never', account: null, usedAt: null });
    const fixed = await statusOf({ connection: { tokens: null, user: 'rossi' } });
    expect(fixed).toMatchObject({ state: 'static', account: 'rossi', missingScopes: [] });
  });

  test('that cannot be read requires a new connection, with the code of the error, and hides no other (sealing-key-unknown)', async () => {
    const error = new MirrorError('no key', { actor: 'settings', code: 'sealing-key-unknown', retry: 'never' });
    expect(await statusOf({ credential: error })).toMatchObject({
      ...{ state: 'needs-login', reason: 'sealing-key-unknown', account: null },
    });
  });

  test('that was refused once is retried, with the time', async () => {
    const refused = { ...CREDENTIAL, refusedAt: NOW - 1_000 };
    expect(await statusOf({ credential: refused })).toMatchObject({
      ...{ state: 'retrying', nextTryAt: NOW - 1_000 + MINUTE_MS },
    });
    const ended = { ...refused, state: 'needs-login', reason: 'refresh-refused' } as const;
    expect(await statusOf({ credential: ended })).toMatchObject({ state: 'needs-login', reason: 'refresh-refused' });
  });

  test('whose account no one confirmed is unconfirmed even if it works (account-unconfirmed)', async () => {
    const unconfirmed = { ...CREDENTIAL, tokens: { ...CREDENTIAL.tokens, isUnconfirmed: true } };
    expect(await statusOf({ credential: unconfirmed })).toMatchObject({
      ...{ state: 'unconfirmed', reason: 'account-unconfirmed' },
    });
  });

  test('names the scopes that were not granted', async () => {
    expect(await statusOf({ credential: { ...CREDENTIAL, grantedScopes: [] } })).toMatchObject({
      missingScopes: ['calendar'],
    });
  });

  test('of a clinic has no tenant if the last cycle since the connection reported that (tenant-choice)', async () => {
    const connection = { id: 'clinic', kind: 'clinic' };
    const lastError = { code: 'tenant-choice', startedAt: NOW };
    expect(await statusOf({ connection, lastError })).toMatchObject({ state: 'no-tenant', reason: 'tenant-choice' });
    const before = { ...lastError, startedAt: CREDENTIAL.obtainedAt - 1 };
    expect(await statusOf({ connection, lastError: before })).toMatchObject({ state: 'connected' });
    expect(await statusOf({ lastError })).toMatchObject({ state: 'connected' });
    const other = { ...lastError, code: 'server-error' };
    expect(await statusOf({ connection, lastError: other })).toMatchObject({ state: 'connected' });
  });

  test('of a clinic without a tenant counts from the first cycle that reported it, not from the connection', async () => {
    const connection = { id: 'clinic', kind: 'clinic' };
    const code = 'tenant-choice';
    const lastError = { code, startedAt: NOW };
    const since = async (earlier: World['earlier']) =>
      (await statusOf({ connection, lastError, earlier: earlier! }))?.sinceAt;
    expect(await since([])).toBe(NOW);
    expect(await since([{ code: null, startedAt: NOW - 1_000 }])).toBe(NOW);
    const cycles = [1, 2, 3].map((count) => ({ code, startedAt: NOW - count * 1_000 }));
    expect(
      await since([...cycles, { code: 'server-error', startedAt: NOW - 4_000 }, { code, startedAt: NOW - 5_000 }]),
    ).toBe(NOW - 3_000);
    expect(await since([{ code, startedAt: CREDENTIAL.obtainedAt - 1 }])).toBe(NOW);
  });

  test.each([
    [false, 'rate-limited'],
    [true, 'client-rate-limited'],
  ])('contains the pause after rate-limit refusals, of all participants: %s (%s)', async (isOfAll, code) => {
    const pause = { remainingMs: MINUTE_MS, lastedMs: HOUR_MS, isOfAll };
    expect((await statusOf({ pause }))?.pause).toEqual({ code, sinceAt: NOW - HOUR_MS, untilAt: NOW + MINUTE_MS });
  });

  test('is absent for a tenant that does not run', async () => {
    expect(await connectionStatuses(undefined, MINUTE_MS, () => NOW)).toEqual([]);
  });
});

test('identity scopes are requested only with other scopes', () => {
  expect(withIdentity(['openid'], ['calendar'])).toEqual(['openid', 'calendar']);
  expect(withIdentity(['openid'], [])).toEqual([]);
});
