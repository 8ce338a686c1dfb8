import { describe, expect, test } from 'vitest';
import type { Authorizer } from '../../../src/connectors/connector.ts';
import { asMirrorError } from '../../../src/core/model/errors.ts';
import type { Outcome } from '../../../src/core/model/operations.ts';
import { contact, effectOf, type OpenTarget, signal, steadyLogin } from './harness.ts';
import { anna, espocrm, openProxied } from './profiles.ts';

const JSON_TYPE = { 'content-type': 'application/json' };
const ALWAYS = { times: Number.POSITIVE_INFINITY };

/** Returns the failure of one create: the outcome's error, or the error that `apply` threw. */
async function failureOf(target: OpenTarget) {
  const [outcome] = await target
    .apply(target.create('p1', anna))
    .catch((error: unknown): Outcome[] => [{ recordId: 'p1', result: 'failed', error: asMirrorError(error) }]);
  return outcome?.result === 'failed' ? outcome.error : null;
}

test('an id larger than 2^53 that arrives as a number keeps its digits, also in writes', async () => {
  const { proxy, target } = await openProxied();
  const created = { status: 200, headers: JSON_TYPE, body: '{"id":9007199254740993}' };
  proxy.add({ method: /POST/, fault: { kind: 'answer', answer: created } });
  const [outcome] = await target.apply(target.create('p1', anna));
  expect(outcome).toMatchObject({ result: 'written', remoteId: '9007199254740993' });
  const gone = { status: 404, headers: JSON_TYPE, body: '{}' };
  proxy.add({ url: /9007199254740993/, fault: { kind: 'answer', answer: gone }, ...ALWAYS });
  await target.apply(target.update('p1', anna, '9007199254740993')).catch(() => null);
  expect(proxy.requests.some(({ url }) => url.includes('/9007199254740993'))).toBe(true);
});

describe('a series', () => {
  test('stops at a limit: completed writes remain, the others are not sent', async () => {
    const { proxy, target, sandbox } = await openProxied();
    const answer = { status: 429, headers: { 'retry-after': '5' }, body: '' };
    proxy.add({ method: /POST/, after: 1, ...ALWAYS, fault: { kind: 'answer', answer } });
    const outcomes = await target.apply(
      ...['a', 'b', 'c'].map((id) => target.create(id, contact({ ...espocrm.person, firstName: id }))),
    );
    expect(outcomes.map(effectOf)).toEqual(['created', 'rate-limited', 'rate-limited']);
    expect(proxy.requests.filter(({ method }) => method === 'POST')).toHaveLength(2);
    expect(sandbox.records('Contact')).toHaveLength(1);
  });

  test('continues after one broken connection, and stops after two in a row', async () => {
    const { proxy, target } = await openProxied();
    proxy.add({ method: /POST/, after: 0, fault: { kind: 'cut' } });
    proxy.add({ method: /POST/, after: 1, times: 2, fault: { kind: 'cut' } });
    const outcomes = await target.apply(...['a', 'b', 'c', 'd', 'e'].map((id) => target.create(id, anna)));
    expect(outcomes.map(effectOf)).toEqual([
      'connection-failed',
      'created',
      'connection-failed',
      'connection-failed',
      'connection-failed',
    ]);
    expect(proxy.requests.filter(({ method }) => method === 'POST')).toHaveLength(4);
  });
});

describe('a login', () => {
  test('is renewed once after a 401, and the request sent again', async () => {
    const { sandbox, open } = await openProxied();
    let current = sandbox.token;
    let renewals = 0;
    const authorizer: Authorizer = {
      header: async () => current,
      renew: async () => {
        renewals += 1;
        current = 'new-token';
        return current;
      },
      quotaUser: null,
      headerName: 'x-api-key',
    };
    sandbox.replaceToken('new-token');
    const target = open({ authorizer });
    expect((await target.written(target.create('p1', anna))).effect).toBe('created');
    expect(renewals).toBe(1);
    sandbox.replaceToken('another-token');
    expect(await failureOf(target)).toMatchObject({ code: 'login-refused', actor: 'authorization' });
    expect(renewals).toBe(2);
  });

  test('is in the header that the connection names, with the prefix that the description names', async () => {
    const { proxy, open } = await openProxied();
    const target = open({ authorizer: steadyLogin('Bearer secret'), description: { scheme: 'Zoho-oauthtoken' } });
    await target.apply(target.create('p1', anna)).catch(() => undefined);
    expect(proxy.requests[0]?.headers).toMatchObject({ authorization: 'Zoho-oauthtoken secret' });
    expect(proxy.requests[0]?.headers).not.toHaveProperty('x-api-key');
  });
});

