import { expect, test } from 'vitest';
import { effectOf } from './harness.ts';
import { anna, openProxied } from './profiles.ts';

const JSON_TYPE = { 'content-type': 'application/json' };
const ALWAYS = { times: Number.POSITIVE_INFINITY };

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
