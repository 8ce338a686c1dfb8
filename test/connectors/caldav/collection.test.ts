import { describe, expect, test } from 'vitest';
import {
  type Collection,
  findByProperty,
  keyOf,
  listMembers,
  objectUrl,
  readChanges,
  remoteIdOf,
  versionTagOf,
} from '../../../src/connectors/caldav/collection.ts';
import type { ObjectContent } from '../../../src/connectors/caldav/from-model.ts';
import type { DavMember, DavRequest, DavResponse, Multistatus } from '../../../src/connectors/caldav/webdav.ts';
import { NO_DESCRIPTION, NO_PRESETS } from '../../../src/connectors/event-content.ts';
import { davError } from './scripted-server.ts';

const CALENDAR = new URL('https://dav.example/cal/');
const KEY = '0123456789abcdefghijklmnopqrstuv';
const MARK = 'mark0mark0mark0m';

function memberAt(path: string, status: number | null = null): DavMember {
  return { url: new URL(path, CALENDAR), status, properties: new Map() };
}

function pageOf(members: DavMember[], syncToken: string | null = null, truncated = false): Multistatus {
  return { url: CALENDAR, members, syncToken, truncated };
}

function refusal(status: number, body = ''): DavResponse {
  return { url: CALENDAR, status, headers: new Headers(), body: [Buffer.from(body)] };
}

/** A calendar whose server gives these answers one after the other; the last one again and again. */
function collectionWith(...answers: (Multistatus | DavResponse)[]) {
  const asked: DavRequest[] = [];
  const ask = async (request: DavRequest) => {
    asked.push(request);
    return answers.length > 1 ? answers.shift() : answers[0];
  };
  const collection = { session: { ask }, url: CALENDAR, isOwn: false, ownerTag: MARK, clock: Date.now };
  const tokens = () => asked.map(({ body = '' }) => /<D:sync-token>([^<]*)</.exec(body)?.[1] ?? null);
  return {
    collection: { ...collection, signal: new AbortController().signal } as unknown as Collection,
    asked,
    tokens,
  };
}

const namesIn = (urls: readonly URL[]) => urls.map(({ pathname }) => pathname);

describe('changes since a token', () => {
  test('follow the pages: the last mention of a member applies, and the calendar itself is no member', async () => {
    const { collection, tokens } = collectionWith(
      pageOf([memberAt('/cal/a.ics'), memberAt('/cal/b.ics'), memberAt('/cal/')], 't2', true),
      pageOf([memberAt('/cal/b.ics', 404), memberAt('/other/c.ics'), memberAt('/cal/d%40.ics')], 't3'),
    );
    const changes = await readChanges(collection, 't1');
    expect([namesIn(changes.changed), namesIn(changes.removed)]).toEqual([
      ['/cal/a.ics', '/cal/d%40.ics'],
      ['/cal/b.ics'],
    ]);
    expect([changes.token, changes.isWhole, tokens()]).toEqual(['t3', false, ['t1', 't2']]);
  });

  test.each([
    ['refuses the token with 403', refusal(403)],
    ['refuses the token with 507', refusal(507)],
    ['fails', refusal(500)],
    ['sends no token', pageOf([memberAt('/cal/a.ics')])],
    ['repeats the token and announces more', pageOf([], 't1', true)],
  ])('are read completely if the server %s', async (_, answer) => {
    const { collection, tokens } = collectionWith(answer, pageOf([memberAt('/cal/b.ics')], 't9'));
    expect(await readChanges(collection, 't1')).toMatchObject({ token: 't9', isWhole: true, removed: [] });
    expect(tokens()).toEqual(['t1', '']);
  });

  test('are a complete listing if the server lacks such reports', async () => {
    const { collection, asked } = collectionWith(refusal(501), refusal(501), pageOf([memberAt('/cal/b.ics')]));
    const changes = await readChanges(collection, 't1');
    expect([namesIn(changes.changed), changes.token, changes.isWhole]).toEqual([['/cal/b.ics'], null, true]);
    expect(asked.map(({ method }) => method)).toEqual(['REPORT', 'REPORT', 'PROPFIND']);
  });

  test('fail where the answer is neither: unexpected-status', async () => {
    const { collection } = collectionWith(refusal(304));
    await expect(readChanges(collection, 't1')).rejects.toMatchObject({ code: 'unexpected-status' });
  });

  test('are not looked for in a calendar that is gone: calendar-gone', async () => {
    const { collection, asked } = collectionWith(refusal(404));
    await expect(readChanges(collection, 't1')).rejects.toMatchObject({ code: 'calendar-gone' });
    expect(asked.map(({ method }) => method)).toEqual(['REPORT', 'PROPFIND']);
  });
});

