import { describe, expect, test } from 'vitest';
import { faultIn } from '../../../../src/settings/faults.ts';
import { useRedis } from '../../../support/redis.ts';
import { allPages, openApiWorld, problemLike, ROSSI } from '../../control/services-world.ts';

const redis = useRedis();
const YAML = 'name: Nuova\nconnections: { dav: { password: { sealed: dav } } }\n';
const SECRETS = { dav: 'correct-horse' };
const PATH = '/tenants/nuova/configuration';

/** The API over two tenants of files; a document with the word "broken" has faults. */
async function open(policy = {}, isStale = false) {
  const connection = redis.connect();
  await connection.flushall();
  const world = await openApiWorld(connection, {
    policy,
    isStale,
    faultsOf: ({ id, open: read }) =>
      read().yaml.includes('broken')
        ? [faultIn(`managed tenant ${id}`, 'is broken', 'mend it', { line: 1, path: 'name' })]
        : [],
  });
  const owner = world.as('owner');
  return {
    ...world,
    owner,
    async added() {
      const { body, headers } = await owner('POST', '/tenants', { tenant: 'nuova', yaml: YAML, secrets: SECRETS });
      expect(headers.etag).toBe(`"${body.revision}"`);
      return String(body.revision);
    },
  };
}

describe('a managed tenant', () => {
  test('is added, read as written, changed by revision, and removed; no secret is ever returned', async () => {
    const { app, owner, added, entries } = await open();
    const revision = await added();
    const read = await owner('GET', PATH);
    expect(read.body).toEqual({
      ...{ tenant: 'nuova', source: 'managed', file: null, revision, yaml: YAML, secrets: ['dav'], faults: [] },
    });
    expect(read.headers.etag).toBe(`"${revision}"`);
    const next = { yaml: YAML.replace('Nuova', 'Altra') };
    const replaced = await owner('PUT', PATH, next, { 'if-match': `"${revision}"` });
    expect(replaced.status).toBe(200);
    // Values that the second request omits remain.
    const again = await owner('GET', PATH);
    expect(again.body).toMatchObject({ ...next, secrets: ['dav'], revision: replaced.body.revision });
    const removed = await owner('DELETE', '/tenants/nuova', {}, { 'if-match': String(replaced.headers.etag) });
    expect([removed.status, removed.body]).toEqual([200, { tenant: 'nuova', revision: null, file: null }]);
    expect(await owner('GET', PATH)).toEqual(problemLike(404, 'no-such-tenant'));
    expect(entries.map(({ verb, outcome }) => `${verb} ${outcome}`)).toEqual(
      ['add-tenant', 'replace-tenant', 'remove-tenant'].flatMap((verb) => [`${verb} begun`, `${verb} done`]),
    );
    const told = JSON.stringify([read.body, replaced.body, again.body, removed.body, entries]);
    expect(told).not.toContain(SECRETS.dav);
    await app.close();
  });

  test('is not changed in an old session: the answer asks for a new sign-in (RFC 9470)', async () => {
    const { app, owner, entries } = await open({}, true);
    const refused = await owner('POST', '/tenants', { tenant: 'nuova', yaml: YAML, secrets: SECRETS });
    expect(refused).toEqual(problemLike(401, 'sign-in-again'));
    expect(refused.headers['www-authenticate']).toBe('Bearer error="insufficient_user_authentication"');
    expect(entries).toMatchObject([{ verb: 'add-tenant', outcome: 'refused', code: 'sign-in-again' }]);
    expect(await owner('GET', PATH)).toEqual(problemLike(404, 'no-such-tenant'));
    await app.close();
  });

  test('is changed by one of two requests with the same revision, and by none without a revision', async () => {
    const { app, owner, added } = await open();
    const revision = await added();
    const match = { 'if-match': `"${revision}"` };
    const change = (name: string) => owner('PUT', PATH, { yaml: YAML.replace('Nuova', name) }, match);
    const both = await Promise.all([change('Uno'), change('Due')]);
    expect(both.map(({ status }) => status).toSorted()).toEqual([200, 412]);
    expect(await owner('DELETE', '/tenants/nuova', {}, match)).toEqual(problemLike(412, 'revision-changed'));
    expect(await owner('PUT', PATH, { yaml: YAML })).toEqual(problemLike(428, 'revision-missing'));
    expect(await owner('DELETE', '/tenants/nuova', {}, { 'if-match': '*' })).toEqual(
      problemLike(428, 'revision-missing'),
    );
    await app.close();
  });

  test('is checked without being kept, and with faults it is kept as little', async () => {
    const { app, owner, added, entries } = await open();
    const broken = { tenant: 'nuova', yaml: 'name: broken\n' };
    const fault = { file: 'managed tenant nuova', line: 1, path: 'name', message: 'is broken', remedy: 'mend it' };
    const checked = await owner('POST', '/configurations/check', broken);
    expect([checked.status, checked.body]).toEqual([200, { ok: false, faults: [fault] }]);
    const refused = await owner('POST', '/tenants', broken);
    expect(refused).toEqual(problemLike(422, 'configuration'));
    expect(refused.body.faults).toEqual([fault]);
    expect(await owner('GET', PATH)).toEqual(problemLike(404, 'no-such-tenant'));
    const revision = await added();
    const before = entries.length;
    const change = await owner('PUT', PATH, { yaml: 'name: broken\n' }, { 'if-match': `"${revision}"` });
    expect(change).toEqual(problemLike(422, 'configuration'));
    expect((await owner('GET', PATH)).body).toMatchObject({ yaml: YAML, revision });
    expect(entries).toHaveLength(before);
    const told = async (wanted: object) => {
      const { body } = await owner('POST', '/configurations/check', { tenant: 'nuova', yaml: YAML, ...wanted });
      return (body.faults as { path: string; message: string }[]).map(({ path, message }) => [path, message]);
    };
    expect(await told({ secrets: { other: 'x' } })).toEqual([
      ['secrets.other', 'the configuration does not use this secret'],
    ]);
    expect(await told({ secrets: { dav: ' ' } })).toEqual([['secrets.dav', 'the secret is empty']]);
    expect(await told({ tenant: 'No Id' })).toEqual([['', 'the id is not valid']]);
    expect(await told({ yaml: 'a: [' })).toHaveLength(1);
    await app.close();
  });

  test('is shown in the form of a file, with variables for encrypted values', async () => {
    const { app, owner, added } = await open();
    await added();
    const { body } = await owner('GET', `${PATH}/file`);
    expect(body).toEqual({
      file: 'tenants/nuova.yaml',
      yaml: YAML.replace('sealed: dav', 'env: TENANT_NUOVA__DAV'),
      variables: ['TENANT_NUOVA__DAV'],
    });
    await app.close();
  });
});

