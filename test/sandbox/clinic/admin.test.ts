import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ClinicSandbox, startClinicSandbox } from '../../../sandbox/clinic/index.ts';
import { call, firstTenant, frontDeskToken, type Json, logIn, NOW } from './support.ts';

let sandbox: ClinicSandbox;
let tenantId: string;

beforeAll(async () => {
  sandbox = await startClinicSandbox({ tenants: 1, appointments: 300, now: NOW });
  tenantId = firstTenant(sandbox).id;
});

afterAll(() => sandbox.close());

function admin(method: string, verb: string, body?: unknown): ReturnType<typeof call> {
  return call(sandbox, undefined, method, `/__sandbox/${verb}`, body);
}

test('another process can do over HTTP every manual action of tests', async () => {
  const { body: booked } = await admin('POST', 'book', { tenantId });
  const { body: moved } = await admin('POST', 'move', { tenantId, id: booked.id });
  expect(moved).toMatchObject({ id: booked.id, agendaId: booked.agendaId });
  expect(moved.start).not.toBe(booked.start);
  const confirmed = await admin('POST', 'set-status', { tenantId, id: booked.id, status: 'Confirmed' });
  expect(confirmed.body.status).toBe('Confirmed');
  expect((await admin('POST', 'cancel', { tenantId, id: booked.id, reason: 'prova' })).body.status).toBe('Cancelled');
  expect((await admin('POST', 'remove', { tenantId, id: booked.id, mode: 'hard' })).status).toBe(204);
  const { body } = await admin('POST', 'simulate', { tenantId, booked: 2, moved: 1 });
  expect(body.changes).toHaveLength(3);
});

test('the truth is streamed as JSON lines', async () => {
  const response = await fetch(`${sandbox.baseUrl}/__sandbox/appointments?tenantId=${tenantId}`);
  const rows = (await response.text())
    .trim()
    .split('\n')
    .map((line): Json => JSON.parse(line));
  expect(rows).toEqual([...sandbox.appointments(tenantId)]);
});

test('mistakes are reported: unknown tenants, ids, users and verbs, and violated rules', async () => {
  expect((await admin('POST', 'book', { tenantId: 'none' })).status).toBe(400);
  expect((await admin('POST', 'book', {})).status).toBe(400);
  expect((await admin('POST', 'move', { tenantId, id: 'none' })).status).toBe(404);
  expect((await admin('POST', 'disable-user', { username: 'none' })).status).toBe(400);
  expect((await admin('POST', 'nothing', {})).status).toBe(404);
  expect((await admin('GET', 'appointments?tenantId=none')).status).toBe(400);
  const { body: booked } = await admin('POST', 'book', { tenantId });
  expect((await admin('POST', 'set-status', { tenantId, id: booked.id, status: 'Completed' })).status).toBe(409);
});

test('accounts, access, clients and rules are changed too', async () => {
  const { user } = firstTenant(sandbox);
  const token = await frontDeskToken(sandbox);
  await admin('POST', 'revoke-access', { username: user.username, clientId: 'clinic-mirror' });
  expect((await call(sandbox, token, 'GET', '/v2/userinfo')).status).toBe(401);
  await admin('POST', 'disable-user', { username: user.username });
  await expect(logIn(sandbox, user)).rejects.toThrow(/status 401/);
  await admin('POST', 'enable-user', { username: user.username });
  const { body } = await admin('PUT', 'rules', { deleteMode: 'soft' });
  expect(body).toMatchObject({ deleteMode: 'soft', allowReopen: false });
  expect(sandbox.rules.deleteMode).toBe('soft');
  expect((await admin('PUT', 'rules', { deleteMode: 'gentle' })).status).toBe(400);
  const changed = await admin('POST', 'change-role', {
    username: user.username,
    tenantId,
    role: 'Viewer',
    permissions: ['agenda.read'],
  });
  expect(changed.status).toBe(204);
  const { access_token: viewer } = await logIn(sandbox, user);
  expect((await call(sandbox, viewer, 'POST', `/v2/tenants/${tenantId}/appointments`, {})).status).toBe(403);
});

test('the front desk starts and stops, and admin calls are not counted', async () => {
  sandbox.counts.reset();
  const before = [...sandbox.appointments(tenantId)].length;
  expect((await admin('POST', 'front-desk', { everyMs: 1 })).status).toBe(204);
  await expect.poll(() => [...sandbox.appointments(tenantId)].length).toBeGreaterThan(before);
  expect((await admin('DELETE', 'front-desk')).status).toBe(204);
  const { body } = await admin('GET', 'counts');
  expect(body.total).toBe(0);
});

test('as a process it prints URLs and credentials in a line, and executes commands', async () => {
  const given = ['--port', '0', '--auth-port', '0', '--tenants', '1', '--appointments', '50', '--seed', '3'];
  const child = spawn(process.execPath, ['sandbox/main.ts', 'clinic', '--json', ...given], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  try {
    const lines = createInterface({ input: child.stdout });
    const [line] = await once(lines, 'line');
    const printed = JSON.parse(String(line));
    const clinic = await fetch(`${printed.baseUrl}/__sandbox/clinic`);
    expect(await clinic.json()).toMatchObject({ tenants: printed.tenants, users: printed.users });
    expect((await fetch(`${printed.authUrl}/.well-known/openid-configuration`)).status).toBe(200);
    child.stdin.write(`${JSON.stringify({ tenantId: printed.tenantId, booked: 2 })}\n`);
    const [done] = await once(lines, 'line');
    expect(JSON.parse(String(done))).toHaveLength(2);
  } finally {
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    expect((await ended)[0]).toBe(0);
  }
});

test('closing ends both servers, and twice is the same as once', async () => {
  const short = await startClinicSandbox({ tenants: 1, appointments: 10 });
  short.startFrontDesk({ everyMs: 1 });
  await Promise.all([short.close(), short.close()]);
  await expect(fetch(short.baseUrl)).rejects.toThrow();
  await expect(fetch(short.authUrl)).rejects.toThrow();
});

test('a sandbox that cannot start leaves nothing behind', async () => {
  const port = Number(new URL(sandbox.authUrl).port);
  await expect(startClinicSandbox({ tenants: 1, appointments: 10, authPort: port })).rejects.toThrow(/EADDRINUSE/);
  await expect(startClinicSandbox({ tenants: [{ appointments: 50_000, agendas: 1 }] })).rejects.toThrow(RangeError);
});
