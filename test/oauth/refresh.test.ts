import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { MirrorError } from '../../src/core/model/errors.ts';
import { useRedis } from '../support/redis.ts';
import { connect, NEVER, openWorker, refusedOnce } from './connection.ts';
import { type Answer, oauthError, rotatingTokens, startTokenServer, tokensNamed } from './token-server.ts';

const redis = useRedis();

async function open(changes: Partial<Parameters<typeof openWorker>[0]> = {}) {
  const server = await startTokenServer();
  const worker = openWorker({ redis: redis.connect(), issuer: server.url, ...changes });
  return { server, worker };
}

/** A store that takes no tokens while it is away; notes it takes. */
function tokensRefusedWhile(away: { isAway: boolean }): NonNullable<Parameters<typeof openWorker>[0]['wrapStore']> {
  return (store) => ({
    ...store,
    async write(...args) {
      if (args[2] !== null && away.isAway)
        throw new MirrorError('away', { actor: 'remote', code: 'redis-failed', retry: 'later' });
      return store.write(...args);
    },
  });
}

describe('one refresh at a time', () => {
  test('50 workers with separate connections to Redis refresh a rotating token: one call, no family revoked', async () => {
    const { server, worker } = await open();
    const rotating = rotatingTokens();
    server.onToken = rotating.onToken;
    await connect(worker);
    const workers = Array.from({ length: 50 }, () => openWorker({ redis: redis.connect(), issuer: server.url }));
    const headers = await Promise.all(workers.map((each) => each.authorizer.header(NEVER)));
    expect(new Set(headers)).toEqual(new Set(['Bearer access-1']));
    expect(rotating.seen).toEqual({ refreshes: 1, revocations: 0 });
  });

  test('50 workers that all met a 401 renew once between them', async () => {
    const { server, worker } = await open();
    const rotating = rotatingTokens();
    server.onToken = rotating.onToken;
    await connect(worker, { accessExpiresAt: Date.now() + 86_400_000 });
    const workers = Array.from({ length: 50 }, () => openWorker({ redis: redis.connect(), issuer: server.url }));
    const headers = await Promise.all(workers.map((each) => each.authorizer.renew(NEVER)));
    expect(new Set(headers)).toEqual(new Set(['Bearer access-1']));
    expect(rotating.seen).toEqual({ refreshes: 1, revocations: 0 });
  });

  test('callers in one process share the refresh, and one that stops waiting does not stop it', async () => {
    const { server, worker } = await open();
    let answer: (value: Answer) => void = () => {};
    server.onToken = () => new Promise((resolve) => (answer = resolve));
    await connect(worker);
    const impatient = new AbortController();
    const abandoned = worker.authorizer.header(impatient.signal);
    const patient = worker.authorizer.header(NEVER);
    await expect.poll(() => server.forms('/token').length).toBe(1);
    impatient.abort();
    await expect(abandoned).rejects.toMatchObject({ actor: 'remote', code: 'aborted' });
    let isIdle = false;
    const settled = worker.refresher.whenIdle().then(() => (isIdle = true));
    expect(await worker.credentials.read('clinic')).toMatchObject({ version: 1, unansweredSince: expect.any(Number) });
    expect(isIdle).toBe(false);
    answer({ body: { ...tokensNamed(1), expires_in: 3_600 } });
    expect(await patient).toBe('Bearer access-1');
    await settled;
    expect(server.forms('/token')).toHaveLength(1);
    expect((await worker.credentials.read('clinic'))?.tokens.refreshToken).toBe('refresh-1');
  });

  test('a token that is not due is given without asking anybody', async () => {
    const { server, worker } = await open();
    await connect(worker, { accessExpiresAt: Date.now() + 3_600_000 });
    expect(await worker.authorizer.header(NEVER)).toBe('Bearer access-0');
    expect(server.posted).toEqual([]);
    expect(await worker.authorizer.refreshIfDue(NEVER)).toBe(false);
  });
});

