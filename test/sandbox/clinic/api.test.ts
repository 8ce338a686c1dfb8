import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ClinicSandbox, startClinicSandbox } from '../../../sandbox/clinic/index.ts';
import { call, firstTenant, frontDeskToken, logIn, NOW, readAll, rowsOf } from './support.ts';

let sandbox: ClinicSandbox;
let token: string;
let base: string;

beforeAll(async () => {
  sandbox = await startClinicSandbox({ tenants: 2, appointments: 600, now: NOW });
  token = await frontDeskToken(sandbox);
  base = `/v2/tenants/${firstTenant(sandbox).id}`;
});

afterAll(() => sandbox.close());

describe('userinfo', () => {
  test('names the user and their tenants', async () => {
    const { status, body } = await call(sandbox, token, 'GET', '/v2/userinfo');
    const [tenant] = sandbox.tenants;
    expect(status).toBe(200);
    expect(body).toMatchObject({ sub: expect.any(String), name: expect.any(String) });
    expect(body.tenants).toEqual([expect.objectContaining({ id: tenant?.id, name: tenant?.name })]);
  });

  test('lists several tenants', async () => {
    const { access_token: manager } = await logIn(sandbox, sandbox.users.everyTenant);
    const { body } = await call(sandbox, manager, 'GET', '/v2/userinfo');
    expect(body.tenants).toHaveLength(2);
  });

  test('answers 200 without tenants to a user the clinic system does not know, in three dialects', async () => {
    const { unknownAbsent, unknownNull, unknownEmpty } = sandbox.users;
    const bodies = [];
    for (const user of [unknownAbsent, unknownNull, unknownEmpty]) {
      const { access_token: stranger } = await logIn(sandbox, user);
      const answer = await call(sandbox, stranger, 'GET', '/v2/userinfo');
      expect(answer.status).toBe(200);
      expect((await call(sandbox, stranger, 'GET', `${base}/agendas`)).status).toBe(403);
      bodies.push(answer.body);
    }
    expect(bodies[0]).not.toHaveProperty('tenants');
    expect(bodies[1]?.tenants).toBeNull();
    expect(bodies[2]?.tenants).toEqual([]);
  });
});

describe('authorization', () => {
  test('answers 401 with WWW-Authenticate to a missing or wrong token, and takes none from the query', async () => {
    for (const [bearer, path] of [
      [undefined, '/v2/userinfo'],
      ['nonsense', `${base}/appointments`],
      [undefined, `/v2/userinfo?access_token=${token}`],
    ] as const) {
      const { status, headers, body } = await call(sandbox, bearer, 'GET', path);
      expect([status, body.error]).toEqual([401, 'invalid_token']);
      expect(headers.get('www-authenticate')).toBe('Bearer error="invalid_token"');
    }
  });

  test('answers 403 missing_claim when the token lacks the scope', async () => {
    const narrow = await logIn(sandbox, firstTenant(sandbox).user, { scope: 'openid svc.patients' });
    for (const path of ['agendas', 'appointments', 'treatments']) {
      const { status, body } = await call(sandbox, narrow.access_token, 'GET', `${base}/${path}`);
      expect([path, status, body.error]).toEqual([path, 403, 'missing_claim']);
    }
    for (const path of ['patients', 'locations', 'info']) {
      expect((await call(sandbox, narrow.access_token, 'GET', `${base}/${path}`)).status).toBe(200);
    }
  });

  test('answers 403 insufficient_permissions if the user has no write permission', async () => {
    const { access_token: viewer } = await logIn(sandbox, sandbox.users.readOnly);
    expect((await call(sandbox, viewer, 'GET', `${base}/appointments`)).status).toBe(200);
    const { status, body } = await call(sandbox, viewer, 'POST', `${base}/appointments`, {});
    expect([status, body.error]).toEqual([403, 'insufficient_permissions']);
  });

  test("answers 403 for another tenant and for none, and 404 for another tenant's data by their ids", async () => {
    const other = sandbox.tenants[1];
    const [foreign] = sandbox.appointments(other?.id ?? '');
    for (const tenant of [other?.id, 'none']) {
      const refused = await call(sandbox, token, 'GET', `/v2/tenants/${tenant}/agendas`);
      expect([refused.status, refused.body.error]).toEqual([403, 'insufficient_permissions']);
    }
    const { status, body } = await call(sandbox, token, 'GET', `${base}/appointments/${foreign?.id}`);
    expect([status, body.error]).toEqual([404, 'not_found']);
    expect((await call(sandbox, token, 'GET', `${base}/agendas/${other?.agendas[0]?.id}`)).status).toBe(404);
  });
});