describe('the tenant of a file', () => {
  test('is read-only, by a sentence that names the file', async () => {
    const { app, owner } = await open();
    const inFile = problemLike(409, 'tenant-in-file');
    const wanted = { yaml: YAML, secrets: SECRETS };
    for (const answer of [
      await owner('PUT', `/tenants/${ROSSI}/configuration`, wanted, { 'if-match': '"x"' }),
      await owner('PUT', `/tenants/${ROSSI}/configuration`, wanted),
      await owner('DELETE', `/tenants/${ROSSI}`, {}),
      await owner('POST', '/tenants', { tenant: ROSSI, ...wanted }),
      await owner('POST', '/configurations/check', { tenant: ROSSI, ...wanted }),
    ]) {
      expect(answer).toEqual(inFile);
      expect(answer.body.detail).toBe('the file config/tenants/studio-rossi.yaml configures the tenant "studio-rossi"');
    }
    await app.close();
  });

  test('is listed next to managed tenants, to all who may see it', async () => {
    const { app, as, added } = await open();
    const revision = await added();
    const list = (visitor: string) =>
      allPages((query) => as(visitor)('GET', `/configurations?${query}`) as never, 1) as Promise<object[]>;
    expect(await list('viewer')).toEqual([
      { tenant: 'aurora', source: 'file', file: 'config/tenants/aurora.yaml', revision: null },
      { tenant: 'nuova', source: 'managed', file: null, revision },
      { tenant: ROSSI, source: 'file', file: 'config/tenants/studio-rossi.yaml', revision: null },
    ]);
    expect(await list('owner-of-aurora')).toHaveLength(1);
    await app.close();
  });
});

