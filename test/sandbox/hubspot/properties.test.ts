import { describe, expect, it } from 'vitest';
import { CONTACTS, KEY, startBench } from './support.ts';

const PROPERTIES = '/crm/v3/properties/contacts';
const custom = (name: string, more: object = {}) => ({
  name,
  label: name,
  type: 'string',
  fieldType: 'text',
  groupName: 'contactinformation',
  ...more,
});

describe('a property', () => {
  it('is made once; again is 409', async () => {
    const { call } = await startBench();
    const made = await call('POST', PROPERTIES, custom('clinic_id', { hasUniqueValue: true }));
    expect(made).toMatchObject({
      status: 201,
      body: { name: 'clinic_id', hasUniqueValue: true, hubspotDefined: false, dataSensitivity: 'non_sensitive' },
    });
    expect(await call('POST', PROPERTIES, custom('clinic_id'))).toMatchObject({
      status: 409,
      body: { category: 'OBJECT_ALREADY_EXISTS' },
    });
    expect((await call('GET', `${PROPERTIES}/clinic_id`)).body.hasUniqueValue).toBe(true);
    expect(await call('GET', `${PROPERTIES}/nothing`)).toMatchObject({
      status: 404,
      body: { category: 'OBJECT_NOT_FOUND' },
    });
  });

  it('is unique from its making on or never, and only ten are', async () => {
    const { call } = await startBench();
    await call('POST', PROPERTIES, custom('plain'));
    expect((await call('PATCH', `${PROPERTIES}/plain`, { hasUniqueValue: true })).status).toBe(400);
    expect((await call('PATCH', `${PROPERTIES}/plain`, { name: 'other' })).status).toBe(400);
    const made = [];
    for (let index = 0; index < 10; index++) {
      made.push((await call('POST', PROPERTIES, custom(`unique_${index}`, { hasUniqueValue: true }))).status);
    }
    expect(made).toEqual([...Array(9).fill(201), 400]);
    const meeting = custom('unique', { hasUniqueValue: true, groupName: 'meetinginformation' });
    expect((await call('POST', '/crm/v3/properties/meetings', meeting)).status).toBe(400);
  });

  it.each([
    ['a bad name', custom('Patient Key')],
    ['no label', { ...custom('x'), label: undefined }],
    ['an unknown type', custom('x', { type: 'json' })],
    ['a field type that does not fit', custom('x', { type: 'number' })],
    ['an enumeration without options', custom('x', { type: 'enumeration', fieldType: 'select' })],
    ['an option twice', custom('x', { type: 'enumeration', fieldType: 'select', options: [option('a'), option('a')] })],
    ['an unknown group', custom('x', { groupName: 'clinic' })],
    ['a unique date', custom('x', { type: 'date', fieldType: 'date', hasUniqueValue: true })],
    ['an unknown field', custom('x', { unique: true })],
    ['sensitive data in an account without it', custom('x', { dataSensitivity: 'sensitive' })],
  ])('is refused with %s', async (_what, body) => {
    const { call, sandbox } = await startBench();
    const before = sandbox.properties('contacts').length;
    expect(await call('POST', PROPERTIES, body)).toMatchObject({ status: 400, body: { category: 'VALIDATION_ERROR' } });
    expect(sandbox.properties('contacts')).toHaveLength(before);
  });

  it('is made in batches, 207 for those that cannot be', async () => {
    const { call } = await startBench();
    const answer = await call('POST', `${PROPERTIES}/batch/create`, { inputs: [custom('fresh'), custom(KEY)] });
    expect(answer).toMatchObject({
      status: 207,
      body: { results: [{ name: 'fresh' }], errors: [{ category: 'OBJECT_ALREADY_EXISTS', context: { name: [KEY] } }] },
    });
    const read = await call('POST', `${PROPERTIES}/batch/read`, { inputs: [{ name: KEY }, { name: 'nothing' }] });
    expect(read).toMatchObject({ status: 207, body: { results: [{ name: KEY }], numErrors: 1 } });
  });

  it('belongs to a group', async () => {
    const { call } = await startBench();
    const groups = '/crm/properties/2026-03/contacts/groups';
    expect((await call('POST', groups, { name: 'clinic', label: 'Clinic' })).status).toBe(201);
    expect((await call('POST', groups, { name: 'clinic', label: 'Clinic' })).status).toBe(409);
    expect((await call('POST', PROPERTIES, custom('x', { groupName: 'clinic' }))).body.groupName).toBe('clinic');
    expect((await call('GET', groups)).body.results).toHaveLength(2);
    expect((await call('GET', `${groups}/clinic`)).body.label).toBe('Clinic');
    expect((await call('GET', `${groups}/other`)).status).toBe(404);
  });

  it('takes its values with it when it goes', async () => {
    const { call, upsert, sandbox } = await startBench();
    const { id } = (await upsert({ key: 'a', values: { firstname: 'Anna' } })).body.results[0];
    expect((await call('DELETE', `${PROPERTIES}/firstname`)).status).toBe(400);
    expect((await call('DELETE', `${PROPERTIES}/${KEY}`)).status).toBe(204);
    expect(sandbox.record('contacts', id)?.properties).not.toHaveProperty(KEY);
    expect((await upsert({ key: 'a' })).body.message).toContain('non-unique');
    expect((await call('POST', CONTACTS, { properties: { [KEY]: 'a' } })).body.errors).toMatchObject([
      { code: 'PROPERTY_DOESNT_EXIST' },
    ]);
    await call('POST', PROPERTIES, custom(KEY));
    expect(sandbox.record('contacts', id)?.properties).not.toHaveProperty(KEY);
  });

  it('lets an enumeration lose an option by hand', async () => {
    const { call, sandbox } = await startBench();
    const options = [option('open'), option('closed')];
    await call('POST', PROPERTIES, custom('clinic_state', { type: 'enumeration', fieldType: 'select', options }));
    const write = () => call('POST', CONTACTS, { properties: { clinic_state: 'closed' } });
    expect((await write()).status).toBe(201);
    sandbox.setOptions('contacts', 'clinic_state', ['open']);
    expect((await write()).body.errors).toMatchObject([{ code: 'INVALID_OPTION' }]);
    await call('PATCH', `${PROPERTIES}/clinic_state`, { options });
    expect((await write()).status).toBe(201);
  });
});

describe('the list of properties', () => {
  it('holds the vendor’s and one’s own, sensitive ones apart', async () => {
    const { call, sandbox } = await startBench({ sensitiveData: true });
    sandbox.createProperty('contacts', {
      name: 'secret',
      label: 's',
      type: 'string',
      fieldType: 'text',
      dataSensitivity: 'sensitive',
    });
    const list = async (query = ''): Promise<string[]> =>
      (await call('GET', `${PROPERTIES}${query}`)).body.results.map(({ name }: { name: string }) => name);
    expect(await list()).toEqual(expect.arrayContaining(['email', 'firstname', KEY]));
    expect(await list()).not.toContain('secret');
    expect(await list('?dataSensitivity=sensitive')).toEqual(['secret']);
    expect((await call('GET', `${PROPERTIES}?dataSensitivity=some`)).status).toBe(400);
  });
});

function option(value: string): object {
  return { label: value, value };
}
