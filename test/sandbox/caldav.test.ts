import { expect, onTestFinished, test } from 'vitest';
import { type CaldavSandbox, type DialectName, startCaldavSandbox } from '../../sandbox/caldav/index.ts';

interface Client {
  sandbox: CaldavSandbox;
  calendar: string;
  send(method: string, path: string, body?: string, headers?: Record<string, string>): Promise<Reply>;
}

interface Reply {
  status: number;
  text: string;
  etag: string | null;
}

async function open(dialect: DialectName): Promise<Client> {
  const sandbox = await startCaldavSandbox({ dialect });
  onTestFinished(() => sandbox.close());
  const { url, authorization } = sandbox;
  return {
    sandbox,
    calendar: sandbox.addCalendar('one'),
    async send(method, path, body, headers = {}) {
      const given = { method, headers: { authorization, ...headers }, ...(body === undefined ? {} : { body }) };
      const response = await fetch(`${url}${path}`, given);
      return { status: response.status, text: await response.text(), etag: response.headers.get('etag') };
    },
  };
}

function event(uid: string, end = 'DTEND:20270310T090000Z'): string {
  const lines = [
    'BEGIN:VEVENT',
    `UID:${uid}`,
    'DTSTAMP:20270101T000000Z',
    'DTSTART:20270310T080000Z',
    end,
    'END:VEVENT',
  ];
  return ['BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:-//test//EN', ...lines.filter(Boolean), 'END:VCALENDAR', ''].join(
    '\r\n',
  );
}

const query = (filter: string) =>
  '<C:calendar-query xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav"><D:prop><D:getetag/></D:prop><C:filter>' +
  `<C:comp-filter name="VCALENDAR"><C:comp-filter name="VEVENT">${filter}</C:comp-filter></C:comp-filter></C:filter></C:calendar-query>`;
const multiget = (...hrefs: string[]) =>
  '<C:calendar-multiget xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav"><D:prop><C:calendar-data/></D:prop>' +
  `${hrefs.map((href) => `<D:href>${href}</D:href>`).join('')}</C:calendar-multiget>`;
const changes = (token: string) =>
  `<D:sync-collection xmlns:D="DAV:"><D:sync-token>${token}</D:sync-token><D:prop><D:getetag/></D:prop></D:sync-collection>`;

