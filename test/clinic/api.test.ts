import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type ClinicSandbox, startClinicSandbox } from '../../sandbox/clinic/index.ts';
import { type FaultProxy, startFaultProxy } from '../../sandbox/kit/fault-proxy.ts';
import type { ClinicApi } from '../../src/clinic/api.ts';
import type { ClinicRecord } from '../../src/clinic/read/reading-calls.ts';
import { createHttpClient } from '../../src/core/http/client.ts';
import { firstTenant, logIn, NOW } from '../sandbox/clinic/support.ts';
import { paced } from '../support/pace.ts';
import { all, openApi } from './open-api.ts';
import { failureOf, profileOf, unhurried, type WrittenProfile } from './open-client.ts';

let sandbox: ClinicSandbox;
let proxy: FaultProxy;
let token: string;
let tenantId: string;

beforeAll(async () => {
  sandbox = await startClinicSandbox({ tenants: 1, appointments: 60, now: NOW });
  proxy = await startFaultProxy(sandbox.baseUrl);
  const tenant = firstTenant(sandbox);
  tenantId = tenant.id;
  token = (await logIn(sandbox, tenant.user)).access_token;
});
afterAll(async () => {
  await proxy.close();
  await sandbox.close();
});
afterEach(() => {
  sandbox.faults.clear();
  proxy.clear();
});

function open(written: WrittenProfile = {}): ClinicApi {
  return openApi(proxy.url, profileOf(written), token, {
    http: createHttpClient({ userAgent: 'clinic-mirror-test', clock: Date.now, timeoutMs: paced(5_000) }),
  });
}

const NEW_PATIENT = {
  firstName: 'Ada',
  lastName: 'Bianchi',
  email: 'ada@example.org',
  birthDate: '1990-02-28',
};

function withName(patients: ClinicRecord<'patients'>[], firstName: string) {
  return patients.filter((patient) => patient.firstName === firstName);
}

describe('patients', () => {
  test('are listed completely and read one at a time', async () => {
    const api = open();
    const patients = await all(api.patients.list(tenantId, [], unhurried()));
    expect(patients.length).toBeGreaterThan(1);
    const [first] = patients;
    expect(await api.patients.read(tenantId, first?.id ?? '', unhurried())).toEqual({ found: first });
    expect(await api.patients.read(tenantId, 'nobody', unhurried())).toEqual({ absent: true });
  });

  test('are created and updated; an update keeps fields that it omits, unknown ones included', async () => {
    const api = open();
    const address = { city: 'Torino', street: 'Via Roma 1', province: 'TO', postalCode: '10100', country: 'IT' };
    const made = await api.patients.create(tenantId, { ...NEW_PATIENT, ...address }, unhurried());
    expect(made).toMatchObject({ ...NEW_PATIENT, ...address });
    const before = await rawPatient(made.id);
    await putRaw(made.id, { ...before, consents: { privacy: { granted: true, date: '2026-01-01' } } });
    const changed = await api.patients.update(tenantId, made.id, { phone: '+39 011 123', email: null }, unhurried());
    expect(changed).toMatchObject({ id: made.id, firstName: 'Ada', phone: '+39 011 123', email: null, city: 'Torino' });
    expect(await rawPatient(made.id)).toMatchObject({ consents: { privacy: { granted: true, date: '2026-01-01' } } });
  });

  test('that are not there can not be changed', async () => {
    const failure = await failureOf(open().patients.update(tenantId, 'nobody', { phone: '1' }, unhurried()));
    expect(failure).toMatchObject({ actor: 'conflict', code: 'record-gone' });
  });

  test('are searched before a create with a lost response is repeated', async () => {
    const api = open();
    proxy.add({ method: /POST/, fault: { kind: 'lost-answer' } });
    const made = await api.patients.create(tenantId, { ...NEW_PATIENT, firstName: 'Bea' }, unhurried());
    expect(made).toMatchObject({ firstName: 'Bea' });
    sandbox.faults.add({ fault: { kind: 'status', status: 503 }, match: { method: 'POST' }, times: 1 });
    await api.patients.create(tenantId, { ...NEW_PATIENT, firstName: 'Cleo' }, unhurried());
    const patients = await all(api.patients.list(tenantId, [], unhurried()));
    expect([withName(patients, 'Bea').length, withName(patients, 'Cleo').length]).toEqual([1, 1]);
  });

  test('are not created again if the clinic API offers no lookup', async () => {
    proxy.add({ method: /POST/, fault: { kind: 'lost-answer' } });
    const failure = await failureOf(
      open().patients.create(tenantId, { firstName: 'Dora', lastName: 'Bianchi' }, unhurried()),
    );
    expect(failure).toMatchObject({ actor: 'remote', ambiguous: true });
    const patients = await all(open().patients.list(tenantId, [], unhurried()));
    expect(withName(patients, 'Dora')).toHaveLength(1);
  });

  test('are refused before any request if a field has no path in the profile', async () => {
    const api = open({ patients: { fields: { taxCode: [] } } });
    const failure = await failureOf(api.patients.create(tenantId, { ...NEW_PATIENT, taxCode: 'X' }, unhurried()));
    expect(failure).toMatchObject({ actor: 'settings', code: 'field-unmapped' });
  });
});

async function rawPatient(id: string): Promise<object> {
  const answer = await fetch(`${sandbox.baseUrl}/v2/tenants/${tenantId}/patients/${id}`, {
    headers: { accept: 'application/json', authorization: `Bearer ${token}` },
  });
  return (await answer.json()) as object;
}

async function putRaw(id: string, body: object): Promise<void> {
  const answer = await fetch(`${sandbox.baseUrl}/v2/tenants/${tenantId}/patients/${id}`, {
    method: 'PUT',
    headers: { accept: 'application/json', authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect(answer.status).toBe(200);
}
