import { describe, expect, it } from 'vitest';
import { codes, contact, KEY, startBench } from './support.ts';

describe('a collection', () => {
  it('answers 200 with one result a row, in their order, and the good rows are written', async () => {
    const { upsert, sandbox } = await startBench();
    sandbox.addByHand('Contact', contact('b'));
    const answer = await upsert([
      contact('a'),
      contact('b', { FirstName: 'Eva' }),
      contact('c', { LastName: '' }),
      contact('d', { Email: 'nobody' }),
      contact('e', { LastName: 'x'.repeat(81) }),
      { LastName: 'without key' },
      { ...contact('g'), Id: '0035g00000000001' },
      contact('h'),
    ]);
    expect(answer.status).toBe(200);
    expect(codes(answer)).toEqual([
      undefined,
      undefined,
      'REQUIRED_FIELD_MISSING',
      'INVALID_EMAIL_ADDRESS',
      'STRING_TOO_LONG',
      'MISSING_ARGUMENT',
      'INVALID_FIELD_FOR_INSERT_UPDATE',
      undefined,
    ]);
    expect(answer.body[0]).toMatchObject({ id: expect.stringMatching(/^003/), success: true, created: true });
    expect(answer.body[1]).toMatchObject({ success: true, created: false });
    expect(answer.body[2]).toEqual({
      success: false,
      created: false,
      errors: [
        {
          statusCode: 'REQUIRED_FIELD_MISSING',
          message: 'Required fields are missing: [LastName]',
          fields: ['LastName'],
        },
      ],
    });
    expect(sandbox.records('Contact').map((record) => record[KEY])).toEqual(['b', 'a', 'h']);
    expect(sandbox.counts).toMatchObject({ rows: 8, rowsFailed: 5 });
  });

  it('repeats the refused value in its message, as the vendor does', async () => {
    const { upsert } = await startBench();
    const { body } = await upsert([contact('d', { Email: 'secret value' })]);
    expect(body[0].errors[0].message).toContain('secret value');
  });

  it('with allOrNone writes nothing when a row fails', async () => {
    const { upsert, sandbox } = await startBench();
    sandbox.addByHand('Contact', contact('b', { FirstName: 'Old' }));
    const rows = [contact('a'), contact('b', { FirstName: 'New' }), contact('c', { LastName: '' })];
    const answer = await upsert(rows, { allOrNone: true });
    expect(answer.status).toBe(200);
    const other = 'ALL_OR_NONE_OPERATION_ROLLED_BACK';
    expect(codes(answer)).toEqual([other, other, 'REQUIRED_FIELD_MISSING']);
    expect(sandbox.records('Contact')).toMatchObject([{ [KEY]: 'b', FirstName: 'Old' }]);
    expect(codes(await upsert([contact('a'), { LastName: 'no key' }], { allOrNone: true }))).toEqual([
      other,
      'MISSING_ARGUMENT',
    ]);
    expect(codes(await upsert(rows.slice(0, 2), { allOrNone: true }))).toEqual([undefined, undefined]);
    expect((await upsert([contact('a', { FirstName: 'Found by its key' })])).body[0].created).toBe(false);
  });

  it('takes 200 rows of one object and no more', async () => {
    const { upsert, call, sandbox } = await startBench();
    const rows = Array.from({ length: 201 }, (_, at) => contact(`k${at}`));
    expect(await upsert(rows)).toMatchObject({ status: 400, code: 'EXCEEDED_ID_LIMIT' });
    expect(sandbox.records('Contact')).toEqual([]);
    expect((await upsert(rows.slice(1))).body).toHaveLength(200);
    expect(sandbox.counts).toMatchObject({ apiCalls: 2, collections: 1, rows: 200, rowsFailed: 0 });
    const records = [{ attributes: { type: 'Account' }, Name: 'A', [KEY]: 'k' }];
    expect((await call('PATCH', `/composite/sobjects/Contact/${KEY}`, { records })).code).toBe('INVALID_TYPE');
    expect((await call('PATCH', `/composite/sobjects/Contact/${KEY}`, { records: [{}] })).code).toBe(
      'JSON_PARSER_ERROR',
    );
    expect((await call('PATCH', `/composite/sobjects/Contact/${KEY}`, '{')).code).toBe('JSON_PARSER_ERROR');
  });

  it('refuses the whole request for an unknown field, a wrong type and an old version', async () => {
    const { upsert, call, sandbox } = await startBench();
    expect(await upsert([contact('a'), contact('b', { Nickname__c: 'B' })])).toMatchObject({
      status: 400,
      body: [{ errorCode: 'INVALID_FIELD', message: "No such column 'Nickname__c' on sobject of type Contact" }],
    });
    expect((await upsert([contact('a'), contact('b', { Birthdate: '2001-02-30' })])).code).toBe('JSON_PARSER_ERROR');
    expect((await upsert([contact('a'), contact('b', { DoNotCall: 'yes' })])).code).toBe('JSON_PARSER_ERROR');
    const old = `/services/data/v45.0/composite/sobjects/Contact/${KEY}`;
    expect((await call('PATCH', old, { records: [] })).status).toBe(404);
    expect(sandbox.records('Contact')).toEqual([]);
  });

  it('fails every row of a key that comes twice, whatever is stored', async () => {
    const { upsert, sandbox } = await startBench();
    const rows = [contact('a', { FirstName: '1' }), contact('b'), contact('A', { FirstName: '2' })];
    const answer = await upsert(rows);
    expect(codes(answer)).toEqual(['DUPLICATE_VALUE', undefined, 'DUPLICATE_VALUE']);
    sandbox.addByHand('Contact', contact('a'));
    expect(codes(await upsert(rows))).toEqual(['DUPLICATE_VALUE', undefined, 'DUPLICATE_VALUE']);
  });

  it('names the records when a key matches several', async () => {
    const field = { name: 'Old_Key__c', type: 'string', externalId: true } as const;
    const { call, sandbox } = await startBench({ customFields: { Contact: [field] } });
    const ids = ['A', 'B'].map((LastName) => sandbox.addByHand('Contact', { LastName, Old_Key__c: 'k' }).Id);
    const records = [{ attributes: { type: 'Contact' }, Old_Key__c: 'k', LastName: 'C' }];
    const answer = await call('PATCH', '/composite/sobjects/Contact/Old_Key__c', { records });
    expect(answer.body[0].errors[0]).toMatchObject({
      statusCode: 'DUPLICATE_EXTERNAL_ID',
      message: expect.stringContaining(ids.join(', ')),
    });
  });

  it('creates and updates by id across objects, retrieves in order, and deletes', async () => {
    const { call, sandbox } = await startBench();
    const created = await call('POST', '/composite/sobjects', {
      records: [
        { attributes: { type: 'Account' }, Name: 'Family' },
        { attributes: { type: 'Contact' }, LastName: 'A' },
        { attributes: { type: 'Opportunity' }, Name: 'O' },
      ],
    });
    expect(codes(created)).toEqual([undefined, undefined, 'REQUIRED_FIELD_MISSING']);
    const [accountId, contactId] = created.body.map(({ id }: { id: string }) => id);
    const updated = await call('PATCH', '/composite/sobjects', {
      records: [
        { attributes: { type: 'Contact' }, id: contactId, LastName: 'B' },
        { attributes: { type: 'Contact' }, LastName: 'no id' },
        { attributes: { type: 'Contact' }, id: accountId, LastName: 'C' },
      ],
    });
    expect(codes(updated)).toEqual([undefined, 'MISSING_ARGUMENT', 'INVALID_CROSS_REFERENCE_KEY']);
    const unknown = '0035g00000zzzzzAAA';
    const wanted = { ids: [unknown, contactId, accountId], fields: ['LastName'] };
    const retrieved = await call('POST', '/composite/sobjects/Contact', wanted);
    expect(retrieved.body).toEqual([null, expect.objectContaining({ Id: contactId, LastName: 'B' }), null]);
    const query = `ids=${contactId}&fields=Id,LastName`;
    expect((await call('GET', `/composite/sobjects/Contact?${query}`)).body).toEqual([retrieved.body[1]]);
    expect((await call('GET', `/composite/sobjects/Contact?ids=${contactId}&fields=Nope`)).code).toBe('INVALID_FIELD');
    const ids = `ids=${contactId},${unknown}`;
    const kept = await call('DELETE', `/composite/sobjects?${ids}&allOrNone=true`);
    expect(codes(kept)).toEqual(['ALL_OR_NONE_OPERATION_ROLLED_BACK', 'INVALID_CROSS_REFERENCE_KEY']);
    expect(sandbox.records('Contact')).toHaveLength(1);
    expect(codes(await call('DELETE', `/composite/sobjects?${ids}`))).toEqual([
      undefined,
      'INVALID_CROSS_REFERENCE_KEY',
    ]);
    expect(codes(await call('DELETE', `/composite/sobjects?ids=${contactId}`))).toEqual(['ENTITY_IS_DELETED']);
    expect(sandbox.counts.rowsDeleted).toBe(1);
  });
});

