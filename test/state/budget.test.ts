import { describe, expect, test } from 'vitest';
import { budgetUse, openBudgetShare, readBudgetUse } from '../../src/state/budget.ts';
import { keys } from '../../src/state/keys.ts';
import { useRedis } from '../support/redis.ts';
import { useBudget } from './budget-time.ts';

const redis = useRedis();

const NEVER = new AbortController().signal;

/** One request a minute: the duration of the test is negligible. */
const SLOW = { requestsPerMinute: 1, burst: 1 };

const MINUTE = 60_000;

function budget(limits: { requestsPerMinute: number; burst: number } = SLOW) {
  return useBudget(() => redis.connect(), limits);
}

async function failureOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => undefined,
    (error: unknown) => error,
  );
}

describe('a budget', () => {
  test('grants its burst at once and then at its rate, over many connections', async () => {
    const { ask, pass, granted } = budget({ requestsPerMinute: 1, burst: 3 });
    for (const who of ['a', 'b', 'a', 'b', 'c']) await ask(who);
    expect(granted).toEqual(['a', 'b', 'a']);
    await pass(MINUTE - 10_000, 5_000);
    expect(granted).toHaveLength(3);
    await pass(10_000, 5_000);
    expect(granted).toHaveLength(4);
    await pass(MINUTE - 10_000, 5_000);
    expect(granted).toHaveLength(4);
    await pass(10_000, 5_000);
    expect(granted).toHaveLength(5);
  });

  test('saves up no more than its burst', async () => {
    const { ask, pass, granted } = budget({ requestsPerMinute: 1, burst: 2 });
    await ask('a');
    await pass(10 * MINUTE, MINUTE);
    for (let index = 0; index < 4; index += 1) await ask('a');
    expect(granted).toHaveLength(3);
  });

  test.each(['x', '{}', 'null', '[1', '-7'])('grants with the damaged value %s in each place', async (garbage) => {
    const connection = redis.connect();
    const { budget: state, waiting, shares, used } = keys.budget('client-1');
    const limits = { requestsPerMinute: 6_000, burst: 100 };
    const share = openBudgetShare(connection, { budget: 'client-1', participant: 'a', limits, priority: 'background' });
    for (const field of ['takenUntil', 'seq', 'paused', 'paused:a', 'trial', 'trial:a', 'refusedSince:a'])
      await connection.hset(state, field, garbage);
    await connection.hset(waiting, 'ticket', garbage);
    for (const field of ['passed', 'start:background', 'background:a']) await connection.hset(shares, field, garbage);
    const [seconds = 0] = await connection.time();
    await connection.hset(used, `hour:${Math.floor(seconds / 3_600)}`, garbage);
    await share.take(NEVER);
    await share.take(NEVER, 2);
    expect(await share.pause()).toBeNull();
    expect((await readBudgetUse(connection, 'client-1')).lastDay.get('a')).toBeGreaterThan(2);
    expect(await connection.hlen(waiting)).toBe(0);
  });

  test('of another application is another one', async () => {
    await openBudgetShare(redis.connect(), {
      budget: 'client-1',
      participant: 'a',
      limits: SLOW,
      priority: 'background',
    }).take(NEVER);
    await openBudgetShare(redis.connect(), {
      budget: 'client-2',
      participant: 'a',
      limits: SLOW,
      priority: 'background',
    }).take(NEVER);
  });

  test('charges a batch with its units, and a batch above the limit with the limit', async () => {
    const { ask, pass, granted } = budget({ requestsPerMinute: 1, burst: 5 });
    await ask('batch', undefined, { units: 3 });
    await ask('two', undefined, { units: 2 });
    expect(granted).toEqual(['batch', 'two']);
    await ask('all', undefined, { units: 1_000 });
    await pass(5 * MINUTE - 10_000, 10_000);
    expect(granted).toHaveLength(2);
    await pass(10_000);
    expect(granted).toEqual(['batch', 'two', 'all']);
  });

  test('continues when the clock of Redis ran ahead and is set back', async () => {
    const { open, ask, pass, putBack, granted, failed } = budget();
    await ask('first');
    await open('paused').refused(MINUTE);
    await putBack(24 * 60 * MINUTE);
    await ask('next');
    await ask('paused');
    await pass(2 * MINUTE, 10_000);
    expect([granted, failed]).toEqual([['first', 'next', 'paused'], []]);
  });

  test('makes another trial after a pause although the clock of Redis is set back during a trial', async () => {
    const { open, ask, pass, putBack, granted } = budget({ requestsPerMinute: 60_000, burst: 1_000 });
    const share = open('a');
    await share.refused(10);
    await pass(3 * 60 * MINUTE, 10 * MINUTE);
    await ask('trial', share);
    await putBack(3 * 60 * MINUTE);
    await ask('next', open('a'));
    await pass(2_000);
    expect(granted).toEqual(['trial', 'next']);
  });

  test('charges one at least', async () => {
    const { ask, granted } = budget();
    await ask('a', undefined, { units: 0 });
    await ask('b');
    expect(granted).toEqual(['a']);
  });
});

