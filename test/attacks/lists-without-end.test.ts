// Tier: full. Reads lists of millions of rows to measure the peak memory.
import { getHeapStatistics } from 'node:v8';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readWhole } from '../../src/clinic/read/lists.ts';
import { MEBIBYTE } from '../../src/core/http/client.ts';
import { DAY_MS } from '../../src/core/model/time.ts';
import { failureOf, openClient, profileOf, unhurried } from '../clinic/open-client.ts';
import { startScriptedServer } from '../clinic/scripted-server.ts';

/*
 * Attack: a clinic's server lists rows without end. Compressed, a million rows are a few megabytes; as records they are a gigabyte.
 */

const TOO_MANY = { code: 'too-many-records', actor: 'settings' };
/** The default of the profile: 500,000 rows. */
const MOST = profileOf().limits.maxRecords;
/** Memory of the rows of the longest allowed list, with the page that exceeds it. */
const MOST_MEMORY = 500 * MEBIBYTE;

interface Form {
  list: 'appointments' | 'patients' | 'agendas';
  pageRows: number;
  hasIds: boolean;
  namesNextFirst: boolean;
  isUsable: boolean;
}

const families: fc.Arbitrary<Form> = fc.record({
  list: fc.constantFrom('appointments' as const, 'patients' as const, 'agendas' as const),
  pageRows: fc.integer({ min: 5_000, max: 60_000 }),
  /** Otherwise only the first row of a page has an id. */
  hasIds: fc.boolean(),
  namesNextFirst: fc.boolean(),
  /** Complete appointments need the most memory. */
  isUsable: fc.boolean(),
});

/** The tests of a process run one after the other, so that the growth during a read is that of the read, with its garbage. */
function usedBytes(): number {
  const { used_heap_size: heap, external_memory: external } = getHeapStatistics();
  return heap + external;
}

/** A clinic that always has a next page. */
async function openEndless({ pageRows, hasIds, namesNextFirst, isUsable }: Omit<Form, 'list'>) {
  const sent = { rows: 0, bytes: 0 };
  const server = await startScriptedServer(() => {
    const rest = isUsable ? ',"agendaId":"a","start":"1970-01-01T10:00:00Z","end":"1970-01-01T11:00:00Z"' : '';
    const row = (at: number) => (hasIds || at === 0 ? `{"id":${sent.rows + at}${rest}}` : '{}');
    const rows = Array.from({ length: pageRows }, (_, at) => row(at)).join(',');
    sent.rows += pageRows;
    const text = !namesNextFirst
      ? `{"data":[${rows}],"next":"${sent.rows}"}`
      : `{"next":"${sent.rows}","data":[${rows}]}`;
    const body = gzipSync(text);
    sent.bytes += body.length;
    return { body, headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' } };
  });
  const profile = profileOf({
    listPath: 'data',
    paging: { style: 'cursor', cursorPath: 'next', cursorParameter: 'cursor', ends: ['no-next'] },
  });
  return { ...openClient(server.url, profile), sent, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

describe('a list without end', () => {
  test('ends at the limit of the profile with a named problem, whatever the list, in bounded memory', async () => {
    await fc.assert(
      fc.asyncProperty(families, async ({ list, ...form }) => {
        await using clinic = await openEndless(form);
        const { client } = clinic;
        const window = { fromAt: 0, toAt: DAY_MS };
        const before = usedBytes();
        let peak = 0;
        const look = () => {
          peak = Math.max(peak, usedBytes() - before);
        };
        const timer = setInterval(look, 5);
        const call =
          list === 'appointments'
            ? client.readAppointments('t', { agendaIds: null, window }, unhurried())
            : readWhole((signal) => client[list].list('t', [], signal) as never, unhurried());
        const failure = await failureOf(call).finally(() => clearInterval(timer));
        look();
        expect(failure).toMatchObject(TOO_MANY);
        expect(failure.message).toContain(`clinic.${list}.list`);
        expect(clinic.sent.rows).toBeLessThanOrEqual(MOST + form.pageRows);
        expect(peak).toBeLessThan(MOST_MEMORY);
      }),
      { numRuns: 5, verbose: 1 },
    );
  }, 300_000);
});
