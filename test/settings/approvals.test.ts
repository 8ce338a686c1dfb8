import { expect, test } from 'vitest';
import { faultLines, load, SETTINGS, TENANT, writeConfiguration } from './configuration-directory.ts';

test('two persons, and reasons, are asked for only where their evidence has a place', () => {
  const asking = 'approvals: { forget: true }\nauditLog: { reasonFor: [forget] }\n';
  expect(faultLines(writeConfiguration({ 'clinic-mirror.yaml': `${SETTINGS}${asking}` }))).toEqual([
    expect.stringMatching(/approvals: approvals need a dataDirectory → set dataDirectory/),
    expect.stringMatching(/auditLog: auditLog need a dataDirectory → set dataDirectory/),
  ]);
  const { settings } = load(
    writeConfiguration({ 'clinic-mirror.yaml': `${SETTINGS}dataDirectory: /tmp/data\n${asking}` }),
  );
  expect(settings.approvals).toMatchObject({ forget: true, restore: false, persons: 'system', expireAfterHours: 24 });
  expect(settings.auditLog).toEqual({ keepMonths: 60, reasonFor: ['forget'] });
});

test('a tenant can ask for more than the settings, and has no word for less', () => {
  const tenant = (approvals: string) =>
    writeConfiguration({ 'tenants/uno.yaml': `${TENANT}approvals: ${approvals}\n` });
  expect(load(tenant('{ holdsAbove: 10, forget: true }')).tenants.get('uno')?.approvals).toEqual({
    holdsAbove: 10,
    forget: true,
  });
  expect(faultLines(tenant('{ forget: false }'))).toEqual([expect.stringContaining('approvals.forget')]);
  expect(faultLines(tenant('{ persons: named }'))).toEqual([expect.stringContaining('persons')]);
});
