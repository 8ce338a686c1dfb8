import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { newRecordId, toLongId } from '../../../sandbox/salesforce/ids.ts';
import { contact, KEY, startBench } from './support.ts';

const ALTERNATIVE = { name: 'Old_Key__c', type: 'string', externalId: true } as const;

describe('an upsert by key', () => {
  it('creates with 201, then updates with 200 and changes only the sent fields', async () => {
    const { call, sandbox } = await startBench();
    const path = `/sobjects/Contact/${KEY}/a%2Fb%20%C3%A8`;
    const first = await call('PATCH', path, { LastName: 'Rossi', FirstName: 'Ada' });
    expect(first).toMatchObject({ status: 201, body: { success: true, created: true, errors: [] } });
    const second = await call('PATCH', path, { FirstName: 'Eva' });
    expect(second).toMatchObject({ status: 200, body: { id: first.body.id, created: false } });
    expect(sandbox.records('Contact')).toMatchObject([{ [KEY]: 'a/b è', LastName: 'Rossi', Name: 'Eva Rossi' }]);
  });

  it('answers an update with 204 before version 46', async () => {
    const { call } = await startBench();
    const path = `/services/data/v45.0/sobjects/Contact/${KEY}/k`;
    expect((await call('PATCH', path, { LastName: 'A' })).status).toBe(201);
    expect(await call('PATCH', path, { LastName: 'B' })).toMatchObject({ status: 204, body: undefined });
  });

  it('takes keys in any case as one, unless the field minds case', async () => {
    const field = { name: 'Exact__c', type: 'string', externalId: true, unique: true, caseSensitive: true } as const;
    const key = { name: KEY, type: 'string', externalId: true, unique: true } as const;
    const { call } = await startBench({ customFields: { Contact: [key, field] } });
    expect((await call('PATCH', `/sobjects/Contact/${KEY}/abc`, { LastName: 'A' })).status).toBe(201);
    expect((await call('PATCH', `/sobjects/Contact/${KEY}/ABC`, { LastName: 'A' })).status).toBe(200);
    expect((await call('PATCH', '/sobjects/Contact/Exact__c/abc', { LastName: 'A' })).status).toBe(201);
    expect((await call('PATCH', '/sobjects/Contact/Exact__c/ABC', { LastName: 'A' })).status).toBe(201);
  });

  it('answers 300 with the list of matches when the key is not unique, and writes nothing', async () => {
    const { call, sandbox } = await startBench({ customFields: { Contact: [ALTERNATIVE] } });
    const ids = ['A', 'B'].map((LastName) => sandbox.addByHand('Contact', { LastName, Old_Key__c: 'k' }).Id);
    const answer = await call('PATCH', '/sobjects/Contact/Old_Key__c/k', { LastName: 'C' });
    expect(answer.status).toBe(300);
    expect(answer.body).toEqual(ids.map((id) => `/services/data/v68.0/sobjects/Contact/${id}`));
    expect(sandbox.records('Contact').map(({ LastName }) => LastName)).toEqual(['A', 'B']);
  });

  it('with updateOnly creates nothing', async () => {
    const { call, sandbox } = await startBench();
    expect(await call('PATCH', `/sobjects/Contact/${KEY}/k?updateOnly=true`, { LastName: 'A' })).toMatchObject({
      status: 404,
      code: 'NOT_FOUND',
    });
    expect(sandbox.records('Contact')).toEqual([]);
  });

  it('refuses a field that is no external id, and the key in the body', async () => {
    const { call } = await startBench();
    expect((await call('PATCH', '/sobjects/Contact/Email/a@b.it', { LastName: 'A' })).status).toBe(404);
    expect((await call('PATCH', `/sobjects/Contact/${KEY}/k`, contact('k'))).code).toBe('INVALID_FIELD');
  });
});

