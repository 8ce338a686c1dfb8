import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { CacheBudget } from '../../../src/core/model/cache.ts';
import { MINUTE_MS, SECOND_MS } from '../../../src/core/model/time.ts';
import { failureOf, type WrittenProfile } from '../open-client.ts';
import { openRememberingClinic, rowOf, told, withEtags } from '../remembering-clinic.ts';
import type { ScriptedAnswer, ScriptedRequest } from '../scripted-server.ts';

const FIVE = ['a', 'b', 'c', 'd', 'e'].map((id) => rowOf(id));

/** Default of the profile. */
const WHOLE_EVERY_MS = 30 * MINUTE_MS;

/** Every query has the same URL. */
const ONE_ADDRESS: WrittenProfile = { appointments: { filters: { from: null, to: null } } };

/** A clinic of two pages with ETags that was read before. */
async function readBefore(...options: Parameters<typeof openRememberingClinic>) {
  const clinic = await openRememberingClinic(...options);
  clinic.world.rows = [...FIVE];
  clinic.world.answer = withEtags();
  const first = await clinic.read();
  clinic.asked();
  return Object.assign(clinic, { first });
}

describe('a page that came with an ETag', () => {
  test.each(['strong', 'weak'] as const)(
    '%s, is requested with it; "not modified" returns the stored page',
    async (style) => {
      await using clinic = await openRememberingClinic();
      clinic.world.rows = [...FIVE];
      clinic.world.answer = withEtags(style);
      const first = await clinic.read();
      expect(clinic.asked()).toEqual([null, null]);
      const parse = vi.spyOn(JSON, 'parse');
      const second = await clinic.read();
      expect(parse).not.toHaveBeenCalled();
      expect(clinic.asked().every((etag) => etag !== null)).toBe(true);
      expect(second).toEqual(first);
      for (const [id, record] of first.records) expect(second.records.get(id)).toBe(record);
    },
  );

  test('is requested with it after the window moved, until the next full read', async () => {
    await using clinic = await readBefore();
    clinic.world.now += SECOND_MS;
    // The first read requested a window one second too short: this read requests half an hour more.
    await clinic.read();
    expect(clinic.asked()).toEqual([null, null]);
    for (let minutes = 5; minutes < 30; minutes += 5) {
      clinic.world.now += 5 * MINUTE_MS;
      await clinic.read();
      expect(clinic.asked()).not.toContain(null);
    }
    clinic.world.now += 5 * MINUTE_MS;
    await clinic.read();
    expect(clinic.asked()).toEqual([null, null]);
  });

  test('comes whole when it changed, and the others do not', async () => {
    await using clinic = await readBefore();
    clinic.world.rows[4] = rowOf('e', { hour: 12 });
    const { records } = await clinic.read();
    expect(records.get('e')?.time.startAt).toBe(Date.parse('2026-03-01T12:00:00Z'));
    expect(records.get('a')).toBe(clinic.first.records.get('a'));
  });

  test.each<[string, (clinic: Awaited<ReturnType<typeof readBefore>>) => unknown]>([
    ['stored records are distrusted', ({ memory }) => memory.distrust()],
    ['memory discarded the list', ({ memory }) => memory.invalidate()],
    ['the trust has expired', ({ world }) => Object.assign(world, { now: world.now + WHOLE_EVERY_MS })],
    ['an incomplete list', notWhole],
    ['the clock was set back', ({ world }) => Object.assign(world, { now: world.now - MINUTE_MS })],
  ])('is read without condition after %s', async (_, happen) => {
    await using clinic = await readBefore(ONE_ADDRESS);
    await happen(clinic);
    await clinic.read();
    expect(clinic.asked()).toEqual([null, null]);
    await clinic.read();
    expect(clinic.asked()).not.toContain(null);
  });

  async function notWhole({ world, read, asked }: Awaited<ReturnType<typeof readBefore>>): Promise<void> {
    const { answer } = world;
    world.answer = (usual, request) => answer({ json: { ...(usual.json as object), total: 9 } }, request);
    expect(await read()).toMatchObject({ completeness: 'partial' });
    world.answer = answer;
    asked();
  }

  test('is read without condition as another user, and in another tenant', async () => {
    await using clinic = await readBefore(ONE_ADDRESS);
    await clinic.read(1);
    expect(clinic.asked()).toEqual([null, null]);
    await clinic.read(1, 'another');
    expect(clinic.asked()).toEqual([null, null]);
  });

  test('is requested without a condition if the profile requires it', async () => {
    await using clinic = await readBefore({ appointments: { rereading: { notModified: false } } });
    await clinic.read();
    expect(clinic.asked()).toEqual([null, null]);
  });

  test('is read without condition when the list moved meanwhile', async () => {
    await using clinic = await readBefore();
    const usual = withEtags();
    // The first page is falsely "not modified": the total on the second page reveals the change.
    clinic.world.answer = (answer, request) => {
      const isSkipped = request.query.get('offset') === '0' && request.headers['if-none-match'] !== undefined;
      return isSkipped ? { status: 304 } : usual(answer, request);
    };
    clinic.world.rows.shift();
    const snapshot = await clinic.read();
    expect([...snapshot.records.keys()]).toEqual(['b', 'c', 'd', 'e']);
    expect(snapshot.completeness).toBe('complete');
  });

  test('that is another with each answer is read as if it had none', async () => {
    await using clinic = await readBefore();
    let count = 0;
    clinic.world.answer = (usual) => {
      count += 1;
      return { ...usual, headers: { etag: `"${count}"` } };
    };
    for (let reading = 0; reading < 3; reading += 1) expect(await clinic.read()).toEqual(clinic.first);
  });

  test('that stays although the rows changed hides it for as long as the profile trusts', async () => {
    await using clinic = await readBefore();
    const stays = (usual: ScriptedAnswer, { headers }: ScriptedRequest) =>
      headers['if-none-match'] === undefined ? { ...usual, headers: { etag: '"stays"' } } : { status: 304 };
    clinic.world.answer = stays;
    clinic.memory.distrust();
    await clinic.read();
    clinic.world.rows[0] = rowOf('a', { hour: 12 });
    const changed = Date.parse('2026-03-01T12:00:00Z');
    expect((await clinic.read()).records.get('a')?.time.startAt).not.toBe(changed);
    clinic.world.now += WHOLE_EVERY_MS;
    expect((await clinic.read()).records.get('a')?.time.startAt).toBe(changed);
  });
});