describe('a waiter for a budget', () => {
  test('is served in order of arrival, and no later waiter passes', async () => {
    const { ask, pass, granted } = budget();
    const order = ['first', 'd', 'b', 'c', 'a'];
    for (const who of order) await ask(who);
    for (let minute = 1; minute <= 4; minute += 1) {
      await ask(`late-${minute}`);
      await pass(MINUTE, 5_000);
      expect(granted).toEqual(order.slice(0, minute + 1));
    }
  });

  test('waits without a time limit when no user waits for it', async () => {
    const { ask, pass, granted, failed } = budget();
    for (let index = 0; index <= 30; index += 1) await ask(`t${index}`);
    await pass(29 * MINUTE, 10_000);
    expect(granted).toHaveLength(30);
    await pass(MINUTE, 5_000);
    expect(granted.at(-1)).toBe('t30');
    expect(failed).toEqual([]);
  });

  test('has its share, however many requests another one has waiting', async () => {
    const { open, ask, pass, granted } = budget();
    const greedy = open('greedy');
    for (let index = 0; index < 8; index += 1) await ask('greedy', greedy);
    const modest = open('modest');
    await ask('modest', modest);
    await ask('modest', modest);
    await pass(5 * MINUTE, 5_000);
    expect(granted).toEqual(['greedy', 'greedy', 'modest', 'greedy', 'modest', 'greedy']);
  });

  test('alternates with the other kinds of work of its tenant, each of which asks again at once', async () => {
    const { open, ask, pass, granted } = budget();
    const tenantOf = { cycle: 'a', patients: 'a', triggers: 'a', other: 'b' };
    const shares = new Map(Object.entries(tenantOf).map(([kind, tenant]) => [kind, open(tenant)]));
    for (const [kind, share] of shares) await ask(kind, share);
    for (let minute = 1; minute < 24; minute += 1) {
      const kind = granted.at(-1) ?? '';
      await ask(kind, shares.get(kind));
      await pass(MINUTE, 10_000);
    }
    expect(granted).toHaveLength(24);
    const ofTenant = granted.filter((kind) => kind !== 'other');
    expect(granted.length - ofTenant.length).toBeGreaterThanOrEqual(11);
    for (const [index, kind] of ofTenant.slice(3).entries()) expect(kind).toBe(ofTenant[index]);
  });

  test('has its share in units: a batch is answered by as many single requests of others', async () => {
    const { open, ask, pass, granted } = budget({ requestsPerMinute: 1, burst: 3 });
    const batches = open('batches');
    const singles = open('singles');
    await ask('first', undefined, { units: 3 });
    await ask('batches', batches, { units: 3 });
    await ask('batches', batches, { units: 3 });
    for (let index = 0; index < 4; index += 1) await ask('singles', singles);
    await pass(10 * MINUTE, 10_000);
    expect(granted.join(' ')).toBe('first batches singles singles singles batches singles');
  });

  test('has no debts from units used while there was no other waiter', async () => {
    const { open, ask, pass, granted } = budget({ requestsPerMinute: 1, burst: 20 });
    const busy = open('busy');
    for (let index = 0; index < 18; index += 1) await ask('busy', busy);
    await ask('other', undefined, { units: 2 });
    expect(granted).toHaveLength(19 - 1);
    await pass(2 * MINUTE, 10_000);
    for (let index = 0; index < 2; index += 1) await ask('busy', busy);
    await ask('other');
    await pass(3 * MINUTE, 10_000);
    expect(granted.slice(18)).toEqual(['other', 'busy', 'other', 'busy']);
  });

  test('alternates with earlier waiters, however few units it used before', async () => {
    const { open, ask, pass, granted } = budget();
    const [one, other, newcomer] = ['one', 'other', 'newcomer'].map((who) => open(who));
    await ask('first');
    for (let index = 0; index < 5; index += 1) {
      await ask('one', one);
      await ask('other', other);
    }
    await pass(5 * MINUTE, 10_000);
    for (let index = 0; index < 3; index += 1) await ask('newcomer', newcomer);
    await pass(3 * MINUTE, 10_000);
    expect(granted.slice(6).sort()).toEqual(['newcomer', 'one', 'other']);
  });

  test('releases its place when it is stopped', async () => {
    const { ask, pass, granted, failed, redis: connection } = budget();
    const stop = new AbortController();
    await ask('first');
    await ask('stopped', undefined, { signal: stop.signal });
    await ask('next');
    stop.abort(new Error('stopped'));
    await pass(MINUTE);
    expect(granted).toEqual(['first', 'next']);
    expect(failed).toEqual([{ who: 'stopped', error: new Error('stopped') }]);
    expect(await connection.hlen('cm:{budget-client-1}:budget:waiting')).toBe(0);
  });

  test('takes no place when it was stopped before', async () => {
    const { ask, failed, redis: connection } = budget();
    await ask('first');
    await ask('stopped', undefined, { signal: AbortSignal.abort(new Error('stopped')) });
    expect(failed).toEqual([{ who: 'stopped', error: new Error('stopped') }]);
    expect(await connection.hlen('cm:{budget-client-1}:budget:waiting')).toBe(0);
  });

  test('and dies leaves its place to the next', async () => {
    const { open, ask, pass, granted } = budget();
    const process = { isDead: false };
    await ask('first');
    await ask('dead', open('dead', 'background', process));
    await ask('next');
    process.isDead = true;
    await pass(MINUTE);
    expect(granted).toEqual(['first', 'next']);
  });

  test('keeps its slot while it is a little late, and the next waiter has its own time', async () => {
    const { open, ask, pass, granted } = budget({ requestsPerMinute: 1, burst: 2 });
    const process = { isDead: false };
    await ask('first', undefined, { units: 2 });
    await ask('late', open('late', 'background', process));
    await ask('next');
    process.isDead = true;
    await pass(39_000);
    process.isDead = false;
    await pass(MINUTE - 39_000 - 1_000);
    expect(granted).toEqual(['first']);
    await pass(MINUTE + 1_000);
    expect(granted).toContain('next');
  });
});