describe('a record by id', () => {
  it('is created, read in parts, updated and deleted', async () => {
    const { call } = await startBench();
    const created = await call('POST', '/sobjects/Contact', contact('k', { Email: 'Ada@Clinic.Example ' }));
    expect(created).toMatchObject({ status: 201, body: { success: true, errors: [] } });
    const path = `/sobjects/Contact/${created.body.id}`;
    expect(created.headers.get('location')).toBe(`/services/data/v68.0${path}`);
    expect((await call('GET', `${path}?fields=Email,LastName`)).body).toEqual({
      attributes: { type: 'Contact', url: `/services/data/v68.0${path}` },
      Email: 'ada@clinic.example',
      LastName: 'Name k',
    });
    expect((await call('PATCH', path, { Email: '' })).status).toBe(204);
    expect((await call('GET', `/sobjects/Contact/${KEY}/k`)).body).toMatchObject({ Email: null });
    expect((await call('DELETE', path)).status).toBe(204);
    expect(await call('GET', path)).toMatchObject({ status: 404, code: 'ENTITY_IS_DELETED' });
    expect(await call('DELETE', path)).toMatchObject({ status: 404, code: 'ENTITY_IS_DELETED' });
  });

  it('is known by its short id, and unknown ones are 404', async () => {
    const { call, sandbox } = await startBench();
    const { Id } = sandbox.addByHand('Contact', contact('k'));
    expect((await call('GET', `/sobjects/Contact/${Id.slice(0, 15)}`)).body.Id).toBe(Id);
    expect((await call('GET', '/sobjects/Contact/0035g00000zzzzz')).code).toBe('NOT_FOUND');
    expect((await call('GET', '/sobjects/Contact/x')).code).toBe('NOT_FOUND');
    expect((await call('GET', `/sobjects/Account/${Id}`)).code).toBe('NOT_FOUND');
    expect((await call('GET', '/sobjects/Nothing/1')).code).toBe('NOT_FOUND');
  });

  it('has an id with a checksum of upper and lower case', () => {
    expect(toLongId('001D000000IqhSL')).toBe('001D000000IqhSLIAZ');
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 62 ** 6 }), (serial) => {
        const id = newRecordId('003', serial);
        expect(id).toMatch(/^003[0-9A-Za-z]{15}$/);
        expect(toLongId(id.slice(0, 15))).toBe(id);
      }),
    );
  });
});

describe('a text', () => {
  it('is stored without space around it, empty as null, but with its no-break spaces', async () => {
    const { upsert, sandbox } = await startBench();
    await upsert([contact('k', { FirstName: '  Ada \n', Title: ' ', Phone: '\u00a01\u00a0' })]);
    expect(sandbox.records('Contact')).toMatchObject([{ FirstName: 'Ada', Title: null, Phone: '\u00a01\u00a0' }]);
  });
});

describe('a parent', () => {
  it('is referenced by its key, and must exist', async () => {
    const { call, sandbox } = await startBench();
    const account = sandbox.addByHand('Account', { Name: 'Family', [KEY]: 'f' });
    const reference = (key: string) => ({ LastName: 'A', Account: { [KEY]: key } });
    expect((await call('PATCH', `/sobjects/Contact/${KEY}/k`, reference('f'))).status).toBe(201);
    expect(sandbox.records('Contact')[0]).toMatchObject({ AccountId: account.Id });
    expect((await call('PATCH', `/sobjects/Contact/${KEY}/l`, reference('?'))).code).toBe('INVALID_FIELD');
  });

  it('by id must be live and of the right object', async () => {
    const { upsert, sandbox } = await startBench();
    const gone = sandbox.addByHand('Account', { Name: 'Gone' }).Id;
    sandbox.deleteByHand(gone);
    const other = sandbox.addByHand('Contact', contact('o')).Id;
    const unknown = '0015g00000zzzzzAAA';
    const answer = await upsert([gone, other, unknown, 'x'].map((AccountId, at) => contact(`k${at}`, { AccountId })));
    expect(answer.body.map((row: { errors: { statusCode: string }[] }) => row.errors[0]?.statusCode)).toEqual([
      'ENTITY_IS_DELETED',
      'FIELD_INTEGRITY_EXCEPTION',
      'INVALID_CROSS_REFERENCE_KEY',
      'MALFORMED_ID',
    ]);
  });
});

