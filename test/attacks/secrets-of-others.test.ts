import fs, { linkSync, mkdirSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join, sep } from 'node:path';
import { Worker } from 'node:worker_threads';
import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { atOnce } from '../../src/core/model/pieces.ts';
import { NAME } from '../../src/core/model/text.ts';
import { ConfigurationFiles } from '../../src/settings/configuration-files.ts';
import { isSameStamps } from '../../src/settings/list-files.ts';
import { type SecretScope, secretSchemas } from '../../src/settings/secret-reference.ts';
import { tenantSecretFile, tenantSecrets, tenantVariable } from '../../src/settings/tenant-secrets.ts';
import {
  CHANNELS,
  CONNECTORS,
  ENV,
  faultLines,
  load,
  SETTINGS,
  TENANT,
  writeConfiguration,
} from '../settings/configuration-directory.ts';

/*
 * Attack: an editor of one tenant's file points a connection at the editor's server, and names as its password any other secret: the
 * sealing key, another tenant's password, a file of the host. A refused secret is never read.
 */

const CANARY = 'canary-of-another-5f1c';
const PASSWORDS = {
  ...{ TENANT_UNO__DAV: 'of uno', TENANT_DUE__DAV: CANARY, TENANT_UNO_ZWEI__DAV: CANARY },
  ...{ HOME: '/root', REDIS_URL: `redis://:${CANARY}@redis` },
};
/** The unsafe order of check and open read another tenant’s secret in about one of a thousand. */
const RACES = 2_000;
const ENVIRONMENT = { ...ENV, ...PASSWORDS };
const connectors = new Map([...CONNECTORS].filter(([name]) => name === 'dav'));

/**
 * Writes a configuration in which the tenant `uno` refers to its password this way, with the tenant `due` and other files that an attacker
 * may know.
 */
function directory(reference: string, settings = SETTINGS): string {
  const dir = writeConfiguration({
    'clinic-mirror.yaml': settings,
    'keys/sealing': CANARY,
    'secrets/uno/dav': 'of uno',
    'secrets/uno/nested/dav': 'of uno, nested',
    'secrets/due/dav': CANARY,
    'secrets/uno-zwei/dav': CANARY,
    'tenants/uno.yaml': TENANT.replace(
      '{ kind: google, client: main }',
      `{ kind: caldav, username: u, password: ${reference} }`,
    )
      .replace('connector: calendar', 'connector: dav')
      .replace('{ calendar: a }', '{ calendar: { url: "https://attacker.test/" } }'),
  });
  return dir;
}

const options = { env: ENVIRONMENT, connectors };
const passwordOf = (dir: string) => {
  const work = load(dir, options).tenants.get('uno')?.connections.get('work');
  return work?.kind === 'caldav' ? work.password.reveal() : null;
};

describe('a tenant’s file reads its own secrets', () => {
  test.each([
    ['{ env: TENANT_UNO__DAV }', 'of uno'],
    ['{ file: secrets/uno/dav }', 'of uno'],
    ['{ file: ./secrets/../secrets/uno/nested/dav }', 'of uno, nested'],
  ])('%s', (reference, expected) => {
    expect(passwordOf(directory(reference))).toBe(expected);
  });

  test('by the absolute path too', () => {
    const dir = directory('{ env: TENANT_UNO__DAV }');
    const other = TENANT.replace('"7"', '"8"').replace(
      '{ kind: google, client: main }',
      `{ kind: caldav, username: u, password: { file: ${join(dir, 'secrets/drei/dav')} } }`,
    );
    mkdirSync(join(dir, 'secrets/drei'));
    writeFileSync(join(dir, 'secrets/drei/dav'), 'of drei');
    const made = other
      .replace('connector: calendar', 'connector: dav')
      .replace('{ calendar: a }', '{ calendar: { create: A } }');
    writeFileSync(join(dir, 'tenants/drei.yaml'), made);
    expect(load(dir, options).tenants.size).toBe(2);
  });

  test('through links within its folder, as an orchestrator creates them', () => {
    const dir = directory('{ file: secrets/uno/mounted }');
    symlinkSync('nested', join(dir, 'secrets/uno/..data'));
    symlinkSync('..data/dav', join(dir, 'secrets/uno/mounted'));
    expect(passwordOf(dir)).toBe('of uno, nested');
  });
});

