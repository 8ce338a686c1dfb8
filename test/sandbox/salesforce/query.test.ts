import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Bench, contact, KEY, startBench } from './support.ts';

function ask({ call }: Bench, soql: string, path = 'query', headers: Record<string, string> = {}) {
  return call('GET', `/${path}?q=${encodeURIComponent(soql)}`, undefined, headers);
}

/** The keys of the contacts that a WHERE finds. */
async function keys(bench: Bench, rest: string): Promise<string[]> {
  const { body } = await ask(bench, `SELECT ${KEY} FROM Contact ${rest}`);
  return body.records.map((record: Record<string, string>) => record[KEY]);
}

async function benchWithContacts(): Promise<Bench> {
  const bench = await startBench();
  const { Id } = bench.sandbox.addByHand('Account', { Name: "O'Neill" });
  bench.sandbox.addByHand('Contact', contact('a1', { FirstName: 'Ada', Birthdate: '1990-05-01', AccountId: Id }));
  bench.sandbox.addByHand('Contact', contact('a2', { FirstName: 'Bea', DoNotCall: true }));
  bench.sandbox.addByHand('Contact', contact('b1', { FirstName: '100%', Birthdate: '2001-01-01' }));
  return bench;
}

describe('a query', () => {
  it('finds by IN, LIKE, comparisons and their combinations', async () => {
    const bench = await benchWithContacts();
    expect(await keys(bench, `WHERE ${KEY} IN ('a1','B1','zz')`)).toEqual(['a1', 'b1']);
    expect(await keys(bench, `WHERE ${KEY} LIKE 'A%'`)).toEqual(['a1', 'a2']);
    expect(await keys(bench, `WHERE ${KEY} LIKE '_1' ORDER BY ${KEY} DESC`)).toEqual(['b1', 'a1']);
    expect(await keys(bench, "WHERE FirstName LIKE '%\\%'")).toEqual(['b1']);
    expect(await keys(bench, `WHERE ${KEY} NOT IN ('a1') AND DoNotCall = false`)).toEqual(['b1']);
    expect(await keys(bench, `WHERE (${KEY} = 'a1' OR ${KEY} = 'a2') AND NOT FirstName = 'Bea'`)).toEqual(['a1']);
    expect(await keys(bench, 'WHERE Birthdate > 2000-01-01')).toEqual(['b1']);
    expect(await keys(bench, 'WHERE Birthdate = null')).toEqual(['a2']);
    expect(await keys(bench, 'WHERE Birthdate != null ORDER BY Birthdate DESC LIMIT 1')).toEqual(['b1']);
    expect(await keys(bench, `ORDER BY Birthdate NULLS LAST, ${KEY} OFFSET 1`)).toEqual(['b1', 'a2']);
    expect(await keys(bench, "WHERE Account.Name = 'O\\'Neill'")).toEqual(['a1']);
    expect(
      await keys(bench, 'WHERE CreatedDate > 2020-01-01T00:00:00Z AND SystemModstamp < 2020-01-01T00:00:00Z'),
    ).toEqual([]);
  });

  it('shows fields and parents as the API does, and counts', async () => {
    const bench = await benchWithContacts();
    const { body } = await ask(
      bench,
      `select id, account.name from contact where ${KEY} in ('a1','a2') order by ${KEY}`,
    );
    expect(body).toMatchObject({ totalSize: 2, done: true });
    expect(body.records[0]).toEqual({
      attributes: { type: 'Contact', url: `/services/data/v68.0/sobjects/Contact/${body.records[0].Id}` },
      Id: body.records[0].Id,
      Account: { attributes: { type: 'Account', url: expect.any(String) }, Name: "O'Neill" },
    });
    expect(body.records[1].Account).toBeNull();
    expect((await ask(bench, 'SELECT COUNT() FROM Contact')).body).toEqual({ totalSize: 3, done: true, records: [] });
  });

  it('gives pages, which end when the result is left open too long', async () => {
    const bench = await startBench({ queryPageSize: 2 });
    for (const key of ['a', 'b', 'c', 'd', 'e']) {
      bench.sandbox.addByHand('Contact', contact(key));
    }
    const first = await ask(bench, 'SELECT Id FROM Contact');
    expect(first.body).toMatchObject({ totalSize: 5, done: false });
    const second = await bench.call('GET', first.body.nextRecordsUrl);
    const third = await bench.call('GET', second.body.nextRecordsUrl);
    expect(third.body.done).toBe(true);
    expect(third.body.nextRecordsUrl).toBeUndefined();
    const ids = [first, second, third].flatMap(({ body }) => body.records.map(({ Id }: { Id: string }) => Id));
    expect(new Set(ids).size).toBe(5);
    const wide = await ask(bench, 'SELECT Id FROM Contact', 'query', { 'sforce-query-options': 'batchSize=200' });
    expect(wide.body.records).toHaveLength(5);
    bench.sandbox.expireQueries();
    expect((await bench.call('GET', first.body.nextRecordsUrl)).code).toBe('INVALID_QUERY_LOCATOR');
    expect(bench.sandbox.counts).toMatchObject({ queries: 2, apiCalls: 5 });
  });

  it('refuses invalid syntax, unknown fields and objects, long strings as filters and long URLs', async () => {
    const bench = await startBench();
    const code = async (soql: string) => (await ask(bench, soql)).code;
    expect(await code('SELECT Id FROM')).toBe('MALFORMED_QUERY');
    expect(await code('SELECT Id FROM Contact WHERE Id')).toBe('MALFORMED_QUERY');
    expect(await code("SELECT Id FROM Contact WHERE Id = 'a")).toBe('MALFORMED_QUERY');
    expect(await code("SELECT Id FROM Contact WHERE LastName = 'a' AND LastName = 'b' OR LastName = 'c'")).toBe(
      'MALFORMED_QUERY',
    );
    expect(await code('SELECT Id FROM Contact LIMIT x')).toBe('MALFORMED_QUERY');
    expect(await code('SELECT Nope FROM Contact')).toBe('INVALID_FIELD');
    expect(await code("SELECT Id FROM Contact WHERE Nope.Name = 'a'")).toBe('INVALID_FIELD');
    expect(await code("SELECT Id FROM Contact WHERE Description = 'a'")).toBe('INVALID_FIELD');
    expect(await code('SELECT Id FROM Nothing')).toBe('INVALID_TYPE');
    expect((await ask(bench, `SELECT Id FROM Contact WHERE ${KEY} IN ('${'x'.repeat(17_000)}')`)).status).toBe(414);
  });

  it('finds exactly the texts that are equal, whatever is in them', async () => {
    const bench = await startBench();
    const text = fc.string({ minLength: 1, maxLength: 20 }).filter((each) => each.trim() !== '');
    await fc.assert(
      fc.asyncProperty(text, async (FirstName) => {
        const { Id } = bench.sandbox.addByHand('Contact', { LastName: 'L', FirstName });
        const literal = FirstName.trim().replace(/[\\']/g, '\\$&');
        const { body } = await ask(bench, `SELECT Id FROM Contact WHERE FirstName = '${literal}'`);
        expect(body.records).toMatchObject([{ Id }]);
        bench.sandbox.deleteByHand(Id);
      }),
      { numRuns: 50 },
    );
  });
});

describe('the recycle bin', () => {
  it('is seen by queryAll only', async () => {
    const bench = await benchWithContacts();
    const [first] = bench.sandbox.records('Contact');
    bench.sandbox.deleteByHand(first!.Id);
    expect(await keys(bench, '')).toEqual(['a2', 'b1']);
    const { body } = await ask(bench, `SELECT ${KEY} FROM Contact WHERE IsDeleted = true`, 'queryAll');
    expect(body.records).toMatchObject([{ [KEY]: 'a1' }]);
    bench.sandbox.emptyRecycleBin();
    expect((await ask(bench, 'SELECT Id FROM Contact', 'queryAll')).body.totalSize).toBe(2);
  });

  it('takes children along and gives them back', async () => {
    const { sandbox, call } = await startBench();
    const AccountId = sandbox.addByHand('Account', { Name: 'Family' }).Id;
    const WhoId = sandbox.addByHand('Contact', contact('k', { AccountId })).Id;
    sandbox.addByHand('Event', { WhoId, StartDateTime: '2027-03-01T09:00:00Z', DurationInMinutes: 30 });
    expect((await call('DELETE', `/sobjects/Account/${AccountId}`)).status).toBe(204);
    expect([...sandbox.records('Contact'), ...sandbox.records('Event')]).toEqual([]);
    sandbox.undelete(AccountId);
    expect([...sandbox.records('Contact'), ...sandbox.records('Event')]).toHaveLength(2);
    expect(() => sandbox.undelete(AccountId)).toThrow('not in the recycle bin');
  });

  it('frees the key, so that an upsert makes a new record and the old one can’t come back', async () => {
    const { sandbox, upsert } = await startBench();
    const { Id } = sandbox.addByHand('Contact', contact('k'));
    sandbox.deleteByHand(Id);
    const [row] = (await upsert([contact('k')])).body;
    expect(row).toMatchObject({ created: true });
    expect(row.id).not.toBe(Id);
    expect(() => sandbox.undelete(Id)).toThrow('duplicate value found');
    expect(sandbox.records('Contact')).toHaveLength(1);
  });

  it('keeps the key when told so', async () => {
    const { sandbox, upsert } = await startBench({ binKeepsKeys: true });
    const { Id } = sandbox.addByHand('Contact', contact('k'));
    sandbox.deleteByHand(Id);
    expect((await upsert([contact('k')])).body[0].errors[0].statusCode).toBe('ENTITY_IS_DELETED');
    sandbox.emptyRecycleBin(Id);
    expect((await upsert([contact('k')])).body[0]).toMatchObject({ created: true });
  });
});

describe('a merge', () => {
  it('leaves the master with all children, and the loser in the bin with the master’s id', async () => {
    const bench = await startBench();
    const { sandbox, call, upsert } = bench;
    const master = sandbox.addByHand('Contact', contact('m')).Id;
    const loser = sandbox.addByHand('Contact', contact('l', { Email: 'l@clinic.example' })).Id;
    sandbox.addByHand('Event', { WhoId: loser, StartDateTime: '2027-03-01T09:00:00Z', DurationInMinutes: 30 });
    sandbox.merge(master, [loser], { Email: 'l@clinic.example' });
    expect(sandbox.records('Contact')).toMatchObject([{ Id: master, [KEY]: 'm', Email: 'l@clinic.example' }]);
    expect(sandbox.records('Event')).toMatchObject([{ WhoId: master }]);
    expect(await call('GET', `/sobjects/Contact/${loser}`)).toMatchObject({ status: 404, code: 'ENTITY_IS_DELETED' });
    expect(await call('PATCH', `/sobjects/Contact/${loser}`, {})).toMatchObject({
      status: 404,
      code: 'ENTITY_IS_DELETED',
    });
    const found = await ask(bench, `SELECT MasterRecordId FROM Contact WHERE ${KEY} = 'l'`, 'queryAll');
    expect(found.body.records).toMatchObject([{ MasterRecordId: master }]);
    expect(() => sandbox.undelete(loser)).toThrow();
    expect((await upsert([contact('l')])).body[0]).toMatchObject({ created: true });
    expect(() => sandbox.merge(master, [master])).toThrow();
  });
});
