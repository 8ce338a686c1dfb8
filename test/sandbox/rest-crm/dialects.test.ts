import { describe, expect, onTestFinished, test } from 'vitest';
import { type DialectName, type RestCrmSandbox, startRestCrmSandbox } from '../../../sandbox/rest-crm/index.ts';

/** How each CRM is logged in to, and a contact that it takes. */
const DIALECTS: Readonly<Record<DialectName, { login(token: string): Record<string, string>; path: string }>> = {
  espocrm: { login: (token) => ({ 'x-api-key': token }), path: '/Contact' },
  dolibarr: { login: (token) => ({ dolapikey: token }), path: '/contacts' },
  twenty: { login: (token) => ({ authorization: `Bearer ${token}` }), path: '/people' },
  zoho: { login: (token) => ({ authorization: `Zoho-oauthtoken ${token}` }), path: '/Contacts' },
};

async function open(dialect: DialectName) {
  const sandbox = await startRestCrmSandbox({ dialect });
  onTestFinished(() => sandbox.close());
  return { sandbox, call: caller(sandbox, dialect) };
}

function caller(sandbox: RestCrmSandbox, dialect: DialectName) {
  return async (method: string, path: string, body?: object, headers: Record<string, string> = {}) => {
    const response = await fetch(`${sandbox.apiUrl}${path}`, {
      method,
      headers: {
        ...DIALECTS[dialect].login(sandbox.token),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: text === '' ? null : JSON.parse(text) };
  };
}

describe.each(Object.keys(DIALECTS) as DialectName[])('the dialect %s', (dialect) => {
  test('refuses requests without credentials, counts and records requests', async () => {
    const { sandbox, call } = await open(dialect);
    sandbox.recording.record(true);
    const { path, login } = DIALECTS[dialect];
    expect((await call('GET', `${path}?fields=id`, undefined, login('wrong'))).status).toBe(401);
    expect(sandbox.counts.requests({ status: 401 })).toBe(1);
    expect(sandbox.recording.recorded()).toHaveLength(1);
  });

  test('has a working example, and shows over HTTP the records visible to a user', async () => {
    const { sandbox, call } = await open(dialect);
    const { path, body } = sandbox.example;
    expect((await call(body === undefined ? 'GET' : 'POST', path, body)).status).toBeLessThan(300);
    const records = `${sandbox.url}/__sandbox/objects/${DIALECTS[dialect].path.slice(1)}/records`;
    const before = sandbox.records(DIALECTS[dialect].path.slice(1)).length;
    const made = await fetch(records, { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } });
    const { id } = (await made.json()) as { id: string };
    expect(await (await fetch(records)).json()).toMatchObject({ items: { length: before + 1 } });
    expect((await fetch(`${records}/${id}`, { method: 'DELETE' })).status).toBe(204);
  });

  test('asks clients to wait above its limit', async () => {
    const { sandbox, call } = await open(dialect);
    sandbox.configure({ requestsPerMinute: 1 });
    await call('GET', DIALECTS[dialect].path);
    const { status, headers } = await call('GET', DIALECTS[dialect].path);
    expect(status).toBe(429);
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(50);
  });
});

describe('EspoCRM', () => {
  test('treats a shared e-mail address as a duplicate unless the check is disabled, and ignores unknown fields', async () => {
    const { call } = await open('espocrm');
    const person = { lastName: 'Rossi', emailAddress: 'rossi@family.example', unknownName: 1 };
    expect((await call('POST', '/Contact', person)).body).not.toHaveProperty('unknownName');
    expect((await call('POST', '/Contact', person)).status).toBe(409);
    expect((await call('POST', '/Contact', person, { 'x-skip-duplicate-check': 'true' })).status).toBe(200);
  });

  test('refuses lists above 200, date-times in another form, and records without a last name', async () => {
    const { call } = await open('espocrm');
    expect((await call('GET', '/Contact?maxSize=201')).status).toBe(403);
    expect((await call('POST', '/Contact', { lastName: 'x', cLastVisit: '2027-01-01T10:00:00Z' })).status).toBe(400);
    expect((await call('POST', '/Contact', { firstName: 'x' })).status).toBe(400);
  });

  test('stores opt-outs with e-mail addresses, and keeps modifiedAt of other contacts with the same address', async () => {
    const { sandbox, call } = await open('espocrm');
    const skip = { 'x-skip-duplicate-check': 'true' };
    const address = { lastName: 'Rossi', emailAddress: 'Rossi@family.example' };
    const { id } = (await call('POST', '/Contact', { ...address, emailAddressIsOptedOut: false }, skip)).body;
    const { modifiedAt } = (await call('GET', `/Contact/${id}`)).body;
    await call(
      'POST',
      '/Contact',
      { ...address, emailAddress: 'rossi@family.example', emailAddressIsOptedOut: true },
      skip,
    );
    expect((await call('GET', `/Contact/${id}`)).body).toMatchObject({ emailAddressIsOptedOut: true, modifiedAt });
    const late = (await call('POST', '/Contact', address, skip)).body;
    expect(late).toMatchObject({ emailAddressIsOptedOut: true });
    const copy = sandbox.duplicateByHand('Contact', id);
    expect(copy.id).not.toBe(id);
    expect(sandbox.records('Contact')).toHaveLength(4);
  });

  test('requires a user for a meeting, lists links by their names, and several links on request', async () => {
    const { call } = await open('espocrm');
    const meeting = { name: 'Visit', dateStart: '2027-03-01 09:30:00', contactsIds: ['c1'] };
    expect((await call('POST', '/Meeting', meeting)).status).toBe(400);
    const { id } = (await call('POST', '/Meeting', { ...meeting, assignedUserId: 'u1' })).body;
    expect((await call('GET', '/Metadata?key=entityDefs.Meeting.fields')).body).toMatchObject({
      assignedUser: { type: 'link', required: true },
      contacts: { type: 'linkMultiple' },
      name: { type: 'varchar' },
    });
    expect((await call('GET', '/Meeting')).body.list).toEqual([expect.not.objectContaining({ contactsIds: ['c1'] })]);
    expect((await call('GET', '/Meeting?select=name,contactsIds')).body.list).toEqual([
      { id, name: 'Visit', contactsIds: ['c1'] },
    ]);
    expect((await call('GET', `/Meeting/${id}`)).body).toMatchObject({ contactsIds: ['c1'] });
  });
});

describe('Dolibarr', () => {
  test('answers a number to a create and 404 to an empty list, in newer versions an empty one', async () => {
    const { sandbox, call } = await open('dolibarr');
    expect((await call('GET', '/contacts')).status).toBe(404);
    sandbox.configure({ emptyListIs404: false });
    expect((await call('GET', '/contacts')).body).toEqual([]);
    expect((await call('POST', '/contacts', { lastname: 'Rossi' })).body).toBe(1);
    expect((await call('POST', '/contacts', { firstname: 'Anna' })).status).toBe(400);
  });
});

describe('Twenty', () => {
  test('refuses fields that the workspace lacks, and unique values of deleted records', async () => {
    const { call } = await open('twenty');
    expect((await call('POST', '/people', { surname: 'Rossi' })).status).toBe(400);
    const person = { name: { lastName: 'Rossi' }, clinicMirrorKey: 'k' };
    const { id } = (await call('POST', '/people', person)).body.data.createPerson;
    await call('DELETE', `/people/${id}`);
    expect((await call('POST', '/people', person)).status).toBe(400);
    expect((await call('GET', `/people/${id}`)).status).toBe(404);
  });

  test('allows a primary e-mail address for only one person', async () => {
    const { call } = await open('twenty');
    const person = { name: { lastName: 'Rossi' }, emails: { primaryEmail: 'rossi@family.example' } };
    expect((await call('POST', '/people', person)).status).toBe(201);
    expect((await call('POST', '/people', person)).body).toMatchObject({
      messages: ['A duplicate entry was detected'],
    });
    expect((await call('POST', '/people', { name: { lastName: 'Rossi' } })).status).toBe(201);
  });

  test('gives at most 60 records, with a cursor to the next', async () => {
    const { sandbox, call } = await open('twenty');
    for (let index = 0; index < 61; index += 1) sandbox.addByHand('people', {});
    const first = (await call('GET', '/people?limit=1000')).body;
    expect(first.data.people).toHaveLength(60);
    const second = (await call('GET', `/people?starting_after=${first.pageInfo.endCursor}`)).body;
    expect(second).toMatchObject({ data: { people: [{}] }, pageInfo: { hasNextPage: false }, totalCount: 1 });
  });
});

describe('Zoho', () => {
  const upsert = (rows: object[], fields?: string[]) => ({ data: rows, duplicate_check_fields: fields });

  test('compares contacts by e-mail address without a given field, and otherwise only by the given field', async () => {
    const { sandbox, call } = await open('zoho');
    const family = ['Anna', 'Bruno'].map((First_Name) => ({
      First_Name,
      Last_Name: 'Rossi',
      Email: 'rossi@family.example',
    }));
    await call('POST', '/Contacts/upsert', upsert(family));
    expect(sandbox.records('Contacts')).toHaveLength(1);
    const keyed = family.map((row, index) => ({ ...row, Clinic_Mirror_Key: `k${index}` }));
    const { body } = await call('POST', '/Contacts/upsert', upsert(keyed, ['Clinic_Mirror_Key']));
    expect(body.data.map(({ action }: { action: string }) => action)).toEqual(['insert', 'insert']);
  });

  test('runs workflows on what is written, unless it says that none shall', async () => {
    const { sandbox, call } = await open('zoho');
    const write = (more: object) => call('POST', '/Contacts', { data: [{ Last_Name: 'Rossi' }, {}], ...more });
    await write({ trigger: [] });
    expect(sandbox.automationsRun()).toBe(0);
    await write({});
    await write({ trigger: ['workflow'] });
    expect(sandbox.automationsRun()).toBe(2);
  });

  test('reports each row, refuses more than a hundred, refuses upserts of events, and answers an empty list with 204', async () => {
    const { call } = await open('zoho');
    const rows = await call('POST', '/Contacts', { data: [{ Last_Name: 'Rossi' }, { First_Name: 'Anna' }] });
    expect(rows.body.data).toMatchObject([{ code: 'SUCCESS' }, { code: 'MANDATORY_NOT_FOUND', status: 'error' }]);
    expect((await call('POST', '/Contacts', { data: Array(101).fill({ Last_Name: 'x' }) })).status).toBe(400);
    expect((await call('POST', '/Events/upsert', upsert([{}]))).status).toBe(400);
    expect((await call('GET', '/Deals?fields=id')).status).toBe(204);
    expect((await call('POST', '/coql', { select_query: 'select id from Deals' })).status).toBe(400);
  });

  test('deletes by ids, each separately, and refuses more than a hundred', async () => {
    const { sandbox, call } = await open('zoho');
    const [a, b] = ['Anna', 'Bruno'].map((Last_Name) => sandbox.addByHand('Contacts', { Last_Name }).id);
    const { status, body } = await call('DELETE', `/Contacts?ids=${a},999,${b}`);
    expect({ status, codes: body.data.map(({ code }: { code: string }) => code) }).toEqual({
      status: 200,
      codes: ['SUCCESS', 'INVALID_DATA', 'SUCCESS'],
    });
    expect(sandbox.records('Contacts')).toEqual([]);
    expect((await call('DELETE', `/Contacts?ids=${a}`)).status).toBe(400);
    expect((await call('DELETE', `/Contacts?ids=${Array(101).fill('1').join(',')}`)).body.code).toBe('LIMIT_EXCEEDED');
    expect((await call('DELETE', '/Contacts')).body.code).toBe('REQUIRED_PARAM_MISSING');
  });
});
