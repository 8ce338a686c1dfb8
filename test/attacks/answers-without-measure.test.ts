import { gzipSync } from 'node:zlib';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { fromCalendarObject } from '../../src/connectors/caldav/from-model.ts';
import { DavSession, isMultistatus } from '../../src/connectors/caldav/webdav.ts';
import { VOCABULARY } from '../../src/connectors/caldav/xml-names.ts';
import { htmlToText } from '../../src/connectors/outlook-calendar/html.ts';
import { LONGEST_TAG, MOST_ELEMENTS, parseXml } from '../../src/connectors/xml.ts';
import { readJson } from '../../src/core/http/answer.ts';
import { MEBIBYTE } from '../../src/core/http/client.ts';
import { MOST_VALUES, parseJson } from '../../src/core/model/json.ts';
import { readYaml } from '../../src/settings/yaml-file.ts';
import { ask, NEVER, openServer, TOO_LARGE, times } from './answering-server.ts';

/*
 * Attack: a vendor's server, or an attacker in its position, sends an answer that needs a hundred times its size in memory, or seconds of
 * the one thread that serves all tenants. No test here depends on the clock: a refused answer has not been parsed, an allowed one is
 * counted, as are the turns of other jobs. `answers-without-measure-cost.test.ts` measures processor time.
 */

describe('an endless answer', () => {
  /** Maximum content of the buffers of two sockets. */
  const ON_THE_WAY = 16 * MEBIBYTE;

  test('of a gigabyte is read up to the limit, and its connection is closed', async () => {
    const { told, url } = await openServer({}, () => times(1_024, Buffer.alloc(MEBIBYTE, 32)));
    await expect(ask(url)).rejects.toMatchObject(TOO_LARGE);
    await told.isHungUp.promise;
    expect(told.sentBytes).toBeLessThan(MEBIBYTE + ON_THE_WAY);
  });

  test('that grows when decompressed is closed at the same limit', async () => {
    const bomb = gzipSync(Buffer.alloc(64 * MEBIBYTE));
    const { url } = await openServer({ 'content-encoding': 'gzip' }, () => times(1, bomb));
    await expect(ask(url)).rejects.toMatchObject(TOO_LARGE);
  });

  test('that is compressed twice, and small after one decompression, is closed too', async () => {
    // Members of 20 bytes, of which each unpacks to nothing.
    const members = gzipSync(Buffer.alloc(8 * MEBIBYTE, gzipSync('')));
    const { url } = await openServer({ 'content-encoding': 'gzip, gzip' }, () => times(1, members));
    await expect(ask(url)).rejects.toMatchObject(TOO_LARGE);
  });

  test('that is compressed and never decompressed is closed too', async () => {
    const member = gzipSync('');
    const empty = Buffer.alloc(member.length * 50_000, member);
    const { told, url } = await openServer({ 'content-encoding': 'gzip' }, () => times(1_024, empty));
    await expect(ask(url)).rejects.toMatchObject(TOO_LARGE);
    await told.isHungUp.promise;
    expect(told.sentBytes).toBeLessThan(MEBIBYTE + ON_THE_WAY);
  });

  test('that is compressed more often than usual is read as raw bytes', async () => {
    const coding = Array(1_000).fill('gzip').join(', ');
    const { url } = await openServer({ 'content-encoding': coding }, () => times(1, Buffer.from('packed')));
    expect((await ask(url)).body.toString()).toBe('packed');
  });
});

describe('JSON', () => {
  const answer = (text: string) => ({ headers: new Headers(), body: Buffer.from(text) });

  test.each([
    ['20 MiB of empty lists', () => `[${'[],'.repeat(7_000_000)}[]]`],
    ['as many objects', () => `[${'{},'.repeat(7_000_000)}{}]`],
    ['numbers', () => `[${'0,'.repeat(10_000_000)}0]`],
    ['lists within lists', () => `${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}`],
    ['objects within objects', () => `${'{"a":'.repeat(101)}1${'}'.repeat(101)}`],
  ])('of %s is refused before it is parsed', (_, text) => {
    expect(() => readJson(answer(text()), 'x')).toThrow(expect.objectContaining(TOO_LARGE));
    expect(parseJson(text())).toBeUndefined();
  });

  test('of lists that never end is no JSON, and is not parsed', () => {
    const text = '['.repeat(1_000_000);
    expect(() => readJson(answer(text), 'x')).toThrow(expect.objectContaining({ code: 'not-json' }));
    expect(parseJson(text)).toBeUndefined();
  });

  test('of the maximum number of values is read, one more is refused, and signs in strings do not count', () => {
    const texts = `["${'[{,'.repeat(MOST_VALUES)}\\"[[["${',0'.repeat(MOST_VALUES - 2)}`;
    expect(readJson(answer(`${texts}]`), 'x')).toHaveLength(MOST_VALUES - 1);
    expect(() => readJson(answer(`${texts},0]`), 'x')).toThrow(expect.objectContaining(TOO_LARGE));
    expect(readJson(answer(`${'['.repeat(100)}${']'.repeat(100)}`), 'x')).toHaveLength(1);
  });
});

