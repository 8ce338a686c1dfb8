import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ACCESS_LEVELS } from '../../../src/core/model/acts.ts';
import { rightsOf, type SignedIn, signedInBy } from '../../../src/operator/control/access.ts';
import type { OidcSettings } from '../../../src/settings/access-schema.ts';
import { accessSettings } from './acting.ts';

const ISSUER = 'https://id.test';
const settingsOf = (rules: object) => accessSettings({ oidc: { issuer: ISSUER, clientId: 'mirror', ...rules } });
const person = (who: Partial<Extract<SignedIn, { way: 'oidc' }>>): SignedIn => ({
  ...{ way: 'oidc', issuer: ISSUER, subject: 's', email: null, addresses: [], name: 'n', groups: [] },
  ...who,
});

test('the first matching rule applies, rules for people before rules for groups', () => {
  const settings = settingsOf({
    people: [
      { email: 'anna@clinic.example', level: 'viewer' },
      { email: 'anna@clinic.example', level: 'owner' },
    ],
    groups: [{ value: 'all', level: 'operator', tenants: ['aurora'] }],
  });
  const rights = (who: SignedIn) => rightsOf(who, settings);
  const groups = ['other', 'all'];
  expect(rights(person({ addresses: ['anna@clinic.example'], groups }))).toEqual({ level: 'viewer', tenants: null });
  expect(rights(person({ groups }))).toEqual({ level: 'operator', tenants: new Set(['aurora']) });
  expect(rights(person({ groups: ['other'] }))).toBeNull();
  expect(rights({ way: 'passphrase' })).toBeNull();
});

test('a user without a rule has no access, with any claims of the provider', () => {
  const word = fc.constantFrom('a', 'b', 'a@x.example', 'b@x.example', 'A@X.EXAMPLE', '');
  const level = fc.constantFrom(...ACCESS_LEVELS);
  const rules = fc.record({
    people: fc.array(
      fc.oneof(
        fc.record({ email: fc.constantFrom('a@x.example', 'b@x.example'), level }),
        fc.record({ subject: fc.constantFrom('a', 'b'), level }),
      ),
      { minLength: 1 },
    ),
    groups: fc.array(fc.record({ value: fc.constantFrom('a', 'b'), level })),
  });
  const claims = fc.record({
    sub: fc.constantFrom('a', 'b', 'c'),
    email: fc.option(word, { nil: undefined }),
    email_verified: fc.constantFrom(true, false, 'true', undefined),
    groups: fc.oneof(fc.array(word), word, fc.constant(undefined), fc.constant({ a: true })),
  });
  fc.assert(
    fc.property(rules, claims, (written, told) => {
      const settings = settingsOf(written);
      const who = signedInBy(settings.oidc as OidcSettings, told);
      const emails = told.email_verified === true ? [told.email?.toLowerCase() ?? ''] : [];
      const rights = who === null ? null : rightsOf({ ...who, addresses: emails } as SignedIn, settings);
      const groups = Array.isArray(told.groups) ? told.groups : [told.groups];
      const fitting = [
        ...written.people.filter((rule) => ('email' in rule ? emails.includes(rule.email) : rule.subject === told.sub)),
        ...written.groups.filter(({ value }) => groups.includes(value)),
      ];
      expect(rights?.level ?? null).toBe(fitting[0]?.level ?? null);
    }),
  );
});

test('a name is one line, and a name or list above the limit is ignored', () => {
  const { oidc } = settingsOf({ people: [{ subject: 's', level: 'owner' }] });
  const signedIn = (claims: object) => signedInBy(oidc as OidcSettings, { sub: 's', ...claims });
  expect(signedIn({ name: 'Anna\u202eBianchi', preferred_username: 'anna' })).toMatchObject({ name: 'anna' });
  expect(signedIn({ name: 'x'.repeat(400) })).toMatchObject({ name: 's' });
  expect(signedIn({ groups: Array(600).fill('g') })).toMatchObject({ groups: { length: 500 } });
  expect(signedInBy(oidc as OidcSettings, { email: 'anna@clinic.example' })).toBeNull();
});
