import { describe, expect, it } from 'vitest';
import { CONTACTS, KEY, startBench } from './support.ts';

const DAY_MS = 86_400_000;

describe('a single record', () => {
  it('is made, read by id or key, changed and archived', async () => {
    const { call } = await startBench();
    const made = await call('POST', CONTACTS, { properties: { [KEY]: 'a', email: 'A@B.example', firstname: 'Anna' } });
    const { id } = made.body;
    expect(made).toMatchObject({ status: 201, body: { properties: { email: 'a@b.example' }, archived: false } });
    expect(made.headers.get('location')).toMatch(new RegExp(`${CONTACTS}/${id}$`));
    expect((await call('GET', `${CONTACTS}/a?idProperty=${KEY}&properties=firstname,zip`)).body).toMatchObject({
      id,
      properties: { firstname: 'Anna', zip: null },
    });
    const changed = await call('PATCH', `${CONTACTS}/a?idProperty=${KEY}`, { properties: { firstname: '' } });
    expect(changed.body.properties.firstname).toBeUndefined();
    expect((await call('DELETE', `${CONTACTS}/${id}`)).status).toBe(204);
    expect((await call('DELETE', `${CONTACTS}/${id}`)).status).toBe(204);
    expect((await call('GET', `${CONTACTS}/${id}`)).status).toBe(404);
    expect((await call('GET', `${CONTACTS}/${id}?archived=true`)).body).toMatchObject({ archived: true });
  });

  it('that is not there is 404 in two ways', async () => {
    const { call } = await startBench();
    expect((await call('GET', `${CONTACTS}/12`)).body).toMatchObject({
      status: 'error',
      message: 'resource not found',
    });
    expect((await call('GET', `${CONTACTS}/abc`)).body).toMatchObject({ category: 'OBJECT_NOT_FOUND' });
    expect((await call('PATCH', `${CONTACTS}/12`, { properties: {} })).status).toBe(404);
    expect((await call('DELETE', `${CONTACTS}/12`)).status).toBe(404);
    expect((await call('GET', '/crm/v3/objects/unicorns/12')).status).toBe(400);
    expect((await call('GET', '/crm/v3/other')).status).toBe(404);
    expect((await call('GET', `${CONTACTS}?limt=3`)).status).toBe(400);
  });

  it('is listed in pages to the last full one', async () => {
    const { call, sandbox } = await startBench();
    const ids = [1, 2, 3, 4].map(() => sandbox.add('contacts', {}));
    const first = await call('GET', `${CONTACTS}?limit=2`);
    const second = await call('GET', `${CONTACTS}?limit=2&after=${first.body.paging.next.after}`);
    const told = [...first.body.results, ...second.body.results].map(({ id }: { id: string }) => id);
    expect(told).toEqual(ids);
    expect(second.body.paging).toBeUndefined();
    expect((await call('GET', `${CONTACTS}?limit=101`)).status).toBe(400);
  });

  it('shows its associated records', async () => {
    const { call, sandbox } = await startBench();
    const contact = sandbox.add('contacts', {});
    const meeting = sandbox.add('meetings', { hs_timestamp: '2027-03-01T09:00:00Z' });
    await call('PUT', `/crm/v4/objects/meetings/${meeting}/associations/default/contacts/${contact}`);
    expect((await call('GET', `/crm/v3/objects/meetings/${meeting}?associations=contacts`)).body.associations).toEqual({
      contacts: { results: [{ id: contact, type: 'meeting_to_contact' }] },
    });
  });
});

