import { describe, expect, test } from 'vitest';
import {
  COMMON,
  common,
  defineErrors,
  type ErrorKind,
  NO_WORDS,
  type VendorErrors,
} from '../../src/connectors/errors.ts';
import { ANY, codesOf, renderErrors } from '../../tools/error-table.ts';

const locked: ErrorKind = { actor: 'remote', retry: 'later', scope: 'item', message: '{vendor} locks it' };

const catalogues = new Map<string, VendorErrors>([
  [ANY, defineErrors('it', NO_WORDS, common('answer-missing'))],
  [
    'acme',
    defineErrors('Acme', NO_WORDS, {
      ...common('answer-missing'),
      'rate-limited': { ...COMMON['rate-limited'], pauseMs: 90_000 },
      locked,
      'locked-otherwise': { ...locked, actor: 'settings', code: 'locked', remedy: 'unlock it' },
    }),
  ],
  [
    'zeta',
    defineErrors('Zeta', NO_WORDS, {
      'rate-limited': { ...COMMON['rate-limited'], pauseMs: 90_000 },
      full: { ...locked, scope: 'target', message: '{vendor} is full', leastPauseMs: 7_200_000, note: 'For long' },
    }),
  ],
]);

/** The row of a code, without the code. */
function rowOf(code: string): string | undefined {
  const start = `| \`${code}\` | `;
  return renderErrors(catalogues)
    .split('\n')
    .find((line) => line.startsWith(start))
    ?.slice(start.length);
}

describe('the table of errors', () => {
  test('has a row for each code, sorted', () => {
    expect(codesOf(catalogues)).toEqual(['answer-missing', 'full', 'locked', 'rate-limited', 'unexpected-status']);
    expect(renderErrors(catalogues).split('\n')).toHaveLength(2 + 5);
  });

  test('tells whose it is, what happened, what to add and how long is waited', () => {
    expect(rowOf('full')).toBe('wait | target | `zeta`: Zeta is full. For long. Waits 2 h at least |');
  });

  test('tells what several connectors mean alike once, of no vendor', () => {
    expect(rowOf('rate-limited')).toBe(
      'wait | target | `acme`, `zeta`: the vendor asks for fewer requests. Waits 1.5 min unless the answer says how long |',
    );
  });

  test('tells each meaning of a code', () => {
    expect(rowOf('locked')).toBe(
      'wait, operator | record | `acme`: Acme locks it<br>`acme`: Acme locks it → unlock it |',
    );
  });

  test('names nobody where it may be any', () => {
    expect(rowOf('answer-missing')).toMatch(/^wait \| record \| the answer to a batch lacks a part\./);
  });
});
