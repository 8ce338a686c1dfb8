import { describe, expect, test } from 'vitest';
import {
  eventsQuery,
  mailboxPath,
  pageOf,
  readPage,
  subscriptionResource,
  walkLists,
  withQuery,
} from '../../../src/connectors/outlook-calendar/paths.ts';

const page = (body: object, status = 200) => ({ status, body, retryAfterMs: null });
const link = (path: string, host = 'graph.microsoft.com') => `https://${host}/v1.0${path}`;

test('names of mailboxes and calendars can lead to no other path', () => {
  expect(mailboxPath('me')).toBe('/me');
  expect(mailboxPath('a/../b@x.example')).toBe('/users/a%2F..%2Fb%40x.example');
  expect(subscriptionResource('me', 'AA/b=')).toBe('me/calendars/AA%2Fb=/events');
  expect(subscriptionResource('a@x.example', 'A')).toBe('users/a@x.example/calendars/A/events');
});

test('a query keeps its names readable and encodes its values', () => {
  expect(withQuery('/me/events', { $top: 5, $filter: "a eq 'b&c'" })).toBe(
    "/me/events?$top=5&$filter=a%20eq%20'b%26c'",
  );
  expect(withQuery('/me', {})).toBe('/me');
});

test('events are selected by a value of a property and by all further conditions', () => {
  expect(eventsQuery('id1', 'tag', ['start/dateTime gt 1', 'x']).$filter).toBe(
    "singleValueExtendedProperties/Any(ep: ep/id eq 'id1' and ep/value eq 'tag') and start/dateTime gt 1 and x",
  );
});

describe('the link of a page', () => {
  test('is followed by its path and query only, whatever host it names', () => {
    const body = { value: [1], '@odata.nextLink': link('/me/events?$skip=1', 'evil.example') };
    expect(pageOf(page(body))).toEqual({ elements: [1], next: '/me/events?$skip=1', delta: null });
  });

  test('to changes is valid only at the end of a round', () => {
    const delta = { '@odata.deltaLink': link('/delta?t=1') };
    expect(pageOf(page({ value: [], ...delta }))).toEqual({ elements: [], next: null, delta: '/delta?t=1' });
    expect(pageOf(page({ value: [], ...delta, '@odata.nextLink': link('/n') }))).toMatchObject({ delta: null });
  });

  test.each(['no link', 'https://graph.microsoft.com/beta/me'])('that leads nowhere makes no page: %s', (next) => {
    expect(pageOf(page({ value: [], '@odata.nextLink': next }))).toBeNull();
    expect(pageOf(page({ value: [], '@odata.deltaLink': next }))).toMatchObject({ next: null, delta: null });
  });

  test('is not looked for in what is no page: unexpected-answer', () => {
    expect(() => readPage(page({ error: {} }))).toThrow(expect.objectContaining({ code: 'unexpected-answer' }));
  });
});

describe('a list', () => {
  const read = async (pages: Record<string, ReturnType<typeof page>>) => {
    const found: unknown[] = [];
    const refused = ({ status }: { status: number }) => new Error(`refused ${status}`);
    for await (const elements of walkLists('/a', async (path) => pages[path]!, refused)) found.push(...elements);
    return found;
  };

  test('goes through empty pages to its end', async () => {
    const pages = {
      '/a': page({ value: [1], '@odata.nextLink': link('/b') }),
      '/b': page({ value: [], '@odata.nextLink': link('/c') }),
      '/c': page({ value: [2] }),
    };
    expect(await read(pages)).toEqual([1, 2]);
  });

  test('that is refused at a later page, or leads in a circle, is no list', async () => {
    const first = page({ value: [1], '@odata.nextLink': link('/b') });
    await expect(read({ '/a': first, '/b': page({}, 503) })).rejects.toThrow('refused 503');
    const back = page({ value: [], '@odata.nextLink': link('/a') });
    await expect(read({ '/a': first, '/b': back })).rejects.toMatchObject({ code: 'unexpected-answer' });
  });
});