describe('a waiting user’s request', () => {
  test('goes ahead of all background work, but every fourth unit is for that', async () => {
    const { open, ask, pass, granted } = budget({ requestsPerMinute: 6, burst: 1 });
    await ask('first');
    for (let index = 0; index < 3; index += 1) await ask(`job-${index}`);
    const person = open('person', 'interactive');
    const wanted = async () => {
      for (let index = granted.filter((who) => who === 'person').length; index < 7; index += 1) {
        await ask('person', person);
        await pass(10_000);
      }
    };
    await wanted();
    await pass(30_000);
    expect(granted.join(' ')).toBe('first person person person job-0 person person person job-1 person job-2');
  });

  test('gets the wait of its queue position: it comes after the first of many requests of another participant', async () => {
    const { open, ask, failed } = budget({ requestsPerMinute: 6, burst: 1 });
    const busy = open('busy', 'interactive');
    await ask('first');
    for (let index = 0; index < 3; index += 1) await ask('busy', busy);
    await ask('modest', open('modest', 'interactive'));
    expect(failed).toEqual([]);
  });

  test('gets the wait of its queue position in units: two single requests come before a second batch', async () => {
    const { open, ask, failed } = budget({ requestsPerMinute: 12, burst: 3 });
    const [batches, singles] = [open('batches', 'interactive'), open('singles', 'interactive')];
    await ask('first', undefined, { units: 3 });
    for (let index = 0; index < 2; index += 1) await ask('batches', batches, { units: 3 });
    for (let index = 0; index < 2; index += 1) await ask('singles', singles);
    expect(failed).toEqual([]);
  });

  test('goes ahead of a batch of background work by three times its units', async () => {
    const { open, ask, pass, granted } = budget({ requestsPerMinute: 6, burst: 2 });
    await ask('first', undefined, { units: 2 });
    await ask('batch', undefined, { units: 2 });
    const person = open('person', 'interactive');
    for (let index = 0; index < 8; index += 1) {
      await ask('person', person);
      await pass(10_000);
    }
    await pass(30_000);
    expect(granted.slice(1, 8).join(' ')).toBe('person person person person person person batch');
  });

  test('can use a part of the burst that is reserved from background work', async () => {
    const { open, ask, granted } = budget({ requestsPerMinute: 1, burst: 20 });
    const job = open('job');
    for (let index = 0; index < 20; index += 1) await ask('job', job);
    expect(granted).toHaveLength(18);
    const person = open('person', 'interactive');
    for (let index = 0; index < 3; index += 1) await ask('person', person);
    expect(granted.slice(18)).toEqual(['person', 'person']);
  });

  test('gets the expected wait if that is more than half a minute, and leaves no place behind', async () => {
    const { open, ask, failed, granted, redis: connection } = budget();
    await ask('first');
    await ask('person', open('person', 'interactive'));
    expect(failed).toMatchObject([
      {
        error: {
          actor: 'remote',
          code: 'budget-exhausted',
          retry: 'later',
          retryAfterMs: expect.closeTo(60_000, -3),
          remedy: expect.stringContaining('try again in 60 s'),
        },
      },
    ]);
    expect(granted).toEqual(['first']);
    expect(await connection.hlen('cm:{budget-client-1}:budget:waiting')).toBe(0);
  });

  test('gets this answer also after it has waited already', async () => {
    const { open, ask, pass, failed, granted } = budget({ requestsPerMinute: 6, burst: 1 });
    const person = open('person', 'interactive');
    await ask('first');
    await ask('person', person);
    await ask('person', person);
    await pass(15_000);
    expect(failed).toEqual([]);
    // These had nothing yet, so they go first. The second request would go after 40 seconds, 25 from now.
    for (const who of ['a', 'b']) await ask(who, open(who, 'interactive'));
    await pass(10_000);
    expect(granted).toEqual(['first', 'person', 'a']);
    expect(failed).toMatchObject([{ who: 'person', error: { code: 'budget-exhausted' } }]);
  });
});