describe('an event', () => {
  const START = '2027-03-01T10:00:00+01:00';

  it('gets its end from the duration, or the other way round, in UTC', async () => {
    const { call, sandbox } = await startBench();
    const WhoId = sandbox.addByHand('Contact', contact('k')).Id;
    const path = `/sobjects/Event/${KEY}/e`;
    await call('PATCH', path, { Subject: 'Visit', WhoId, StartDateTime: START, DurationInMinutes: 45 });
    const [event] = sandbox.records('Event');
    expect(event).toMatchObject({
      StartDateTime: '2027-03-01T09:00:00.000+0000',
      EndDateTime: '2027-03-01T09:45:00.000+0000',
    });
    expect((await call('PATCH', path, { EndDateTime: '2027-03-01T09:20:00Z' })).status).toBe(200);
    expect(sandbox.records('Event')[0]).toMatchObject({ DurationInMinutes: 20 });
  });

  it('needs a start, an end that fits, and an instant with its offset', async () => {
    const { call } = await startBench();
    const send = async (body: object) => (await call('PATCH', `/sobjects/Event/${KEY}/e`, body)).code;
    expect(await send({ DurationInMinutes: 5 })).toBe('REQUIRED_FIELD_MISSING');
    expect(await send({ StartDateTime: START })).toBe('REQUIRED_FIELD_MISSING');
    expect(await send({ StartDateTime: START, EndDateTime: '2027-03-01T08:00:00Z' })).toBe('FIELD_INTEGRITY_EXCEPTION');
    expect(await send({ StartDateTime: '2027-03-01T10:00:00', DurationInMinutes: 5 })).toBe('JSON_PARSER_ERROR');
    expect(await send({ StartDateTime: START, DurationInMinutes: 5, ShowAs: 'Away' })).toBe(
      'INVALID_OR_NULL_FOR_RESTRICTED_PICKLIST',
    );
  });
});

describe('person accounts', () => {
  it('are accounts with the contact’s fields, each with its own contact', async () => {
    const { call, sandbox } = await startBench({ personAccounts: true });
    const path = `/sobjects/Account/${KEY}/p`;
    const { body } = await call('PATCH', path, { FirstName: 'Ada', LastName: 'Rossi', PersonEmail: 'a@b.it' });
    const [account] = sandbox.records('Account');
    expect(account).toMatchObject({ Id: body.id, Name: 'Ada Rossi', IsPersonAccount: true });
    expect(sandbox.records('Contact')).toMatchObject([
      { Id: account!.PersonContactId, LastName: 'Rossi', Email: 'a@b.it', IsPersonAccount: true },
    ]);
    expect((await call('PATCH', path, { LastName: 'Verdi' })).status).toBe(200);
    expect(sandbox.records('Contact')).toMatchObject([{ Name: 'Ada Verdi' }]);
    const ofContact = `/sobjects/Contact/${account!.PersonContactId}`;
    expect((await call('PATCH', ofContact, { LastName: 'X' })).code).toBe('INVALID_OPERATION');
    expect((await call('DELETE', ofContact)).code).toBe('INVALID_OPERATION');
    expect((await call('DELETE', `/sobjects/Account/${body.id}`)).status).toBe(204);
    expect(sandbox.records('Contact')).toEqual([]);
  });

  it('refuse a name, business accounts refuse person fields, and without the option none exist', async () => {
    const { call, sandbox } = await startBench({ personAccounts: true });
    const path = `/sobjects/Account/${KEY}/p`;
    expect((await call('PATCH', path, { LastName: 'A', Name: 'B' })).code).toBe('INVALID_FIELD_FOR_INSERT_UPDATE');
    expect((await call('PATCH', path, { Name: 'B', PersonEmail: 'a@b.it' })).code).toBe(
      'INVALID_FIELD_FOR_INSERT_UPDATE',
    );
    expect((await call('PATCH', path, { Name: 'B' })).status).toBe(201);
    const type = await call('GET', '/query?q=SELECT+Id,DeveloperName+FROM+RecordType+WHERE+IsPersonType=true');
    const RecordTypeId = type.body.records[0].Id;
    expect((await call('POST', '/sobjects/Account', { RecordTypeId })).code).toBe('REQUIRED_FIELD_MISSING');
    expect((await call('POST', '/sobjects/Account', { RecordTypeId, LastName: 'P', Clinic_Key__pc: 'c' })).status).toBe(
      201,
    );
    expect(sandbox.records('Contact')).toMatchObject([{ [KEY]: 'c' }]);
    const plain = await startBench();
    expect((await plain.call('PATCH', path, { LastName: 'A' })).code).toBe('INVALID_FIELD');
  });
});