describe('a listing', () => {
  test('contains the existing members', async () => {
    const { collection } = collectionWith(
      pageOf([memberAt('/cal/'), memberAt('/cal/a.ics'), memberAt('/cal/b.ics', 404), memberAt('/cal/deeper/c.ics')]),
    );
    expect(namesIn(await listMembers(collection))).toEqual(['/cal/a.ics']);
  });

  test.each([
    ['calendar-forbidden', refusal(403)],
    ['unexpected-status', refusal(400)],
    ['unexpected-status', pageOf([memberAt('/cal/a.ics')], null, true)],
  ])('that is refused or not whole is none: %s', async (code, answer) => {
    await expect(listMembers(collectionWith(answer).collection)).rejects.toMatchObject({ code });
  });

  test('with nothing in it, not even the calendar, has the calendar looked for: calendar-gone', async () => {
    const { collection, asked } = collectionWith(pageOf([]), refusal(404));
    await expect(listMembers(collection)).rejects.toMatchObject({ code: 'calendar-gone' });
    expect(asked).toHaveLength(2);
  });
});

test('a search sends its value escaped, and what is refused is no answer', async () => {
  const { collection, asked } = collectionWith(pageOf([]));
  await findByProperty(collection, 'UID', `a<b&"c"`);
  const match = '<C:text-match collation="i;octet">a&#60;b&#38;&#34;c&#34;</C:text-match>';
  expect(asked[0]?.body).toContain(`<C:prop-filter name="UID">${match}`);
  const refused = collectionWith(refusal(403, davError(403, '<d:supported-filter/>').body)).collection;
  await expect(findByProperty(refused, 'UID', 'a')).rejects.toMatchObject({ code: 'calendar-forbidden' });
});

describe('the name of an object', () => {
  test('is derived from its key unless the server chose the name, and returns as its remote id', () => {
    for (const remoteId of [null, KEY]) {
      const url = objectUrl(CALENDAR, KEY, remoteId);
      expect(url.href).toBe(`https://dav.example/cal/${KEY}.ics`);
      expect(remoteIdOf(url, KEY)).toBe(KEY);
    }
    const renamed = objectUrl(CALENDAR, KEY, 'a%40b.ics');
    expect([renamed.href, remoteIdOf(renamed, KEY)]).toEqual(['https://dav.example/cal/a%40b.ics', 'a%40b.ics']);
  });

  test('stays in the calendar whatever a server called it', () => {
    expect(objectUrl(CALENDAR, KEY, 'https:evil').href).toBe('https://dav.example/cal/https:evil');
  });
});

describe('an object', () => {
  const content = { uid: KEY, ownerTag: MARK } as ObjectContent;

  test('is of clinic-mirror with a key as UID or as name, unless it has the owner tag of another target', () => {
    const at = (name: string, shown: ObjectContent | null) =>
      keyOf({ url: new URL(name, CALENDAR), etag: null, content: shown }, MARK);
    for (const tag of [MARK, null, 'damaged']) expect(at('renamed.ics', { ...content, ownerTag: tag })).toBe(KEY);
    for (const other of [null, { ...content, uid: null }, { ...content, uid: `copy-${KEY}` }]) {
      expect(at('renamed.ics', other)).toBeNull();
      expect(at(`${KEY}.ics`, other)).toBe(KEY);
    }
    expect(at(`${KEY}.ics`, { ...content, ownerTag: 'othertargetmark0' })).toBeNull();
  });

  test('with additions by a user has a weak version tag, which no write uses', () => {
    const plain = { userText: '', descriptionParts: NO_DESCRIPTION, presets: NO_PRESETS };
    expect(versionTagOf('"1"', plain)).toBe('"1"');
    expect(versionTagOf(null, { ...plain, userText: 'BEGIN:VALARM' })).toBeNull();
    for (const added of [
      { userText: 'BEGIN:VALARM' },
      { descriptionParts: { ...NO_DESCRIPTION, theirs: 'bring X-rays' } },
      { presets: { ...NO_PRESETS, theirs: new Set(['color']) as never } },
    ]) {
      expect(versionTagOf('"1"', { ...plain, ...added })).toBe('W/"1"');
    }
  });
});
