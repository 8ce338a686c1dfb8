import { describe, expect, test } from 'vitest';
import type { Hold } from '../../src/core/model/plan.ts';
import { DAY_MS } from '../../src/core/model/time.ts';
import { createHoldStore, seenCode } from '../../src/state/holds.ts';
import { createSealer } from '../../src/state/sealing.ts';
import { NOW } from '../domain/arbitraries.ts';
import { useRedis } from '../support/redis.ts';

const SEALING_KEYS = [{ id: 'k1', key: Buffer.alloc(32, 9) }];

const redis = useRedis();
const CONTEXT = { linkCount: 100, now: NOW, expiresAt: NOW + DAY_MS };

function open(tenant = 'studio-rossi') {
  return createHoldStore(redis.connect(), tenant, createSealer(SEALING_KEYS, tenant));
}

describe('a hold', () => {
  test('begins open, with a short name that can be read aloud', async () => {
    const holds = open();
    const hold = await holds.cover('doctor', 'vanished', ['1', '2'], CONTEXT);
    expect(hold).toEqual({
      id: expect.stringMatching(/^[a-hjkmnp-z2-9]{5}$/),
      target: 'doctor',
      kind: 'vanished',
      state: 'open',
      recordIds: ['1', '2'],
      linkCount: 100,
      createdAt: NOW,
      decidedAt: null,
      expiresAt: NOW + DAY_MS,
    });
    expect(await holds.list()).toEqual([hold]);
    expect(await open('studio-bianchi').list()).toEqual([]);
  });

  test('keeps its name and its end while its records change, and goes when none is left', async () => {
    const holds = open();
    const first = await holds.cover('doctor', 'vanished', ['1', '2'], CONTEXT);
    const later = { linkCount: 90, now: NOW + 1, expiresAt: NOW + 2 * DAY_MS };
    expect(await holds.cover('doctor', 'vanished', ['2', '3'], later)).toEqual({
      ...first,
      recordIds: ['2', '3'],
      linkCount: 90,
    });
    expect(await holds.cover('doctor', 'vanished', [], later)).toBeNull();
    expect(await holds.list()).toEqual([]);
  });

  test('is one for each target and kind', async () => {
    const holds = open();
    await holds.cover('doctor', 'vanished', ['1'], CONTEXT);
    await holds.cover('doctor', 'cancelled', ['2'], CONTEXT);
    await holds.cover('nurse', 'vanished', ['3'], CONTEXT);
    await holds.cover('nurse', 'vanished', [], CONTEXT);
    expect((await holds.list()).map(({ target, kind }) => `${target} ${kind}`).sort()).toEqual([
      'doctor cancelled',
      'doctor vanished',
    ]);
  });

  test('is decided once', async () => {
    const holds = open();
    const hold = await holds.cover('doctor', 'vanished', ['1'], CONTEXT);
    const decided = await holds.decide(hold?.id ?? '', {
      state: 'approved',
      now: NOW + 5,
      expiresAt: NOW + 7 * DAY_MS,
    });
    expect(decided).toEqual({ ...hold, state: 'approved', decidedAt: NOW + 5, expiresAt: NOW + 7 * DAY_MS });
    await expect(holds.decide(decided.id, { state: 'rejected', now: NOW, expiresAt: NOW })).rejects.toMatchObject({
      actor: 'settings',
      code: 'hold-decided',
    });
    await expect(holds.decide('zzzzz', { state: 'approved', now: NOW, expiresAt: NOW })).rejects.toMatchObject({
      code: 'no-such-hold',
    });
  });

  test('that grew after the administrator’s view is not approved unseen', async () => {
    const holds = open();
    const hold = await holds.cover('doctor', 'vanished', ['1', '2'], CONTEXT);
    await holds.cover('doctor', 'vanished', ['1', '2', '3'], CONTEXT);
    const grown = await holds.cover('doctor', 'vanished', ['1', '2', '3'], CONTEXT);
    const decide = (seen: Hold | null) =>
      holds.decide(
        hold?.id ?? '',
        { state: 'approved', now: NOW, expiresAt: NOW + DAY_MS },
        { seen: seen === null ? null : seenCode(seen) },
      );
    await expect(decide(hold)).rejects.toMatchObject({ actor: 'settings', code: 'hold-changed' });
    expect(await decide(grown)).toMatchObject({ state: 'approved', recordIds: ['1', '2', '3'] });
  });

  test('that keeps back as many other items, or messages that say something else, is not approved unseen', async () => {
    const holds = open();
    const covers: [readonly string[], string][] = [
      [['1', '2'], 'moved to 15:05'],
      [['1', '3'], 'moved to 15:05'],
      [['1', '2'], 'moved to 16:05'],
    ];
    const codes: string[] = [];
    for (const [recordIds, content] of covers) {
      const hold = await holds.cover('reminders', 'corrections', recordIds, { ...CONTEXT, content });
      codes.push(hold === null ? '' : seenCode(hold));
    }
    expect(new Set(codes).size).toBe(3);
    const [{ id } = { id: '' }] = await holds.list();
    for (const seen of codes.slice(0, 2)) {
      await expect(
        holds.decide(id, { state: 'approved', now: NOW, expiresAt: NOW + DAY_MS }, { seen }),
      ).rejects.toMatchObject({
        code: 'hold-changed',
      });
    }
    expect(
      await holds.decide(id, { state: 'approved', now: NOW, expiresAt: NOW + DAY_MS }, { seen: codes[2] ?? null }),
    ).toMatchObject({
      state: 'approved',
    });
  });

  test('of removals is decided in part: the rest keeps waiting, under the same ID', async () => {
    const holds = open();
    const hold = await holds.cover('doctor', 'vanished', ['1', '2', '3'], CONTEXT);
    const only = new Set(['1', '3']);
    const part = await holds.decide(
      hold?.id ?? '',
      { state: 'approved', now: NOW + 5, expiresAt: NOW + DAY_MS },
      {
        seen: hold === null ? null : seenCode(hold),
        only,
      },
    );
    expect(part).toMatchObject({ partOf: hold?.id, state: 'approved', recordIds: ['1', '3'], decidedAt: NOW + 5 });
    expect(part.id).not.toBe(hold?.id);
    expect(await holds.list()).toEqual(expect.arrayContaining([part, { ...hold, recordIds: ['2'] }]));
    const rest = await holds.decide(
      hold?.id ?? '',
      { state: 'rejected', now: NOW + 6, expiresAt: NOW + DAY_MS },
      { only: new Set(['2']) },
    );
    expect(rest).toMatchObject({ id: hold?.id, state: 'rejected', recordIds: ['2'] });
  });

  test('of which something was chosen that it does not hold is not decided', async () => {
    const holds = open();
    const hold = await holds.cover('doctor', 'vanished', ['1', '2'], CONTEXT);
    const decide = (...ids: string[]) =>
      holds.decide(hold?.id ?? '', { state: 'approved', now: NOW, expiresAt: NOW + DAY_MS }, { only: new Set(ids) });
    await expect(decide('1', '9')).rejects.toMatchObject({ code: 'hold-changed' });
    await expect(decide()).rejects.toMatchObject({ code: 'hold-changed' });
    expect(await holds.list()).toEqual([hold]);
  });

  test.each(['first-run', 'replaced', 'people'] as const)(
    '%s says something of all: no part is decided',
    async (kind) => {
      const holds = open();
      const hold = await holds.cover('doctor', kind, ['1', '2'], CONTEXT);
      const decide = (...ids: string[]) =>
        holds.decide(hold?.id ?? '', { state: 'approved', now: NOW, expiresAt: NOW + DAY_MS }, { only: new Set(ids) });
      await expect(decide('1')).rejects.toMatchObject({ code: 'hold-whole-only' });
      expect(await decide('1', '2')).toMatchObject({ id: hold?.id, state: 'approved' });
    },
  );

  test('that was decided is not changed by what is held later', async () => {
    const holds = open();
    const first = await holds.cover('doctor', 'vanished', ['1'], CONTEXT);
    const decided = await holds.decide(first?.id ?? '', { state: 'rejected', now: NOW, expiresAt: NOW + DAY_MS });
    const second = await holds.cover('doctor', 'vanished', ['2'], CONTEXT);
    expect(second?.id).not.toBe(first?.id);
    expect(await holds.list()).toEqual(expect.arrayContaining([decided, second]));
  });

  test('without a decision is rejected at its deadline, and a decision is deleted at its own deadline', async () => {
    const holds = open();
    const hold = await holds.cover('doctor', 'vanished', ['1'], CONTEXT);
    expect(await holds.expire(NOW + DAY_MS - 1, NOW)).toEqual([]);
    const rejected = { ...hold, state: 'rejected', decidedAt: NOW + DAY_MS, expiresAt: NOW + 8 * DAY_MS };
    expect(await holds.expire(NOW + DAY_MS, NOW + 8 * DAY_MS)).toEqual([rejected]);
    expect(await holds.list()).toEqual([rejected]);
    expect(await holds.expire(NOW + 8 * DAY_MS, NOW + 99 * DAY_MS)).toEqual([]);
    expect(await holds.list()).toEqual([]);
  });
});

