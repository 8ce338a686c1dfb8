import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type ClinicSandbox, startClinicSandbox } from '../../../sandbox/clinic/index.ts';
import { call, firstTenant, frontDeskToken, type Json, logIn, NOW, readAll, rowsOf } from './support.ts';

let sandbox: ClinicSandbox;
let token: string;
let tenantId: string;
let base: string;

beforeAll(async () => {
  sandbox = await startClinicSandbox({ tenants: 2, appointments: 600, now: NOW });
  token = await frontDeskToken(sandbox);
  tenantId = firstTenant(sandbox).id;
  base = `/v2/tenants/${tenantId}`;
});

afterAll(() => sandbox.close());
afterEach(() => {
  sandbox.faults.clear();
  Object.assign(sandbox.rules, { outOfSequenceStatus: 409, invoiceCreationMs: 5 });
});

function get(path: string, bearer = token): ReturnType<typeof call> {
  return call(sandbox, bearer, 'GET', base + path);
}

function post(path: string, body: unknown): ReturnType<typeof call> {
  return call(sandbox, token, 'POST', base + path, body);
}

function listOf(row: Json | undefined, name: string): Json[] {
  const value = row?.[name];
  return Array.isArray(value) ? value : [];
}

async function firstOf(path: string): Promise<Json> {
  const [row] = rowsOf(await get(path));
  if (row === undefined) throw new Error('the list is empty');
  return row;
}

describe('every list with separate records', () => {
  test.each(['pricelists', 'episodes', 'medicalreports', 'invoices', 'accounting/issuers'])(
    '%s shows each record once and individually, and not to another tenant',
    async (name) => {
      const rows = await readAll(sandbox, token, `${base}/${name}`, 7);
      const [row] = rows;
      expect(rows.length).toBeGreaterThan(1);
      expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length);
      expect((await get(`/${name}/${row?.id}`)).body).toEqual(row);
      expect((await get(`/${name}/none`)).body).toMatchObject({ error: 'not_found' });
      const other = sandbox.tenants[1];
      const { access_token: manager } = await logIn(sandbox, sandbox.users.everyTenant);
      const foreign = await call(sandbox, manager, 'GET', `/v2/tenants/${other?.id}/${name}/${row?.id}`);
      expect(foreign.status).toBe(404);
      expect((await call(sandbox, token, 'GET', `/v2/tenants/${other?.id}/${name}`)).status).toBe(403);
    },
  );

  test.each([
    ['episodes', 'svc.episodes', 'episodes.read'],
    ['medicalreports', 'svc.medicalreports', 'medicalreports.read'],
    ['invoices', 'svc.invoices', 'invoices.read'],
    ['accounting/sections', 'svc.invoices', 'invoices.read'],
    ['pricelists', 'svc.treatments', 'treatments.read'],
    ['availabilities', 'svc.agenda', 'agenda.read'],
  ] as const)('%s needs the scope %s and the permission %s', async (name, scope, permission) => {
    const { user } = firstTenant(sandbox);
    const others = sandbox.scopes.filter((one) => one !== scope);
    const narrow = await logIn(sandbox, user, { scope: others.join(' ') });
    expect((await get(`/${name}`, narrow.access_token)).body.error).toBe('missing_claim');
    const { body } = await call(sandbox, token, 'GET', '/v2/userinfo');
    const [membership] = listOf(body, 'tenants');
    const all = membership?.permissions as Parameters<ClinicSandbox['setPermissions']>[2];
    sandbox.setPermissions(
      user.username,
      tenantId,
      all.filter((one) => one !== permission),
    );
    const refused = await get(`/${name}`);
    sandbox.setPermissions(user.username, tenantId, all);
    expect([refused.status, refused.body.error]).toEqual([403, 'insufficient_permissions']);
    expect((await get(`/${name}`)).status).toBe(200);
  });
});

test('the same seed gives the same records, whatever else the clinic has', async () => {
  const [one, other] = await Promise.all(
    [1, 2].map(() => startClinicSandbox({ tenants: 1, appointments: 200, now: NOW })),
  );
  try {
    for (const name of ['pricelists', 'episodes', 'invoices', 'medicalreports', 'accounting/sections']) {
      const lists = [];
      for (const clinic of [one, other]) {
        if (clinic === undefined) throw new Error('not started');
        lists.push(
          await readAll(clinic, await frontDeskToken(clinic), `/v2/tenants/${firstTenant(clinic).id}/${name}`),
        );
      }
      expect(lists[0]).toEqual(lists[1]);
      expect(lists[0]?.length).toBeGreaterThan(2);
    }
  } finally {
    await Promise.all([one?.close(), other?.close()]);
  }
});

