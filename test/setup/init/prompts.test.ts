import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import type { TextQuestion } from '../../../src/setup/init/asker.ts';
import { terminalAsker } from '../../../src/setup/init/prompts.ts';

const ENTER = '\r';
const CTRL_C = '\x03';
const DOWN = '\x1b[B';
const QUESTION: TextQuestion = { id: 'name', ask: 'Name of the clinic?', why: 'Pages show it.' };
const KINDS = { ...QUESTION, choices: ['google', 'feed', 'caldav'].map((value) => ({ value, label: `a ${value}` })) };

/** A person who types these keys, one after another. */
function openTerminal() {
  const [input, output] = [new PassThrough(), new PassThrough()];
  let shown = '';
  output.on('data', (part) => {
    shown += part;
  });
  return {
    asker: terminalAsker({ input, output }),
    shown: () => shown,
    async typing<Answer>(answer: Promise<Answer>, ...keys: string[]): Promise<Answer> {
      for (const key of keys) input.write(key);
      return answer;
    },
  };
}

describe('a typed text', () => {
  test('is the answer, and the question is shown with its reason', async () => {
    const { asker, typing, shown } = openTerminal();
    expect(await typing(asker.text(QUESTION), 'Rossi', ENTER)).toBe('Rossi');
    expect(shown()).toContain('Name of the clinic?');
    expect(shown()).toContain('Pages show it.');
  });

  test('is required, unless the question has a default or is optional', async () => {
    const needed = openTerminal();
    expect(await needed.typing(needed.asker.text(QUESTION), ENTER, 'Rossi', ENTER)).toBe('Rossi');
    expect(needed.shown()).toContain('this value is required');
    const usual = openTerminal();
    expect(await usual.typing(usual.asker.text({ ...QUESTION, usual: 'Verdi' }), ENTER)).toBe('Verdi');
    const optional = openTerminal();
    expect(await optional.typing(optional.asker.text({ ...QUESTION, isOptional: true }), ENTER)).toBe('');
  });

  test('is requested again, with the reason, if it is not valid', async () => {
    const { asker, typing, shown } = openTerminal();
    const check = (typed: string) => (typed.length > 2 ? undefined : 'this is too short');
    expect(await typing(asker.text({ ...QUESTION, check }), 'Ro', ENTER, 'ssi', ENTER)).toBe('Rossi');
    expect(shown()).toContain('this is too short');
  });

  test('is not shown if it is a secret', async () => {
    const { asker, typing, shown } = openTerminal();
    expect(await typing(asker.secret(QUESTION), 'XQZ', ENTER)).toBe('XQZ');
    expect(shown()).not.toMatch(/[XQZ]/);
  });
});

describe('a choice in the terminal', () => {
  test('has several options, and the first one is the default', async () => {
    const first = openTerminal();
    expect(await first.typing(first.asker.choice(KINDS), ENTER)).toBe('google');
    const second = openTerminal();
    expect(await second.typing(second.asker.choice(KINDS), DOWN, ENTER)).toBe('feed');
  });

  test('can have several answers, and at least one', async () => {
    const { asker, typing } = openTerminal();
    expect(await typing(asker.choices(KINDS), ENTER, ' ', DOWN, DOWN, ' ', ENTER)).toEqual(['google', 'caldav']);
  });

  test('of another calendar starts after the first one, and is no by default', async () => {
    const unasked = openTerminal();
    expect(await unasked.asker.another('calendars', 0, 'One more?')).toBe(true);
    expect(unasked.shown()).toBe('');
    const no = openTerminal();
    expect(await no.typing(no.asker.another('calendars', 1, 'One more?'), ENTER)).toBe(false);
    const yes = openTerminal();
    expect(await yes.typing(yes.asker.another('calendars', 1, 'One more?'), 'y')).toBe(true);
  });
});

test.each([
  ['a text', 'text'],
  ['a secret', 'secret'],
] as const)('Ctrl+C at %s ends the command: init-ended', async (_, kind) => {
  const { asker, typing } = openTerminal();
  await expect(typing(asker[kind](QUESTION), CTRL_C)).rejects.toMatchObject({ code: 'init-ended', retry: 'never' });
});

test('Ctrl+C at a choice ends the command: init-ended', async () => {
  for (const ask of ['choice', 'choices'] as const) {
    const { asker, typing } = openTerminal();
    await expect(typing<unknown>(asker[ask](KINDS), CTRL_C), ask).rejects.toMatchObject({ code: 'init-ended' });
  }
  const { asker, typing } = openTerminal();
  await expect(typing(asker.another('calendars', 1, 'One more?'), CTRL_C)).rejects.toMatchObject({
    code: 'init-ended',
  });
});

test('a report is no question', () => {
  const { asker, shown } = openTerminal();
  asker.report('two files were written');
  expect(shown()).toContain('two files were written');
});
