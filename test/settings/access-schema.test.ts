import { describe, expect, test } from 'vitest';
import { takeUpSettings } from '../../src/settings/configuration-changes.ts';
import { ENV, faultLines, load, SETTINGS, writeConfiguration } from './configuration-directory.ts';

const written = (operator: string) =>
  writeConfiguration({ 'clinic-mirror.yaml': `${SETTINGS}operator: ${operator}\n` });
const settingsOf = (operator: string) => load(written(operator), { env: ENV }).settings;
const faults = (operator: string) => faultLines(written(operator), { env: ENV });
const oidc = (more: string) =>
  `{ access: { oidc: { issuer: "https://id.test/realms/a/", clientId: mirror, ${more} } } }`;
const ANNA = 'people: [{ email: anna@clinic.example, level: owner }]';

describe('who may look and act', () => {
  test('is nobody, an owner with a passphrase, or whom the rules of a provider name', () => {
    expect(settingsOf('{}').operator.access).toBeUndefined();
    expect(settingsOf('{ access: {} }').operator.access).toMatchObject({
      passphrase: true,
      sessionHours: 12,
      idleMinutes: 60,
    });
    const access = settingsOf(oidc(ANNA)).operator.access;
    expect(access).toMatchObject({
      passphrase: false,
      // As it is written: providers compare it to the letter.
      oidc: { issuer: 'https://id.test/realms/a/', scopes: ['openid', 'email', 'profile'], groupsClaim: 'groups' },
    });
  });

  test.each<[string, string, RegExp]>([
    ['without a rule', oidc('people: []'), /name somebody in people or groups/],
    ['without openid', oidc(`${ANNA}, scopes: [email]`), /openid must be one of them/],
    ['of nobody', oidc('people: [{ level: owner }]'), /email or subject, one of them/],
    ['of one person by two names', oidc('people: [{ email: a@b.example, subject: a, level: owner }]'), /one of them/],
    ['of no address', oidc('people: [{ email: "*@clinic.example", level: owner }]'), /e-mail address/],
    ['of a level that there is not', oidc('people: [{ subject: a, level: admin }]'), /level/],
    ['of no clinic', oidc('people: [{ subject: a, level: owner, tenants: [] }]'), /tenants/],
    ['with a session without end', '{ access: { sessionHours: 100000 } }', /sessionHours/],
  ])('is refused %s', (_, operator, message) => {
    expect(faults(operator)).toEqual([expect.stringMatching(message)]);
  });

  test.each(['http://mirror.example', 'http://mirror', 'https://mirror.example/clinic', 'http://10.0.0.1:8090'])(
    'is asked by https, at a host of its own: %s',
    (url) => {
      expect(faults(`{ publicUrl: "${url}", access: {} }`)).toEqual([expect.stringMatching(/operator\.publicUrl/)]);
    },
  );

  test.each(['https://mirror.example', 'https://mirror.example:8443/', 'http://localhost:8090', 'http://[::1]:8090'])(
    'is asked at %s',
    (url) => {
      expect(settingsOf(`{ publicUrl: "${url}", access: {} }`).operator.publicUrl).toBe(url.replace(/\/$/, ''));
    },
  );
});

describe('while the daemon runs', () => {
  test('rules, and the address, are followed; nobody is let in any more when they are gone', () => {
    const running = settingsOf(oidc(ANNA));
    const changed = settingsOf(oidc('people: [{ email: bruno@clinic.example, level: viewer }]'));
    const { settings, awaitsRestart } = takeUpSettings(changed, running);
    expect(awaitsRestart).toEqual([]);
    expect(settings.operator.access).toEqual(changed.operator.access);
    const gone = takeUpSettings(settingsOf('{ publicUrl: "https://mirror.example" }'), running);
    expect(gone.awaitsRestart).toEqual(['operator.access']);
    expect(gone.settings.operator).toMatchObject({ publicUrl: 'https://mirror.example' });
    expect(gone.settings.operator.access).toBeUndefined();
  });

  test('pages that were not there at the start wait for the next one, as the port does', () => {
    const { settings, awaitsRestart } = takeUpSettings(settingsOf('{ port: 9000, access: {} }'), settingsOf('{}'));
    expect(awaitsRestart).toEqual(['operator.port', 'operator.access']);
    expect(settings.operator).toMatchObject({ port: 8090 });
    expect(settings.operator.access).toBeUndefined();
  });
});
