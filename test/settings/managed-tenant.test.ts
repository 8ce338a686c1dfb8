import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { atOnce } from '../../src/core/model/pieces.ts';
import { inPieces } from '../../src/core/pieces/in-pieces.ts';
import { changesBetween } from '../../src/settings/configuration-changes.ts';
import { ConfigurationFiles } from '../../src/settings/configuration-files.ts';
import { type ManagedTenant, type ManagedTenants, withVariables } from '../../src/settings/managed-tenant.ts';
import { readYaml } from '../../src/settings/yaml-file.ts';
import { CHANNELS, CONNECTORS, ENV, TENANT, writeConfiguration } from './configuration-directory.ts';

const SECRETS = { dav: 'correct-horse' };

/** A document of a clinic with an encrypted CalDAV password. */
function documentOf(clinic: string, title = 'appointment'): string {
  return TENANT.replace('tenantId: "7"', `tenantId: "${clinic}"`)
    .replace(
      '  work: { kind: google, client: main }',
      '  work: { kind: google, client: main }\n  dav: { kind: caldav, username: ada, password: { sealed: dav } }',
    )
    .concat(`    title: ${title}\n`);
}

let revisions = 0;

/** A managed tenant that counts how often it was opened. */
function managed(id: string, yaml: string, secrets: Record<string, string> = SECRETS) {
  revisions += 1;
  const tenant = {
    ...{ id, revision: `revision-${revisions}`, opened: 0 },
    open() {
      tenant.opened += 1;
      return { yaml, json: JSON.stringify(jsonOf(yaml)), secrets };
    },
  };
  return tenant;
}

/** Parses a document like the code that stores it. */
function jsonOf(yaml: string): unknown {
  const read = readYaml('', Buffer.from(yaml));
  return 'file' in read ? read.file.value : null;
}

const all = (...tenants: ManagedTenant[]): ManagedTenants => new Map(tenants.map((tenant) => [tenant.id, tenant]));

/** One clinic of a file, and those that are managed. */
async function world(first: ManagedTenants, more: Record<string, string> = {}) {
  const dir = writeConfiguration({ 'tenants/uno.yaml': TENANT, ...more });
  const open = (tenants: ManagedTenants, env = ENV) =>
    ConfigurationFiles.open(
      { dir, env, connectors: CONNECTORS, reminderChannels: CHANNELS, mode: 'set-aside' },
      async () => tenants,
      inPieces,
    );
  const files = await open(first);
  return {
    dir,
    files,
    open,
    readAgain(tenants: ManagedTenants) {
      const before = files.configuration;
      const after = atOnce(files.readAgain(atOnce(files.readStamps()), { managed: tenants }));
      return { ...changesBetween(before, after), refused: after.refused, unusable: after.unusable };
    },
    passwordOf(id: string) {
      const connection = files.configuration.tenants.get(id)?.connections.get('dav');
      return connection?.kind === 'caldav' ? connection.password.reveal() : null;
    },
  };
}

const NONE = { added: [], changed: [], reopened: [], removed: [], refused: [], unusable: [] };