describe('no condition is made of', () => {
  test.each<[string, Record<string, string>]>([
    ['a time of the last change', { 'last-modified': 'Sun, 01 Mar 2026 07:00:00 GMT' }],
    ['an ETag out of a cache', { etag: '"1"', age: '5' }],
    ['an ETag of an answer that depends on anything', { etag: '"1"', vary: 'accept, *' }],
    ['an ETag that is none', { etag: 'as it comes' }],
    ['an ETag without end', { etag: `"${'x'.repeat(600)}"` }],
  ])('%s', async (_, headers) => {
    await using clinic = await openRememberingClinic();
    clinic.world.rows = [...FIVE];
    clinic.world.answer = (usual) => ({ ...usual, headers });
    await clinic.read();
    await clinic.read();
    expect(clinic.asked()).toEqual([null, null, null, null]);
    expect(clinic.server.requests.every((request) => request.headers['if-modified-since'] === undefined)).toBe(true);
  });
});

describe('an answer "not modified"', () => {
  test('without a condition is not believed; the page is requested again', async () => {
    await using clinic = await openRememberingClinic();
    clinic.world.rows = [...FIVE];
    let isFirst = true;
    clinic.world.answer = (usual) => {
      const answer = isFirst ? { status: 304, headers: { etag: '"x"' } } : usual;
      isFirst = false;
      return answer;
    };
    expect((await clinic.read()).records.size).toBe(5);
    expect(clinic.asked()).toEqual([null, null, null]);
  });

  test('to every request ends the read with an error', async () => {
    await using clinic = await readBefore();
    clinic.memory.distrust();
    clinic.world.answer = () => ({ status: 304 });
    expect(await failureOf(clinic.read())).toMatchObject({ code: 'unasked-not-modified', actor: 'contract' });
  });

  test('for rows evicted from memory is not believed', async () => {
    const room = new CacheBudget(1_000);
    await using clinic = await readBefore({}, room);
    const usual = withEtags();
    clinic.world.answer = (answer, request) => {
      if (request.headers['if-none-match'] !== undefined) room.use({ invalidate() {} }, 1_000);
      return usual(answer, request);
    };
    clinic.world.rows[0] = rowOf('a', { hour: 12 });
    const snapshot = await clinic.read();
    expect(snapshot).toEqual(await clinic.readAnew());
    expect(clinic.asked().slice(0, 2)).toEqual([expect.any(String), null]);
  });

  test.each<[string, Record<string, string>]>([
    ['out of a cache', { age: '7' }],
    ['of another ETag', { etag: '"another"' }],
  ])('%s is not believed, nor asked for again until all was read', async (_, headers) => {
    await using clinic = await readBefore();
    const usual = withEtags();
    clinic.world.answer = (answer, request) =>
      request.headers['if-none-match'] === undefined ? usual(answer, request) : { status: 304, headers };
    clinic.world.rows[0] = rowOf('a', { hour: 12 });
    const second = await clinic.read();
    expect(second.records.get('a')?.time.startAt).toBe(Date.parse('2026-03-01T12:00:00Z'));
    expect(clinic.asked()).toEqual([expect.any(String), null, null]);
    await clinic.read();
    expect(clinic.asked()).toEqual([null, null]);
    clinic.world.now += WHOLE_EVERY_MS;
    await clinic.read();
    clinic.asked();
    await clinic.read();
    expect(clinic.asked()[0]).toEqual(expect.any(String));
  });
});

