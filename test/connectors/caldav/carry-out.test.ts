import { describe, expect, test } from 'vitest';
import type { Collection } from '../../../src/connectors/caldav/collection.ts';
import { fromCalendarObject, toCalendarObject } from '../../../src/connectors/caldav/from-model.ts';
import { DavSession } from '../../../src/connectors/caldav/webdav.ts';
import { carryOut, type Seen } from '../../../src/connectors/caldav/writing.ts';
import { NO_DESCRIPTION, NO_PRESETS } from '../../../src/connectors/event-content.ts';
import type { HttpClient, HttpRequest } from '../../../src/core/http/client.ts';
import { MirrorError } from '../../../src/core/model/errors.ts';
import type { Operation } from '../../../src/core/model/operations.ts';
import {
  createOperation,
  deleteOperation,
  itemWith,
  keyOf,
  sealedRecordIdOf,
  updateOperation,
} from '../../contract/contract-kit.ts';
import { etag as listed, withToken } from './scripted-calendar.ts';
import {
  davError,
  LOGIN,
  MARK,
  member,
  multistatus,
  type ScriptedAnswer,
  signal,
  stored,
  found as told,
} from './scripted-server.ts';

const CALENDAR = 'https://dav.example.org/cal/';
const KEY = keyOf('a');
const NAME = `${KEY}.ics`;
const HREF = `/cal/${NAME}`;
/** Name of an object that needs escapes in a URL. */
const SPACED = 'moved%20away.ics';
const WANTED = itemWith({ title: 'New' });
const OLD = itemWith({ title: 'Old' });
const create = createOperation('a', WANTED);
const mayExist = { ...create, mayExist: true };
const update = (versionTag: string | null = '"1"', remoteId: string | null = null) =>
  updateOperation('a', WANTED, versionTag, remoteId);
const remove = (versionTag: string | null = '"1"', remoteId: string | null = null) =>
  deleteOperation('a', versionTag, remoteId);
const erase = { ...remove(), erase: true };

interface ObjectChanges {
  ownerTag?: string;
  key?: string;
  sealedRecordId?: string;
  revision?: number;
  item?: typeof WANTED;
}

/** Our object as a server holds it, with what the operations want. */
function ours(changes: ObjectChanges = {}): string {
  const { ownerTag = MARK, key = KEY, sealedRecordId = sealedRecordIdOf('a'), revision = 1, item = WANTED } = changes;
  return toCalendarObject({
    ownerTag,
    key,
    sealedRecordId,
    revision,
    item,
    writtenAt: 0,
    stored: { sequence: 4, userText: '', descriptionParts: NO_DESCRIPTION, presets: NO_PRESETS },
  });
}

const done = (status = 204, headers: Record<string, string> = { etag: '"2"' }): ScriptedAnswer => ({ status, headers });
const status = (code: number): ScriptedAnswer => ({ status: code });
/** A check that finds an object under a name. */
const there = (changes?: ObjectChanges, href = HREF) => multistatus(stored(href, '"7"', ours(changes)));
const nothing = multistatus(member(HREF, '404 Not Found'));
/** The calendar itself, and the privileges of the connection as far as the server reports them. */
const calendar = (...privileges: string[]) =>
  multistatus(
    told(
      '/cal/',
      `<d:resourcetype><d:collection/><c:calendar/></d:resourcetype><d:current-user-privilege-set>${privileges
        .map((name) => `<d:privilege><d:${name}/></d:privilege>`)
        .join('')}</d:current-user-privilege-set>`,
    ),
  );
/** No search knows of an object under another name. */
const notRenamed = [multistatus(), withToken(multistatus(), 't')];
const renamed = (changes?: ObjectChanges) => [
  multistatus(listed('/cal/renamed.ics')),
  there(changes, '/cal/renamed.ics'),
];
const searches = ['REPORT mark', 'REPORT changes'];
const found = ['REPORT mark', 'REPORT renamed.ics'];
/** A taken UID is searched for before. */
const foundByUid = ['REPORT UID', 'REPORT renamed.ics'];
const uidTaken = (href = '', condition = 'no-uid-conflict') =>
  davError(
    href === '' ? 403 : 409,
    `<c:${condition}>${href === '' ? '' : `<d:href>${href}</d:href>`}</c:${condition}>`,
  );

