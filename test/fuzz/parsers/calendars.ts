import { fromCalendarObject, toCalendarObject } from '../../../src/connectors/caldav/from-model.ts';
import { LARGEST_ANSWER_BYTES } from '../../../src/connectors/caldav/limits.ts';
import { DavSession, isMultistatus, readProblem, withOwnStatus } from '../../../src/connectors/caldav/webdav.ts';
import { VOCABULARY } from '../../../src/connectors/caldav/xml-names.ts';
import { errors as googleErrors } from '../../../src/connectors/google-calendar/errors.ts';
import { readOwnEvent as readGoogleEvent } from '../../../src/connectors/google-calendar/from-model.ts';
import { bodyOrChallenge, errors as graphErrors } from '../../../src/connectors/outlook-calendar/errors.ts';
import { readOwnEvent as readGraphEvent } from '../../../src/connectors/outlook-calendar/from-model.ts';
import { htmlToText } from '../../../src/connectors/outlook-calendar/html.ts';
import { readGraphNotification } from '../../../src/connectors/outlook-calendar/subscriptions.ts';
import { parseXml } from '../../../src/connectors/xml.ts';
import { parseJson } from '../../../src/core/model/json.ts';
import type { Parser } from '../parser.ts';
import { JSON_PAIRS, JSON_WORDS } from './answers.ts';

const MULTISTATUS = `<?xml version="1.0" encoding="utf-8"?>
<d:multistatus xmlns:d="DAV:" xmlns:cal="urn:ietf:params:xml:ns:caldav"><d:response><d:href>/cal/a%40b.ics</d:href><d:propstat>
<d:prop><d:getetag>"1"</d:getetag><cal:calendar-data><![CDATA[BEGIN:VCALENDAR]]>&#13;&amp;</cal:calendar-data></d:prop>
<d:status>HTTP/1.1 200 OK</d:status></d:propstat></d:response><!-- end --><d:sync-token>t1</d:sync-token></d:multistatus>`;
const REFUSAL = `<D:error xmlns:D="DAV:" xmlns:s="http://sabredav.org/ns"><C:no-uid-conflict xmlns:C="urn:ietf:params:xml:ns:caldav"><D:href>/a</D:href></C:no-uid-conflict><s:message>no</s:message></D:error>`;

const xml: Parser = {
  name: 'xml',
  seeds: [MULTISTATUS, REFUSAL, '<a/>'],
  words: [
    '<a/>',
    '<',
    '>',
    '</',
    '/>',
    '<!--',
    '-->',
    '<![CDATA[',
    ']]>',
    '<?',
    '&amp;',
    '&#x0;',
    ' xmlns="x"',
    ' a="b"',
    "'",
    '<!DOCTYPE a>',
  ],
  pairs: [
    ['<a>', '</a>'],
    ['<d:response>', '</d:response>'],
    ['<x xmlns:p="u">', '</x>'],
  ],
  longestBytes: LARGEST_ANSWER_BYTES,
  async read(input) {
    const text = input.toString();
    readProblem([input]);
    const response = { status: 207, headers: new Headers(), retryAfterMs: null, body: input };
    const http = { send: async () => response, open: never, asFetch: never };
    const session = new DavSession(
      { http: http as never, authorizer: { header: async () => 'a', renew: async () => 'a', quotaUser: null } },
      new URL('https://dav.example/cal/'),
    );
    await withOwnStatus({ ...response, url: new URL('https://dav.example/cal/'), body: [input] }).catch(declared);
    const asked = { method: 'PROPFIND', url: new URL('https://dav.example/cal/') } as const;
    const answer = await session.ask(asked, new AbortController().signal);
    if (isMultistatus(answer)) void answer.members.length;
    parseXml(text, VOCABULARY);
  },
};

function never(): never {
  throw new Error('nobody asks');
}

/** The same document is read again, and may throw then. */
function declared(error: unknown): void {
  if (!(error instanceof Error) || error.name !== 'MirrorError') throw error;
}

const EVENT = toCalendarObject({
  ...{ key: 'k'.repeat(32), ownerTag: 'tag', sealedRecordId: 'sealed', revision: 3, stored: null },
  writtenAt: Date.UTC(2026, 0, 1),
  item: {
    ...{ title: 'Visit', description: 'a\nb', location: 'Rome; room 1', busy: true },
    time: { kind: 'timed', start: '2026-03-02T10:00:00+01:00', end: '2026-03-02T10:30:00+01:00', zone: 'Europe/Rome' },
  },
});
const FOREIGN_ZONE = EVENT.replaceAll('Europe/Rome', 'Their Zone');
const SERIES = `BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:1\r\nDTSTART;VALUE=DATE:20260301\r\nDURATION:P1D\r\nRRULE:FREQ=DAILY\r\nBEGIN:VALARM\r\nTRIGGER:-PT15M\r\nACTION:DISPLAY\r\nEND:VALARM\r\nATTENDEE;CN="A;B":mailto:a@b.example\r\nCATEGORIES:A,B\\,C\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n`;

const icalendar: Parser = {
  name: 'icalendar',
  seeds: [EVENT, FOREIGN_ZONE, SERIES],
  words: [
    ...[
      'BEGIN:VEVENT\r\n',
      'END:VEVENT\r\n',
      'RRULE:FREQ=SECONDLY\r\n',
      'RRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30\r\n',
    ],
    ...[
      'DTSTART:99991231T000000\r\n',
      'DURATION:P999999999W\r\n',
      ';TZID=',
      ';a=b',
      '\r\n ',
      ',',
      '\\',
      ':',
      '"',
      'X-A:b\r\n',
    ],
    ...['DTSTART:00010101T000000\r\n', 'RDATE:20260101\r\n', 'TZOFFSETTO:+9999\r\n', 'DTEND;VALUE=DATE:20269999\r\n'],
  ],
  pairs: [
    ['BEGIN:A\r\n', 'END:A\r\n'],
    ['BEGIN:VTIMEZONE\r\nTZID:Their Zone\r\n', 'END:VTIMEZONE\r\n'],
  ],
  read: (input) => fromCalendarObject(input.toString()),
};

