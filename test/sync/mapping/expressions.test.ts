import { describe, expect, test } from 'vitest';
import { startExpressionThread } from '../../../src/composition/expression-threads.ts';
import type { Patient } from '../../../src/model/records.ts';
import type { SourceKind } from '../../../src/settings/crm-schema.ts';
import { compileMapping } from '../../../src/sync/mapping/compile.ts';
import { createEvaluator } from '../../../src/sync/mapping/evaluate.ts';
import { compileExpression } from '../../../src/sync/mapping/expressions.ts';
import { crmOf } from '../../settings/crm-file.ts';
import { BARE_PATIENT, ofAppointment, ofPatient, PATIENT } from './sources.ts';

const never = new AbortController().signal;

const evaluate = createEvaluator(startExpressionThread);

function mappingOf(rules: string, rest = '') {
  return compileMapping(crmOf(`mapping: { ${rules} }\nexpressions: allowed\n${rest}`), 'Europe/Rome', evaluate);
}

const patient = (change: Partial<Patient>) => ofPatient({ ...PATIENT, ...change });

const named = (lastName: string) => patient({ lastName });

describe('an expression', () => {
  test('reads the fields as a tree, cleaned', async () => {
    const mapping = mappingOf(
      `a: { expression: "lastName & ', ' & firstName & ' (' & address.city & ')'" }, b: { expression: 'mobilePhone' }, c: { expression: '$not(consents.marketing)', kind: boolean }, d: { expression: 'derived.nextAppointmentOn', kind: date }, e: { expression: 'derived.lastVisitAt', kind: instant, transforms: [year] }, f: firstName`,
    );
    expect(mapping.isPlain).toBe(false);
    expect(await mapping.mapAll([ofPatient()], never)).toEqual([
      {
        properties: {
          a: 'D’Angelo, Maria Pia (Roma)',
          b: '+393331234567',
          c: true,
          d: '2026-07-01',
          e: 2026,
          f: 'Maria Pia',
        },
      },
    ]);
  });

  test('sees no sensitive field unless the target allows it', async () => {
    const rules = 'a: { expression: "$string($)" }';
    const [closed] = await mappingOf(rules).mapAll([ofPatient()], never);
    expect(JSON.stringify(closed)).not.toMatch(/taxCode|DNGMRP|birthDate|1980|gender|secret-id/);
    const [open] = await mappingOf(rules, 'sensitive: { gender: decided by R. }').mapAll([ofPatient()], never);
    expect(JSON.stringify(open)).toContain('gender');
    expect(JSON.stringify(open)).not.toMatch(/taxCode|birthDate/);
  });

  test('finds empty fields absent', async () => {
    const mapping = mappingOf(
      `a: { expression: "firstName & '|' & lastName" }, b: { expression: '$exists(email)', kind: boolean }, c: { expression: email }`,
    );
    expect(await mapping.mapAll([ofPatient(BARE_PATIENT, null)], never)).toEqual([
      { properties: { a: '|', b: false, c: null } },
    ]);
  });

  test('gives what is guarded like any other text', async () => {
    const mapping = mappingOf(`a: { expression: "'  =' & lastName" }`);
    expect(await mapping.mapAll([named('cmd()')], never)).toEqual([{ properties: { a: "'=cmd()" } }]);
  });

  test('that fails is a fault of its record, reported by property and code only', async () => {
    const mapping = mappingOf(`a: email, b: { expression: '$number(lastName)', kind: number }`);
    const mapped = await mapping.mapAll([named('12'), named('Segreto'), named('13')], never);
    expect(mapped).toEqual([
      { properties: { a: 'maria@example.test', b: 12 } },
      { fault: 'expression-failed', property: 'b' },
      { properties: { a: 'maria@example.test', b: 13 } },
    ]);
  });

  test('sees the names behind an appointment', async () => {
    const crm = crmOf('mapping: { a: { expression: "location & status" } }\nexpressions: allowed');
    const mapping = compileMapping({ ...crm, stream: 'appointments' }, 'Europe/Rome', evaluate);
    expect(await mapping.mapAll([ofAppointment()], never)).toEqual([{ properties: { a: 'Centroconfirmed' } }]);
  });

  test('is not worked out at once', () => {
    expect(() => mappingOf('a: { expression: email }').mapNow(ofPatient())).toThrow(TypeError);
  });
});

describe('a result', () => {
  test.each<[SourceKind, string, unknown]>([
    ['text', '"x"', 'x'],
    ['text', '""', null],
    ['text', 'missing', null],
    ['text', 'null', null],
    ['number', '1 + 1', 2],
    ['boolean', '1 = 1', true],
    ['date', '"2024-02-29"', '2024-02-29'],
    ['instant', '"2026-03-29T03:00:00+0200"', '2026-03-29T01:00:00.000Z'],
    ['instant', '"2026-03-29T01:00:00.5Z"', '2026-03-29T01:00:00.500Z'],
  ])('of the kind %s: %s', async (kind, expression, value) => {
    expect(await compileExpression({ expression, kind })({})).toEqual({ value });
  });

  test.each<[SourceKind, string]>([
    ['text', '1'],
    ['text', '[1, 2]'],
    ['text', '{"a": 1}'],
    ['text', 'function($x){$x}'],
    ['text', '$pad("x", 65537)'],
    ['number', '"1"'],
    ['boolean', '"true"'],
    ['date', '"2026-02-29"'],
    ['date', '"2026-03-29T01:00:00Z"'],
    ['instant', '"2026-03-29T01:00:00"'],
    ['instant', '"29 March 2026"'],
    ['instant', '1774746000000'],
  ])('that is not of the kind %s: %s', async (kind, expression) => {
    expect(await compileExpression({ expression, kind })({})).toEqual({ code: 'expression-wrong-type' });
  });

  test.each(['$$.__proto__', '$$.constructor', '$lookup($$, "constructor")', '$process', '$require', '$fetch'])(
    '%s reaches nothing',
    async (expression) => {
      expect(await compileExpression({ expression, kind: 'text' })({ a: 1 })).toEqual({ value: null });
    },
  );
});
