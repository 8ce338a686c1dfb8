import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ClinicSandbox, startClinicSandbox } from '../../../sandbox/clinic/index.ts';
import type { ClinicRecord } from '../../../src/clinic/read/reading-calls.ts';
import { firstTenant, frontDeskToken, type Json, NOW, readAll } from '../../sandbox/clinic/support.ts';
import { openApi } from '../open-api.ts';
import { failureOf, profileOf, unhurried, type WrittenProfile } from '../open-client.ts';

describe('invoices while another program creates some in the same section', () => {
  let sandbox: ClinicSandbox;
  let world: { token: string; tenantId: string; values: Partial<ClinicRecord<'invoices'>> };
  beforeAll(async () => {
    sandbox = await startClinicSandbox({ tenants: 1, appointments: 60, now: NOW, invoiceCreationMs: 15 });
    const token = await frontDeskToken(sandbox);
    const { id: tenantId } = firstTenant(sandbox);
    const list = (path: string): Promise<Json[]> => readAll(sandbox, token, `/v2/tenants/${tenantId}${path}`);
    const [[section], [patient]] = [await list('/accounting/sections'), await list('/patients')];
    const line = { description: 'Visita', quantity: '1', unitPrice: '50.00', vatRate: '22' } as never;
    const values = { sectionId: String(section?.id), patientId: String(patient?.id), issueDate: '2026-03-20' };
    world = { token, tenantId, values: { ...values, items: [line] } };
  });
  afterAll(() => sandbox.close());

  const open = (written: WrittenProfile = {}) => openApi(sandbox.baseUrl, profileOf(written), world.token);

  test.each<[400 | 409 | 422, NonNullable<WrittenProfile['errors']>['outOfSequence']]>([
    [409, {}],
    [422, { statuses: [422], says: ['^out_of_sequence$'] }],
    [400, { statuses: [400], says: ['section is busy'] }],
  ])('are retried if the clinic responds with %i', async (status, outOfSequence) => {
    sandbox.rules.outOfSequenceStatus = status;
    const apis = [open({ errors: { outOfSequence } }), open({ errors: { outOfSequence } })];
    const create = (api = apis[0]) => api?.invoices.create(world.tenantId, world.values, unhurried());
    const made = await Promise.all([...apis, ...apis, ...apis].map(create));
    expect(new Set(made.map((invoice) => invoice?.number)).size).toBe(6);
  });

  test('are given up after some tries', async () => {
    const always = { kind: 'status', status: 409, body: { error: 'out_of_sequence' } };
    sandbox.faults.add({ fault: always, match: { method: 'POST', path: '/invoices' } });
    const failure = await failureOf(open().invoices.create(world.tenantId, world.values, unhurried()));
    sandbox.faults.clear();
    expect(failure).toMatchObject({ actor: 'conflict', code: 'out-of-sequence' });
  });

  test('are not retried if another rule refuses them', async () => {
    sandbox.rules.outOfSequenceStatus = 422;
    const api = open({ errors: { outOfSequence: { statuses: [422], says: ['^out_of_sequence$'] } } });
    const asked = sandbox.counts.requests({ method: 'POST', status: 422 });
    const wrong = { ...world.values, patientId: 'nobody' };
    const failure = await failureOf(api.invoices.create(world.tenantId, wrong, unhurried()));
    expect(failure).toMatchObject({ actor: 'contract', code: 'rule-refused' });
    expect(sandbox.counts.requests({ method: 'POST', status: 422 })).toBe(asked + 1);
    expect(
      await failureOf(api.invoices.create(world.tenantId, { issueDate: '2026-03-20' }, unhurried())),
    ).toMatchObject({
      code: 'bad-value',
    });
  });
});
