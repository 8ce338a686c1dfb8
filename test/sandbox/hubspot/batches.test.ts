import { describe, expect, it } from 'vitest';
import { CONTACTS, KEY, startBench } from './support.ts';

describe('batch create', () => {
  const path = `${CONTACTS}/batch/create`;
  const row = (email: string, trace?: string) => ({
    properties: { email },
    ...(trace === undefined ? {} : { objectWriteTraceId: trace }),
  });

  it('answers 201, or 207 for the rows that carry trace ids', async () => {
    const { call, sandbox } = await startBench();
    expect((await call('POST', path, { inputs: [row('a@b.example')] })).status).toBe(201);
    const mixed = await call('POST', path, { inputs: [row('a@b.example', '0'), row('c@d.example', '1')] });
    const existing = sandbox.recordBy('contacts', 'email', 'a@b.example')?.id;
    expect(mixed).toMatchObject({
      status: 207,
      body: {
        results: [{ objectWriteTraceId: '1', properties: { email: 'c@d.example' } }],
        errors: [{ category: 'CONFLICT', context: { objectWriteTraceId: ['0'], existingId: [existing] } }],
      },
    });
    expect((await call('POST', path, { inputs: [row('x@y.example', '0'), row('z@y.example', '0')] })).status).toBe(400);
  });

  it('is refused as a whole without them', async () => {
    const { call, sandbox } = await startBench();
    sandbox.add('contacts', { email: 'a@b.example' });
    const refused = await call('POST', path, { inputs: [row('new@b.example', '0'), row('a@b.example')] });
    expect(refused).toMatchObject({ status: 409, body: { category: 'CONFLICT' } });
    expect(sandbox.records('contacts')).toHaveLength(1);
  });

  it('joins the new record to others, unless the batch is refused', async () => {
    const { call, sandbox } = await startBench();
    const contact = sandbox.add('contacts', {});
    const meetings = '/crm/v3/objects/meetings/batch/create';
    const link = (id: string, associationTypeId = 200) => ({
      to: { id },
      types: [{ associationCategory: 'HUBSPOT_DEFINED', associationTypeId }],
    });
    const visit = (associations: object[], hs_timestamp = '2027-03-01T09:00:00Z') => ({
      properties: { hs_timestamp },
      associations,
    });
    expect((await call('POST', meetings, { inputs: [visit([link(contact)]), visit([], 'never')] })).status).toBe(400);
    expect(sandbox.associated('contacts', contact, 'meetings')).toEqual([]);
    const made = await call('POST', meetings, { inputs: [visit([link(contact)])] });
    expect(sandbox.associated('contacts', contact, 'meetings')).toEqual([made.body.results[0].id]);
    expect(await call('POST', meetings, { inputs: [visit([link('1')])] })).toMatchObject({
      status: 400,
      body: { message: 'One or more associations are invalid', context: { INVALID_OBJECT_IDS: ['1'] } },
    });
    expect((await call('POST', meetings, { inputs: [visit([link(contact, 199)])] })).status).toBe(400);
  });
});

describe('batch update', () => {
  const path = `${CONTACTS}/batch/update`;

  it('works by id and by a unique property, and answers 207 for missing records', async () => {
    const { call, sandbox } = await startBench();
    const id = sandbox.add('contacts', { [KEY]: 'a' });
    const update = (row: object) => call('POST', path, { inputs: [{ properties: { city: 'Chur' }, ...row }] });
    expect((await update({ id })).body.results).toMatchObject([{ id, properties: { city: 'Chur' } }]);
    expect((await update({ id: 'a', idProperty: KEY })).body.results).toMatchObject([{ id }]);
    expect(await update({ id: '12' })).toMatchObject({
      status: 207,
      body: {
        results: [],
        numErrors: 1,
        errors: [{ category: 'OBJECT_NOT_FOUND', context: { ids: ['12'] }, message: expect.stringMatching(/CONTACT/) }],
      },
    });
    expect((await update({ id: 'a', idProperty: 'hs_object_id' })).status).toBe(400);
    expect(sandbox.counts.rows('contacts', 'update')).toBe(2);
  });

  it('prevents use of another record’s unique value', async () => {
    const { call, sandbox } = await startBench();
    sandbox.add('contacts', { [KEY]: 'a' });
    const id = sandbox.add('contacts', { [KEY]: 'b' });
    const refused = await call('POST', path, { inputs: [{ id, properties: { [KEY]: 'a' } }] });
    expect(refused.status).toBe(400);
    expect(refused.body.message).toMatch(/^Cannot set PropertyValueCoordinates.*already has that value/);
    expect(sandbox.record('contacts', id)?.properties[KEY]).toBe('b');
  });
});

describe('batch read', () => {
  const path = `${CONTACTS}/batch/read`;

  it('finds by id or by key, returns the requested properties, and reports missing records', async () => {
    const { call, sandbox } = await startBench();
    const id = sandbox.add('contacts', { [KEY]: 'a', city: 'Chur', firstname: 'Anna' });
    const inputs = [{ id: 'a' }, { id: 'z' }];
    const found = await call('POST', path, { inputs, idProperty: KEY, properties: ['city', 'zip', 'nothing', KEY] });
    expect(found).toMatchObject({ status: 207, body: { numErrors: 1, errors: [{ context: { ids: ['z'] } }] } });
    expect(found.body.results[0].properties).toEqual({
      [KEY]: 'a',
      city: 'Chur',
      zip: null,
      hs_object_id: id,
      createdate: expect.any(String),
      lastmodifieddate: expect.any(String),
    });
    const plain = await call('POST', path, { inputs: [{ id }] });
    expect(plain).toMatchObject({
      status: 200,
      body: { results: [{ properties: { firstname: 'Anna', email: null } }] },
    });
    expect((await call('POST', path, { inputs, idProperty: 'city' })).status).toBe(400);
    expect((await call('POST', `${path}?archived=true`, { inputs: [{ id }] })).body.results).toEqual([]);
    sandbox.archive('contacts', id);
    expect((await call('POST', `${path}?archived=true`, { inputs: [{ id }] })).body.results).toMatchObject([{ id }]);
  });
});

describe('batch archive', () => {
  it('puts records into the bin and passes over what is not there', async () => {
    const { call, sandbox } = await startBench();
    const id = sandbox.add('contacts', { [KEY]: 'a' });
    const answer = await call('POST', `${CONTACTS}/batch/archive`, { inputs: [{ id }, { id: '12' }] });
    expect(answer).toMatchObject({ status: 204, body: undefined });
    expect(sandbox.records('contacts')).toEqual([]);
    expect(sandbox.records('contacts', { archived: true })).toMatchObject([{ id, archived: true }]);
  });
});
