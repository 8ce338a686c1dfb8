import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ConfigurationError, renderFaults } from '../../src/settings/faults.ts';
import { faultLines, load, loadError, SETTINGS, TENANT, writeConfiguration } from './configuration-directory.ts';

describe('faults', () => {
  test('of all files are reported at once, each with file, line, path, value and remedy', () => {
    const dir = writeConfiguration({
      'clinic-mirror.yaml': `${SETTINGS}shedule: {}\nlog: { level: trace }\n`,
      'profiles/plain.yaml': 'scopePrefx: x\n',
      'tenants/due.yaml': TENANT.replace('Europe/Rome', 'Europe/Roma').replace('"7"', '8'),
    });
    const lines = faultLines(dir);
    expect(lines).toHaveLength(5);
    expect(lines[0]).toMatch(
      /^clinic-mirror\.yaml:15 shedule: unknown key → did you mean schedule\? allowed here: redis/,
    );
    expect(lines[1]).toBe('clinic-mirror.yaml:16 log.level: is not valid: "trace" → allowed: debug, info, warn, error');
    expect(lines[2]).toMatch(/^profiles\/plain\.yaml:1 scopePrefx: unknown key → did you mean scopePrefix\?/);
    expect(lines[3]).toBe('tenants/due.yaml:4 zone: is not valid: "Europe/Roma" → did you mean Europe/Rome?');
    expect(lines[4]).toBe(
      'tenants/due.yaml:5 clinic.tenantId: is not valid: 8 → put the value in quotes to make it a string',
    );
  });

  test('of a missing key show the line of its parent', () => {
    const lines = faultLines(writeConfiguration({ 'tenants/uno.yaml': TENANT.replace('    agendas: all\n', '') }));
    expect(lines).toEqual([
      'tenants/uno.yaml:9 targets.rossi: agendas is missing → set the ids of the agendas for this calendar, or all',
    ]);
  });

  test('are an empty file, a missing one, one that would not be read, and a name that is no id', () => {
    const dir = writeConfiguration({
      'tenants/due.yaml': '# nothing\n',
      'tenants/tre.yml': '',
      'tenants/Four!.yaml': '',
    });
    expect(faultLines(dir).toSorted()).toEqual([
      expect.stringMatching(/^tenants\/Four!\.yaml:- : the name of the file cannot be an id →/),
      'tenants/due.yaml:- : the file is empty → fill the file, or remove it',
      'tenants/tre.yml:- : the file is ignored: its name does not end in .yaml → rename the file to end in .yaml',
    ]);
    expect(faultLines(join(dir, 'nowhere'))[0]).toMatch(
      /clinic-mirror\.yaml:- : the file does not exist → create the file with .clinic-mirror init., or pass its folder with --config/,
    );
  });

  test('are rendered in at most 100 columns, file by file', () => {
    const dir = writeConfiguration({
      'clinic-mirror.yaml': `${SETTINGS}shedule: {}\n`,
      'tenants/due.yaml': TENANT.replace('work:', `${'w'.repeat(300)}:`),
    });
    const error = loadError(dir);
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(error.message).toMatch(/^\d+ errors in the configuration\n\n\S+clinic-mirror\.yaml\n {2}line 15, shedule/);
    expect(Math.max(...error.message.split('\n').map((line) => line.length))).toBeLessThanOrEqual(100);
  });
});

describe('for any content of a file', () => {
  /** Tenant files that are nearly right, so that the deeper checks are reached too. */
  const nearlyRight = fc.record(
    {
      name: fc.anything(),
      zone: fc.constantFrom('Europe/Rome', 'Rome', '', '+01:00'),
      clinic: fc.oneof(fc.anything(), fc.record({ client: fc.constantFrom('main', 'constructor', '__proto__') })),
      connections: fc.oneof(
        fc.jsonValue(),
        fc.dictionary(fc.string(), fc.record({ kind: fc.string(), client: fc.string() })),
      ),
      targets: fc.dictionary(
        fc.string(),
        fc.record({ connector: fc.constantFrom('dav', 'calendar'), settings: fc.jsonValue() }),
      ),
    },
    { requiredKeys: [] },
  );
  const content = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.json(),
    nearlyRight.map((tenant) => JSON.stringify(tenant) ?? ''),
  );

  test('the faults are shown in at most 100 printable columns, and the other tenant continues', () => {
    const dir = writeConfiguration();
    fc.assert(
      fc.property(content, (text) => {
        writeFileSync(join(dir, 'tenants/due.yaml'), text);
        const { tenants, unusable } = load(dir, { mode: 'set-aside' });
        expect([...tenants.keys()]).toEqual(['uno']);
        const lines = renderFaults(unusable[0]?.faults ?? []).split('\n');
        expect(lines.length).toBeGreaterThan(4);
        expect(lines.filter((line) => line.length > 100 || /\p{Cc}/u.test(line))).toEqual([]);
      }),
      { numRuns: 60 },
    );
  });
});

test('control characters of a file do not reach the terminal', () => {
  const tenant = TENANT.replaceAll('work', '"wo\\e[31m\\x9brk"').replace('agendas', '"agen\\adas"');
  const { message } = loadError(writeConfiguration({ 'tenants/uno.yaml': tenant }));
  expect(message).toContain('agen das: unknown key');
  expect(message).toContain('wo [31m rk');
  expect(message.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
});