const put = (condition: string, name = NAME) => `PUT ${name} ${condition}`;
const free = 'if-none-match *';
const del = (condition: string, name = NAME) => `DELETE ${name} ${condition}`.trim();
const look = `REPORT ${NAME}`;

/** Returns a request in one line: method, name, and the condition or the data that a report requests. */
function lineOf({ method = 'GET', url, headers = {}, body = '' }: HttpRequest): string {
  const name = new URL(url).pathname.replace('/cal/', '');
  const text = String(body);
  if (method === 'REPORT') {
    const kind = ['UID', 'X-CLINIC-MIRROR'].find((property) => text.includes(`prop-filter name="${property}"`));
    if (kind !== undefined) return kind === 'UID' ? 'REPORT UID' : 'REPORT mark';
    if (text.includes('sync-collection')) return 'REPORT changes';
    return `REPORT ${[...text.matchAll(/<D:href>\/cal\/([^<]*)/g)].map(([, asked]) => asked).join()}`;
  }
  const condition = ['if-match', 'if-none-match'].flatMap((field) =>
    headers[field] === undefined ? [] : `${field} ${headers[field]}`,
  );
  return [method, name, ...condition].join(' ');
}

/** Carries out one operation on a server with these answers, in this order; each answer must be used, and no further request is allowed. */
async function carry(operation: Operation, answers: ScriptedAnswer[], seen?: Seen) {
  const log: string[] = [];
  const bodies: string[] = [];
  const send = async (request: HttpRequest) => {
    const answer = answers[log.length];
    log.push(lineOf(request));
    bodies.push(String(request.body ?? ''));
    if (answer === undefined) throw new Error(`unexpected request ${log.at(-1)}`);
    const body = Buffer.from(answer.body ?? '');
    return { status: answer.status, headers: new Headers(answer.headers), body, retryAfterMs: null, url: request.url };
  };
  const authorizer = { header: async () => LOGIN, renew: async () => LOGIN, quotaUser: null };
  const url = new URL(CALENDAR);
  const session = new DavSession({ authorizer, http: { send } as unknown as HttpClient }, url);
  const collection: Collection = { session, url, isOwn: false, ownerTag: MARK, clock: () => 0, signal: signal() };
  const result = await carryOut(collection, operation, seen).catch((error: unknown) => {
    if (error instanceof MirrorError) return error;
    throw error;
  });
  expect(log, 'as many requests as answers').toHaveLength(answers.length);
  const [outcome, where] =
    result instanceof MirrorError ? [result, null] : [result.outcome, result.url?.pathname ?? null];
  return { log, bodies, outcome, where };
}

const seen = (changes?: ObjectChanges, name = NAME, etag: string | null = '"7"') => ({
  url: new URL(name, CALENDAR),
  etag,
  content: fromCalendarObject(ours(changes)),
});
const wrote = (effect: string, versionTag: string | null = '"2"', remoteId: string | null = null) => ({
  recordId: 'a',
  result: 'written',
  effect,
  versionTag,
  remoteId,
});
const deletion = (effect: 'deleted' | 'already-gone') => ({ recordId: 'a', result: 'deleted', effect });
const BURNT = { recordId: 'a', result: 'key-burnt' };
const MEANWHILE = { code: 'changed-meanwhile', retry: 'now' };
const FOREIGN: ObjectChanges[] = [{ ownerTag: 'otherotherother0' }, { key: keyOf('b') }];

