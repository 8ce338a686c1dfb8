import { describe, expect, test } from 'vitest';
import { asMirrorError, MirrorError } from '../../src/model/errors.ts';

describe('any thrown value as a MirrorError', () => {
  test('is the same object when it is one already', () => {
    const error = new MirrorError('no answer in time', { actor: 'remote', code: 'timeout', retry: 'later' });
    expect(asMirrorError(error)).toBe(error);
  });

  test.each([[new Error('Mario Rossi 333 1234567')], ['Mario Rossi'], [undefined], [null], [{ body: 'Rossi' }]])(
    'does not show an unexpected value (%#)',
    (thrown) => {
      const error = asMirrorError(thrown);
      expect(error).toMatchObject({ actor: 'contract', code: 'unexpected', retry: 'later', ambiguous: false });
      expect(error.message).not.toMatch(/Rossi|333/);
    },
  );
});

test('what an error was not told stays undefined, and ambiguous is false', () => {
  const error = new MirrorError('x', { actor: 'guard', code: 'x', retry: 'never' });
  expect([error.retryAfterMs, error.status, error.remedy, error.cause]).toEqual(Array(4).fill(undefined));
  expect(error.ambiguous).toBe(false);
});