describe('tenants without a file', () => {
  test('are listed together with those of files, with their encrypted secrets', async () => {
    const { files, passwordOf } = await world(all(managed('due', documentOf('2')), managed('alpha', documentOf('3'))));
    expect([...files.configuration.outlines.keys()]).toEqual(['alpha', 'due', 'uno']);
    expect([...files.configuration.managed]).toEqual(['alpha', 'due']);
    expect([passwordOf('due'), passwordOf('uno')]).toEqual(['correct-horse', null]);
    expect(JSON.stringify([...files.configuration.tenants.values()])).not.toContain('correct-horse');
  });

  test('are added, changed and removed by a reload, and are not checked if unchanged', async () => {
    const [due, tre] = [managed('due', documentOf('2')), managed('tre', documentOf('3'))];
    const { readAgain } = await world(all(due));
    expect(readAgain(all(due, tre))).toMatchObject({ ...NONE, added: ['tre'], unchanged: 2 });
    due.opened = 0;
    expect(readAgain(all(due, managed('tre', documentOf('3', 'busy'))))).toMatchObject({ ...NONE, changed: ['tre'] });
    expect(due.opened).toBe(0);
    expect(readAgain(all(due, managed('tre', documentOf('3', 'busy'), { dav: 'another' })))).toMatchObject({
      ...{ ...NONE, reopened: ['tre'] },
    });
    expect(readAgain(all(due))).toMatchObject({ ...NONE, removed: ['tre'] });
    expect(readAgain(all())).toMatchObject({ ...NONE, removed: ['due'], unchanged: 1 });
  });

  test('keep running unchanged if a change has faults, and the fault names its line', async () => {
    const { readAgain, files } = await world(all(managed('due', documentOf('2'))));
    const broken = managed('due', documentOf('2').replace('agendas: all', 'agendas: none'));
    const { refused, changed } = readAgain(all(broken));
    expect([changed, refused]).toMatchObject([
      [],
      [{ tenant: 'due', faults: [{ file: 'managed tenant due', line: 13, path: 'targets.rossi.agendas' }] }],
    ]);
    expect(files.configuration.tenants.get('due')?.name).toBe('Studio Uno');
  });

  test('keep running unchanged if a document can no longer be decrypted, and are disabled if it never could', async () => {
    const due = managed('due', documentOf('2'));
    const closed = {
      ...{ id: 'due', revision: 'other' },
      open: () => {
        throw new Error('it was changed');
      },
    };
    const { readAgain, open } = await world(all(due));
    expect(readAgain(all(closed)).refused).toMatchObject([{ tenant: 'due', faults: [{ message: 'it was changed' }] }]);
    expect((await open(all(closed))).configuration.unusable).toMatchObject([{ id: 'due' }]);
  });

  test('stay managed when a file of the same name appears, which is used after their removal', async () => {
    const { readAgain, dir, files } = await world(all(managed('due', documentOf('2'))));
    const file = join(dir, 'tenants/due.yaml');
    writeFileSync(file, documentOf('2').replace(/ {2}dav: .*\n/, ''));
    const due = managed('due', documentOf('2').replace(/ {2}dav: .*\n/, ''), {});
    expect(readAgain(all(due))).toMatchObject({
      changed: ['due'],
      unusable: [{ id: file, faults: [{ file, message: 'the file is ignored: the tenant due is managed' }] }],
    });
    // The plan is unchanged: the file has the same state as the managed tenant.
    expect(readAgain(all())).toMatchObject({ ...NONE, reopened: ['due'] });
    expect([...files.configuration.managed]).toEqual([]);
  });

  test('may all be removed, and keep no folder that lost all files from being taken for one that cannot be read', async () => {
    const due = managed('due', documentOf('2'));
    const { readAgain, dir, files } = await world(all(due));
    rmSync(join(dir, 'tenants'), { recursive: true });
    expect(readAgain(all(due))).toMatchObject({
      ...{ removed: [], refused: [{ tenant: null, faults: [{ message: 'all tenant files would be removed' }] }] },
    });
    expect([...files.configuration.outlines.keys()]).toEqual(['due', 'uno']);
    // Adopted: there is no tenant of a file any more.
    expect(readAgain(all(due, managed('uno', TENANT, {})))).toMatchObject({ removed: [], refused: [] });
    expect(readAgain(all())).toMatchObject({ removed: ['due', 'uno'], refused: [] });
  });
});

describe('a submitted document', () => {
  test('gets all of its faults at once, conflicts with other tenants included', async () => {
    const { files } = await world(all(managed('due', documentOf('2'))));
    const told = async (id: string, yaml: string, secrets?: Record<string, string>) =>
      atOnce(files.faultsOf(managed(id, yaml, secrets))).map(({ line, path, message }) => [line, path, message]);
    expect(await told('tre', documentOf('3'))).toEqual([]);
    expect(await told('tre', documentOf('2'))).toEqual([[5, 'clinic.tenantId', 'the tenant due is the same clinic']]);
    expect(await told('due', documentOf('2', 'busy'))).toEqual([]);
    const broken = documentOf('3')
      .replace('language: it', 'language: xx')
      .replace('client: main, tenant', 'client: m, tenant');
    expect((await told('tre', broken, {})).map(([line, path]) => [line, path])).toEqual(
      expect.arrayContaining([
        [3, 'language'],
        [5, 'clinic.client'],
        [8, 'connections.dav.password'],
      ]),
    );
    expect(await told('tre', `formerly: uno\n${documentOf('3')}`)).toEqual([
      [1, 'formerly', 'the tenant uno already exists'],
    ]);
    expect([...files.configuration.outlines.keys()]).toEqual(['due', 'uno']);
  });

  test('may use only its own encrypted secrets and its own variables; a file must not use encrypted secrets', async () => {
    const named = documentOf('2').replace('{ sealed: dav }', '{ env: TENANT_UNO__SECRET }');
    const { files, open, dir } = await world(all());
    expect(atOnce(files.faultsOf(managed('due', named))).map(({ message }) => message)).toEqual([
      'the environment variable TENANT_UNO__SECRET does not belong to this tenant',
    ]);
    writeFileSync(join(dir, 'tenants/tre.yaml'), documentOf('3'));
    const { unusable } = (await open(all(managed('due', documentOf('2'))))).configuration;
    expect(unusable).toMatchObject([
      { id: 'tre', faults: [{ message: 'only a managed tenant has encrypted secrets' }] },
    ]);
  });

  test('is converted to a file with variables instead of encrypted secrets, and keeps every comment', () => {
    const yaml = `# by hand\nname: Uno # so\npassword: { sealed: dav-password }\nother: { sealed: x }\n`;
    expect(withVariables(yaml, (name) => `TENANT_UNO__${name.toUpperCase().replace('-', '_')}`)).toEqual({
      yaml: '# by hand\nname: Uno # so\npassword: { env: TENANT_UNO__DAV_PASSWORD }\nother: { env: TENANT_UNO__X }\n',
      variables: ['TENANT_UNO__DAV_PASSWORD', 'TENANT_UNO__X'],
    });
    const plain = 'name:   Uno\n';
    expect(withVariables(plain, () => 'X').yaml).toBe(plain);
  });
});
