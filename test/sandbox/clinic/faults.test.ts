import * as client from 'openid-client';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type ClinicSandbox, startClinicSandbox } from '../../../sandbox/clinic/index.ts';
import { BAD_ROW_VARIANTS } from '../../../sandbox/clinic/routes/bad-rows.ts';
import { call, discover, firstTenant, frontDeskToken, logIn, NOW, readAll, rowsOf } from './support.ts';

let sandbox: ClinicSandbox;
let token: string;
let tenantId: string;
let path: string;

beforeAll(async () => {
  sandbox = await startClinicSandbox({ tenants: 2, appointments: 500, now: NOW });
  token = await frontDeskToken(sandbox);
  tenantId = firstTenant(sandbox).id;
  path = `/v2/tenants/${tenantId}/appointments`;
});

afterAll(() => sandbox.close());
beforeEach(() => sandbox.counts.reset());
afterEach(() => sandbox.faults.clear());

function list(query = ''): ReturnType<typeof call> {
  return call(sandbox, token, 'GET', path + query);
}

describe('the rate limit', () => {
  const clientId = 'clinic-mirror';

  test('counts per client over all users, tenants and the token endpoint', async () => {
    const configuration = await discover(sandbox);
    const manager = await logIn(sandbox, sandbox.users.everyTenant);
    sandbox.faults.add({ fault: { kind: 'rate-limit', requests: 3, windowMs: 60_000 } });
    expect((await list()).status).toBe(200);
    const other = `/v2/tenants/${sandbox.tenants[1]?.id}/appointments`;
    expect((await call(sandbox, manager.access_token, 'GET', other)).status).toBe(200);
    const refreshed = await client.refreshTokenGrant(configuration, manager.refresh_token ?? '');

    const limited = await list();
    expect(limited.status).toBe(429);
    expect(limited.body).toMatchObject({ error: 'rate_limit_exceeded', message: expect.any(String) });
    expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(50);
    const again = client.refreshTokenGrant(configuration, refreshed.refresh_token ?? '');
    await expect(again).rejects.toMatchObject({ status: 429 });
    expect(sandbox.counts.value(`rate-limited client:${clientId}`)).toBe(2);

    sandbox.faults.clear();
    await expect(client.refreshTokenGrant(configuration, refreshed.refresh_token ?? '')).resolves.toBeDefined();
  });

  test('slides: there is room again when the oldest request leaves the window', async () => {
    sandbox.faults.add({ fault: { kind: 'rate-limit', requests: 2, windowMs: 300 } });
    expect([(await list()).status, (await list()).status, (await list()).status]).toEqual([200, 200, 429]);
    await expect.poll(async () => (await list()).status, { interval: 20 }).toBe(200);
  });

  test('can be permanent, and a client without a token uses no budget', async () => {
    const strict = await startClinicSandbox({
      tenants: 1,
      appointments: 20,
      rateLimit: { requests: 2, windowMs: 60_000 },
    });
    try {
      const bearer = await frontDeskToken(strict);
      strict.faults.clear();
      for (let count = 0; count < 5; count++) {
        expect((await call(strict, undefined, 'GET', '/v2/userinfo')).status).toBe(401);
      }
      expect((await call(strict, bearer, 'GET', '/v2/userinfo')).status).toBe(200);
      expect((await call(strict, bearer, 'GET', '/v2/userinfo')).status).toBe(429);
    } finally {
      await strict.close();
    }
  });
});

describe('lists', () => {
  test('end early when truncated, with or without a total that betrays it', async () => {
    sandbox.faults.add({ id: 'cut', fault: { kind: 'truncate-list', keep: 120 } });
    const rows = await readAll(sandbox, token, path, 50);
    expect(rows).toHaveLength(120);
    expect((await list()).body.total).toBe(120);
    sandbox.faults.add({ id: 'cut', fault: { kind: 'truncate-list', keep: 120, trueTotal: true } });
    expect(await readAll(sandbox, token, path, 50)).toEqual(rows);
    expect((await list()).body.total).toBe(500);
    sandbox.faults.add({ id: 'cut', fault: { kind: 'truncate-list' } });
    expect(await readAll(sandbox, token, path)).toHaveLength(250);
  });

  test('hide cancelled rows, which can still be fetched individually', async () => {
    const cancelled = [...sandbox.appointments(tenantId)].filter((one) => one.status === 'Cancelled');
    expect(cancelled.length).toBeGreaterThan(5);
    sandbox.faults.add({ fault: { kind: 'hide-cancelled' } });
    const rows = await readAll(sandbox, token, path);
    expect(rows).toHaveLength(500 - cancelled.length);
    expect(rows.some((row) => row.status === 'Cancelled')).toBe(false);
    expect((await list(`/${cancelled[0]?.id}`)).body.status).toBe('Cancelled');
  });

  test('repeat a page once', async () => {
    const first = await list('?limit=50');
    sandbox.faults.add({ times: 1, fault: { kind: 'repeat-page' } });
    const second = await list('?limit=50&offset=50');
    expect(rowsOf(second)).toEqual(rowsOf(first));
    expect(second.body.offset).toBe(50);
    expect(rowsOf(await list('?limit=50&offset=50'))).not.toEqual(rowsOf(first));
  });

  test('contain malformed rows of every kind together with valid ones', async () => {
    const good = rowsOf(await list());
    sandbox.faults.add({ fault: { kind: 'bad-rows', variants: BAD_ROW_VARIANTS } });
    const rows = rowsOf(await list());
    expect(rows).toHaveLength(good.length);
    expect(rows.slice(BAD_ROW_VARIANTS.length)).toEqual(good.slice(BAD_ROW_VARIANTS.length));
    const bad = Object.fromEntries(BAD_ROW_VARIANTS.map((variant, index) => [variant, rows[index]]));
    expect(bad['missing-id']).not.toHaveProperty('id');
    expect(bad['null-id']).toMatchObject({ id: null });
    expect(bad['unknown-status']).toMatchObject({ status: 'AwaitingInsurance' });
    expect(bad['naive-time']?.start).toMatch(/T\d\d:\d\d:\d\d$/);
    expect(Date.parse(String(bad['impossible-time']?.start))).toBeNaN();
    expect(bad['end-before-start']).toMatchObject({ start: good[5]?.end, end: good[5]?.start });
    expect(bad['wrong-types']).toMatchObject({ start: expect.any(Number), status: 7 });
    expect(bad['not-an-object']).toBe('row unavailable');
  });

  test('have one row without an id by default', async () => {
    sandbox.faults.add({ fault: { kind: 'bad-rows' } });
    const rows = rowsOf(await list());
    expect(rows.filter((row) => !('id' in row))).toHaveLength(1);
  });
});

