import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  BOOLEAN_STYLES,
  DATE_STYLES,
  INSTANT_STYLES,
  NULL_STYLES,
  readValue,
  renderValue,
  type ValueStyles,
} from '../../src/described-api/value-styles.ts';

describe('a value', () => {
  const styles: fc.Arbitrary<ValueStyles> = fc.record({
    date: fc.constantFrom(...DATE_STYLES),
    instant: fc.constantFrom(...INSTANT_STYLES),
    boolean: fc.constantFrom(...BOOLEAN_STYLES),
    null: fc.constantFrom(...NULL_STYLES),
  });
  const seconds = fc.integer({ min: Date.parse('1900-01-01') / 1000, max: Date.parse('2100-01-01') / 1000 });
  const known = fc.oneof(
    fc.record({ kind: fc.constant('text' as const), value: fc.string({ minLength: 1 }) }),
    fc.record({
      kind: fc.constant('number' as const),
      value: fc.double({ noNaN: true, noDefaultInfinity: true }).map((one) => one || 0),
    }),
    fc.record({ kind: fc.constant('boolean' as const), value: fc.boolean() }),
    fc.record({
      kind: fc.constant('date' as const),
      value: seconds.map((at) => new Date(at * 1000).toISOString().slice(0, 10)),
    }),
    fc.record({ kind: fc.constant('instant' as const), value: seconds.map((at) => new Date(at * 1000).toISOString()) }),
    fc.record({ kind: fc.constantFrom('text', 'number', 'boolean', 'date', 'instant'), value: fc.constant(null) }),
  );

  test('is read unchanged, in every style, as JSON and as text', () => {
    fc.assert(
      fc.property(known, styles, ({ kind, value }, style) => {
        const wire = renderValue(value, kind, style);
        expect(readValue(wire, kind, style)).toEqual(value);
        expect(readValue(wire === null ? null : String(wire), kind, style)).toEqual(value);
      }),
    );
  });

  test('that is not of its kind comes as text, so that it differs', () => {
    const style: ValueStyles = { date: 'date', instant: 'iso', boolean: 'boolean', null: 'null' };
    expect(readValue('soon', 'instant', style)).toBe('soon');
    expect(readValue('many', 'number', style)).toBe('many');
    expect(readValue('yes', 'boolean', style)).toBe('yes');
    expect(readValue('2027-03-01T09:30:00+02:00', 'instant', style)).toBe('2027-03-01T07:30:00.000Z');
    expect(readValue('2027-03-01 00:00:00', 'date', style)).toBe('2027-03-01');
  });
});
