import { describe, expect, test } from 'vitest';
import { sharedConfigurationHash, takeUpSettings } from '../../src/settings/configuration-changes.ts';
import { ENV, load, NONE, SETTINGS, tenantFile, world, writeConfiguration } from './configuration-directory.ts';

describe('reloaded files', () => {
  test('lists a tenant as reduced if it lost a target or a connection', () => {
    const { readAgain, write } = world();
    write('tenants/due.yaml', tenantFile('2', 'busy'));
    expect(readAgain()).toMatchObject({ changed: ['due'], reduced: [] });
    write('tenants/due.yaml', tenantFile('2').replace(/ {2}dav: .*\n/, ''));
    write('tenants/uno.yaml', tenantFile('1').replace('  rossi:', '  bianchi:'));
    expect(readAgain()).toMatchObject({ changed: ['due', 'uno'], reduced: ['due', 'uno'] });
  });
});

test('daemons share a configuration if only ports, files and secrets differ', () => {
  const hashOf = (settings: string) => {
    const { dir, write } = world();
    write('clinic-mirror.yaml', settings);
    return sharedConfigurationHash(load(dir, { env: ENV }));
  };
  const first = hashOf(SETTINGS);
  const ofHost = SETTINGS.replace('6390', '6391').concat('http: { port: 9999 }\nlog: { level: debug }\n');
  expect(hashOf(ofHost)).toBe(first);
  expect(hashOf(`${SETTINGS}schedule: { pullEverySeconds: 60 }\n`)).not.toBe(first);
  expect(hashOf(SETTINGS.replace('clientId: g', 'clientId: h'))).not.toBe(first);
});

describe('settings and profiles', () => {
  test('are applied except values that a process keeps until its restart, which are reported', () => {
    const { readAgain, write, files } = world();
    const url = files.configuration.settings.redis.place.reveal();
    const others =
      'schedule: { pullEverySeconds: 60 }\nleases: { ttlMs: 9000 }\nhttp: { port: 9999 }\noperator: { port: 9998 }\n';
    write('clinic-mirror.yaml', SETTINGS.replace('6390', '6391').concat(others));
    const { after, reopened } = readAgain();
    expect(after.awaitsRestart).toEqual(['redis', 'http.port', 'operator.port', 'leases.ttlMs']);
    expect(after.settings.redis.place.reveal()).toEqual(url);
    expect(after.settings).toMatchObject({ schedule: { pullEverySeconds: 60 }, leases: { ttlMs: 30_000 } });
    expect(after.settings.http).toMatchObject({ port: null, publicUrl: null });
    expect(reopened).toEqual(['due', 'tre', 'uno']);
    expect(readAgain()).toMatchObject({ ...NONE, unchanged: 3 });
    write('clinic-mirror.yaml', SETTINGS);
    expect(readAgain().after.awaitsRestart).toEqual([]);
  });

  test('distinguish a changed key file from an unchanged one', () => {
    const { readAgain, write } = world();
    write('key', Buffer.alloc(32, 8).toString('base64'));
    write('clinic-mirror.yaml', SETTINGS.replace('{ env: SEALING_KEY }', '{ file: key }'));
    expect(readAgain().after.awaitsRestart).toEqual(['secrets']);
    write('key', ENV.SEALING_KEY);
    expect(readAgain().after.awaitsRestart).toEqual([]);
  });
});

const written = (operator: string) =>
  writeConfiguration({ 'clinic-mirror.yaml': `${SETTINGS}operator: ${operator}\n` });

const settingsOf = (operator: string) => load(written(operator), { env: ENV }).settings;

const oidc = (more: string) =>
  `{ access: { oidc: { issuer: "https://id.test/realms/a/", clientId: mirror, ${more} } } }`;

const ANNA = 'people: [{ email: anna@clinic.example, level: owner }]';

describe('while the daemon runs', () => {
  test('rules and the URL are applied; after their removal no user can sign in', () => {
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

  test('pages that did not exist at startup wait for a restart, like the port', () => {
    const { settings, awaitsRestart } = takeUpSettings(settingsOf('{ port: 9000, access: {} }'), settingsOf('{}'));
    expect(awaitsRestart).toEqual(['operator.port', 'operator.access']);
    expect(settings.operator).toMatchObject({ port: 8090 });
    expect(settings.operator.access).toBeUndefined();
  });
});
