import { describe, expect, test } from 'vitest';
import {
  accountOfClaims,
  accountOfHub,
  accountOfNames,
  accountText,
  type Claims,
  type ExpectedAccount,
  isNamed,
  mismatchOf,
} from '../../src/oauth/accounts.ts';
import type { Provider } from '../../src/oauth/providers.ts';

const ROSSI = { subject: '117', address: 'rossi@practice.example', domain: 'practice.example' };

describe('the account that is expected', () => {
  test.each<[ExpectedAccount, string | null]>([
    [{ subject: '117' }, null],
    [{ address: 'Rossi@Practice.example' }, null],
    [{ domain: 'practice.example' }, null],
    [{ subject: '117', address: 'rossi@practice.example', domain: 'practice.example' }, null],
    [{ subject: '118' }, 'wrong-account'],
    [{ subject: '117', address: 'bianchi@practice.example' }, 'wrong-account'],
    [{ domain: 'ractice.example' }, 'wrong-account'],
    [{ domain: 'example' }, 'wrong-account'],
    [{ address: 'practice.example' }, 'wrong-account'],
  ])('%j', (expected, mismatch) => {
    expect(mismatchOf(ROSSI, expected)).toBe(mismatch);
  });

  test('is not one whose address or domain the vendor does not vouch for', () => {
    const unvouched = { subject: '117', address: null, domain: null };
    expect(mismatchOf(unvouched, { address: 'rossi@practice.example' })).toBe('account-unknown');
    expect(mismatchOf(unvouched, { address: 'rossi@practice.example', subject: '118' })).toBe('wrong-account');
    expect(mismatchOf(unvouched, { domain: 'practice.example' })).toBe('wrong-account');
    expect(mismatchOf(null, { subject: '117' })).toBe('account-unknown');
  });
});

test('a person names an account by its id or address, and an unknown one as such', () => {
  expect(
    ['117', 'ROSSI@practice.example', 'practice.example', 'unknown', ''].map((name) => isNamed(ROSSI, name)),
  ).toEqual([true, true, false, false, false]);
  expect(['117', 'unknown', ''].map((name) => isNamed(null, name))).toEqual([false, true, false]);
});

test('operators read the address with the id, or what there is', () => {
  expect(accountText(ROSSI)).toBe('rossi@practice.example (117)');
  expect(accountText({ ...ROSSI, address: null })).toBe('117');
  expect(accountText(null)).toBe('unknown');
});

const told = (subject: string, address: string | null = null, domain: string | null = null) => ({
  subject,
  address,
  domain,
});

describe('what each vendor vouches for', () => {
  test.each<[Provider['name'], string, Claims, object | null]>([
    [
      'google',
      'Workspace',
      { sub: '1', email: 'a@b.it', email_verified: true, hd: 'b.it' },
      told('1', 'a@b.it', 'b.it'),
    ],
    [
      'google',
      'a private account under a foreign domain',
      { sub: '1', email: 'a@b.it', email_verified: true },
      told('1', 'a@b.it'),
    ],
    ['google', 'an address that nobody proved', { sub: '1', email: 'a@b.it', email_verified: false }, told('1')],
    [
      'microsoft',
      'a member; the e-mail address is what an administrator wrote',
      { sub: 'pairwise', oid: 'o', tid: 't', preferred_username: 'a@b.it', email: 'victim@c.it' },
      told('o', 'a@b.it', 'b.it'),
    ],
    [
      'microsoft',
      'a personal account',
      { oid: 'o', tid: '9188040d-6c67-4c5b-b112-36a304b66dad', preferred_username: 'a@b.it' },
      told('o', 'a@b.it'),
    ],
    ['microsoft', 'without the scope profile', { sub: 'pairwise' }, told('pairwise')],
    [
      'salesforce',
      'a user name',
      { sub: 'https://login.salesforce.com/id/00D/005', user_id: '005', preferred_username: 'a@b.it', email: 'x@y.it' },
      told('005', 'a@b.it'),
    ],
    ['clinic', 'a subject', { sub: 's', email: 'a@b.it' }, told('s')],
    ['oauth', 'a verified address', { sub: 's', email: 'a@b.it', email_verified: true }, told('s', 'a@b.it')],
    [
      'oauth',
      'an address that would write to a terminal',
      { sub: 's', email: '\u001b[2Ja@b.it', email_verified: true },
      told('s'),
    ],
    ['oauth', 'an address that reads backwards', { sub: 's', email: 'a@\u202eti.b', email_verified: true }, told('s')],
    ['oauth', 'a subject of several lines', { sub: 's\nlogin ok' }, null],
    ['oauth', 'no subject', { email: 'a@b.it', email_verified: true }, null],
  ])('%s: %s', (name, _what, claims, account) => {
    expect(accountOfClaims({ name }, claims)).toEqual(account);
  });

  test('HubSpot tells the account in which the application is installed', () => {
    expect(accountOfHub({ active: true, hub_id: 4711, user: 'admin@clinic.example' })).toEqual(
      told('4711', 'admin@clinic.example'),
    );
    expect(accountOfHub({ active: false })).toBeNull();
  });
});

describe('what a token answer names by itself', () => {
  const NAMES = { idToken: null, identityUrl: null, hubId: null };
  const tokenFor = (claims: object) => `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.x`;

  test.each<[Provider['name'], Partial<typeof NAMES> | { idToken: string }, object | null]>([
    ['google', { idToken: tokenFor({ aud: 'c', sub: '1' }) }, told('1')],
    ['google', { idToken: tokenFor({ aud: ['c', 'd'], sub: '1' }) }, told('1')],
    ['google', { idToken: tokenFor({ aud: 'd', sub: '1' }) }, null],
    ['google', { idToken: 'garbage' }, null],
    ['google', {}, null],
    ['hubspot', { hubId: '4711' } as object, told('4711')],
    [
      'salesforce',
      { identityUrl: 'https://login.salesforce.com/id/00D000000000001/005000000000001' } as object,
      told('005000000000001'),
    ],
    ['oauth', { idToken: tokenFor({ aud: 'c', sub: '1' }) }, null],
  ])('%s %#', (name, names, account) => {
    expect(accountOfNames({ name, clientId: 'c' }, { ...NAMES, ...names })).toEqual(account);
  });
});
