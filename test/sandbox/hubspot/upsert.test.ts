import { describe, expect, it } from 'vitest';
import { CONTACTS, KEY, type Row, startBench, upsertBody } from './support.ts';

const UPSERT = `${CONTACTS}/batch/upsert`;

function many(count: number): Row[] {
  return Array.from({ length: count }, (_, index) => ({ key: `p${index}`, values: { firstname: `N${index}` } }));
}

describe('an upsert', () => {
  it('creates new records, updates existing ones, and reports the action', async () => {
    const { upsert, sandbox } = await startBench();
    const first = await upsert({ key: 'a', values: { firstname: 'Anna', city: 'Chur' } });
    expect(first).toMatchObject({
      status: 200,
      body: { status: 'COMPLETE', results: [{ new: true, objectWriteTraceId: 'a', properties: { [KEY]: 'a' } }] },
    });
    const again = await upsert({ key: 'a', values: { firstname: 'Anne' } });
    expect(again.body.results).toMatchObject([{ new: false, id: first.body.results[0].id }]);
    expect(sandbox.records('contacts')).toMatchObject([{ properties: { firstname: 'Anne', city: 'Chur' } }]);
  });

  it('repeated after a lost answer does no harm', async () => {
    const { upsert, sandbox } = await startBench();
    sandbox.faults.add({ match: { path: 'upsert' }, times: 1, fault: { kind: 'lost-answer' } });
    await expect(upsert({ key: 'a', values: { firstname: 'Anna' } })).rejects.toThrow();
    expect((await upsert({ key: 'a', values: { firstname: 'Anna' } })).body.results).toMatchObject([{ new: false }]);
    expect(sandbox.records('contacts')).toHaveLength(1);
  });

  it('takes 100 rows and no more, none that mean the same record, and none at all is refused', async () => {
    const { upsert, call, sandbox } = await startBench();
    expect((await upsert(...many(100))).body.results).toHaveLength(100);
    expect(await upsert(...many(101))).toMatchObject({ status: 400, body: { category: 'VALIDATION_ERROR' } });
    expect((await call('POST', UPSERT, { inputs: [] })).status).toBe(400);
    const twice = await upsert({ key: 'x' }, { key: 'y' }, { key: 'x', values: { firstname: 'Other' } });
    expect(twice).toMatchObject({
      status: 400,
      body: { message: 'Duplicate IDs found in batch input: [x]. IDs must be unique', context: { ids: ['x'] } },
    });
    expect(sandbox.counts.rows('contacts', 'upsert')).toBe(100);
    expect(sandbox.recordBy('contacts', KEY, 'y')).toBeUndefined();
  });

  it('answers rows in another order than they came', async () => {
    const { upsert } = await startBench();
    const rows = many(30);
    const keys = (await upsert(...rows)).body.results.map((row: { properties: object }) => row.properties);
    const told = keys.map((values: Record<string, string>) => values[KEY]);
    expect(told).not.toEqual(rows.map(({ key }) => key));
    expect(told.sort()).toEqual(rows.map(({ key }) => key).sort());
  });

  it('needs one unique property for all rows', async () => {
    const { call, sandbox } = await startBench();
    const row = (idProperty: string | undefined, id: string) => ({ id, idProperty, properties: {} });
    const refused = await call('POST', UPSERT, { inputs: [row('firstname', 'a')] });
    expect(refused).toMatchObject({
      status: 400,
      body: {
        message: `Unable to perform update/upsert by non-unique 0-1 property firstname in portal ID ${sandbox.portalId}`,
      },
    });
    expect((await call('POST', UPSERT, { inputs: [row('nothing', 'a')] })).status).toBe(400);
    expect((await call('POST', UPSERT, { inputs: [row(undefined, 'a')] })).status).toBe(400);
    expect((await call('POST', UPSERT, { inputs: [row(KEY, 'a'), row('email', 'a@b.example')] })).status).toBe(400);
    expect(sandbox.records('contacts')).toEqual([]);
  });

  it('does not let a row contradict its own key', async () => {
    const { upsert, sandbox } = await startBench();
    const refused = await upsert({ key: 'a', values: { [KEY]: 'b' } });
    expect(refused.body).toMatchObject({ numErrors: 1, results: [] });
    expect(sandbox.records('contacts')).toEqual([]);
  });

  it('by e-mail replaces the whole contact', async () => {
    const { call, sandbox } = await startBench();
    const id = sandbox.add('contacts', { email: 'a@b.example', firstname: 'Anna', city: 'Chur', [KEY]: 'a' });
    const inputs = [{ id: 'A@B.example', idProperty: 'email', properties: { lastname: 'Blum', email: 'a@b.example' } }];
    expect((await call('POST', UPSERT, { inputs })).body.results).toMatchObject([{ id, new: false }]);
    expect(sandbox.record('contacts', id)?.properties).toEqual({
      email: 'a@b.example',
      lastname: 'Blum',
      hs_object_id: id,
      createdate: expect.any(String),
      lastmodifieddate: expect.any(String),
    });
  });

  it('works under the paths by date too', async () => {
    const { call } = await startBench();
    for (const version of ['2026-03', '2026-09']) {
      const path = `/crm/objects/${version}/contacts/batch/upsert`;
      expect((await call('POST', path, upsertBody({ key: version }))).body.results).toMatchObject([{ new: true }]);
    }
    expect((await call('POST', '/crm/objects/2020-01/contacts/batch/upsert', upsertBody({ key: 'x' }))).status).toBe(
      404,
    );
  });

  it('works for meetings by a unique property, if meetings may have one', async () => {
    const { call, sandbox } = await startBench({ meetingKeys: 'unique' });
    const name = 'clinic_appointment_key';
    sandbox.createProperty('meetings', { name, label: 'A', type: 'string', fieldType: 'text', hasUniqueValue: true });
    const path = '/crm/v3/objects/meetings/batch/upsert';
    const row = (id: string, properties: object) => ({ id, idProperty: name, objectWriteTraceId: id, properties });
    const inputs = [row('m1', { hs_timestamp: '2027-03-01T09:00:00Z' }), row('m2', { hs_meeting_title: 'Visit' })];
    expect(await call('POST', path, { inputs })).toMatchObject({
      status: 207,
      body: {
        results: [{ properties: { hs_timestamp: '2027-03-01T09:00:00.000Z' } }],
        errors: [{ context: { ids: ['m2'], objectWriteTraceId: ['m2'], properties: ['hs_timestamp'] } }],
      },
    });
  });
});

