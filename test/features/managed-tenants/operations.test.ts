import { describe, expect, test } from 'vitest';
import { CONFIGURATION_OPERATIONS } from '../../../src/features/managed-tenants/operations.ts';
import type { ApprovalSettings } from '../../../src/settings/access-schema.ts';
import { faultIn } from '../../../src/settings/faults.ts';
import { runProgram } from '../../cli/run-program.ts';
import { openActing } from '../../control/acting.ts';
import { openConfigurations, openManagedStore, RING } from '../../control/open-configurations.ts';
import { openInstallation } from '../../control/open-installation.ts';
import { contextWith } from '../../operations/run-operation.ts';
import { useRedis } from '../../support/redis.ts';

const { removeTenant, replaceConfiguration } = CONFIGURATION_OPERATIONS;
const redis = useRedis();
const WANTED = { yaml: 'name: Studio\n', secrets: {} };
const KEPT = { replaced: 'second-person-needed', removed: 'second-person-needed', isThere: true };
let count = 0;

/** A managed tenant that is set aside, so that nothing that runs tells its rules: what comes of one person who replaces and removes it. */
async function changed(approvals: object, policy: Partial<ApprovalSettings> = {}, ring = RING) {
  const connection = redis.connect();
  const desk = openConfigurations(connection);
  count += 1;
  const tenant = `aside-${count}`;
  const json = JSON.stringify({ name: 'Studio', approvals });
  const revision = await openManagedStore(connection, ring).put(tenant, { yaml: json, json, secrets: {} }, null);
  const context = contextWith({
    installation: openInstallation({ tenants: [] }),
    acting: openActing({ policy }),
    configurations: async () => desk,
  });
  const shown = { tenant, ifMatch: revision };
  const codeOf = (call: Promise<unknown>) => call.then(() => 'done').catch(({ code }: { code: string }) => code);
  return {
    replaced: await codeOf(replaceConfiguration.run({ ...shown, ...WANTED }, context)),
    removed: await codeOf(removeTenant.run(shown, context)),
    isThere: (await desk.store.read()).tenants.has(tenant),
  };
}

describe('a tenant that is set aside', () => {
  test.each([{ configuration: true }, { forget: true }, { restore: true }, { holdsAbove: 5 }])(
    'is kept by its own rule for two persons: $0',
    async (rule) => {
      expect(await changed(rule)).toEqual(KEPT);
    },
  );

  test('whose document does not open takes two persons where the settings have any rule', async () => {
    const others = [{ id: 'other', key: Buffer.alloc(32, 3) }];
    for (const policy of [{ forget: true }, { restore: true }, { holdsAbove: 5 }, { configuration: true }]) {
      expect(await changed({}, policy, others)).toEqual(KEPT);
    }
    expect(await changed({}, {}, others)).toMatchObject({ replaced: 'done' });
  });

  test('without a rule of its own takes one person', async () => {
    expect(await changed({})).toMatchObject({ replaced: 'done' });
  });
});

describe('the commands', () => {
  const YAML = 'name: Nuova\nconnections: { dav: { password: { sealed: dav } } }\n';

  function open() {
    const desk = openConfigurations(redis.connect(), {
      faultsOf: ({ open: read }) =>
        read().yaml.includes('broken')
          ? [faultIn('managed tenant nuova', 'is broken', 'mend it', { line: 1, path: 'name' })]
          : [],
    });
    const files: Record<string, string> = { 'secrets.yaml': 'dav: correct-horse\n', 'broken.yaml': 'name: broken\n' };
    const run = async (...args: string[]) =>
      runProgram(['tenants', ...args], { configurations: async () => desk, acting: openActing(), files });
    return { run, files, desk };
  }

  test('add, export, replace and remove a tenant, each as it was seen', async () => {
    const { run, files, desk } = open();
    files['nuova.yaml'] = YAML;
    const added = await run('add', 'nuova', 'nuova.yaml', '--secrets', 'secrets.yaml');
    expect([added.thrown, added.out]).toEqual([
      null,
      'The tenant nuova is added. Log in for it: clinic-mirror login nuova clinic\n',
    ]);
    const exported = (await run('export', 'nuova')).out;
    expect(exported).toMatch(/^# revision [\w-]{22}\nname: Nuova\n/);
    files['changed.yaml'] = exported.replace('Nuova', 'Altra');
    expect((await run('replace', 'nuova', 'changed.yaml')).thrown).toBeNull();
    expect((await desk.store.find('nuova'))?.open()).toMatchObject({
      yaml: YAML.replace('Nuova', 'Altra'),
      secrets: { dav: 'correct-horse' },
    });
    expect((await run('replace', 'nuova', 'changed.yaml')).thrown).toMatchObject({ code: 'revision-changed' });
    expect((await run('replace', 'nuova', 'nuova.yaml')).thrown).toMatchObject({ code: 'revision-missing' });
    const shown = await run('remove', 'nuova', '--revision', 'another', '--json');
    expect(shown.thrown).toMatchObject({ code: 'revision-changed' });
    expect(JSON.parse((await run('remove', 'nuova', '--json')).out)).toEqual({
      ...{ tenant: 'nuova', revision: null, file: null },
    });
  });

  test('show which variables a file needs beside the export, not in it', async () => {
    const { run, files } = open();
    files['sealed.yaml'] = YAML;
    await run('add', 'sealed', 'sealed.yaml', '--secrets', 'secrets.yaml');
    const { out, err } = await run('export', 'sealed', '--for-file');
    expect(out).toBe(YAML.replace('sealed: dav', 'env: TENANT_SEALED__DAV'));
    expect(err).toBe('Set before tenants/sealed.yaml is read: TENANT_SEALED__DAV.\n\n');
  });

  test('check a document, and exit with 2 for faults', async () => {
    const { run, files } = open();
    files['good.yaml'] = 'name: Studio\n';
    expect(await run('check', 'buona', 'good.yaml')).toMatchObject({ code: 0, out: 'It has no faults.\n' });
    const { code, out } = await run('check', 'nuova', 'broken.yaml');
    expect([code, out]).toEqual([2, expect.stringContaining('is broken')]);
    files['list.yaml'] = '- correct-horse\n';
    const refused = await run('check', 'buona', 'good.yaml', '--secrets', 'list.yaml');
    expect(refused.thrown).toMatchObject({ code: 'file-unusable' });
    expect(String(refused.thrown)).not.toContain('correct-horse');
  });
});