describe('a list', () => {
  const links = { style: 'next-link', linkPath: 'next', size: 2 };
  const paged = (paging: object, call = {}) => ({ streams: { patients: { list: { paging, call } } } });
  const page = (body: object) => ({
    kind: 'answer' as const,
    answer: { status: 200, headers: JSON_TYPE, body: JSON.stringify(body) },
  });

  test('continues past pages that are shorter than requested', async () => {
    const { proxy, target, open } = await openProxied();
    await target.apply(...['a', 'b', 'c', 'd', 'e'].map((id) => target.create(id, anna)));
    proxy.add({
      url: /orderBy/,
      ...ALWAYS,
      fault: {
        kind: 'rewrite',
        answer: (answer) => {
          const { list } = JSON.parse(answer.body.toString());
          return { ...answer, body: JSON.stringify({ list: list.slice(0, 1), total: -1 }) };
        },
      },
    });
    expect(
      await open({ description: paged({ style: 'offset-limit', totalPath: 'total', size: 2 }) }).readAll(),
    ).toHaveLength(5);
  });

  test.each([
    ['elsewhere', 'https://elsewhere.example/next'],
    ['round and round', '/api/v1/Contact?again'],
  ])('whose next page leads %s is an error, and the credentials are not sent', async (_, next) => {
    const { proxy, open } = await openProxied();
    proxy.add({ method: /GET/, ...ALWAYS, fault: page({ list: [], next }) });
    await expect(open({ description: paged(links) }).readAll()).rejects.toMatchObject({ code: 'crm-paging-broken' });
    expect(proxy.requests.length).toBeLessThan(4);
  });

  test('whose rows are not where the description says is an error and no empty list', async () => {
    const { proxy, target } = await openProxied();
    proxy.add({ method: /GET/, fault: page({ records: [] }) });
    await expect(target.readAll()).rejects.toMatchObject({ code: 'unexpected-answer', actor: 'contract' });
  });

  test('that breaks off in the middle throws', async () => {
    const { proxy, target, open } = await openProxied();
    await target.apply(...['a', 'b', 'c'].map((id) => target.create(id, anna)));
    proxy.add({ url: /offset=2/, fault: { kind: 'cut-body' } });
    const short = open({ description: paged({ style: 'offset-limit', totalPath: 'total', size: 2 }) });
    await expect(
      short.connector.changes('c', { cursor: null, window: { fromAt: 0, toAt: 1 } }, signal()),
    ).rejects.toThrow();
  });
});

test('a version tag is sent if the description declares it, and 412 is a conflict', async () => {
  const { proxy, open } = await openProxied();
  const update = { call: { headers: { 'If-Match': '{{versionTag}}' } } };
  const target = open({ description: { streams: { patients: { row: { versionTag: 'modifiedAt' }, update } } } });
  const { remoteId, versionTag } = await target.written(target.create('p1', anna));
  expect(versionTag).not.toBeNull();
  const changed = contact({ ...espocrm.person, firstName: 'Changed' });
  proxy.add({ method: /PUT/, fault: { kind: 'answer', answer: { status: 412, headers: {}, body: '' } } });
  expect((await target.apply(target.update('p1', changed, remoteId))).map(effectOf)).toEqual(['changed-meanwhile']);
  expect(proxy.requests.at(-1)?.headers['if-match']).toBe(versionTag);
});

test('no URL and no header contains patient data', async () => {
  const { proxy, target } = await openProxied();
  const { remoteId } = await target.written(target.create('p1', anna));
  await target.written(target.update('p1', contact({ ...espocrm.person, lastName: 'Bianchi' }), remoteId));
  await target.readAll();
  await target.apply(target.remove('p1', remoteId));
  const seen = proxy.requests.map(({ url, headers }) => decodeURIComponent(url) + JSON.stringify(headers)).join();
  expect(proxy.requests.length).toBeGreaterThan(5);
  expect(seen).not.toMatch(/Rossi|Bianchi|Anna|family\.example|3906|1960|p1\b/);
});
