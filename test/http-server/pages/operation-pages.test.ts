import { expect, test } from 'vitest';
import { openInstallation } from '../../control/open-installation.ts';
import { createModelClinic } from '../../jobs/model-clinic.ts';
import { openTenant } from '../../jobs/open-tenant.ts';
import { useRedis } from '../../support/redis.ts';
import { appointmentOf, NOW } from '../../sync/arbitraries.ts';
import { openPages } from './open-pages.ts';

const redis = useRedis();

async function open() {
  const clinic = createModelClinic();
  for (const id of ['first', 'second']) clinic.appointments.set(id, appointmentOf(id, { inHours: 3 }));
  const tenant = openTenant({ redis: redis.connect(), clinic, targets: [], clock: () => NOW });
  const pages = await openPages({ installation: openInstallation({ tenants: [tenant] }) });
  return { pages, tenant: tenant.id };
}

test('an operation with a page is shown by its document, and the navigation leads to it in the language of the visitor', async () => {
  const { pages, tenant } = await open();
  const path = `/tenants/${tenant}/overlaps`;
  const page = await pages.see(path, { 'accept-language': 'it' });
  expect(page).toMatch(/<h1[^>]*>[^<]*Sovrapposizioni/);
  expect(page).toContain(`/tenants/${tenant}/explain?id=first`);
  expect(page).toContain(`/tenants/${tenant}/explain?id=second`);
  expect(await pages.see(`/tenants/${tenant}`, { 'accept-language': 'en' })).toMatch(
    new RegExp(`<a href="${path}"[^>]*>Overlaps</a>`),
  );
});

test('there is none for an unknown clinic', async () => {
  const { pages } = await open();
  expect(await pages.see('/tenants/nobody/overlaps')).toContain('nobody');
});