describe('a value is refused', () => {
  it.each([
    ['an unknown property', { nothing: 'x' }, 'PROPERTY_DOESNT_EXIST'],
    ['a property of the vendor', { createdate: '0' }, 'READ_ONLY_VALUE'],
    ['a bad address', { email: 'anna at home' }, 'INVALID_EMAIL'],
    ['an unknown option', { hs_language: 'xx' }, 'INVALID_OPTION'],
    ['an option in other letters', { lifecyclestage: 'Lead' }, 'INVALID_OPTION'],
    ['one unknown option of several', { hs_legal_basis: 'Not applicable;other' }, 'INVALID_OPTION'],
    ['a number with words', { score: '7 points' }, 'INVALID_DOUBLE'],
    ['a number with a space', { score: ' 7' }, 'INVALID_DOUBLE'],
    ['an instant without offset', { seen_at: '2027-03-01T09:00:00' }, 'INVALID_LONG'],
    ['an instant of a day that does not exist', { seen_at: '2027-02-30T09:00:00Z' }, 'INVALID_LONG'],
    ['an instant after the last valid date', { seen_at: '8640000000000000' }, 'INVALID_LONG'],
    ['a day that does not exist', { born: '2027-02-30' }, 'INVALID_DATE'],
    ['a day that is not at midnight', { born: '1553572800001' }, 'INVALID_DATE'],
    ['a flag that is a string', { consent: 'yes' }, 'INVALID_OPTION'],
    ['a text without end', { city: 'x'.repeat(65_537) }, 'INVALID_LENGTH'],
  ])('with %s', async (_what, properties, code) => {
    const { call, sandbox } = await startBench();
    const custom = (name: string, type: string, fieldType: string) =>
      sandbox.createProperty('contacts', { name, label: name, type, fieldType });
    custom('score', 'number', 'number');
    custom('seen_at', 'datetime', 'date');
    custom('born', 'date', 'date');
    custom('consent', 'bool', 'booleancheckbox');
    const refused = await call('POST', CONTACTS, { properties: { firstname: 'Anna', ...properties } });
    const [name] = Object.keys(properties);
    expect(refused).toMatchObject({
      status: 400,
      body: { category: 'VALIDATION_ERROR', errors: [{ code, context: { propertyName: [name] } }] },
    });
    const told = JSON.parse(refused.body.message.replace('Property values were not valid: ', ''));
    expect(told).toMatchObject([{ isValid: false, error: code, name }]);
    expect(sandbox.records('contacts')).toEqual([]);
  });

  it('of a meeting that lacks its time', async () => {
    const { call } = await startBench();
    const refused = await call('POST', '/crm/v3/objects/meetings', { properties: { hs_meeting_outcome: 'NO_SHOW' } });
    expect(refused).toMatchObject({ status: 400, body: { context: { properties: ['hs_timestamp'] } } });
  });

  it('or stored as the vendor writes it', async () => {
    const { call, sandbox } = await startBench();
    sandbox.createProperty('contacts', { name: 'seen_at', label: 's', type: 'datetime', fieldType: 'date' });
    sandbox.createProperty('contacts', { name: 'born', label: 'b', type: 'date', fieldType: 'date' });
    const properties = { seen_at: '1803891600000', born: '1803859200000', lastname: ' D’Àngelo, 李 🦷\n' };
    const { body } = await call('POST', CONTACTS, { properties });
    expect(body.properties).toMatchObject({
      seen_at: '2027-03-01T09:00:00.000Z',
      born: '2027-03-01',
      lastname: ' D’Àngelo, 李 🦷\n',
    });
  });
});

describe('an e-mail address', () => {
  it('belongs to one contact, its additional ones included, whatever the letters', async () => {
    const { call, sandbox } = await startBench();
    const id = sandbox.add('contacts', { email: 'a@b.example' });
    sandbox.addEmail(id, 'second@b.example');
    for (const email of ['A@b.example', 'SECOND@b.example']) {
      expect(await call('POST', CONTACTS, { properties: { email } })).toMatchObject({
        status: 409,
        body: { category: 'CONFLICT', message: `Contact already exists. Existing ID: ${id}` },
      });
    }
    const other = sandbox.add('contacts', {});
    expect((await call('PATCH', `${CONTACTS}/${other}`, { properties: { email: 'a@b.example' } })).status).toBe(409);
    expect((await call('GET', `${CONTACTS}/second@b.example?idProperty=email`)).body.id).toBe(id);
    expect((await call('PATCH', `${CONTACTS}/${id}`, { properties: { email: 'a@b.example' } })).status).toBe(200);
  });

  it('is no key of a company', async () => {
    const { call } = await startBench();
    const company = { properties: { name: 'Practice', domain: 'b.example' } };
    expect((await call('POST', '/crm/v3/objects/companies', company)).status).toBe(201);
    expect((await call('POST', '/crm/v3/objects/companies', company)).status).toBe(201);
  });
});

describe('an archived contact', () => {
  it('that is upserted again is a new one, and the old one can then not come back', async () => {
    const { upsert, sandbox } = await startBench();
    const old = (await upsert({ key: 'a' })).body.results[0].id;
    sandbox.archive('contacts', old);
    const again = await upsert({ key: 'a' });
    expect(again.body.results).toMatchObject([{ new: true }]);
    expect(again.body.results[0].id).not.toBe(old);
    expect(() => sandbox.restore('contacts', old)).toThrow('already has that value');
  });

  it('can be restored for 90 days', async () => {
    let now = Date.now();
    const { upsert, sandbox } = await startBench({ now: () => now });
    const { id } = (await upsert({ key: 'a' })).body.results[0];
    sandbox.archive('contacts', id);
    now += 89 * DAY_MS;
    sandbox.restore('contacts', id);
    expect((await upsert({ key: 'a' })).body.results).toMatchObject([{ id, new: false }]);
    sandbox.archive('contacts', id);
    now += 90 * DAY_MS;
    expect(() => sandbox.restore('contacts', id)).toThrow();
  });
});

