import { expect, test } from 'vitest';
import { outcomeOf, retryResult, withOutcome } from '../../../../src/operator/http-server/pages/outcomes.ts';
import { pageContext, wordsOf } from './page-context.ts';

test('the URL of the next page carries the name and the figures of a result', () => {
  const address = withOutcome('/', 'retry', 2, 7);
  expect(address).toBe('/?did=retry.2.7');
  expect(outcomeOf({ address })).toEqual({ outcome: 'retry', figures: [2, 7] });
  expect(outcomeOf({ address: withOutcome('/', 'saved') })).toEqual({ outcome: 'saved', figures: [] });
});

test.each([
  '/',
  '/?did=',
  '/?did=unknown.1',
  '/?did=retry.1.x',
  '/?did=retry.1.9999999999',
  '/?did=<b>retry</b>',
  '/?did=constructor',
])('a forged or missing result tells nothing: %s', (address) => {
  expect(outcomeOf({ address })).toBeNull();
  expect(retryResult(pageContext({ address }))).toBeNull();
});

test('a retry tells how many targets and clinics try again, or that nothing was waiting', () => {
  const told = (address: string) => wordsOf(String(retryResult(pageContext({ address }))));
  expect(told('/?did=retry.2.7')).toContain('7 targets of 2 clinics');
  expect(told('/?did=retry-nothing')).toContain('no request was sent');
});