describe('a pause that the vendor requested', () => {
  const WIDE = { requestsPerMinute: 60_000, burst: 1_000 };

  test('applies to the refused participant in both classes, and to no other', async () => {
    const { open } = budget(WIDE);
    const told = open('told');
    await told.take(NEVER);
    await told.refused(5 * MINUTE);
    for (const share of [told, open('told'), open('told', 'interactive')]) {
      expect(await failureOf(share.take(NEVER))).toMatchObject({
        actor: 'remote',
        code: 'budget-paused',
        retry: 'later',
        retryAfterMs: expect.closeTo(5 * MINUTE, -3),
        remedy: expect.stringContaining('5 min'),
      });
    }
    await open('other').take(NEVER);
    await open('person', 'interactive').take(NEVER);
  });

  test('without a duration grows while trials are refused: two of them in 20 seconds, and starts again after a success', async () => {
    const { open, ask, pass, granted } = budget(WIDE);
    const [one, other] = [open('told'), open('told')];
    await Promise.all([one.refused(null), other.refused(null)]);
    await Promise.all([ask('first', one), ask('beside', other)]);
    await pass(9_000);
    expect(granted).toEqual([]);
    await pass(2_000);
    expect(granted).toHaveLength(1);
    await one.refused(null);
    await pass(10_000);
    expect(granted).toHaveLength(1);
    await pass(5_000);
    expect(granted).toHaveLength(2);
    await Promise.all([one.accepted(), other.accepted()]);
    await one.refused(null);
    expect(await failureOf(open('told', 'interactive').take(AbortSignal.timeout(1)))).toBeDefined();
    await ask('anew', one);
    await pass(11_000);
    expect(granted).toContain('anew');
  });

  test('is reported with the remaining time, for one participant or for all, and not after its end', async () => {
    const { open, pass } = budget(WIDE);
    const [told, other] = [open('told'), open('other')];
    expect(await told.pause()).toBeNull();
    await told.refused(20_000);
    await pass(5_000);
    const own = { remainingMs: expect.closeTo(15_000, -3), lastedMs: expect.closeTo(5_000, -3), isOfAll: false };
    expect([await told.pause(), await other.pause()]).toEqual([own, null]);
    await pass(15_000);
    expect(await told.pause()).toBeNull();
  });

  test('of several participants is reported to each of them', async () => {
    const { open } = budget(WIDE);
    for (const one of ['a', 'b', 'c']) await open(one).refused(30_000);
    expect(await open('other').pause()).toEqual({
      remainingMs: expect.closeTo(30_000, -3),
      lastedMs: 0,
      isOfAll: true,
    });
  });

  test('is not cut short by a shorter one', async () => {
    const { open } = budget(WIDE);
    const share = open('a');
    await share.refused(MINUTE);
    await share.refused(1);
    expect(await failureOf(share.take(NEVER))).toMatchObject({ retryAfterMs: expect.closeTo(MINUTE, -3) });
  });

  test('of half a minute is sat through, a longer one is not', async () => {
    const { open, ask, pass, granted, failed } = budget(WIDE);
    const short = open('short');
    await short.refused(30_000);
    await ask('short', short);
    await pass(20_000);
    expect(granted).toEqual([]);
    await pass(10_000);
    expect(granted).toEqual(['short']);
    const long = open('long');
    await long.refused(40_000);
    await ask('long', long);
    expect(failed).toHaveLength(1);
  });

  test('is awaited to its end by a cycle, which would have to fetch its pages again, and not by a user’s request', async () => {
    const { connect, ask, pass, granted, failed } = budget(WIDE);
    const cycle = openBudgetShare(
      connect(),
      { budget: 'client-1', participant: 'told', limits: WIDE, priority: 'background' },
      { pauseWaitMs: 15 * MINUTE },
    );
    await cycle.refused(60 * MINUTE);
    await ask('cycle', cycle);
    const person = openBudgetShare(
      connect(),
      { budget: 'client-1', participant: 'told', limits: WIDE, priority: 'interactive' },
      { pauseWaitMs: 15 * MINUTE },
    );
    await ask('person', person);
    expect(failed).toMatchObject([{ who: 'person', error: { code: 'budget-paused' } }]);
    await pass(14 * MINUTE, 30_000);
    expect(granted).toEqual([]);
    await pass(MINUTE, 10_000);
    expect(granted).toEqual(['cycle']);
  });

  test('ends in a quarter of an hour at the latest, and then one request is tried before the rest', async () => {
    const { open, ask, pass, granted } = budget(WIDE);
    const told = open('told');
    await told.refused(24 * 60 * MINUTE);
    await pass(14 * MINUTE, MINUTE);
    expect(await failureOf(told.take(NEVER))).toMatchObject({ code: 'budget-paused' });
    await pass(MINUTE);
    await ask('trial', told);
    await ask('second', open('told'));
    await ask('third', told);
    await pass(3_000);
    expect(granted).toEqual(['trial']);
    await told.accepted();
    await pass(2_000);
    expect(granted.sort()).toEqual(['second', 'third', 'trial']);
    await ask('after', told);
    expect(granted).toHaveLength(4);
  });

  test('begins again when the trial is refused too', async () => {
    const { open, ask, pass, granted, failed } = budget(WIDE);
    const told = open('told');
    await told.refused(MINUTE);
    await pass(MINUTE, 10_000);
    await ask('trial', told);
    await told.refused(2 * MINUTE);
    await ask('second', told);
    expect(granted).toEqual(['trial']);
    expect(failed).toMatchObject([{ who: 'second', error: { code: 'budget-paused' } }]);
    await pass(2 * MINUTE, 10_000);
    await ask('again', told);
    expect(granted).toEqual(['trial', 'again']);
  });

  test('is tried by another process when the trial gets no answer', async () => {
    const { open, ask, pass, granted } = budget(WIDE);
    const told = open('told');
    await told.refused(MINUTE);
    await pass(MINUTE, 10_000);
    await ask('trial', told);
    await ask('next', open('told'));
    await pass(20_000);
    expect(granted).toEqual(['trial']);
    await pass(11_000);
    expect(granted).toEqual(['trial', 'next']);
  });

  test('is not ended by an answer to an earlier request', async () => {
    const { open } = budget(WIDE);
    const told = open('told');
    await told.take(NEVER);
    await told.refused(MINUTE);
    await told.accepted();
    expect(await failureOf(told.take(NEVER))).toMatchObject({ code: 'budget-paused' });
  });

  test('applies to all participants after three of them were refused within a minute, until the first may ask again', async () => {
    const { open, ask, pass, granted } = budget(WIDE);
    await open('a').refused(10 * MINUTE);
    await open('b').refused(2 * MINUTE);
    await open('b').refused(2 * MINUTE);
    await open('other').take(NEVER);
    await open('c').refused(20 * MINUTE);
    expect(await failureOf(open('other').take(NEVER))).toMatchObject({
      code: 'budget-paused',
      retryAfterMs: expect.closeTo(2 * MINUTE, -3),
    });
    await pass(2 * MINUTE, 10_000);
    const other = open('other');
    await ask('trial', other);
    await ask('person', open('person', 'interactive'));
    await ask('fourth', open('fourth'));
    await pass(2_000);
    expect(granted).toEqual(['trial']);
    await other.accepted();
    await pass(2_000);
    expect(granted.sort()).toEqual(['fourth', 'person', 'trial']);
    expect(await failureOf(open('a').take(NEVER))).toMatchObject({ code: 'budget-paused' });
  });

  test('does not apply to all when three were refused over a longer time', async () => {
    const { open, pass } = budget(WIDE);
    for (const who of ['a', 'b', 'c', 'd']) {
      await open(who).refused(10 * MINUTE);
      await pass(31_000, 31_000);
    }
    await open('other').take(NEVER);
  });

  test('of all is not prolonged by one who is always refused: the next one tries at once', async () => {
    const { open, ask, pass, granted } = budget(WIDE);
    for (const who of ['a', 'b', 'c']) await open(who).refused(MINUTE);
    await pass(MINUTE, 10_000);
    const refused = open('d');
    await ask('refused', refused);
    await refused.refused(10 * MINUTE);
    const next = open('e');
    await ask('next', next);
    expect(granted).toEqual(['refused', 'next']);
    await next.accepted();
    await ask('rest', open('f'));
    expect(granted).toEqual(['refused', 'next', 'rest']);
  });
});

