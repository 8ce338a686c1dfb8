import { describe, expect, test } from 'vitest';
import { FAULTS } from '../faults/index.ts';
import { checkRewrites, MECHANISMS } from '../without/mechanisms.ts';
import { focusedScript } from '../without/scripts.ts';
import { choiceOf, describeScript, type Script, scriptOf } from './generate.ts';
import { shrink } from './shrink.ts';

const SEEDS = Array.from({ length: 300 }, (_, index) => index + 1);

describe('a script', () => {
  test('depends only on its seed', () => {
    for (const seed of SEEDS.slice(0, 50)) expect(scriptOf(seed, choiceOf([]))).toEqual(scriptOf(seed, choiceOf([])));
    const all = new Set(SEEDS.map((seed) => JSON.stringify(scriptOf(seed, choiceOf([])).steps)));
    expect(all.size).toBe(SEEDS.length);
  });

  test('is data: the recorded script is the played script', () => {
    const script = scriptOf(7, choiceOf([]));
    expect(JSON.parse(JSON.stringify(script))).toEqual(script);
  });

  test('draws every fault eventually', () => {
    const drawn = SEEDS.flatMap((seed) => scriptOf(seed, choiceOf([])).steps.map(({ fault }) => fault));
    expect([...new Set(drawn)].sort()).toEqual([...FAULTS.keys()].sort());
  });

  test('is drawn from the named groups and faults, and an unknown name is refused', () => {
    const drawn = SEEDS.flatMap((seed) => scriptOf(seed, choiceOf(['redis', 'kill'])).steps.map(({ fault }) => fault));
    expect(drawn.every((name) => name === 'kill' || name.startsWith('redis-'))).toBe(true);
    expect(() => choiceOf(['kills', 'nonsense'])).toThrow(new RangeError('nonsense'));
  });

  test('kills masters if there are several, and then plays no fault for a single server', () => {
    const drawn = SEEDS.flatMap((seed) => scriptOf(seed, choiceOf([], 'cluster')).steps.map(({ fault }) => fault));
    const isOfOne = (name: string) => FAULTS.get(name)?.isOfLoneRedis === true;
    expect(new Set(drawn)).toEqual(new Set([...FAULTS.keys()].filter((name) => !isOfOne(name))));
    expect(drawn.filter((name) => name === 'redis-failover').length).toBeGreaterThan(drawn.length / 10);
    expect(() => choiceOf(['redis-restart'], 'cluster')).toThrow(RangeError);
  });

  test('attacks each safety with a fault that it prevents', () => {
    for (const mechanism of Object.keys(MECHANISMS)) {
      const { steps } = focusedScript(mechanism, 1);
      expect(steps.length).toBeGreaterThan(0);
      expect(steps.filter(({ fault }) => !FAULTS.has(fault))).toEqual([]);
    }
  });
});

test('each text that "--without" removes is in the sources exactly', async () => {
  for (const mechanism of Object.keys(MECHANISMS)) await checkRewrites(mechanism);
});

describe('a failing script', () => {
  const script: Script = { ...scriptOf(3, choiceOf([])), daemons: 3 };
  const steps = Array.from({ length: 6 }, (_, index) => ({ ...(script.steps[0] as Script['steps'][0]), work: index }));
  const works = (one: Script) => one.steps.map(({ work }) => work);

  test('is reduced to the necessary steps', async () => {
    const fails = async (one: Script) => [1, 4].every((work) => works(one).includes(work));
    const { script: shortest, fails: didFail } = await shrink({ ...script, steps }, fails, { mostTries: 100 });
    expect(didFail).toBe(true);
    expect(works(shortest)).toEqual([1, 4]);
    expect(shortest.daemons).toBe(1);
  });

  test('that fails sometimes is tried more than once', async () => {
    let turn = 0;
    const fails = async (one: Script) => {
      turn += 1;
      return turn % 2 === 0 && works(one).includes(2);
    };
    expect(works((await shrink({ ...script, steps }, fails, { mostTries: 100 })).script)).toEqual([2]);
  });

  test('is retried a limited number of times, and returned unchanged if it does not fail again', async () => {
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

  test('is reported with all the data needed to understand it', () => {
    const text = describeScript({ ...script, steps: steps.slice(0, 1) });
    expect(text).toContain(`seed 3: 3 daemons`);
    expect(text.split('\n')).toHaveLength(2);
  });
});
