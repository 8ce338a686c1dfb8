import { describe, expect, test } from 'vitest';
import { FAULTS } from '../faults/index.ts';
import { checkRewrites, MECHANISMS } from '../without/mechanisms.ts';
import { focusedScript } from '../without/scripts.ts';
import { choiceOf, describeScript, type Script, scriptOf } from './generate.ts';
import { shrink } from './shrink.ts';

const SEEDS = Array.from({ length: 300 }, (_, index) => index + 1);

describe('a script', () => {
  test('follows from its seed alone', () => {
    for (const seed of SEEDS.slice(0, 50)) expect(scriptOf(seed, choiceOf([]))).toEqual(scriptOf(seed, choiceOf([])));
    const all = new Set(SEEDS.map((seed) => JSON.stringify(scriptOf(seed, choiceOf([])).steps)));
    expect(all.size).toBe(SEEDS.length);
  });

  test('is data: what is written down is what is played', () => {
    const script = scriptOf(7, choiceOf([]));
    expect(JSON.parse(JSON.stringify(script))).toEqual(script);
  });

  test('comes to every fault in time', () => {
    const drawn = SEEDS.flatMap((seed) => scriptOf(seed, choiceOf([])).steps.map(({ fault }) => fault));
    expect([...new Set(drawn)].sort()).toEqual([...FAULTS.keys()].sort());
  });

  test('is drawn from groups and faults that were named, and a name that is neither is refused', () => {
    const drawn = SEEDS.flatMap((seed) => scriptOf(seed, choiceOf(['redis', 'kill'])).steps.map(({ fault }) => fault));
    expect(drawn.every((name) => name === 'kill' || name.startsWith('redis-'))).toBe(true);
    expect(() => choiceOf(['kills', 'nonsense'])).toThrow(new RangeError('nonsense'));
  });

  test('lets masters die where there are several, and plays nothing there that asks for one server', () => {
    const drawn = SEEDS.flatMap((seed) => scriptOf(seed, choiceOf([], 'cluster')).steps.map(({ fault }) => fault));
    const isOfOne = (name: string) => FAULTS.get(name)?.isOfLoneRedis === true;
    expect(new Set(drawn)).toEqual(new Set([...FAULTS.keys()].filter((name) => !isOfOne(name))));
    expect(drawn.filter((name) => name === 'redis-failover').length).toBeGreaterThan(drawn.length / 10);
    expect(() => choiceOf(['redis-restart'], 'cluster')).toThrow(RangeError);
  });

  test('goes for what a safety catches, one for each safety', () => {
    for (const mechanism of Object.keys(MECHANISMS)) {
      const { steps } = focusedScript(mechanism, 1);
      expect(steps.length).toBeGreaterThan(0);
      expect(steps.filter(({ fault }) => !FAULTS.has(fault))).toEqual([]);
    }
  });
});

test('what "--without" takes out stands in the sources to the letter', async () => {
  for (const mechanism of Object.keys(MECHANISMS)) await checkRewrites(mechanism);
});

describe('a failing script', () => {
  const script: Script = { ...scriptOf(3, choiceOf([])), daemons: 3 };
  const steps = Array.from({ length: 6 }, (_, index) => ({ ...(script.steps[0] as Script['steps'][0]), work: index }));
  const works = (one: Script) => one.steps.map(({ work }) => work);

  test('is reduced to the steps that it takes', async () => {
    const fails = async (one: Script) => [1, 4].every((work) => works(one).includes(work));
    const { script: shortest, fails: didFail } = await shrink({ ...script, steps }, fails, { mostTries: 100 });
    expect(didFail).toBe(true);
    expect(works(shortest)).toEqual([1, 4]);
    expect(shortest.daemons).toBe(1);
  });

  test('that fails now and then is tried more than once', async () => {
    let turn = 0;
    const fails = async (one: Script) => {
      turn += 1;
      return turn % 2 === 0 && works(one).includes(2);
    };
    expect(works((await shrink({ ...script, steps }, fails, { mostTries: 100 })).script)).toEqual([2]);
  });

  test('is not tried for ever, and one that does not fail again is given as it was', async () => {
    let tries = 0;
    const never = async () => {
      tries += 1;
      return false;
    };
    expect(await shrink({ ...script, steps }, never, { mostTries: 5 })).toMatchObject({
      fails: false,
      script: { steps },
    });
    const always = async () => {
      tries += 1;
      return true;
    };
    tries = 0;
    expect((await shrink({ ...script, steps }, always, { mostTries: 5 })).tries).toBe(5);
    expect(tries).toBe(5);
  });

  test('is told with all that it takes to understand it', () => {
    const text = describeScript({ ...script, steps: steps.slice(0, 1) });
    expect(text).toContain(`seed 3: 3 daemons`);
    expect(text.split('\n')).toHaveLength(2);
  });
});
