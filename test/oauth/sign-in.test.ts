import { describe, expect, test } from 'vitest';
import type { SignInDemands } from '../../src/oauth/ask-account.ts';
import type { AuthorizationServer } from '../../src/oauth/server.ts';
import { beginSignIn, completeSignIn } from '../../src/oauth/sign-in.ts';

const NOTHING: SignInDemands = { acrValues: [], amr: [], maxAgeSeconds: null, needsAuthTime: false };
const BACK = 'https://mirror.test/sign-in/callback';
const server = {
  provider: { issuer: 'https://id.test' },
  authorizationUrl: async (parameters: Record<string, string>) =>
    new URL(`https://id.test/authorize?${new URLSearchParams(parameters)}`),
} as unknown as AuthorizationServer;

describe('the request of a sign-in', () => {
  const parametersOf = async (demands: Partial<SignInDemands>) =>
    (await beginSignIn(server, ['openid', 'email'], BACK, { ...NOTHING, ...demands })).url.searchParams;

  test('has state, nonce and PKCE, and demands nothing by default', async () => {
    const names = [...(await parametersOf({})).keys()].toSorted();
    const usual = ['code_challenge', 'code_challenge_method', 'nonce', 'redirect_uri', 'scope', 'state'];
    expect(names).toEqual(usual);
  });

  test('has the demanded levels and age, also the age 0', async () => {
    const asked = await parametersOf({ acrValues: ['a', 'b'], maxAgeSeconds: 0 });
    expect([asked.get('acr_values'), asked.get('max_age')]).toEqual(['a b', '0']);
  });
});

test('an answer for another provider than at the begin is refused as login-unknown', async () => {
  const { pending } = await beginSignIn(server, ['openid'], BACK, NOTHING);
  const other = { ...server, provider: { issuer: 'https://other.test' } } as AuthorizationServer;
  const signal = AbortSignal.timeout(1_000);
  await expect(completeSignIn(other, new URL(BACK), pending, signal)).rejects.toMatchObject({ code: 'login-unknown' });
});
