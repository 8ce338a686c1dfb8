import { describe, expect, test } from 'vitest';
import { type Share, Turns } from '../../src/jobs/turns.ts';

/** Turns whose work ends when it is told to, and that come again when they are called. */
function open() {
  const turns = new Turns();
  const working = new Map<string, PromiseWithResolvers<void>>();
  const begun: string[] = [];
  const ended: Promise<void>[] = [];
  const come = (work: string, shares: readonly Share[], job = work): string => {
    const admission = turns.admit({ work, job, shares, call: async () => void come(work, shares, job) });
    if (admission.turn !== 'begin') return admission.turn;
    begun.push(work);
    const gate = Promise.withResolvers<void>();
    working.set(work, gate);
    ended.push(admission.run(() => gate.promise).catch(() => {}));
    return 'begin';
  };
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  return {
    ...{ turns, begun, come },
    async end(work: string, error?: Error) {
      if (error === undefined) working.get(work)?.resolve();
      else working.get(work)?.reject(error);
      await settle();
    },
  };
}

const two: Share = { name: 'two at once', most: 2 };
const other: Share = { name: 'another', most: 2 };

describe('a share', () => {
  test('that is full leaves the others alone', () => {
    const { come, begun } = open();
    for (const work of ['a', 'b', 'c']) come(work, [two]);
    come('d', [other]);
    expect(begun).toEqual(['a', 'b', 'd']);
  });

  test('has room again after each end, failed or not, for whoever came first', async () => {
    const { come, begun, end } = open();
    for (const work of ['a', 'b', 'c', 'd', 'e']) come(work, [two]);
    await end('b', new Error('failed'));
    await end('c');
    expect(begun).toEqual(['a', 'b', 'c', 'd']);
    await end('a');
    expect(begun).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  test('is not taken by a newcomer from whoever was called', async () => {
    const turns = new Turns();
    const one: Share = { name: 'one at once', most: 1 };
    const gate = Promise.withResolvers<void>();
    const called: string[] = [];
    const ask = (work: string) =>
      turns.admit({ work, job: work, shares: [one], call: async () => void called.push(work) });
    const first = ask('first');
    const ended = first.turn === 'begin' ? first.run(() => gate.promise) : null;
    expect(ask('second')).toEqual({ turn: 'wait', ahead: 0 });
    gate.resolve();
    await ended;
    expect(called).toEqual(['second']);
    expect(ask('third')).toEqual({ turn: 'wait', ahead: 0 });
    expect(ask('second').turn).toBe('begin');
  });

  test('goes to the next one when whoever was called can not come', async () => {
    const { turns, come, begun, end } = open();
    come('a', [two]);
    come('b', [two]);
    turns.admit({
      work: 'gone',
      job: 'gone',
      shares: [two],
      call: () => Promise.reject(new Error('taken by another')),
    });
    come('c', [two]);
    await end('a');
    expect(begun).toEqual(['a', 'b', 'c']);
  });
});

describe('a turn', () => {
  test('waits for each of its shares without taking of one while it waits for another', async () => {
    const { come, begun, end } = open();
    come('a', [two]);
    come('b', [two]);
    come('both', [other, two]);
    come('c', [other]);
    come('d', [other]);
    expect(begun).toEqual(['a', 'b', 'c', 'd']);
    await end('a');
    expect(begun).not.toContain('both');
    come('later', [two]);
    expect(begun).toContain('later');
    await end('c');
    expect(begun).not.toContain('both');
    await end('b');
    expect(begun).toContain('both');
  });

  test('comes, for whoever needs two shares that are never free at the same time', async () => {
    const one: Share = { name: 'one at once', most: 1 };
    const only: Share = { name: 'only one', most: 1 };
    const { come, begun, end } = open();
    come('a 0', [one]);
    come('b 0', [only]);
    for (const work of ['both', 'both as well']) come(work, [one, only]);
    let ends = 0;
    for (; ends < 100 && !begun.includes('both as well'); ends += 1) {
      come(`a ${ends + 1}`, [one]);
      come(`b ${ends + 1}`, [only]);
      for (const work of begun.slice()) if (work.startsWith(ends % 2 === 0 ? 'a' : 'b')) await end(work);
      await end('both');
    }
    expect(begun.filter((work) => work.startsWith('both'))).toEqual(['both', 'both as well']);
    expect(ends).toBeLessThan(20);
    for (let index = 0; index < begun.length; index += 1) await end(begun[index] as string);
    expect(begun).toHaveLength(2 * ends + 4);
  });

  test('is one for the same work, by the job that came first', () => {
    const { come, begun } = open();
    come('a', [two]);
    come('b', [two]);
    expect(come('c', [two], 'one job')).toBe('wait');
    expect(come('c', [two], 'another job')).toBe('leave');
    expect(come('c', [two], 'one job')).toBe('wait');
    expect(begun).toEqual(['a', 'b']);
  });

  test('that waits in line for a budget keeps others from beginning, and not from going on', async () => {
    const turns = new Turns();
    const share: Share = { name: 'client', most: 4, mostInLine: 1 };
    const answers = new Map<string, PromiseWithResolvers<void>>();
    const steps: string[] = [];
    const answerTo = async (work: string) => {
      const answer = Promise.withResolvers<void>();
      answers.set(work, answer);
      await answer.promise;
    };
    const come = (work: string): void => {
      const admission = turns.admit({ work, job: work, shares: [share], call: async () => come(work) });
      if (admission.turn !== 'begin') return;
      void admission.run(async () => {
        steps.push(`${work} begins`);
        await answerTo(`${work}, at once`);
        await turns.inLine(() => answerTo(`${work}, in line`));
        steps.push(`${work} ends`);
      });
    };
    const settle = () => new Promise((resolve) => setImmediate(resolve));
    const answer = async (name: string) => {
      answers.get(name)?.resolve();
      await settle();
    };
    come('a');
    come('b');
    await answer('a, at once');
    come('c');
    come('d');
    await answer('b, at once');
    expect(steps).toEqual(['a begins', 'b begins']);
    await answer('a, in line');
    expect(steps.slice(2)).toEqual(['a ends']);
    await answer('b, in line');
    expect(steps.slice(3).toSorted()).toEqual(['b ends', 'c begins', 'd begins']);
  });

  test('is none for whoever waits in line outside of one', async () => {
    expect(await new Turns().inLine(async () => 'an answer')).toBe('an answer');
  });
});
