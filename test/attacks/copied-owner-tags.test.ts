import { describe, expect, test } from 'vitest';
import { openCalendars as openGoogle } from '../../src/connectors/google-calendar/connector.ts';
import { openCalendars as openOutlook } from '../../src/connectors/outlook-calendar/connector.ts';
import { PROPERTIES } from '../../src/connectors/outlook-calendar/limits.ts';
import { prepareCalendar } from '../../src/connectors/owner.ts';
import { found, MARK, multistatus, openOn, type Script, serve, signal } from '../connectors/caldav/scripted-server.ts';
import { containerOf } from '../support/container-of.ts';

/*
 * Attack: a reader of a managed calendar copies its owner tag into the reader's own calendar and shares that calendar with the clinic's
 * account. A daemon whose state was lost would then treat it as managed and send patients' appointments to the attacker.
 */

const REFUSED = { actor: 'settings', code: 'calendar-of-another', retry: 'never' };

describe('Google', () => {
  const own = {
    id: 'own',
    accessRole: 'owner',
    dataOwner: 'clinic@example.org',
    description: `[clinic-mirror ${MARK}]`,
  };
  const primary = { id: 'clinic@example.org', accessRole: 'owner', primary: true };
  const shared = { ...own, id: 'a-shared-one' };

  async function prepare(...items: object[]): Promise<{ container: string | null; made: number }> {
    let made = 0;
    const answer = (body: unknown) => ({ status: 200, body, retryAfterMs: null });
    const calls = {
      get: async () => ({ status: 404, body: undefined, retryAfterMs: null }),
      list: async () => answer({ items: [primary, ...items] }),
      insert: async () => {
        made += 1;
        return answer(own);
      },
    };
    const calendars = openGoogle(calls, MARK, null);
    const container = await prepareCalendar(calendars, { create: 'Appointments' }, null, { creates: true }).catch(
      (error) => {
        expect(made).toBe(0);
        throw error;
      },
    );
    return { container, made };
  }

  test.each([
    ['as a writer', { ...shared, accessRole: 'writer', dataOwner: 'mallory@example.org' }],
    ['as a second owner', { ...shared, dataOwner: 'mallory@example.org' }],
    ['without an owner in the answer', { ...shared, accessRole: 'writer', dataOwner: undefined }],
  ])('a calendar with a copied tag, shared %s, is not written to', async (_, copied) => {
    await expect(prepare(copied)).rejects.toMatchObject(REFUSED);
    expect(await prepare(own, copied)).toEqual({ container: 'own', made: 0 });
  });

  test('finds its own calendar, for any reported owner', async () => {
    expect((await prepare({ id: 'own', description: own.description })).container).toBe('own');
    expect((await prepare(own)).container).toBe('own');
  });
});

describe('Microsoft', () => {
  const tag = { singleValueExtendedProperties: [{ id: PROPERTIES.ownerTag, value: MARK }] };

  function prepare(mailbox: string, ...value: object[]): Promise<string | null> {
    const answer = { status: 200, body: { value }, retryAfterMs: null };
    const calendars = openOutlook({ call: async () => answer, mailbox, ownerTag: MARK, owner: null });
    return prepareCalendar(calendars, { create: 'Appointments' }, null, { creates: true });
  }

  test('a calendar with a copied tag that was shared with the mailbox is not written to', async () => {
    const copied = { id: 'a-shared-one', canShare: false, ...tag };
    await expect(prepare('me', copied)).rejects.toMatchObject(REFUSED);
    expect(await prepare('me', copied, { id: 'own', canShare: true, ...tag })).toBe('own');
    expect(await prepare('room@example.org', { id: 'own', canShare: false, ...tag })).toBe('own');
  });
});

describe('a CalDAV server', () => {
  const href = (name: string, path: string) => `<d:${name}><d:href>${path}</d:href></d:${name}>`;
  const calendar = (owner: string) =>
    `<d:resourcetype><d:collection/><c:calendar/></d:resourcetype>${href('owner', owner)}${href('current-user-principal', '/p/clinic/')}<c:calendar-description>clinic-mirror ${MARK}</c:calendar-description>`;

  function serverWith(...calendars: string[]): Script {
    return ({ path }) => {
      if (path === '/dav/') return multistatus(found(path, href('current-user-principal', '/p/clinic/')));
      if (path === '/p/clinic/')
        return multistatus(found(path, `<c:calendar-home-set><d:href>/home/</d:href></c:calendar-home-set>`));
      return path === '/home/' ? multistatus(found(path, '<d:resourcetype/>'), ...calendars) : { status: 404 };
    };
  }
  const copied = found('/home/appointments_shared_by_mallory/', calendar('/p/mallory/'));
  const own = found('/home/own/', calendar('/p/clinic'));

  test('a calendar with a copied tag that was shared into the home is not written to', async () => {
    const server = await serve(serverWith(copied));
    const settings = { server: `${server.url}/dav/`, calendar: { home: 'discover', create: 'Appointments' } };
    await expect(containerOf(openOn(server, settings), null, signal())).rejects.toMatchObject(REFUSED);
    expect(server.log().filter((line) => !line.startsWith('PROPFIND'))).toEqual([]);
    const both = await serve(serverWith(copied, own));
    const there = { server: `${both.url}/dav/`, calendar: settings.calendar };
    expect(await containerOf(openOn(both, there), null, signal())).toBe(`${both.url}/home/own/`);
  });
});
