import { expect, onTestFinished, test } from 'vitest';
import {
  previewWrite,
  readClinic,
  readClinicRaw,
  readInvoiceDoctors,
  writeClinic,
} from '../../../src/operator/control/clinic.ts';
import { committedProfile, failureOf } from '../../clinic/open-client.ts';
import { startReceiver } from '../../support/receiver.ts';
import { NEVER } from '../../tenant/cycle.ts';
import { openClinicAccess } from './open-clinic-access.ts';

/** A clinic that answers every request with a status, and counts them. */
async function open(status: number) {
  const requests = { count: 0 };
  const clinic = await startReceiver(() => {
    requests.count += 1;
    return { status };
  });
  onTestFinished(() => clinic.close());
  const access = openClinicAccess({ baseUrl: clinic.url }, 'token-canary', committedProfile('documented'));
  return { requests, access: { ...access, tenantId: async () => 'clinic-7' } };
}

function ask(resource: string, more: object = {}) {
  return { resource, verb: 'read', ids: [], values: {}, parameters: [] as [string, string][], pdf: null, ...more };
}

test.each([
  ['a resource that is no list', ask('userInfo'), 'no-such-operation'],
  ['several ids', ask('patients', { ids: ['1', '2'] }), 'no-such-operation'],
  ['values', ask('patients', { values: { a: 1 } }), 'not-taken'],
  ['parameters of one record', ask('patients', { ids: ['1'], parameters: [['a', 'b']] }), 'not-taken'],
])('data of the clinic is not shown for %s, and no request is sent', async (_, question, code) => {
  const { access, requests } = await open(200);
  const failure = await failureOf(Array.fromAsync(readClinicRaw(access, question, NEVER)));
  expect(failure.code).toBe(code);
  expect(requests.count).toBe(0);
});

test('a missing record of the clinic is refused as no-such-record, in both formats', async () => {
  const { access } = await open(404);
  const question = ask('patients', { ids: ['7'] });
  for (const reading of [readClinic, readClinicRaw]) {
    const failure = await failureOf(Array.fromAsync(reading(access, question, NEVER)));
    expect(failure).toMatchObject({ actor: 'settings', code: 'no-such-record' });
  }
});

test('a write is shown as the request without the token, and not sent', async () => {
  const { access, requests } = await open(204);
  const values = { firstName: 'Ada', lastName: 'Comando', birthDate: '1990-02-28' };
  const shown = await previewWrite(access, ask('patients', { verb: 'create', values }), NEVER);
  expect(shown).toMatchObject({ method: 'POST', path: expect.stringMatching(/^\/.*clinic-7.*patients/) });
  expect(JSON.stringify(shown)).not.toContain('token-canary');
  expect(requests.count).toBe(0);
});

test('a preview of a refused write gives the reason', async () => {
  const { access } = await open(204);
  const failure = await failureOf(previewWrite(access, ask('patients'), NEVER));
  expect(failure.code).toBe('no-such-operation');
});

test('a read operation cannot run as a write', async () => {
  const { access, requests } = await open(204);
  expect((await failureOf(writeClinic(access, ask('patients'), NEVER))).code).toBe('no-such-operation');
  expect(requests.count).toBe(0);
});

test('doctors are shown for a single invoice only', async () => {
  const { access, requests } = await open(200);
  for (const question of [ask('patients', { ids: ['1'] }), ask('invoices')]) {
    expect((await failureOf(readInvoiceDoctors(access, question, NEVER))).code).toBe('not-taken');
  }
  expect(requests.count).toBe(0);
});
