import { describe, expect, test } from 'vitest';
import type { CaldavSettings } from '../../../src/connectors/caldav/schemas.ts';
import type { HttpClient } from '../../../src/core/http/client.ts';
import { MirrorError } from '../../../src/core/model/errors.ts';
import { containerOf } from '../../support/container-of.ts';
import {
  davError,
  found,
  MARK,
  member,
  multistatus,
  openOn,
  type Script,
  type ScriptedServer,
  serve,
  signal,
} from './scripted-server.ts';

const CALENDAR = '<d:resourcetype><d:collection/><c:calendar/></d:resourcetype>';
const TASKS = '<c:supported-calendar-component-set><c:comp name="VTODO"/></c:supported-calendar-component-set>';
const EVENTS =
  '<c:supported-calendar-component-set><c:comp name="VTODO"/><c:comp name="VEVENT"/></c:supported-calendar-component-set>';
const privileges = (...names: string[]) =>
  `<d:current-user-privilege-set>${names.map((name) => `<d:privilege><d:${name}/></d:privilege>`).join('')}</d:current-user-privilege-set>`;
const NAME = `clinic-mirror-${MARK}`;

function ownIn(home: string, server?: string): CaldavSettings {
  return { calendar: { home, create: 'Clinic & Co' }, ...(server === undefined ? {} : { server }) };
}

async function prepare(
  server: ScriptedServer,
  settings?: CaldavSettings,
  known: string | null = null,
): Promise<string> {
  return await containerOf(openOn(server, settings), known, signal());
}

describe('a configured calendar', () => {
  test.each([
    ['has no components and rights', CALENDAR],
    ['accepts events and other components', CALENDAR + EVENTS],
    ['is writable', CALENDAR + privileges('read', 'write')],
    ['grants all rights', CALENDAR + privileges('all')],
    ['grants the rights to create and delete', CALENDAR + privileges('read', 'bind', 'unbind', 'write-content')],
  ])('is accepted if it %s', async (_name, properties) => {
    const server = await serve(() => multistatus(found('/cal/', properties)));
    expect(await prepare(server)).toBe(server.container);
    expect(server.log()).toEqual(['PROPFIND /cal/']);
  });

  test.each([
    ['accepts only tasks', CALENDAR + TASKS, 'not-a-calendar'],
    ['is a folder', '<d:resourcetype><d:collection/></d:resourcetype>', 'not-a-calendar'],
    ['is a calendar of another namespace', '<d:resourcetype><d:calendar/></d:resourcetype>', 'not-a-calendar'],
    ['is read-only', CALENDAR + privileges('read', 'read-free-busy'), 'calendar-read-only'],
  ])('that %s is a matter of settings', async (_name, properties, code) => {
    const server = await serve(() => multistatus(found('/cal/', properties)));
    await expect(prepare(server)).rejects.toMatchObject({ actor: 'settings', code, retry: 'never' });
  });

  test.each([
    [404, 'settings', 'calendar-gone'],
    [410, 'settings', 'calendar-gone'],
    [405, 'settings', 'not-a-calendar'],
    [403, 'settings', 'calendar-forbidden'],
    [500, 'remote', 'unexpected-status'],
  ])('that answers %i is an error for %s: %s', async (status, actor, code) => {
    const server = await serve(() => ({ status }));
    await expect(prepare(server)).rejects.toMatchObject({ actor, code });
  });

  test('is remembered where redirects led', async () => {
    const server = await serve(({ path }) =>
      path === '/cal/'
        ? { status: 301, headers: { location: '/dav/moved' } }
        : multistatus(found('/dav/moved/', CALENDAR)),
    );
    expect(await prepare(server)).toBe(`${server.url}/dav/moved/`);
  });
});

