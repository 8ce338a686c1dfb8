import { describe, expect, test } from 'vitest';
import { toCalendarObject } from '../../../src/connectors/caldav/from-model.ts';
import { NO_DESCRIPTION, NO_PRESETS } from '../../../src/connectors/event-content.ts';
import type { MirrorError } from '../../../src/core/model/errors.ts';
import type { Operation, Outcome } from '../../../src/core/model/operations.ts';
import {
  createOperation,
  deleteOperation,
  describeOutcome,
  itemWith,
  keyOf,
  sealedRecordIdOf,
  updateOperation,
} from '../../contract/contract-kit.ts';
import {
  davError,
  MARK,
  member,
  multistatus,
  openOn,
  type Script,
  type ScriptedAnswer,
  type ScriptedServer,
  type SeenRequest,
  serve,
  signal,
  stored,
} from './scripted-server.ts';

async function applyOn(server: ScriptedServer, ...operations: Operation[]): Promise<Outcome[]> {
  return await openOn(server).apply(server.container, operations, signal());
}

const HREF = `/cal/${keyOf('a')}.ics`;

const create = createOperation('a');

const update = updateOperation('a', itemWith({ title: 'New' }), '"1"');

const remove = deleteOperation('a', '"1"');

/** Our object for record `a` as a server holds it. */
function ours(title = 'Appointment', ownerTag = MARK, key = keyOf('a')): string {
  const item = itemWith({ title });
  return toCalendarObject({
    key,
    ownerTag,
    sealedRecordId: sealedRecordIdOf('a'),
    revision: 1,
    item,
    writtenAt: 0,
    stored: { sequence: 4, userText: '', descriptionParts: NO_DESCRIPTION, presets: NO_PRESETS },
  });
}

const CREATED: ScriptedAnswer = { status: 201, headers: { etag: '"1"' } };

const DONE: ScriptedAnswer = { status: 204, headers: { etag: '"2"' } };

const EXISTS: ScriptedAnswer = { status: 412 };

/** Answers of one kind of request, one after another; the last one stays. */
function inTurn(...answers: ScriptedAnswer[]): () => ScriptedAnswer {
  let next = 0;
  return () => answers[Math.min(next++, answers.length - 1)]!;
}

function byMethod(answers: Record<string, (request: SeenRequest) => ScriptedAnswer>): Script {
  return (request) => answers[request.method]?.(request) ?? { status: 500, body: 'unforeseen' };
}

describe('a create', () => {
  test('requests a single object if the server omits the object from its answer', async () => {
    const server = await serve(
      byMethod({
        PUT: () => EXISTS,
        REPORT: () => multistatus(member('/cal/', '200 OK')),
        GET: () => ({ status: 200, headers: { etag: '"7"', 'content-type': 'text/calendar' }, body: ours() }),
      }),
    );
    expect(await applyOn(server, create)).toMatchObject([{ effect: 'adopted', versionTag: '"7"' }]);
  });
});

describe('ETags', () => {
  test.each([undefined, 'W/"1"'])('that are missing or weak are learnt with one question for all: %s', async (etag) => {
    const server = await serve(
      byMethod({
        PUT: () => ({ status: 201, ...(etag === undefined ? {} : { headers: { etag } }) }),
        REPORT: ({ body }) =>
          multistatus(
            ...[...body.matchAll(/<D:href>(\/cal\/(\w+)\.ics)/g)].map(([, href, key]) =>
              stored(href!, '"learnt"', ours('As the server spells it', MARK, key)),
            ),
          ),
      }),
    );
    const outcomes = await applyOn(server, create, createOperation('b'), createOperation('c'));
    expect(outcomes.map((outcome) => 'stored' in outcome && outcome.stored)).toEqual(
      Array(3).fill(itemWith({ title: 'As the server spells it' })),
    );
    expect(outcomes.map((outcome) => 'versionTag' in outcome && outcome.versionTag)).toEqual(Array(3).fill('"learnt"'));
    expect(server.log().filter((line) => line.startsWith('REPORT'))).toHaveLength(1);
  });

  test('that the server does not send cost a check before the next write, not the write', async () => {
    const noTag = (data: string) => multistatus(stored(HREF, 'W/&quot;1&quot;', data));
    const server = await serve(byMethod({ PUT: () => ({ status: 204 }), REPORT: () => noTag(ours()) }));
    expect(await applyOn(server, create)).toMatchObject([{ result: 'written', versionTag: null }]);
    expect(await applyOn(server, { ...update, versionTag: null })).toMatchObject([{ effect: 'updated' }]);
    const write = server.requests.findLast(({ method }) => method === 'PUT');
    expect(write?.headers['if-match']).toBeUndefined();
  });

  test('that cannot be learnt do not turn a write into a failure', async () => {
    const server = await serve(byMethod({ PUT: () => ({ status: 201 }), REPORT: () => ({ status: 500 }) }));
    expect(await applyOn(server, create)).toMatchObject([{ effect: 'created', versionTag: null }]);
  });

  test('of a concurrent foreign write are not treated as the tags of the write by clinic-mirror', async () => {
    const foreign = ours('Theirs', 'otherotherother0');
    const server = await serve(
      byMethod({ PUT: () => ({ status: 201 }), REPORT: () => multistatus(stored(HREF, '"9"', foreign)) }),
    );
    const [outcome] = await applyOn(server, create);
    expect(outcome).toMatchObject({ effect: 'created', versionTag: null });
    expect(outcome).not.toHaveProperty('stored');
  });

  test('that are strong prove that the object is stored as sent, so the object is not read back', async () => {
    const server = await serve(() => CREATED);
    const [outcome] = await applyOn(server, create);
    expect(outcome).not.toHaveProperty('stored');
    expect(server.log()).toEqual([`PUT ${HREF}`]);
  });

  test('without quotes are quoted', async () => {
    const server = await serve(
      byMethod({ PUT: inTurn(EXISTS, DONE), REPORT: () => multistatus(stored(HREF, 'abc', ours('Old'))) }),
    );
    await applyOn(server, create);
    expect(server.requests[2]!.headers['if-match']).toBe('"abc"');
  });
});

