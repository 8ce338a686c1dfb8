import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { retryAfterMs } from '../../src/http/retry-after.ts';
import { DAY_MS } from '../../src/model/time.ts';

const NOW = Date.UTC(2026, 5, 15, 8);

function wait(headers: Record<string, string>): number | null {
  return retryAfterMs(new Headers(headers), NOW);
}

describe('the wait that an answer asks for', () => {
  test.each<[string, Record<string, string>, number | null]>([
    ['seconds', { 'retry-after': '120' }, 120_000],
    ['no time at all', { 'retry-after': '0' }, 0],
    ['parts of a second', { 'retry-after': ' 1.5 ' }, 1_500],
    ['a date', { 'retry-after': 'Mon, 15 Jun 2026 08:01:00 GMT' }, 60_000],
    ['a date that has passed', { 'retry-after': 'Mon, 15 Jun 2026 07:00:00 GMT' }, 0],
    ['the end of a rate limit', { 'x-ratelimit-reset': String(NOW / 1_000 + 30) }, 30_000],
    ['both, of which Retry-After counts', { 'retry-after': '5', 'x-ratelimit-reset': String(NOW / 1_000 + 30) }, 5_000],
    [
      'an unusable Retry-After beside a usable reset',
      { 'retry-after': 'soon', 'x-ratelimit-reset': String(NOW / 1_000 + 30) },
      30_000,
    ],
    ['more than a day', { 'retry-after': '99999999' }, DAY_MS],
    ['nothing', {}, null],
    ['something unusable', { 'retry-after': 'soon' }, null],
    ['a reset that is no number', { 'x-ratelimit-reset': '2026-06-15' }, null],
  ])('in %s', (_, headers, expected) => {
    expect(wait(headers)).toBe(expected);
  });

  test('is never negative and never above a day, whatever the header says', () => {
    const values = fc.oneof(
      fc.string({ unit: 'grapheme-ascii' }),
      fc.integer().map(String),
      fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
    );
    fc.assert(
      fc.property(values, values, (after, reset) => {
        const answer = wait({ 'retry-after': after, 'x-ratelimit-reset': reset });
        if (answer !== null) expect(answer >= 0 && answer <= DAY_MS).toBe(true);
      }),
    );
  });
});