describe('a tenant’s file is refused', () => {
  const refused = (dir: string) => {
    const lines = faultLines(dir, options);
    expect(lines.join('\n')).not.toContain(CANARY);
    expect(lines).toHaveLength(1);
    return lines[0];
  };

  test.each([
    ['the encryption key', 'SEALING_KEY'],
    ['the URL of Redis with its password', 'REDIS_URL'],
    ['another tenant’s password', 'TENANT_DUE__DAV'],
    ['that of a tenant whose id begins like its own', 'TENANT_UNO_ZWEI__DAV'],
    ['what the daemon runs with', 'HOME'],
    ['a missing variable, with the same message', 'NOT_THERE'],
  ])('%s, by its variable', (_, name) => {
    expect(refused(directory(`{ env: ${name} }`))).toMatch(
      new RegExp(
        `uno\\.yaml:7 connections\\.work\\.password: the environment variable ${name} does not belong to this tenant → set TENANT_UNO__`,
      ),
    );
  });

  test.each([
    ['a key of the settings', 'keys/sealing'],
    ['a key of the settings, by a way through its own folder', 'secrets/uno/../../keys/sealing'],
    ['another tenant’s file', 'secrets/due/dav'],
    ['that of a tenant whose id begins like its own', 'secrets/uno-zwei/dav'],
    ['its folder itself', 'secrets/uno'],
    ['a file of the host', '/etc/passwd'],
    ['the environment of the process', '/proc/self/environ'],
    ['a file that never ends', '/dev/zero'],
    ['a missing file, with the same message', '/no/such/file'],
  ])('%s, by its path', (_, name) => {
    expect(refused(directory(`{ file: ${name} }`))).toMatch(
      /uno\.yaml:7 connections\.work\.password: the file of the secret is not in the folder of this tenant → move the file to secrets\/uno\/…/,
    );
  });

  test.each([
    ['to a file elsewhere', '../../keys/sealing', 'dav-link'],
    ['to another tenant’s file', '../due/dav', 'dav-link'],
    ['to a folder elsewhere', '../due', 'dav-link/dav'],
    ['to the environment of the process', '/proc/self/environ', 'dav-link'],
  ])('a link %s', (_, target, name) => {
    const dir = directory(`{ file: secrets/uno/${name} }`);
    symlinkSync(target, join(dir, 'secrets/uno/dav-link'));
    expect(refused(dir)).toMatch(
      /the file of the secret is a link to a file outside the folder of this tenant → replace the link with a regular file/,
    );
  });

  test.each([
    ['of a key of the settings', 'keys/sealing'],
    ['of another tenant’s file', 'secrets/due/dav'],
  ])('a hard link %s: it is in the tenant’s folder and does not point outside', (_, target) => {
    const dir = directory('{ file: secrets/uno/dav-link }');
    linkSync(join(dir, target), join(dir, 'secrets/uno/dav-link'));
    expect(refused(dir)).toMatch(/is a hard link to another file → replace the hard link with a copy/);
  });

  test('a folder that is a link to another tenant’s', () => {
    const dir = directory('{ env: TENANT_UNO__DAV }');
    symlinkSync('due', join(dir, 'secrets/vier'));
    const scoped = tenantSecrets({ env: {}, dir }, []);
    expect(scoped.as('vier', () => scoped.secretAt({ file: 'secrets/vier/dav' }))).toBeNull();
    expect(scoped.as('due', () => scoped.secretAt({ file: 'secrets/due/dav' }))).toBe(CANARY);
  });

  test('a file that the settings use, even with the tenant’s name or in its folder', () => {
    const byVariable = SETTINGS.replaceAll('CLIENT_SECRET', 'TENANT_UNO__DAV');
    expect(refused(directory('{ env: TENANT_UNO__DAV }', byVariable))).toMatch(/the settings use the same secret/);
    const byFile = SETTINGS.replaceAll('{ env: CLIENT_SECRET }', '{ file: keys/../secrets/uno/dav }');
    expect(refused(directory('{ file: secrets/uno/dav }', byFile))).toMatch(/the settings use the same secret/);
  });

  test('a link whose target moved outside after validation', () => {
    const dir = directory('{ file: secrets/uno/dav-link }');
    mkdirSync(join(dir, 'data'));
    writeFileSync(join(dir, 'clinic-mirror.yaml'), `${SETTINGS}dataDirectory: ${join(dir, 'data')}\n`);
    symlinkSync('nested/dav', join(dir, 'secrets/uno/dav-link'));
    for (const _ of [1, 2]) expect(passwordOf(dir)).toBe('of uno, nested');
    rmSync(join(dir, 'secrets/uno/dav-link'));
    symlinkSync('../due/dav', join(dir, 'secrets/uno/dav-link'));
    expect(refused(dir)).toMatch(/outside the folder of this tenant/);
  });
});