describe('an owner of selected tenants', () => {
  test('reads how these are configured, and changes none: what is configured there concerns others', async () => {
    const { app, as, owner } = await open();
    await owner('POST', '/tenants', { tenant: 'nuova', yaml: YAML, secrets: SECRETS });
    const limited = as('owner-of-aurora');
    expect((await limited('GET', '/tenants/aurora/configuration')).status).toBe(200);
    const refused = problemLike(403, 'not-allowed');
    expect(await limited('POST', '/tenants', { tenant: 'mia', yaml: YAML })).toEqual(refused);
    expect(await limited('POST', '/configurations/check', { tenant: 'mia', yaml: YAML })).toEqual(refused);
    expect(await limited('POST', '/tenants/aurora/adopt', {})).toEqual(refused);
    expect(await limited('PUT', '/tenants/aurora/configuration', { yaml: YAML })).toEqual(refused);
    expect(await limited('DELETE', '/tenants/aurora', {})).toEqual(refused);
    expect(await limited('GET', PATH)).toEqual(problemLike(404, 'no-such-tenant'));
    await app.close();
  });

  test('reads that another tenant has its clinic, and not which one', async () => {
    const fault = { file: 'tenants/aurora.yaml', line: 2, path: 'clinic.tenantId', message: `the tenant ${ROSSI} is` };
    const faults = [{ ...faultIn(fault.file, fault.message, 'keep one file', fault), other: ROSSI }];
    const { app, as } = await openApiWorld(redis.connect(), { refused: [{ tenant: 'aurora', faults }] });
    const read = (visitor: string) => as(visitor)('GET', '/tenants/aurora/configuration');
    expect((await read('owner')).body.faults).toEqual([{ ...fault, remedy: 'keep one file' }]);
    const limited = await read('owner-of-aurora');
    expect(limited.body.faults).toMatchObject([{ path: 'clinic.tenantId', message: 'another tenant uses this value' }]);
    expect(JSON.stringify(limited.body)).not.toContain(ROSSI);
    await app.close();
  });
});

describe('two operators', () => {
  test('must approve a change if the settings require it', async () => {
    const { app, owner, as } = await open({ configuration: true });
    const wanted = { tenant: 'studio-rossi-2', yaml: YAML, secrets: SECRETS };
    expect(await owner('POST', '/tenants', wanted)).toEqual(problemLike(409, 'second-person-needed'));
    expect(await owner('POST', '/tenants', wanted)).toEqual(problemLike(409, 'second-person-same'));
    expect((await as('second-owner')('POST', '/tenants', wanted)).status).toBe(200);
    await app.close();
  });

  test('must approve any weaker approval rule, whatever the settings say', async () => {
    const { app, owner } = await open({ forget: true });
    const strict = `${YAML}approvals: { forget: true, holdsAbove: 5 }\n`;
    const { body } = await owner('POST', '/tenants', { tenant: 'nuova', yaml: strict, secrets: SECRETS });
    const match = { 'if-match': `"${body.revision}"` };
    for (const yaml of [YAML, `${YAML}approvals: { holdsAbove: 5 }\n`, strict.replace('5', '6')]) {
      expect(await owner('PUT', PATH, { yaml }, match)).toEqual(problemLike(409, 'second-person-needed'));
    }
    expect(await owner('DELETE', '/tenants/nuova', {}, match)).toEqual(problemLike(409, 'second-person-needed'));
    const stricter = strict.replace('5', '4');
    expect((await owner('PUT', PATH, { yaml: stricter }, match)).status).toBe(200);
    await app.close();
  });
});
