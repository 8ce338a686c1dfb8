import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { objectUrl } from '../../../src/connectors/caldav/collection.ts';
import { errors as googleErrors } from '../../../src/connectors/google-calendar/errors.ts';
import { concernsOneItem } from '../../../src/connectors/outcomes.ts';
import { eventsPath } from '../../../src/connectors/outlook-calendar/flows.ts';
import { mailboxPath, subscriptionResource } from '../../../src/connectors/outlook-calendar/paths.ts';
import type { ItemKey } from '../../../src/core/model/operations.ts';
import { badId, isPathSegment, pathSegment } from '../../../src/core/model/path-segment.ts';
import { pageAt } from '../../../src/described-api/templates.ts';
import { clinicAddress, holdAddress } from '../../../src/operator/documents/document.ts';

const src = join(import.meta.dirname, '../../../src');
/** Ids of any text, mostly of those characters that URL parsers treat as special. */
const ids = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: fc.constantFrom('.', '%', '2', 'e', 'E', '/', '\\', '?', '#', '\t', '\ud800', 'a') }),
);
/** Never segments of a path. */
const REFUSED = ['', '.', '..', '\ud800'];
const refused = expect.objectContaining({ code: 'bad-id', actor: 'contract', retry: 'never' });

/** The segments that a server receives, decoded. */
function received(path: string): string[] {
  return new URL(path, 'https://server.test').pathname.split('/').slice(1).map(decodeURIComponent);
}

/** Paths from an id, and the segments that a server must receive. */
const PATHS: readonly [string, (id: string) => string, (id: string) => string[]][] = [
  ['a segment', (id) => `/a/${pathSegment(id)}/b`, (id) => ['a', id, 'b']],
  ['a page of a clinic', (id) => clinicAddress(id, '/plan'), (id) => ['tenants', id, 'plan']],
  ['a page of a hold', (id) => holdAddress('one', id), (id) => ['tenants', 'one', 'holds', id]],
  ['a mailbox', (id) => mailboxPath(`${id}`), (id) => (id === 'me' ? ['me'] : ['users', id])],
  [
    'the events of a calendar',
    (calendarId) => eventsPath({ mailboxPath: '/me', calendarId }),
    (id) => ['me', 'calendars', id, 'events'],
  ],
  [
    'the resource of a subscription',
    (id) => `/${subscriptionResource('me', id)}`,
    (id) => ['me', 'calendars', id, 'events'],
  ],
];

test.each(PATHS)('%s keeps its id in one segment, whatever the id contains, or refuses it', (_, pathOf, segmentsOf) => {
  for (const id of REFUSED) expect(() => pathOf(id), JSON.stringify(id)).toThrow(refused);
  fc.assert(
    fc.property(ids, (id) => {
      if (!isPathSegment(id)) expect(() => pathOf(id)).toThrow(refused);
      else expect(received(pathOf(id))).toEqual(segmentsOf(id));
    }),
  );
});

test.each(['%2e', '%2E%2e', '...', './..', 'a/../..'])('"%s" is an id like others', (id) => {
  expect(received(`/a/${pathSegment(id)}/b`)).toEqual(['a', id, 'b']);
});

test('a page in a CRM is not linked for an id that would lead to another page', () => {
  const page = (id: string) => pageAt('https://crm.test', '/people/{{id}}/view', id);
  expect(REFUSED.map(page)).toEqual([null, null, null, null]);
  expect(page('%2e%2e')).toBe('https://crm.test/people/%252e%252e/view');
});

test('an object of a CalDAV calendar is never the calendar, its parent or another calendar', () => {
  const calendar = new URL('https://dav.test/home/visits/');
  const key = 'v'.repeat(32) as ItemKey;
  for (const name of ['', '.', '..', '%2e', '%2E%2e', '../', 'a/', 'a/b', '../other/a.ics', '/', '\t..']) {
    expect(() => objectUrl(calendar, key, name), JSON.stringify(name)).toThrow(refused);
  }
  expect(objectUrl(calendar, key, null).href).toBe(`${calendar}${key}.ics`);
  expect(objectUrl(calendar, key, 'd%40.ics').href).toBe(`${calendar}d%40.ics`);
  fc.assert(
    fc.property(ids, (name) => {
      let url: URL;
      try {
        url = objectUrl(calendar, key, name);
      } catch (error) {
        expect(error).toEqual(refused);
        return;
      }
      expect(url.href.startsWith(calendar.href)).toBe(true);
      expect(url.pathname.slice(calendar.pathname.length)).toMatch(/^\/*[^/]+$/);
    }),
  );
});

test('a refused id fails only its own operation', () => {
  expect(concernsOneItem(badId(), googleErrors)).toBe(true);
  expect(concernsOneItem(googleErrors.make('login-refused'), googleErrors)).toBe(false);
});

test('no module encodes a segment of a path in another way', () => {
  const others = readdirSync(src, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && /\/\$\{encodeURI/.test(readFileSync(join(src, name), 'utf8')))
    .toSorted();
  expect(others).toEqual([]);
});
