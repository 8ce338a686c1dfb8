import { describe, expect, test } from 'vitest';
import { Mutex, SharedState } from '../../src/connectors/shared-state.ts';

class Calls {
  count = 0;
}
class Waits {
  untilAt = 0;
}

test('only targets with the same name share one state of each kind', () => {
  const shared = new SharedState();
  shared.of(Calls, 'org').count = 3;
  expect(shared.of(Calls, 'org').count).toBe(3);
  expect(shared.of(Calls, 'another org').count).toBe(0);
  expect(shared.of(Waits, 'org').untilAt).toBe(0);
  expect(new SharedState().of(Calls, 'org').count).toBe(0);
});

test('an object is a name that only itself is equal to', () => {
  const shared = new SharedState();
  const login = {};
  shared.of(Calls, login).count = 3;
  expect(shared.of(Calls, login).count).toBe(3);
  expect(shared.of(Calls, {}).count).toBe(0);
});

const NEVER = new AbortController().signal;

/** Work that ends when told. */
function work(name: string, log: string[]) {
  const { promise, resolve } = Promise.withResolvers<void>();
  const run = async () => {
    log.push(`${name} begins`);
    await promise;
    log.push(`${name} ends`);
    return name;
  };
  return { run, end: resolve };
}

/** Waits until all microtasks have run. */
async function settle(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

describe('turns', () => {
  test('run one at a time, in order, while other targets continue', async () => {
    const [turns, others] = [new Mutex(), new Mutex()];
    const log: string[] = [];
    const [one, two, other] = [work('one', log), work('two', log), work('other', log)];
    const first = turns.run(one.run, NEVER);
    const second = turns.run(two.run, NEVER);
    const third = others.run(other.run, NEVER);
    await settle();
    expect(log).toEqual(['one begins', 'other begins']);
    one.end();
    expect(await first).toBe('one');
    await settle();
    expect(log).toEqual(['one begins', 'other begins', 'one ends', 'two begins']);
    two.end();
    other.end();
    expect(await Promise.all([second, third])).toEqual(['two', 'other']);
  });

  test('continue after a failure, and report whose failure occurred', async () => {
    const turns = new Mutex();
    const failing = turns.run(() => Promise.reject(new Error('broken')), NEVER);
    const next = turns.run(async () => 'next', NEVER);
    await expect(failing).rejects.toThrow('broken');
    expect(await next).toBe('next');
  });

  test('are released immediately after an abort, and later ones still wait for the running one', async () => {
    const turns = new Mutex();
    const log: string[] = [];
    const [one, two, three] = [work('one', log), work('two', log), work('three', log)];
    const stop = new AbortController();
    const first = turns.run(one.run, NEVER);
    const stopped = turns.run(two.run, stop.signal);
    stop.abort();
    await expect(stopped).rejects.toMatchObject({ actor: 'remote', code: 'aborted', retry: 'later' });
    const third = turns.run(three.run, NEVER);
    await settle();
    expect(log).toEqual(['one begins']);
    one.end();
    three.end();
    await Promise.all([first, third]);
    expect(log).toEqual(['one begins', 'one ends', 'three begins', 'three ends']);
    await expect(turns.run(two.run, stop.signal)).rejects.toMatchObject({ code: 'aborted' });
  });
});