describe('a merged contact', () => {
  async function mergedPair(mergedKeys: 'nothing' | 'winner' = 'nothing') {
    const bench = await startBench({ mergedKeys });
    const first = bench.sandbox.add('contacts', { [KEY]: 'a', email: 'a@b.example', firstname: 'Anna' });
    const second = bench.sandbox.add('contacts', { [KEY]: 'b', email: 'b@b.example', firstname: 'Anne', city: 'Chur' });
    const meeting = bench.sandbox.add('meetings', { hs_timestamp: '0' });
    await bench.call('PUT', `/crm/v4/objects/meetings/${meeting}/associations/default/contacts/${second}`);
    const body = { primaryObjectId: first, objectIdToMerge: second };
    const merged = await bench.call('POST', `${CONTACTS}/merge`, body);
    return { ...bench, first, second, meeting, merged, winner: String(merged.body.id) };
  }

  it('gets a new id, keeps the first record’s values and all e-mail addresses, and the associations of both', async () => {
    const { merged, winner, first, second, sandbox, meeting } = await mergedPair();
    expect(merged).toMatchObject({
      status: 200,
      body: {
        properties: {
          [KEY]: 'a',
          firstname: 'Anna',
          city: 'Chur',
          email: 'a@b.example',
          hs_additional_emails: 'b@b.example',
          hs_merged_object_ids: `${first};${second}`,
        },
      },
    });
    expect([first, second]).not.toContain(winner);
    expect(sandbox.associated('contacts', winner, 'meetings')).toEqual([meeting]);
    expect(sandbox.records('contacts')).toHaveLength(1);
  });

  it('is found under both old ids', async () => {
    const { call, first, second, winner } = await mergedPair();
    for (const id of [first, second]) {
      expect((await call('GET', `${CONTACTS}/${id}`)).body.id).toBe(winner);
      const update = { inputs: [{ id, properties: { city: id } }] };
      expect((await call('POST', `${CONTACTS}/batch/update`, update)).body.results[0].id).toBe(winner);
    }
  });

  it('is no longer found by the lost key, so an upsert conflicts with its e-mail address', async () => {
    const { upsert, winner, sandbox } = await mergedPair();
    expect((await upsert({ key: 'a' })).body.results).toMatchObject([{ id: winner, new: false }]);
    const refused = await upsert({ key: 'b', values: { email: 'b@b.example' } });
    expect(refused.body.errors).toMatchObject([{ category: 'CONFLICT', context: { existingId: [winner] } }]);
    expect((await upsert({ key: 'b' })).body.results).toMatchObject([{ new: true }]);
    expect(sandbox.records('contacts')).toHaveLength(2);
  });

  it('keeps the key of the second when the first has none', async () => {
    const { sandbox, upsert } = await startBench();
    const first = sandbox.add('contacts', { firstname: 'Anna' });
    const winner = sandbox.merge('contacts', first, sandbox.add('contacts', { [KEY]: 'b' }));
    expect((await upsert({ key: 'b' })).body.results).toMatchObject([{ id: winner, new: false }]);
  });

  it('is found by the lost key when the account is set so', async () => {
    const { call, winner } = await mergedPair('winner');
    expect((await call('GET', `${CONTACTS}/b?idProperty=${KEY}`)).body.id).toBe(winner);
  });

  it('cannot be merged with itself or with an unknown contact', async () => {
    const { call, first, second } = await mergedPair();
    const merge = (primaryObjectId: string, objectIdToMerge: string) =>
      call('POST', `${CONTACTS}/merge`, { primaryObjectId, objectIdToMerge });
    expect((await merge(first, second)).status).toBe(400);
    expect((await merge(first, '12')).status).toBe(404);
  });
});

describe('a GDPR delete', () => {
  const path = `${CONTACTS}/gdpr-delete`;

  it('leaves no data and blocks the e-mail addresses', async () => {
    const { call, upsert, sandbox } = await startBench();
    const { id } = (await upsert({ key: 'a', values: { email: 'a@b.example' } })).body.results[0];
    sandbox.addEmail(id, 'c@b.example');
    const meeting = sandbox.add('meetings', { hs_timestamp: '0' });
    await call('PUT', `/crm/v4/objects/meetings/${meeting}/associations/default/contacts/${id}`);
    expect((await call('POST', path, { objectId: id })).status).toBe(204);
    expect((await call('GET', `${CONTACTS}/${id}?archived=true`)).status).toBe(404);
    expect(sandbox.associated('meetings', meeting, 'contacts')).toEqual([]);
    for (const email of ['a@b.example', 'C@b.example']) {
      const again = await upsert({ key: 'a', values: { email } });
      expect(again.body.errors).toMatchObject([{ errors: [{ code: 'BLOCKED_EMAIL' }] }]);
    }
    expect((await upsert({ key: 'a' })).body.results).toMatchObject([{ new: true }]);
    expect(sandbox.counts.rows('contacts', 'gdpr-delete')).toBe(1);
  });

  it('works by e-mail, by key, for archived contacts, and for an unknown e-mail address', async () => {
    const { call, sandbox } = await startBench();
    const archived = sandbox.add('contacts', { [KEY]: 'a' });
    sandbox.archive('contacts', archived);
    expect((await call('POST', path, { objectId: archived })).status).toBe(204);
    sandbox.add('contacts', { [KEY]: 'b' });
    expect((await call('POST', path, { objectId: 'b', idProperty: KEY })).status).toBe(204);
    expect((await call('POST', path, { objectId: 'x@y.example', idProperty: 'email' })).status).toBe(204);
    expect((await call('POST', CONTACTS, { properties: { email: 'x@y.example' } })).status).toBe(400);
    expect((await call('POST', path, { objectId: '12' })).status).toBe(404);
    expect((await call('POST', '/crm/v3/objects/deals/gdpr-delete', { objectId: '12' })).status).toBe(404);
  });
});