describe('the Accept header of a call', () => {
  test.each([undefined, '*/*', 'application/pdf', 'text/html, application/*'])('%j is refused', async (accept) => {
    for (const path of ['/v2/userinfo', `${base}/agendas`, `${base}/invoices/none/pdf`]) {
      const headers = { authorization: `Bearer ${token}`, ...(accept === undefined ? {} : { accept }) };
      const answer = await fetch(sandbox.baseUrl + path, { headers });
      expect([answer.status, await answer.json()]).toEqual([406, expect.objectContaining({ error: 'not_acceptable' })]);
    }
  });

  test('must contain JSON, also among other types; a deviating clinic system does not check it', async () => {
    const headers = { authorization: `Bearer ${token}`, accept: 'text/html;q=0.1, Application/JSON;q=0.9' };
    expect((await fetch(`${sandbox.baseUrl}${base}/agendas`, { headers })).status).toBe(200);
    await using lax = await openLax();
    const anything = { authorization: `Bearer ${lax.token}`, accept: '*/*' };
    expect((await fetch(`${lax.sandbox.baseUrl}/v2/userinfo`, { headers: anything })).status).toBe(200);
    expect((await call(lax.sandbox, lax.token, 'GET', '/v2/tenants/none/agendas')).status).toBe(404);
  });
});

/** A clinic system that deviates from the specification. */
async function openLax() {
  const lax = await startClinicSandbox({ tenants: 1, appointments: 20, accept: 'any', foreignTenant: 'absent' });
  return { sandbox: lax, token: await frontDeskToken(lax), [Symbol.asyncDispose]: () => lax.close() };
}

describe('catalogue', () => {
  test('shows the tenant, its locations, agendas and treatments, in lists and individually', async () => {
    const { body: info } = await call(sandbox, token, 'GET', `${base}/info`);
    expect(info).toMatchObject({ tenantId: firstTenant(sandbox).id, timeZone: 'Europe/Rome', currency: 'EUR' });
    for (const kind of ['locations', 'agendas', 'treatments']) {
      const rows = await readAll(sandbox, token, `${base}/${kind}`, 3);
      expect(rows.length).toBeGreaterThan(1);
      const [row] = rows;
      expect((await call(sandbox, token, 'GET', `${base}/${kind}/${row?.id}`)).body).toEqual(row);
      expect((await call(sandbox, token, 'GET', `${base}/${kind}/none`)).status).toBe(404);
    }
    const agendas = await readAll(sandbox, token, `${base}/agendas`);
    expect(agendas.map((agenda) => agenda.id)).toEqual(firstTenant(sandbox).agendas.map((agenda) => agenda.id));
  });
});

describe('patients', () => {
  test('are created, read, replaced and listed', async () => {
    const created = await call(sandbox, token, 'POST', `${base}/patients`, {
      firstName: 'Ada',
      lastName: 'Prova',
      email: 'ada@example.com',
      birthDate: '1980-02-29',
    });
    expect(created.status).toBe(201);
    const path = `${base}/patients/${created.body.id}`;
    expect(created.headers.get('location')).toBe(path);
    expect((await call(sandbox, token, 'GET', path)).body).toEqual(created.body);
    const replaced = await call(sandbox, token, 'PUT', path, { firstName: 'Ada', lastName: 'Nuova' });
    expect(replaced.body).toMatchObject({ id: created.body.id, lastName: 'Nuova', email: null, birthDate: null });
    const listed = await readAll(sandbox, token, `${base}/patients`);
    expect(listed.find((patient) => patient.id === created.body.id)).toEqual(replaced.body);
  });

  test('with wrong fields are refused, naming the fields', async () => {
    const { status, body } = await call(sandbox, token, 'POST', `${base}/patients`, {
      firstName: 'Ada',
      birthDate: '1981-02-29',
    });
    expect([status, body.error]).toEqual([400, 'invalid_request']);
    expect(body.details).toEqual([
      expect.objectContaining({ field: 'lastName' }),
      expect.objectContaining({ field: 'birthDate' }),
    ]);
    expect((await call(sandbox, token, 'GET', `${base}/patients/none`)).status).toBe(404);
  });
});

