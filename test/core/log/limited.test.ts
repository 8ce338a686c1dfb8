import { expect, test } from 'vitest';
import { limitLines } from '../../../src/core/log/limited.ts';
import { type Logger, silentLogger } from '../../../src/core/log/logger.ts';

/** Opens a log with at most one line a minute for each code, also of its children. */
function open() {
  const lines: [message: string, data: object][] = [];
  const write = (data: object, message: string) => void lines.push([message, data]);
  const inner: Logger = { ...silentLogger, info: write, warn: write, error: write, child: () => inner };
  const clock = { nowMs: 0 };
  const codeOf = (data: object) => ('code' in data ? String(data.code) : null);
  return { log: limitLines(inner, { codeOf, clock: () => clock.nowMs }), lines, clock };
}

test('a code has one line a minute, with the number of lines left out, whichever logger writes them', () => {
  const { log, lines, clock } = open();
  for (let count = 0; count < 3; count += 1) log.error({ code: 'redis-full', count }, 'job failed');
  log.child({ tenant: 'aurora' }).warn({ code: 'redis-full' }, 'no audit');
  clock.nowMs = 59_999;
  log.error({ code: 'redis-full' }, 'job failed');
  expect(lines).toEqual([['job failed', { code: 'redis-full', count: 0 }]]);
  clock.nowMs = 60_000;
  log.error({ code: 'redis-full' }, 'job failed');
  clock.nowMs = 120_000;
  log.error({ code: 'redis-full' }, 'job failed');
  expect(lines.slice(1)).toEqual([
    ['job failed', { code: 'redis-full', repeated: 4 }],
    ['job failed', { code: 'redis-full' }],
  ]);
});

test('other codes, lines without a code and lines of information are all written', () => {
  const { log, lines } = open();
  for (const code of ['redis-full', 'redis-read-only']) log.error({ code }, 'job failed');
  for (let count = 0; count < 2; count += 1) log.error({}, 'job failed');
  for (let count = 0; count < 2; count += 1) log.info({ code: 'redis-full' }, 'Redis accepts commands again');
  expect(lines).toHaveLength(6);
});
