import { describe, expect, onTestFinished, test } from 'vitest';
import { startFaultProxy } from '../../../sandbox/kit/fault-proxy.ts';
import { changeJson, type Json, jsonAnswer, rewriteNext } from '../../contract/crm-wire.ts';
import { contact, effectOf } from './harness.ts';
import { anna, openProfile, openProxied, PROFILE_CASES } from './profiles.ts';

const JSON_TYPE = { 'content-type': 'application/json' };
const ALWAYS = { times: Number.POSITIVE_INFINITY };

test('a patient who is to be forgotten is erased after the delete, also if the delete was done earlier', async () => {
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

test('an id that leads to another patient is not followed, least of all to erase', async () => {
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

describe('a deletion of several', () => {
  const zoho = PROFILE_CASES.find(({ dialect }) => dialect === 'zoho')!;
  const IDS = ['a', 'b', 'c', 'd'];
  const SEVERAL = { method: /^DELETE$/, url: /\?ids=/ };

  async function openWithFour(description: object = {}) {
    const { sandbox, open } = await openProfile(zoho);
    const proxy = await startFaultProxy(sandbox.url);
    onTestFinished(() => proxy.close());
    const baseUrl = sandbox.apiUrl.replace(sandbox.url, proxy.url);
    const target = open({ settings: { baseUrl, profile: 'zoho-like', description } });
    const created = await target.apply(
      ...IDS.map((id) => target.create(id, contact({ ...zoho.person, First_Name: id }))),
    );
    const remoteIds = new Map(
      created.map((outcome) => [outcome.recordId, outcome.result === 'written' ? (outcome.remoteId ?? '') : '']),
    );
    proxy.forget();
    const removeAll = async (erase = false) => {
      const outcomes = await target.apply(...IDS.map((id) => target.remove(id, remoteIds.get(id), erase)));
      return Object.fromEntries(outcomes.map((outcome) => [outcome.recordId, effectOf(outcome)]));
    };
    const left = () => sandbox.records('Contacts').map(({ values }) => values.First_Name);
    const sent = () =>
      proxy.requests.map(({ method, url }) => `${method} ${url.replace(/^\/crm\/v8\//, '').replace(/\d{5,}/g, '1')}`);
    return { proxy, remoteIds, removeAll, left, sent };
  }

  test('costs a check and one request', async () => {
    const { removeAll, left, sent } = await openWithFour();
    expect(await removeAll()).toEqual({ a: 'deleted', b: 'deleted', c: 'deleted', d: 'deleted' });
    expect(left()).toEqual([]);
    expect(sent()).toEqual(['POST coql', 'DELETE Contacts?ids=1%2C1%2C1%2C1']);
  });

  test('whose answer omits a record, or does not report it as deleted, repeats only that record', async () => {
    const { proxy, remoteIds, removeAll, left, sent } = await openWithFour();
    const locked = { code: 'RECORD_LOCKED', status: 'error', message: 'no', details: { id: remoteIds.get('b') } };
    rewriteNext(proxy, SEVERAL, {
      request: (request) => ({
        ...request,
        url: request.url.replace(/%2C\d+$/, '').replace(`%2C${remoteIds.get('b')}`, ''),
      }),
      answer: (answer) => changeJson(answer, ({ data }) => ({ data: [locked, ...(data as Json[])] })),
    });
    const alone = { method: /^DELETE$/, url: new RegExp(`/${remoteIds.get('b')}$`) };
    proxy.add({ ...alone, fault: { kind: 'answer', answer: jsonAnswer(400, { data: [locked] }) } });
    expect(await removeAll()).toEqual({ a: 'deleted', b: 'record-refused', c: 'deleted', d: 'deleted' });
    expect(left()).toEqual(['b']);
    expect(sent().slice(2)).toEqual(['DELETE Contacts/1', 'DELETE Contacts/1']);
  });

  test.each([
    ['is refused for one record', 400, { code: 'INVALID_DATA', status: 'error' }],
    ['fails on one record', 500, { code: 'INTERNAL_ERROR', status: 'error' }],
  ])('that %s is repeated one by one', async (_, status, body) => {
    const { proxy, removeAll, left, sent } = await openWithFour();
    const answer = jsonAnswer(status, body);
    proxy.add({ ...SEVERAL, times: Number.POSITIVE_INFINITY, fault: { kind: 'answer', answer } });
    expect(await removeAll()).toEqual({ a: 'deleted', b: 'deleted', c: 'deleted', d: 'deleted' });
    expect(left()).toEqual([]);
    expect(sent()).toHaveLength(6);
  });

  test('that the CRM has no time for leaves the rest of the series unsent', async () => {
    const { proxy, removeAll, left, sent } = await openWithFour({ streams: { patients: { deleteMany: { size: 2 } } } });
    proxy.add({ ...SEVERAL, fault: { kind: 'answer', answer: jsonAnswer(429, { code: 'TOO_MANY_REQUESTS' }, '7') } });
    await expect(removeAll()).rejects.toMatchObject({ code: 'rate-limited', retryAfterMs: 7_000 });
    expect(sent()).toHaveLength(2);
    expect(left()).toEqual(IDS);
  });

  test('is none where the bin is to be cleared of each after', async () => {
    const erase = { call: { method: 'DELETE', path: '/bin/{{id}}' } };
    const { proxy, removeAll, left, sent } = await openWithFour({ streams: { patients: { erase } } });
    const cleared = { status: 204, headers: {}, body: '' };
    proxy.add({ url: /\/bin\//, times: IDS.length, fault: { kind: 'answer', answer: cleared } });
    expect(await removeAll(true)).toEqual({ a: 'deleted', b: 'deleted', c: 'deleted', d: 'deleted' });
    expect(left()).toEqual([]);
    expect(sent().filter((one) => one === 'DELETE bin/1')).toHaveLength(4);
  });
});
