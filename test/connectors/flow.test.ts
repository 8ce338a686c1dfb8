import { beforeEach, describe, expect, test } from 'vitest';
import { shared } from '../../src/connectors/errors.ts';
import {
  applyFlows,
  createBatchSender,
  type Flow,
  findByFlows,
  isRefusedWhole,
  runFlows,
  type SendCalls,
} from '../../src/connectors/flow.ts';
import type { WireCall } from '../../src/connectors/wire.ts';
import { MirrorError } from '../../src/core/model/errors.ts';
import type { Operation } from '../../src/core/model/operations.ts';

/** A flow that sends calls to these paths and gives the statuses that came back. */
function* asks(...calls: (string | WireCall)[]): Flow<number[]> {
  const statuses: number[] = [];
  for (const call of calls) {
    const answer = yield typeof call === 'string' ? { method: 'GET', path: call } : call;
    statuses.push(answer.status);
  }
  return statuses;
}

function recorder(answer: SendCalls = async (calls) => calls.map(() => ok())) {
  const sent: string[][] = [];
  const send: SendCalls = async (calls) => {
    sent.push(calls.map((call) => `${call.method} ${call.path}`));
    return answer(calls);
  };
  return { send, sent };
}

function ok() {
  return { status: 200, body: {}, retryAfterMs: null };
}

const TROUBLE = new MirrorError('down', {
  actor: 'remote',
  code: 'connection-failed',
  retry: 'later',
  ambiguous: true,
});

describe('flows that go forward together', () => {
  test('share their rounds, and no round holds two calls of one flow', async () => {
    const { send, sent } = recorder();
    const ends = await runFlows([asks('/a1', '/a2', '/a3'), asks('/b1'), asks('/c1', '/c2')], send);
    expect(sent).toEqual([['GET /a1', 'GET /b1', 'GET /c1'], ['GET /a2', 'GET /c2'], ['GET /a3']]);
    expect(ends).toEqual([{ result: [200, 200, 200] }, { result: [200] }, { result: [200, 200] }]);
  });

  test('send an equal read once, and an equal write each', async () => {
    const { send, sent } = recorder();
    const put: WireCall = { method: 'PUT', path: '/p' };
    await runFlows([asks('/same', { ...put }), asks('/same', { ...put })], send);
    expect(sent).toEqual([['GET /same'], ['PUT /p', 'PUT /p']]);
  });

  test('send calls that must go separately after the others', async () => {
    const { send, sent } = recorder();
    const alone: WireCall = { method: 'POST', path: '/alone', alone: true };
    await runFlows([asks(alone), asks('/b'), asks({ ...alone }), asks('/c')], send);
    expect(sent).toEqual([['GET /b', 'GET /c'], ['POST /alone'], ['POST /alone']]);
  });

  test('fail separately if their answer is missing', async () => {
    const { send } = recorder(async (calls) => calls.map((call) => (call.path === '/a' ? null : ok())));
    const [a, b] = await runFlows([asks('/a'), asks('/b')], send);
    expect(a).toMatchObject({ error: { code: 'answer-missing', ambiguous: true } });
    expect(b).toEqual({ result: [200] });
  });

  test('fail together if their round fails; earlier results remain', async () => {
    const { send } = recorder(async (calls) => {
      if (calls.some((call) => call.path === '/second')) throw TROUBLE;
      return calls.map(() => ok());
    });
    const ends = await runFlows([asks('/only'), asks('/first', '/second'), asks('/other', '/second')], send);
    expect(ends).toEqual([{ result: [200] }, { error: TROUBLE }, { error: TROUBLE }]);
  });

  test('may fail without a call', async () => {
    // biome-ignore lint/correctness/useYield: fails before its first call
    function* fails(): Flow<number[]> {
      throw TROUBLE;
    }
    const { send, sent } = recorder();
    expect(await runFlows([fails()], send)).toEqual([{ error: TROUBLE }]);
    expect(sent).toEqual([]);
  });
});

describe('outcomes of flows', () => {
  const operation = (recordId: string): Operation => ({
    kind: 'delete',
    recordId,
    key: recordId,
    revision: 1,
    versionTag: null,
    remoteId: null,
  });
  const refused = new MirrorError('refused', { actor: 'contract', code: 'refused', retry: 'never', status: 400 });
  const wide = () => new MirrorError('full', { actor: 'settings', code: 'full', retry: 'never', status: 403 });
  const scopes = { scopeOf: ({ code }: MirrorError) => (code === 'full' ? 'target' : null) } as const;
  const outcomes = (...met: MirrorError[]) =>
    applyFlows(
      met.map((_, index) => operation(`${index}`)),
      ({ recordId }) => fails(met[Number(recordId)]!),
      recorder().send,
      scopes,
    );

  // biome-ignore lint/correctness/useYield: fails before its first call
  function* fails(error: MirrorError): Flow<never> {
    throw error;
  }

  test('report the refusal of a single operation without blaming the target', async () => {
    expect(await outcomes(refused)).toMatchObject([{ recordId: '0', result: 'failed', error: refused }]);
    expect(await outcomes(refused, TROUBLE)).toHaveLength(2);
  });

  test.each([
    ['the request of all failed', [TROUBLE, TROUBLE]],
    ['the request of the only one failed', [TROUBLE]],
    ['each got the same error of the whole target', [wide(), wide()]],
    ['the only one got an error of the whole target', [wide()]],
  ])('are thrown together when %s', async (_, errors) => {
    await expect(outcomes(...errors)).rejects.toBe(errors[0]);
  });
});

describe('what flows find', () => {
  function* finds(path: string, found: string | null): Flow<string | null> {
    yield { method: 'GET', path };
    return found;
  }

  test('comes without the nothings', async () => {
    const { send } = recorder();
    expect(await findByFlows([finds('/a', 'a'), finds('/b', null), finds('/c', 'c')], send)).toEqual(['a', 'c']);
  });

  test('are reported for none if one check failed: unseen is not absent', async () => {
    const { send } = recorder(async (calls) => calls.map((call) => (call.path === '/b' ? null : ok())));
    await expect(findByFlows([finds('/a', 'a'), finds('/b', 'b')], send)).rejects.toMatchObject({
      code: 'answer-missing',
    });
  });
});

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

  test('remain the same size if no part succeeded, since the other parts are not the cause', async () => {
    room = 0;
    const send = open();
    expect(await send()).toBe(0);
    room = 20;
    await send();
    expect(sizes).toEqual([20]);
  });

  test('remain the same size for a vendor without such errors', async () => {
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

  test('for each of its calls is not halved again for each call', async () => {
    await refusing(() => true)(CALLS);
    expect(sizes.length).toBeLessThanOrEqual(CALLS.length + 5);
  });

  test('is the fault of a member only for some statuses', () => {
    expect([400, 401, 404, 409, 413, 422].every(isRefusedWhole)).toBe(true);
    expect([200, 403, 408, 423, 429, 500, 503].some(isRefusedWhole)).toBe(false);
  });
});