/** Holds that call `then` directly after the next read of the list. */
function interrupted(then: () => Promise<unknown>) {
  const connection = redis.connect();
  const hgetall = connection.hgetall.bind(connection);
  let left = 1;
  connection.hgetall = (async (key: string) => {
    const answer = await hgetall(key);
    left -= 1;
    if (left === 0) await then();
    return answer;
  }) as typeof connection.hgetall;
  return createHoldStore(connection, 'studio-rossi', createSealer(SEALING_KEYS, 'studio-rossi'));
}

test.for([
  { what: 'covers other records', recordIds: ['2', '3'] },
  { what: 'has nothing to hold any more', recordIds: [] },
])('a decision stands that comes while a plan $what', async ({ recordIds }) => {
  const holds = open();
  const hold = await holds.cover('doctor', 'vanished', ['1', '2'], CONTEXT);
  const planner = interrupted(() => holds.decide(hold!.id, { state: 'approved', now: NOW, expiresAt: NOW + DAY_MS }));
  await planner.cover('doctor', 'vanished', recordIds, CONTEXT);
  expect(await holds.list()).toMatchObject([{ id: hold!.id, state: 'approved', recordIds: ['1', '2'] }]);
});

test('a first run without a decision in time can be requested again', async () => {
  const holds = open();
  await holds.cover('doctor', 'first-run', ['1'], CONTEXT);
  expect(await holds.expire(NOW + DAY_MS, NOW + 8 * DAY_MS)).toEqual([]);
  const next = await holds.cover('doctor', 'first-run', ['1'], CONTEXT);
  expect(await holds.list()).toEqual([next]);
});

test('an erasure removes records from the holds of their target, also during a decision; an empty hold ends', async () => {
  const holds = open();
  const context = { linkCount: 9, now: NOW, expiresAt: NOW + 1_000 };
  const hold = await holds.cover('doctor', 'vanished', ['one', 'two'], context);
  await holds.cover('doctor', 'cancelled', ['one'], context);
  await holds.cover('contacts', 'vanished', ['one'], context);
  const decided = holds.decide(hold?.id ?? '', { state: 'approved', now: NOW, expiresAt: NOW + 1_000 });
  expect(await holds.erase('doctor', new Set(['one']))).toBe(2);
  await decided;
  const left = (await holds.list()).map(({ target, kind, recordIds }) => [target, kind, recordIds]);
  expect(left.sort()).toEqual([
    ['contacts', 'vanished', ['one']],
    ['doctor', 'vanished', ['two']],
  ]);
  expect((await holds.list()).find(({ id }) => id === hold?.id)?.state).toBe('approved');
});