describe('availability', () => {
  test('shows only free time, in both forms, with the duration and the price of the treatment', async () => {
    const query = '?from=2026-03-23&to=2026-03-28';
    const slots = await readAll(sandbox, token, `${base}/availabilities${query}`);
    const taken = [...sandbox.appointments(tenantId)].filter((one) => one.status !== 'Cancelled' && !one.deleted);
    expect(slots.length).toBeGreaterThan(20);
    const clashes = slots.filter((slot) =>
      taken.some(
        (one) =>
          one.agendaId === slot.agendaId &&
          one.start < Date.parse(String(slot.end)) &&
          one.end > Date.parse(String(slot.start)),
      ),
    );
    expect(clashes).toEqual([]);

    const list = await firstOf('/pricelists');
    const treatments = await readAll(sandbox, token, `${base}/treatments`);
    const treatment = treatments.find(({ durationMinutes }) => durationMinutes === 45);
    const path = `${base}/treatments/${treatment?.id}/listprices/${list.id}/availabilities${query}`;
    const offers = await readAll(sandbox, token, path);
    const price = listOf(list, 'prices').find(({ treatmentId }) => treatmentId === treatment?.id)?.price;
    expect(offers[0]).toMatchObject({ treatmentId: treatment?.id, durationMinutes: 45, price, priceListId: list.id });
  });

  test('can be booked, and then it is gone', async () => {
    const [slot] = rowsOf(await get('/availabilities'));
    const booked = await post('/appointments', { agendaId: slot?.agendaId, start: slot?.start, end: slot?.end });
    expect(booked.status).toBe(201);
    const left = await readAll(sandbox, token, `${base}/availabilities`);
    expect(left).not.toContainEqual(slot);
    expect(left.length).toBeGreaterThan(0);
  });

  test('refuses unknown things and windows that are too long', async () => {
    const { id } = await firstOf('/pricelists');
    expect((await get(`/treatments/none/listprices/${id}/availabilities`)).status).toBe(404);
    expect((await get('/availabilities?from=2026-03-23&to=2026-06-23')).status).toBe(400);
    expect((await get('/availabilities?from=2026-03-23&to=2026-03-22')).status).toBe(400);
  });
});

test('from and to filter records with a date, and no others', async () => {
  const all = await readAll(sandbox, token, `${base}/invoices`);
  const days = all.map(({ issueDate }) => String(issueDate));
  const day = days[Math.floor(days.length / 2)] ?? '';
  const since = await readAll(sandbox, token, `${base}/invoices?from=${day}`);
  expect(since).toEqual(all.filter(({ issueDate }) => String(issueDate) >= day));
  expect(since.length).toBeLessThan(all.length);
  const before = await readAll(sandbox, token, `${base}/invoices?to=${day}`);
  expect(before.length + since.length).toBe(all.length);
  expect((await get('/pricelists?from=2026-03-20&to=2026-03-21')).body.total).toBe(3);
});

test('a price list is found by its id first, then by its code, which may need escaping', async () => {
  const lists = await readAll(sandbox, token, `${base}/pricelists`);
  const [first, second] = lists;
  expect((await get(`/pricelists/${encodeURIComponent(String(second?.code))}`)).body).toEqual(second);
  expect(String(second?.code)).toMatch(/[/% ]/);
  sandbox.plant(tenantId, 'priceLists', String(second?.id), { code: first?.id });
  expect((await get(`/pricelists/${first?.id}`)).body.name).toBe(first?.name);
  sandbox.plant(tenantId, 'priceLists', String(second?.id), { code: second?.code });
});

