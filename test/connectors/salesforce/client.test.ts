import { describe, expect, test } from 'vitest';
import { containerOf } from '../../support/container-of.ts';
import { isMirrorError } from './expect.ts';
import { apply, create, failureOf, inWords, openWorld, patient, readAll, remove, signal } from './support.ts';

describe('the wire', () => {
  test('no patient data is in a URL, a header or an error', async () => {
    const { sandbox, open } = await openWorld();
    sandbox.recording.record(true);
    const worker = open();
    const canary = patient({ LastName: 'Canary', Email: 'canary@clinic.example', Description: 'Canary' });
    sandbox.addValidationRule({ object: 'Contact', field: 'LastName', refuses: 'canary@@', message: 'No canary@@' });
    const outcomes = await apply(worker, create('a', canary), create('b', patient({ LastName: 'canary@@' })));
    await readAll(worker);
    await apply(worker, remove('a'));
    const outside = sandbox.recording.recorded().map(({ url, headers }) => JSON.stringify([url, headers]));
    expect(outside.length).toBeGreaterThan(3);
    expect(outside.join().toLowerCase()).not.toContain('canary');
    expect(String(failureOf(outcomes).message).toLowerCase()).not.toContain('canary');
  });

  test('a portal that answers instead of the org is reported', async () => {
    const { sandbox, open } = await openWorld();
    const worker = open();
    await containerOf(worker, null, signal());
    sandbox.faults.add({ times: 1, fault: { kind: 'html' } });
    await expect(apply(worker, create('a'))).rejects.toSatisfy(isMirrorError({ actor: 'remote', code: 'html-answer' }));
  });

  test.each([
    [503, 'server-unavailable'],
    [500, 'server-error'],
  ])('%d for the whole is %s for the target', async (status, code) => {
    const { sandbox, open } = await openWorld();
    const worker = open();
    await containerOf(worker, null, signal());
    sandbox.faults.add({ times: 1, fault: { kind: 'status', status } });
    await expect(apply(worker, create('a'), remove('b'))).rejects.toSatisfy(
      isMirrorError({ actor: 'remote', code, retry: 'later' }),
    );
    expect(inWords(await apply(worker, create('a'), remove('b')))).toEqual(['a created', 'b already-gone']);
  });

  test('too many concurrent calls wait ten seconds at first, the last call of the day an hour', async () => {
    const { sandbox, open } = await openWorld();
    const worker = open('patients', { settings: { stopAtShare: 1 } });
    await containerOf(worker, null, signal());
    sandbox.configure({ concurrentCalls: 0 });
    await expect(apply(worker, create('a'))).rejects.toMatchObject({
      code: 'calls-at-once',
      retryAfterMs: 10_000,
      growsToMs: 60_000,
    });
    sandbox.configure({ concurrentCalls: 25 });
    sandbox.spendApiCalls(99_500);
    expect(inWords(await apply(worker, create('a')))).toEqual(['a created']);
    sandbox.configure({ dailyApiCalls: 99_502 });
    await expect(apply(worker, create('b'), create('c'))).rejects.toMatchObject({
      code: 'api-limit-reached',
      retryAfterMs: 3_600_000,
    });
  });

  test('an answer that lacks a part, or rows, is inconclusive for them', async () => {
    const { sandbox, open } = await openWorld();
    const worker = open();
    await containerOf(worker, null, signal());
    const answers = [
      { compositeResponse: [] },
      { compositeResponse: [{ referenceId: 'part0', httpStatusCode: 200, body: [{ success: true, id: '003' }] }] },
    ];
    const codes: string[] = [];
    for (const body of answers) {
      sandbox.faults.add({ times: 1, fault: { kind: 'status', status: 200, body } });
      const outcomes = await apply(worker, create('a'), create('b'));
      codes.push(...outcomes.map((outcome) => (outcome.result === 'failed' ? outcome.error.code : outcome.result)));
      expect(outcomes.every((outcome) => outcome.result === 'failed' && outcome.error.ambiguous)).toBe(true);
    }
    expect(codes).toEqual(['answer-missing', 'answer-missing', 'unexpected-answer', 'unexpected-answer']);
  });

  test('after a call without an answer in time the collections are halved', async () => {
    const { sandbox, open } = await openWorld();
    const worker = open('patients', { timeoutMs: 2_000 });
    await containerOf(worker, null, signal());
    const operations = Array.from({ length: 150 }, (_, index) => create(`r${index}`));
    sandbox.faults.add({ times: 1, fault: { kind: 'latency', ms: 3_000 } });
    await expect(apply(worker, ...operations)).rejects.toSatisfy(isMirrorError({ actor: 'remote', code: 'timeout' }));
    sandbox.recording.record(true);
    expect((await apply(worker, ...operations)).every(({ result }) => result === 'written')).toBe(true);
    const [request] = sandbox.recording.recorded();
    const parts = JSON.parse(request!.body).compositeRequest as { body?: { records: unknown[] } }[];
    expect(parts.flatMap(({ body }) => body?.records.length ?? [])).toEqual([100, 50]);
  });
});