describe('a calendar created by clinic-mirror', () => {
  test('is found by its name or by the owner tag in its description, even after a user renamed it', async () => {
    const homes: Record<string, string> = {
      '/byname/': found(`/byname/${NAME}/`, CALENDAR),
      '/bymark/': found(
        '/bymark/4711/',
        `${CALENDAR}<c:calendar-description>clinic-mirror ${MARK}</c:calendar-description>`,
      ),
    };
    const server = await serve(({ path }) =>
      multistatus(found(path, '<d:resourcetype/>'), found(`${path}private/`, CALENDAR), homes[path] ?? ''),
    );
    expect(await prepare(server, ownIn(`${server.url}/byname`))).toBe(`${server.url}/byname/${NAME}/`);
    expect(await prepare(server, ownIn(`${server.url}/bymark/`))).toBe(`${server.url}/bymark/4711/`);
    expect(server.log().filter((line) => line.startsWith('MKCALENDAR'))).toEqual([]);
  });

  test('is made under a name derived from the owner tag, for events, with its display name escaped', async () => {
    let isMade = false;
    const server = await serve(({ method, path }) => {
      if (method === 'MKCALENDAR') {
        isMade = true;
        return { status: 201 };
      }
      if (path === '/home/') return multistatus(found('/home/', '<d:resourcetype/>'));
      return isMade ? multistatus(found(path, CALENDAR)) : { status: 404 };
    });
    expect(await prepare(server, ownIn(`${server.url}/home/`))).toBe(`${server.url}/home/${NAME}/`);
    const request = server.requests.find(({ method }) => method === 'MKCALENDAR');
    expect(request?.path).toBe(`/home/${NAME}/`);
    expect(request?.body).toContain('Clinic &#38; Co');
    expect(request?.body).toContain('name="VEVENT"');
  });

  test.each([403, 405, 409, 500])(
    'that another worker created at the same time is used after the answer %i',
    async (status) => {
      let isMade = false;
      const server = await serve(({ method, path }) => {
        if (method === 'MKCALENDAR') {
          isMade = true;
          return davError(status, '<d:resource-must-be-null/>');
        }
        if (path === '/home/') return multistatus();
        return isMade ? multistatus(found(path, CALENDAR)) : { status: 404 };
      });
      expect(await prepare(server, ownIn(`${server.url}/home/`))).toBe(`${server.url}/home/${NAME}/`);
    },
  );

  test('gets the next name when the trash bin keeps the first', async () => {
    const made = new Set<string>();
    const server = await serve(({ method, path }) => {
      if (method === 'MKCALENDAR') {
        if (path === `/home/${NAME}/`) return { status: 405 };
        made.add(path);
        return { status: 201 };
      }
      if (path === '/home/') return multistatus(...[...made].map((one) => found(one, CALENDAR)));
      return made.has(path) ? multistatus(found(path, CALENDAR)) : { status: 404 };
    });
    const own = ownIn(`${server.url}/home/`);
    expect(await prepare(server, own)).toBe(`${server.url}/home/${NAME}-2/`);
    expect(await prepare(server, own)).toBe(`${server.url}/home/${NAME}-2/`);
    expect(made.size).toBe(1);
  });

  test('is found where the server put it instead', async () => {
    let isMade = false;
    const elsewhere = found(
      '/home/77/',
      `${CALENDAR}<c:calendar-description>clinic-mirror ${MARK}</c:calendar-description>`,
    );
    const server = await serve(({ method, path }) => {
      if (method === 'MKCALENDAR') isMade = true;
      if (method === 'MKCALENDAR') return { status: 201 };
      if (path === '/home/') return isMade ? multistatus(elsewhere) : multistatus();
      return { status: 404 };
    });
    expect(await prepare(server, ownIn(`${server.url}/home/`))).toBe(`${server.url}/home/77/`);
  });

  test.each([
    [403, 'settings', 'calendar-creation-refused'],
    [405, 'settings', 'calendar-creation-refused'],
    [507, 'remote', 'unexpected-status'],
  ])('that cannot be created (%i) is an error for %s, after few attempts', async (status, actor, code) => {
    const server = await serve(({ method, path }) => {
      if (method === 'MKCALENDAR') return { status };
      return path === '/home/' ? multistatus() : { status: 404 };
    });
    await expect(prepare(server, ownIn(`${server.url}/home/`))).rejects.toMatchObject({ actor, code });
    expect(server.log().filter((line) => line.startsWith('MKCALENDAR')).length).toBeLessThanOrEqual(5);
  });

  test('finds no home if the configured URL leads to no collection', async () => {
    const server = await serve(() => ({ status: 404 }));
    const missing = { actor: 'settings', code: 'calendar-home-missing' };
    await expect(prepare(server, ownIn(`${server.url}/home/`))).rejects.toMatchObject(missing);
  });

  test('that is remembered costs one question, and is not looked for elsewhere', async () => {
    const server = await serve(({ path }) => multistatus(found(path, CALENDAR)));
    const known = `${server.url}/home/${NAME}/`;
    expect(await prepare(server, ownIn(`${server.url}/home/`), known)).toBe(known);
    expect(server.log()).toEqual([`PROPFIND /home/${NAME}/`]);
  });
});

