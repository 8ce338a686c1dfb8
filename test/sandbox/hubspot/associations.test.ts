import { describe, expect, it } from 'vitest';
import { type Bench, startBench } from './support.ts';

const BATCH = '/crm/v4/associations/meetings/contacts/batch';
const spec = (associationTypeId: number, associationCategory = 'HUBSPOT_DEFINED') => ({
  associationCategory,
  associationTypeId,
});

function people({ sandbox }: Bench) {
  const contact = sandbox.add('contacts', {});
  const company = sandbox.add('companies', { name: 'Practice' });
  const meeting = sandbox.add('meetings', { hs_timestamp: '0' });
  return { contact, company, meeting };
}

describe('one association', () => {
  it('is created with default types, in both directions, repeatedly', async () => {
    const bench = await startBench();
    const { contact, meeting } = people(bench);
    const path = `/crm/v4/objects/meetings/${meeting}/associations/default/contacts/${contact}`;
    const made = await bench.call('PUT', path);
    expect(made.status).toBe(200);
    expect(made.body.results).toEqual(
      expect.arrayContaining([
        { from: { id: meeting }, to: { id: contact }, associationSpec: spec(200) },
        { from: { id: contact }, to: { id: meeting }, associationSpec: spec(199) },
      ]),
    );
    expect((await bench.call('PUT', path)).status).toBe(200);
    const list = await bench.call('GET', `/crm/v4/objects/contacts/${contact}/associations/meetings?limit=1`);
    const associationTypes = [{ category: 'HUBSPOT_DEFINED', typeId: 199, label: null }];
    expect(list.body).toEqual({ results: [{ toObjectId: meeting, associationTypes }] });
  });

  it('is shown in a list that requests it, if it exists', async () => {
    const bench = await startBench();
    const { contact, meeting } = people(bench);
    bench.sandbox.add('meetings', { hs_timestamp: '0' });
    await bench.call('PUT', `/crm/v4/objects/meetings/${meeting}/associations/default/contacts/${contact}`);
    const { body } = await bench.call('GET', '/crm/v3/objects/meetings?associations=contacts');
    expect(body.results.map(({ associations }: { associations?: object }) => associations)).toEqual([
      { contacts: { results: [{ id: contact, type: 'meeting_to_contact' }] } },
      undefined,
    ]);
  });

  it('carries a label, and with it the plain type', async () => {
    const bench = await startBench();
    const { contact, company } = people(bench);
    const path = `/crm/objects/2026-03/contacts/${contact}/associations/companies/${company}`;
    expect(await bench.call('PUT', path, [spec(1)])).toMatchObject({
      status: 201,
      body: { fromObjectTypeId: '0-1', toObjectTypeId: '0-2', labels: ['Primary'] },
    });
    const list = await bench.call('GET', `/crm/objects/2026-03/companies/${company}/associations/contacts`);
    expect(list.body.results[0].associationTypes.map(({ typeId }: { typeId: number }) => typeId)).toEqual([280, 2]);
    expect((await bench.call('DELETE', path)).status).toBe(204);
    expect(bench.sandbox.associated('contacts', contact, 'companies')).toEqual([]);
    expect((await bench.call('DELETE', path)).status).toBe(204);
  });

  it('needs records that live and types that fit', async () => {
    const bench = await startBench();
    const { contact, company, meeting } = people(bench);
    const put = (path: string, body?: unknown) => bench.call('PUT', `/crm/v4/objects/${path}`, body);
    expect((await put(`contacts/${contact}/associations/default/meetings/12`)).status).toBe(404);
    expect((await put(`meetings/${meeting}/associations/default/meetings/${meeting}`)).status).toBe(400);
    expect((await put(`contacts/${contact}/associations/companies/${company}`, [spec(200)])).status).toBe(400);
    expect((await put(`contacts/${contact}/associations/companies/${company}`, [spec(4)])).status).toBe(400);
    expect((await put(`contacts/${contact}/associations/companies/${company}`, [spec(1, 'USER_DEFINED')])).status).toBe(
      400,
    );
    bench.sandbox.archive('contacts', contact);
    expect((await put(`contacts/${contact}/associations/default/meetings/${meeting}`)).status).toBe(404);
  });
});