test('makes intermediate caches revalidate with the clinic', async () => {
  await using clinic = await readBefore();
  await clinic.read();
  const told = clinic.server.requests.map(({ headers }) => headers['cache-control']);
  expect(told.length).toBeGreaterThan(0);
  expect(new Set(told)).toEqual(new Set(['max-age=0']));
});

describe('paging in headers', () => {
  /** ETags of the body only, and 304 without the headers that RFC 9110 allows a server to omit. */
  function linked(rowsPerPage: number, isTellingLinks: boolean) {
    return (usual: ScriptedAnswer, request: ScriptedRequest) => {
      const all = (usual.json as { data: object[] }).data;
      const offset = Number(request.query.get('offset') ?? 0);
      const rows = all.slice(offset, offset + rowsPerPage);
      const etag = JSON.stringify(Buffer.from(JSON.stringify(rows)).toString('base64url').slice(0, 400));
      const isLast = offset + rowsPerPage >= all.length;
      const link = isLast ? {} : { link: `</v2/tenants/t/appointments?offset=${offset + rowsPerPage}>; rel="next"` };
      return request.headers['if-none-match'] === etag
        ? { status: 304, headers: isTellingLinks ? link : {} }
        : { json: rows, headers: { etag, ...link } };
    };
  }

  test.each([true, false])(
    'follows the links that are kept, or told again (%s), and sees the page after the last',
    async (isConclusive) => {
      await using clinic = await openRememberingClinic({
        paging: { style: 'link-header', sizeParameter: null },
        listPath: null,
      });
      const rows = ['a', 'b', 'c', 'd'].map((id) => rowOf(id));
      const page = linked(2, isConclusive);
      clinic.world.answer = (_, request) => page({ json: { data: clinic.world.rows.map(told) } }, request);
      clinic.world.rows = rows;
      expect((await clinic.read()).records.size).toBe(4);
      clinic.asked();
      expect((await clinic.read()).records.size).toBe(4);
      // Only its header shows whether a page follows the last one.
      expect(clinic.asked()).toEqual([expect.any(String), null]);
      clinic.world.rows = [...rows, rowOf('e')];
      expect((await clinic.read()).records.size).toBe(5);
    },
  );

  test('sees the page after the last where a header holds the cursor', async () => {
    await using clinic = await openRememberingClinic({
      paging: { style: 'cursor', cursorPath: 'header:X-Next', sizeParameter: null },
      listPath: null,
    });
    clinic.world.answer = (_, { query, headers }) => {
      const from = Number(query.get('cursor') ?? 0);
      const json = clinic.world.rows.map(told).slice(from, from + 2);
      const etag = `"${from}-${json.length}"`;
      if (headers['if-none-match'] === etag) return { status: 304 };
      return { json, headers: { etag, ...(from + 2 < clinic.world.rows.length && { 'x-next': String(from + 2) }) } };
    };
    clinic.world.rows = ['a', 'b', 'c', 'd'].map((id) => rowOf(id));
    expect((await clinic.read()).records.size).toBe(4);
    clinic.asked();
    expect((await clinic.read()).records.size).toBe(4);
    expect(clinic.asked()).toEqual(['"0-2"', null]);
    clinic.world.rows = [...clinic.world.rows, rowOf('e')];
    expect((await clinic.read()).records.size).toBe(5);
  });

  test.each([
    ['the total', { ends: ['total'], totalPath: 'header:X-Sum', hasMorePath: null }],
    ['whether more follow', { ends: ['has-more'], hasMorePath: 'header:X-More', totalPath: null }],
  ] as const)('requests only the last page again if a header holds %s', async (_what, places) => {
    const paging = { style: 'next-link' as const, linkPath: 'header:X-Next', ...places, ends: [...places.ends] };
    await using clinic = await openRememberingClinic({ paging });
    clinic.world.rows = ['a', 'b'].map((id) => rowOf(id));
    clinic.world.answer = (_, { query }) => {
      const from = Number(query.get('row') ?? 0);
      const next = from === 0 && { 'x-next': '?row=1' };
      const headers = { etag: `"${from}"`, 'x-sum': '2', 'x-more': String(from === 0), ...next };
      return { json: { data: clinic.world.rows.map(told).slice(from, from + 1) }, headers };
    };
    for (let reading = 0; reading < 2; reading += 1) {
      expect(await clinic.read()).toMatchObject({ completeness: 'complete' });
    }
    expect(clinic.asked()).toEqual([null, null, '"0"', null]);
  });

  describe('the total in a header, and an ETag of the body only', () => {
    /** A clinic that pages by offset; its 304 leave the total out. */
    async function openCounting(count: number, cap: number | null = null) {
      const clinic = await openRememberingClinic({
        paging: {
          style: 'offset-limit',
          size: 3,
          cap,
          totalPath: 'header:X-Total-Count',
          hasMorePath: null,
          ends: ['total'],
        },
        listPath: null,
      });
      const ids = Array.from({ length: count }, (_, index) => `r${index}`);
      clinic.world.rows = ids.map((id) => rowOf(id));
      clinic.world.answer = (_, { query, headers }) => {
        const from = Number(query.get('offset') ?? 0);
        const json = clinic.world.rows.map(told).slice(from, from + 3);
        const etag = `"${Buffer.from(JSON.stringify(json)).toString('base64url').slice(-200)}"`;
        if (headers['if-none-match'] === etag) return { status: 304 };
        return { json, headers: { etag, 'x-total-count': String(clinic.world.rows.length) } };
      };
      return clinic;
    }

    test.each([
      { rows: 2, cap: 3, asked: ['"'], why: 'one page with room' },
      { rows: 2, asked: [null], why: 'one page that may be full: a server may return fewer rows than requested' },
      { rows: 3, asked: [null], why: 'one full page, which another one may follow' },
      { rows: 8, asked: ['"', '"', '"'], why: 'full pages that are followed, and a last one with room' },
      { rows: 6, asked: ['"', null], why: 'full pages of which the last may be followed' },
    ])('asks with conditions where the rows cover it: $why', async ({ rows, cap = null, asked }) => {
      await using clinic = await openCounting(rows, cap);
      expect((await clinic.read()).records.size).toBe(rows);
      clinic.asked();
      expect(await clinic.read()).toMatchObject({ completeness: 'complete' });
      expect(clinic.asked().map((etag) => etag?.slice(0, 1) ?? null)).toEqual(asked);
    });

    test('every read equals a read without conditions, whatever changes', async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.nat(9),
          fc.array(fc.tuple(fc.boolean(), fc.nat(9)), { maxLength: 4 }),
          async (count, changes) => {
            await using clinic = await openCounting(count);
            await clinic.read();
            for (const [index, [isAdded, at]] of changes.entries()) {
              const rows = [...clinic.world.rows];
              if (isAdded) rows.splice(at, 0, rowOf(`new${index}`));
              else rows.splice(at, 1);
              clinic.world.rows = rows;
              const [known, anew] = [await clinic.read(), await clinic.readAnew()];
              expect([known.completeness, [...known.records.keys()].sort()]).toEqual([
                anew.completeness,
                [...anew.records.keys()].sort(),
              ]);
            }
          },
        ),
        { numRuns: 60 },
      );
    });
  });

  test('uses the newest total', async () => {
    await using clinic = await openRememberingClinic({ paging: { style: 'none' } });
    clinic.world.rows = ['a', 'b', 'c'].map((id) => rowOf(id));
    let total = 3;
    const rows = { json: { data: clinic.world.rows.map(told) } };
    clinic.world.answer = (_, request) => ({
      ...(request.headers['if-none-match'] === undefined ? rows : { status: 304 }),
      headers: { etag: '"rows"', 'x-total-count': String(total) },
    });
    expect(await clinic.read()).toMatchObject({ completeness: 'complete' });
    expect(await clinic.read()).toMatchObject({ completeness: 'complete' });
    total = 4;
    expect(await clinic.read()).toMatchObject({ completeness: 'partial', reason: 'next-page-told' });
    expect(clinic.asked()).toEqual([null, '"rows"', '"rows"']);
  });
});

