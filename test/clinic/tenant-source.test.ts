import { expect, test } from 'vitest';
import { createTenantSource } from '../../src/clinic/tenant-source.ts';
import { payloadOf } from '../../src/features/reminders/channels/webhook/index.ts';
import { reminderOf } from '../features/reminders/channels/bed.ts';
import { openClient, profileOf, unhurried } from './open-client.ts';
import { startScriptedServer } from './scripted-server.ts';

/** What a tenant's source reads of a clinic whose every list and record is this one. */
async function openClinicOf(row: object) {
  const server = await startScriptedServer(({ path }) => {
    if (path.endsWith('/userinfo')) return { json: { tenants: [{ id: 't' }] } };
    return { json: path.endsWith(`/${Reflect.get(row, 'id')}`) ? row : [row] };
  });
  const { context } = openClient(server.url, profileOf({ paging: { style: 'none' } }));
  return { source: createTenantSource(context, 't'), [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

test('an invoice stays usable if an unused field is faulty', async () => {
  const Items = [{ description: 7, vatRate: 'esente', LinkedPractices: [{ episodeId: 'e', practiceId: 1 }] }];
  const row = { id: 'i', patientId: 'p', issueDate: '2026-03-02', totalAmount: 80.5, dueDate: 'soon', Items };
  await using clinic = await openClinicOf(row);
  const query = { withDoctors: false, doctorsFrom: '2026-01-01' };
  const { records, unusable } = await clinic.source.readInvoices(query, unhurried());
  expect(unusable).toEqual([]);
  expect(records.get('i')).toEqual({
    ...{ id: 'i', patientId: 'p', number: null, documentType: null, status: null, issueDate: '2026-03-02' },
    ...{ currency: null, totalAmount: '80.5', paidAmount: null, doctors: [] },
  });
  expect(await clinic.source.readInvoice('i', query, unhurried())).toEqual({ found: records.get('i') });
});

test('an invoice is unusable if a used field is faulty', async () => {
  await using clinic = await openClinicOf({ id: 'i', totalAmount: '1.250,50' });
  const query = { withDoctors: false, doctorsFrom: '2026-01-01' };
  expect(await clinic.source.readInvoices(query, unhurried())).toMatchObject({
    unusable: [{ recordId: 'i', code: 'wrong-type', field: 'totalAmount' }],
  });
});

test('a report stays usable if an unused field is faulty', async () => {
  await using clinic = await openClinicOf({
    id: 'r',
    patientId: 'p',
    status: 'final',
    reportDate: '2026-02-30',
    title: 3,
  });
  const { records, unusable } = await clinic.source.readReports(unhurried());
  expect(unusable).toEqual([]);
  const report = { id: 'r', patientId: 'p', episodeId: null, status: 'Final', fileSizeBytes: null };
  expect(records.get('r')).toEqual(report);
  expect(await clinic.source.readReport('r', unhurried())).toEqual({ found: report });
});

test('a value that cannot be read costs no patient, and is counted by its field', async () => {
  await using clinic = await openClinicOf({ id: 'p', firstName: 'Ada', lastName: 'Rossi', email: { work: 'a@b.it' } });
  const { records, unusable, unread } = await clinic.source.readPatients(unhurried());
  expect([records.get('p')?.firstName, records.get('p')?.email, unusable]).toEqual(['Ada', null, []]);
  expect(unread).toEqual({ email: 1 });
});

test('a merged patient is absent when read singly, with the id of the remaining patient', async () => {
  await using server = await startScriptedServer(({ path }) => ({
    json: path.endsWith('/userinfo') ? { tenants: [{ id: 't' }] } : { id: '9', mergedInto: '4' },
  }));
  const { context } = openClient(server.url, profileOf({ patients: { merged: 'mergedInto' } }));
  const source = createTenantSource(context, 't');
  expect(await source.readPatient('9', unhurried())).toEqual({ absent: true, mergedInto: '4' });
});

test.each([
  ['the same list', '/v2/tenants/t/patients/4', { absent: true, mergedInto: '4' }],
  ['an id that a URL must encode', '/v2/tenants/t/patients/a%20b?full=1', { absent: true, mergedInto: 'a b' }],
  ['a relative path', '4', { absent: true, mergedInto: '4' }],
  ['itself', '/v2/tenants/t/patients/9', 'redirected'],
  ['another server', 'https://elsewhere.example/v2/tenants/t/patients/4', 'redirected'],
  ['another list', '/v2/tenants/t/people/4', 'redirected'],
  ['a part of a record', '/v2/tenants/t/patients/4/summary', 'redirected'],
  ['a broken URL', '/v2/tenants/t/patients/%E0', 'redirected'],
])('a redirect of a merged patient to %s', async (_, location, expected) => {
  const asked: string[] = [];
  await using server = await startScriptedServer(({ path }) => {
    asked.push(path);
    if (path.endsWith('/userinfo')) return { json: { tenants: [{ id: 't' }] } };
    return { status: 308, headers: { location }, json: {} };
  });
  const read = async (merged: 301 | 308 | null) => {
    const { context } = openClient(server.url, profileOf({ pathPrefix: '/v2', patients: { merged } }));
    const source = createTenantSource(context, 't');
    return await source.readPatient('9', unhurried()).catch(({ code }) => code);
  };
  expect(await read(308)).toEqual(expected);
  expect([await read(301), await read(null)]).toEqual(['redirected', 'redirected']);
  expect(asked.filter((path) => !path.endsWith('/userinfo')).every((path) => path.endsWith('/patients/9'))).toBe(true);
});

test('a numeric id above 2^53 is read and requested by its exact digits', async () => {
  const asked: string[] = [];
  const row = '{"id":7000000000000000001,"firstName":"Ada","lastName":"Rossi"}';
  await using server = await startScriptedServer(({ path }) => {
    asked.push(path);
    const body = path.endsWith('/userinfo') ? '{"tenants":[{"id":9007199254740993}]}' : null;
    return { body: body ?? (path.endsWith('/7000000000000000001') ? row : `[${row}]`) };
  });
  const { context } = openClient(server.url, profileOf({ paging: { style: 'none' } }));
  const source = createTenantSource(context, '9007199254740993');
  expect([...(await source.readPatients(unhurried())).records.keys()]).toEqual(['7000000000000000001']);
  expect(await source.readPatient('7000000000000000001', unhurried())).toMatchObject({
    found: { id: '7000000000000000001' },
  });
  expect(asked.at(-1)).toContain('/tenants/9007199254740993/');
});

test('pages with ids above 2^53 that differ in the last digit are different; webhooks contain exact ids', async () => {
  const ids = Array.from({ length: 30 }, (_, index) => String(9_007_199_254_740_993n + BigInt(index)));
  const time = '"start":"2026-12-01T09:00:00Z","end":"2026-12-01T09:30:00Z"';
  const rows = ids.map((id) => `{"id":${id},"agendaId":${id},"patientId":${id},${time},"status":"Booked"}`);
  await using server = await startScriptedServer(({ path, url }) => {
    if (path.endsWith('/userinfo')) return { body: '{"tenants":[{"id":1}]}' };
    const from = Number(new URL(url, 'http://x').searchParams.get('offset'));
    return { body: `{"data":[${rows.slice(from, from + 10)}],"hasMore":${from + 10 < rows.length}}` };
  });
  const paging = { style: 'offset-limit' as const, size: 10, ends: ['has-more' as const] };
  const { context } = openClient(server.url, profileOf({ paging }));
  const window = { fromAt: Date.parse('2026-11-30T00:00:00Z'), toAt: Date.parse('2026-12-03T00:00:00Z') };
  const snapshot = await createTenantSource(context, null).readAppointments({ agendaIds: null, window }, unhurried());
  expect(snapshot).toMatchObject({ completeness: 'complete', unusable: [], repeated: 0 });
  expect([...snapshot.records.keys()]).toEqual(ids);
  for (const { id, agendaId, patientId } of snapshot.records.values()) {
    const reminder = reminderOf({}, { patientId: patientId ?? '' });
    const appointment = { ...reminder.appointment, id, agendaId };
    const { data } = JSON.parse(payloadOf({ ...reminder, appointment }, [], window.fromAt)) as { data: object };
    expect(data).toMatchObject({ appointmentId: id, agendaId: id, patientId: id });
  }
});

test('the agendas as last read stay known without a request, also after the cache was discarded', async () => {
  await using clinic = await openClinicOf({ id: 'a', name: 'Dr Rossi' });
  expect(clinic.source.cachedAgendas()).toEqual([]);
  await clinic.source.agendas(unhurried());
  clinic.source.invalidate();
  expect(clinic.source.cachedAgendas()).toMatchObject([{ id: 'a', name: 'Dr Rossi' }]);
});
