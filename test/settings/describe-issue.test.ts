import { describe, expect, test } from 'vitest';
import { faultLines, SETTINGS, TENANT, writeConfiguration } from './configuration-directory.ts';

describe('a mistyped key', () => {
  test.each([
    ['agendas: all', 'agendaz: all'],
    ['targets:', 'target:'],
    ['connections:', 'conections:'],
    ['client: main, tenantId', 'clinet: main, tenantId'],
    ['calendar: a', 'calender: a'],
  ])('is the one fault of its file: %s as %s', (from, to) => {
    const dir = writeConfiguration({ 'tenants/uno.yaml': TENANT.replace(from, to) });
    const [meant = ''] = /\w+/.exec(from) ?? [];
    const lines = faultLines(dir);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain(`unknown key → did you mean ${meant}?`);
  });

  test('hides no other fault inside it, which is reported with its line', () => {
    const tenant = TENANT.replace('targets:', 'target:').replace('connection: work', 'connection: wokr');
    const lines = faultLines(writeConfiguration({ 'tenants/uno.yaml': tenant }));
    const lineOf = (text: string) => tenant.split('\n').findIndex((line) => line.includes(text)) + 1;
    expect(lines).toEqual([
      expect.stringMatching(`^tenants/uno\\.yaml:${lineOf('target:')} target: unknown key`),
      expect.stringMatching(`^tenants/uno\\.yaml:${lineOf('wokr')} targets.rossi.connection: connection`),
    ]);
  });

  test('of a section of the settings is the one fault', () => {
    const dir = writeConfiguration({ 'clinic-mirror.yaml': SETTINGS.replace('googleClients', 'googelClients') });
    expect(faultLines(dir)).toEqual([
      expect.stringContaining('googelClients: unknown key → did you mean googleClients?'),
    ]);
  });

  test('that looks like a secret is never shown under the name that was meant', () => {
    const dir = writeConfiguration({
      'tenants/uno.yaml': TENANT.replace('client: main }', 'client: main, accesskey: [shh] }'),
    });
    expect(faultLines(dir).join('\n')).not.toContain('shh');
  });
});