describe('what was received is stored before anybody uses it', () => {
  test('a store that fails after the answer gets the rotated token later, and it is not used before', async () => {
    let failures = 3;
    const { server, worker } = await open({
      wrapStore: (store) => ({
        ...store,
        async write(...args) {
          if (args[2] !== null && failures-- > 0)
            throw new MirrorError('away', { actor: 'remote', code: 'redis-failed', retry: 'later' });
          return store.write(...args);
        },
      }),
    });
    const rotating = rotatingTokens();
    server.onToken = rotating.onToken;
    await connect(worker);
    expect(await worker.authorizer.header(NEVER)).toBe('Bearer access-1');
    expect(failures).toBe(-1);
    expect(rotating.seen).toEqual({ refreshes: 1, revocations: 0 });
    expect(await openWorker({ redis: redis.connect(), issuer: server.url }).authorizer.header(NEVER)).toBe(
      'Bearer access-1',
    );
  });

  test('when the store stays away the token is kept, and stored by a later refresh instead of asking again', async () => {
    const away = { isAway: true };
    const { server, worker } = await open({ wrapStore: tokensRefusedWhile(away) });
    const rotating = rotatingTokens();
    server.onToken = rotating.onToken;
    const { version } = await connect(worker);
    await expect(worker.refresher.refresh(version)).rejects.toMatchObject({ code: 'redis-failed' });
    away.isAway = false;
    expect((await worker.refresher.refresh(version)).tokens.accessToken).toBe('access-1');
    expect(rotating.seen).toEqual({ refreshes: 1, revocations: 0 });
  });

  test('the provider receives no request while the store is away', async () => {
    const { server, worker } = await open({
      wrapStore: (store) => ({
        ...store,
        async record() {
          throw new MirrorError('away', { actor: 'remote', code: 'redis-failed', retry: 'later' });
        },
      }),
    });
    const { version } = await connect(worker);
    await expect(worker.refresher.refresh(version)).rejects.toMatchObject({ code: 'redis-failed' });
    expect(server.posted).toEqual([]);
  });

  test('a crash between receipt and commit ends the connection on a strict server, and the reason names the crash', async () => {
    const crashed = await open({
      wrapStore: (store) => ({
        ...store,
        write: (...args) => (args[2] === null ? store.write(...args) : new Promise(() => {})),
      }),
      leaseTtlMs: 600_000,
    });
    const rotating = rotatingTokens();
    crashed.server.onToken = rotating.onToken;
    const { version } = await connect(crashed.worker);
    void crashed.worker.refresher.refresh(version);
    await expect.poll(() => rotating.seen.refreshes).toBe(1);
    // The process is gone and its lease has run out.
    await redis.connect().del('cm:{studio-rossi}:lease:credential:clinic');
    const next = openWorker({ redis: redis.connect(), issuer: crashed.server.url });
    await refusedOnce(next);
    await expect(next.authorizer.header(NEVER)).rejects.toMatchObject({
      actor: 'authorization',
      code: 'refresh-answer-lost',
    });
    const stored = await next.credentials.read('clinic');
    expect(stored).toMatchObject({
      state: 'needs-login',
      reason: 'refresh-answer-lost',
      tokens: { refreshToken: 'refresh-0' },
    });
    const calls = crashed.server.posted.length;
    await expect(next.authorizer.header(NEVER)).rejects.toMatchObject({ code: 'refresh-answer-lost' });
    expect(crashed.server.posted).toHaveLength(calls);
  });

  test('a worker that lost its lease in mid-refresh still gets its rotated token stored', async () => {
    const { server, worker } = await open();
    const rotating = rotatingTokens();
    server.onToken = async (form) => {
      await redis.connect().del('cm:{studio-rossi}:lease:credential:clinic');
      return rotating.onToken(form);
    };
    await connect(worker);
    expect(await worker.authorizer.header(NEVER)).toBe('Bearer access-1');
    expect(await worker.credentials.read('clinic')).toMatchObject({
      version: 2,
      state: 'connected',
      unansweredSince: null,
    });
    expect(rotating.seen).toEqual({ refreshes: 1, revocations: 0 });
  });

  test('a connection that an operator made meanwhile is not overwritten by a late refresh', async () => {
    const { server, worker } = await open();
    const person = openWorker({ redis: redis.connect(), issuer: server.url });
    server.onToken = async () => {
      await redis.connect().del('cm:{studio-rossi}:lease:credential:clinic');
      const lease = await person.place.leases.take('credential:clinic', 1_000, NEVER);
      const before = await person.credentials.read('clinic');
      if (before === null) throw new Error('no credential');
      const tokens = { accessToken: 'access-new', refreshToken: 'refresh-new' };
      await person.credentials.write(lease, 'clinic', before.version, {
        ...before,
        version: 900,
        tokens,
        accessExpiresAt: null,
      });
      await lease.release();
      return { body: { ...tokensNamed(1), expires_in: 3_600 } };
    };
    await connect(worker);
    expect(await worker.authorizer.header(NEVER)).toBe('Bearer access-new');
    expect((await worker.credentials.read('clinic'))?.tokens.refreshToken).toBe('refresh-new');
  });

  test('a connection that was disconnected in mid-refresh stays disconnected', async () => {
    const { server, worker } = await open();
    server.onToken = async () => {
      await worker.credentials.remove('clinic');
      return { body: { ...tokensNamed(1), expires_in: 3_600 } };
    };
    await connect(worker);
    await expect(worker.authorizer.header(NEVER)).rejects.toMatchObject({
      actor: 'authorization',
      code: 'not-connected',
    });
    expect(await worker.credentials.read('clinic')).toBeNull();
  });
});

