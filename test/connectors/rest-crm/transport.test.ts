import { describe, expect, onTestFinished, test } from 'vitest';
import { type FaultProxy, startFaultProxy } from '../../../sandbox/kit/fault-proxy.ts';
import type { RestCrmSandbox } from '../../../sandbox/rest-crm/index.ts';
import type { Authorizer } from '../../../src/connectors/connector.ts';
import { asMirrorError } from '../../../src/model/errors.ts';
import type { Outcome } from '../../../src/model/operations.ts';
import { contact, effectOf, type OpenTarget, openTarget, signal, steadyLogin } from './harness.ts';
import { openProfile, PROFILE_CASES } from './profiles.ts';

const espocrm = PROFILE_CASES.find(({ dialect }) => dialect === 'espocrm')!;
const JSON_TYPE = { 'content-type': 'application/json' };
const ALWAYS = { times: Number.POSITIVE_INFINITY };

interface Proxied {
  sandbox: RestCrmSandbox;
  proxy: FaultProxy;
  target: OpenTarget;
  open(more: { authorizer?: Authorizer; description?: object; timeoutMs?: number }): OpenTarget;
}

/** EspoCRM's dialect behind a proxy that spoils its traffic. */
async function openProxied(): Promise<Proxied> {
  const { sandbox } = await openProfile(espocrm);
  const proxy = await startFaultProxy(sandbox.url);
  onTestFinished(() => proxy.close());
  const baseUrl = sandbox.apiUrl.replace(sandbox.url, proxy.url);
  const open: Proxied['open'] = ({ description = {}, authorizer = espocrm.login(sandbox.token), ...more }) =>
    openTarget({
      settings: { baseUrl, profile: 'espocrm', description },
      properties: espocrm.properties,
      authorizer,
      ...more,
    });
  return { sandbox, proxy, open, target: open({}) };
}

const anna = contact(espocrm.person);

/** What became of one create: the outcome's error, or what `apply` threw. */
async function failureOf(target: OpenTarget) {
  const [outcome] = await target
    .apply(target.create('p1', anna))
    .catch((error: unknown): Outcome[] => [{ recordId: 'p1', result: 'failed', error: asMirrorError(error) }]);
  return outcome?.result === 'failed' ? outcome.error : null;
}

