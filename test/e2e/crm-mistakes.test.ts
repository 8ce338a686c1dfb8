import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { ConfigurationFault } from '../../src/settings/faults.ts';
import { useRedis } from '../support/redis.ts';
import { compareCrm, SAME } from './support/crm-truth.ts';
import { type CrmWorld, startCrmWorld } from './support/crm-world.ts';

const redis = useRedis();

async function useCrmWorld(): Promise<CrmWorld> {
  const world = await startCrmWorld({ redisUrl: redis.url, patients: 12, appointments: 20 });
  onTestFinished(() => world.close());
  return world;
}

test('a mapping of a sensitive field, an unknown field or an unknown consent is reported with file, line and remedy', async () => {
  const world = await useCrmWorld();
  await world.editTenant('clinic-1', ({ targets }) => {
    const crm = targets['hubspot-contacts']?.crm ?? {};
    Object.assign(crm, { consents: ['privcy'] });
    Object.assign(crm.mapping as object, { clinic_tax_code: 'taxCode', firstname: 'firstNam', note: 'notes' });
  });
  const [{ code, out }, text] = await Promise.all([
    world.cli('config', 'check', '--json'),
    world.cli('config', 'check'),
  ]);
  expect([code, text.code]).toEqual([2, 2]);
  const { faults } = JSON.parse(out) as { faults: ConfigurationFault[] };
  const at = 'targets.hubspot-contacts.crm';
  expect(faults.map(({ path, message, remedy }) => [path, message, remedy])).toEqual([
    [`${at}.consents.0`, 'consent "privcy" does not exist', expect.stringContaining('did you mean privacy?')],
    [
      `${at}.mapping.firstname`,
      'the stream patients has no field "firstNam"',
      expect.stringContaining('mean firstName?'),
    ],
    [
      `${at}.mapping.clinic_tax_code`,
      'the field taxCode is sensitive and requires a reason',
      expect.stringContaining('add the field to sensitive with the reason'),
    ],
    [
      `${at}.mapping.note`,
      'the stream patients has no field "notes"',
      expect.stringContaining('use one of: firstName'),
    ],
  ]);
  const file = join(world.configDir, 'tenants', 'clinic-1.yaml');
  const lines = (await readFile(file, 'utf8')).split('\n');
  const written = ['privcy', 'firstNam', 'taxCode', 'notes'];
  expect(faults.map((fault) => [fault.file, lines[(fault.line ?? 0) - 1]])).toEqual(
    written.map((word) => [file, expect.stringContaining(word)]),
  );
  for (const word of written) expect(text.out).toContain(word);
  expect(text.out.split('\n').filter((line) => line.length > 100 && !line.startsWith('/'))).toEqual([]);
});

test('a property missing from a CRM stops its target; the status shows the property and the remedy, and then the target continues', async () => {
  const world = await useCrmWorld();
  await world.logIn();
  const putBack = world.vendors.map((vendor) => vendor.removeProperty('patients', 'standing'));
  const { targets } = await world.cycle();
  const { out } = await world.cli('status');
  const words = out.replace(/\s+/g, ' ');
  for (const { name, names, records } of world.vendors) {
    const { failure, reason } = targets.find(({ target }) => target === `${name}-contacts`) ?? {};
    expect({ reason, actor: failure?.actor }, name).toEqual({ reason: 'error', actor: 'settings' });
    expect(failure?.message).toContain(names.patients.standing);
    expect(words).toContain(`${name}-contacts: ${failure?.message} (${failure?.code}`);
    expect(words).toContain(`What to do: ${failure?.remedy}`);
    expect(records('patients'), 'nothing was written by halves').toEqual([]);
  }
  expect(out.split('\n').filter((line) => [...line].length > 100)).toEqual([]);

  for (const each of putBack) each();
  const mended = await world.cycle();
  expect(mended.targets.map(({ sync }) => sync)).toEqual(world.vendors.map(() => 'in-sync'));
  for (const vendor of world.vendors) {
    expect(compareCrm(world, vendor, 'patients', mended.run.startedAt), vendor.name).toMatchObject(SAME);
  }
});