describe('discovery', () => {
  const principal = '<d:current-user-principal><d:href>/principals/me/</d:href></d:current-user-principal>';
  const homeSet = (href: string) => `<c:calendar-home-set><d:href>${href}</d:href></c:calendar-home-set>`;

  function discovering(start: string, home = '/home/me%40x/'): Script {
    return ({ path }) => {
      if (path === '/.well-known/caldav' && start !== path) return { status: 301, headers: { location: start } };
      if (path === start) return multistatus(found(path, principal));
      if (path === '/principals/me/') return multistatus(found(path, homeSet(home)));
      if (/^\/{1,2}home\/me(%40|@)x\/$/.test(path))
        return multistatus(found(path, ''), found(`${path}${NAME}/`, CALENDAR));
      return { status: 404 };
    };
  }

  test('follows the well-known URL, the principal and the home', async () => {
    const server = await serve(discovering('/dav/'));
    expect(await prepare(server, ownIn('discover', server.url))).toBe(`${server.url}/home/me%40x/${NAME}/`);
    expect(server.log()).toEqual([
      'PROPFIND /.well-known/caldav',
      'PROPFIND /dav/',
      'PROPFIND /principals/me/',
      'PROPFIND /home/me%40x/',
    ]);
  });

  test('starts at the path that is configured', async () => {
    const server = await serve(discovering('/remote.php/dav'));
    await prepare(server, ownIn('discover', `${server.url}/remote.php/dav`));
    expect(server.log()[0]).toBe('PROPFIND /remote.php/dav');
  });

  test('treats hrefs with another host name as paths on the queried host', async () => {
    const server = await serve(discovering('/dav/', 'http://inner.example:81//home/me@x'));
    expect(await prepare(server, ownIn('discover', server.url))).toContain(server.url);
  });

  test('finds the stored calendar of a server with a new name, and asks the old name nothing', async () => {
    const [old, renamed] = [await serve(() => ({ status: 500 })), await serve(discovering('/dav/'))];
    const path = `/home/me%40x/${NAME}/`;
    expect(await prepare(renamed, ownIn('discover', renamed.url), `${old.url}${path}`)).toBe(`${renamed.url}${path}`);
    expect(old.log()).toEqual([]);
  });

  test.each([
    ['with a new name on its site is found at the new name', 'dav.clinic.example', 'dav.clinic.example'],
    ['that discovery still names is waited for', 'cal1.clinic.example', null],
  ])('a silent server %s', async (_name, homeHost, foundAt) => {
    const stored = `https://cal1.clinic.example/home/${NAME}/`;
    const asked: string[] = [];
    const send: HttpClient['send'] = async ({ url }) => {
      asked.push(url);
      const { host, pathname } = new URL(url);
      if (host === 'cal1.clinic.example')
        throw new MirrorError('silent', { actor: 'remote', code: 'connection-failed', retry: 'later' });
      const isHome = pathname === '/home/';
      const calendars = [found('/home/', ''), found(`/home/${NAME}/`, CALENDAR)];
      const { body = '' } = multistatus(
        ...(isHome ? calendars : [found(pathname, homeSet(`https://${homeHost}/home/`))]),
      );
      return { status: 207, headers: new Headers(), body: Buffer.from(body), retryAfterMs: null };
    };
    const settings = ownIn('discover', 'https://dav.clinic.example/');
    const prepared = containerOf(openOn({ container: stored }, settings, undefined, { send }), stored, signal());
    if (foundAt === null) await expect(prepared).rejects.toMatchObject({ code: 'connection-failed' });
    else expect(await prepared).toBe(`https://${foundAt}/home/${NAME}/`);
    expect(asked[0]).toBe(stored);
  });

  test.each([
    ['a web page', { status: 200, headers: { 'content-type': 'text/html' }, body: '<!DOCTYPE html><html></html>' }],
    ['not found', { status: 404 }],
    ['not allowed', { status: 405 }],
    ['an empty 207', multistatus()],
    [
      'an unauthenticated principal',
      multistatus(found('/', '<d:current-user-principal><d:unauthenticated/></d:current-user-principal>')),
    ],
    ['members that are not there', multistatus(member('/', '404 Not Found'))],
  ])('that meets %s everywhere says what to configure', async (_name, answer) => {
    const server = await serve(() => answer);
    await expect(prepare(server, ownIn('discover', server.url))).rejects.toMatchObject({
      actor: 'settings',
      code: 'discovery-failed',
      remedy: expect.stringContaining('URL of the calendar'),
    });
    expect(server.log().length).toBeLessThanOrEqual(2);
  });

  test('continues at the root if the well-known URL returns a web page', async () => {
    const server = await serve((request) =>
      request.path === '/.well-known/caldav' ? { status: 200, body: '<html></html>' } : discovering('/')(request),
    );
    expect(await prepare(server, ownIn('discover', server.url))).toContain('/home/');
  });

  test('stops at refused credentials without trying other URLs', async () => {
    const server = await serve(() => ({ status: 401 }));
    await expect(prepare(server, ownIn('discover', server.url))).rejects.toMatchObject({ actor: 'authorization' });
    expect(server.log()).toHaveLength(2);
  });
});
