import { appendFileSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { clinicProfileSchema } from '../../src/clinic/schema/profile.ts';
import type { TenantOutline } from '../../src/settings/configuration.ts';
import type { LoadOptions } from '../../src/settings/load.ts';
import type { ManagedTenant } from '../../src/settings/managed-tenant.ts';
import { tenantVariable } from '../../src/settings/tenant-secrets.ts';
import { openVerdicts, type Verdict } from '../../src/settings/verdicts.ts';
import {
  CONNECTORS,
  ENV,
  faultLines,
  KEY,
  load,
  SETTINGS,
  TENANT,
  withOwnSecrets,
  writeConfiguration,
} from './configuration-directory.ts';

/** The tenant with a login whose password is in the environment. */
function tenantFile(id: string, variable = 'DAV_PASSWORD'): string {
  return TENANT.replace('tenantId: "7"', `tenantId: "${id}"`).replace(
    '  work: { kind: google, client: main }',
    `  work: { kind: google, client: main }\n  dav: { kind: caldav, username: ada, password: { env: OWN__${variable} } }`,
  );
}

const PASSWORD = 'a-password-that-nobody-has';

/** A configuration of three clinics with a data directory, and connectors that count whose files they check. */
function world() {
  const dir = writeConfiguration({
    'data/there': '',
    'tenants/uno.yaml': tenantFile('1'),
    'tenants/due.yaml': tenantFile('2'),
    'tenants/tre.yaml': tenantFile('3', 'OTHER_PASSWORD'),
  });
  const data = join(dir, 'data');
  const write = (name: string, content: string) => writeFileSync(join(dir, name), withOwnSecrets(name, content));
  write('clinic-mirror.yaml', `${SETTINGS}dataDirectory: ${data}\n`);
  let checks = 0;
  const calendar = CONNECTORS.get('calendar');
  if (calendar === undefined) throw new Error('there is no calendar');
  const settingsSchema = z.preprocess((value) => {
    checks += 1;
    return value;
  }, calendar.settingsSchema);
  const passwords = ['uno', 'due', 'tre', 'quattro'].map((id) => [tenantVariable(id, 'DAV_PASSWORD'), PASSWORD]);
  const env = { ...ENV, ...Object.fromEntries(passwords), TENANT_TRE__OTHER_PASSWORD: `${PASSWORD}-either` };
  const options = { env, connectors: new Map([...CONNECTORS, ['calendar', { ...calendar, settingsSchema }]]) };
  return {
    dir,
    write,
    env,
    options,
    faults: (changed: Partial<LoadOptions> = {}) => faultLines(dir, { ...options, ...changed }),
    /** Loads it. @returns how many files were checked */
    checked(changed: Partial<LoadOptions> = {}): number {
      checks = 0;
      load(dir, { ...options, ...changed });
      return checks;
    },
    load: () => load(dir, options),
    kept: () => {
      const [name = ''] = readdirSync(data).filter((each) => each.startsWith('checked-'));
      return join(data, name);
    },
  };
}

describe('a file of a tenant that was found to be without faults', () => {
  test('is not checked again while it is as it was, and gives the same configuration', () => {
    const { checked, load: read } = world();
    const first = read();
    expect(checked()).toBe(0);
    const again = read();
    expect([...again.tenants.keys()]).toEqual(['due', 'tre', 'uno']);
    expect([...again.tenants]).toEqual([...first.tenants]);
    expect(again.outlines).toEqual(first.outlines);
  });

  test('is checked alone when it alone has changed, and what it says counts', () => {
    const { checked, write, load: read } = world();
    expect(checked()).toBe(3);
    const before = read().outlines;
    write('tenants/due.yaml', `${tenantFile('2')}    title: busy\n`);
    expect(checked()).toBe(1);
    const { tenants, outlines } = read();
    expect(tenants.get('due')?.targets.get('rossi')?.title).toBe('busy');
    expect(outlines.get('due')?.hash).not.toBe(before.get('due')?.hash);
    expect(outlines.get('uno')).toEqual(before.get('uno'));
  });

  test('is checked again when the settings or a profile changed, since they decide too', () => {
    const { checked, write, dir } = world();
    expect(checked()).toBe(3);
    write('profiles/plain.yaml', 'scopePrefix: "x."\n');
    expect(checked()).toBe(3);
    appendFileSync(join(dir, 'clinic-mirror.yaml'), 'guard: { holdExpiresAfterHours: 24 }\n');
    expect(checked()).toBe(3);
    expect(checked()).toBe(0);
  });

  test('is checked again when a secret that it names is another one, and at fault when there is none', () => {
    const { checked, faults, env } = world();
    expect(checked()).toBe(3);
    expect(checked({ env: { ...env, TENANT_TRE__OTHER_PASSWORD: 'another' } })).toBe(1);
    const { TENANT_TRE__OTHER_PASSWORD: _, ...less } = env;
    expect(faults({ env: less })).toEqual([
      expect.stringMatching(
        /^tenants\/tre\.yaml:8 connections\.dav\.password: .*OTHER_PASSWORD is not set → set it for the daemon/,
      ),
    ]);
  });

  test('is still refused when a second file is for the same clinic', () => {
    const { checked, faults, write } = world();
    write('tenants/quattro.yaml', tenantFile('4'));
    expect(checked()).toBe(4);
    write('tenants/quattro.yaml', tenantFile('2'));
    const told = [
      expect.stringMatching(/^tenants\/quattro\.yaml:5 clinic\.tenantId: the tenant due is the same clinic/),
    ];
    expect(faults()).toEqual(told);
    // By now both files have their verdicts.
    expect(faults()).toEqual(told);
  });

  test('is forgotten when it is gone, and one with faults is never known', () => {
    const { checked, faults, write, dir, kept } = world();
    write('tenants/tre.yaml', tenantFile('3').replace('Europe/Rome', 'Europe/Roma'));
    for (const _ of [1, 2]) expect(faults()).toEqual([expect.stringMatching(/^tenants\/tre\.yaml:4 zone: /)]);
    expect(readFileSync(kept(), 'utf8')).not.toContain('Europe/Roma');
    rmSync(join(dir, 'tenants/tre.yaml'));
    expect(checked()).toBe(0);
    write('tenants/tre.yaml', tenantFile('3', 'OTHER_PASSWORD'));
    expect(checked()).toBe(1);
  });
});

test('a profile that was found to be without faults is checked again when it changed, and one with faults each time', () => {
  const { load: read, faults, write } = world();
  const checks = vi.spyOn(clinicProfileSchema, 'safeParse');
  const checked = (work: () => unknown) => {
    checks.mockClear();
    work();
    return checks.mock.calls.length;
  };
  const first = read();
  expect(checked(read)).toBe(0);
  expect(read().profiles).toEqual(first.profiles);
  write('profiles/plain.yaml', 'scopePrefix: "x."\n');
  expect(checked(read)).toBe(1);
  expect(read().profiles.get('plain')?.scopePrefix).toBe('x.');
  write('profiles/plain.yaml', 'scopePrefix: 1\n');
  for (const _ of [1, 2]) expect(faults()).toEqual([expect.stringMatching(/^profiles\/plain\.yaml:1 scopePrefix: /)]);
});

describe('what is kept of it', () => {
  test('can be read by us alone, and holds no secret', () => {
    const { checked, kept, env } = world();
    checked();
    expect(statSync(kept()).mode & 0o777).toBe(0o600);
    const text = readFileSync(kept(), 'latin1');
    expect(text).toContain('Studio Uno');
    for (const secret of Object.values(env)) expect(text).not.toContain(secret);
  });

  test.each<[string, (file: string) => void]>([
    ['deleted', (file) => rmSync(file)],
    ['emptied', (file) => truncateSync(file, 0)],
    ['cut off', (file) => truncateSync(file, statSync(file).size - 10)],
    ['longer', (file) => appendFileSync(file, 'x')],
    ['changed by others', (file) => writeFileSync(file, readFileSync(file, 'latin1').replace('Uno', 'Due'), 'latin1')],
  ])('is not believed when it is %s: all is checked, and kept again', (_, spoil) => {
    const { checked, kept, load: read } = world();
    checked();
    const before = [...read().tenants];
    spoil(kept());
    expect([...read().tenants]).toEqual(before);
    spoil(kept());
    expect(checked()).toBe(3);
    expect(checked()).toBe(0);
  });

  test('is of no use under another identity key', () => {
    const { checked, env } = world();
    checked();
    expect(checked({ env: { ...env, IDENTITY_KEY: KEY.replace('B', 'C') } })).toBe(3);
  });

  test('is nothing where there is no data directory, which a check does not make', () => {
    const { checked, dir, kept } = world();
    rmSync(join(dir, 'data'), { recursive: true });
    expect(checked()).toBe(3);
    expect(checked()).toBe(3);
    expect(() => kept()).toThrow();
    expect(checked({ mode: 'set-aside' })).toBe(3);
    expect(checked()).toBe(0);
  });
});

describe('a look at one tenant', () => {
  test('reads its file, and takes the others as they were when they were without faults', () => {
    const { checked, write, faults } = world();
    checked();
    write('tenants/due.yaml', 'no: tenant');
    write('tenants/uno.yaml', tenantFile('4'));
    expect(checked({ only: 'uno' })).toBe(1);
    expect(faults().join()).toContain('due');
  });

  test('finds that it is of the same clinic as another', () => {
    const { checked, write, faults } = world();
    checked();
    write('tenants/uno.yaml', tenantFile('2'));
    expect(faults({ only: 'uno' }).join()).toContain('due');
  });

  test('reads files that were never found to be without faults', () => {
    const { checked, write, faults } = world();
    checked();
    write('tenants/quattro.yaml', 'no: tenant');
    expect(faults({ only: 'uno' }).join()).toContain('quattro');
  });

  test('leaves what it did not read to be checked by the next start', () => {
    const { checked, write } = world();
    checked();
    write('tenants/due.yaml', tenantFile('5'));
    write('tenants/uno.yaml', tenantFile('4'));
    checked({ only: 'uno' });
    expect(checked()).toBe(1);
  });
});

test('expressions are kept outlined with the verdict on a file, and those of a managed tenant not at all', () => {
  const dir = writeConfiguration({ 'data/there': '' });
  const dataDirectory = join(dir, 'data');
  const identityKey = Buffer.alloc(32, 7);
  const file = openVerdicts({ name: 'checked', dir, dataDirectory, identityKey, sealingKeys: [], program: () => 'p' });
  const expressions = [['words.of.theirs', { names: ['words'], texts: [], refused: [], isOpen: false }]] as const;
  const verdictOn = (id: string, managed: ManagedTenant | null): Verdict => ({
    ...{ digest: id, json: '{}', managed, secrets: [] },
    outline: { id, expressions } as unknown as TenantOutline,
  });
  const managed: ManagedTenant = { id: 'due', revision: 'due', open: () => ({ yaml: '', json: '{}', secrets: {} }) };
  const keep = (...verdicts: Verdict[]) => {
    const tenants = new Map(verdicts.map((verdict) => [verdict.outline.id, verdict]));
    file.keep({ tenants, profiles: new Map() }, 'around', { makeDirectory: false });
    const written = readdirSync(dataDirectory, { recursive: true, encoding: 'utf8' })
      .filter((name) => statSync(join(dataDirectory, name)).isFile())
      .map((name) => readFileSync(join(dataDirectory, name), 'latin1'));
    const read = file.read('around').tenantsWith(new Map([['due', managed]]));
    return { written: written.join(), read: [...read.values()].map(({ outline }) => outline.expressions) };
  };
  expect(keep(verdictOn('uno', null)).read).toEqual([expressions]);
  const sealed = keep(verdictOn('due', managed));
  expect(sealed.read).toEqual([null]);
  expect(sealed.written).not.toContain('theirs');
});
