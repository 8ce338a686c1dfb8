import { describe, expect, test } from 'vitest';
import {
  concernsOneItem,
  deletedWith,
  effectOf,
  failed,
  inTurn,
  notSent,
  resolveOutcomes,
} from '../../src/connectors/outcomes.ts';
import { MirrorError } from '../../src/core/model/errors.ts';
import type { Operation, Outcome } from '../../src/core/model/operations.ts';

function operation(recordId: string): Operation {
  return { kind: 'delete', recordId, key: recordId, revision: 1, versionTag: null, remoteId: null };
}

function error(code: string, more: Partial<MirrorError> = {}): MirrorError {
  return new MirrorError(code, { actor: 'remote', retry: 'later', ...more, code });
}

/** `full` and `forbidden` concern the target, `refused` and `locked` one item; of any other code nothing is known. */
const scopes = {
  scopeOf({ code }: MirrorError) {
    if (code === 'full' || code === 'forbidden') return 'target';
    return code === 'refused' || code === 'locked' ? 'item' : null;
  },
} as const;

const DONE: Outcome = { recordId: 'a', result: 'deleted', effect: 'deleted' };

describe('outcomes are settled', () => {
  const settled = (met: readonly (MirrorError | null)[], calls: readonly MirrorError[] = []) => {
    const outcomes = met.map((one, index) => (one === null ? DONE : failed(operation(`${index}`), one)));
    return resolveOutcomes(outcomes, scopes, (one) => calls.includes(one));
  };

  test('unchanged if an operation succeeded, whatever errors the others have', () => {
    const call = error('timeout');
    expect(settled([null, error('full'), call], [call])).toMatchObject([
      DONE,
      { recordId: '1', result: 'failed', error: { code: 'full' } },
      { recordId: '2', result: 'failed', error: { code: 'timeout' } },
    ]);
  });

  test('unchanged if the last operation succeeded, though the others have the same error of the whole target', () => {
    expect(settled([error('full'), error('full'), null])).toHaveLength(3);
  });

  test('unchanged if there are none', () => {
    expect(settled([])).toEqual([]);
  });

  test('by throwing the first when each met the same of the whole target', () => {
    const first = error('full');
    expect(() => settled([first, error('full')])).toThrow(first);
    expect(() => settled([first])).toThrow(first);
  });

  test('by throwing the first when each met a call that failed, be it another one', () => {
    const [first, second] = [error('timeout'), error('html')];
    expect(() => settled([first, first, second], [first, second])).toThrow(first);
  });

  test.each([
    ['two errors of the target that differ', [error('full'), error('forbidden')]],
    ['the same error of each item', [error('refused'), error('refused')]],
    ['one of the target and one of an item', [error('full'), error('refused')]],
    ['an error of unknown scope', [error('timeout')]],
  ])('unchanged if they have %s', (_, met) => {
    expect(settled(met)).toHaveLength(met.length);
  });

  test('unchanged if some failed with a call and the others differently', () => {
    const call = error('timeout');
    expect(settled([call, error('refused')], [call])).toHaveLength(2);
  });
});

test('if calls are not distinguished, an error of one item is not an error of the target', () => {
  const settled = (...met: MirrorError[]) =>
    resolveOutcomes(
      met.map((one, index) => failed(operation(`${index}`), one)),
      scopes,
    );
  const first = error('timeout');
  expect(() => settled(first, error('full'))).toThrow(first);
  expect(settled(error('refused'))).toHaveLength(1);
  expect(settled(error('connection-failed'), error('connection-failed'))).toHaveLength(2);
});

