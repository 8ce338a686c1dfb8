import { describe, expect, test } from 'vitest';
import { smtpError } from '../../../src/core/mail/errors.ts';
import { Secret } from '../../../src/settings/secret-reference.ts';

const SERVER = {
  login: { user: 'clinic', password: new Secret('hunter2', 'file /run/mail-password') },
  certificateAuthority: new Secret('PEM', 'file /run/mail-ca'),
};

function errorOf(failure: Partial<Parameters<typeof smtpError>[0]>, handedOver = false) {
  return smtpError({ reply: null, command: 'CONN', codes: [], ...failure }, handedOver, SERVER);
}

describe('a reply', () => {
  test.each([
    ['CONN', 554, 'remote', 'smtp-busy', 'later'],
    ['CONN', 421, 'remote', 'smtp-busy', 'later'],
    ['EHLO', 502, 'settings', 'smtp-tls-failed', 'later'],
    ['STARTTLS', 501, 'settings', 'smtp-tls-failed', 'later'],
    ['AUTH PLAIN', 535, 'settings', 'smtp-login-refused', 'later'],
    ['AUTH PLAIN', 454, 'remote', 'smtp-busy', 'later'],
    ['MAIL FROM', 550, 'settings', 'smtp-sender-refused', 'later'],
    ['RCPT TO', 550, 'remote', 'recipient-refused', 'never'],
    ['RCPT TO', 451, 'remote', 'smtp-busy', 'later'],
    ['DATA', 554, 'remote', 'mail-refused', 'never'],
    ['DATA', 499, 'remote', 'smtp-busy', 'later'],
  ])('to %s of %i is %s %s, to be tried %s', (command, reply, actor, code, retry) => {
    expect(errorOf({ command, reply })).toMatchObject({ actor, code, retry });
  });

  test('settles a mail that had begun to leave', () => {
    expect(errorOf({ command: 'DATA', reply: 554 }, true)).toMatchObject({ code: 'mail-refused', ambiguous: false });
  });
});

describe('a connection that broke off', () => {
  test('leaves a partly sent mail uncertain: smtp-answer-lost', () => {
    const error = errorOf({ command: 'DATA', codes: ['ECONNECTION', 'ETIMEDOUT'] }, true);
    expect(error).toMatchObject({ code: 'smtp-answer-lost', retry: 'later', ambiguous: true });
  });

  test.each([
    [['EAUTH'], 'smtp-login-refused'],
    [['ENOAUTH'], 'smtp-login-refused'],
    [['ETLS', 'CERT_HAS_EXPIRED'], 'smtp-tls-failed'],
    [['DEPTH_ZERO_SELF_SIGNED_CERT'], 'smtp-tls-failed'],
    [['UNABLE_TO_VERIFY_LEAF_SIGNATURE'], 'smtp-tls-failed'],
    [['ERR_SSL_WRONG_VERSION_NUMBER'], 'smtp-tls-failed'],
    [['ESOCKET', 'ETIMEDOUT'], 'timeout'],
    [['TimeoutError'], 'timeout'],
    [['ESOCKET', 'ECONNREFUSED'], 'connection-failed'],
    [[], 'connection-failed'],
  ])('before the mail left with %j: %s', (codes, code) => {
    expect(errorOf({ codes })).toMatchObject({ code, ambiguous: false });
  });
});

test('the remedy names where a refused secret is kept, and never the secret', () => {
  const login = JSON.stringify(errorOf({ codes: ['EAUTH'] }).remedy);
  expect(login).toContain('/run/mail-password');
  expect(login).not.toContain('hunter2');
  expect(JSON.stringify(errorOf({ codes: ['CERT_HAS_EXPIRED'] }).remedy)).toContain('/run/mail-ca');
});