describe('a create', () => {
  test.each([201, 204])('is one PUT where nothing may be, done when it is answered by %i', async (code) => {
    const { log, bodies, outcome, where } = await carry(create, [done(code, { etag: '"1"' })]);
    expect(log).toEqual([put(free)]);
    expect(bodies).toEqual([toCalendarObject({ ...create, ownerTag: MARK, writtenAt: 0, stored: null })]);
    expect([outcome, where]).toEqual([wrote('created', '"1"'), HREF]);
  });

  test.each([200, 202, 203, 205])('with the inconclusive answer %i is done if the object exists', async (code) => {
    const { log, outcome } = await carry(create, [done(code), there()]);
    expect([log, outcome]).toEqual([[put(free), look], wrote('created', '"7"')]);
    for (const answer of [nothing, there({ item: OLD }), there({ revision: 2 }), ...FOREIGN.map((one) => there(one))]) {
      const unproved = await carry(create, [done(code), answer]);
      expect(unproved.outcome).toMatchObject({ code: 'not-a-caldav-answer', retry: 'later', ambiguous: true });
    }
  });

  test.each([302, 500])('is not done when it is answered by %i', async (code) => {
    expect((await carry(create, [status(code)])).outcome).toBeInstanceOf(MirrorError);
  });

  test('remembers the name from the server if the name is in this calendar and the object is new', async () => {
    const named = (code: number, location: string) => carry(create, [done(code, { etag: '"1"', location })]);
    const own = await named(201, '/cal/4711.ics');
    expect([own.outcome, own.where]).toEqual([wrote('created', '"1"', '4711.ics'), '/cal/4711.ics']);
    for (const other of [
      await named(204, '/cal/4711.ics'),
      await named(201, '/elsewhere/4711.ics'),
      await named(201, '/cal/'),
    ]) {
      expect([other.outcome, other.where]).toEqual([wrote('created', '"1"'), HREF]);
    }
  });

  test('that meets its own object adopts the object, and writes only if the content differs', async () => {
    const same = await carry(create, [status(412), there()]);
    expect(same.log).toEqual([put(free), look]);
    expect([same.outcome, same.where]).toEqual([wrote('adopted', '"7"'), HREF]);
    for (const changes of [{ item: OLD }, { revision: 0 }, { sealedRecordId: 'other' }]) {
      const { log, bodies, outcome, where } = await carry(create, [status(412), there(changes), done()]);
      expect(log).toEqual([put(free), look, put('if-match "7"')]);
      expect(bodies[2]).toContain('SEQUENCE:6');
      expect([outcome, where]).toEqual([wrote('adopted'), HREF]);
    }
  });

  test.each(FOREIGN)('never touches a foreign object under its name: %o', async (changes) => {
    const { outcome, where } = await carry(create, [status(412), there(changes)]);
    expect([outcome, where]).toEqual([BURNT, null]);
  });

  test.each([
    ['without marks', ours().replaceAll(/X-CLINIC-MIRROR.*\r\n/g, '')],
    ['with another UID', ours({ key: 'of-a-program' }).replaceAll(/X-CLINIC-MIRROR.*\r\n/g, '')],
    ['that is no event', 'BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n'],
    ['that is damaged', 'BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\n'],
  ])('writes over an object %s under its name, which only clinic-mirror can choose', async (_name, data) => {
    const there = multistatus(stored(HREF, '"7"', data));
    const { log, bodies, outcome, where } = await carry(create, [status(412), there, done()]);
    expect(log).toEqual([put(free), look, put('if-match "7"')]);
    expect(bodies[2]).toContain('X-CLINIC-MIRROR-LOCATOR');
    expect([outcome, where]).toEqual([wrote('adopted'), HREF]);
  });

  test('replaces an object under its name if the server refuses to change its UID', async () => {
    const data = ours({ key: 'of-a-program' }).replaceAll(/X-CLINIC-MIRROR.*\r\n/g, '');
    const taken = davError(409, '<c:no-uid-conflict/>');
    const there = multistatus(stored(HREF, '"7"', data));
    const { log, outcome } = await carry(create, [status(412), there, taken, status(204), done(201)]);
    expect(log.slice(2)).toEqual([put('if-match "7"'), del('if-match "7"'), put(free)]);
    expect(outcome).toEqual(wrote('recreated'));
  });

  test('yields to a later write by clinic-mirror', async () => {
    const { outcome, where } = await carry(create, [status(412), there({ revision: 2 })]);
    expect(outcome).toMatchObject({ result: 'superseded', revision: 2, remote: { remoteId: KEY, versionTag: '"7"' } });
    expect(where).toBeNull();
  });

  test('is tried once more when what it met is gone again, and no more than that', async () => {
    const { log, outcome, where } = await carry(create, [status(412), nothing, done(201)]);
    expect(log).toEqual([put(free), look, put(free)]);
    expect([outcome, where]).toEqual([wrote('created'), HREF]);
    expect((await carry(create, [status(412), nothing, status(412)])).outcome).toMatchObject(MEANWHILE);
    expect((await carry(create, [status(412), nothing, status(423)])).outcome).toMatchObject({ code: 'record-locked' });
  });

  test.each([404, 409, 410])('that is answered by %i checks whether the calendar exists', async (code) => {
    expect((await carry(create, [status(code), status(404)])).outcome).toMatchObject({ code: 'calendar-gone' });
    expect((await carry(create, [status(code), calendar()])).outcome).toMatchObject({
      code: 'record-refused',
      status: code,
    });
    for (const condition of ['<c:valid-calendar-data/>', '<x:of-tomorrow xmlns:x="urn:example"/>']) {
      const { outcome } = await carry(create, [davError(code, condition)]);
      expect(outcome).toMatchObject({ code: 'record-refused' });
    }
    // Additional error details of sabre/dav are not interpreted.
    const words = davError(code, '<s:exception>Sabre\\DAV\\Exception\\NotFound</s:exception><s:message>no</s:message>');
    expect((await carry(create, [words, status(404)])).outcome).toMatchObject({ code: 'calendar-gone' });
  });

  test.each([
    ['that is gone', status(404), 'calendar-gone'],
    ['with an empty 207', multistatus(), 'calendar-gone'],
    ['without the right to read', status(403), 'calendar-forbidden'],
    ['that may only be read', calendar('read'), 'calendar-read-only'],
    ['without privileges in its answer', calendar(), 'calendar-read-only'],
    ['that may be written', calendar('read', 'write'), 'record-refused'],
  ])('that is forbidden without a reason depends on the calendar: one %s', async (_name, answer, code) => {
    const { log, outcome } = await carry(create, [status(403), answer]);
    expect(log).toEqual([put(free), 'PROPFIND ']);
    expect(outcome).toMatchObject({ code });
  });

  test('that is answered by 405 checks whether the calendar exists', async () => {
    expect((await carry(create, [status(405), status(404)])).outcome).toMatchObject({ code: 'calendar-gone' });
    expect((await carry(create, [status(405), calendar()])).outcome).toMatchObject({ code: 'unexpected-status' });
  });

  test('that is answered by 423 asks nothing more', async () => {
    expect((await carry(create, [status(423)])).outcome).toMatchObject({ status: 423 });
  });

  test('whose answer is within a 207 is what it says there', async () => {
    const within = (code: string, more = '') => multistatus(member(HREF, code, more));
    const refused = within('412 Precondition Failed', '<d:error><c:valid-calendar-data/></d:error>');
    expect((await carry(create, [refused])).outcome).toMatchObject({ code: 'record-refused', retry: 'never' });
    expect((await carry(update(), [refused])).outcome).toMatchObject({ code: 'record-refused', retry: 'never' });
    expect((await carry(create, [within('423 Locked')])).outcome).toMatchObject({ code: 'record-locked' });
    expect((await carry(create, [within('201 Created')])).outcome).toEqual(wrote('created', null));
    // An answer without any status proves nothing.
    expect((await carry(create, [multistatus(), there()])).outcome).toEqual(wrote('created', '"7"'));
    const taken = within('412 Precondition Failed', '<d:error><c:no-uid-conflict/></d:error>');
    expect((await carry(create, [taken, ...renamed()])).outcome).toEqual(wrote('adopted', '"7"', 'renamed.ics'));
  });

  test('that is refused by a header’s name for a reason, as DAViCal does, met something', async () => {
    const unmet = davError(412, '<d:if-none-match/>');
    expect((await carry(create, [unmet, there()])).outcome).toEqual(wrote('adopted', '"7"'));
  });
});