describe('operations in turn', () => {
  /** Runs operations with the listed results, and returns the applied ones. */
  async function run(ends: readonly (MirrorError | Error | Outcome | null)[], stopAfter = Number.POSITIVE_INFINITY) {
    const stop = new AbortController();
    const carried: string[] = [];
    const operations = ends.map((_, index) => operation(`${index}`));
    if (stopAfter === 0) stop.abort();
    const outcomes = await inTurn(operations, scopes, stop.signal, async ({ recordId }) => {
      carried.push(recordId);
      if (carried.length === stopAfter) stop.abort();
      const end = ends[Number(recordId)] ?? null;
      if (end instanceof Error) throw end;
      return end;
    });
    return { carried, outcomes };
  }

  test('continue after an error of one operation', async () => {
    const { carried, outcomes } = await run([error('refused'), DONE, error('locked'), error('locked'), DONE]);
    expect(carried).toEqual(['0', '1', '2', '3', '4']);
    const codes = outcomes.map((outcome) => (outcome.result === 'failed' ? outcome.error.code : outcome.result));
    expect(codes).toEqual(['refused', 'deleted', 'locked', 'locked', 'deleted']);
  });

  test('leave out what is to be settled later', async () => {
    expect((await run([DONE, null, DONE])).outcomes).toEqual([DONE, DONE]);
  });

  test.each(['full', 'timeout'])('stop after %s: the others are not sent, and are certain', async (code) => {
    const first = error(code, { ambiguous: true, retryAfterMs: 5, status: 507, remedy: 'make room' });
    const { carried, outcomes } = await run([DONE, first, DONE, DONE]);
    expect(carried).toEqual(['0', '1']);
    expect(outcomes[1]).toEqual({ recordId: '1', result: 'failed', error: first });
    expect(outcomes.slice(2)).toMatchObject(
      ['2', '3'].map((recordId) => ({
        recordId,
        result: 'failed',
        error: { code, ambiguous: false, retryAfterMs: 5 },
      })),
    );
  });

  test('stop after an unexpected error', async () => {
    const { carried, outcomes } = await run([new TypeError('x is undefined'), DONE]);
    expect(carried).toEqual(['0']);
    expect(outcomes).toMatchObject([{ error: { code: 'unexpected' } }, { error: { code: 'unexpected' } }]);
  });

  test('continue after a broken connection, and stop after a second in a row', async () => {
    const broken = () => error('connection-failed', { ambiguous: true });
    expect((await run([broken(), DONE, broken(), error('refused'), broken(), DONE])).carried).toHaveLength(6);
    expect((await run([DONE, broken(), DONE, broken(), DONE])).carried).toHaveLength(5);
    const { carried, outcomes } = await run([DONE, broken(), broken(), DONE]);
    expect(carried).toEqual(['0', '1', '2']);
    expect(outcomes[3]).toMatchObject({ error: { code: 'connection-failed', ambiguous: false } });
  });

  test('end when they are stopped', async () => {
    const { carried, outcomes } = await run([DONE, DONE, DONE], 1);
    expect(carried).toEqual(['0']);
    expect(outcomes.slice(1)).toMatchObject([{ error: { code: 'aborted' } }, { error: { code: 'aborted' } }]);
    expect((await run([DONE], 0)).carried).toEqual([]);
  });

  test('end as they had to before they were stopped', async () => {
    const { outcomes } = await run([error('full'), DONE], 1);
    expect(outcomes[1]).toMatchObject({ recordId: '1', error: { code: 'full' } });
  });
});

test.each([
  ['refused', true],
  ['connection-failed', true],
  ['full', false],
  ['timeout', false],
])('%s concerns one item: %s', (code, concerns) => {
  expect(concernsOneItem(error(code), scopes)).toBe(concerns);
});

test('unsent operations have the same error, and are certain', () => {
  const met = error('full', { status: 507, retryAfterMs: 5, remedy: 'make room', ambiguous: true });
  const other = notSent(met);
  expect(other).not.toBe(met);
  expect(other).toEqual(new MirrorError('full', { ...met, ambiguous: false, unsent: true, cause: met }));
  expect(other).toMatchObject({ actor: 'remote', retry: 'later', status: 507, retryAfterMs: 5, remedy: 'make room' });
});

test('the effect of a write says whether an own object was there', () => {
  const effects = (['create', 'update'] as const).map((kind) => [effectOf({ kind }, true), effectOf({ kind }, false)]);
  expect(effects).toEqual([
    ['created', 'adopted'],
    ['recreated', 'updated'],
  ]);
});

test('a deletion returns what users had added, unless it is an erasure or of a second object', () => {
  const deletion = { kind: 'delete', recordId: 'a', key: 'k', revision: 1, versionTag: null, remoteId: null } as const;
  const outcome = { recordId: 'a', result: 'deleted', effect: 'deleted' };
  expect(deletedWith(deletion, 'note')).toEqual({ ...outcome, additions: 'note' });
  expect(deletedWith(deletion, 'note', 'already-gone')).toMatchObject({ effect: 'already-gone', additions: 'note' });
  expect(deletedWith(deletion, undefined)).toEqual(outcome);
  expect(deletedWith({ ...deletion, erase: true }, 'note')).toEqual(outcome);
  expect(deletedWith({ ...deletion, isDuplicate: true }, 'note')).toEqual(outcome);
});