describe('a delete', () => {
  test('in a calendar that is gone is an error of the whole target', async () => {
    const server = await serve(() => ({ status: 404 }));
    await expect(applyOn(server, remove)).rejects.toMatchObject({ actor: 'settings', code: 'calendar-gone' });
  });

  test("that a trash bin refuses requires an administrator to empty the bin and doesn't stop other deletes", async () => {
    const message =
      'A calendar object with URI x-deleted.ics already exists in calendar 23, therefore this object can’t be moved into the trashbin';
    const server = await serve(
      byMethod({ DELETE: () => davError(403, `<s:message>${message}</s:message>`), PUT: () => CREATED }),
    );
    const outcomes = await applyOn(server, remove, createOperation('b'));
    expect(outcomes.map(describeOutcome)).toEqual(['failed settings/trash-bin-keeps-name', 'written created']);
  });
});

describe('refusals', () => {
  test.each([
    [403, '<c:valid-calendar-data/>', 'contract', 'record-refused', 'never'],
    [
      403,
      '<c:valid-calendar-data/><d:responsedescription>no</d:responsedescription>',
      'contract',
      'record-refused',
      'never',
    ],
    [409, '<c:supported-calendar-component/>', 'contract', 'record-refused', 'never'],
    [403, '<c:max-resource-size/>', 'contract', 'record-too-large', 'never'],
    [413, '', 'contract', 'record-too-large', 'never'],
    [415, '', 'contract', 'record-refused', 'never'],
    [423, '', 'remote', 'record-locked', 'later'],
    [500, '', 'remote', 'server-error', 'later'],
  ])('%i %s concerns one object and does not stop the others', async (status, condition, actor, code, retry) => {
    const server = await serve(({ path }) => (path === HREF ? davError(status, condition) : CREATED));
    const [failed, other] = await applyOn(server, create, createOperation('b'));
    expect(failed).toMatchObject({ result: 'failed', error: { actor, code, retry, status } });
    expect(describeOutcome(other)).toBe('written created');
  });

  test.each([
    [403, '<d:need-privileges/>', 'settings', 'calendar-read-only'],
    [403, '<d:need-privileges/><d:responsedescription>no</d:responsedescription>', 'settings', 'calendar-read-only'],
    [403, '<d:quota-not-exceeded/>', 'settings', 'storage-full'],
    [507, '', 'settings', 'storage-full'],
    [418, '', 'contract', 'unexpected-status'],
  ])('%i %s concerns the target: the rest is not sent', async (status, condition, actor, code) => {
    const server = await serve(({ path }) => (path === HREF ? CREATED : davError(status, condition)));
    const outcomes = await applyOn(server, create, createOperation('b'), createOperation('c'));
    expect(outcomes.map(describeOutcome)).toEqual([
      'written created',
      `failed ${actor}/${code}`,
      `failed ${actor}/${code}`,
    ]);
    expect(server.log()).toHaveLength(2);
    await expect(applyOn(server, createOperation('b'))).rejects.toMatchObject({ actor, code });
  });

  test('a calendar that goes away in the middle ends the series', async () => {
    let isThere = true;
    const server = await serve(({ method }) => {
      if (!isThere) return { status: method === 'PUT' ? 409 : 404 };
      isThere = false;
      return CREATED;
    });
    const outcomes = await applyOn(server, create, createOperation('b'), createOperation('c'));
    expect(outcomes.map(describeOutcome)).toEqual([
      'written created',
      'failed settings/calendar-gone',
      'failed settings/calendar-gone',
    ]);
  });

  test('a failure in the middle leaves unsent operations certain', async () => {
    const server = await serve(({ path }) => (path === HREF ? CREATED : { status: 504 }));
    const outcomes = await applyOn(server, create, createOperation('b'), createOperation('c'));
    const ambiguous = outcomes.map((outcome) => (outcome.result === 'failed' ? outcome.error.ambiguous : null));
    expect(ambiguous).toEqual([null, true, false]);
  });

  test('an aborted call reports its unsent operations', async () => {
    const stop = new AbortController();
    const server = await serve(({ path }) => {
      if (path !== HREF) stop.abort();
      return CREATED;
    });
    const operations = [create, createOperation('b'), createOperation('c')];
    const outcomes = await openOn(server).apply(server.container, operations, stop.signal);
    expect(outcomes.map(describeOutcome)).toEqual([
      'written created',
      'failed remote/aborted',
      'failed remote/aborted',
    ]);
    expect(outcomes).toMatchObject([{}, { error: { ambiguous: true } }, { error: { ambiguous: false } }]);
    expect(server.log()).toHaveLength(2);
  });
});