describe('episodes', () => {
  async function validBody(): Promise<Json> {
    const [patient, treatment, agenda] = [
      await firstOf('/patients'),
      await firstOf('/treatments'),
      await firstOf('/agendas'),
    ];
    const doctor = agenda.doctor as Json;
    const practice = { treatmentId: treatment.id, description: 'Visita', price: 80.5, doctors: [{ id: doctor.id }] };
    return { patientId: patient.id, title: 'Percorso', openedAt: '2026-03-20T09:00:00+01:00', practices: [practice] };
  }

  test('are created, read, replaced, closed and deleted', async () => {
    const body = await validBody();
    const created = await post('/episodes', body);
    expect([created.status, created.body.status]).toEqual([201, 'Open']);
    const path = `/episodes/${created.body.id}`;
    expect(created.headers.get('location')).toBe(base + path);
    const [practice] = listOf(created.body, 'practices');
    expect(listOf(practice, 'doctors')[0]).toMatchObject({ firstName: expect.stringMatching(/./) });
    const change = { ...created.body, title: 'Altro', status: 'InProgress', practices: [practice] };
    const changed = await call(sandbox, token, 'PUT', base + path, change);
    expect(changed.body).toMatchObject({ title: 'Altro', status: 'InProgress', practices: [practice] });
    const closed = await call(sandbox, token, 'PUT', base + path, { ...change, status: 'Closed' });
    expect(closed.body).toMatchObject({ status: 'Closed', closedAt: expect.any(String) });
    const reopened = await call(sandbox, token, 'PUT', base + path, change);
    expect([reopened.status, reopened.body.error]).toEqual([409, 'status_conflict']);
    expect((await call(sandbox, token, 'DELETE', base + path)).status).toBe(204);
    expect((await get(path)).status).toBe(404);
    expect((await call(sandbox, token, 'DELETE', base + path)).status).toBe(404);
  });

  test('with errors are refused by field: 400 for the shape, 422 for unknown references', async () => {
    const body = await validBody();
    const [practice] = listOf(body, 'practices');
    const shape = await post('/episodes', { ...body, openedAt: 'yesterday', practices: [{ ...practice, price: -1 }] });
    expect(shape.status).toBe(400);
    expect(listOf(shape.body, 'details').map(({ field }) => field)).toEqual(['openedAt', 'practices.0.price']);
    for (const [wrong, field] of [
      [{ patientId: 'none' }, 'patientId'],
      [{ locationId: 'none' }, 'locationId'],
      [{ practices: [{ ...practice, treatmentId: 'none' }] }, 'practices.0.treatmentId'],
      [{ practices: [{ ...practice, doctors: [{ id: 'none' }] }] }, 'practices.0.doctors'],
    ] as const) {
      const refused = await post('/episodes', { ...body, ...wrong });
      expect([refused.status, listOf(refused.body, 'details')[0]?.field]).toEqual([422, field]);
    }
  });

  test('come with no, one and several practices, and practices with no to three doctors', async () => {
    const rows = await readAll(sandbox, token, `${base}/episodes`);
    const practices = rows.map((row) => listOf(row, 'practices'));
    expect(new Set(practices.map(({ length }) => length))).toEqual(new Set([0, 1, 2]));
    expect(new Set(practices.flat().map((one) => listOf(one, 'doctors').length)).size).toBeGreaterThanOrEqual(3);
    const own = await readAll(sandbox, token, `${base}/episodes?patientId=${rows[0]?.patientId}`);
    expect(own.map(({ id }) => id)).toEqual(
      rows.filter(({ patientId }) => patientId === rows[0]?.patientId).map(({ id }) => id),
    );
  });
});

