import { describe, expect, it } from 'vitest';
import { type Bench, contact, KEY, startBench } from './support.ts';

const BASE = '/services/data/v68.0';

interface Part {
  method: string;
  url: string;
  referenceId: string;
  body?: unknown;
}

/** A collection upsert of contacts as a part. */
function collection(referenceId: string, rows: Record<string, unknown>[]): Part {
  const records = rows.map((row) => ({ attributes: { type: 'Contact' }, ...row }));
  return { method: 'PATCH', url: `${BASE}/composite/sobjects/Contact/${KEY}`, referenceId, body: { records } };
}

function account(referenceId: string, body: object): Part {
  return { method: 'POST', url: `${BASE}/sobjects/Account`, referenceId, body };
}

async function run({ call }: Bench, compositeRequest: Part[], allOrNone = false) {
  const answer = await call('POST', '/composite', { allOrNone, compositeRequest });
  return { ...answer, parts: answer.body.compositeResponse };
}

describe('a composite', () => {
  it('writes 1,000 rows in one API call', async () => {
    const bench = await startBench();
    const parts = Array.from({ length: 5 }, (_, part) =>
      collection(
        `c${part}`,
        Array.from({ length: 200 }, (_row, row) => contact(`k${part}-${row}`)),
      ),
    );
    const { status, parts: answers } = await run(bench, parts);
    expect(status).toBe(200);
    expect(answers.map(({ httpStatusCode }: { httpStatusCode: number }) => httpStatusCode)).toEqual(Array(5).fill(200));
    expect(bench.sandbox.records('Contact')).toHaveLength(1000);
    expect(bench.sandbox.counts).toMatchObject({ apiCalls: 1, composites: 1, collections: 5, rows: 1000 });
  });

  it('refuses a sixth collection or query, a 26th part, and references that repeat', async () => {
    const bench = await startBench();
    const six = Array.from({ length: 5 }, (_, at) => collection(`c${at}`, [contact(`k${at}`)]));
    const query = { method: 'GET', url: `${BASE}/query?q=SELECT+Id+FROM+Contact`, referenceId: 'q' };
    expect(await run(bench, [...six, query])).toMatchObject({ status: 400, code: 'LIMIT_EXCEEDED' });
    const many = Array.from({ length: 26 }, (_, at) => account(`a${at}`, { Name: 'A' }));
    expect(await run(bench, many)).toMatchObject({ status: 400, code: 'LIMIT_EXCEEDED' });
    expect((await run(bench, [account('a', { Name: 'A' }), account('a', { Name: 'B' })])).code).toBe('INVALID_INPUT');
    expect((await run(bench, [])).code).toBe('JSON_PARSER_ERROR');
    expect(bench.sandbox.records('Account')).toEqual([]);
    expect((await run(bench, many.slice(1))).parts).toHaveLength(25);
  });

  it('continues after a failed part, and later parts can use earlier answers', async () => {
    const bench = await startBench();
    const { parts } = await run(bench, [
      account('bad', {}),
      account('family', { Name: 'Family' }),
      collection('people', [contact('k', { AccountId: '@{family.id}' })]),
      { method: 'GET', url: `${BASE}/sobjects/Contact/@{people[0].id}?fields=AccountId`, referenceId: 'read' },
      { method: 'GET', url: `${BASE}/sobjects/Account/@{bad.id}`, referenceId: 'lost' },
      { method: 'GET', url: `${BASE}/nowhere`, referenceId: 'nowhere' },
    ]);
    expect(parts.map(({ httpStatusCode }: { httpStatusCode: number }) => httpStatusCode)).toEqual([
      400, 201, 200, 200, 400, 404,
    ]);
    expect(parts[0]).toMatchObject({ referenceId: 'bad', body: [{ errorCode: 'REQUIRED_FIELD_MISSING' }] });
    expect(parts[3].body.AccountId).toBe(parts[1].body.id);
    expect(parts[4].body[0].errorCode).toBe('PROCESSING_HALTED');
  });

  it('with allOrNone takes everything back, for one row of a collection too', async () => {
    const bench = await startBench();
    const rows = [contact('a'), contact('b', { LastName: null })];
    const { parts } = await run(
      bench,
      [account('a', { Name: 'A' }), collection('c', rows), account('z', { Name: 'Z' })],
      true,
    );
    expect(parts.map(({ body }: { body: { errorCode?: string }[] }) => body[0]?.errorCode)).toEqual([
      'PROCESSING_HALTED',
      undefined,
      'PROCESSING_HALTED',
    ]);
    const codes = parts[1].body.map((row: { errors: { statusCode: string }[] }) => row.errors[0]?.statusCode);
    expect(codes).toEqual(['ALL_OR_NONE_OPERATION_ROLLED_BACK', 'REQUIRED_FIELD_MISSING']);
    expect(bench.sandbox.records('Account')).toEqual([]);
    expect(bench.sandbox.records('Contact')).toEqual([]);
    const { parts: good } = await run(bench, [account('a', { Name: 'A' }), collection('c', rows.slice(0, 1))], true);
    expect(good.map(({ httpStatusCode }: { httpStatusCode: number }) => httpStatusCode)).toEqual([201, 200]);
  });
});
