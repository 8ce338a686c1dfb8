import { describe, expect, it } from 'vitest';
import { sendJson } from '../kit/send-json.ts';
import { CONTACTS, KEY, startBench } from './support.ts';

describe('the sandbox’s own routes', () => {
  it('do over HTTP what the verbs do, and count nothing', async () => {
    const { sandbox, as } = await startBench();
    const own = (path: string): string => `${sandbox.url}/__sandbox/${path}`;
    const records = own('objects/contacts/records');
    const first = (await sendJson(records, 'POST', { [KEY]: 'a' })).body.id;
    const second = (await sendJson(records, 'POST', { [KEY]: 'b' })).body.id;
    expect((await sendJson(`${records}/${first}`, 'PATCH', { city: 'Chur' })).status).toBe(204);
    expect((await sendJson(`${records}/${first}`, 'DELETE')).status).toBe(204);
    expect((await sendJson(`${records}?archived=true`, 'GET')).body.items).toMatchObject([
      { properties: { city: 'Chur' } },
    ]);
    expect((await sendJson(`${records}/${first}/restore`, 'POST')).status).toBe(204);
    const merged = (await sendJson(own('objects/contacts/merge'), 'POST', { primary: first, other: second })).body.id;
    expect((await sendJson(records, 'GET')).body.items).toMatchObject([{ id: merged }]);
    expect((await sendJson(own(`objects/contacts/properties/${KEY}`), 'DELETE')).status).toBe(204);
    expect((await sendJson(own('objects/contacts/lock'), 'POST', { lengthMs: 10_000 })).status).toBe(204);
    expect((await sendJson(own('objects/unicorns/records'), 'GET')).status).toBe(500);
    expect(sandbox.counts.httpRequests).toBe(0);
    const tokens = own('access-tokens');
    const oauth = (await sendJson(tokens, 'POST', { kind: 'oauth', scopes: [] })).body.access_token;
    const priv = (await sendJson(tokens, 'POST')).body.access_token;
    expect((await as(oauth)('GET', CONTACTS)).status).toBe(403);
    expect((await as(priv)('GET', CONTACTS)).status).toBe(200);
    expect((await sendJson(own('settings'), 'PUT', { tenSecondlyPrivate: 1 })).status).toBe(204);
    expect((await as(priv)('GET', CONTACTS)).status).toBe(429);
    expect((await sendJson(own('expire-access-tokens'), 'POST')).status).toBe(204);
    expect((await as(oauth)('GET', CONTACTS)).body.category).toBe('EXPIRED_AUTHENTICATION');
    expect((await sendJson(own('uninstall'), 'POST')).status).toBe(204);
    expect((await sendJson(own('migrate'), 'POST', { lengthMs: 10_000 })).status).toBe(204);
    expect((await as(priv)('GET', CONTACTS)).status).toBe(477);
  });

  it('record every byte that was sent, refused requests too', async () => {
    const { sandbox, upsert, as } = await startBench();
    sandbox.recording.record(true);
    await upsert({ key: 'a', values: { firstname: 'Seen' } });
    await as('nobody')('GET', `${CONTACTS}/a?idProperty=${KEY}`);
    expect(sandbox.recording.recorded()).toMatchObject([
      { method: 'POST', url: `${CONTACTS}/batch/upsert`, body: expect.stringContaining('"Seen"') },
      { method: 'GET', url: `${CONTACTS}/a?idProperty=${KEY}`, headers: { authorization: 'Bearer nobody' } },
    ]);
  });

  it('count requests and rows by kind of record', async () => {
    const { sandbox, upsert, call } = await startBench();
    await upsert({ key: 'a' }, { key: 'b' });
    await upsert({ key: 'a' }, { key: 'c', values: { nothing: 'x' } });
    await call('GET', '/crm/v3/objects/meetings');
    expect(sandbox.counts.httpRequests).toBe(3);
    expect(sandbox.counts.requestsTo('contacts')).toBe(2);
    expect(sandbox.counts.requestsTo('meetings')).toBe(1);
    expect(sandbox.counts.rows('contacts', 'upsert')).toBe(3);
    expect(sandbox.counts.failedRows('contacts')).toBe(1);
    sandbox.counts.reset();
    expect(sandbox.counts.httpRequests).toBe(0);
  });
});
