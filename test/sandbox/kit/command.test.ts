import { describe, expect, test } from 'vitest';
import { describeOptions, describeStart, readOptions, UsageError } from '../../../sandbox/kit/command.ts';

const NAMES = ['plain', 'odd'] as const;
const OPTIONS = {
  port: { about: 'where it listens', default: 4610 },
  dialect: { about: 'how it speaks', default: 'plain', choices: NAMES },
  strict: { about: 'refuses more', default: false },
};

describe('options', () => {
  test('have the given values, or their defaults', () => {
    const given = readOptions(OPTIONS, ['--port', '0', '--strict']);
    expect([given.number('port'), given.choice('dialect', NAMES), given.flag('strict')]).toEqual([0, 'plain', true]);
    expect(readOptions(OPTIONS, []).number('port')).toBe(4610);
    expect(readOptions(OPTIONS, []).flag('strict')).toBe(false);
  });

  test.each([
    [['--prot', '1'], /--prot/],
    [['--port'], /--port/],
    [['--port', 'x'], /--port must be a whole number/],
    [['--port=-1'], /--port must be a whole number/],
    [['--dialect', 'klingon'], /--dialect must be one of plain, odd/],
    [['extra'], /extra/],
  ])('are refused when they are wrong: %j', (args, says) => {
    const read = () => {
      const given = readOptions(OPTIONS, args);
      return [given.number('port'), given.choice('dialect', NAMES)];
    };
    expect(read).toThrow(UsageError);
    expect(read).toThrow(says);
  });

  test('are listed with their choices and defaults', () => {
    expect(describeOptions(OPTIONS)).toBe(
      [
        '  --port <value>     where it listens (4610)',
        '  --dialect <value>  how it speaks: plain, odd (plain)',
        '  --strict           refuses more',
      ].join('\n'),
    );
  });
});

test('what is printed can be pasted into a shell, whatever is in it', () => {
  const printed = describeStart('odd', {
    facts: { clientId: 'c' },
    example: { url: 'http://127.0.0.1:1/a?b=1&c=2', headers: { 'x-key': "it's" }, body: '{"a":1}' },
    adminUrl: 'http://127.0.0.1:1',
    close: async () => {},
  });
  expect(printed).toContain('  client id  c\n');
  expect(printed).toContain(`curl -sS -H 'x-key: it'\\''s' -d '{"a":1}' 'http://127.0.0.1:1/a?b=1&c=2'\n`);
  expect(printed).toContain(`'http://127.0.0.1:1/__sandbox/faults'`);
});
