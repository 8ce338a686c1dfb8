import { mkdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { atOnce } from '../../src/model/pieces.ts';
import { changesBetween } from '../../src/settings/configuration-changes.ts';
import { ConfigurationFiles } from '../../src/settings/configuration-files.ts';
import { isSameStamps } from '../../src/settings/list-files.ts';
import {
  CHANNELS,
  CONNECTORS,
  ENV,
  SETTINGS,
  TENANT,
  withOwnSecrets,
  writeConfiguration,
} from './configuration-directory.ts';

/** A tenant of a clinic, whose CalDAV password is in a file. */
function tenantFile(clinic: string, title = 'appointment'): string {
  return TENANT.replace('tenantId: "7"', `tenantId: "${clinic}"`)
    .replace(
      '  work: { kind: google, client: main }',
      '  work: { kind: google, client: main }\n  dav: { kind: caldav, username: ada, password: { file: OWN/password } }',
    )
    .concat(`    title: ${title}\n`);
}

/** Those that run, and those that may come. */
const TENANTS = ['uno', 'due', 'tre', 'quattro', 'new', 'a-first'];

/** Three clinics that run, and connectors that count whose files they check. */
function world() {
  const dir = writeConfiguration({
    ...Object.fromEntries(TENANTS.map((id) => [`secrets/${id}/password`, 'one-that-nobody-has'])),
    'tenants/uno.yaml': tenantFile('1'),
    'tenants/due.yaml': tenantFile('2'),
    'tenants/tre.yaml': tenantFile('3'),
  });
  let checks = 0;
  const calendar = CONNECTORS.get('calendar');
  if (calendar === undefined) throw new Error('there is no calendar');
  const settingsSchema = z.preprocess((value) => {
    checks += 1;
    return value;
  }, calendar.settingsSchema);
  const connectors = new Map([...CONNECTORS, ['calendar', { ...calendar, settingsSchema }]]);
  const files = new ConfigurationFiles({
    ...{ dir, env: ENV, connectors, reminderChannels: CHANNELS, mode: 'set-aside' },
  });
  return {
    dir,
    files,
    write: (name: string, content: string) => writeFileSync(join(dir, name), withOwnSecrets(name, content)),
    setPasswords(password: string) {
      for (const id of TENANTS) writeFileSync(join(dir, 'secrets', id, 'password'), password);
    },
    remove: (name: string) => rmSync(join(dir, name), { recursive: true }),
    look: () => atOnce(files.readStamps()),
    /** Reads again. @returns what changed, and how many files were checked */
    readAgain(options?: { sure: boolean }) {
      const before = files.configuration;
      checks = 0;
      const after = atOnce(files.readAgain(atOnce(files.readStamps()), options));
      return { ...changesBetween(before, after), checks, refused: after.refused, unusable: after.unusable, after };
    },
    titleOf: (id: string) => files.configuration.tenants.get(id)?.targets.get('rossi')?.title,
  };
}

const NONE = { added: [], changed: [], reopened: [], removed: [] };

describe('files that are read again', () => {
  test('cost nothing where nothing changed, and stay the same objects', () => {
    const { files, readAgain } = world();
    const { settings, profiles, outlines } = files.configuration;
    const { after, ...told } = readAgain();
    expect(told).toMatchObject({ ...NONE, unchanged: 3, checks: 0, refused: [] });
    expect([after.settings, after.profiles]).toEqual([settings, profiles]);
    expect(after.settings).toBe(settings);
    for (const [id, outline] of after.outlines) expect(outline).toBe(outlines.get(id));
  });

  test('are checked where they changed, came or went', () => {
    const { readAgain, write, remove, titleOf } = world();
    write('tenants/due.yaml', tenantFile('2', 'busy'));
    expect(readAgain()).toMatchObject({ ...NONE, changed: ['due'], unchanged: 2, checks: 1 });
    expect(titleOf('due')).toBe('busy');
    write('tenants/quattro.yaml', tenantFile('4'));
    remove('tenants/uno.yaml');
    expect(readAgain()).toMatchObject({ ...NONE, added: ['quattro'], removed: ['uno'], unchanged: 2, checks: 1 });
  });

  test('tell of targets and connections that were taken out', () => {
    const { readAgain, write } = world();
    write('tenants/due.yaml', tenantFile('2', 'busy'));
    expect(readAgain()).toMatchObject({ changed: ['due'], reduced: [] });
    write('tenants/due.yaml', tenantFile('2').replace(/ {2}dav: .*\n/, ''));
    write('tenants/uno.yaml', tenantFile('1').replace('  rossi:', '  bianchi:'));
    expect(readAgain()).toMatchObject({ changed: ['due', 'uno'], reduced: ['due', 'uno'] });
  });

  test('are read by their bytes when it must be sure, and checked where these changed', () => {
    const { readAgain, write, dir } = world();
    write('tenants/due.yaml', `${tenantFile('2')}# a word\n`);
    const now = new Date();
    utimesSync(join(dir, 'tenants/uno.yaml'), now, now);
    expect(readAgain({ sure: true })).toMatchObject({ ...NONE, reopened: ['due'], unchanged: 2, checks: 1 });
  });

  test('are opened anew where a secret is another one, and what is planned stays the same', () => {
    const { files, readAgain, setPasswords } = world();
    const passwordOf = (id: string) => {
      const connection = files.configuration.tenants.get(id)?.connections.get('dav');
      return connection?.kind === 'caldav' ? connection.password.reveal() : null;
    };
    setPasswords('another-one');
    expect(readAgain()).toMatchObject({ ...NONE, reopened: ['due', 'tre', 'uno'], refused: [] });
    expect(passwordOf('uno')).toBe('another-one');
  });
});

describe('a file that breaks', () => {
  test('is refused and named, and its tenant goes on under what it held, until it is mended', () => {
    const { readAgain, write, titleOf } = world();
    write('tenants/due.yaml', tenantFile('2', 'busy').slice(0, -8).concat(' "'));
    const { refused, ...told } = readAgain();
    expect(told).toMatchObject({ ...NONE, unchanged: 3, unusable: [] });
    expect(refused).toMatchObject([{ tenant: 'due', faults: [{ file: expect.stringMatching(/due\.yaml$/) }] }]);
    expect(titleOf('due')).toBe('appointment');
    // It stays refused while it is as it is, whatever else changes.
    write('tenants/uno.yaml', tenantFile('1', 'busy'));
    expect(readAgain()).toMatchObject({ ...NONE, changed: ['uno'], refused: [{ tenant: 'due' }] });
    write('tenants/due.yaml', tenantFile('2', 'busy'));
    expect(readAgain()).toMatchObject({ ...NONE, changed: ['due'], refused: [] });
    expect(titleOf('due')).toBe('busy');
  });

  test('is put back as it was', () => {
    const { readAgain, write } = world();
    write('tenants/due.yaml', 'name: [');
    readAgain();
    write('tenants/due.yaml', tenantFile('2'));
    expect(readAgain()).toMatchObject({ ...NONE, refused: [], checks: 0 });
  });

  test('keeps a tenant from running that did not run', () => {
    const { readAgain, write } = world();
    write('tenants/quattro.yaml', tenantFile('4').replace('Europe/Rome', 'Europe/Roma'));
    expect(readAgain()).toMatchObject({ ...NONE, refused: [], unusable: [{ id: 'quattro' }] });
  });

  test('goes on with the secrets that it had', () => {
    const { files, readAgain, setPasswords, remove } = world();
    for (const id of ['uno', 'due', 'tre']) remove(`secrets/${id}/password`);
    expect(readAgain().refused.map(({ tenant }) => tenant)).toEqual(['due', 'tre', 'uno']);
    expect(files.configuration.tenants.get('uno')?.connections.get('dav')?.kind).toBe('caldav');
    setPasswords('one-that-nobody-has');
    expect(readAgain().refused).toEqual([]);
  });

  test('is no reason to forget what else is refused when the folder is gone', () => {
    const { readAgain, write, dir } = world();
    write('tenants/due.yaml', 'name: [');
    readAgain();
    renameSync(join(dir, 'tenants'), join(dir, 'elsewhere'));
    const { refused, removed } = readAgain();
    expect(refused).toMatchObject([
      { tenant: null, faults: [{ message: 'no tenant of a file would be left' }] },
      { tenant: 'due' },
    ]);
    expect(removed).toEqual([]);
    renameSync(join(dir, 'elsewhere'), join(dir, 'tenants'));
    expect(readAgain()).toMatchObject({ ...NONE, refused: [{ tenant: 'due' }], unchanged: 3 });
  });
});

describe('settings and profiles', () => {
  test('are not taken up with faults; what else changed is', () => {
    const { readAgain, write, files } = world();
    const { settings } = files.configuration;
    write('clinic-mirror.yaml', `${SETTINGS}journal: { keepDays: many }\n`);
    write('tenants/due.yaml', tenantFile('2', 'busy'));
    const { after, ...told } = readAgain();
    expect(told).toMatchObject({ ...NONE, changed: ['due'] });
    expect(told.refused).toMatchObject([{ tenant: null, faults: [{ path: 'journal.keepDays' }] }]);
    expect(after.settings).toBe(settings);
  });

  test('are not taken up when a tenant that runs could not go on under them, until its file fits', () => {
    const { readAgain, write } = world();
    const renamed = SETTINGS.replace('googleClients:\n  main', 'googleClients:\n  other');
    write('clinic-mirror.yaml', renamed);
    const { refused, ...told } = readAgain();
    expect(told).toMatchObject({ ...NONE, unchanged: 3 });
    expect(refused).toMatchObject([{ tenant: null }]);
    expect(refused[0]?.faults.map(({ path }) => path)).toContain('connections.work.client');
    for (const [index, id] of ['uno', 'due', 'tre'].entries()) {
      write(
        `tenants/${id}.yaml`,
        tenantFile(`${index + 1}`).replace('kind: google, client: main', 'kind: google, client: other'),
      );
    }
    expect(readAgain()).toMatchObject({ ...NONE, changed: ['due', 'tre', 'uno'], refused: [] });
  });

  test('are not taken up with a profile that broke under a tenant that runs', () => {
    const { readAgain, write } = world();
    write('profiles/plain.yaml', 'paging: { style: sideways }');
    expect(readAgain()).toMatchObject({
      ...NONE,
      unchanged: 3,
      refused: [{ tenant: null, faults: [{ path: 'paging.style' }] }],
    });
    write('profiles/plain.yaml', 'scopePrefix: "x."');
    expect(readAgain()).toMatchObject({ ...NONE, changed: ['due', 'tre', 'uno'], refused: [] });
  });

  test('are taken up but for what a process holds as long as it runs, which is named', () => {
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

  test('tell a key that changed in its file from one that did not', () => {
    const { readAgain, write } = world();
    write('key', Buffer.alloc(32, 8).toString('base64'));
    write('clinic-mirror.yaml', SETTINGS.replace('{ env: SEALING_KEY }', '{ file: key }'));
    expect(readAgain().after.awaitsRestart).toEqual(['secrets']);
    write('key', ENV.SEALING_KEY);
    expect(readAgain().after.awaitsRestart).toEqual([]);
  });
});

describe('two files for one clinic', () => {
  test('leave it with the tenant that has it, whatever the names', () => {
    const { readAgain, write } = world();
    write('tenants/a-first.yaml', tenantFile('2'));
    const { refused, unusable, added } = readAgain();
    expect([added, refused]).toEqual([[], []]);
    expect(unusable).toMatchObject([{ id: 'a-first', faults: [{ message: 'the tenant due is the same clinic' }] }]);
  });

  test('keep a tenant at its clinic when it wants that of another, and nobody gets the one that it goes on with', () => {
    const { readAgain, write } = world();
    write('tenants/tre.yaml', tenantFile('2'));
    write('tenants/a-first.yaml', tenantFile('3'));
    const { after, refused, unusable } = readAgain();
    expect(refused).toMatchObject([{ tenant: 'tre', faults: [{ path: 'clinic.tenantId' }] }]);
    expect(unusable).toMatchObject([{ id: 'a-first' }]);
    const clinics = [...after.outlines.values()].map(({ clinic }) => clinic.tenantId);
    expect(clinics.sort()).toEqual(['1', '2', '3']);
  });

  test('are none when tenants change places', () => {
    const { readAgain, write } = world();
    write('tenants/tre.yaml', tenantFile('2'));
    write('tenants/due.yaml', tenantFile('3'));
    expect(readAgain()).toMatchObject({ ...NONE, changed: ['due', 'tre'], refused: [], unusable: [] });
  });
});

describe('a look', () => {
  test('finds what was read, until something changes', () => {
    const { files, look, write, setPasswords, remove } = world();
    const first = look();
    expect(files.isAsRead(first)).toBe(true);
    for (const change of [
      () => write('tenants/due.yaml', tenantFile('2', 'busy')),
      () => write('tenants/new.yaml', tenantFile('4')),
      () => write('tenants/other.yml', ''),
      () => remove('tenants/tre.yaml'),
      () => write('profiles/plain.yaml', 'scopePrefix: "x."'),
      () => write('clinic-mirror.yaml', `${SETTINGS} `),
      () => setPasswords('another-one'),
    ]) {
      const before = look();
      change();
      expect(isSameStamps(look(), before)).toBe(false);
    }
    expect(files.isAsRead(look())).toBe(false);
  });

  test('is not deceived by a file that was put back with its size and times', () => {
    const { dir, look, write } = world();
    const name = join(dir, 'tenants/due.yaml');
    utimesSync(name, 1_700_000_000, 1_700_000_000);
    const before = look();
    const { size, mtimeMs } = statSync(name);
    write('tenants/due.yaml', readFileSync(name, 'utf8').replace('Uno', 'Due'));
    utimesSync(name, 1_700_000_000, 1_700_000_000);
    expect(statSync(name)).toMatchObject({ size, mtimeMs });
    expect(isSameStamps(look(), before)).toBe(false);
  });

  test('follows links, as a ConfigMap has them', () => {
    const { dir, readAgain, look, remove } = world();
    const place = (version: string, title: string) => {
      mkdirSync(join(dir, 'tenants', version));
      writeFileSync(join(dir, 'tenants', version, 'due.yaml'), withOwnSecrets('due.yaml', tenantFile('2', title)));
      symlinkSync(version, join(dir, 'tenants', '..new'));
      renameSync(join(dir, 'tenants', '..new'), join(dir, 'tenants', '..data'));
    };
    place('..one', 'appointment');
    remove('tenants/due.yaml');
    symlinkSync('..data/due.yaml', join(dir, 'tenants', 'due.yaml'));
    expect(readAgain()).toMatchObject({ ...NONE, refused: [] });
    const before = look();
    expect(isSameStamps(look(), before)).toBe(true);
    place('..two', 'busy');
    expect(isSameStamps(look(), before)).toBe(false);
    expect(readAgain()).toMatchObject({ ...NONE, changed: ['due'], unchanged: 2, checks: 1 });
  });
});