describe('a name that leads to another tenant’s file at one moment', () => {
  const name = 'secrets/uno/nested/dav';
  /** Swaps the tenant’s folder for a link to another tenant’s, and back. */
  const swapIn = (dir: string) => {
    const [folder, away] = [join(dir, 'secrets/uno/nested'), join(dir, 'secrets/uno/away')];
    let isLink = false;
    return () => {
      if (isLink) {
        unlinkSync(folder);
        renameSync(away, folder);
      } else {
        renameSync(folder, away);
        symlinkSync('../due', folder);
      }
      isLink = !isLink;
    };
  };
  /** Swaps at some of the two checks, as the real scope decides. */
  const readWithSwaps = (dir: string, atName: boolean, atLocation: boolean): string | null => {
    const swap = swapIn(dir);
    const refusal = { fault: 'refused', remedy: 'none' } as unknown as ReturnType<SecretScope['file']>;
    const scope: SecretScope = {
      variable: () => refusal,
      file() {
        if (atName) swap();
        return null;
      },
      realFile(realName) {
        if (atLocation) swap();
        return realName.startsWith(join(dir, 'secrets/uno') + sep) ? null : refusal;
      },
    };
    return secretSchemas({ env: {}, dir, scope }).secretAt({ file: name });
  };

  afterEach(() => {
    vi.restoreAllMocks();
    syncBuiltinESMExports();
  });

  const moments: [string, boolean, boolean, string | null][] = [
    ['never', false, false, 'of uno, nested'],
    ['after the name is checked', true, false, null],
    ['after the location is checked', false, true, 'of uno, nested'],
    ['at both', true, true, null],
  ];

  test.each(moments)('is read as what was opened: swapped %s', (_, atName, atLocation, expected) => {
    expect(readWithSwaps(directory('{ env: TENANT_UNO__DAV }'), atName, atLocation)).toBe(expected);
  });

  test.each(moments)('is so on a system without /proc too: swapped %s', (_, atName, atLocation, expected) => {
    const dir = directory('{ env: TENANT_UNO__DAV }');
    vi.spyOn(fs, 'existsSync').mockReturnValue(false);
    vi.spyOn(fs, 'readlinkSync').mockImplementation(() => {
      throw new Error('this system has no /proc');
    });
    syncBuiltinESMExports();
    expect(readWithSwaps(dir, atName, atLocation)).toBe(expected);
  });

  test('is refused if the opened file was removed, as a hard link is before the links are counted', () => {
    const dir = directory('{ env: TENANT_UNO__DAV }');
    const scope: SecretScope = { variable: () => null, file: () => null, realFile: () => null };
    const { secretAt } = secretSchemas({ env: {}, dir, scope });
    writeFileSync(join(dir, 'secrets/uno/dav (deleted)'), 'of uno');
    expect(secretAt({ file: 'secrets/uno/dav (deleted)' })).toBeNull();
  });

  test('gives nothing of the other tenant while another thread swaps without end', async () => {
    const dir = directory('{ env: TENANT_UNO__DAV }');
    const folders = [join(dir, 'secrets/uno/nested'), join(dir, 'secrets/uno/away')];
    const code = `
      const { renameSync, symlinkSync, unlinkSync } = require('node:fs');
      const { parentPort, workerData: [folder, away] } = require('node:worker_threads');
      parentPort.postMessage('begins');
      for (;;) {
        renameSync(folder, away); symlinkSync('../due', folder);
        unlinkSync(folder); renameSync(away, folder);
      }`;
    const swapper = new Worker(code, { eval: true, workerData: folders });
    await new Promise((resolve) => swapper.once('message', resolve));
    const found = new Map<string | null, number>();
    const scoped = () => tenantSecrets({ env: {}, dir }, []);
    for (let at = 0; at < RACES; at += 1) {
      const secrets = scoped();
      const value = secrets.as('uno', () => secrets.secretAt({ file: name }));
      found.set(value, (found.get(value) ?? 0) + 1);
    }
    await swapper.terminate();
    expect([...found.keys()].every((value) => value === null || value === 'of uno, nested')).toBe(true);
    expect(found.size).toBe(2);
  });
});