describe('a create whose UID is in the calendar under another name', () => {
  test('adopts the object that the server names', async () => {
    const { log, outcome, where } = await carry(create, [
      uidTaken(`/cal/${SPACED}`),
      there({ item: OLD }, `/cal/${SPACED}`),
      done(),
    ]);
    expect(log).toEqual([put(free), `REPORT ${SPACED}`, put('if-match "7"', SPACED)]);
    expect([outcome, where]).toEqual([wrote('adopted', '"2"', SPACED), `/cal/${SPACED}`]);
  });

  test('searches for it where the server names none, or one of another calendar', async () => {
    for (const href of ['', '/other/x.ics']) {
      const { log, bodies, outcome, where } = await carry(create, [uidTaken(href), ...renamed()]);
      expect(log).toEqual([put(free), ...foundByUid]);
      expect(bodies[1]).toContain(KEY);
      expect([outcome, where]).toEqual([wrote('adopted', '"7"', 'renamed.ics'), '/cal/renamed.ics']);
    }
  });

  test('searches for it where what the server names is gone, unreadable, or another event', async () => {
    const named = '/cal/x.ics';
    const unreadable = multistatus(member(named, '403 Forbidden'));
    for (const seen of [multistatus(member(named, '404 Not Found')), unreadable, there({ key: keyOf('b') }, named)]) {
      const { log, outcome } = await carry(create, [uidTaken(named), seen, ...renamed()]);
      expect(log).toEqual([put(free), 'REPORT x.ics', ...foundByUid]);
      expect(outcome).toEqual(wrote('adopted', '"7"', 'renamed.ics'));
    }
  });

  test('gives up the key if the UID is in another calendar of an account with unique UIDs', async () => {
    const taken = uidTaken('/other/x.ics', 'unique-scheduling-object-resource');
    expect((await carry(create, [taken, multistatus(), ...notRenamed])).outcome).toEqual(BURNT);
    expect((await carry(create, [taken, ...renamed()])).outcome).toEqual(wrote('adopted', '"7"', 'renamed.ics'));
  });

  test('gives up the key if the object cannot be found, as in a trash bin', async () => {
    const { log, outcome, where } = await carry(create, [uidTaken(), multistatus(), ...notRenamed]);
    expect(log).toEqual([put(free), 'REPORT UID', ...searches]);
    expect([outcome, where]).toEqual([BURNT, null]);
  });

  test.each([
    [
      'says so',
      davError(
        400,
        '<s:exception>Sabre\\DAV\\Exception\\BadRequest</s:exception><s:message>Deleted calendar object with uid already exists in this calendar collection.</s:message>',
      ),
    ],
    [
      'reports an error of its database',
      davError(500, '<s:exception>Doctrine\\DBAL\\Exception\\UniqueConstraintViolationException</s:exception>'),
    ],
  ])('gives up the key if sabre/dav, with the object in its trash bin, %s', async (_name, answer) => {
    expect((await carry(create, [answer, multistatus(), ...notRenamed])).outcome).toEqual(BURNT);
  });
});