describe('invoices', () => {
  async function validBody(section: Json): Promise<Json> {
    const patient = await firstOf('/patients');
    const item = {
      description: 'Visita',
      quantity: 2,
      unitPrice: 60.25,
      vatRate: 0,
      vatExemptionCode: 'Art_Sconosciuto',
    };
    return { sectionId: section.id, issueDate: '2026-03-20', patientId: patient.id, Items: [item] };
  }

  async function section(index: number): Promise<Json> {
    const row = (await readAll(sandbox, token, `${base}/accounting/sections`))[index];
    if (row === undefined) throw new Error('the section does not exist');
    return row;
  }

  test('have every kind of link to practices, and codes of VAT exemption that no list names', async () => {
    const rows = await readAll(sandbox, token, `${base}/invoices`);
    const lines = rows.flatMap((row) => listOf(row, 'Items'));
    const links = lines.map((line) => line.LinkedPractices);
    expect(lines.some((line) => !('LinkedPractices' in line))).toBe(true);
    expect(links).toContain(null);
    expect(links).toContainEqual([]);
    expect(links.some((one) => Array.isArray(one) && one.length === 1)).toBe(true);
    const several = links.filter((one) => Array.isArray(one) && one.length === 2) as Json[][];
    expect(several.some(([a, b]) => a?.practiceId === b?.practiceId)).toBe(true);
    expect(several.some(([a, b]) => a?.practiceId !== b?.practiceId)).toBe(true);
    let [deleted, unknownPractice] = [0, 0];
    for (const { episodeId, practiceId } of links.flat().filter((one) => one !== undefined && one !== null) as Json[]) {
      const episode = await get(`/episodes/${episodeId}`);
      if (episode.status === 404) deleted++;
      else if (!listOf(episode.body, 'practices').some((one) => one.practiceId === practiceId)) unknownPractice++;
    }
    expect([deleted > 0, unknownPractice > 0]).toEqual([true, true]);
    expect(lines.map((line) => line.vatExemptionCode)).toContain('Art99_NonInElenco');
  });

  test('take the next number of their section and add up', async () => {
    const before = await section(0);
    const created = await post('/invoices', await validBody(before));
    expect(created.status).toBe(201);
    expect(created.body).toMatchObject({
      number: `${before.nextNumber}/A`,
      status: 'Issued',
      netAmount: 120.5,
      vatAmount: 0,
      stampDuty: 2,
      totalAmount: 122.5,
    });
    expect(listOf(created.body, 'Items')[0]?.vatExemptionCode).toBe('Art_Sconosciuto');
    expect(await section(0)).toMatchObject({ lastNumber: before.nextNumber, lastDate: '2026-03-20' });
    const pdf = await fetch(`${sandbox.baseUrl}${base}/invoices/${created.body.id}/pdf`, {
      headers: { accept: 'application/json', authorization: `Bearer ${token}` },
    });
    expect(pdf.headers.get('content-type')).toBe('application/pdf');
    expect((await pdf.text()).startsWith('%PDF-')).toBe(true);
  });

  test.each([400, 409, 422] as const)('out of sequence are refused with %i if the rules require it', async (status) => {
    sandbox.rules.outOfSequenceStatus = status;
    const series = await section(1);
    const body = await validBody(series);
    const wrong = await post('/invoices', { ...body, number: '9999/B' });
    expect([wrong.status, wrong.body.error]).toEqual([status, 'out_of_sequence']);
    expect((await post('/invoices', { ...body, issueDate: '2020-01-01' })).status).toBe(status);
    expect(await section(1)).toEqual(series);
  });

  test('posted at once to one section: one gets in, the others are out of sequence, and numbers have no gap', async () => {
    sandbox.rules.invoiceCreationMs = 50;
    const before = Number((await section(2)).lastNumber);
    const body = await validBody(await section(2));
    const answers = await Promise.all(Array.from({ length: 8 }, () => post('/invoices', body)));
    const created = answers.filter(({ status }) => status === 201);
    expect(created.length).toBeGreaterThan(0);
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(8 - created.length);
    const { id } = await section(2);
    const all = await readAll(sandbox, token, `${base}/invoices?sectionId=${id}`);
    const numbers = all.map(({ number }) => Number.parseInt(String(number), 10)).sort((a, b) => a - b);
    expect(numbers).toEqual(Array.from({ length: before + created.length }, (_, index) => index + 1));
  });

  test('that are wrong are refused by field', async () => {
    const body = await validBody(await section(0));
    const shape = await post('/invoices', {
      ...body,
      Items: [{ description: '', quantity: 0, unitPrice: 1.001, vatRate: 0 }],
    });
    expect(shape.status).toBe(400);
    expect(listOf(shape.body, 'details').map(({ field }) => field)).toEqual([
      'Items.0.description',
      'Items.0.quantity',
      'Items.0.unitPrice',
    ]);
    const dangling = {
      description: 'x',
      quantity: 1,
      unitPrice: 1,
      vatRate: 0,
      LinkedPractices: [{ episodeId: 'e', practiceId: 'p' }],
    };
    expect((await post('/invoices', { ...body, Items: [dangling] })).status).toBe(422);
    expect((await post('/invoices', { ...body, sectionId: 'none' })).status).toBe(422);
  });

  test('are reimbursed, one or several at a time, up to their total', async () => {
    const { body: invoice } = await post('/invoices', await validBody(await section(0)));
    const path = `/invoices/${invoice.id}/reimbursements`;
    const one = { amount: 20.5, date: '2026-03-21', payer: 'Fondo' };
    expect((await post(path, one)).body).toMatchObject({ reimbursedAmount: 20.5 });
    const more = await post(path, [one, { ...one, amount: 1 }]);
    expect([more.status, more.body.reimbursedAmount, listOf(more.body, 'reimbursements').length]).toEqual([201, 42, 3]);
    expect((await post(path, { ...one, amount: 1000 })).status).toBe(422);
    expect((await post(path, { date: '2026-03-21' })).status).toBe(400);
    sandbox.plant(tenantId, 'invoices', String(invoice.id), { status: 'Cancelled' });
    expect((await post(path, one)).status).toBe(409);
  });
});

