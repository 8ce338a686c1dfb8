import { describe, expect, test } from 'vitest';
import { managedTenantKeys } from '../../../src/features/managed-tenants/keys.ts';
import {
  changeTenant,
  checkDocument,
  documentForFile,
  listSources,
  neededSecrets,
  planAddition,
  planAdoption,
  planReplacement,
  readDocument,
} from '../../../src/features/managed-tenants/managed-tenants.ts';
import { CONFIGURATION_OPERATIONS } from '../../../src/features/managed-tenants/operations.ts';
import type { ApprovalSettings } from '../../../src/settings/access-schema.ts';
import { faultIn } from '../../../src/settings/faults.ts';
import { openActing } from '../../operator/control/acting.ts';
import {
  type ConfigurationsChoice,
  openConfigurations,
  openManagedStore,
  RING,
} from '../../operator/control/open-configurations.ts';
import { openInstallation } from '../../operator/control/open-installation.ts';
import { contextWith } from '../../operator/operations/run-operation.ts';
import { useRedis } from '../../support/redis.ts';

const { addTenant, removeTenant, replaceConfiguration } = CONFIGURATION_OPERATIONS;
const redis = useRedis();
const WANTED = { yaml: 'name: Studio\n', secrets: {} };
const SEALED = 'name: Nuova\nconnections: { dav: { password: { sealed: dav } } }\n';
const KEPT = { replaced: 'second-person-needed', removed: 'second-person-needed', isThere: true };
let count = 0;

const open = (choice: ConfigurationsChoice = {}) => openConfigurations(redis.connect(), choice);
const nextName = (kind: string) => {
  count += 1;
  return `${kind}-${count}`;
};

/**
 * Returns the results of a replacement and a removal of a managed tenant by one operator. The tenant is disabled, so that its rules are known only
 * from its document.
 */
