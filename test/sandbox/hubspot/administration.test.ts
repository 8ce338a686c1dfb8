import { describe, expect, test } from 'vitest';
import { CONTACTS, startBench } from './support.ts';

describe('fields required by an administrator', () => {
  test.each([
    ['2026-09', 400],
    ['2026-03', 201],
  ])('are required by %s when a record is created (%i)', async (version, status) => {
    const { sandbox, call } = await startBench();
    sandbox.requireOnCreate('contacts', 'phone');
    const answer = await call('POST', `/crm/objects/${version}/contacts`, { properties: { lastname: 'Lind' } });
    expect(answer.status).toBe(status);
    if (status === 400) {
      expect(answer.body).toMatchObject({
        category: 'VALIDATION_ERROR',
        errors: [{ code: 'MISSING_REQUIRED_PROPERTY', context: { propertyName: ['phone'] } }],
      });
    }
  });

  test('required by the value of another property are also required in updates, by the resulting record', async () => {
    const { sandbox, call } = await startBench();
    const id = sandbox.add('deals', { dealname: 'A', dealstage: 'qualifiedtobuy' });
    sandbox.requireWhen('deals', 'closedate', { property: 'dealstage', is: 'closedwon' });
    const path = `/crm/objects/2026-09/deals/${id}`;
    const refused = await call('PATCH', path, { properties: { dealstage: 'closedwon' } });
    expect(refused.status).toBe(400);
    expect(refused.body.errors[0]).toMatchObject({
      code: 'MISSING_CONDITIONAL_REQUIRED_PROPERTY',
      message: 'closedate is required because of a conditional property rule based on [dealstage]',
      context: { propertyName: ['closedate'] },
    });
    await call('PATCH', path, { properties: { closedate: '2026-11-30T00:00:00Z' } });
    expect((await call('PATCH', path, { properties: { dealstage: 'closedwon' } })).status).toBe(200);
  });

  test('an app with OAuth cannot associate records for a user without permission; a token of the account can', async () => {
    const { sandbox, as } = await startBench({ editAssociations: false });
    const [contact, deal] = [sandbox.add('contacts', {}), sandbox.add('deals', { dealname: 'A' })];
    const join = (token: string, version: string) =>
      as(token)('POST', `/crm/associations/${version}/deals/contacts/batch/associate/default`, {
        inputs: [{ from: { id: deal }, to: { id: contact } }],
      });
    const refused = await join(sandbox.issueAccessToken(), '2026-09');
    expect([refused.status, refused.body.message]).toEqual([400, "Missing 'Edit Associations' permission."]);
    expect((await join(sandbox.issueAccessToken(), '2026-03')).status).toBe(200);
    expect((await join(sandbox.issuePrivateToken(), '2026-09')).status).toBe(200);
  });
});

describe('a unique property of meetings', () => {
  const property = {
    ...{ name: 'visit_key', label: 'Key', type: 'string', fieldType: 'text' },
    groupName: 'meetinginformation',
    hasUniqueValue: true,
  };
  const twice = ['a', 'b'].map((id) => ({ properties: { hs_timestamp: '0', visit_key: 'k' }, objectWriteTraceId: id }));

  test.each([
    ['refused', 400, null],
    ['unenforced', 201, 201],
    ['unique', 201, 207],
  ] as const)('is %s', async (meetingKeys, made, written) => {
    const { sandbox, call } = await startBench({ meetingKeys });
    expect((await call('POST', '/crm/properties/2026-09/meetings', property)).status).toBe(made);
    if (written === null) return;
    const answer = await call('POST', '/crm/objects/2026-09/meetings/batch/create', { inputs: twice });
    expect(answer.status).toBe(written);
    expect(sandbox.records('meetings')).toHaveLength(written === 207 ? 1 : 2);
    const named = { inputs: [{ id: 'k' }], properties: ['visit_key'], idProperty: 'visit_key' };
    const read = await call('POST', '/crm/objects/2026-09/meetings/batch/read', named);
    expect(read.status).toBe(meetingKeys === 'unique' ? 200 : 400);
  });
});

describe('a batch with a bad row', () => {
  test('is reported by row if creates report rows, and refused as a whole in an upsert', async () => {
    const { upsert, call } = await startBench({ rowErrors: 'created' });
    const bad = { lifecyclestage: 'nothing' };
    expect((await upsert({ key: 'a' }, { key: 'b', values: bad })).status).toBe(400);
    const inputs = [
      { properties: {}, objectWriteTraceId: 'a' },
      { properties: bad, objectWriteTraceId: 'b' },
    ];
    expect((await call('POST', `${CONTACTS}/batch/create`, { inputs })).status).toBe(207);
  });
});

describe('subscriptions', () => {
  const BASE = '/communication-preferences/2026-09';
  const address = 'ada@example.org';

  test('are returned for every type of the account, and changed with a legal basis', async () => {
    const { sandbox, call } = await startBench();
    const id = sandbox.addSubscriptionType('Newsletter');
    expect((await call('GET', `${BASE}/definitions`)).body.results).toMatchObject([{ id: String(id) }]);
    const read = () => call('POST', `${BASE}/statuses/batch/read?channel=EMAIL`, { inputs: [address] });
    expect((await read()).body.results[0].statuses).toMatchObject([{ subscriptionId: id, status: 'NOT_SPECIFIED' }]);
    const wish = { subscriberIdString: address, channel: 'EMAIL', statusState: 'SUBSCRIBED', subscriptionId: id };
    const write = (more: object) => call('POST', `${BASE}/statuses/batch/write`, { inputs: [{ ...wish, ...more }] });
    expect((await write({})).status).toBe(400);
    expect((await write({ legalBasis: 'CONSENT_WITH_NOTICE' })).status).toBe(400);
    expect((await write({ legalBasis: 'NON_GDPR' })).body.results).toMatchObject([{ status: 'SUBSCRIBED' }]);
    sandbox.unsubscribe(address, id);
    expect((await read()).body.results[0].statuses).toMatchObject([{ status: 'UNSUBSCRIBED', source: 'Email footer' }]);
  });

  test('require separate permissions', async () => {
    const { sandbox, as } = await startBench();
    const call = as(sandbox.issuePrivateToken(['crm.objects.contacts.read']));
    expect((await call('GET', `${BASE}/definitions`)).status).toBe(403);
    expect((await call('POST', `${BASE}/statuses/batch/read?channel=EMAIL`, { inputs: [address] })).status).toBe(403);
  });
});

test('a custom object has a number and a full name, has unique properties, and is associated with contacts', async () => {
  const { sandbox, call } = await startBench();
  const key = { name: 'visit_key', label: 'Key', type: 'string', fieldType: 'text', hasUniqueValue: true };
  sandbox.createProperty('visits', key);
  const inputs = [{ id: 'k', idProperty: 'visit_key', properties: { title: 'Visit' } }];
  for (const name of ['2-3141592', 'p48250713_visits']) {
    expect((await call('POST', `/crm/objects/2026-09/${name}/batch/upsert`, { inputs })).status).toBe(200);
  }
  const [visit] = sandbox.records('visits');
  expect(sandbox.records('visits')).toHaveLength(1);
  const contact = sandbox.add('contacts', {});
  const join = { inputs: [{ from: { id: visit!.id }, to: { id: contact } }] };
  await call('POST', '/crm/associations/2026-09/2-3141592/contacts/batch/associate/default', join);
  expect(sandbox.associated('visits', visit!.id, 'contacts')).toEqual([contact]);
  expect((await call('GET', '/crm/objects/2026-09/visits')).status).toBe(400);
});