describe('a bad row', () => {
  const family = { email: 'family@clinic.example' };

  it('is reported separately if every row carries a trace id', async () => {
    const { upsert, sandbox } = await startBench();
    const answer = await upsert({ key: 'a', values: family }, { key: 'b', values: family }, { key: 'c' });
    const holder = sandbox.recordBy('contacts', 'email', family.email)?.id;
    expect(answer).toMatchObject({ status: 207, body: { status: 'COMPLETE', numErrors: 1 } });
    expect(answer.body.errors).toEqual([
      {
        status: 'error',
        category: 'CONFLICT',
        message: `Contact already exists. Existing ID: ${holder}`,
        context: { ids: ['b'], objectWriteTraceId: ['b'], existingId: [holder] },
      },
    ]);
    expect(sandbox.records('contacts')).toHaveLength(2);
    expect(sandbox.counts.failedRows('contacts')).toBe(1);
  });

  it.each(['untraced', 'never'] as const)('spoils the whole batch otherwise: %s', async (how) => {
    const { upsert, sandbox } = await startBench(how === 'never' ? { rowErrors: 'never' } : {});
    const untraced = how === 'untraced';
    const conflict = await upsert({ key: 'a', values: family }, { key: 'b', values: family, untraced });
    expect(conflict).toMatchObject({ status: 409, body: { status: 'error', category: 'CONFLICT' } });
    const wrong = await upsert(
      { key: 'a', values: { firstname: 'Anna' }, untraced },
      { key: 'b', values: { nothing: 'x' } },
      { key: 'c', values: { hs_language: 'Klingon' } },
    );
    expect(wrong).toMatchObject({ status: 400, body: { category: 'VALIDATION_ERROR' } });
    expect(wrong.body.errors.map(({ code }: { code: string }) => code)).toEqual([
      'PROPERTY_DOESNT_EXIST',
      'INVALID_OPTION',
    ]);
    expect(sandbox.records('contacts')).toEqual([]);
    expect((await upsert({ key: 'a', values: family })).status).toBe(200);
  });

  it('that made a batch fail left the records unchanged', async () => {
    const { upsert, sandbox } = await startBench();
    await upsert({ key: 'a', values: { firstname: 'Anna' } });
    const before = sandbox.records('contacts');
    const refused = await upsert(
      { key: 'a', values: { firstname: 'Other', email: 'a@b.example' }, untraced: true },
      { key: 'b', values: { nothing: 'x' }, untraced: true },
    );
    expect(refused.status).toBe(400);
    expect(sandbox.records('contacts')).toEqual(before);
    expect(sandbox.recordBy('contacts', 'email', 'a@b.example')).toBeUndefined();
  });

  it('can be played for chosen keys, for tests that look for the one', async () => {
    const { upsert, sandbox } = await startBench();
    sandbox.faults.add({ match: { path: 'upsert' }, fault: { kind: 'poison-row', ids: ['p3'] } });
    const rows = many(6).map((row) => ({ ...row, untraced: true }));
    expect((await upsert(...rows)).status).toBe(400);
    expect((await upsert(...rows.slice(0, 3))).status).toBe(200);
    expect((await upsert(rows[3]!)).status).toBe(400);
    expect((await upsert(...rows.slice(4))).status).toBe(200);
  });

  it('may be missing from the answer', async () => {
    const { upsert, sandbox } = await startBench();
    sandbox.faults.add({ match: { path: 'upsert' }, times: 1, fault: { kind: 'missing-row' } });
    expect((await upsert(...many(3))).body.results).toHaveLength(2);
    expect(sandbox.records('contacts')).toHaveLength(3);
  });

  it('with something else than strings is refused, and its value is not repeated', async () => {
    const { call, sandbox } = await startBench();
    for (const value of [17, true, null, { secret: 'x' }]) {
      const inputs = [{ id: 'a', idProperty: KEY, properties: { firstname: value } }];
      const refused = await call('POST', UPSERT, { inputs });
      expect(refused).toMatchObject({ status: 400, body: { category: 'VALIDATION_ERROR' } });
      expect(refused.body.message).toContain('inputs.0.properties.firstname');
      expect(refused.body.message).not.toContain('secret');
    }
    expect((await call('POST', UPSERT, '{')).status).toBe(400);
    expect((await call('POST', UPSERT, '{}', { 'content-type': 'text/plain' })).status).toBe(415);
    expect(sandbox.records('contacts')).toEqual([]);
  });
});
