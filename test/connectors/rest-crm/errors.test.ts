import { describe, expect, test } from 'vitest';
import { asMirrorError } from '../../../src/core/model/errors.ts';
import type { Outcome } from '../../../src/core/model/operations.ts';
import { contact, effectOf, type OpenTarget } from './harness.ts';
import { anna, espocrm, openProxied } from './profiles.ts';

const JSON_TYPE = { 'content-type': 'application/json' };

/** Returns the failure of one create: the outcome's error, or the error that `apply` threw. */
async function failureOf(target: OpenTarget) {
  const [outcome] = await target
    .apply(target.create('p1', anna))
    .catch((error: unknown): Outcome[] => [{ recordId: 'p1', result: 'failed', error: asMirrorError(error) }]);
  return outcome?.result === 'failed' ? outcome.error : null;
}

describe('an answer of', () => {
  test.each([
    [429, { 'retry-after': '90' }, '', { code: 'rate-limited', actor: 'remote', retryAfterMs: 90_000 }],
    [429, {}, '', { code: 'rate-limited', retryAfterMs: 10_000 }],
    [503, { 'retry-after': '20' }, '', { code: 'server-unavailable', actor: 'remote', retryAfterMs: 20_000 }],
    [502, {}, '<html>Bad gateway</html>', { code: 'server-unavailable', ambiguous: true }],
    [500, {}, '', { code: 'server-error', actor: 'remote', retry: 'later', ambiguous: true }],
    [403, {}, '', { code: 'crm-forbidden', actor: 'settings' }],
    [404, {}, '', { code: 'crm-path-missing', actor: 'settings' }],
    [400, {}, '', { code: 'record-refused', actor: 'contract', retry: 'never' }],
    [413, {}, '', { code: 'record-too-large', retry: 'never' }],
    [302, { location: 'https://elsewhere.example/' }, '', { code: 'unexpected-status', actor: 'contract' }],
    [
      200,
      JSON_TYPE,
      '{"error":{"message":"rossi@family.example is bad"}}',
      { code: 'error-in-answer', actor: 'contract' },
    ],
    [200, JSON_TYPE, '{"id":""}', { code: 'unexpected-answer', actor: 'contract' }],
    [200, JSON_TYPE, '{"id":', { code: 'not-json' }],
    [200, {}, '<!DOCTYPE html><p>Log in', { code: 'html-answer' }],
  ])('%d to a create is distinguished, and carries none of its texts', async (status, headers, body, expected) => {
    const { proxy, target } = await openProxied();
    proxy.add({ method: /POST/, fault: { kind: 'answer', answer: { status, headers, body } } });
    const error = await failureOf(target);
    expect(error).toMatchObject(expected);
    expect(`${error?.message} ${error?.remedy ?? ''}`).not.toMatch(/rossi|example/);
  });

  test('429 may name a date', async () => {
    const { proxy, target } = await openProxied();
    const headers = { 'retry-after': new Date(Date.now() + 120_000).toUTCString() };
    proxy.add({ method: /POST/, fault: { kind: 'answer', answer: { status: 429, headers, body: '' } } });
    const { retryAfterMs = 0 } = (await failureOf(target)) ?? {};
    expect(retryAfterMs).toBeGreaterThan(100_000);
    expect(retryAfterMs).toBeLessThanOrEqual(120_000);
  });

  test('the description decides what a status or a code means', async () => {
    const { proxy, open } = await openProxied();
    const target = open({
      description: { errors: { codePaths: ['reason'], codes: { busy: 'throttled' }, statuses: { 400: 'retry' } } },
    });
    const answer = (body: string) => ({ status: 400, headers: JSON_TYPE, body });
    proxy.add({ method: /POST/, fault: { kind: 'answer', answer: answer('{"reason":"busy"}') } });
    proxy.add({ method: /POST/, fault: { kind: 'answer', answer: answer('{"reason":"other"}') } });
    expect(await failureOf(target)).toMatchObject({ code: 'rate-limited' });
    expect(await failureOf(target)).toMatchObject({ code: 'server-error', retry: 'later' });
  });

  test('400 to a search blames the description and no record; an HTML 404 does not prove absence', async () => {
    const { proxy, target } = await openProxied();
    const { remoteId } = await target.written(target.create('p1', anna));
    proxy.add({ method: /GET/, fault: { kind: 'answer', answer: { status: 400, headers: {}, body: '' } } });
    await expect(target.apply(target.update('p1', anna, remoteId))).rejects.toMatchObject({
      code: 'crm-question-refused',
      actor: 'settings',
    });
    const portal = { status: 404, headers: { 'content-type': 'text/html' }, body: '<html>Not here</html>' };
    proxy.add({ method: /DELETE/, fault: { kind: 'answer', answer: portal } });
    await expect(target.apply(target.remove('p1', remoteId))).rejects.toMatchObject({ code: 'crm-path-missing' });
  });
});

test('403 to a change concerns that record, and others continue', async () => {
  const { proxy, target } = await openProxied();
  const outcomes = await target.apply(...['a', 'b'].map((id) => target.create(id, anna)));
  proxy.add({ method: /PUT/, fault: { kind: 'answer', answer: { status: 403, headers: {}, body: '' } } });
  const changed = contact({ ...espocrm.person, firstName: 'Changed' });
  const updates = outcomes.map((outcome) =>
    target.update(outcome.recordId, changed, outcome.result === 'written' ? outcome.remoteId : null),
  );
  expect((await target.apply(...updates)).map(effectOf)).toEqual(['record-forbidden', 'updated']);
});
