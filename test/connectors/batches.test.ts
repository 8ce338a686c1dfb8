import { beforeEach, describe, expect, test } from 'vitest';
import { createBatchSender } from '../../src/connectors/batches.ts';
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
