import { describe, expect, test } from 'vitest';
import { load, writeConfiguration } from './configuration-directory.ts';

describe('a valid configuration', () => {
  test('cannot be changed by its readers', () => {
    const { settings, tenants } = load(writeConfiguration());
    const target = tenants.get('uno')?.targets.get('rossi');
    expect(Object.isFrozen(settings.guard.vanished)).toBe(true);
    expect(Object.isFrozen(settings.clinicClients.get('main')?.budget)).toBe(true);
    expect(Object.isFrozen(target?.statuses)).toBe(true);
    expect(Object.isFrozen(target?.settings)).toBe(true);
  });
});
