import { describe, expect, test } from 'vitest';
import { chooseOptions, strangeWords } from '../../src/connectors/options.ts';

const OPTIONS = [
  { value: '812', label: 'Paid' },
  { value: '813', label: 'Open' },
  { value: 'Open', label: 'Not begun' },
  { value: '900', label: 'Lost' },
  { value: '901', label: 'Lost' },
];

describe('words of a mapping in a list of a CRM', () => {
  test('are values as they are, else what people see, whatever its case', () => {
    const { toValue, toWord, strange } = chooseOptions(['812', 'Open', ' paid', 'not begun'], OPTIONS);
    expect(Object.fromEntries(toValue)).toEqual({ ' paid': '812', 'not begun': 'Open' });
    expect(Object.fromEntries(toWord)).toEqual({ 812: ' paid', Open: 'not begun' });
    expect(strange).toEqual([]);
  });

  test('that are not there, or there twice, are named with the names that there are', () => {
    const { strange } = chooseOptions(['Gone', 'Lost', 'Paid'], OPTIONS);
    expect(strange).toEqual(['Gone', 'Lost']);
    expect(strangeWords('deals.dealstage', ['Gone'], OPTIONS.slice(0, 2))).toBe(
      'deals.dealstage has no "Gone"; there are Paid (812), Open (813)',
    );
    expect(strangeWords('deals.dealstage', ['Lost'], OPTIONS)).toContain('has several called "Lost"');
  });
});