describe('associations in batches', () => {
  it('are made, 207 for those that lead nowhere', async () => {
    const bench = await startBench();
    const { contact, meeting } = people(bench);
    const inputs = [contact, '12'].map((id) => ({ from: { id: meeting }, to: { id }, types: [spec(200)] }));
    const made = await bench.call('POST', `${BATCH}/create`, { inputs });
    expect(made).toMatchObject({
      status: 207,
      body: {
        results: [{ fromObjectId: meeting, toObjectId: contact }],
        errors: [{ category: 'OBJECT_NOT_FOUND', context: { toObjectId: ['12'] } }],
      },
    });
    const plain = inputs.slice(0, 1).map(({ from, to }) => ({ from, to }));
    const dated = '/crm/associations/2026-09/meetings/contacts/batch/associate/default';
    expect((await bench.call('POST', dated, { inputs: plain })).status).toBe(200);
    expect(bench.sandbox.counts.associations).toBe(2);
  });

  it('are returned, with 207 for records without associations, and removed', async () => {
    const bench = await startBench();
    const { contact, meeting } = people(bench);
    const lonely = bench.sandbox.add('meetings', { hs_timestamp: '0' });
    await bench.call('PUT', `/crm/v4/objects/meetings/${meeting}/associations/default/contacts/${contact}`);
    const read = () => bench.call('POST', `${BATCH}/read`, { inputs: [{ id: meeting }, { id: lonely }] });
    expect(await read()).toMatchObject({
      status: 207,
      body: {
        results: [{ from: { id: meeting }, to: [{ toObjectId: contact }] }],
        errors: [{ subCategory: 'crm.associations.NO_ASSOCIATIONS_FOUND', context: { fromObjectId: [lonely] } }],
      },
    });
    const inputs = [{ from: { id: meeting }, to: [{ id: contact }] }];
    expect((await bench.call('POST', `${BATCH}/archive`, { inputs })).status).toBe(204);
    expect((await read()).body).toMatchObject({ results: [], numErrors: 2 });
  });

  it('have their limits', async () => {
    const bench = await startBench();
    const { contact, meeting } = people(bench);
    const times = <T>(count: number, input: T) => ({ inputs: Array.from({ length: count }, () => input) });
    const pair = { from: { id: meeting }, to: { id: contact } };
    const status = async (path: string, body: object) => (await bench.call('POST', `${BATCH}${path}`, body)).status;
    expect(await status('/associate/default', times(2000, pair))).toBe(200);
    expect(await status('/associate/default', times(2001, pair))).toBe(400);
    expect(await status('/create', times(2001, { ...pair, types: [spec(200)] }))).toBe(400);
    expect(await status('/read', times(1000, { id: meeting }))).toBe(200);
    expect(await status('/read', times(1001, { id: meeting }))).toBe(400);
    const archive = { from: { id: meeting }, to: [{ id: contact }] };
    expect(await status('/archive', times(101, archive))).toBe(400);
    expect(await status('/archive', times(100, archive))).toBe(204);
  });

  it('are paged when there are many', async () => {
    const bench = await startBench();
    const { contact } = people(bench);
    const meetings = Array.from({ length: 501 }, () => bench.sandbox.add('meetings', { hs_timestamp: '0' }));
    const inputs = meetings.map((id) => ({ from: { id }, to: { id: contact } }));
    await bench.call('POST', `${BATCH}/associate/default`, { inputs });
    const read = async (after?: string) => {
      const body = { inputs: [{ id: contact, ...(after === undefined ? {} : { after }) }] };
      return (await bench.call('POST', '/crm/v4/associations/contacts/meetings/batch/read', body)).body.results[0];
    };
    const first = await read();
    expect(first.to).toHaveLength(500);
    expect((await read(first.paging.next.after)).to).toMatchObject([{ toObjectId: meetings.at(-1) }]);
  });
});
