import { describe, expect, test } from 'vitest';
import {
  COMMON,
  common,
  defineErrors,
  type ErrorKind,
  NO_WORDS,
  type VendorErrors,
} from '../../src/connectors/errors.ts';
import { ANY, vendorCodesOf } from '../../src/operator/codes/vendor-codes.ts';
import { renderCodes, renderErrors, renderSamples } from '../../tools/error-table.ts';

const locked: ErrorKind = { actor: 'remote', retry: 'later', scope: 'item' };

const catalogues = new Map<string, VendorErrors>([
  [ANY, defineErrors('any', NO_WORDS, common('answer-missing'))],
  [
    'acme',
    defineErrors('hubspot', NO_WORDS, {
      ...common('answer-missing'),
      'rate-limited': { ...COMMON['rate-limited'], pauseMs: 90_000 },
      'writes-locked': locked,
      'crm-forbidden': { ...locked, actor: 'settings', code: 'writes-locked' },
    }),
  ],
  [
    'zeta',
    defineErrors('salesforce', NO_WORDS, {
      'rate-limited': { ...COMMON['rate-limited'], pauseMs: 90_000 },
      refused: { ...locked, scope: 'target', leastPauseMs: 7_200_000, detail: 'For long' },
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
    expect(vendorCodesOf(catalogues).map(({ code }) => code)).toEqual([
      'answer-missing',
      'rate-limited',
      'refused',
      'unexpected-status',
      'writes-locked',
    ]);
    expect(renderErrors(catalogues).split('\n')).toHaveLength(2 + 5);
  });

  test('shows the responsible party, a sample message, the note and the delay', () => {
    expect(rowOf('refused')).toBe(
      'retrying | target | `zeta`: Salesforce refused the record. | `zeta`: For long. Retry after at least 2 h. |',
    );
  });

  test('shows a meaning that several connectors share once, without a vendor', () => {
    const row = rowOf('rate-limited');
    expect(row?.startsWith('retrying | target | `acme`, `zeta`: The vendor ')).toBe(true);
    expect(row?.endsWith('| `acme`, `zeta`: Retry after 1.5 min, or after the time in the response. |')).toBe(true);
  });

  test('shows each meaning of a code', () => {
    const row = rowOf('writes-locked');
    expect(row).toMatch(
      /^retrying, action required \| record \| `acme`: HubSpot .+\.<br>`acme`: HubSpot .+\. \| `acme`: .+\. \|$/,
    );
  });

  test('names no connector for an error of any connector', () => {
    expect(rowOf('answer-missing')).toMatch(/^retrying \| record \| The response to a batch/);
  });
});

describe('sample messages of codes', () => {
  test('are sorted, with sample values, and also found in an area of messages', () => {
    const lines = renderSamples(['user-unknown', 'no-such-hold', 'without-a-message']).split('\n').slice(2);
    expect(lines.map((line) => line.split(' | ')[0])).toEqual(['| `no-such-hold`', '| `user-unknown`']);
    expect(lines[1]).toContain('clinic.appointments.list: the clinic system does not know the connected user.');
  });
});

describe('the table of a group', () => {
  test('shows who must act, first the codes that require action, and the effect above', () => {
    const codes = { retrying: { b: 'Waits.' }, actionRequired: { a: 'Set `x|y`.' } };
    expect(renderCodes({ title: 'Anywhere', effect: 'Nothing is written.', codes }).split('\n')).toEqual([
      'Nothing is written.',
      '',
      '| code | who acts | meaning and remedy |',
      '|---|---|---|',
      '| `a` | action required | Set `x\\|y`. |',
      '| `b` | retrying | Waits. |',
    ]);
  });

  test('of codes that only describe data does not say who must act', () => {
    expect(renderCodes({ title: 'Data', codes: { none: { a: 'No id.' } } }).split('\n')).toEqual([
      '| code | meaning and remedy |',
      '|---|---|',
      '| `a` | No id. |',
    ]);
  });
});