test('stores objects under their conditions, and refuses requests without credentials', async () => {
  const { send, calendar, sandbox } = await open('standard');
  const created = await send('PUT', `${calendar}a.ics`, event('a'), { 'if-none-match': '*' });
  expect(created).toMatchObject({ status: 201, etag: expect.stringMatching(/^"/) });
  expect((await send('PUT', `${calendar}a.ics`, event('a'), { 'if-none-match': '*' })).status).toBe(412);
  expect((await send('PUT', `${calendar}a.ics`, event('a'), { 'if-match': '"x"' })).status).toBe(412);
  expect((await send('PUT', `${calendar}a.ics`, event('a'), { 'if-match': created.etag! })).status).toBe(204);
  expect((await send('DELETE', `${calendar}a.ics`, undefined, { 'if-match': created.etag! })).status).toBe(412);
  expect((await send('GET', `${calendar}a.ics`)).text).toBe(event('a'));
  expect((await send('PUT', `${calendar}b.ics`, 'nonsense')).text).toContain('valid-calendar-data');
  expect((await send('GET', `${calendar}a.ics`, undefined, { authorization: 'Basic no' })).status).toBe(401);
  expect(sandbox.requests.requests({ method: 'PUT' })).toBe(5);
});

test('searches by time and property, reports changes, and refuses an unknown token', async () => {
  const { send, calendar } = await open('standard');
  await send('PUT', `${calendar}a.ics`, event('a'));
  const token = /<d:sync-token>([^<]*)/.exec((await send('REPORT', calendar, changes(''))).text)?.[1] ?? '';
  await send('PUT', `${calendar}b.ics`, event('b'));
  const uid = (value: string) =>
    `<C:prop-filter name="UID"><C:text-match collation="i;octet">${value}</C:text-match></C:prop-filter>`;
  const range = (day: string) => `<C:time-range start="${day}T000000Z" end="${day}T235959Z"/>`;
  const found = async (filter: string) =>
    [...(await send('REPORT', calendar, query(filter))).text.matchAll(/one\/(\w)\.ics/g)].length;
  expect([await found(uid('a')), await found(range('20270310')), await found(range('20270311'))]).toEqual([1, 2, 0]);
  expect(await found(range('20270310') + uid('b'))).toBe(1);
  await send('DELETE', `${calendar}a.ics`);
  const told = await send('REPORT', calendar, changes(token));
  expect(told.text).toMatch(/a\.ics<\/d:href><d:status>HTTP\/1.1 404/);
  expect(told.text).toMatch(/b\.ics<\/d:href><d:propstat>/);
  expect(await send('REPORT', calendar, changes('urn:other'))).toMatchObject({ status: 403 });
});

test('minds a UID as the server does whose ways it has', async () => {
  const twice = async (dialect: DialectName, where: 'same' | 'other') => {
    const { send, calendar, sandbox } = await open(dialect);
    const second = where === 'same' ? calendar : sandbox.addCalendar('two');
    await send('PUT', `${calendar}a.ics`, event('u'));
    const { status, text } = await send('PUT', `${second}b.ics`, event('u'));
    return [status, /(no-uid-conflict|unique-scheduling-object-resource)/.exec(text)?.[1] ?? ''];
  };
  expect(await twice('standard', 'same')).toEqual([403, 'no-uid-conflict']);
  expect(await twice('standard', 'other')).toEqual([201, '']);
  expect(await twice('cyrus', 'other')).toEqual([403, 'unique-scheduling-object-resource']);
  expect(await twice('xandikos', 'same')).toEqual([207, 'no-uid-conflict']);
  expect(await twice('lenient', 'same')).toEqual([201, '']);
});

test('answers of a calendar that is gone as servers do', async () => {
  const answers = async (dialect: DialectName) => {
    const { send, calendar } = await open(dialect);
    await send('DELETE', calendar);
    const put = await send('PUT', `${calendar}a.ics`, event('a'));
    const report = await send('REPORT', calendar, multiget(`${calendar}a.ics`));
    return [put.status, report.status, (await send('PROPFIND', calendar)).status];
  };
  expect(await answers('standard')).toEqual([409, 404, 404]);
  expect(await answers('cyrus')).toEqual([403, 404, 404]);
  expect(await answers('lenient')).toEqual([405, 207, 404]);
});

test('has the other ways of servers: events without an end, blind filters, silent multigets, no tags', async () => {
  const icloud = await open('icloud');
  expect((await icloud.send('PUT', `${icloud.calendar}a.ics`, event('a', ''))).status).toBe(404);
  expect(await icloud.send('PUT', `${icloud.calendar}a.ics`, event('a', 'DTEND:20270310T080000Z'))).toMatchObject({
    status: 201,
    etag: null,
  });
  const cyrus = await open('cyrus');
  const atOnce = event('a', 'DTEND:20270310T080000Z');
  expect((await cyrus.send('PUT', `${cyrus.calendar}a.ics`, atOnce)).text).toContain('valid-calendar-data');
  const { send, calendar } = await open('lenient');
  expect((await send('PUT', `${calendar}a.ics`, event('a'))).etag).toMatch(/^W\//);
  const blind = '<C:time-range start="20270101T000000Z" end="20280101T000000Z"/><C:prop-filter name="X-NONE"/>';
  expect((await send('REPORT', calendar, query(blind))).text).toContain('a.ics');
  expect((await send('REPORT', calendar, query('<C:prop-filter name="X-NONE"/>'))).text).not.toContain('a.ics');
  expect((await send('REPORT', calendar, multiget(`${calendar}gone.ics`))).text).not.toContain('gone.ics');
  expect((await send('REPORT', calendar, changes('urn:other'))).text).toContain('a.ics');
});
