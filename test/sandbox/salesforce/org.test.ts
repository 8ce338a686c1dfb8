import { describe, expect, it, onTestFinished } from 'vitest';
import { startSalesforceSandbox } from '../../../sandbox/salesforce/index.ts';
import { type Bench, codes, contact, KEY, startBench } from './support.ts';

// biome-ignore lint/suspicious/noExplicitAny: a field of a description
async function fieldsOf({ call }: Bench, object: string): Promise<Map<string, any>> {
  const { body } = await call('GET', `/sobjects/${object}/describe`);
  return new Map(body.fields.map((field: { name: string }) => [field.name, field]));
}

describe('a description', () => {
  it('returns types, keys and writable fields', async () => {
    const bench = await startBench();
    const fields = await fieldsOf(bench, 'contact');
    expect(fields.get(KEY)).toMatchObject({ externalId: true, unique: true, idLookup: true, custom: true, length: 64 });
    expect(fields.get('LastName')).toMatchObject({ nillable: false, createable: true, updateable: true, length: 80 });
    expect(fields.get('Name')).toMatchObject({ createable: false, updateable: false });
    expect(fields.get('AccountId')).toMatchObject({ referenceTo: ['Account'], relationshipName: 'Account' });
    const { body } = await bench.call('GET', '/sobjects');
    expect(body.sobjects.map(({ name }: { name: string }) => name)).toEqual(
      expect.arrayContaining(['Contact', 'Account', 'Event', 'Opportunity']),
    );
  });

  it('requires an owner for every record, created by hand or by the API', async () => {
    const before = await startSalesforceSandbox();
    onTestFinished(() => before.close());
    expect(before.addByHand('Contact', { LastName: 'Early' }).OwnerId).toMatch(/^005/);
    const bench = await startBench();
    expect((await fieldsOf(bench, 'Contact')).get('OwnerId')).toMatchObject({
      nillable: false,
      defaultedOnCreate: true,
    });
    const answer = await bench.upsert([contact('a'), contact('b', { OwnerId: null })]);
    expect(codes(answer)).toEqual([undefined, 'REQUIRED_FIELD_MISSING']);
  });

  it('makes the org itself readable, but not writable', async () => {
    const { call } = await startBench();
    const { body } = await call('GET', '/query?q=SELECT+Id+FROM+Organization');
    expect(body.records).toMatchObject([{ Id: expect.stringMatching(/^00D\w{15}$/) }]);
    expect((await call('GET', '/sobjects/Organization/describe')).body).toMatchObject({ createable: false });
  });

  it('leaves out hidden fields, which then refuse the whole request', async () => {
    const bench = await startBench();
    const { sandbox, upsert, call } = bench;
    sandbox.addByHand('Contact', contact('a', { Email: 'a@clinic.example' }));
    sandbox.setFieldAccess('Contact', 'Email', 'hidden');
    expect((await fieldsOf(bench, 'Contact')).has('Email')).toBe(false);
    const rows = [contact('a', { Email: 'b@clinic.example' }), contact('b')];
    expect(await upsert(rows)).toMatchObject({ status: 400, code: 'INVALID_FIELD' });
    expect((await call('GET', '/query?q=SELECT+Email+FROM+Contact')).code).toBe('INVALID_FIELD');
    expect((await call('GET', `/sobjects/Contact/${KEY}/a`)).body).not.toHaveProperty('Email');
    expect(sandbox.records('Contact')).toMatchObject([{ Email: 'a@clinic.example' }]);
    const { Id } = sandbox.addByHand('Contact', contact('c', { Email: 'seen@clinic.example' }));
    expect(sandbox.editByHand(Id, { Email: null }).Email).toBeNull();
    sandbox.setFieldAccess('Contact', 'Email', 'edit');
    expect(codes(await upsert(rows))).toEqual([undefined, undefined]);
    sandbox.setFieldAccess('Contact', 'AccountId', 'hidden');
    expect((await upsert([contact('a', { Account: { [KEY]: 'f' } })])).code).toBe('INVALID_FIELD');
    sandbox.setFieldAccess('Contact', KEY, 'hidden');
    expect((await upsert(rows)).status).toBe(404);
  });

  it('shows a field that may only be read, which refuses its row', async () => {
    const bench = await startBench();
    bench.sandbox.setFieldAccess('Contact', 'Phone', 'read');
    expect((await fieldsOf(bench, 'Contact')).get('Phone')).toMatchObject({ updateable: false });
    const answer = await bench.upsert([contact('a', { Phone: '+39 02 1' }), contact('b'), contact('c', { Name: 'N' })]);
    expect(codes(answer)).toEqual(['INVALID_FIELD_FOR_INSERT_UPDATE', undefined, 'INVALID_FIELD_FOR_INSERT_UPDATE']);
    expect(answer.body[0].errors[0].fields).toEqual(['Phone']);
  });

  it('is refused for custom fields of unknown objects or with invalid names', async () => {
    await expect(startBench({ customFields: { Nothing: [] } })).rejects.toThrow('Custom fields');
    await expect(startBench({ customFields: { Contact: [{ name: 'Key', type: 'string' }] } })).rejects.toThrow('__c');
  });
});