const HOUR = 3_600_000;

const DAY = 24 * HOUR;

/** Half past an hour, at half of a day. */
const NOON = 20_000 * DAY + DAY / 2;

test('granted units are counted at the grant, by participant and in total, and deleted after two days', async () => {
  const connection = redis.connect();
  const { used } = keys.budget('client-1');
  await connection.hset(used, { 'hour:1': 7, 'day:1:aurora': 7 });
  const take = (who: string, units: number) =>
    openBudgetShare(connection, {
      budget: 'client-1',
      participant: who,
      limits: { requestsPerMinute: 6_000, burst: 100 },
      priority: 'background',
    }).take(NEVER, units);
  await take('aurora', 3);
  await take('belvedere', 1);
  await take('aurora', 1);
  const use = await readBudgetUse(connection, 'client-1');
  expect(use).toEqual({
    lastHour: 5,
    lastDay: new Map([
      ['aurora', 4],
      ['belvedere', 1],
    ]),
  });
  // Expired hours and days are deleted.
  expect(await connection.hlen(used)).toBe(3);
  expect(await connection.pttl(used)).toBeGreaterThan(DAY);
});

test('the previous hour and day are included as far as they lie within the last hour and the last 24 hours', () => {
  const now = NOON + HOUR / 4;
  const [hour, day] = [Math.floor(now / HOUR), Math.floor(now / DAY)];
  const granted = {
    ...{ [`hour:${hour}`]: 10, [`hour:${hour - 1}`]: 40, [`hour:${hour - 2}`]: 1_000 },
    ...{ [`day:${day}:aurora`]: 100, [`day:${day - 1}:aurora`]: 960, [`day:${day - 2}:aurora`]: 5_000 },
  };
  const { lastHour, lastDay } = budgetUse(Object.entries(granted), now);
  expect(lastHour).toBeCloseTo(10 + 40 * (3 / 4));
  expect(lastDay.get('aurora')).toBeCloseTo(100 + 960 * (11.75 / 24));
});
