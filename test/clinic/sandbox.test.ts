import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type ClinicSandbox, startClinicSandbox, type TrueAppointment } from '../../sandbox/clinic/index.ts';
import { chooseTenant } from '../../src/clinic/read/users.ts';
import { createTenantSource } from '../../src/clinic/tenant-source.ts';
import { createHttpClient } from '../../src/core/http/client.ts';
import type { Appointment } from '../../src/core/model/records.ts';
import { firstTenant, logIn, NOW } from '../sandbox/clinic/support.ts';
import { committedProfile, failureOf, openClient, profileOf, unhurried, type WrittenProfile } from './open-client.ts';

const DAY_MS = 86_400_000;
const WINDOW = { fromAt: NOW - 25 * DAY_MS, toAt: NOW + 60 * DAY_MS };
const LISTS = { path: '/appointments\\?' };

let sandbox: ClinicSandbox;
let token: string;
let tenantId: string;

beforeAll(async () => {
  sandbox = await startClinicSandbox({ tenants: 2, appointments: 800, now: NOW, maxWindowDays: 30 });
  const tenant = firstTenant(sandbox);
  tenantId = tenant.id;
  token = (await logIn(sandbox, tenant.user)).access_token;
});
afterAll(() => sandbox.close());
afterEach(() => sandbox.faults.clear());

function authorization(value = token) {
  return { header: async () => `Bearer ${value}`, renew: async () => `Bearer ${value}` };
}

function open(written?: WrittenProfile, more: Parameters<typeof openClient>[2] = {}) {
  const profile = written === undefined ? committedProfile('documented') : profileOf(written);
  return openClient(sandbox.baseUrl, profile, { authorization: authorization(), ...more });
}

function client(...how: Parameters<typeof open>) {
  return open(...how).client;
}

function read(written?: WrittenProfile, more?: Parameters<typeof openClient>[2], agendaIds: string[] | null = null) {
  return client(written, more).readAppointments(tenantId, { agendaIds, window: WINDOW }, unhurried());
}

/** The sandbox's status words, and the model's. */
const STATUSES = {
  Booked: 'booked',
  Confirmed: 'confirmed',
  CheckedIn: 'arrived',
  InProgress: 'in_progress',
  Completed: 'completed',
  Cancelled: 'cancelled',
  NoShow: 'no_show',
} as const;

function essence({ id, agendaId, patientId, time, status }: Appointment) {
  return { id, agendaId, patientId, startAt: time.startAt, endAt: time.endAt, kind: time.kind, status };
}

function truth(agendaIds: string[] | null = null) {
  const isWanted = ({ agendaId, start, end, deleted }: TrueAppointment) =>
    !deleted && start < WINDOW.toAt && end > WINDOW.fromAt && (agendaIds?.includes(agendaId) ?? true);
  return [...sandbox.appointments(tenantId)].filter(isWanted).map(({ start, end, allDay, deleted: _, ...rest }) => ({
    ...rest,
    startAt: start,
    endAt: end,
    kind: allDay ? 'all-day' : 'timed',
    status: STATUSES[rest.status],
  }));
}

function byId<Entry extends { id: string }>(entries: Iterable<Entry>): Entry[] {
  return [...entries].sort((a, b) => a.id.localeCompare(b.id));
}

describe('the clinic of the specification', () => {
  it('shows exactly its appointments, in windows that it allows', async () => {
    const snapshot = await read();
    expect(snapshot).toMatchObject({ completeness: 'complete', unusable: [], unidentified: 0 });
    expect(byId([...snapshot.records.values()].map(essence))).toEqual(byId(truth()));
    const kinds = new Set([...snapshot.records.values()].map(({ time }) => time.kind));
    expect(kinds).toEqual(new Set(['timed', 'all-day']));
    for (const { patient, patientId } of snapshot.records.values()) {
      expect(patient?.id ?? null).toBe(patientId);
      if (patient !== null) expect(patient.lastName).toMatch(/\w/);
    }
  });

  it('shows exactly those of some agendas', async () => {
    const agendaIds = firstTenant(sandbox)
      .agendas.slice(0, 2)
      .map(({ id }) => id);
    const snapshot = await read(undefined, undefined, agendaIds);
    expect(snapshot.completeness).toBe('complete');
    expect(byId([...snapshot.records.values()].map(essence))).toEqual(byId(truth(agendaIds)));
    expect(truth(agendaIds).length).toBeGreaterThan(10);
  });

  it('shows its catalogues and itself', async () => {
    const tenant = firstTenant(sandbox);
    const source = createTenantSource(open().context, tenantId);
    const agendas = await source.agendas(unhurried());
    expect(agendas.map(({ id, name }) => ({ id, name }))).toEqual(tenant.agendas.map(({ id, name }) => ({ id, name })));
    expect(await source.locations(unhurried())).toMatchObject(
      tenant.locations.map(({ id, name }) => ({ id, name, address: expect.stringMatching(/\w+, \d{5} \w+/) })),
    );
    const info = await client().tenantInfo(tenantId, unhurried());
    expect(info).toMatchObject({ name: tenant.name, zone: 'Europe/Rome' });
  });

  it('contains the changes of its front desk', async () => {
    const [moved] = sandbox.simulate(tenantId, { moved: 1 });
    const booked = sandbox.book(tenantId);
    const cancelled = sandbox.cancel(tenantId, sandbox.book(tenantId).id);
    const removed = sandbox.book(tenantId);
    sandbox.remove(tenantId, removed.id, 'hard');
    const { records } = await read();
    expect(byId([...records.values()].map(essence))).toEqual(byId(truth()));
    expect(records.has(moved?.id ?? '')).toBe(true);
    expect(records.get(booked.id)?.status).toBe('booked');
    expect(records.get(cancelled.id)?.status).toBe('cancelled');
    expect(await client().readAppointment(tenantId, booked.id, unhurried())).toHaveProperty('found');
    expect(await client().readAppointment(tenantId, removed.id, unhurried())).toEqual({ absent: true });
  });
});

