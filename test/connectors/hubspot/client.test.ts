import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createClient, type HubSpotCall, pathsOf, readAccount } from '../../../src/connectors/hubspot/client.ts';
import { MOST_ANSWER_VALUES } from '../../../src/connectors/hubspot/limits.ts';
import type { HttpClient, HttpRequest, HttpResponse } from '../../../src/core/http/client.ts';
import { MOST_VALUES } from '../../../src/core/model/json.ts';
import { NO_SIGNAL } from './support.ts';

const PATHS = pathsOf('2026-03');
const CALL: HubSpotCall = { label: 'hubspot.test', method: 'GET', path: '/crm/x' };

/** A client whose calls are answered by these in their order: status, and body. */
function openClient(...answers: readonly [status: number, body?: object][]) {
  const requests: HttpRequest[] = [];
  const left = [...answers];
  const send = async (request: HttpRequest): Promise<HttpResponse> => {
    requests.push(request);
    const [status, body] = left.shift()!;
    const content = body === undefined ? '' : JSON.stringify(body);
    return { status, headers: new Headers(), body: Buffer.from(content), retryAfterMs: null };
  };
  const authorizer = { header: async () => 'Bearer old', renew: async () => 'Bearer new', quotaUser: null };
  const http = { send } as unknown as HttpClient;
  const options = { http, authorizer, clock: () => 0, apiUrl: 'https://hubspot.example', zone: () => null };
  return { requests, client: createClient(options, NO_SIGNAL) };
}

describe('a call of HubSpot', () => {
  test('has a content type only with a body', async () => {
    const { client, requests } = openClient([200, {}], [200, {}]);
    await client.send(CALL);
    await client.send({ ...CALL, method: 'POST', body: { a: 1 } });
    expect(requests).toMatchObject([
      { url: 'https://hubspot.example/crm/x', headers: { authorization: 'Bearer old' } },
      { body: '{"a":1}', headers: { 'content-type': 'application/json' } },
    ]);
    expect(requests[0]).not.toHaveProperty('body');
    expect(requests[0]!.headers).not.toHaveProperty('content-type');
  });

  test('is repeated once with a renewed token after a 401, and then is login-refused', async () => {
    const renewed = openClient([401, {}], [200, { id: 7 }]);
    expect(await renewed.client.send(CALL)).toMatchObject({ status: 200, body: { id: 7 } });
    expect(renewed.requests.map(({ headers }) => headers?.authorization)).toEqual(['Bearer old', 'Bearer new']);
    const refused = openClient([401, {}], [401, {}]);
    await expect(refused.client.send(CALL)).rejects.toMatchObject({ code: 'login-refused' });
  });

  test('that must succeed is read by its schema; a refusal, and an answer of another shape, are errors', async () => {
    const schema = z.object({ id: z.number() });
    expect(await openClient([200, { id: 7, more: 1 }]).client.demand(schema, CALL)).toEqual({ id: 7 });
    const other = openClient([200, { id: 'seven' }]).client.demand(schema, CALL);
    await expect(other).rejects.toMatchObject({ code: 'unexpected-answer' });
    await expect(openClient([500]).client.demand(schema, CALL)).rejects.toMatchObject({ code: 'server-error' });
  });

  test('that has an empty answer is done only after a 204', async () => {
    await expect(openClient([204]).client.demandNothing(CALL)).resolves.toBeUndefined();
    await expect(openClient([200, {}]).client.demandNothing(CALL)).rejects.toMatchObject({ code: 'unexpected-answer' });
    await expect(openClient([423, {}]).client.demandNothing(CALL)).rejects.toMatchObject({ code: 'writes-locked' });
  });

  test('whose answer has too many values is refused', async () => {
    const answerOf = (count: number): [number, object] => [200, { results: Array.from({ length: count }, () => ({})) }];
    const [most, tooMany] = [MOST_ANSWER_VALUES / 2 - 10, MOST_ANSWER_VALUES / 2 + 10];
    const { client } = openClient(answerOf(most), answerOf(tooMany), answerOf(tooMany));
    expect(await client.send(CALL)).toMatchObject({ status: 200 });
    expect(await client.send({ ...CALL, mostValues: MOST_VALUES })).toMatchObject({ status: 200 });
    await expect(client.send(CALL)).rejects.toMatchObject({ actor: 'contract', code: 'answer-too-large' });
  });
});

test.each([
  ['that is known is its zone', 'Europe/Zurich', 'Europe/Zurich'],
  ['that is unknown is none', 'Europe/Zuerich', null],
  ['that is no text is none', 7, null],
  ['that is absent is none', undefined, null],
])('a zone of an account %s', async (_, timeZone, zone) => {
  const { client, requests } = openClient([200, { portalId: 4, timeZone }]);
  expect(await readAccount(client, PATHS)).toEqual({ portalId: 4, zone });
  expect(requests[0]!.url).toBe('https://hubspot.example/account-info/2026-03/details');
});

test('an account without a number is an unexpected-answer', async () => {
  const { client } = openClient([200, { timeZone: 'Europe/Zurich' }]);
  await expect(readAccount(client, PATHS)).rejects.toMatchObject({ code: 'unexpected-answer' });
});