describe('the login', () => {
  test('is renewed once and the request repeated', async () => {
    const server = await serve(({ headers }) => (headers.authorization === 'Basic new' ? CREATED : { status: 401 }));
    const outcomes = await openOn(server, undefined, 'Basic new').apply(server.container, [create], signal());
    expect(outcomes.map(describeOutcome)).toEqual(['written created']);
  });

  test('that remains refused stops all operations after the second answer', async () => {
    const server = await serve(() => ({ status: 401 }));
    const failure = applyOn(server, create, createOperation('b'));
    await expect(failure).rejects.toMatchObject({ actor: 'authorization', retry: 'never', status: 401 });
    expect(server.log()).toHaveLength(2);
  });
});

describe('waits and other servers', () => {
  test.each([
    [429, '120', 120_000],
    [503, '30', 30_000],
    [429, undefined, 10_000],
  ])('%i with Retry-After %s ends the series', async (status, wait, retryAfterMs) => {
    const server = await serve(() => ({ status, ...(wait === undefined ? {} : { headers: { 'retry-after': wait } }) }));
    const error: MirrorError = await applyOn(server, create, createOperation('b')).catch((thrown) => thrown);
    expect(error).toMatchObject({ actor: 'remote', retry: 'later', status, ambiguous: status === 503 });
    expect(error.retryAfterMs).toBe(retryAfterMs);
    expect(server.log()).toHaveLength(1);
  });

  test.each([
    [1, 'written created'],
    [2, 'failed remote/connection-failed'],
  ])('after %i broken connections running the next operation is %s', async (broken, next) => {
    const server = await serve(() => (server.requests.length <= broken ? 'cut' : CREATED));
    const outcomes = await applyOn(server, create, createOperation('b'), createOperation('c'));
    expect(describeOutcome(outcomes[0])).toBe('failed remote/connection-failed');
    expect(describeOutcome(outcomes[2])).toBe(next);
    expect(server.log()).toHaveLength(broken === 1 ? 3 : 2);
  });

  test('a web page in answer to a write is no success', async () => {
    const page = { status: 200, headers: { 'content-type': 'text/html' }, body: '<!DOCTYPE html><html></html>' };
    const server = await serve(() => page);
    await expect(applyOn(server, create)).rejects.toMatchObject({ code: 'not-a-caldav-answer', ambiguous: true });
  });

  test.each([301, 302, 307, 308])(
    'a redirect within the site by %i keeps the method, body and credentials',
    async (status) => {
      const server = await serve(({ path }) =>
        path.startsWith('/cal/') ? { status, headers: { location: path.replace('/cal/', '/new/') } } : CREATED,
      );
      expect((await applyOn(server, create)).map(describeOutcome)).toEqual(['written created']);
      const [first, second] = server.requests;
      expect(second).toEqual({ ...first, path: HREF.replace('/cal/', '/new/') });
    },
  );

  test('a redirect to another site receives neither credentials nor content', async () => {
    const elsewhere = await serve(() => CREATED);
    const server = await serve(() => ({ status: 307, headers: { location: `${elsewhere.url}/cal/x.ics` } }));
    await expect(applyOn(server, create)).rejects.toMatchObject({ actor: 'settings', code: 'redirected-elsewhere' });
    expect(elsewhere.requests).toEqual([]);
  });

  test('a redirect to a URL of more than 2,048 characters is not followed', async () => {
    const server = await serve(() => ({ status: 307, headers: { location: `/${'a'.repeat(2_048)}/x.ics` } }));
    await expect(applyOn(server, create)).rejects.toMatchObject({ actor: 'contract', code: 'answer-too-large' });
    expect(server.requests).toHaveLength(1);
  });

  test('a redirect that leads in circles ends', async () => {
    const server = await serve(({ path }) => ({ status: 302, headers: { location: path } }));
    await expect(applyOn(server, create)).rejects.toMatchObject({ code: 'redirected-elsewhere' });
    expect(server.log().length).toBeLessThan(10);
  });
});