describe('a create that was tried before', () => {
  test('looks first for an object under another name', async () => {
    const { log, outcome } = await carry(mayExist, renamed());
    expect(log).toEqual(found);
    expect(outcome).toEqual(wrote('adopted', '"7"', 'renamed.ics'));
  });

  test('creates the object if none exists', async () => {
    const { log, outcome } = await carry(mayExist, [...notRenamed, done(201)]);
    expect(log).toEqual([...searches, put(free)]);
    expect(outcome).toEqual(wrote('created'));
  });
});

describe('an update', () => {
  test('is one PUT under its version tag', async () => {
    const { log, bodies, outcome, where } = await carry(update(), [done()]);
    expect(log).toEqual([put('if-match "1"')]);
    expect(bodies[0]).toContain('SUMMARY:New');
    expect([outcome, where]).toEqual([wrote('updated'), HREF]);
    const elsewhere = await carry(update('"1"', SPACED), [done()]);
    expect(elsewhere.log).toEqual([put('if-match "1"', SPACED)]);
    expect(elsewhere.outcome).toEqual(wrote('updated', '"2"', SPACED));
  });

  test.each([null, 'W/"1"'])('without a strong version tag (%s) looks first', async (versionTag) => {
    const { log, outcome } = await carry(update(versionTag), [there({ item: OLD }), done()]);
    expect(log).toEqual([look, put('if-match "7"')]);
    expect(outcome).toEqual(wrote('updated'));
  });

  test('of an object that was already checked makes no further check', async () => {
    for (const versionTag of ['"1"', null]) {
      const { log, outcome } = await carry(update(versionTag), [done()], seen({ item: OLD }));
      expect(log).toEqual([put('if-match "7"')]);
      expect(outcome).toEqual(wrote('updated'));
      const gone = await carry(update(versionTag), [...notRenamed, done(201)], null);
      expect(gone.log).toEqual([...searches, put(free)]);
    }
    expect(await carry(update(), [], seen())).toMatchObject({ outcome: wrote('updated', '"7"'), where: HREF });
  });

  test('of an object without a tag goes without a condition, right after the look', async () => {
    const { log } = await carry(update(null), [done()], seen({ item: OLD }, NAME, null));
    expect(log).toEqual([`PUT ${NAME}`]);
  });

  test.each([404, 410, 412])('of an object that is gone or changed (%i) checks the object', async (code) => {
    const changed = await carry(update(), [status(code), there({ item: OLD }), done()]);
    expect(changed.log).toEqual([put('if-match "1"'), look, put('if-match "7"')]);
    expect(changed.outcome).toEqual(wrote('updated'));
    const again = await carry(update(), [status(code), there({ item: OLD }), status(412)]);
    expect(again.outcome).toMatchObject(MEANWHILE);
    const gone = await carry(update(), [status(code), nothing, ...notRenamed, done(201)]);
    expect(gone.log).toEqual([put('if-match "1"'), look, ...searches, put(free)]);
    expect(gone.outcome).toEqual(wrote('recreated'));
  });

  test('of what a client renamed writes there, and makes no second one', async () => {
    const { log, outcome } = await carry(update(), [status(404), nothing, ...renamed({ item: OLD }), done()]);
    expect(log.slice(2)).toEqual([...found, put('if-match "7"', 'renamed.ics')]);
    expect(outcome).toEqual(wrote('updated', '"2"', 'renamed.ics'));
  });

  test.each(FOREIGN)('of an object that is foreign by now writes nothing: %o', async (changes) => {
    const { outcome } = await carry(update(), [status(412), there(changes)]);
    expect(outcome).toEqual(BURNT);
  });

  test('that is refused has not happened', async () => {
    expect((await carry(update(), [status(403), calendar()])).outcome).toMatchObject({ code: 'calendar-read-only' });
    expect((await carry(update(), [status(409), status(404)])).outcome).toMatchObject({ code: 'calendar-gone' });
    for (const [code, error] of [
      [412, MEANWHILE],
      [404, MEANWHILE],
      [410, MEANWHILE],
      [423, { code: 'record-locked' }],
      [500, { code: 'server-error' }],
    ] as const) {
      expect((await carry(update(), [status(code)], seen({ item: OLD }))).outcome).toMatchObject(error);
    }
  });

  test('yields to a later write by clinic-mirror', async () => {
    expect((await carry(update(), [], seen({ revision: 2 }))).outcome).toMatchObject({ result: 'superseded' });
  });
});

