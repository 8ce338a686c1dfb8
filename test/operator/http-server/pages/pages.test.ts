import { describe, expect, test } from 'vitest';
import { NOW } from '../../../domain/arbitraries.ts';
import { useRedis } from '../../../support/redis.ts';
import { createModelClinic } from '../../../tenant/model-clinic.ts';
import { openTenant } from '../../../tenant/open-tenant.ts';
import { openInstallation } from '../../control/open-installation.ts';
import { openActsPages, openPages } from './open-pages.ts';

const redis = useRedis();
const NO_CLINIC = openInstallation({ tenants: [] });
const TENANT = 'studio-rossi';

test('pages load only files of this server: no page has an inline script or style', async () => {
  const { see, app } = await openActsPages(redis.connect());
  for (const path of ['/', '/activity', `/tenants/${TENANT}`, `/tenants/${TENANT}/targets/doctor`]) {
    const page = await see(path);
    expect(page).toContain('</html>');
    expect(page).not.toMatch(/<style|\sstyle=|\son\w+=|<script(?! (defer|type="module") src="\/assets\/)/);
    expect(page).not.toMatch(/(?:src|href)="(?!\/|#|\?)/);
  }
  const { headers } = await app.inject({ url: '/' });
  expect(headers['content-security-policy']).toContain("script-src 'self'");
});

describe('language and colours', () => {
  test('are the browser’s until a user chooses, and stay then', async () => {
    const { see, post } = await openPages({ installation: NO_CLINIC });
    expect(await see('/', { 'accept-language': 'it-IT,it;q=0.9' })).toContain('<html lang="it">');
    const chosen = await post('/preferences', { language: 'en', theme: 'dark', back: '/activity' });
    expect([chosen.statusCode, chosen.headers.location]).toEqual([303, '/activity']);
    const cookie = [chosen.headers['set-cookie'] ?? []]
      .flat()
      .map((each) => each.split(';')[0])
      .join('; ');
    expect(await see('/', { 'accept-language': 'it', cookie })).toContain('<html lang="en" data-theme="dark">');
  });

  test('lead nowhere but back here, and take nothing else', async () => {
    const { post } = await openPages({ installation: NO_CLINIC });
    for (const back of ['https://evil.test', '//evil.test', '/\\evil.test', 'javascript:alert(1)', '']) {
      expect((await post('/preferences', { language: 'it', back })).headers.location).toBe('/');
    }
    expect(
      (await post('/preferences', { language: 'x; Domain=evil', back: '/' })).headers['set-cookie'],
    ).toBeUndefined();
  });
});

test('every page declares its visitors, and changes are for operators; files are public', async () => {
  const { routes } = await openPages({ installation: NO_CLINIC });
  expect(routes.filter(({ level }) => level === null).map(({ url }) => url)).toEqual(['/assets/:name']);
  const forms = routes.filter(({ method, url }) => method === 'POST' && url !== '/preferences');
  expect(forms.length).toBeGreaterThan(4);
  expect(forms.filter(({ level }) => level === 'viewer')).toEqual([]);
});

async function open() {
  const tenant = openTenant({ redis: redis.connect(), clinic: createModelClinic(), targets: [], clock: () => NOW });
  const pages = await openPages({ installation: openInstallation({ tenants: [tenant] }) });
  return { pages, tenant: tenant.id };
}

test('an operation with a page is shown by its document, and the navigation leads to it in the language of the visitor', async () => {
  const { pages, tenant } = await open();
  const path = `/tenants/${tenant}/retention`;
  const page = await pages.see(path, { 'accept-language': 'it' });
  expect(page).toMatch(/<h1[^>]*>[^<]*Conservazione/);
  expect(page).toContain('id="row-data-journals"');
  expect(await pages.see(`/tenants/${tenant}`, { 'accept-language': 'en' })).toMatch(
    new RegExp(`<a href="${path}"[^>]*>Retention</a>`),
  );
});

test('there is none for an unknown clinic', async () => {
  const { pages } = await open();
  expect(await pages.see('/tenants/nobody/retention')).toContain('nobody');
});
