import { describe, expect, test } from 'vitest';
import { createLogger, type LogOptions } from '../../../src/core/log/create-logger.ts';
import type { Logger } from '../../../src/core/log/logger.ts';

const CANARY = 'Canary Rossi';

/** A log that keeps its lines. */
function recordingLog(options: Partial<LogOptions> = {}): { log: Logger; lines: string[] } {
  const lines: string[] = [];
  const log = createLogger({ level: 'debug', destination: { write: (line) => lines.push(line) }, ...options });
  return { log, lines };
}

function onlyLine(lines: string[]): Record<string, unknown> {
  expect(lines).toHaveLength(1);
  return JSON.parse(lines[0] ?? '');
}

describe('a line', () => {
  test('is one JSON object with time, level, data and message', () => {
    const { log, lines } = recordingLog();
    log.child({ tenant: 'uno' }).info({ pages: 3, complete: true }, 'read the appointments');
    expect(onlyLine(lines)).toEqual({
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      level: 'info',
      tenant: 'uno',
      pages: 3,
      complete: true,
      msg: 'read the appointments',
    });
    expect(lines[0]?.endsWith('}\n')).toBe(true);
  });

  test('has each key once: the data of the line wins, and keys of the log itself stay', () => {
    const { log, lines } = recordingLog();
    const bound = log.child({ tenant: 'uno', target: 'doctor', level: 3 }).child({ tenant: 'due' });
    bound.warn({ target: 'nurse', time: 5, msg: 'other' }, 'read the appointments');
    const keys = [...(lines[0] ?? '').matchAll(/"(\w+)":/g)].map(([, key]) => key);
    expect(keys).toEqual([...new Set(keys)]);
    expect(onlyLine(lines)).toMatchObject({
      ...{ tenant: 'due', target: 'nurse', level: 'warn', msg: 'read the appointments' },
      ...{ level_: 3, time_: 5, msg_: 'other' },
    });
  });

  test('is for people when asked for', () => {
    const { log, lines } = recordingLog({ readable: true });
    log.warn({ held: 12, token: CANARY }, 'a plan is held');
    expect(lines.join('')).toMatch(/^\[[\d:]+\] WARN: a plan is held\n {4}held: 12\n {4}token: "\[redacted\]"\n$/);
  });

  test('is not written below the level', () => {
    const { log, lines } = recordingLog({ level: 'warn' });
    log.info({}, 'quiet');
    log.child({}).debug({}, 'quiet');
    expect(lines).toEqual([]);
  });

  test('holds no secret in its own data nor in that of its parents', () => {
    const { log, lines } = recordingLog();
    log.child({ job: { token: { inner: CANARY } } }).info({ error: { token: CANARY } }, 'child');
    expect(onlyLine(lines)).toMatchObject({ job: { token: '[redacted]' }, error: { token: '[redacted]' } });
  });
});
