import { describe, expect, test } from 'vitest';
import { faultIn } from '../../../src/settings/faults.ts';
import { runProgram } from '../../operator/cli/run-program.ts';
import { openActing } from '../../operator/control/acting.ts';
import { openConfigurations } from '../../operator/control/open-configurations.ts';
import { useRedis } from '../../support/redis.ts';

const redis = useRedis();

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

  test('add, export, replace and remove a tenant, each against the version that was read', async () => {
    const { run, files, desk } = open();
    files['nuova.yaml'] = YAML;
    const added = await run('add', 'nuova', 'nuova.yaml', '--secrets', 'secrets.yaml');
    expect([added.thrown, added.out]).toEqual([
      null,
      'Tenant nuova is added. Connect the clinic: clinic-mirror login nuova clinic\n',
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

  test('show the variables that a file requires next to the export, not in it', async () => {
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
    expect(await run('check', 'buona', 'good.yaml')).toMatchObject({ code: 0, out: 'No faults found.\n' });
    const { code, out } = await run('check', 'nuova', 'broken.yaml');
    expect([code, out]).toEqual([2, expect.stringContaining('is broken')]);
    files['list.yaml'] = '- correct-horse\n';
    const refused = await run('check', 'buona', 'good.yaml', '--secrets', 'list.yaml');
    expect(refused.thrown).toMatchObject({ code: 'file-unusable' });
    expect(String(refused.thrown)).not.toContain('correct-horse');
  });
});
