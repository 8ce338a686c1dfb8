import { expect, test } from 'vitest';
import { contact, effectOf } from './harness.ts';
import { anna, espocrm, openProxied } from './profiles.ts';

const JSON_TYPE = { 'content-type': 'application/json' };

test('without a stamp no record is read as own, and a create finds by key: never a duplicate', async () => {
  const { sandbox, open } = await openProxied();
  const bare = open({
    description: { streams: { patients: { stampField: null }, appointments: null, invoices: null } },
  });
  await bare.written(bare.create('p1', anna));
  expect(await bare.readAll()).toEqual([]);
  expect((await bare.find('p1'))[0]).toMatchObject({ sealedRecordId: null, item: anna });
  expect((await bare.written(bare.create('p1', contact({ ...espocrm.person, firstName: 'Other' })))).effect).toBe(
    'adopted',
  );
  expect(sandbox.records('Contact').map(({ values }) => values.firstName)).toEqual(['Other']);
});

test("an object that carries the key and another target's stamp is not touched", async () => {
  const { sandbox, target } = await openProxied();
  await target.written(target.create('p1', anna));
  const [record] = sandbox.records('Contact');
  sandbox.editByHand('Contact', record?.id ?? '', { cMirrorStamp: 'anothermark00000.x.0.' });
  const before = structuredClone(record?.values);
  expect((await target.apply(target.update('p1', contact({}), record?.id ?? ''))).map(effectOf)).toEqual(['key-burnt']);
  expect((await target.apply(target.remove('p1', record?.id ?? ''))).map(effectOf)).toEqual(['already-gone']);
  expect(sandbox.records('Contact')[0]?.values).toEqual(before);
});

test('a search that lags finds no twin for an object whose id is known', async () => {
  const { sandbox, target } = await openProxied();
  const { remoteId } = await target.written(target.create('p1', anna));
  sandbox.configure({ searchLagMs: 60_000 });
  const changed = contact({ ...espocrm.person, firstName: 'Anna Maria' });
  expect((await target.written(target.update('p1', changed, remoteId))).effect).toBe('updated');
  expect((await target.apply(target.remove('p1', remoteId))).map(effectOf)).toEqual(['deleted']);
  expect(sandbox.records('Contact')).toEqual([]);
});

test('a create that meets the key of another writer adopts its object', async () => {
  const { proxy, sandbox, target } = await openProxied();
  await target.written(target.create('p1', anna));
  const empty = { status: 200, headers: JSON_TYPE, body: '{"list":[],"total":0}' };
  const conflict = { status: 409, headers: JSON_TYPE, body: '[]' };
  proxy.add({ method: /GET/, fault: { kind: 'answer', answer: empty } });
  proxy.add({ method: /POST/, fault: { kind: 'answer', answer: conflict } });
  expect((await target.apply(target.create('p1', anna))).map(effectOf)).toEqual(['adopted']);
  expect(sandbox.records('Contact')).toHaveLength(1);
});