test('every read of a changing list equals a read without conditional requests', async () => {
  const row = fc.record({
    id: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g'),
    status: fc.constantFrom('Booked', 'Cancelled'),
    // The last start is shortly after the window.
    start: fc.constantFrom('2026-03-01T10:00:00Z', '2026-03-01T11:00:00Z', 'no time', '2026-03-03T08:10:00Z'),
    end: fc.constant('2026-03-03T09:00:00Z'),
  });
  const step = fc.record({
    list: fc.array(row, { maxLength: 9 }),
    minutes: fc.integer({ min: 0, max: 20 }),
    again: fc.nat(2),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 6 }), async (steps) => {
      await using clinic = await openRememberingClinic();
      clinic.world.answer = withEtags();
      for (const { list, minutes, again } of steps) {
        clinic.world.rows = list;
        clinic.world.now += minutes * MINUTE_MS;
        for (let reading = 0; reading <= again; reading += 1)
          expect(essential(await clinic.read())).toEqual(essential(await clinic.readAnew()));
      }
    }),
    { numRuns: 40 },
  );
});

/** All but what it took. */
function essential({
  pages: _,
  requests: __,
  ...snapshot
}: Awaited<ReturnType<Awaited<ReturnType<typeof openRememberingClinic>>['read']>>) {
  return { ...snapshot, unusable: [...snapshot.unusable].map(({ code, recordId }) => `${recordId} ${code}`).sort() };
}