describe('XML', () => {
  test.each([
    ['4 MiB of empty elements', () => `<a>${'<a/>'.repeat(MEBIBYTE)}</a>`],
    ['elements within elements', () => `${'<a>'.repeat(100)}${'</a>'.repeat(100)}`],
    ['elements that never end', () => '<a>'.repeat(1_000_000)],
    ['attributes', () => `<a>${'<b a="" b=""/>'.repeat(MOST_ELEMENTS / 3 + 1)}</a>`],
    ['attributes of one element', () => `<a${' b=""'.repeat(LONGEST_TAG / 4)}/>`],
    ['a name', () => `<${'a'.repeat(LONGEST_TAG)}/>`],
    ['a comment', () => `<!--${'-'.repeat(LONGEST_TAG)} --><a/>`],
    ['references', () => `<a>${'&amp;'.repeat(MOST_ELEMENTS)}</a>`],
    ['references in attributes', () => `<a>${`<b c="${'&#65;'.repeat(1_000)}"/>`.repeat(MOST_ELEMENTS / 1_000)}</a>`],
  ])('of %s is refused at the limit', (_, document) => {
    expect(() => parseXml(document(), VOCABULARY)).toThrow(expect.objectContaining(TOO_LARGE));
  });

  test('of the maximum number of elements is read, and one more is refused', () => {
    const children = (count: number) => `<a>${'<href/>'.repeat(count)}</a>`;
    expect(parseXml(children(MOST_ELEMENTS - 1), VOCABULARY).children).toHaveLength(MOST_ELEMENTS - 1);
    expect(() => parseXml(children(MOST_ELEMENTS), VOCABULARY)).toThrow(expect.objectContaining(TOO_LARGE));
  });

  test('of a calendar with ten thousand events lets other jobs run in between', async () => {
    const member = (index: number) =>
      `<response><href>/c/${index}.ics</href><propstat><prop><getetag>"1"</getetag></prop><status>HTTP/1.1 200 OK</status></propstat></response>`;
    const body = Buffer.from(
      `<multistatus xmlns="DAV:">${Array.from({ length: 10_000 }, (_, n) => member(n)).join('')}</multistatus>`,
    );
    const http = { send: async () => ({ status: 207, headers: new Headers(), retryAfterMs: null, body }) };
    const authorizer = { header: async () => 'a', renew: async () => 'a', quotaUser: null };
    const session = new DavSession({ http: http as never, authorizer }, new URL('https://dav.example/'));
    // As if each piece took the whole time of an iteration.
    let now = performance.now();
    vi.spyOn(performance, 'now').mockImplementation(() => {
      now += 8;
      return now;
    });
    onTestFinished(() => void vi.restoreAllMocks());
    let [turns, isRead] = [0, false];
    const count = () => {
      turns += 1;
      if (!isRead) setImmediate(count);
    };
    setImmediate(count);
    const answer = await session.ask({ method: 'PROPFIND', url: new URL('https://dav.example/c/') }, NEVER);
    isRead = true;
    expect(isMultistatus(answer) && answer.members.length).toBe(10_000);
    expect(turns).toBeGreaterThan(30);
  });
});