describe('writes that overlap', () => {
  it('lock each other out at the same parent, and not at others', async () => {
    const { upsert, sandbox } = await startBench({ writeMs: 150 });
    const [one, other] = ['A', 'B'].map((Name) => sandbox.addByHand('Account', { Name }).Id);
    const answers = await Promise.all([
      upsert([contact('a', { AccountId: one }), contact('b', { AccountId: one })]),
      upsert([contact('c', { AccountId: one }), contact('d', { AccountId: other })]),
    ]);
    const locked = 'UNABLE_TO_LOCK_ROW';
    expect([
      [
        [undefined, undefined],
        [locked, undefined],
      ],
      [
        [locked, locked],
        [undefined, undefined],
      ],
    ]).toContainEqual(answers.map(codes));
    const again = await upsert([contact('a', { AccountId: one }), contact('c', { AccountId: one })]);
    expect(codes(again)).toEqual([undefined, undefined]);
  });

  it('create a new key once: the other gets DUPLICATE_VALUE, and its retry updates', async () => {
    const { upsert, sandbox } = await startBench({ writeMs: 150 });
    const answers = await Promise.all([upsert([contact('k')]), upsert([contact('k', { FirstName: 'Eva' })])]);
    expect(answers.flatMap(codes).toSorted()).toEqual(['DUPLICATE_VALUE', undefined]);
    expect(sandbox.records('Contact')).toHaveLength(1);
    expect((await upsert([contact('k', { FirstName: 'Eva' })])).body[0]).toMatchObject({
      success: true,
      created: false,
    });
  });

  it('find a record deleted meanwhile', async () => {
    const { upsert, sandbox } = await startBench({ writeMs: 150 });
    const { Id } = sandbox.addByHand('Contact', contact('k'));
    const running = upsert([contact('k')]);
    await expect.poll(() => sandbox.counts.collections).toBe(1);
    sandbox.deleteByHand(Id);
    expect(codes(await running)).toEqual(['ENTITY_IS_DELETED']);
  });
});