const GOOGLE_EVENT = {
  ...{ id: 'k'.repeat(32), etag: '"1"', status: 'confirmed', summary: 'Visit', description: 'a', location: 'Rome' },
  start: { dateTime: '2026-03-02T10:00:00+01:00', timeZone: 'Europe/Rome' },
  end: { dateTime: '2026-03-02T10:30:00+01:00', timeZone: 'Europe/Rome' },
  extendedProperties: { private: { clinicMirror: 'tag', clinicMirrorLocator: 'sealed', clinicMirrorRevision: '3' } },
};
const WHOLE_DAY = { ...GOOGLE_EVENT, start: { date: '2026-03-02' }, end: { date: '2026-03-03' } };

const google: Parser = {
  name: 'google-events',
  seeds: [
    JSON.stringify(GOOGLE_EVENT),
    JSON.stringify(WHOLE_DAY),
    '{"error":{"code":403,"message":"no","errors":[{"reason":"rateLimitExceeded","domain":"usageLimits"}]}}',
  ],
  words: [
    ...JSON_WORDS,
    '"start"',
    '"dateTime"',
    '"timeZone"',
    '"reason"',
    '"error"',
    'Europe/Rome',
    '-13-45',
    '+99:99',
  ],
  pairs: JSON_PAIRS,
  read(input) {
    const body = parseJson(input);
    readGoogleEvent(body, 'tag');
    for (const status of [400, 403, 404, 409, 500]) googleErrors.of({ status, body, retryAfterMs: null });
  },
};

const GRAPH_EVENT = {
  ...{ id: 'AAMk', '@odata.etag': 'W/"1"', subject: 'Visit', isAllDay: false, showAs: 'busy', sensitivity: 'private' },
  ...{ type: 'singleInstance', transactionId: 'k'.repeat(32), changeKey: 'c' },
  body: { contentType: 'html', content: '<html><body><p>a<br>b &amp; c</p></body></html>' },
  start: { dateTime: '2026-03-02T10:00:00.0000000', timeZone: 'UTC' },
  end: { dateTime: '2026-03-02T10:30:00.0000000', timeZone: 'UTC' },
  location: { displayName: 'Rome' },
  singleValueExtendedProperties: [{ id: 'String {1} Name clinicMirror', value: 'tag' }],
};

const graph: Parser = {
  name: 'outlook-events',
  seeds: [
    JSON.stringify(GRAPH_EVENT),
    '{"error":{"code":"ErrorItemNotFound","message":"no","innerError":{"code":"x","innererror":{"code":"y"}}}}',
  ],
  words: [
    ...JSON_WORDS,
    '"start"',
    '"dateTime"',
    '"innerError"',
    '"code"',
    '"body"',
    '"content"',
    'W. Europe Standard Time',
  ],
  pairs: [...JSON_PAIRS, ['{"error":{"innerError":', '}}']],
  read(input) {
    const body = parseJson(input);
    readGraphEvent(body, { ownerTag: 'tag', wholeDayZone: 'Europe/Rome' });
    const challenge = input
      .subarray(0, 16_384)
      .toString('latin1')
      .replaceAll(/[\0\r\n]/g, ' ');
    for (const status of [400, 401, 403, 404, 429, 503]) {
      const told = bodyOrChallenge(status, new Headers({ 'www-authenticate': challenge }), body);
      graphErrors.of({ status, body: told, retryAfterMs: null });
    }
  },
};

const html: Parser = {
  name: 'html',
  seeds: [
    '<html>\r\n<head><style>p { }</style></head><body><div class="PlainText">one<br>\r\ntwo &lt;b&gt;</div></body></html>',
    '<!-- a --><b>bold</b>&nbsp;text &#232; &#x1F600;',
  ],
  words: [
    '<!--',
    '-->',
    '<br>',
    '<br',
    '</p>',
    '<style>',
    '</style>',
    '<',
    '>',
    '&',
    ';',
    '\r\n',
    ' ',
    '&#99999999999;',
    '<head',
  ],
  pairs: [
    ['<b>', '</b>'],
    ['<!--', '-->'],
    ['<style>', '</style>'],
  ],
  read: (input) => htmlToText(input.toString()),
};

const notifications: Parser = {
  name: 'notifications',
  seeds: [
    '{"value":[{"subscriptionId":"1","clientState":"s","changeType":"updated","resource":"r"}]}',
    '{"value":[{"subscriptionId":"1","clientState":"s","lifecycleEvent":"missed"}],"validationTokens":["a"]}',
    'validationToken=Validation%3a+Testing',
  ],
  words: [...JSON_WORDS, '"clientState"', '"changeType"', '"lifecycleEvent"', '"value"', 'validationToken='],
  pairs: JSON_PAIRS,
  read(input) {
    const text = input.toString();
    readGraphNotification({ query: new URLSearchParams(), headers: {}, body: text });
    readGraphNotification({ query: new URLSearchParams(text.slice(0, 16_384)), headers: {}, body: '' });
  },
};

export const CALENDARS: readonly Parser[] = [xml, icalendar, google, graph, html, notifications];