describe('the verbs', () => {
  test('plant texts, which lists and single reads then show', async () => {
    const [episode, treatment, patient] = [
      await firstOf('/episodes'),
      await firstOf('/treatments'),
      await firstOf('/patients'),
    ];
    sandbox.plant(tenantId, 'episodes', String(episode.id), { title: 'Diagnosi piantata' });
    sandbox.plant(tenantId, 'treatments', String(treatment.id), { name: 'Trattamento piantato' });
    sandbox.plant(tenantId, 'patients', String(patient.id), { notes: 'Nota piantata', lastName: 'Piantata' });
    expect((await firstOf('/episodes')).title).toBe('Diagnosi piantata');
    expect((await get(`/treatments/${treatment.id}`)).body.name).toBe('Trattamento piantato');
    expect((await get(`/patients/${patient.id}`)).body).toMatchObject({ notes: 'Nota piantata', lastName: 'Piantata' });
    expect(() => sandbox.plant(tenantId, 'episodes', 'none', {})).toThrow(RangeError);
    expect(() => sandbox.plant(tenantId, 'episodes', String(episode.id), { nonsense: 1 })).toThrow(RangeError);
  });

  test('register patients, whom lists show from then on, each a different one', async () => {
    const before = await readAll(sandbox, token, `${base}/patients`);
    const [first, second] = [sandbox.registerPatient(tenantId), sandbox.registerPatient(tenantId)];
    expect((await get(`/patients/${first.id}`)).body).toMatchObject({ lastName: first.lastName, phone: first.phone });
    expect(await readAll(sandbox, token, `${base}/patients`)).toHaveLength(before.length + 2);
    const named = new Set(
      [...sandbox.patients(tenantId)].map(({ firstName, lastName, details }) => {
        return `${firstName} ${lastName} ${details.birthDate}`;
      }),
    );
    expect(named.size).toBe(before.length + 2);
    expect(second.details.consents.privacy).toMatchObject({ granted: true });
    expect(() => sandbox.registerPatient('none')).toThrow(RangeError);
  });

  test('take a tenant away and reduce scopes, while the tokens stay', async () => {
    const { username } = sandbox.users.everyTenant;
    const { access_token: manager } = await logIn(sandbox, sandbox.users.everyTenant);
    sandbox.leaveTenant(username, tenantId);
    const { body } = await call(sandbox, manager, 'GET', '/v2/userinfo');
    expect(listOf(body, 'tenants').map(({ id }) => id)).toEqual([sandbox.tenants[1]?.id]);
    expect((await get('/agendas', manager)).status).toBe(403);
    const other = `/v2/tenants/${sandbox.tenants[1]?.id}`;
    sandbox.reduceScopes(username, 'clinic-mirror', ['openid', 'offline_access', 'svc.agenda']);
    expect((await call(sandbox, manager, 'GET', `${other}/agendas`)).status).toBe(200);
    expect((await call(sandbox, manager, 'GET', `${other}/invoices`)).body.error).toBe('missing_claim');
  });
});

test('patients have all their fields, consents with dates too', async () => {
  const rows = await readAll(sandbox, token, `${base}/patients`);
  expect(rows.every(({ consents }) => typeof consents === 'object' && consents !== null)).toBe(true);
  expect(rows[0]?.consents).toMatchObject({ privacy: { granted: true, date: expect.stringMatching(/^\d{4}-/) } });
  expect(rows.some(({ taxCode }) => typeof taxCode === 'string' && taxCode.length === 16)).toBe(true);
  expect(rows.some(({ address }) => (address as Json | null)?.country === 'IT')).toBe(true);
});
