import { describe, expect, it } from 'vitest';
import { sendJson } from '../kit/send-json.ts';
import { contact, KEY, startBench } from './support.ts';

describe('the sandbox’s admin routes', () => {
  it('do over HTTP what the verbs do, and count nothing', async () => {
    const { sandbox, as } = await startBench();
    const own = (path: string, method: string, body?: unknown) =>
      sendJson(`${sandbox.url}/__sandbox/${path}`, method, body);
    const first = (await own('objects/Contact/records', 'POST', contact('a'))).body;
    const second = (await own('objects/Contact/records', 'POST', contact('b'))).body;
    expect((await own(`records/${first.Id}`, 'PATCH', { FirstName: 'Eva' })).body).toMatchObject({ FirstName: 'Eva' });
    expect((await own(`records/${second.Id}`, 'DELETE')).status).toBe(204);
    expect((await own(`records/${second.Id}/undelete`, 'POST')).status).toBe(204);
    expect((await own(`records/${first.Id}/merge`, 'POST', { losers: [second.Id] })).body[KEY]).toBe('a');
    expect((await own('objects/Contact/records?includeDeleted=true', 'GET')).body.items).toMatchObject([
      { [KEY]: 'a', IsDeleted: false },
      { [KEY]: 'b', IsDeleted: true, MasterRecordId: first.Id },
    ]);
    expect((await own('recycle-bin', 'DELETE')).status).toBe(204);
    expect((await own('objects/Contact/records?includeDeleted=true', 'GET')).body.items).toHaveLength(1);
    expect((await own('objects/Nothing/records', 'GET')).status).toBe(404);
    const rule = { object: 'Contact', field: 'LastName', refuses: 'x', message: 'no x' };
    expect((await own('validation-rules', 'POST', rule)).status).toBe(204);
    expect(
      (await own('duplicate-rules', 'POST', { object: 'Contact', fields: ['Email'], action: 'block' })).status,
    ).toBe(204);
    expect((await own('objects/Contact/records', 'POST', contact('x'))).status).toBe(500);
    expect((await own('rules', 'DELETE')).status).toBe(204);
    expect((await own('field-access', 'PUT', { object: 'Contact', field: 'Email', access: 'hidden' })).status).toBe(
      204,
    );
    expect((await own('settings', 'PUT', { dailyApiCalls: 5 })).status).toBe(204);
    expect((await own('settings', 'PUT', { unknown: 1 })).status).toBe(500);
    expect((await own('spend-api-calls', 'POST', { calls: 5 })).status).toBe(204);
    expect((await own('refusals', 'PUT', { username: 'u', description: 'inactive user' })).status).toBe(204);
    expect(sandbox.counts.apiCalls).toBe(0);
    const token = (await own('access-tokens', 'POST', {})).body.access_token;
    expect((await as(token)('GET', '/limits')).status).toBe(403);
    expect((await own('end-sessions', 'POST')).status).toBe(204);
    expect((await as(token)('GET', '/limits')).status).toBe(401);
    expect((await own('move-instance', 'POST', {})).body.instance_url).toMatch(/^http:\/\/127/);
  });

  it('record every sent byte, refused requests included', async () => {
    const { sandbox, upsert } = await startBench();
    sandbox.recording.record(true);
    await upsert([contact('k', { Description: 'planted à' })]);
    await upsert([contact('k', { Nope: 'planted too' })]);
    const bodies = sandbox.recording.recorded().map(({ body }) => body);
    expect(bodies[0]).toContain('planted à');
    expect(bodies[1]).toContain('planted too');
    expect(sandbox.requests.requests({ method: 'PATCH', status: 200 })).toBe(1);
    expect(sandbox.requests.requests({ route: '/services/data/:version/composite/sobjects/:object/:field' })).toBe(2);
  });
});
