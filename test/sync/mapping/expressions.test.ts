import { describe, expect, test } from 'vitest';
import { startExpressionThread } from '../../../src/composition/expression-threads.ts';
import { MirrorError } from '../../../src/model/errors.ts';
import type { Patient } from '../../../src/model/records.ts';
import type { SourceKind } from '../../../src/settings/crm-schema.ts';
import { compileMapping } from '../../../src/sync/mapping/compile.ts';
import { createEvaluator, EXPRESSION_LIMITS } from '../../../src/sync/mapping/evaluate.ts';
import { compileExpression, type ExpressionThread } from '../../../src/sync/mapping/expressions.ts';
import { crmOf } from '../../settings/crm-file.ts';
import { BARE_PATIENT, ofAppointment, ofPatient, PATIENT } from './sources.ts';

const never = new AbortController().signal;
const evaluate = createEvaluator(startExpressionThread);

/** A regular expression that tries every way through a row of one letter: 2^n steps. */
const CATASTROPHE = '$contains(lastName, /^(a+)+$/)';
const TRAP = `${'a'.repeat(60)}!`;

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

  test('that fails has its record at fault, named by property and code alone', async () => {
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

describe('the bounds of expressions', () => {
  test('a regular expression that tries every way is ended; the records around it are mapped', async () => {
    const mapping = mappingOf(`a: { expression: '${CATASTROPHE}', kind: boolean }, b: email`);
    const mapped = await mapping.mapAll([named('aaa'), named(TRAP), named('b'), named(TRAP), named('a')], never);
    expect(mapped).toEqual([
      { properties: { a: true, b: 'maria@example.test' } },
      { fault: 'expression-too-slow', property: 'a' },
      { properties: { a: false, b: 'maria@example.test' } },
      { fault: 'expression-too-slow', property: 'a' },
      { properties: { a: true, b: 'maria@example.test' } },
    ]);
  });

  test.each([
    ['a call without end', '($f := function($n){$f($n + 1)}; $f(0))', 'expression-too-slow'],
    ['a call without end that grows', '($f := function($n){1 + $f($n + 1)}; $f(0))', 'expression-failed'],
    ['a list of ten million', '$count([1..10000000])', 'expression-failed'],
    ['a text of a thousand million', '$length($pad("x", 1000000000))', 'expression-failed'],
  ])('%s is ended', async (_, expression, code) => {
    expect(await evaluate([{ expression, kind: 'number' }], [{}], never)).toEqual([[{ code }]]);
  });

  test('what takes more memory than a thread has is ended, and the next record goes on', async () => {
    const expression =
      'x = 1 ? $sum($map([1..9999], function($i){$length($split($pad("x", 60000), "") ~> $join)})) : 5';
    const [first, second] = await evaluate([{ expression, kind: 'number' }], [{ x: 1 }, { x: 2 }], never);
    expect(['expression-too-slow', 'expression-failed']).toContain(first?.[0] && 'code' in first[0] && first[0].code);
    expect(second).toEqual([{ value: 5 }]);
  });

  test('after a number of slow records the rest is not tried', async () => {
    const rules = [{ expression: CATASTROPHE, kind: 'boolean' as const }];
    let started = 0;
    const counted = () => {
      started += 1;
      return startExpressionThread();
    };
    const limited = createEvaluator(counted, { ...EXPRESSION_LIMITS, slowRecords: 2 });
    const outcomes = await limited(
      rules,
      Array.from({ length: 900 }, () => ({ lastName: TRAP })),
      never,
    );
    expect(started).toBe(2);
    expect(outcomes).toHaveLength(900);
    expect(new Set(outcomes.flat().map((outcome) => JSON.stringify(outcome)))).toEqual(
      new Set(['{"code":"expression-too-slow"}']),
    );
  });

  test('a thread that says nothing and gets no processor time is ended by the clock', async () => {
    const ended: string[] = [];
    const silent: ExpressionThread = {
      ask: () => ended.push('asked'),
      next: (withinMs) => Promise.resolve(withinMs > 1_000 ? 'ready' : 'silent'),
      processorMs: () => Promise.resolve(3),
      end: async () => void ended.push('ended'),
    };
    const outcomes = await createEvaluator(() => silent)([{ expression: 'x', kind: 'text' }], [{}], never);
    expect(outcomes).toEqual([[{ code: 'expression-too-slow' }]]);
    expect(ended).toEqual(['asked', 'ended']);
  });

  test('a thread that does not start is an error of its own', async () => {
    const dead: ExpressionThread = {
      ask: () => {},
      next: () => Promise.resolve('ended'),
      processorMs: () => Promise.resolve(null),
      end: () => Promise.resolve(),
    };
    const failure = await createEvaluator(() => dead)([{ expression: 'x', kind: 'text' }], [{}], never).catch(
      (error: unknown) => error,
    );
    expect(failure).toBeInstanceOf(MirrorError);
    expect(failure).toMatchObject({ code: 'expressions-unavailable', retry: 'later' });
  });

  test('who gives up is not kept waiting, and the thread is ended', async () => {
    const giveUp = new AbortController();
    let isEnded = false;
    const watched = () => {
      const thread = startExpressionThread();
      giveUp.abort(new Error('shutting down'));
      return {
        ...thread,
        async end() {
          await thread.end();
          isEnded = true;
        },
      };
    };
    const rules = [{ expression: CATASTROPHE, kind: 'boolean' as const }];
    const given = createEvaluator(watched)(rules, [{ lastName: TRAP }], giveUp.signal);
    await expect(given).rejects.toThrow('shutting down');
    expect(isEnded).toBe(true);
  });

  test('thousands of records take a thread, not thousands', async () => {
    let started = 0;
    const counted = createEvaluator(() => {
      started += 1;
      return startExpressionThread();
    });
    const rules = [{ expression: "firstName & ' ' & $uppercase(lastName)", kind: 'text' as const }];
    const inputs = Array.from({ length: 3_000 }, (_, count) => ({ firstName: `n${count}`, lastName: 'rossi' }));
    const outcomes = await counted(rules, inputs, never);
    expect(started).toBe(1);
    expect(outcomes[2_999]).toEqual([{ value: 'n2999 ROSSI' }]);
    expect(outcomes).toHaveLength(3_000);
  });

  test('nothing to do starts no thread', async () => {
    const none = createEvaluator(() => {
      throw new Error('no thread is needed');
    });
    expect(await none([], [{}, {}], never)).toEqual([[], []]);
    expect(await none([{ expression: 'x', kind: 'text' }], [], never)).toEqual([]);
  });
});