describe('a row fault', () => {
  it('strikes the rows that a rule names, so often as it says', async () => {
    const { upsert, sandbox } = await startBench();
    sandbox.faults.add({ match: { path: '#b$' }, times: 1, fault: { kind: 'row-error' } });
    const locked = await upsert([contact('a'), contact('b')]);
    expect(codes(locked)).toEqual([undefined, 'UNABLE_TO_LOCK_ROW']);
    expect(codes(await upsert([contact('a'), contact('b')]))).toEqual([undefined, undefined]);
    const statusCode = 'STORAGE_LIMIT_EXCEEDED';
    sandbox.faults.add({ match: { path: '#a$' }, fault: { kind: 'row-error', statusCode, message: 'full' } });
    expect((await upsert([contact('a')])).body[0].errors).toEqual([{ statusCode, message: 'full', fields: [] }]);
  });

  it('shows a key that comes in a single upsert, too', async () => {
    const { call, sandbox } = await startBench();
    const statusCode = 'CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY';
    sandbox.faults.add({ match: { path: '#k$' }, fault: { kind: 'row-error', statusCode } });
    expect(await call('PATCH', `/sobjects/Contact/${KEY}/k`, { LastName: 'A' })).toMatchObject({
      status: 400,
      code: statusCode,
    });
  });
});
