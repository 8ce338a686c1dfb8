import { describe, expect, test } from 'vitest';
import { startExpressionThread } from '../../../src/composition/expression-threads.ts';
import { MirrorError } from '../../../src/model/errors.ts';
import type { Patient } from '../../../src/model/records.ts';
import { compileMapping } from '../../../src/sync/mapping/compile.ts';
import { createEvaluator, EXPRESSION_LIMITS } from '../../../src/sync/mapping/evaluate.ts';
import type { ExpressionThread } from '../../../src/sync/mapping/expressions.ts';
import { crmOf } from '../../settings/crm-file.ts';
import { ofPatient, PATIENT } from './sources.ts';

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

  test('an expression that exceeds the memory of a thread is ended, and the next record continues', async () => {
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

  test('a thread that does not start is a separate error', async () => {
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
