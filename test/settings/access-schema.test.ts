import { describe, expect, test } from 'vitest';
import { ENV, faultLines, load, SETTINGS, TENANT, writeConfiguration } from './configuration-directory.ts';

const written = (operator: string) =>
  writeConfiguration({ 'clinic-mirror.yaml': `${SETTINGS}operator: ${operator}\n` });

const settingsOf = (operator: string) => load(written(operator), { env: ENV }).settings;

const faults = (operator: string) => faultLines(written(operator), { env: ENV });

const oidc = (more: string) =>
  `{ access: { oidc: { issuer: "https://id.test/realms/a/", clientId: mirror, ${more} } } }`;

const ANNA = 'people: [{ email: anna@clinic.example, level: owner }]';

describe('access of users', () => {
  test('is allowed for no one, for an owner with a passphrase, or for users named by the rules of a provider', () => {
    expect(settingsOf('{}').operator.access).toBeUndefined();
    expect(settingsOf('{ access: {} }').operator.access).toMatchObject({
      passphrase: true,
      sessionHours: 12,
      idleMinutes: 60,
    });
    const access = settingsOf(oidc(ANNA)).operator.access;
    expect(access).toMatchObject({
      passphrase: false,
      // Kept unchanged: providers compare it character by character.
      oidc: { issuer: 'https://id.test/realms/a/', scopes: ['openid', 'email', 'profile'], groupsClaim: 'groups' },
    });
  });

  test.each<[string, string, RegExp]>([
    ['without a rule', oidc('people: []'), /add at least one user or group/],
    ['without openid', oidc(`${ANNA}, scopes: [email]`), /include openid in the list/],
    ['without a user', oidc('people: [{ level: owner }]'), /either email or subject/],
    [
      'of one person by two names',
      oidc('people: [{ email: a@b.example, subject: a, level: owner }]'),
      /either email or subject/,
    ],
    ['with an invalid e-mail address', oidc('people: [{ email: "*@clinic.example", level: owner }]'), /e-mail address/],
    ['of a level that there is not', oidc('people: [{ subject: a, level: admin }]'), /level/],
    ['of no clinic', oidc('people: [{ subject: a, level: owner, tenants: [] }]'), /tenants/],
    ['with a session without end', '{ access: { sessionHours: 100000 } }', /sessionHours/],
  ])('is refused %s', (_, operator, message) => {
    expect(faults(operator)).toEqual([expect.stringMatching(message)]);
  });

  test.each(['http://mirror.example', 'http://mirror', 'https://mirror.example/clinic', 'http://10.0.0.1:8090'])(
    'requires https on a separate host: %s',
    (url) => {
      expect(faults(`{ publicUrl: "${url}", access: {} }`)).toEqual([expect.stringMatching(/operator\.publicUrl/)]);
    },
  );

  test.each(['https://mirror.example', 'https://mirror.example:8443/', 'http://localhost:8090', 'http://[::1]:8090'])(
    'is possible at %s',
    (url) => {
      expect(settingsOf(`{ publicUrl: "${url}", access: {} }`).operator.publicUrl).toBe(url.replace(/\/$/, ''));
    },
  );
});

test('approval by a second user, and reasons, require a data directory for their audit log', () => {
  const asking = 'approvals: { forget: true }\nauditLog: { reasonFor: [forget] }\n';
  expect(faultLines(writeConfiguration({ 'clinic-mirror.yaml': `${SETTINGS}${asking}` }))).toEqual([
    expect.stringMatching(/approvals: approvals requires dataDirectory → set dataDirectory/),
    expect.stringMatching(/auditLog: auditLog requires dataDirectory → set dataDirectory/),
  ]);
  const { settings } = load(
    writeConfiguration({ 'clinic-mirror.yaml': `${SETTINGS}dataDirectory: /tmp/data\n${asking}` }),
  );
  expect(settings.approvals).toMatchObject({ forget: true, restore: false, persons: 'system', expireAfterHours: 24 });
  expect(settings.auditLog).toEqual({ keepMonths: 60, reasonFor: ['forget'] });
});

test('a tenant can require more than the settings, and has no setting for less', () => {
  const tenant = (approvals: string) =>
    writeConfiguration({ 'tenants/uno.yaml': `${TENANT}approvals: ${approvals}\n` });
  expect(load(tenant('{ holdsAbove: 10, forget: true }')).tenants.get('uno')?.approvals).toEqual({
    holdsAbove: 10,
    forget: true,
  });
  expect(faultLines(tenant('{ forget: false }'))).toEqual([expect.stringContaining('approvals.forget')]);
  expect(faultLines(tenant('{ persons: named }'))).toEqual([expect.stringContaining('persons')]);
});
