import { describe, expect, test } from 'vitest';
import { load, loadError, SETTINGS, TENANT, writeConfiguration } from './configuration-directory.ts';

describe('disabling broken tenants', () => {
  test('keeps the others going', () => {
    const dir = writeConfiguration({ 'tenants/due.yaml': TENANT.replace('"7"', '8'), 'tenants/tre.yaml': 'a: [' });
    const { tenants, unusable } = load(dir, { mode: 'set-aside' });
    expect([...tenants.keys()]).toEqual(['uno']);
    expect(unusable.map(({ id, faults }) => [id, faults.length > 0])).toEqual([
      ['due', true],
      ['tre', true],
    ]);
  });

  test('includes the tenants whose clinic profile is broken', () => {
    const client = '  other: { profile: odd, baseUrl: https://a.test, authUrl: https://b.test, clientId: c }\n';
    const dir = writeConfiguration({
      'clinic-mirror.yaml': SETTINGS.replace('googleClients:', `${client}googleClients:`),
      'profiles/odd.yaml': 'unheard: of',
      'tenants/due.yaml': TENANT.replace('client: main, tenantId', 'client: other, tenantId'),
    });
    const { tenants, unusable, profiles } = load(dir, { mode: 'set-aside' });
    expect([...tenants.keys()]).toEqual(['uno']);
    expect([...profiles.keys()]).toEqual(['plain']);
    expect(unusable).toMatchObject([{ id: 'due', faults: [{ path: 'unheard' }] }]);
  });

  test('does not help if the settings have faults; then the faults of the tenants are reported too', () => {
    const dir = writeConfiguration({
      'clinic-mirror.yaml': SETTINGS.replace('IDENTITY_KEY', 'NOT_SET'),
      'tenants/due.yaml': 'a: [',
    });
    const files = loadError(dir, { mode: 'set-aside' }).faults.map(({ file }) => file.slice(dir.length + 1));
    expect(new Set(files)).toEqual(new Set(['clinic-mirror.yaml', 'tenants/due.yaml']));
  });
});
