import { describe, expect, it } from 'vitest';
import { CONTACTS, KEY, startBench, upsertBody } from './support.ts';

const READ = 'crm.objects.contacts.read';
const WRITE = 'crm.objects.contacts.write';

describe('a token', () => {
  it('must be present and known', async () => {
    const { call, as } = await startBench();
    for (const answer of [
      await as('nonsense')('GET', CONTACTS),
      await call('GET', CONTACTS, undefined, { authorization: '' }),
    ]) {
      expect(answer).toMatchObject({ status: 401, body: { category: 'INVALID_AUTHENTICATION' } });
    }
  });

  it('by OAuth is over after half an hour, also between two batches', async () => {
    let now = Date.now();
    const { as, sandbox } = await startBench({ now: () => now });
    const call = as(sandbox.issueAccessToken());
    const upsert = (key: string) => call('POST', `${CONTACTS}/batch/upsert`, upsertBody({ key }));
    now += 1_799_999;
    expect((await upsert('a')).status).toBe(200);
    now += 7001;
    expect(await upsert('b')).toMatchObject({
      status: 401,
      body: {
        category: 'EXPIRED_AUTHENTICATION',
        message: 'The OAuth token used to make this call expired 7 second(s) ago.',
      },
    });
    const fresh = as(sandbox.issueAccessToken());
    sandbox.expireAccessTokens();
    expect((await fresh('GET', CONTACTS)).body.category).toBe('EXPIRED_AUTHENTICATION');
  });

  it('of a private app lasts, until it is deleted or left fewer scopes', async () => {
    let now = Date.now();
    const { as, sandbox } = await startBench({ now: () => now });
    const token = sandbox.issuePrivateToken([READ, WRITE]);
    const call = as(token);
    now += 400 * 86_400_000;
    expect((await call('GET', CONTACTS)).status).toBe(200);
    sandbox.reduceScopes(token, [WRITE]);
    expect((await call('GET', CONTACTS)).status).toBe(403);
    sandbox.revokePrivateToken(token);
    expect((await call('GET', CONTACTS)).status).toBe(401);
  });

  it('must have enough scopes, and the answer names the missing ones', async () => {
    const { as, sandbox } = await startBench();
    const call = as(sandbox.issuePrivateToken([READ]));
    const refused = await call('POST', `${CONTACTS}/batch/upsert`, upsertBody({ key: 'a' }));
    expect(refused).toMatchObject({
      status: 403,
      body: { category: 'MISSING_SCOPES', errors: [{ context: { requiredGranularScopes: [WRITE] } }] },
    });
    expect((await call('GET', '/crm/v3/properties/contacts')).status).toBe(200);
    const property = { name: 'x', label: 'x', type: 'string', fieldType: 'text', groupName: 'contactinformation' };
    expect((await call('POST', '/crm/v3/properties/contacts', property)).body.errors[0].context).toEqual({
      requiredGranularScopes: ['crm.schemas.contacts.write'],
    });
    expect((await call('GET', '/crm/v3/objects/deals')).status).toBe(403);
    expect((await call('GET', '/crm/v3/objects/meetings')).status).toBe(200);
    const contact = sandbox.add('contacts', {});
    expect((await call('GET', `/crm/v4/objects/contacts/${contact}/associations/deals`)).status).toBe(403);
    expect(sandbox.records('contacts')).toHaveLength(1);
  });
});

describe('sensitive values', () => {
  it('need their own scopes to be written and to be seen', async () => {
    const { as, call, sandbox } = await startBench({ sensitiveData: true });
    const property = (name: string, dataSensitivity: string) => ({
      name,
      label: name,
      type: 'string',
      fieldType: 'text',
      groupName: 'contactinformation',
      dataSensitivity,
    });
    for (const level of ['sensitive', 'highly_sensitive']) {
      expect((await call('POST', '/crm/v3/properties/contacts', property(`the_${level}`, level))).status).toBe(201);
    }
    const row = { key: 'a', values: { the_sensitive: 'x' } };
    const refused = await call('POST', `${CONTACTS}/batch/upsert`, upsertBody(row));
    expect(refused).toMatchObject({
      status: 403,
      body: {
        category: 'MISSING_SCOPES',
        errors: [{ context: { requiredGranularScopes: ['crm.objects.contacts.sensitive.write'] } }],
      },
    });
    expect(sandbox.records('contacts')).toEqual([]);
    const wide = [READ, WRITE, 'crm.objects.contacts.sensitive.write', 'crm.objects.contacts.sensitive.read'];
    const allowed = as(sandbox.issuePrivateToken(wide));
    expect((await allowed('POST', `${CONTACTS}/batch/upsert`, upsertBody(row))).status).toBe(200);
    const path = `${CONTACTS}/a?idProperty=${KEY}&properties=the_sensitive`;
    expect((await allowed('GET', path)).body.properties.the_sensitive).toBe('x');
    expect((await call('GET', path)).body.properties).not.toHaveProperty('the_sensitive');
    const higher = upsertBody({ key: 'a', values: { the_highly_sensitive: 'x' } });
    expect((await allowed('POST', `${CONTACTS}/batch/upsert`, higher)).status).toBe(403);
  });
});
