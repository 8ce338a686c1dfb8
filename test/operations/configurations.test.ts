import { describe, expect, test } from 'vitest';
import { CONFIGURATION_OPERATIONS } from '../../src/operations/configurations.ts';
import type { ApprovalSettings } from '../../src/settings/approval-schema.ts';
import { openActing } from '../control/acting.ts';
import { openConfigurations, openManagedStore, RING } from '../control/open-configurations.ts';
import { openInstallation } from '../control/open-installation.ts';
import { useRedis } from '../support/redis.ts';
import { contextWith } from './run-operation.ts';

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