describe('lists of appointments', () => {
  test('come in an envelope, 50 by default and 200 at most', async () => {
    const first = await call(sandbox, token, 'GET', `${base}/appointments`);
    expect(first.body).toMatchObject({ offset: 0, limit: 50, hasMore: true, total: 600 });
    expect(rowsOf(first)).toHaveLength(50);
    const wide = await call(sandbox, token, 'GET', `${base}/appointments?limit=100000`);
    expect([wide.body.limit, rowsOf(wide).length]).toEqual([200, 200]);
    const last = await call(sandbox, token, 'GET', `${base}/appointments?offset=590&limit=50`);
    expect([rowsOf(last).length, last.body.hasMore]).toEqual([10, false]);
    for (const query of ['offset=-1', 'limit=0', 'limit=x']) {
      expect((await call(sandbox, token, 'GET', `${base}/appointments?${query}`)).status).toBe(400);
    }
  });

  test('show every appointment once, in a stable order', async () => {
    const rows = await readAll(sandbox, token, `${base}/appointments`, 37);
    expect(new Set(rows.map((row) => row.id)).size).toBe(600);
    const truth = [...sandbox.appointments(firstTenant(sandbox).id)].sort(
      (one, other) => one.start - other.start || (one.id < other.id ? -1 : 1),
    );
    expect(rows.map((row) => row.id)).toEqual(truth.map((appointment) => appointment.id));
  });

  test('filter by overlap with from and to, which may be dates or instants', async () => {
    const [from, to] = [Date.parse('2026-03-28T23:00:00+01:00'), Date.parse('2026-03-30T09:20:00+02:00')];
    const query = new URLSearchParams({ from: '2026-03-28T23:00:00+01:00', to: '2026-03-30T09:20:00+02:00' });
    const rows = await readAll(sandbox, token, `${base}/appointments?${query}`);
    const expected = [...sandbox.appointments(firstTenant(sandbox).id)].filter(
      (appointment) => appointment.start < to && appointment.end > from,
    );
    expect(rows.map((row) => row.id).sort()).toEqual(expected.map((appointment) => appointment.id).sort());
    expect(rows.some((row) => row.start === '2026-03-28T22:00:00+01:00')).toBe(true);

    const day = await readAll(sandbox, token, `${base}/appointments?from=2026-03-29&to=2026-03-30`);
    expect(day.find((row) => row.allDay === true)).toMatchObject({
      start: '2026-03-29',
      end: '2026-03-30',
      patientId: null,
    });
    expect((await call(sandbox, token, 'GET', `${base}/appointments?from=2026-03-29T10:00:00`)).status).toBe(400);
    expect((await call(sandbox, token, 'GET', `${base}/appointments?to=2026-02-30`)).status).toBe(400);
  });

  test('filter by agendas, statuses and patient, together', async () => {
    const truth = [...sandbox.appointments(firstTenant(sandbox).id)];
    const agendas = firstTenant(sandbox)
      .agendas.slice(0, 2)
      .map((agenda) => agenda.id);
    const two = await readAll(
      sandbox,
      token,
      `${base}/appointments?agendaId=${agendas.join('&agendaId=')}&status=Completed&status=NoShow`,
    );
    const expected = truth.filter(
      ({ agendaId, status }) => agendas.includes(agendaId) && (status === 'Completed' || status === 'NoShow'),
    );
    expect(two.map((row) => row.id).sort()).toEqual(expected.map((appointment) => appointment.id).sort());
    expect(two.length).toBeGreaterThan(10);

    const patientId = truth.find((appointment) => appointment.patientId !== null)?.patientId;
    const own = await readAll(sandbox, token, `${base}/appointments?patientId=${patientId}`);
    expect(own.length).toBe(truth.filter((appointment) => appointment.patientId === patientId).length);
    expect((await call(sandbox, token, 'GET', `${base}/appointments?status=Lost`)).status).toBe(400);
  });

  test('carry the patient and instants with offset, and ignore updatedSince by default', async () => {
    const { body } = await call(sandbox, token, 'GET', `${base}/appointments?updatedSince=2099-01-01&limit=200`);
    expect(body.total).toBe(600);
    const rows = rowsOf({ body });
    const visit = rows.find((row) => row.patientId !== null);
    expect(visit?.patient).toMatchObject({
      id: visit?.patientId,
      firstName: expect.any(String),
      phone: expect.anything(),
    });
    expect(visit?.start).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:00\+0[12]:00$/);
    expect(rows.find((row) => row.patientId === null)).toMatchObject({ patient: null });
  });
});

test('options change the wire: no patients, no timestamps, updatedSince, a widest window', async () => {
  const other = await startClinicSandbox({
    tenants: 1,
    appointments: 100,
    now: NOW,
    embedPatient: false,
    timestamps: false,
    updatedSinceFilter: true,
    maxWindowDays: 30,
  });
  try {
    const bearer = await frontDeskToken(other);
    const path = `/v2/tenants/${firstTenant(other).id}/appointments`;
    const booked = other.book(firstTenant(other).id);
    const changed = await call(
      other,
      bearer,
      'GET',
      `${path}?from=2026-03-20&to=2026-04-19&updatedSince=2026-03-20T10:00:00%2B01:00`,
    );
    expect(rowsOf(changed).map((row) => row.id)).toEqual([booked.id]);
    expect(rowsOf(changed)[0]).not.toHaveProperty('patient');
    expect(rowsOf(changed)[0]).not.toHaveProperty('updatedAt');
    expect((await call(other, bearer, 'GET', `${path}?from=2026-03-20&to=2026-04-21`)).status).toBe(400);
    expect((await call(other, bearer, 'GET', path)).status).toBe(400);
  } finally {
    await other.close();
  }
});

test('unknown routes and bodies that are not JSON get error bodies', async () => {
  expect((await call(sandbox, token, 'GET', '/v2/nothing')).body).toMatchObject({ error: 'not_found' });
  const response = await fetch(`${sandbox.baseUrl}${base}/appointments`, {
    method: 'POST',
    headers: { accept: 'application/json', authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: '{',
  });
  expect([response.status, await response.json()]).toMatchObject([400, { error: 'invalid_request' }]);
});
