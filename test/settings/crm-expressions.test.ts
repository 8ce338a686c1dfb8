import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  cachedOutlines,
  expressionsToOutline,
  isModestExpression,
  LONGEST_EXPRESSION,
  MOST_PARENTS,
  outlineExpression,
  REFUSED_FUNCTIONS,
  rememberOutlines,
} from '../../src/settings/crm-expressions.ts';

describe('the outline of an expression', () => {
  test('holds the names of fields and the texts, in which a field may be named too', () => {
    const outline = outlineExpression('$lookup($$, "taxCode") & derived.visits');
    expect([...(outline?.names ?? [])]).toEqual(expect.arrayContaining(['derived', 'visits']));
    expect([...(outline?.texts ?? [])]).toEqual(['taxCode']);
  });

  test.each(REFUSED_FUNCTIONS)('lists the refused function $%s', (name) => {
    expect(outlineExpression(`$${name}()`)?.refused).toEqual([name]);
  });

  test('is null for invalid JSONata and for an expression longer than the limits', () => {
    expect(outlineExpression('a & & b')).toBeNull();
    expect(outlineExpression('a'.repeat(LONGEST_EXPRESSION + 1))).toBeNull();
  });
});

test('an expression keeps its limits up to the longest text and the highest count of parents', () => {
  expect(isModestExpression('a'.repeat(LONGEST_EXPRESSION))).toBe(true);
  expect(isModestExpression('a'.repeat(LONGEST_EXPRESSION + 1))).toBe(false);
  expect(isModestExpression('%'.repeat(MOST_PARENTS))).toBe(true);
  expect(isModestExpression('%'.repeat(MOST_PARENTS + 1))).toBe(false);
});

test('an expression is outlined once, at any depth of a file', () => {
  const at = (expression: string) => ({ targets: [{ crm: { mapping: { p: { expression } } } }] });
  fc.assert(
    fc.property(fc.stringMatching(/^[a-z]{12}$/), (name) => {
      expect(expressionsToOutline([at(` ${name} `), at(name)])).toEqual([name]);
      rememberOutlines([[name, { names: [name], texts: [], refused: [], isOpen: false }]]);
      expect(expressionsToOutline(at(name))).toEqual([]);
      expect(cachedOutlines([name, `${name}.unknown`])).toEqual([
        [name, { names: [name], texts: [], refused: [], isOpen: false }],
      ]);
    }),
    { numRuns: 20, seed: 7 },
  );
});