describe('a list with more rows than the profile allows', () => {
  const most = (maxRecords: number): WrittenProfile => ({ limits: { maxRecords } });

  test('counts as not read, and its error names the list, the limit and the setting', async () => {
    await using clinic = await openRememberingClinic(most(4));
    clinic.world.rows = [...FIVE];
    const failure = await failureOf(clinic.read());
    expect(failure).toMatchObject({ code: 'too-many-records', actor: 'settings', retry: 'later' });
    expect(failure.message).toContain('clinic.appointments.list');
    expect(failure.message).toContain('4');
    expect(JSON.stringify(failure.remedy)).toContain('profiles/test.yaml');
    clinic.world.rows = FIVE.slice(0, 4);
    expect((await clinic.read()).records.size).toBe(4);
  });

  test('is counted over all calls of a read', async () => {
    await using clinic = await openRememberingClinic({ ...most(5), appointments: { window: { maxDays: 1 } } });
    clinic.world.rows = [...FIVE];
    const failure = await failureOf(clinic.read());
    expect(failure.code).toBe('too-many-records');
  });

  test('is not mistaken for a list that is read again because it changed', async () => {
    await using clinic = await openRememberingClinic(most(5));
    clinic.world.rows = [...FIVE];
    let answers = 0;
    clinic.world.answer = (usual) => {
      answers += 1;
      return answers === 2 ? { json: { ...(usual.json as object), total: 6, data: [] } } : usual;
    };
    const { completeness, records } = await clinic.read();
    expect([completeness, records.size]).toEqual(['complete', 5]);
  });
});