describe('a calendar object', () => {
  const event = (lines: string, zone = '') =>
    `BEGIN:VCALENDAR\r\n${zone}BEGIN:VEVENT\r\nUID:1\r\nSUMMARY:a\r\n${lines}END:VEVENT\r\nEND:VCALENDAR\r\n`;
  const zoned = (rule: string, start = '19700329T020000') => {
    const observance = `BEGIN:STANDARD\r\nDTSTART:${start}\r\nTZOFFSETFROM:+0100\r\nTZOFFSETTO:+0200\r\nRRULE:${rule}\r\nEND:STANDARD\r\n`;
    const zone = `BEGIN:VTIMEZONE\r\nTZID:Theirs\r\n${observance}END:VTIMEZONE\r\n`;
    return event('DTSTART;TZID=Theirs:20260701T100000\r\n', zone);
  };

  test.each([
    ['every second', zoned('FREQ=SECONDLY')],
    ['on a day that no year has', zoned('FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30')],
    ['on a first Monday that is the 15th', zoned('FREQ=YEARLY;BYMONTH=4;BYDAY=1MO;BYMONTHDAY=15')],
    ['each year since the first', zoned('FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU', '00010101T000000')],
  ])('whose clocks change %s has no known time', (_, text) => {
    expect(fromCalendarObject(text)).toMatchObject({ uid: '1', item: null });
  });

  test.each([
    ['the last Sunday of March', 'FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU'],
    ['the Sunday from the 8th on', 'FREQ=YEARLY;BYMONTH=3;BYMONTHDAY=8,9,10,11,12,13,14;BYDAY=SU'],
    ['one day of each year, at an hour', 'FREQ=YEARLY;BYMONTH=3;BYMONTHDAY=21;BYHOUR=2;BYMINUTE=0'],
  ])('whose clocks change on %s is read', (_, rule) => {
    expect(fromCalendarObject(zoned(rule))?.item?.time).toMatchObject({ start: '2026-07-01T08:00:00+00:00' });
  });

  test.each([
    ['parameters without end', event(`X-A${';a=b'.repeat(200_000)}:c\r\n`)],
    ['lines without end', event('X-A:b\r\n'.repeat(20_000))],
    ['components that never end', 'BEGIN:VCALENDAR\r\n'.repeat(9_000)],
  ])('of %s cannot be read', (_, text) => {
    expect(fromCalendarObject(text)).toBeNull();
  });

  test('with an endless duration covers only its first day', () => {
    const text = event('DTSTART;VALUE=DATE:20260301\r\nDURATION:P999999999W\r\n');
    expect(fromCalendarObject(text)?.item?.time).toMatchObject({ startDate: '2026-03-01', endDate: '2026-03-02' });
  });

  test('that is managed and has a foreign attachment of a megabyte is still read', () => {
    const file = `ATTACH;ENCODING=BASE64;VALUE=BINARY:${'QUJD'.repeat(250_000)}\r\n`;
    expect(fromCalendarObject(event(`DTSTART:20260301T100000Z\r\n${file}`))?.item?.title).toBe('a');
  });
});

test('a body of HTML that opens and never closes reads as its text', () => {
  for (const opening of ['<!--', '<style>', '<', '<br', ' ', '<head']) {
    expect(htmlToText(opening.repeat(100_000))).not.toContain('\r');
  }
});

describe('a tenant’s file', () => {
  test('with a fault in each of its signs reports the first', () => {
    const read = readYaml('tenants/a.yaml', Buffer.from(`"${'\n\\z'.repeat(10_000)}"`));
    expect('faults' in read && read.faults).toHaveLength(1);
  });

  test.each([
    ['larger than any', `a: "${'b'.repeat(600_000)}"`, /larger than 512 KiB/],
    [
      'of a thousand anchors in each other',
      Array.from({ length: 1_500 }, (_, n) => `k${n}: &a [*a]`).join('\n'),
      /too many aliases/,
    ],
    ['that is no YAML at all', ']'.repeat(500_000), /more than 20000 YAML tokens/],
    ['that nests deeper than the parser can go', `${'- '.repeat(9_900)}a\n- b`, /too many levels/],
    ['that nests without end', `${'- '.repeat(500)}a`, /too many levels/],
    ['whose key comes twice', 'a: 1\nb: 2\na: 3', /the key occurs twice/],
  ])('%s is refused with a fault', (_, text, message) => {
    const read = readYaml('tenants/a.yaml', Buffer.from(text));
    expect('faults' in read && read.faults.map((fault) => fault.message)).toEqual([expect.stringMatching(message)]);
  });
});