describe('a deletion', () => {
  test('is one DELETE under its version tag', async () => {
    const { log, outcome, where } = await carry(remove(), [status(204)]);
    expect(log).toEqual([del('if-match "1"')]);
    expect([outcome, where]).toEqual([deletion('deleted'), null]);
    expect((await carry(remove('"1"', 'x.ics'), [status(204)])).log).toEqual([del('if-match "1"', 'x.ics')]);
  });

  test.each([200, 202, 203])('with the inconclusive answer %i is done if the object is absent', async (code) => {
    const { log, outcome } = await carry(remove(), [status(code), nothing]);
    expect([log, outcome]).toEqual([[del('if-match "1"'), look], deletion('deleted')]);
    expect((await carry(remove(), [status(code), there()])).outcome).toMatchObject({ code: 'not-a-caldav-answer' });
  });

  test('answered by 200 with the body of a 207 is as that says', async () => {
    const said = (text: string): ScriptedAnswer => ({ ...multistatus(member(HREF, text)), status: 200 });
    expect((await carry(remove(), [said('200 OK')])).outcome).toEqual(deletion('deleted'));
    expect((await carry(remove(), [said('423 Locked')])).outcome).toMatchObject({ code: 'record-locked' });
  });

  test('that is carried out in part has not happened; in whole it has', async () => {
    const locked = multistatus(member(HREF, '423 Locked'), member('/cal/y', '204 No Content'));
    expect((await carry(remove(), [locked])).outcome).toMatchObject({ code: 'record-locked' });
    const whole = multistatus(member(HREF, '204 No Content'));
    expect((await carry(remove(), [whole])).outcome).toEqual(deletion('deleted'));
    // An answer without any status proves nothing.
    for (const silent of [multistatus(), multistatus(listed(HREF))]) {
      expect((await carry(remove(), [silent, nothing])).outcome).toEqual(deletion('deleted'));
      expect((await carry(remove(), [silent, there()])).outcome).toMatchObject({ code: 'not-a-caldav-answer' });
    }
    const gone = multistatus(member(HREF, '404 Not Found'));
    expect((await carry(remove(), [gone, nothing, ...notRenamed])).outcome).toEqual(deletion('already-gone'));
  });

  test('that is refused has not happened', async () => {
    expect((await carry(remove(), [status(403), calendar()])).outcome).toMatchObject({ code: 'calendar-read-only' });
    expect((await carry(remove(), [status(500)])).outcome).toMatchObject({ code: 'server-error' });
    expect((await carry(remove(null), [there(), status(423)])).outcome).toMatchObject({ code: 'record-locked' });
    expect((await carry(remove(null), [there(), status(412)])).outcome).toMatchObject(MEANWHILE);
  });

  test('without a version tag checks the object first, unless the object was already checked', async () => {
    const looked = await carry(remove(null), [there(), status(204)]);
    expect(looked.log).toEqual([look, del('if-match "7"')]);
    for (const versionTag of ['"1"', null]) {
      const { log, outcome } = await carry(remove(versionTag), [status(204)], seen());
      expect([log, outcome]).toEqual([[del('if-match "7"')], deletion('deleted')]);
    }
    expect((await carry(remove(null), [status(204)], seen({}, NAME, null))).log).toEqual([`DELETE ${NAME}`]);
  });

  test.each([404, 410, 412])('of an object that is gone or changed (%i) checks the object', async (code) => {
    const changed = await carry(remove(), [status(code), there(), status(204)]);
    expect(changed.log).toEqual([del('if-match "1"'), look, del('if-match "7"')]);
    expect(changed.outcome).toEqual(deletion('deleted'));
    const gone = await carry(remove(), [status(code), nothing, ...notRenamed]);
    expect(gone.outcome).toEqual(deletion('already-gone'));
  });

  test.each([404, 410])('of an object that disappears between check and deletion (%i) is done', async (code) => {
    expect((await carry(remove(null), [there(), status(code)])).outcome).toEqual(deletion('already-gone'));
  });

  test('goes after an object that a client renamed; of a second object it does not', async () => {
    const { log, outcome } = await carry(remove(), [status(404), nothing, ...renamed(), status(204)]);
    expect(log.slice(2)).toEqual([...found, del('if-match "7"', 'renamed.ics')]);
    expect(outcome).toEqual(deletion('deleted'));
    const twin = { ...remove('"1"', 'x.ics'), isDuplicate: true };
    const gone = multistatus(member('/cal/x.ics', '404 Not Found'));
    expect((await carry(twin, [status(404), gone])).outcome).toEqual(deletion('already-gone'));
  });

  test('removes an object that lost its marks, by its name', async () => {
    const unmarked = ours().replaceAll(/X-CLINIC-MIRROR.*\r\n/g, '');
    const { log, outcome } = await carry(remove(), [
      status(412),
      multistatus(stored(HREF, '"7"', unmarked)),
      status(204),
    ]);
    expect([log.at(-1), outcome]).toEqual([del('if-match "7"'), deletion('deleted')]);
  });

  test.each(FOREIGN)('leaves an object that is foreign by now: %o', async (changes) => {
    const { outcome, where } = await carry(remove(), [status(412), there(changes)]);
    expect([outcome, where]).toEqual([deletion('already-gone'), null]);
  });

  test('yields to a later write by clinic-mirror', async () => {
    const { outcome, where } = await carry(remove(null), [there({ revision: 2 })]);
    expect(outcome).toMatchObject({ result: 'superseded', revision: 2 });
    expect(where).toBeNull();
  });
});