describe('the administrator’s rules', () => {
  it('refuse a row by a validation rule, in the administrator’s words', async () => {
    const { sandbox, upsert } = await startBench();
    sandbox.addValidationRule({ object: 'Contact', field: 'Phone', refuses: '^$', message: 'A phone, please' });
    const answer = await upsert([contact('a'), contact('b', { Phone: '1' })]);
    expect(codes(answer)).toEqual(['FIELD_CUSTOM_VALIDATION_EXCEPTION', undefined]);
    expect(answer.body[0].errors[0]).toMatchObject({ message: 'A phone, please', fields: ['Phone'] });
    sandbox.clearRules();
    expect(codes(await upsert([contact('a')]))).toEqual([undefined]);
  });

  it('find duplicates in a new org: a contact with the same name and e-mail address is not saved without allowSave', async () => {
    const { sandbox, upsert } = await startBench();
    const person = (key: string, FirstName = 'Anna') =>
      contact(key, { FirstName, LastName: 'Rossi', Email: 'rossi@clinic.example' });
    const answer = await upsert([person('a'), person('b', 'Bruno'), person('c')]);
    expect(codes(answer)).toEqual([undefined, undefined, 'DUPLICATES_DETECTED']);
    sandbox.clearRules();
    expect(codes(await upsert([person('c')]))).toEqual([undefined]);
    const { upsert: unruled } = await startBench({ standardDuplicateRules: false });
    expect(codes(await unruled([person('a'), person('b')]))).toEqual([undefined, undefined]);
  });

  it('find duplicates: an alert passes with allowSave, a block never', async () => {
    const { sandbox, upsert } = await startBench();
    const family = { Email: 'family@clinic.example' };
    sandbox.addDuplicateRule({ object: 'Contact', fields: ['Email'], action: 'alert' });
    const rows = [contact('a', family), contact('b', family), contact('c'), contact('d')];
    expect(codes(await upsert(rows))).toEqual([undefined, 'DUPLICATES_DETECTED', undefined, undefined]);
    const headers = { 'Sforce-Duplicate-Rule-Header': 'allowSave=true' };
    expect(codes(await upsert(rows, { headers }))).toEqual([undefined, undefined, undefined, undefined]);
    sandbox.addDuplicateRule({ object: 'Contact', fields: ['Email', 'Phone'], action: 'block' });
    const blocked = [contact('e', { ...family, Phone: '1' }), contact('f', { ...family, Phone: '1' })];
    expect(codes(await upsert(blocked, { headers }))).toEqual([undefined, 'DUPLICATES_DETECTED']);
  });
});

describe('sharing', () => {
  it('shows a contact without an account only to its owner', async () => {
    const { sandbox, upsert } = await startBench();
    const { Id } = sandbox.addByHand('Account', { Name: 'Patients' });
    await upsert([contact('private'), contact('shared', { AccountId: Id })]);
    const keysFor = (as: string) => sandbox.records('Contact', { as }).map((record) => record[KEY]);
    expect(keysFor('doctor@clinic.example')).toEqual(['shared']);
    expect(keysFor('integration@clinic.example')).toEqual(['private', 'shared']);
  });
});

describe('concurrent calls', () => {
  it('are refused with the code of the daily limit, and do not count towards it', async () => {
    const { sandbox, call } = await startBench({ concurrentCalls: 0 });
    const refused = await call('GET', '/limits');
    expect([refused.status, refused.body]).toMatchObject([403, [{ errorCode: 'REQUEST_LIMIT_EXCEEDED' }]]);
    expect(refused.headers.get('sforce-limit-info')).toBe('api-usage=0/100000');
    sandbox.configure({ concurrentCalls: 25 });
    expect((await call('GET', '/limits')).status).toBe(200);
  });
});