test('the running daemon applies a file that replaces a link out of the folder', () => {
  const dir = directory('{ file: secrets/uno/dav-link }');
  symlinkSync('../due/dav', join(dir, 'secrets/uno/dav-link'));
  const files = new ConfigurationFiles({ ...options, dir, reminderChannels: CHANNELS, mode: 'set-aside' });
  expect(files.configuration.unusable).toMatchObject([{ id: 'uno' }]);
  const before = atOnce(files.readStamps());
  rmSync(join(dir, 'secrets/uno/dav-link'));
  writeFileSync(join(dir, 'secrets/uno/dav-link'), 'of uno');
  const look = atOnce(files.readStamps());
  expect(isSameStamps(look, before)).toBe(false);
  expect([...atOnce(files.readAgain(look)).tenants.keys()]).toEqual(['uno']);
});

describe('no name belongs to two tenants', () => {
  const id = fc.stringMatching(NAME);
  const own = fc.stringMatching(/^[A-Z0-9_]{1,20}$/);

  test('of variables, for any tenant ids', () => {
    const allowed = (tenant: string, name: string) => {
      const scoped = tenantSecrets({ env: { [name]: 'x' }, dir: '/nowhere' }, []);
      return scoped.as(tenant, () => scoped.secretAt({ env: name })) !== null;
    };
    fc.assert(
      fc.property(id, id, own, (one, other, name) => {
        fc.pre(one !== other);
        const variable = tenantVariable(one, name);
        return !(allowed(one, variable) && allowed(other, variable));
      }),
      {
        examples: ['a-', 'a--b', 'a--'].flatMap((other) =>
          ['B__X', '_X', 'X'].map((name) => ['a', other, name] as [string, string, string]),
        ),
      },
    );
  });

  test('of files, for any tenant ids', () => {
    fc.assert(
      fc.property(id, id, (one, other) => {
        fc.pre(one !== other);
        const scoped = tenantSecrets({ env: {}, dir: '/nowhere' }, []);
        return scoped.as(other, () => scoped.secretAt({ file: tenantSecretFile(one, 'x') })) === null;
      }),
    );
  });

  test('and a read outside of any tenant is refused', () => {
    const scoped = tenantSecrets({ env: { TENANT_UNO__X: 'x' }, dir: '/' }, []);
    expect(() => scoped.secretAt({ env: 'TENANT_UNO__X' })).toThrow(TypeError);
  });
});

test('the settings read each secret they name, but no pipe or folder', () => {
  const dir = directory('{ env: TENANT_UNO__DAV }');
  const { secretAt } = secretSchemas({ env: ENVIRONMENT, dir });
  expect(secretAt({ file: 'keys/sealing' })).toBe(CANARY);
  expect(secretAt({ file: 'keys' })).toBeNull();
  expect(secretAt({ file: '/dev/zero' })).toBeNull();
});
