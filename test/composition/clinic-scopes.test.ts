import { expect, test } from 'vitest';
import { clinicScopes } from '../../src/composition/clinic-scopes.ts';
import { load, TENANT, writeConfiguration } from '../settings/configuration-directory.ts';

test('the login to the clinic asks for the scopes that the operator wants, each once', () => {
  const text = TENANT.replace('tenantId: "7"', 'tenantId: "7", scopes: [invoices, agenda, fhir]');
  const tenant = load(writeConfiguration({ 'tenants/uno.yaml': text })).tenants.get('uno');
  if (tenant === undefined) throw new Error('no tenant');
  expect(clinicScopes(tenant, 'x.')).toEqual(expect.arrayContaining(['openid', 'x.invoices', 'x.agenda', 'x.fhir']));
  expect(clinicScopes(tenant, 'x.').filter((scope) => scope === 'x.agenda')).toHaveLength(1);
});