describe('the daily limit', () => {
  it('is returned with every answer, applies to the org, and answers 403 until calls are a day old', async () => {
    let now = Date.UTC(2027, 2, 1);
    const { sandbox, call, upsert } = await startBench({ dailyApiCalls: 10, now: () => now, sessionTimeoutMs: 1e12 });
    const first = await upsert([contact('a'), contact('b')]);
    expect(first.headers.get('sforce-limit-info')).toBe('api-usage=1/10');
    sandbox.spendApiCalls(8);
    const limits = await call('GET', '/limits');
    expect(limits.body).toEqual({ DailyApiRequests: { Max: 10, Remaining: 0 } });
    const refused = await upsert([contact('c')]);
    expect(refused).toMatchObject({ status: 403, code: 'REQUEST_LIMIT_EXCEEDED' });
    expect(refused.headers.get('sforce-limit-info')).toBe('api-usage=10/10');
    expect(refused.headers.has('retry-after')).toBe(false);
    expect(sandbox.counts.apiCalls).toBe(2);
    sandbox.configure({ dailyApiCalls: 11 });
    expect((await upsert([contact('c')])).status).toBe(200);
    now += 86_400_000;
    expect((await upsert([contact('d')])).headers.get('sforce-limit-info')).toBe('api-usage=1/11');
  });
});

describe('the vendor', () => {
  it('retires versions with 410 or 404, and knows none of the future', async () => {
    const { sandbox, call } = await startBench();
    expect((await call('GET', '/services/data/v50.0/limits')).status).toBe(200);
    sandbox.retireVersionsBelow(51);
    expect((await call('GET', '/services/data/v50.0/limits')).status).toBe(410);
    expect((await call('GET', '/services/data/v51.0/limits')).status).toBe(200);
    sandbox.configure({ retiredStatus: 404 });
    expect(await call('GET', '/services/data/v50.0/limits')).toMatchObject({ status: 404, code: 'NOT_FOUND' });
    expect((await call('GET', '/services/data/v99.0/limits')).status).toBe(404);
    expect((await call('GET', '/services/data/v51.0/nowhere')).status).toBe(404);
    const { body: known } = await call('GET', '/services/data/');
    expect([known[0].version, known.at(-1).url]).toEqual(['51.0', '/services/data/v68.0']);
  });

  it('fails as its kind of failure says', async () => {
    const { sandbox, call } = await startBench();
    const wanted = {
      401: 'INVALID_SESSION_ID',
      403: 'REQUEST_LIMIT_EXCEEDED',
      500: 'UNKNOWN_EXCEPTION',
      503: 'SERVER_UNAVAILABLE',
    };
    for (const [status, code] of Object.entries(wanted)) {
      sandbox.faults.add({ times: 1, fault: { kind: 'status', status: Number(status) } });
      expect(await call('GET', '/limits')).toMatchObject({ status: Number(status), code });
    }
  });

  it('loses an answer after the write, and the repetition changes nothing', async () => {
    const { sandbox, upsert } = await startBench();
    sandbox.faults.add({ match: { method: 'PATCH' }, times: 1, fault: { kind: 'lost-answer' } });
    await expect(upsert([contact('k')])).rejects.toThrow();
    expect(sandbox.records('Contact')).toHaveLength(1);
    expect((await upsert([contact('k')])).body[0]).toMatchObject({ success: true, created: false });
  });
});

describe('a move of the org', () => {
  it.each(['unauthorized', 'redirect', 'closed'] as const)('leaves the old URL %s', async (old) => {
    const { sandbox, call, as } = await startBench();
    const url = await sandbox.moveInstance(old);
    expect(await call('GET', `${url}/services/data/v68.0/limits`)).toMatchObject({
      status: 401,
      code: 'INVALID_SESSION_ID',
    });
    const moved = as(sandbox.issueAccessToken());
    expect((await moved('GET', `${url}/services/data/v68.0/limits`)).status).toBe(200);
    if (old === 'closed') {
      await expect(moved('GET', '/limits')).rejects.toThrow();
    } else if (old === 'redirect') {
      const answer = await fetch(`${sandbox.url}/services/data/v68.0/limits`, { redirect: 'manual' });
      expect([answer.status, answer.headers.get('location')]).toEqual([302, `${url}/services/data/v68.0/limits`]);
    } else {
      expect(await moved('GET', '/limits')).toMatchObject({ status: 401, code: 'INVALID_SESSION_ID' });
    }
  });
});
