import { expect, test } from 'vitest';
import { asMirrorError, type MirrorError } from '../../../src/core/model/errors.ts';
import { withdrawFeed } from '../../../src/features/feeds/feeds.ts';
import { upcomingReminders } from '../../../src/features/reminders/reminders.ts';
import { listTriggers } from '../../../src/features/triggers/triggers.ts';
import { render } from '../../../src/messages/message.ts';
import { auditNow } from '../../../src/operator/control/audit.ts';
import { readTenants, requireTenant, TENANTS_AT_ONCE } from '../../../src/operator/control/installation.ts';
import type { InvalidTenant } from '../../../src/settings/configuration.ts';
import { NOW } from '../../domain/arbitraries.ts';
import { paced } from '../../support/pace.ts';
import { useRedis } from '../../support/redis.ts';
import { createModelClinic } from '../../tenant/model-clinic.ts';
import { openTenant } from '../../tenant/open-tenant.ts';
import { openInstallation } from './open-installation.ts';
import { problems, targetOf } from './status-of.ts';

const redis = useRedis();
const FILE = 'tenants/aurora.yaml';
const DOCUMENT =
  'aurora.yaml (clinic-mirror tenants export aurora > aurora.yaml; clinic-mirror tenants replace aurora aurora.yaml)';

async function errorOf(work: Promise<unknown>): Promise<MirrorError | undefined> {
  return await work.then(() => undefined, asMirrorError);
}

async function remedyOf(work: Promise<unknown>): Promise<string | undefined> {
  return (await errorOf(work))?.remedy;
}

test.each([
  ['of a file', [], FILE],
  ['that is managed', ['aurora'], DOCUMENT],
])('the required action for a tenant %s names the place of its settings', async (_, managed, place) => {
  const clinic = createModelClinic();
  const tenant = openTenant({
    redis: redis.connect(),
    id: 'aurora',
    clinic,
    targets: [],
    clock: () => NOW,
    paused: true,
  });
  const installation = openInstallation({ tenants: [tenant], managed });
  const signal = AbortSignal.timeout(paced(20_000));
  const paused = await errorOf(auditNow(installation, 'aurora', () => {}, signal));
  expect(paused?.remedy).toBe(`set paused to false in ${place}`);
  expect(render(paused?.texts.remedy ?? '', 'it')).toBe(`impostare paused: false in ${place}`);
  expect(await remedyOf(upcomingReminders(installation, 'aurora'))).toBe(`add reminders to ${place}`);
  expect(await remedyOf(listTriggers(installation, 'aurora'))).toBe(`add triggers to ${place}`);
  const feed = await remedyOf(withdrawFeed(installation, 'aurora', 'door'));
  expect(feed).toBe(`add a target with connector: feed to ${place}`);
  const gaps = (['agenda', 'treatment'] as const).map((part) => ({
    code: `${part}-unknown` as const,
    count: 1,
    what: ['4'],
    soon: [],
  }));
  const told = problems({ targets: [targetOf('incomplete-data', { gaps })] }, {}, managed);
  expect(told.map(({ next }) => next)).toEqual([
    `correct agendas of room in ${place}`,
    `correct treatments of room in ${place}`,
  ]);
  expect(told.map(({ texts }) => render(texts.next ?? '', 'it'))).toEqual([
    `correggere agendas di room in ${place}`,
    `correggere treatments di room in ${place}`,
  ]);
});

test.each([
  ['aurora', 'no-such-tenant', 'rossi'],
  ['faulty', 'tenant-set-aside', 'config check'],
  ['unread', 'tenant-unchecked', '/readyz'],
])('the tenant %s is refused with %s, and the remedy is: %s', (id, code, words) => {
  const rossi = openTenant({
    redis: redis.connect(),
    id: 'rossi',
    clinic: createModelClinic(),
    targets: [],
    clock: () => NOW,
  });
  const faulty = { id: 'faulty', faults: [] } as unknown as InvalidTenant;
  const installation = {
    ...openInstallation({ tenants: [rossi], unusable: [faulty] }),
    unchecked: new Set(['unread']),
  };
  expect(requireTenant(installation, 'rossi')).toBe(rossi);
  expect(() => requireTenant(installation, id)).toThrow(
    expect.objectContaining({ code, remedy: expect.stringContaining(words) }),
  );
});

test('what is read of all tenants opens a few at the same time, and keeps their order', async () => {
  const ids = Array.from({ length: 60 }, (_, index) => `clinic-${index}`);
  const clinic = createModelClinic();
  const tenants = ids.map((id) =>
    openTenant({ redis: redis.connect(), id, clinic, targets: [], clock: () => NOW, paused: true }),
  );
  const installation = openInstallation({ tenants });
  let [open, most] = [0, 0];
  const get = installation.tenants.get.bind(installation.tenants);
  installation.tenants.get = (id) => {
    most = Math.max(most, ++open);
    return get(id);
  };
  const read = await readTenants(installation, undefined, async ({ id }) => {
    await Promise.resolve();
    open -= 1;
    return id;
  });
  expect(read).toEqual(ids);
  expect(most).toBe(TENANTS_AT_ONCE);
  expect(await readTenants(installation, 'clinic-7', async ({ id }) => id)).toEqual(['clinic-7']);
});