describe('an erasure', () => {
  test('checks the object, empties it, and deletes the emptied object', async () => {
    const { log, bodies, outcome } = await carry(erase, [there(), done(), status(204)]);
    expect(log).toEqual([look, put('if-match "7"'), del('if-match "2"')]);
    expect(bodies[1]).toContain('SEQUENCE:6');
    expect(bodies[1]).toContain('20000101');
    expect(fromCalendarObject(bodies[1] ?? '')).toMatchObject({ uid: KEY, ownerTag: MARK });
    expect(bodies[1]).not.toContain(sealedRecordIdOf('a'));
    expect(bodies[1]).not.toContain('New');
    expect(outcome).toEqual(deletion('deleted'));
  });

  test('continues despite a later write, and without a condition if the server sends no tags', async () => {
    const { log } = await carry(erase, [there({ revision: 9 }), done(204, {}), status(204)]);
    expect(log).toEqual([look, put('if-match "7"'), `DELETE ${NAME}`]);
  });

  test('of an object that was already checked makes no further check', async () => {
    expect((await carry(erase, [done(), status(204)], seen())).log).toEqual([put('if-match "7"'), del('if-match "2"')]);
  });

  test('deletes an object unemptied if the server refuses to empty it', async () => {
    const { log, outcome } = await carry(erase, [there(), status(403), status(204)]);
    expect(log).toEqual([look, put('if-match "7"'), del('if-match "7"')]);
    expect(outcome).toEqual(deletion('deleted'));
  });

  test.each([404, 410, 412])(
    'of an object that another client changed at the same time (%i) is retried',
    async (code) => {
      expect((await carry(erase, [there(), status(code)])).outcome).toMatchObject(MEANWHILE);
    },
  );

  test('leaves a foreign object', async () => {
    for (const changes of FOREIGN) {
      expect((await carry(erase, [there(changes)])).outcome).toEqual(deletion('already-gone'));
    }
  });
});