describe('a clinic that fails', () => {
  const pages = { paging: { style: 'offset-limit' as const, size: 60 } };

  it('on any page permanently yields no snapshot', async () => {
    const whole = await read(pages);
    expect(whole.requests).toBeGreaterThan(6);
    for (let page = 0; page < whole.requests; page += 1) {
      sandbox.faults.clear();
      sandbox.faults.add({ match: LISTS, after: page, fault: { kind: 'cut' } });
      expect(await failureOf(read({ ...pages, limits: { tries: 2 } }))).toMatchObject({ actor: 'remote' });
    }
  });

  it.each([
    // The layer below the client repeats a request that a kept connection lost; the client counts the request once.
    ['cut', 0],
    ['lost-answer', 0],
    ['cut-body', 1],
  ])('at one page only (%s) gives the whole snapshot', async (kind, again) => {
    const whole = await read(pages);
    sandbox.faults.add({ match: LISTS, after: 3, times: 1, fault: { kind } });
    const snapshot = await read(pages);
    expect(snapshot).toMatchObject({ completeness: 'complete', requests: whole.requests + again });
    expect(snapshot.records.size).toBe(whole.records.size);
  });

  it('by pages of HTML or broken JSON is not taken for an empty one', async () => {
    // A request that was sent at the same time, and aborted, would take the second fault.
    const oneByOne = { limits: { requestsAtOnce: 1 } };
    sandbox.faults.add({ match: LISTS, times: 1, fault: { kind: 'html' } });
    expect(await failureOf(read(oneByOne))).toMatchObject({ actor: 'contract', code: 'html-answer' });
    sandbox.faults.add({ match: LISTS, times: 1, fault: { kind: 'garbage', body: '{"data":[' } });
    expect(await failureOf(read(oneByOne))).toMatchObject({ actor: 'contract', code: 'not-json' });
  });

  it('by its rate limit says when to come back', async () => {
    sandbox.faults.add({ fault: { kind: 'rate-limit', requests: 1, windowMs: 60_000 } });
    const error = await failureOf(read(pages));
    expect(error).toMatchObject({ actor: 'remote', code: 'rate-limited', status: 429 });
    expect(error.retryAfterMs).toBeGreaterThan(50_000);
  });
});

