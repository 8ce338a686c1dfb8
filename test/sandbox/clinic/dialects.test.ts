import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ClinicSandbox, startClinicSandbox } from '../../../sandbox/clinic/index.ts';
import { firstTenant, frontDeskToken, type Json, logIn, NOW } from './support.ts';

type Name = 'bare' | 'pages' | 'hostile' | 'numbers';

interface Answer {
  status: number;
  headers: Headers;
  text: string;
  body: unknown;
}

function opened(dialect: Name) {
  const clinic = { sandbox: undefined as unknown as ClinicSandbox, token: '', base: '', send };
  beforeAll(async () => {
    clinic.sandbox = await startClinicSandbox({ tenants: 1, appointments: 300, now: NOW, dialect });
    clinic.token = await frontDeskToken(clinic.sandbox);
    clinic.base = `/v2/tenants/${firstTenant(clinic.sandbox).id}`;
  });
  afterAll(() => clinic.sandbox.close());

  async function send(method: string, path: string, body?: unknown, bearer = clinic.token): Promise<Answer> {
    const response = await fetch(clinic.sandbox.baseUrl + (path.startsWith('/v2') ? path : clinic.base + path), {
      method,
      headers: {
        accept: 'application/json',
        authorization: `Bearer ${bearer}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.includes('json') === true && text !== '';
    return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : undefined };
  }
  return clinic;
}

function rows(answer: Answer, name?: string): Json[] {
  const value = name === undefined ? answer.body : (answer.body as Json)[name];
  return Array.isArray(value) ? value : [];
}

describe('bare', () => {
  const clinic = opened('bare');

  test('lists are whole arrays with numbers for ids, local times and no times of changes', async () => {
    const all = rows(await clinic.send('GET', '/appointments?from=2026-03-29&limit=1'));
    expect(all).toHaveLength(300);
    const truth = [...clinic.sandbox.appointments(firstTenant(clinic.sandbox).id)];
    expect(all.map(({ id }) => String(id)).sort()).toEqual(truth.map(({ id }) => id).sort());
    expect(all.find(({ allDay }) => allDay === false)).toMatchObject({
      id: expect.any(Number),
      agendaId: expect.any(Number),
      start: expect.stringMatching(/T\d\d:\d\d:\d\d$/),
    });
    for (const name of ['appointments', 'patients', 'treatments', 'episodes', 'invoices']) {
      const listed = rows(await clinic.send('GET', `/${name}`));
      expect(listed.length).toBeGreaterThan(0);
      expect(listed.some((row) => 'updatedAt' in row || 'createdAt' in row)).toBe(false);
    }
    const [episode] = rows(await clinic.send('GET', '/episodes'));
    expect(episode).toMatchObject({ practices: [{ practiceId: expect.any(Number) }] });
  });

  test('what was read can be written back, and errors have a Message', async () => {
    const [visit] = rows(await clinic.send('GET', '/appointments')).filter(({ status }) => status === 'Booked');
    const put = await clinic.send('PUT', `/appointments/${visit?.id}`, { ...visit, notes: 'Nuova' });
    expect([put.status, put.body]).toEqual([200, { ...visit, notes: 'Nuova' }]);
    expect((await clinic.send('POST', '/patients', {})).body).toEqual({ Message: expect.stringContaining('lastName') });
    expect(await clinic.send('GET', '/patients/9')).toMatchObject({ status: 404, text: '' });
    const narrow = await logIn(clinic.sandbox, firstTenant(clinic.sandbox).user, { scope: 'openid' });
    const refused = await clinic.send('GET', '/agendas', undefined, narrow.access_token);
    expect([refused.status, refused.body]).toEqual([403, { Message: expect.stringMatching(/scope .*required/) }]);
  });
});

describe('pages', () => {
  const clinic = opened('pages');

  test('lists are numbered pages with a total, and all pages are the truth', async () => {
    const ids: unknown[] = [];
    for (let page = 1; ids.length < 300; page++) {
      const answer = await clinic.send('GET', `/appointments?page=${page}&pageSize=70`);
      expect(answer.body).toMatchObject({ page, page_size: 70, total: '300' });
      ids.push(...rows(answer, 'results').map(({ id }) => id));
    }
    expect(new Set(ids).size).toBe(300);
    expect((await clinic.send('GET', '/appointments?page=0')).status).toBe(400);
  });

  test('names are in snake_case, amounts are strings, whole days have an inclusive last day', async () => {
    const answer = await clinic.send('GET', '/appointments?date_start=2026-03-29&date_end=2026-03-29');
    const day = rows(answer, 'results').find(({ all_day }) => all_day === true);
    expect(day).toMatchObject({ starts_at: '2026-03-29', ends_at: '2026-03-29', patient_id: null });
    const [invoice] = rows(await clinic.send('GET', '/invoices'), 'results');
    expect(invoice).toMatchObject({
      total_amount: expect.stringMatching(/^\d+\.\d\d$/),
      updated_at: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
      document_type: 'invoice',
      items: [{ linked_practices: [{ episode_id: expect.any(String), practice_id: expect.any(String) }] }],
    });
  });

  test('statuses are words with flags; fetched records can be written back, and words are accepted', async () => {
    const tenantId = firstTenant(clinic.sandbox).id;
    const { id } = clinic.sandbox.book(tenantId);
    const path = `/appointments/${id}`;
    expect((await clinic.send('PUT', `${path}/status`, { status: 'confirmed' })).body).toMatchObject({
      status: 'booked',
      confirmed: true,
    });
    const read = (await clinic.send('GET', path)).body as Json;
    expect((await clinic.send('PUT', path, { ...read, notes: 'Nuova' })).body).toMatchObject({ notes: 'Nuova' });
    const arrived = await clinic.send('POST', `${path}/checkin`);
    expect(arrived.body).toMatchObject({ status: 'booked', arrived_at: expect.any(String) });
    expect((await clinic.send('PUT', `${path}/status`, { status: 'cancelled' })).body).toMatchObject({
      cancelled_at: expect.any(String),
    });
    const refused = await clinic.send('PUT', `${path}/status`, { status: 'done' });
    expect([refused.status, refused.body]).toMatchObject([409, { error: { code: 'status_conflict' } }]);
    const cancelled = rows(await clinic.send('GET', '/appointments?status=cancelled&pageSize=100'), 'results');
    expect(cancelled.map((row) => row.id)).toContain(id);
    expect(cancelled.every(({ cancelled_at }) => cancelled_at !== null)).toBe(true);
  });

  test('a report comes as a form of fields with a part `document`', async () => {
    const [patient] = rows(await clinic.send('GET', '/patients'), 'results');
    const form = new FormData();
    form.append('patient_id', String(patient?.id));
    form.append('title', 'Referto');
    form.append('report_date', '2026-03-20');
    form.append('document', new Blob(['%PDF-1.4 x']), 'r.pdf');
    const url = `${clinic.sandbox.baseUrl}${clinic.base}/medicalreports`;
    const response = await fetch(url, {
      method: 'POST',
      headers: { accept: 'application/json', authorization: `Bearer ${clinic.token}` },
      body: form,
    });
    expect([response.status, await response.json()]).toMatchObject([201, { file_name: 'r.pdf', status: 'final' }]);
    expect((await clinic.send('POST', '/medicalreports', {})).status).toBe(415);
  });
});

describe('hostile', () => {
  const clinic = opened('hostile');
  const window = 'from=2026-03-16&to=2026-04-13';

  test('caps pages silently, repeats each list’s page once and hides cancelled rows', async () => {
    const seen = new Map<unknown, Json>();
    let repeated = 0;
    for (let offset = 0, more = true; more; ) {
      const answer = await clinic.send('GET', `/appointments?${window}&offset=${offset}&limit=200`);
      const page = rows(answer, 'data');
      expect(page.length).toBeLessThanOrEqual(40);
      const isRepeated = page.some(({ id }) => seen.has(id));
      if (isRepeated) {
        repeated++;
        expect(answer.body).not.toHaveProperty('hasMore');
        continue;
      }
      for (const row of page) seen.set(row.id, row);
      offset += page.length;
      more = (answer.body as Json).hasMore === true;
    }
    expect(repeated).toBe(1);
    const [from, to] = [Date.parse('2026-03-16T00:00:00+01:00'), Date.parse('2026-04-13T00:00:00+02:00')];
    const truth = [...clinic.sandbox.appointments(firstTenant(clinic.sandbox).id)].filter(
      ({ start, end, status }) => start < to && end > from && status !== 'Cancelled',
    );
    expect([...seen.keys()].sort()).toEqual(truth.map(({ id }) => id).sort());
    const statuses = new Set([...seen.values()].map(({ status }) => status));
    expect(statuses).toContain('Rescheduled');
    expect(statuses).not.toContain('Cancelled');
  });

  test('refuses long windows and two agendas with a page', async () => {
    for (const query of ['from=2026-03-01&to=2026-05-01', `${window}&agendaId=a&agendaId=b`]) {
      const answer = await clinic.send('GET', `/appointments?${query}`);
      expect([answer.status, answer.headers.get('content-type')]).toEqual([400, expect.stringContaining('text/html')]);
    }
  });

  test('answers writes without a body, and PUT replaces', async () => {
    const patient = { firstName: 'Ada', lastName: 'Prova', phone: '+39 320 1234567' };
    const created = await clinic.send('POST', '/patients', patient);
    expect([created.status, created.text]).toEqual([201, '']);
    const path = created.headers.get('location') ?? '';
    const put = await clinic.send('PUT', path, { firstName: 'Ada', lastName: 'Nuova' });
    expect([put.status, put.text]).toEqual([204, '']);
    expect((await clinic.send('GET', path)).body).toMatchObject({ lastName: 'Nuova', phone: null });
  });

  test('limits without headers, says null for no tenants, and words its 403 as problems', async () => {
    const { access_token: stranger } = await logIn(clinic.sandbox, clinic.sandbox.users.unknownAbsent);
    expect((await clinic.send('GET', '/v2/userinfo', undefined, stranger)).body).toMatchObject({ tenants: null });
    const { access_token: narrow } = await logIn(clinic.sandbox, firstTenant(clinic.sandbox).user, { scope: 'openid' });
    const refused = await clinic.send('GET', '/agendas', undefined, narrow);
    expect([refused.status, refused.body]).toEqual([403, { status: 403, title: 'Missing scope' }]);
    clinic.sandbox.faults.add({ fault: { kind: 'rate-limit', requests: 0, windowMs: 60_000 } });
    const limited = await clinic.send('GET', '/agendas');
    clinic.sandbox.faults.clear();
    expect([limited.status, limited.headers.get('retry-after')]).toEqual([429, null]);
  });
});

describe('numbers', () => {
  const clinic = opened('numbers');
  const seconds = (date: string) => Date.parse(date) / 1000;
  const from = seconds('2026-03-16T00:00:00+01:00');
  const to = seconds('2026-04-13T00:00:00+02:00');

  test('lists the appointments that start in a window of whole seconds, and its Link header leads through all pages', async () => {
    const found: Json[] = [];
    let next: string | undefined = `/appointments?starts_from=${from}&starts_to=${to}&per_page=20`;
    while (next !== undefined) {
      const answer: Answer = await clinic.send('GET', next);
      found.push(...rows(answer, 'bookings'));
      next = /<([^>]+)>; rel="next"/.exec(answer.headers.get('link') ?? '')?.[1];
    }
    const truth = [...clinic.sandbox.appointments(firstTenant(clinic.sandbox).id)].filter(
      ({ start }) => start >= from * 1000 && start < to * 1000,
    );
    expect(found.map(({ id }) => id).sort()).toEqual(truth.map(({ id }) => id).sort());
    expect(found.length).toBeGreaterThan(60);
    expect(found[0]).toMatchObject({
      state: expect.any(Number),
      starts: expect.any(Number),
      calendar: { id: expect.any(String) },
    });
    expect(found.flatMap(Object.keys).filter((name) => /^(status|start|agendaId|cancelledAt)$/.test(name))).toEqual([]);
  });

  test.each([
    '',
    `from=${from}&to=${to}`,
    `starts_from=${from}.5&starts_to=${to}`,
    'starts_from=2026-03-16&starts_to=2026-04-13',
  ])('refuses the window "%s", and names its own parameters', async (query) => {
    const answer = await clinic.send('GET', `/appointments?${query}`);
    expect([answer.status, answer.body]).toMatchObject([400, { fault: { code: 'invalid_request' } }]);
    expect(answer.text).toContain('"starts_from"');
  });

  test('has an envelope for each resource, and takes the state that it told', async () => {
    expect(Array.isArray((await clinic.send('GET', '/patients')).body)).toBe(true);
    expect(rows(await clinic.send('GET', '/agendas'), 'entries').length).toBeGreaterThan(0);
    const path = `/appointments/${clinic.sandbox.book(firstTenant(clinic.sandbox).id).id}`;
    const { booking } = (await clinic.send('GET', path)).body as { booking: Json };
    expect(booking.state).toBe(0);
    expect((await clinic.send('PUT', path, { ...booking, notes: 'Nuova' })).body).toMatchObject({
      booking: { notes: 'Nuova' },
    });
    expect((await clinic.send('PUT', `${path}/status`, { state: 90 })).body).toMatchObject({ booking: { state: 90 } });
    expect((await clinic.send('PUT', `${path}/status`, { state: 7 })).status).toBe(400);
  });
});