describe('answers of the token endpoint', () => {
  test('an answer without a refresh token keeps the old one', async () => {
    const { server, worker } = await open();
    server.onToken = () => ({ body: { access_token: 'access-1', token_type: 'Bearer', expires_in: 3_600 } });
    await connect(worker, { refreshExpiresAt: 5_000_000_000_000 });
    await worker.authorizer.header(NEVER);
    expect(await worker.credentials.read('clinic')).toMatchObject({
      tokens: { accessToken: 'access-1', refreshToken: 'refresh-0' },
      refreshExpiresAt: 5_000_000_000_000,
    });
  });

  test.each([
    ['absent', undefined],
    ['null', null],
    ['0', 0],
    ['negative', -5],
    ['a word', 'soon'],
    ['an empty text', ''],
  ])(
    'expires_in %s: the token is used until it is refused, without refreshing again and again',
    async (_name, expires_in) => {
      const { server, worker } = await open();
      server.onToken = () => ({ body: { ...tokensNamed(1), expires_in } });
      await connect(worker);
      for (let call = 0; call < 3; call += 1) expect(await worker.authorizer.header(NEVER)).toBe('Bearer access-1');
      expect((await worker.credentials.read('clinic'))?.accessExpiresAt).toBeNull();
      expect(server.forms('/token')).toHaveLength(1);
    },
  );

  test('expires_in as a text is a number of seconds', async () => {
    const { server, worker } = await open();
    server.onToken = () => ({ body: { ...tokensNamed(1), expires_in: '3600' } });
    await connect(worker);
    const before = Date.now();
    await worker.authorizer.header(NEVER);
    const { accessExpiresAt } = (await worker.credentials.read('clinic')) ?? {};
    expect(accessExpiresAt).toBeGreaterThanOrEqual(before + 3_600_000);
    expect(accessExpiresAt).toBeLessThanOrEqual(Date.now() + 3_600_000);
  });

  test.each([-10, 10])(
    'a server whose clock is %i minutes off changes nothing: lives are counted by our own clock',
    async (minutes) => {
      const { server, worker } = await open();
      const off = () => Date.now() + minutes * 60_000;
      server.dateHeader = () => new Date(off()).toUTCString();
      const claims = {
        iss: server.url,
        aud: 'client-1',
        sub: 'x',
        iat: Math.floor(off() / 1_000),
        exp: Math.floor(off() / 1_000) + 60,
      };
      const idToken = [{ alg: 'RS256' }, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'));
      server.onToken = () => ({
        body: { ...tokensNamed(1), expires_in: 3_600, id_token: `${idToken.join('.')}.c2ln` },
      });
      await connect(worker);
      expect(await worker.authorizer.header(NEVER)).toBe('Bearer access-1');
      const { accessExpiresAt = 0 } = (await worker.credentials.read('clinic')) ?? {};
      expect(Math.abs((accessExpiresAt ?? 0) - Date.now() - 3_600_000)).toBeLessThan(10_000);
      expect(await worker.authorizer.header(NEVER)).toBe('Bearer access-1');
      expect(server.forms('/token')).toHaveLength(1);
    },
  );

  test('a scope that the provider takes away at a refresh is noticed and told', async () => {
    const { server, worker } = await open();
    server.onToken = () => ({ body: { ...tokensNamed(1), expires_in: 3_600, scope: 'openid svc.agenda' } });
    await connect(worker);
    expect(await worker.authorizer.header(NEVER)).toBe('Bearer access-1');
    expect(await worker.credentials.read('clinic')).toMatchObject({
      state: 'connected',
      reason: 'missing-scopes',
      grantedScopes: ['openid', 'svc.agenda'],
    });
    expect(worker.logged.join('\n')).toMatch(/removed scopes.*svc\.patients/);
  });

  test('odd members of a good answer do not lose its rotated token', async () => {
    const { server, worker } = await open();
    server.onToken = () => ({
      body: {
        access_token: 'access-1',
        refresh_token: 'refresh-1',
        expires_in: null,
        scope: ['svc.agenda', 'svc.patients'],
        id_token: 7,
        x: null,
      },
      contentType: 'text/plain',
    });
    await connect(worker);
    expect(await worker.authorizer.header(NEVER)).toBe('Bearer access-1');
    expect(await worker.credentials.read('clinic')).toMatchObject({
      tokens: { refreshToken: 'refresh-1' },
      reason: null,
    });
  });
});

describe('when the refresh fails', () => {
  test('invalid_grant after another worker rotated: the store is read again, the connection lives', async () => {
    const { server, worker } = await open();
    const peer = openWorker({ redis: redis.connect(), issuer: server.url });
    server.onToken = async () => {
      await redis.connect().del('cm:{studio-rossi}:lease:credential:clinic');
      const lease = await peer.place.leases.take('credential:clinic', 1_000, NEVER);
      const before = await peer.credentials.read('clinic');
      if (before === null) throw new Error('no credential');
      const tokens = { accessToken: 'access-peer', refreshToken: 'refresh-peer' };
      await peer.credentials.write(lease, 'clinic', 1, {
        ...before,
        version: 2,
        tokens,
        accessExpiresAt: Date.now() + 3_600_000,
      });
      await lease.release();
      return oauthError('invalid_grant');
    };
    await connect(worker);
    expect(await worker.authorizer.header(NEVER)).toBe('Bearer access-peer');
    expect((await worker.credentials.read('clinic'))?.state).toBe('connected');
  });

  test('invalid_grant while a peer holds the lease declares nothing dead: it may just be storing its answer', async () => {
    const { server, worker } = await open();
    const peer = openWorker({ redis: redis.connect(), issuer: server.url });
    server.onToken = async () => {
      await redis.connect().del('cm:{studio-rossi}:lease:credential:clinic');
      await peer.place.leases.take('credential:clinic', 1_000, NEVER);
      return oauthError('invalid_grant');
    };
    const { version } = await connect(worker);
    await expect(worker.refresher.refresh(version)).rejects.toMatchObject({ actor: 'conflict', code: 'lease-lost' });
    expect((await worker.credentials.read('clinic'))?.state).toBe('connected');
  });

  test('invalid_grant without another cause sets the connection to needs-login with its reason, and keeps the tokens', async () => {
    const { server, worker } = await open();
    server.onToken = () => oauthError('invalid_grant');
    await connect(worker);
    await refusedOnce(worker);
    await expect(worker.authorizer.header(NEVER)).rejects.toMatchObject({
      actor: 'authorization',
      code: 'login-ended',
      retry: 'never',
    });
    expect(await worker.credentials.read('clinic')).toMatchObject({
      state: 'needs-login',
      reason: 'login-ended',
      tokens: { accessToken: 'access-0', refreshToken: 'refresh-0' },
    });
    await expect(worker.authorizer.header(NEVER)).rejects.toMatchObject({ code: 'login-ended' });
    await expect(worker.authorizer.renew(NEVER)).rejects.toMatchObject({ code: 'login-ended' });
    expect(await worker.authorizer.refreshIfDue(NEVER)).toBe(false);
    expect(server.forms('/token')).toHaveLength(2);
  });

  test.each<[string, Answer, number]>([
    ['500', { status: 500, body: 'oops' }, 2],
    ['502 of a gateway', { status: 502, body: '<html>bad gateway</html>' }, 2],
    ['503', { status: 503, body: { error: 'temporarily_unavailable' } }, 1],
    ['429', { status: 429, body: { error: 'rate_limit_exceeded' }, headers: { 'retry-after': '120' } }, 1],
    ['a cut connection', 'cut', 2],
    ['no answer', 'silent', 2],
  ])(
    '%s: the old token is used until its end, nothing is deleted, the server is left in peace',
    async (_name, answer, calls) => {
      let now = Date.now();
      const { server, worker } = await open({ clock: () => now, requestTimeoutMs: 300 });
      server.onToken = () => answer;
      await connect(worker);
      const headers = await Promise.all(Array.from({ length: 5 }, () => worker.authorizer.header(NEVER)));
      expect(new Set(headers)).toEqual(new Set(['Bearer access-0']));
      expect(await worker.authorizer.header(NEVER)).toBe('Bearer access-0');
      expect(server.forms('/token')).toHaveLength(calls);
      expect(await worker.credentials.read('clinic')).toMatchObject({
        state: 'connected',
        tokens: { refreshToken: 'refresh-0' },
      });
      now += 70_000;
      const error = await worker.authorizer.header(NEVER).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ actor: 'remote', retry: 'later' });
      const rotating = rotatingTokens();
      server.onToken = rotating.onToken;
      now += 120_000;
      expect(await worker.authorizer.header(NEVER)).toBe('Bearer access-1');
      expect(await worker.credentials.read('clinic')).toMatchObject({
        state: 'connected',
        reason: null,
        unansweredSince: null,
      });
    },
  );

  test('the reason is shown with the connection while it lasts', async () => {
    const { server, worker } = await open();
    server.onToken = () => ({ status: 503, body: 'busy' });
    await connect(worker);
    await worker.authorizer.header(NEVER);
    expect(await worker.credentials.read('clinic')).toMatchObject({
      state: 'connected',
      reason: 'token-endpoint-unavailable',
    });
  });

  test('an answer lost in transit is requested again at once with the same token', async () => {
    const { server, worker } = await open();
    const rotating = rotatingTokens();
    let calls = 0;
    server.onToken = (form) => (calls++ === 0 ? 'cut' : rotating.onToken(form));
    await connect(worker);
    expect(await worker.authorizer.header(NEVER)).toBe('Bearer access-1');
    expect(server.forms('/token').map((form) => form.get('refresh_token'))).toEqual(['refresh-0', 'refresh-0']);
    expect((await worker.credentials.read('clinic'))?.unansweredSince).toBeNull();
  });

  test('an answer lost after the rotation, on a strict server, is reported as such', async () => {
    const { server, worker } = await open();
    const rotating = rotatingTokens();
    let calls = 0;
    server.onToken = (form) => {
      const answer = rotating.onToken(form);
      return calls++ === 0 ? 'cut' : answer;
    };
    await connect(worker);
    await refusedOnce(worker);
    await expect(worker.authorizer.header(NEVER)).rejects.toMatchObject({
      actor: 'authorization',
      code: 'refresh-answer-lost',
    });
    expect(calls).toBe(3);
  });

  test('an ended connection is not refreshed again, not even by a process with older state', async () => {
    const { server, worker } = await open();
    server.onToken = () => oauthError('invalid_grant');
    const { version } = await connect(worker);
    const peer = openWorker({ redis: redis.connect(), issuer: server.url });
    await refusedOnce(worker);
    for (const each of [worker, worker, peer]) {
      await expect(each.refresher.refresh(version)).rejects.toMatchObject({ code: 'login-ended' });
    }
    expect(server.forms('/token')).toHaveLength(2);
  });

  test('a token that waits to be stored survives a peer that ends the connection meanwhile', async () => {
    const away = { isAway: true };
    const { server, worker } = await open({ wrapStore: tokensRefusedWhile(away) });
    server.onToken = rotatingTokens().onToken;
    const { version } = await connect(worker);
    await expect(worker.refresher.refresh(version)).rejects.toMatchObject({ code: 'redis-failed' });
    away.isAway = false;

    const peer = openWorker({ redis: redis.connect(), issuer: server.url });
    const lease = await peer.place.leases.take('credential:clinic', 60_000, NEVER);
    const ended = { state: 'needs-login', reason: 'login-ended', since: 1, unansweredSince: null } as const;
    expect(await peer.credentials.record(lease, 'clinic', version, ended)).toBe(true);
    const { tryTake } = worker.place.leases;
    let looks = 0;
    worker.place.leases.tryTake = async (...args) => {
      looks += 1;
      // Longer than the attempts to store last.
      if (looks === 20) await lease.release();
      return tryTake(...args);
    };
    expect((await worker.refresher.refresh(version)).tokens.accessToken).toBe('access-1');
    expect(await worker.credentials.read('clinic')).toMatchObject({ state: 'connected', reason: null });
  });

  test('the required action of an administrator is reported also after a lost answer', async () => {
    const { server, worker } = await open();
    let calls = 0;
    server.onToken = () => (calls++ === 0 ? 'cut' : oauthError('inactive_user'));
    const { version } = await connect(worker);
    await expect(worker.refresher.refresh(version)).rejects.toMatchObject({ code: 'account-inactive' });
    expect(await worker.credentials.read('clinic')).toMatchObject({ state: 'needs-login', reason: 'account-inactive' });
  });

  test.each<[string, number, { actor: string; code: string }]>([
    ['invalid_client', 401, { actor: 'settings', code: 'client-rejected' }],
    ['invalid_client', 400, { actor: 'settings', code: 'client-rejected' }],
    ['deleted_client', 401, { actor: 'settings', code: 'client-rejected' }],
    ['unauthorized_client', 400, { actor: 'settings', code: 'client-not-allowed' }],
    ['unsupported_grant_type', 400, { actor: 'settings', code: 'client-not-allowed' }],
    ['invalid_scope', 400, { actor: 'settings', code: 'scope-rejected' }],
    ['temporarily_unavailable', 400, { actor: 'remote', code: 'token-endpoint-unavailable' }],
    ['server_error', 400, { actor: 'remote', code: 'token-endpoint-unavailable' }],
    ['something_new', 400, { actor: 'contract', code: 'token-error-unknown' }],
  ])('%s (%i) is reported with its responsible party, and the connection stays', async (error, status, expected) => {
    const { server, worker } = await open();
    server.onToken = () => ({ status, body: { error }, headers: { 'www-authenticate': 'Basic realm="x"' } });
    const { version } = await connect(worker);
    await expect(worker.refresher.refresh(version)).rejects.toMatchObject(expected);
    expect(await worker.credentials.read('clinic')).toMatchObject({
      state: 'connected',
      reason: expected.code,
      unansweredSince: null,
    });
  });

  test.each(['interaction_required', 'consent_required', 'login_required'])('%s requires action', async (error) => {
    const { server, worker } = await open();
    server.onToken = () => oauthError(error);
    await connect(worker);
    await expect(worker.authorizer.header(NEVER)).rejects.toMatchObject({
      actor: 'authorization',
      code: 'interaction-required',
    });
    expect(await worker.credentials.read('clinic')).toMatchObject({
      state: 'needs-login',
      reason: 'interaction-required',
    });
  });

  test.each<[string, Answer]>([
    ['a page of HTML with status 200', { body: '<html>log in to the hotel network</html>' }],
    ['half a JSON', { body: '{"access_token":"acc' }],
    ['an empty answer', { body: '' }],
    ['a list', { body: [] }],
    ['no access token', { body: { token_type: 'Bearer' } }],
    ['a redirect', { status: 302, body: '', headers: { location: 'https://example.org' } }],
  ])('%s is not taken for an answer', async (_name, answer) => {
    const { server, worker } = await open();
    server.onToken = () => answer;
    const { version } = await connect(worker);
    await expect(worker.refresher.refresh(version)).rejects.toMatchObject({
      actor: 'contract',
      code: 'token-answer-unreadable',
    });
    expect(await worker.credentials.read('clinic')).toMatchObject({
      state: 'connected',
      tokens: { refreshToken: 'refresh-0' },
    });
  });

  test.each<[string, Answer]>([
    ['an OAuth error', oauthError('invalid_grant', 400, { refresh_token: 'refresh-canary' })],
    ['an error code that is none', oauthError('code canary <b>')],
    [
      'tokens of an unknown type',
      { body: { access_token: 'a-canary', refresh_token: 'b-canary', token_type: 'mac-canary' } },
    ],
    ['a page', { body: '<html>canary</html>' }],
    ['a failure', { status: 500, body: 'canary' }],
  ])(
    'neither tokens, the secret nor the words of the server come out in errors and logs: %s',
    async (_name, answer) => {
      const { server, worker } = await open();
      server.onToken = () => answer;
      const tokens = { accessToken: 'access-canary', refreshToken: 'refresh-canary' };
      const { version } = await connect(worker, { tokens });
      const error = await worker.refresher.refresh(version).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(MirrorError);
      const told = `${inspect(error, { depth: 20, showHidden: true })} ${JSON.stringify(error)} ${worker.logged.join('\n')}`;
      expect(told).not.toMatch(/canary/);
    },
  );

  test('a missing connection, and one without a refresh token, require action', async () => {
    const { server, worker } = await open();
    await expect(worker.authorizer.header(NEVER)).rejects.toMatchObject({
      actor: 'authorization',
      code: 'not-connected',
    });
    await expect(worker.authorizer.renew(NEVER)).rejects.toMatchObject({ code: 'not-connected' });
    expect(await worker.authorizer.refreshIfDue(NEVER)).toBe(false);
    await connect(worker, { tokens: { accessToken: 'access-0', refreshToken: null } });
    await expect(worker.authorizer.header(NEVER)).rejects.toMatchObject({
      actor: 'authorization',
      code: 'no-refresh-token',
    });
    expect(server.posted).toEqual([]);
  });
});

