import { inspect } from 'node:util';
import * as openid from 'openid-client';
import { describe, expect, test } from 'vitest';
import { MirrorError } from '../../src/core/model/errors.ts';
import {
  callbackError,
  loginEnded,
  notConnected,
  oauthErrorCode,
  refreshError,
  refusalUnconfirmed,
  toMirrorError,
} from '../../src/oauth/errors.ts';

const facts = (status: number, retryAfterMs: number | null = null) => ({ status, retryAfterMs, skewMs: 0 });
const refused = (error: string, description = '') =>
  new openid.ResponseBodyError('x', {
    cause: { error, error_description: description },
    response: new Response('', { status: 400 }),
  });
const ofLibrary = (code: string) => Object.assign(new Error('x'), { code });

describe('a failed call of the authorization server', () => {
  test.each([
    [429, false],
    [500, true],
    [502, true],
    [503, false],
  ])('with status %i is token-endpoint-unavailable, and may have been carried out: %s', (status, ambiguous) => {
    expect(toMirrorError(refused('invalid_grant'), facts(status, 7_000))).toMatchObject({
      ...{
        actor: 'remote',
        code: 'token-endpoint-unavailable',
        retry: 'later',
        retryAfterMs: 7_000,
        status,
        ambiguous,
      },
    });
  });

  test('with status 401 and no OAuth error is client-rejected', () => {
    expect(toMirrorError(new Error('x'), facts(401))).toMatchObject({ actor: 'settings', code: 'client-rejected' });
  });

  test.each([
    ['OAUTH_MISSING_SERVER_METADATA', facts(200), 'settings', 'endpoint-unknown', false],
    ['OAUTH_INVALID_SERVER_METADATA', facts(200), 'settings', 'endpoint-unknown', false],
    ['OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED', facts(200), 'settings', 'issuer-mismatch', false],
    ['OAUTH_INVALID_RESPONSE', null, 'authorization', 'login-answer-rejected', false],
    ['OAUTH_INVALID_RESPONSE', facts(200), 'contract', 'token-answer-unreadable', true],
    ['OAUTH_PARSE_ERROR', facts(200), 'contract', 'token-answer-unreadable', true],
  ])('with %s after %j is an error of %s: %s', (code, answer, actor, expected, ambiguous) => {
    expect(toMirrorError(ofLibrary(code), answer)).toMatchObject({ actor, code: expected, ambiguous });
  });

  test('caused by an error of clinic-mirror is that error', () => {
    const own = new MirrorError('x', { actor: 'remote', code: 'aborted', retry: 'later' });
    expect(toMirrorError(new TypeError('fetch failed', { cause: own }), facts(500))).toBe(own);
  });

  test('with an unknown OAuth error is token-error-unknown, and shows a code only in the form of a code', () => {
    const known = toMirrorError(refused('something_new'), facts(400));
    expect(known).toMatchObject({ code: 'token-error-unknown', message: expect.stringContaining('something_new') });
    expect(oauthErrorCode(known)).toBe('something_new');
    const canary = toMirrorError(refused('Canary <b>', 'canary'), facts(400));
    expect(canary).toMatchObject({ code: 'token-error-unknown' });
    expect(oauthErrorCode(canary)).toBeNull();
    expect(inspect(canary, { depth: 20, showHidden: true })).not.toMatch(/canary/i);
  });

  test('that is none of OAuth has no OAuth error code', () => {
    expect(oauthErrorCode(new Error('invalid_grant'))).toBeNull();
    expect(oauthErrorCode(notConnected('clinic'))).toBeNull();
  });
});

describe('a refused refresh', () => {
  test.each([
    ['', 'later', 'login-ended'],
    ['AADSTS50173: The grant has expired.', 'never', 'login-ended'],
    ['AADSTS90033: A transient error.', 'later', 'token-endpoint-unavailable'],
    ['user is inactive', 'never', 'account-inactive'],
  ])('with the description "%s" is retried: %s, with code %s', (description, retry, code) => {
    expect(refreshError(refused('invalid_grant', description), facts(400))).toMatchObject({ retry, code });
  });
});

describe('an error in the redirect of the provider', () => {
  const back = (search: string) => callbackError(new URL(`https://mirror.example/oauth/callback?${search}`));

  test('without an error is none', () => {
    expect(back('code=1&state=2')).toBeNull();
  });

  test.each([
    ['error=access_denied', 'login-refused'],
    ['error=server_error', 'provider-failed'],
    ['error=temporarily_unavailable', 'provider-failed'],
    ['error=invalid_grant&error_description=ip+restricted', 'address-restricted'],
    ['error=Some+Thing', 'token-error-unknown'],
  ])('with %s is %s', (search, code) => {
    expect(back(search)).toMatchObject({ code });
  });
});

describe('the error of a connection', () => {
  test('names the command that logs in', () => {
    for (const error of [notConnected('crm'), loginEnded('crm', null), refusalUnconfirmed('crm', 1_000)])
      expect(error.remedy).toContain('clinic-mirror login <tenant> crm');
  });

  test('whose connection ended has its reason as code, and the action of an administrator comes first', () => {
    expect(loginEnded('crm', null)).toMatchObject({ code: 'login-ended', retry: 'never' });
    const inactive = loginEnded('crm', 'account-inactive');
    expect(inactive.code).toBe('account-inactive');
    expect(inactive.remedy).not.toBe(loginEnded('crm', 'login-ended').remedy);
    expect(inactive.remedy).toContain(loginEnded('crm', 'login-ended').remedy);
  });

  test('whose refusal is unconfirmed waits for the second try', () => {
    expect(refusalUnconfirmed('crm', 1_000)).toMatchObject({
      ...{ actor: 'remote', code: 'refusal-unconfirmed', retry: 'later', retryAfterMs: 1_000 },
    });
  });
});
