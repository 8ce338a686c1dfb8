import { beforeEach, describe, expect, test } from 'vitest';
import { createBatchSender, isRefusedWhole } from '../../src/connectors/batches.ts';
import { shared } from '../../src/connectors/errors.ts';
import type { WireCall } from '../../src/connectors/wire.ts';

const REST_MS = 600_000;
const NEVER = new AbortController().signal;
const CALLS: WireCall[] = Array.from({ length: 20 }, (_, index) => ({ method: 'GET', path: `/${index}` }));

let now: number;
/** Sizes of the batches that were sent. */
let sizes: number[];
/** Parts of one batch that come through. */
let room: number;

beforeEach(() => {
  now = 1_000;
  sizes = [];
  room = 20;
});

function open(crowds = true) {
  const header = async () => 'Bearer x';
  const send = createBatchSender({
    authorizer: { header, renew: header, quotaUser: null },
    batchSize: 20,
    loginRefused: () => shared.make('aborted'),
    sendBatch: async (calls) => {
      sizes.push(calls.length);
      const status = (index: number) => (index < room ? 200 : 429);
      return { answers: calls.map((_, index) => ({ status: status(index), body: undefined, retryAfterMs: null })) };
    },
    ...(crowds
      ? { crowding: { clock: () => now, isCrowdedOut: ({ status }) => status === 429, restMs: REST_MS } }
      : {}),
  })(NEVER);
  return async (count = 20) => {
    sizes = [];
    const answers = await send(CALLS.slice(0, count));
    return answers.filter((answer) => answer?.status === 200).length;
  };
}

describe('batches whose parts crowd each other out', () => {
  test('hold as many as came through from then on, within one round too', async () => {
    room = 4;
    const send = open();
    expect(await send()).toBe(4);
    expect(await send()).toBe(20);
    expect(sizes).toEqual([4, 4, 4, 4, 4]);
  });

  test('become smaller again where even that is too much, and whole after a while', async () => {
    const send = open();
    room = 15;
    await send();
    room = 4;
    await send();
    expect(sizes).toEqual([15, 4, 1]);
    room = 20;
    now += REST_MS - 1;
    await send(8);
    expect(sizes).toEqual([4, 4]);
    now += 1;
    await send();
    expect(sizes).toEqual([20]);
  });

  test('stay as they are where nothing came through, since then it is not the others', async () => {
    room = 0;
    const send = open();
    expect(await send()).toBe(0);
    room = 20;
    await send();
    expect(sizes).toEqual([20]);
  });

  test('stay as they are for a vendor that says nothing of crowding', async () => {
    room = 4;
    const send = open(false);
    await send();
    await send();
    expect(sizes).toEqual([20]);
  });
});

describe('a batch that is refused as a whole', () => {
  /** A server that refuses whatever holds a guilty call, or more calls than it takes. */
  const refusing = (isGuilty: (call: WireCall) => boolean, most = 20) => {
    const header = async () => 'Bearer x';
    return createBatchSender({
      authorizer: { header, renew: header, quotaUser: null },
      batchSize: 20,
      loginRefused: () => shared.make('aborted'),
      sendBatch: async (calls) => {
        sizes.push(calls.length);
        const isRefused = calls.some(isGuilty) || calls.length > most;
        if (isRefused) return { refused: { status: 404, body: undefined, retryAfterMs: null } };
        return { answers: calls.map(() => ({ status: 200, body: undefined, retryAfterMs: null })) };
      },
    })(NEVER);
  };

  test('for one of its calls costs that one, and the next batch is whole again', async () => {
    for (const guilty of CALLS) {
      const send = refusing((call) => call === guilty);
      sizes = [];
      const answers = await send(CALLS);
      expect(answers.map((answer) => answer?.status)).toEqual(CALLS.map((call) => (call === guilty ? 404 : 200)));
      expect(sizes.length).toBeLessThanOrEqual(13);
      sizes = [];
      await send(CALLS.filter((call) => call !== guilty));
      expect(sizes).toEqual([19]);
    }
  });

  test('for its size lets later ones be smaller', async () => {
    const send = refusing(() => false, 7);
    await send(CALLS);
    sizes = [];
    await send(CALLS);
    expect(sizes.every((size) => size <= 7)).toBe(true);
  });

  test('for each of its calls is not halved anew for each', async () => {
    await refusing(() => true)(CALLS);
    expect(sizes.length).toBeLessThanOrEqual(CALLS.length + 5);
  });

  test('is the fault of a member by some statuses alone', () => {
    expect([400, 401, 404, 409, 413, 422].every(isRefusedWhole)).toBe(true);
    expect([200, 403, 408, 423, 429, 500, 503].some(isRefusedWhole)).toBe(false);
  });
});