describe('a list that is not whole', () => {
  const pages = { paging: { style: 'offset-limit' as const, size: 60 } };

  it('is betrayed by its total', async () => {
    const whole = await read(pages);
    sandbox.faults.add({ match: LISTS, fault: { kind: 'truncate-list', trueTotal: true } });
    const snapshot = await read(pages);
    expect(snapshot).toMatchObject({ completeness: 'partial', reason: 'total-mismatch' });
    expect(snapshot.records.size).toBeLessThan(whole.records.size);
    expect(snapshot.records.size).toBeGreaterThan(0);
  });

  it('is noticed when pages repeat, and read again when that passes', async () => {
    const whole = await read(pages);
    sandbox.faults.add({ match: LISTS, times: 1, fault: { kind: 'repeat-page' } });
    expect(await read(pages)).toMatchObject({ completeness: 'complete', unusable: [] });
    sandbox.faults.clear();
    sandbox.faults.add({ match: LISTS, fault: { kind: 'repeat-page' } });
    const snapshot = await read(pages);
    expect(snapshot).toMatchObject({ completeness: 'partial', reason: 'repeated-page' });
    expect(snapshot.records.size).toBeLessThan(whole.records.size);
  });

  it('is read again if an appointment is removed during the read', async () => {
    const whole = await read(pages);
    const victim = sandbox.book(tenantId, { start: WINDOW.fromAt + DAY_MS, end: WINDOW.fromAt + DAY_MS + 600_000 });
    let requests = 0;
    const observe = () => {
      requests += 1;
      if (requests === 1) sandbox.remove(tenantId, victim.id, 'hard');
    };
    const http = createHttpClient({ userAgent: 'test', clock: Date.now, observe });
    const snapshot = await read(pages, { http });
    expect(snapshot.completeness).toBe('complete');
    expect(snapshot.requests).toBeGreaterThan(whole.requests);
    for (const id of whole.records.keys()) expect(snapshot.records.has(id)).toBe(true);
  });

  it('has its bad rows skipped and the others used', async () => {
    const whole = await read();
    const variants = [
      'missing-id',
      'unknown-status',
      'impossible-time',
      'end-before-start',
      'wrong-types',
      'not-an-object',
    ];
    sandbox.faults.add({ match: LISTS, times: 1, fault: { kind: 'bad-rows', variants } });
    const snapshot = await read();
    expect(snapshot).toMatchObject({ completeness: 'complete', unidentified: 2 });
    expect(snapshot.unusable.map(({ code, field }) => `${code} ${field}`).sort()).toEqual([
      'bad-time start',
      'end-before-start end',
      'missing-id id',
      'wrong-type patientId',
      'wrong-type row',
    ]);
    expect(snapshot.unusable.filter(({ recordId }) => recordId === null)).toHaveLength(2);
    expect([...snapshot.records.values()].filter(({ status }) => status === 'unknown')).toMatchObject([
      { rawStatus: 'AwaitingInsurance' },
    ]);
    expect(snapshot.records.size).toBe(whole.records.size - 5);
  });

  it('reads times without an offset in the zone of the clinic', async () => {
    const whole = await read();
    sandbox.faults.add({ match: LISTS, fault: { kind: 'bad-rows', variants: Array(200).fill('naive-time') } });
    const snapshot = await read();
    expect([...snapshot.records.values()].map(essence)).toEqual([...whole.records.values()].map(essence));
  });
});

describe('a login', () => {
  it('with a refused access token continues with a renewed one', async () => {
    const renewing = { header: async () => 'Bearer expired', renew: async () => `Bearer ${token}` };
    const opened = client(undefined, { authorization: renewing });
    expect(chooseTenant(await opened.userInfo(unhurried()), null)).toEqual({
      id: tenantId,
      name: firstTenant(sandbox).name,
    });
  });

  it('that is refused permanently requires an operator', async () => {
    const opened = client(undefined, { authorization: authorization('expired') });
    expect(await failureOf(opened.userInfo(unhurried()))).toMatchObject({
      actor: 'authorization',
      code: 'token-refused',
    });
  });

  it('without the scope is reported as missing the scope', async () => {
    const scope = 'openid svc.patients';
    const { access_token: narrow } = await logIn(sandbox, firstTenant(sandbox).user, { scope });
    expect(await failureOf(read(undefined, { authorization: authorization(narrow) }))).toMatchObject({
      actor: 'authorization',
      code: 'missing-claim',
    });
  });

  it('of a user of several clinics has to choose', async () => {
    const { access_token: manager } = await logIn(sandbox, sandbox.users.everyTenant);
    const user = await client(undefined, { authorization: authorization(manager) }).userInfo(unhurried());
    expect(user.tenants.map(({ id }) => id)).toEqual(sandbox.tenants.map(({ id }) => id));
    expect(() => chooseTenant(user, null)).toThrow('several tenants');
    expect(chooseTenant(user, sandbox.tenants[1]?.id ?? '').name).toBe(sandbox.tenants[1]?.name);
  });

  it.each(['unknownAbsent', 'unknownNull', 'unknownEmpty'] as const)('of an %s user is not valid', async (name) => {
    const { access_token: stranger } = await logIn(sandbox, sandbox.users[name]);
    const opened = client(undefined, { authorization: authorization(stranger) });
    expect(await failureOf(opened.userInfo(unhurried()))).toMatchObject({
      actor: 'authorization',
      code: 'user-unknown',
    });
  });

  it('cannot read another clinic', async () => {
    const other = sandbox.tenants[1]?.id ?? '';
    const query = { agendaIds: null, window: WINDOW };
    expect(await failureOf(client().readAppointments(other, query, unhurried()))).toMatchObject({
      actor: 'authorization',
      code: 'insufficient-permissions',
    });
  });
});
