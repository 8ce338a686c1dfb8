import { describe, expect, test } from 'vitest';
import { classOfError, isFinal, isPassing, neededFirst } from '../../src/oauth/error-classes.ts';

describe('the class of an OAuth error', () => {
  test.each([
    ['invalid_grant', '', 'authorization', 'login-ended'],
    ['invalid_grant', 'inactive user', 'authorization', 'account-inactive'],
    ['inactive_org', '', 'authorization', 'account-inactive'],
    ['invalid_grant', 'IP restricted', 'authorization', 'address-restricted'],
    ['invalid_grant', 'invalid login hours', 'authorization', 'address-restricted'],
    ['invalid_grant', "user hasn't approved this consumer", 'authorization', 'application-not-approved'],
    ['login_required', '', 'authorization', 'interaction-required'],
    ['access_denied', '', 'authorization', 'login-refused'],
    ['invalid_client', 'inactive user', 'settings', 'client-rejected'],
    ['org_internal', '', 'settings', 'client-not-allowed'],
    ['invalid_scope', '', 'settings', 'scope-rejected'],
    ['slow_down', '', 'remote', 'token-endpoint-unavailable'],
    ['rate_limit_exceeded', '', 'remote', 'token-endpoint-unavailable'],
  ])('%s ("%s") is for %s: %s', (error, description, actor, code) => {
    expect(classOfError(error, description)).toMatchObject({ actor, code });
  });

  test.each(['something_new', 'toString', 'INVALID_GRANT', ''])('of "%s" is unknown', (code) => {
    expect(classOfError(code, '')).toBeNull();
  });

  test('requires an administrator before a new sign-in for only three reasons', () => {
    for (const code of ['account-inactive', 'address-restricted', 'application-not-approved'])
      expect(neededFirst(code)).not.toBeNull();
    for (const code of ['login-ended', 'toString', '', null]) expect(neededFirst(code)).toBeNull();
  });
});

describe('the description of a refused refresh', () => {
  test.each([
    ['AADSTS90033: A transient error has occurred.', true, false],
    ['AADSTS50173: The grant has expired.', false, true],
    ['AADSTS50053: several causes', false, false],
    ['AADSTS900330: another number', false, false],
    ['xAADSTS90033', false, false],
    ['The token request is already being processed', true, false],
    ['Expired authorization code', true, false],
    ['an expired authorization code was sent', false, false],
    ['internal_failure', true, false],
    ['Please try again later', true, false],
    ['Bad Request', false, false],
    ['', false, false],
  ])('"%s" passes: %s; is final: %s', (description, passes, final) => {
    expect([isPassing(description), isFinal(description)]).toEqual([passes, final]);
  });
});