describe('the maintenance of a connection', () => {
  test('an idle one is refreshed by the job once a day, although its access token is not used', async () => {
    let now = Date.now();
    const { server, worker } = await open({ clock: () => now });
    const rotating = rotatingTokens(90 * 86_400);
    server.onToken = rotating.onToken;
    await connect(worker, { obtainedAt: now, accessExpiresAt: now + 90 * 86_400_000 });
    expect(await worker.authorizer.refreshIfDue(NEVER)).toBe(false);
    now += 86_400_000;
    expect(await worker.authorizer.refreshIfDue(NEVER)).toBe(true);
    expect(await worker.authorizer.refreshIfDue(NEVER)).toBe(false);
    expect(rotating.seen.refreshes).toBe(1);
  });
});

describe('while the authorization server is away', () => {
  test('each try of an incident, ten seconds apart, reaches it, and no other does', async () => {
    let now = Date.now();
    const { server, worker } = await open({ clock: () => now });
    let calls = 0;
    server.onToken = () => {
      calls += 1;
      return { status: 503, body: {} };
    };
    await connect(worker, { accessExpiresAt: now - 1_000 });
    const failure = () => worker.authorizer.header(NEVER).catch(({ code }: MirrorError) => code);
    expect(await failure()).toBe('token-endpoint-unavailable');
    for (let tries = 1; tries < 12; tries += 1) {
      const before = calls;
      now += 1_000;
      expect(await failure()).toBe('token-endpoint-unavailable');
      expect(calls, 'too early').toBe(before);
      now += 9_000;
      await failure();
      expect(calls, `try ${tries}`).toBeGreaterThan(before);
    }
    const rotating = rotatingTokens();
    server.onToken = rotating.onToken;
    now += 10_000;
    expect(await worker.authorizer.header(NEVER)).toBe('Bearer access-1');
  });
});

describe('after a 401', () => {
  test('one refresh is forced, and a straggler gets what it brought', async () => {
    let now = Date.now();
    const { server, worker } = await open({ clock: () => now });
    const rotating = rotatingTokens();
    server.onToken = rotating.onToken;
    await connect(worker, { accessExpiresAt: now + 86_400_000 });
    expect(await worker.authorizer.renew(NEVER)).toBe('Bearer access-1');
    now += 5_000;
    expect(await worker.authorizer.renew(NEVER)).toBe('Bearer access-1');
    now += 10_000;
    expect(await worker.authorizer.renew(NEVER)).toBe('Bearer access-2');
    expect(rotating.seen).toEqual({ refreshes: 2, revocations: 0 });
  });
});
