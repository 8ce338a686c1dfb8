import fastify from 'fastify';
import { expect, onTestFinished, test } from 'vitest';
import { acceptForms } from '../../../sandbox/kit/app.ts';
import { listen } from '../../../sandbox/kit/listen.ts';
import { authorizeInBrowser } from '../../../sandbox/kit/oauth/browser.ts';
import { createOAuth } from '../../../sandbox/kit/oauth/oauth.ts';
import { addLoginRoutes, addTokenRoute, originOf } from '../../../sandbox/kit/oauth/routes.ts';
import type { Client, Grant, OAuthVendor } from '../../../sandbox/kit/oauth/vendor.ts';
import { type VendorWords, words } from '../../../sandbox/kit/oauth/words.ts';

const CLIENTS: readonly Client[] = [
  { clientId: 'public', clientSecret: undefined, redirectUris: ['https://app.example/cb'] },
  { clientId: 'confidential', clientSecret: 'secret', redirectUris: ['https://app.example/cb'] },
];

const REFUSALS = [
  'clientUnknown',
  'secretWrong',
  'redirectUnknown',
  'scopeUnknown',
  'challengeMethod',
  'requestOver',
  'codeUnknown',
  'codeRedirect',
  'codeVerifier',
  'refreshUnknown',
  'grantType',
] as const;

/** A vendor with only the required members; each refusal is reported by its name. */
const PLAIN: OAuthVendor<Client, Grant> = {
  now: Date.now,
  clients: CLIENTS,
  words: Object.fromEntries(REFUSALS.map((refusal) => [refusal, words(refusal, '')])) as VendorWords,
  errorBody: ({ error }) => ({ error }),
  place: (request) => ({ origin: originOf(request), issuer: originOf(request), base: '' }),
  login: {
    paths: { prefix: '', authorize: '/authorize', answer: '/answer' },
    code: { prefix: '', chance: 'uuid', lifetimeMs: 60_000 },
    allowsLoopback: () => false,
    needsChallenge: () => false,
    scopesOf: (query) => (query.get('scope') ?? '').split(' '),
    page: { heading: (clientId) => `<${clientId}> & "others"`, allow: 'Allow', people: () => [] },
    agree: ({ client, scopes }, account) => ({ account, client, scopes, isLasting: true }),
    denied: { error: 'access_denied' },
  },
  clientBy: ['form'],
  access: { prefix: '', chance: 8, lifetimeMs: () => 60_000 },
  refresh: { prefix: '', chance: 8, rules: () => ({ rotation: 'kept' }) },
  answer: ({ accessToken, refreshToken }) => ({ access_token: accessToken, refresh_token: refreshToken }),
};

async function open(vendor = PLAIN) {
  const app = fastify();
  acceptForms(app);
  const oauth = createOAuth(vendor);
  addLoginRoutes(app, oauth);
  addTokenRoute(app, oauth, '/token');
  const { url, close } = await listen(app);
  onTestFinished(close);
  const authorizeUrl = (clientId: string) =>
    `${url}/authorize?${new URLSearchParams({ client_id: clientId, redirect_uri: 'https://app.example/cb', scope: 'a' })}`;
  const post = async (path: string, form: Record<string, string>, headers: Record<string, string> = {}) => {
    const body = new URLSearchParams(form);
    const answer = await fetch(`${url}${path}`, { method: 'POST', body, headers, redirect: 'manual' });
    const text = await answer.text();
    return { status: answer.status, body: text === '' ? {} : JSON.parse(text) };
  };
  const codeFor = async (clientId: string) => {
    const back = new URL(await authorizeInBrowser(authorizeUrl(clientId), { account: 'a@clinic.example' }));
    const code = back.searchParams.get('code') ?? '';
    return { grant_type: 'authorization_code', code, redirect_uri: 'https://app.example/cb', client_id: clientId };
  };
  return { authorizeUrl, post, codeFor };
}

test('a sign-in page is answered once, and its text is escaped', async () => {
  const { authorizeUrl, post } = await open();
  const html = await (await fetch(authorizeUrl('public'))).text();
  expect(html).toContain('<h1>&lt;public&gt; &amp; &quot;others&quot;</h1>');
  const request = /name="request" value="([^"]+)"/.exec(html)?.[1] ?? '';
  const answer = { request, account: 'a@clinic.example', answer: 'allow' };
  expect((await post('/answer', answer)).status).toBe(302);
  expect(await post('/answer', answer)).toEqual({ status: 400, body: { error: 'requestOver' } });
});

test('a public client must not send a secret, a confidential one must', async () => {
  const { post, codeFor } = await open();
  expect((await post('/token', await codeFor('public'))).body).toMatchObject({ access_token: expect.any(String) });
  const pretended = { ...(await codeFor('public')), client_secret: '' };
  expect((await post('/token', pretended)).body).toEqual({ error: 'secretWrong' });
  expect((await post('/token', await codeFor('confidential'))).body).toEqual({ error: 'secretWrong' });
});

test('Basic is no authentication if a vendor accepts none', async () => {
  const basic = { authorization: `Basic ${Buffer.from('confidential:secret').toString('base64')}` };
  const { client_id: _, ...form } = await (await open()).codeFor('confidential');
  expect((await (await open()).post('/token', form, basic)).body).toEqual({ error: 'clientUnknown' });
  const lax = await open({ ...PLAIN, clientBy: ['form', 'basic'] });
  const { client_id: __, ...withCode } = await lax.codeFor('confidential');
  expect((await lax.post('/token', withCode, basic)).status).toBe(200);
});

test('a kind of grant exists where the vendor has its function', async () => {
  const form = { grant_type: 'client_credentials', client_id: 'confidential', client_secret: 'secret' };
  expect((await (await open()).post('/token', form)).body).toEqual({ error: 'grantType' });
  const own = await open({
    ...PLAIN,
    clientGrant: (client) => ({ account: undefined, client, scopes: ['a'], isLasting: false }),
  });
  expect((await own.post('/token', form)).body).toEqual({ access_token: expect.any(String) });
});
