import { describe, expect, test } from 'vitest';
import { readNames, refreshLifeMs, secondsToMs, tidyAnswer } from '../../src/oauth/token-requests.ts';

async function tidied(body: unknown, headers: Record<string, string> = {}) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const response = await tidyAnswer(new Response(text, { status: 400, headers }));
  return { response, text: await response.text() };
}
const membersOf = async (body: unknown) => JSON.parse((await tidied(body)).text) as unknown;

describe('an answer of a token endpoint', () => {
  test('loses its nulls and empty tokens, and passes its id_token under another name', async () => {
    const answer = {
      access_token: 'a',
      token_type: 'Bearer',
      refresh_token: '',
      scope: null,
      extra: null,
      id_token: 'i',
    };
    expect(await membersOf(answer)).toEqual({ access_token: 'a', token_type: 'Bearer', unvalidated_id_token: 'i' });
  });

  test.each([
    [3_600, 3_600],
    ['3600', 3_600],
    [0, undefined],
    [-5, undefined],
    ['soon', undefined],
    ['', undefined],
  ])('with expires_in and interval of %j has %j seconds', async (seconds, expected) => {
    expect(await membersOf({ expires_in: seconds, interval: seconds })).toEqual({
      ...(expected === undefined ? {} : { expires_in: expected, interval: expected }),
    });
  });

  test.each([
    [{ scope: ['agenda', 'patients'] }, { scope: 'agenda patients' }],
    [{ scopes: ['agenda'] }, { scope: 'agenda', scopes: ['agenda'] }],
    [{ scope: 7 }, {}],
    [{ access_token: 'a' }, { access_token: 'a', token_type: 'bearer' }],
  ])('%j becomes %j', async (answer, expected) => {
    expect(await membersOf(answer)).toEqual(expected);
  });

  test.each([
    ['BAD_REFRESH_TOKEN', 'invalid_grant'],
    ['BAD_CLIENT_SECRET', 'invalid_client'],
    ['BAD_SCOPE', 'invalid_scope'],
  ])('with the status %s of HubSpot has the error %s', async (status, error) => {
    expect(await membersOf({ status })).toEqual({ status, error });
    expect(await membersOf({ status, error: 'slow_down' })).toEqual({ status, error: 'slow_down' });
    expect(await membersOf({ status, access_token: 'a' })).not.toHaveProperty('error');
  });

  test('is JSON with its status, and with an error it has no challenge', async () => {
    const headers = { 'content-type': 'text/plain', 'www-authenticate': 'Basic realm="x"', date: 'now' };
    const { response } = await tidied({ error: 'invalid_client' }, headers);
    expect(response.status).toBe(400);
    expect([...response.headers.keys()]).toEqual(['content-type', 'date']);
    expect(response.headers.get('content-type')).toBe('application/json');
    expect((await tidied({}, headers)).response.headers.get('www-authenticate')).not.toBeNull();
  });

  test.each(['<html>', '[]', 'null', '"text"', ''])('that is no object is returned unchanged: %j', async (text) => {
    expect(await tidied(text, { 'content-type': 'text/html' })).toMatchObject({ text });
  });
});

test('a life in seconds is a finite number above zero, in a text too', () => {
  expect([1, '1', 0.5].map(secondsToMs)).toEqual([1_000, 1_000, 500]);
  for (const value of [0, -1, Number.NaN, 'x', ' ', '1e999', null, undefined, true, [1]]) {
    expect(secondsToMs(value)).toBeNull();
  }
});

test('the life of a refresh token has two names, and 0 is no end', () => {
  expect(refreshLifeMs({ refresh_token_expires_in: 60, refresh_expires_in: 30 })).toBe(60_000);
  expect(refreshLifeMs({ refresh_expires_in: 30 })).toBe(30_000);
  expect(refreshLifeMs({ refresh_expires_in: 0 })).toBeNull();
  expect(refreshLifeMs({})).toBeNull();
});

test('a response names its account only by strings; the id of HubSpot may be a number', () => {
  expect(readNames({ unvalidated_id_token: 'jwt', id: 'https://login.example/id/o/u', hub_id: 62 })).toEqual({
    ...{ idToken: 'jwt', identityUrl: 'https://login.example/id/o/u', hubId: '62' },
  });
  expect(readNames({ unvalidated_id_token: 7, id: '', hub_id: '' })).toEqual({
    ...{ idToken: null, identityUrl: null, hubId: null },
  });
  expect(readNames({ id_token: 'jwt' }).idToken).toBeNull();
});
