import { describe, expect, test } from 'vitest';
import type { Operation } from '../../../src/core/model/operations.ts';
import {
  createOperation,
  deleteOperation,
  describeOutcome,
  failure,
  itemWith,
  signal,
  updateOperation,
} from '../../contract/contract-kit.ts';
import { ACCOUNT, refusal } from '../../contract/outlook-calendar-target.ts';
import { containerOf } from '../../support/container-of.ts';
import { inner, openWorld, WRITES } from './support.ts';

const CHANGED = itemWith({ title: 'Changed' });

describe('batches', () => {
  test('mixed answers out of order reach their own operations; throttled ones wait for the longest', async () => {
    const { kit, proxy } = await openWorld();
    const [x, y] = await kit.create('x', 'y');
    const throttled = (seconds: string) => ({
      status: 429,
      headers: { 'Retry-After': seconds },
      body: JSON.parse(String(refusal(429, 'ApplicationThrottled').body)),
    });
    const dependent = { status: 424, body: { error: { code: 'FailedDependency', message: '' } } };
    const answers = [undefined, throttled('7'), throttled('40'), dependent, { status: 423 }];
    proxy.add({
      ...WRITES,
      fault: { kind: 'rewrite', answer: inner('POST', answers as { status: number }[]) },
    });
    const work: Operation[] = [
      ...['ok', 'early', 'late', 'dependent', 'locked'].map((recordId) => createOperation(recordId)),
      updateOperation('x', CHANGED, 'W/"stale"', x!.remoteId),
      deleteOperation('y', y!.versionTag, y!.remoteId),
    ];
    const outcomes = await kit.attempt(work);
    expect(outcomes.map(describeOutcome)).toEqual([
      'written created',
      'failed remote/rate-limited',
      'failed remote/rate-limited',
      'failed remote/batch-dependency',
      'failed remote/record-locked',
      'written updated',
      'deleted deleted',
    ]);
    expect([1, 2].map((index) => failure(outcomes[index]).retryAfterMs)).toEqual([40_000, 40_000]);
    const again = await kit.attempt(work.slice(1, 5));
    expect(again.every((outcome) => outcome.result === 'written')).toBe(true);
    expect(await kit.objects()).toHaveLength(6);
  });

  test('if parts cause each other to be throttled, the next batches have the size that succeeded, and all arrive', async () => {
    const { kit, sandbox } = await openWorld();
    sandbox.configure({ batchOverflow: 'refused', latencyMs: 5 });
    const work = Array.from({ length: 20 }, (_, index) => createOperation(`r${index}`));
    const first = await kit.attempt(work);
    expect(first.filter(({ result }) => result === 'written')).toHaveLength(4);
    const refusals = sandbox.counts.concurrencyRefusals;
    expect(refusals).toBe(16);
    const left = work.filter((_, index) => first[index]?.result === 'failed');
    expect((await kit.attempt(left)).every(({ result }) => result === 'written')).toBe(true);
    expect(sandbox.counts.concurrencyRefusals).toBe(refusals);
    expect(await kit.objects()).toHaveLength(20);
  });

  test('if every part is throttled, the whole target backs off', async () => {
    const { kit, sandbox } = await openWorld();
    sandbox.configure({ requestsPerWindow: 0 });
    const call = kit.connector.apply(kit.target.container, [createOperation('a'), createOperation('b')], signal());
    await expect(call).rejects.toMatchObject({ code: 'rate-limited', retry: 'later', ambiguous: false });
  });

  test.each([
    [429, 'ApplicationThrottled', 'rate-limited', false],
    [503, 'ApplicationThrottled', 'rate-limited', false],
    [503, 'ServerBusy', 'server-error', true],
    [504, 'GatewayTimeout', 'server-error', true],
  ] as const)('a batch that is answered %d %s as a whole: %s', async (status, code, expected, ambiguous) => {
    const { kit, proxy } = await openWorld();
    proxy.add({ ...WRITES, fault: { kind: 'answer', answer: refusal(status, code, '11') } });
    const [outcome] = await kit.attempt([createOperation('a')]);
    expect(failure(outcome)).toMatchObject({ code: expected, retry: 'later', retryAfterMs: 11_000, ambiguous });
  });

  test('the calls of preparation and reads that are answered 429 and 503 are not repeated', async () => {
    const { kit, proxy } = await openWorld();
    for (const [status, code] of [
      [429, 'rate-limited'],
      [503, 'server-error'],
    ] as const) {
      proxy.forget();
      proxy.add({ method: /GET/, times: 2, fault: { kind: 'answer', answer: refusal(status, 'x', '9') } });
      await expect(containerOf(kit.connector, null, signal())).rejects.toMatchObject({ code, retryAfterMs: 9_000 });
      await expect(kit.readAll()).rejects.toMatchObject({ code, retryAfterMs: 9_000 });
      expect(proxy.requests).toHaveLength(2);
    }
  });

  test('several targets in one mailbox never have more than four requests in progress', async () => {
    const { kit, sandbox, container, open } = await openWorld();
    sandbox.configure({ latencyMs: 5 });
    const marks = ['targetone0000000', 'targettwo0000000', 'targetthree00000'];
    const work = (ownerTag: string) => Array.from({ length: 20 }, (_, index) => createOperation(`${ownerTag}${index}`));
    const workers = marks.map((ownerTag) => open({}, ownerTag));
    const outcomes = await Promise.all([
      ...workers.map((worker, index) => worker.apply(container, work(marks[index]!), signal())),
      kit.readAll(open()),
      containerOf(open({}, 'targetfour000000'), null, signal()),
    ]);
    expect(sandbox.counts.maxConcurrency(ACCOUNT)).toBe(4);
    expect(sandbox.counts.concurrencyRefusals).toBe(0);
    expect(outcomes.slice(0, 3).flat()).toHaveLength(60);
    expect(await kit.objects()).toHaveLength(60);
  });

  test('a full mailbox is checked again after an hour', async () => {
    const { kit, sandbox } = await openWorld();
    sandbox.faults.add({
      match: { method: 'POST', path: '/events$' },
      times: 1,
      fault: { kind: 'status', status: 507 },
    });
    const [outcome] = await kit.attempt([createOperation('a')]);
    expect(failure(outcome)).toMatchObject({ code: 'mailbox-full', retry: 'later', retryAfterMs: 3_600_000 });
  });
});