test('an id beyond 2^53 that comes as a number is kept, and written to, by its digits', async () => {
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
  ])('%d to a create is told apart, and carries nothing of its words', async (status, headers, body, expected) => {
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
      description: { errors: { code: ['reason'], codes: { busy: 'throttled' }, statuses: { 400: 'retry' } } },
    });
    const answer = (body: string) => ({ status: 400, headers: JSON_TYPE, body });
    proxy.add({ method: /POST/, fault: { kind: 'answer', answer: answer('{"reason":"busy"}') } });
    proxy.add({ method: /POST/, fault: { kind: 'answer', answer: answer('{"reason":"other"}') } });
    expect(await failureOf(target)).toMatchObject({ code: 'rate-limited' });
    expect(await failureOf(target)).toMatchObject({ code: 'server-error', retry: 'later' });
  });

  test('400 to a search blames the description and no record; an HTML 404 is no proof that nothing is there', async () => {
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

test('403 to a change concerns that record, and others go on', async () => {
  const { proxy, target } = await openProxied();
  const outcomes = await target.apply(...['a', 'b'].map((id) => target.create(id, anna)));
  proxy.add({ method: /PUT/, fault: { kind: 'answer', answer: { status: 403, headers: {}, body: '' } } });
  const changed = contact({ ...espocrm.person, firstName: 'Changed' });
  const updates = outcomes.map((outcome) =>
    target.update(outcome.recordId, changed, outcome.result === 'written' ? outcome.remoteId : null),
  );
  expect((await target.apply(...updates)).map(effectOf)).toEqual(['record-forbidden', 'updated']);
});

describe('a series', () => {
  test('ends at a limit: what was written stands, the rest was not sent', async () => {
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

  test('goes on after one broken connection, and ends after two running', async () => {
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

  test('stands in the header that the connection names, with the word that the description names', async () => {
    const { proxy, open } = await openProxied();
    const target = open({ authorizer: steadyLogin('Bearer secret'), description: { scheme: 'Zoho-oauthtoken' } });
    await target.apply(target.create('p1', anna)).catch(() => undefined);
    expect(proxy.requests[0]?.headers).toMatchObject({ authorization: 'Zoho-oauthtoken secret' });
    expect(proxy.requests[0]?.headers).not.toHaveProperty('x-api-key');
  });
});

describe('a list', () => {
  const links = { by: 'link', next: 'next' };
  const paged = (paging: object, call = {}) => ({ streams: { patients: { list: { size: 2, paging, call } } } });
  const page = (body: object) => ({
    kind: 'answer' as const,
    answer: { status: 200, headers: JSON_TYPE, body: JSON.stringify(body) },
  });

  test('goes on past pages that are shorter than was asked for', async () => {
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
    expect(await open({ description: paged({ by: 'offset', total: 'total' }) }).readAll()).toHaveLength(5);
  });

  test.each([
    ['elsewhere', 'https://elsewhere.example/next'],
    ['round and round', '/api/v1/Contact?again'],
  ])('whose next page leads %s is an error, and the login stays at home', async (_, next) => {
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
    const short = open({ description: paged({ by: 'offset', total: 'total' }) });
    await expect(
      short.connector.changes('c', { cursor: null, window: { fromAt: 0, toAt: 1 } }, signal()),
    ).rejects.toThrow();
  });
});

test('without a stamp nothing is read as ours, and a create finds by key: never a twin', async () => {
  const { sandbox, open } = await openProxied();
  const bare = open({
    description: { streams: { patients: { stampField: null }, appointments: null, invoices: null } },
  });
  await bare.written(bare.create('p1', anna));
  expect(await bare.readAll()).toEqual([]);
  expect((await bare.find('p1'))[0]).toMatchObject({ sealedRecordId: null, item: anna });
  expect((await bare.written(bare.create('p1', contact({ ...espocrm.person, firstName: 'Other' })))).effect).toBe(
    'adopted',
  );
  expect(sandbox.records('Contact').map(({ values }) => values.firstName)).toEqual(['Other']);
});

test("an object that carries the key and another target's stamp is not touched", async () => {
  const { sandbox, target } = await openProxied();
  await target.written(target.create('p1', anna));
  const [record] = sandbox.records('Contact');
  sandbox.editByHand('Contact', record?.id ?? '', { cMirrorStamp: 'anothermark00000.x.0.' });
  const before = structuredClone(record?.values);
  expect((await target.apply(target.update('p1', contact({}), record?.id ?? ''))).map(effectOf)).toEqual(['key-burnt']);
  expect((await target.apply(target.remove('p1', record?.id ?? ''))).map(effectOf)).toEqual(['already-gone']);
  expect(sandbox.records('Contact')[0]?.values).toEqual(before);
});

test('a search that lags finds no twin for an object whose id is known', async () => {
  const { sandbox, target } = await openProxied();
  const { remoteId } = await target.written(target.create('p1', anna));
  sandbox.configure({ searchLagMs: 60_000 });
  const changed = contact({ ...espocrm.person, firstName: 'Anna Maria' });
  expect((await target.written(target.update('p1', changed, remoteId))).effect).toBe('updated');
  expect((await target.apply(target.remove('p1', remoteId))).map(effectOf)).toEqual(['deleted']);
  expect(sandbox.records('Contact')).toEqual([]);
});

test('a person who is to be forgotten is erased after the delete, also when the delete was done before', async () => {
  const { proxy, open } = await openProxied();
  const erase = { call: { method: 'POST', path: '/Contact/{{id}}/erase', body: { key: '{{key}}' }, nothing: [404] } };
  const target = open({ description: { streams: { patients: { erase } } } });
  const { remoteId } = await target.written(target.create('p1', anna));
  const erased = { status: 200, headers: JSON_TYPE, body: 'true' };
  proxy.add({ url: /erase/, ...ALWAYS, fault: { kind: 'answer', answer: erased } });
  proxy.forget();
  const [first] = await target.apply(target.remove('p1', remoteId, true));
  const [second] = await target.apply(target.remove('p1', remoteId, true));
  expect([first, second].map(effectOf)).toEqual(['deleted', 'already-gone']);
  const writes = proxy.requests.filter(({ method }) => method !== 'GET');
  expect(writes.map(({ method, url }) => `${method} ${url}`)).toEqual([
    `DELETE /api/v1/Contact/${remoteId}`,
    `POST /api/v1/Contact/${remoteId}/erase`,
    `POST /api/v1/Contact/${remoteId}/erase`,
  ]);
  expect(JSON.parse(writes[1]?.body ?? '')).toEqual({ key: target.identity.key('p1', 0) });
});

test('a version tag goes along where the description says so, and 412 is a conflict', async () => {
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

test('no address and no header tells of a patient', async () => {
  const { proxy, target } = await openProxied();
  const { remoteId } = await target.written(target.create('p1', anna));
  await target.written(target.update('p1', contact({ ...espocrm.person, lastName: 'Bianchi' }), remoteId));
  await target.readAll();
  await target.apply(target.remove('p1', remoteId));
  const seen = proxy.requests.map(({ url, headers }) => decodeURIComponent(url) + JSON.stringify(headers)).join();
  expect(proxy.requests.length).toBeGreaterThan(5);
  expect(seen).not.toMatch(/Rossi|Bianchi|Anna|family\.example|3906|1960|p1\b/);
});

test('an id that leads to another person of ours is not followed, least of all to erase', async () => {
  const { proxy, sandbox, open } = await openProxied();
  const erase = { call: { method: 'POST', path: '/Contact/{{id}}/erase' } };
  const target = open({ description: { streams: { patients: { erase } } } });
  const { remoteId } = await target.written(target.create('p1', anna));
  const before = structuredClone(sandbox.records('Contact'));
  proxy.forget();
  expect((await target.apply(target.remove('p2', remoteId, true))).map(effectOf)).toEqual(['already-gone']);
  expect(proxy.requests.every(({ method }) => method === 'GET')).toBe(true);
  expect((await target.apply(target.update('p2', anna, remoteId))).map(effectOf)).toEqual(['recreated']);
  expect(sandbox.records('Contact').slice(0, 1)).toEqual(before);
});

test('a create that meets the key of another writer adopts its object', async () => {
  const { proxy, sandbox, target } = await openProxied();
  await target.written(target.create('p1', anna));
  const empty = { status: 200, headers: JSON_TYPE, body: '{"list":[],"total":0}' };
  const conflict = { status: 409, headers: JSON_TYPE, body: '[]' };
  proxy.add({ method: /GET/, fault: { kind: 'answer', answer: empty } });
  proxy.add({ method: /POST/, fault: { kind: 'answer', answer: conflict } });
  expect((await target.apply(target.create('p1', anna))).map(effectOf)).toEqual(['adopted']);
  expect(sandbox.records('Contact')).toHaveLength(1);
});
