import { describe, expect, onTestFinished, test } from 'vitest';
import { outlineApart, startExpressionThread } from '../../src/composition/expression-threads.ts';
import { plainOutline } from '../../src/settings/crm-expressions.ts';
import { paced } from '../support/pace.ts';

const PATIENCE_MS = paced(30_000);

function start() {
  const thread = startExpressionThread();
  onTestFinished(() => thread.end());
  return thread;
}

const requestOf = (expression: string) => ({
  rules: [{ expression, kind: 'text' as const }],
  inputs: [{ a: 'A' }],
  from: 0,
});

describe('a thread for expressions', () => {
  test('answers in order, and sends nothing after the last answer', async () => {
    const thread = start();
    thread.ask(requestOf('a & "!"'));
    expect(await thread.next(PATIENCE_MS)).toBe('ready');
    expect(await thread.next(PATIENCE_MS)).toEqual({ value: 'A!' });
    expect(await thread.next(1)).toBe('silent');
    expect(await thread.processorMs()).toBeGreaterThan(0);
  });

  test('that was ended during its work reports this repeatedly, and reports no time', async () => {
    const thread = start();
    thread.ask(requestOf('($f := function($n) { $n = 0 ? "x" : $f($n - 1) }; $f(1e9))'));
    expect(await thread.next(PATIENCE_MS)).toBe('ready');
    const waiting = thread.next(PATIENCE_MS);
    await thread.end();
    expect([await waiting, await thread.next(PATIENCE_MS)]).toEqual(['ended', 'ended']);
    expect(await thread.processorMs()).toBeNull();
  });

  test('that can compile no rule ends', async () => {
    const thread = start();
    thread.ask(requestOf('a.('));
    expect(await thread.next(PATIENCE_MS)).toBe('ended');
  });
});

test('outlines made in the thread equal those made here, in order; an invalid expression is refused', async () => {
  const expressions = ['a.b & c', 'a.(', 'd'];
  expect(await outlineApart(expressions)).toEqual(expressions.map(plainOutline));
});

test('an expression that takes too long to parse is refused, and the next one is outlined', async () => {
  // Seconds of processor time on any host: the parser's time grows with the square of the number of parents.
  const endless = `[${Array(60).fill(`a.${'b.%.'.repeat(3_000)}c`)}]`;
  expect(await outlineApart([endless, 'd'])).toEqual([null, plainOutline('d')]);
});