describe('the wire', () => {
  test('answers errors for a share of the requests', async () => {
    sandbox.faults.add({ match: { path: '^/v2' }, rate: 0.5, fault: { kind: 'status', status: 503 } });
    const statuses = [];
    for (let count = 0; count < 40; count++) statuses.push((await list('?limit=1')).status);
    expect(new Set(statuses)).toEqual(new Set([200, 503]));
    expect(sandbox.counts.requests({ status: 503 })).toBe(statuses.filter((status) => status === 503).length);
  });

  test('is slow, cut or HTML on demand', async () => {
    sandbox.faults.add({ times: 1, fault: { kind: 'latency', ms: 150 } });
    const began = performance.now();
    await list('?limit=1');
    expect(performance.now() - began).toBeGreaterThan(140);
    sandbox.faults.add({ times: 1, fault: { kind: 'cut' } });
    await expect(list()).rejects.toThrow();
    sandbox.faults.add({ times: 1, fault: { kind: 'html' } });
    const page = await fetch(sandbox.baseUrl + path, {
      headers: { accept: 'application/json', authorization: `Bearer ${token}` },
    });
    expect([page.status, page.headers.get('content-type')]).toEqual([200, expect.stringContaining('text/html')]);
  });

  test('loses the answer of a creation that was done', async () => {
    const before = [...sandbox.appointments(tenantId)].length;
    sandbox.faults.add({ match: { method: 'POST' }, times: 1, fault: { kind: 'lost-answer' } });
    const body = {
      agendaId: firstTenant(sandbox).agendas[0]?.id,
      start: '2026-04-15T20:30:00+02:00',
      end: '2026-04-15T21:00:00+02:00',
    };
    await expect(call(sandbox, token, 'POST', path, body)).rejects.toThrow();
    expect([...sandbox.appointments(tenantId)]).toHaveLength(before + 1);
    expect((await call(sandbox, token, 'POST', path, body)).body.error).toBe('slot_taken');
  });

  test('loses the answer of a refresh, which rotates the token all the same', async () => {
    const configuration = await discover(sandbox);
    const { refresh_token: refreshToken = '' } = await logIn(sandbox, firstTenant(sandbox).user);
    sandbox.faults.add({ match: { path: '/connect/token' }, times: 1, fault: { kind: 'lost-answer' } });
    await expect(client.refreshTokenGrant(configuration, refreshToken)).rejects.toThrow();
    await expect(client.refreshTokenGrant(configuration, refreshToken)).rejects.toMatchObject({
      error: 'invalid_grant',
    });
  });

  test('fails at the token endpoint for one client only', async () => {
    const configuration = await discover(sandbox);
    const { refresh_token: refreshToken = '' } = await logIn(sandbox, firstTenant(sandbox).user);
    const match = { path: '/connect/token', client: 'clinic-mirror' };
    sandbox.faults.add({ match, times: 1, fault: { kind: 'status', status: 500 } });
    sandbox.faults.add({ match: { client: 'somebody' }, fault: { kind: 'status', status: 500 } });
    await expect(client.refreshTokenGrant(configuration, refreshToken)).rejects.toThrow(
      /unexpected HTTP response status/,
    );
    await expect(client.refreshTokenGrant(configuration, refreshToken)).resolves.toBeDefined();
  });
});

test('requests are counted per client and tenant, and by route', async () => {
  await list();
  await list('?limit=1');
  await call(sandbox, token, 'GET', '/v2/userinfo');
  expect(sandbox.counts.value(`requests client:clinic-mirror tenant:${tenantId}`)).toBe(2);
  expect(sandbox.counts.value('requests client:clinic-mirror')).toBe(3);
  await logIn(sandbox, firstTenant(sandbox).user);
  expect(sandbox.counts.value('requests client:clinic-mirror')).toBe(4);
  expect(sandbox.counts.requests({ route: '/connect/token', status: 200 })).toBe(1);
  expect(sandbox.counts.requests({ route: '/v2/tenants/:tenantId/appointments', status: 200 })).toBe(2);
});

test('recorded requests keep their bodies at both servers', async () => {
  const configuration = await discover(sandbox);
  const { refresh_token: refreshToken = '' } = await logIn(sandbox, firstTenant(sandbox).user);
  sandbox.recording.record(true);
  await client.refreshTokenGrant(configuration, refreshToken);
  await call(sandbox, token, 'POST', path, { agendaId: 'none' });
  sandbox.recording.record(false);
  const bodies = sandbox.recording.recorded().map((request) => [request.method, request.url, request.body]);
  expect(bodies).toEqual([
    ['POST', '/connect/token', expect.stringContaining('grant_type=refresh_token')],
    ['POST', path, '{"agendaId":"none"}'],
  ]);
  sandbox.recording.clear();
});