async function changed(approvals: object, policy: Partial<ApprovalSettings> = {}, ring = RING) {
  const connection = redis.connect();
  const desk = openConfigurations(connection);
  const tenant = nextName('aside');
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

describe('a disabled tenant', () => {
  test.each([{ configuration: true }, { forget: true }, { restore: true }, { holdsAbove: 5 }])(
    'keeps its own rule for two operators: $0',
    async (rule) => {
      expect(await changed(rule)).toEqual(KEPT);
    },
  );

  test('whose document cannot be decrypted requires two operators if the settings have any rule', async () => {
    const others = [{ id: 'other', key: Buffer.alloc(32, 3) }];
    for (const policy of [{ forget: true }, { restore: true }, { holdsAbove: 5 }, { configuration: true }]) {
      expect(await changed({}, policy, others)).toEqual(KEPT);
    }
    expect(await changed({}, {}, others)).toMatchObject({ replaced: 'done' });
  });

  test('without its own rule requires one operator', async () => {
    expect(await changed({})).toMatchObject({ replaced: 'done' });
  });
});

describe('an addition over a lost record', () => {
  /** Adds a managed tenant again after its record was damaged in Redis, by one operator. @returns the code of the refusal */
  async function addedAnew(
    damage: (tenant: string, connection: ReturnType<typeof redis.connect>) => unknown,
    rule = {},
  ) {
    const connection = redis.connect();
    const desk = openConfigurations(connection);
    const tenant = nextName('lost');
    const context = contextWith({
      installation: openInstallation({ tenants: [] }),
      acting: openActing({ policy: {} }),
      configurations: async () => desk,
    });
    const yaml = JSON.stringify({ name: 'Studio', approvals: rule });
    await addTenant.run({ tenant, yaml, secrets: {} }, context);
    await damage(tenant, connection);
    return addTenant.run({ tenant, ...WANTED }, context).then(
      () => 'done',
      ({ code }: { code: string }) => code,
    );
  }

  test.each([{ configuration: true }, { forget: true }, { restore: true }, { holdsAbove: 5 }])(
    'needs two operators if the lost document did: %o',
    async (rule) => {
      const removed = (tenant: string, connection: ReturnType<typeof redis.connect>) =>
        Promise.all(
          [managedTenantKeys.managedTenants(), managedTenantKeys.managedRevisions()].map((key) =>
            connection.hdel(key, tenant),
          ),
        );
      expect(await addedAnew(removed, rule)).toBe('second-person-needed');
      expect(
        await addedAnew((tenant, connection) => connection.hdel(managedTenantKeys.managedRevisions(), tenant), rule),
      ).toBe('second-person-needed');
    },
  );

  test('needs one operator if neither the lost document nor the settings have a rule', async () => {
    const removed = (tenant: string, connection: ReturnType<typeof redis.connect>) =>
      connection.hdel(managedTenantKeys.managedRevisions(), tenant);
    expect(await addedAnew(removed)).toBe('done');
  });
});

describe('a new document of a tenant', () => {
  test('keeps a secret that is not given, and loses one that it does not name', async () => {
    const desk = open();
    const tenant = nextName('secrets');
    const acting = openActing();
    const wanted = { yaml: SEALED, secrets: { dav: ' correct-horse\n' } };
    const added = await changeTenant(acting, desk, 'add-tenant', await planAddition(desk, tenant, wanted));
    const kept = await planReplacement(desk, tenant, { yaml: SEALED, secrets: {} }, added.revision);
    expect(kept.content?.secrets).toEqual({ dav: 'correct-horse' });
    expect((await planReplacement(desk, tenant, WANTED, added.revision)).content?.secrets).toEqual({});
    expect(await readDocument(desk, tenant, () => true)).toMatchObject({ yaml: SEALED, secrets: ['dav'] });
  });

  test.each([
    ['an empty one', { dav: ' \n' }, 'secrets.dav'],
    ['one that is too long', { dav: 'x'.repeat(65_537) }, 'secrets.dav'],
    ['one that the document does not name', { other: 'x' }, 'secrets.other'],
    ['one whose name is no name', { 'correct horse': 'x' }, 'secrets.…'],
  ])('is at fault for %s of its secrets, by path and without value', async (_, secrets, path) => {
    const faults = await checkDocument(open(), 'nuova', { yaml: SEALED, secrets });
    expect(faults.map((fault) => fault.path)).toEqual([path]);
  });

  test('is at fault where the tenant has no usable name, or the document is no YAML', async () => {
    expect(await checkDocument(open(), 'Not A Name', WANTED)).toHaveLength(1);
    expect(await checkDocument(open(), 'nuova', { yaml: 'name: [', secrets: {} })).toHaveLength(1);
    expect(await checkDocument(open(), 'nuova', WANTED)).toEqual([]);
  });

  test('is not planned with a fault: configuration', async () => {
    const desk = open({ faultsOf: () => [faultIn('managed tenant', 'is broken', 'change it', { path: 'name' })] });
    await expect(planAddition(desk, nextName('faulty'), WANTED)).rejects.toMatchObject({ faults: [{ path: 'name' }] });
  });

  test('names the values that must be encrypted, and none if it cannot be parsed', async () => {
    expect(await neededSecrets(SEALED)).toEqual(['dav']);
    expect(await neededSecrets('name: [')).toEqual([]);
  });
});

describe('a change of a tenant', () => {
  test('of a file is refused: tenant-in-file', async () => {
    const desk = open({ inFiles: { rossi: '/etc/rossi.yaml' } });
    await expect(planAddition(desk, 'rossi', WANTED)).rejects.toMatchObject({ code: 'tenant-in-file' });
    await expect(planReplacement(desk, 'rossi', null, 'r')).rejects.toMatchObject({ code: 'tenant-in-file' });
    await expect(checkDocument(desk, 'rossi', WANTED)).rejects.toMatchObject({ code: 'tenant-in-file' });
  });

  test('that is not there is refused: no-such-tenant', async () => {
    await expect(planReplacement(open(), 'nobody', null, 'r')).rejects.toMatchObject({ code: 'no-such-tenant' });
    await expect(planAdoption(open(), 'nobody')).rejects.toMatchObject({ code: 'no-such-tenant' });
    await expect(readDocument(open(), 'nobody', () => true)).rejects.toMatchObject({ code: 'no-such-tenant' });
  });

  test('that was changed meanwhile is not made: revision-changed, tenant-exists', async () => {
    const desk = open();
    const tenant = nextName('raced');
    const acting = openActing();
    const planned = await planAddition(desk, tenant, WANTED);
    const { revision } = await changeTenant(acting, desk, 'add-tenant', planned);
    await expect(changeTenant(acting, desk, 'add-tenant', planned)).rejects.toMatchObject({ code: 'tenant-exists' });
    await expect(planAddition(desk, tenant, WANTED)).rejects.toMatchObject({ code: 'tenant-exists' });
    await expect(planReplacement(desk, tenant, WANTED, null)).rejects.toMatchObject({ code: 'revision-missing' });
    const removal = await planReplacement(desk, tenant, null, revision);
    const replacement = await planReplacement(desk, tenant, { ...WANTED, yaml: 'name: Altro\n' }, revision);
    await changeTenant(acting, desk, 'replace-tenant', replacement);
    await expect(changeTenant(acting, desk, 'remove-tenant', removal)).rejects.toMatchObject({
      code: 'revision-changed',
    });
    expect(desk.followed).toBe(2);
  });
});

test('the list of sources has each tenant once: those of files, those that are managed, and those that do not run', async () => {
  const desk = open({ running: ['alpha', 'managed'], inFiles: { alpha: '/etc/alpha.yaml' } });
  const revision = await desk.store.put('managed', { yaml: WANTED.yaml, json: '{}', secrets: {} }, null);
  await desk.store.put('hidden', { yaml: WANTED.yaml, json: '{}', secrets: {} }, null);
  const { items } = await listSources(desk, (tenant) => tenant !== 'hidden', { limit: 200, after: null });
  expect(items.filter(({ tenant }) => ['alpha', 'managed', 'hidden'].includes(tenant))).toEqual([
    { tenant: 'alpha', source: 'file', file: '/etc/alpha.yaml', revision: null },
    { tenant: 'managed', source: 'managed', file: null, revision },
  ]);
});

test('a document for a file names variables of the tenant instead of encrypted secrets; an unreadable one is refused', () => {
  const source = {
    tenant: 'nuova-2',
    source: 'managed',
    file: null,
    revision: 'r',
    secrets: ['dav'],
    faults: [],
  } as const;
  expect(documentForFile({ ...source, secrets: ['dav'], yaml: SEALED })).toEqual({
    file: 'tenants/nuova-2.yaml',
    yaml: SEALED.replace('sealed: dav', 'env: TENANT_NUOVA_2__DAV'),
    variables: ['TENANT_NUOVA_2__DAV'],
  });
  expect(() => documentForFile({ ...source, secrets: [], yaml: null })).toThrow(
    expect.objectContaining({ code: 'configuration' }),
  );
});
