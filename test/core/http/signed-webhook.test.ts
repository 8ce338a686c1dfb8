import { Webhook } from 'standardwebhooks';
import { describe, expect, test } from 'vitest';
import type { HttpClient, HttpRequest } from '../../../src/core/http/client.ts';
import { isTooLarge, postSigned } from '../../../src/core/http/signed-webhook.ts';
import { Secret } from '../../../src/settings/secret-reference.ts';

const [OLD, NEW] = [3, 4].map((byte) => `whsec_${Buffer.alloc(32, byte).toString('base64')}`) as [string, string];
const ENDPOINT = {
  url: 'https://receiver.example/hook',
  secrets: [new Secret(OLD, 'file /run/old'), new Secret(NEW, 'file /run/new')],
  allowPrivateAddresses: false,
};

/** Posts one message to a receiver that answers so. */
async function post(status: number, retryAfterMs: number | null = null, endpoint = ENDPOINT) {
  const sent: HttpRequest[] = [];
  const http = {
    send: async (request: HttpRequest) => {
      sent.push(request);
      return { status, headers: new Headers(), body: Buffer.alloc(0), retryAfterMs };
    },
  } as unknown as HttpClient;
  const message = { label: 'events.post', id: 'msg_1', now: Date.now(), body: '{"a":1}' };
  const answer = await postSigned(http, endpoint, message, new AbortController().signal);
  return { answer, request: sent[0]! };
}

describe('a message', () => {
  test('is taken by a receiver that knows any one of the secrets, and by none that knows another', async () => {
    const { request } = await post(200);
    for (const secret of [OLD, NEW])
      expect(new Webhook(secret).verify(String(request.body), request.headers ?? {})).toEqual({ a: 1 });
    const stranger = new Webhook(Buffer.alloc(32, 5).toString('base64'));
    expect(() => stranger.verify(String(request.body), request.headers ?? {})).toThrow();
  });

  test('is sent only to public addresses, unless the settings allow others', async () => {
    expect((await post(200)).request).toMatchObject({ method: 'POST', publicOnly: true });
    expect((await post(200, null, { ...ENDPOINT, allowPrivateAddresses: true })).request.publicOnly).toBe(false);
  });

  test('is too large above 20,000 bytes, not characters', () => {
    expect(isTooLarge('a'.repeat(20_000))).toBe(false);
    expect(isTooLarge('a'.repeat(20_001))).toBe(true);
    expect(isTooLarge('é'.repeat(10_001))).toBe(true);
  });
});

describe('an answer', () => {
  test.each([
    [200, { result: 'taken' }],
    [299, { result: 'taken' }],
    [410, { result: 'gone' }],
    [429, { result: 'later', code: 'throttled', retryAfterMs: 7_000 }],
    [503, { result: 'later', code: 'webhook-unavailable', retryAfterMs: 7_000 }],
    [404, { result: 'later', code: 'webhook-refused', retryAfterMs: 7_000 }],
    [301, { result: 'later', code: 'webhook-redirected', retryAfterMs: 7_000 }],
  ])('of %i is %j', async (status, expected) => {
    expect((await post(status, 7_000)).answer).toEqual(expected);
  });

  test.each([401, 403])('of %i names where the secrets are kept: webhook-unauthorized', async (status) => {
    const error = await post(status).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'webhook-unauthorized', actor: 'settings', retry: 'later', status });
    expect(JSON.stringify((error as { remedy: unknown }).remedy)).toMatch(/run\/old.*run\/new/);
  });
});
