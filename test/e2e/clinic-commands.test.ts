import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import type { ProfileCheck } from '../../src/setup/profile-finder/profile-check.ts';
import { useRedis } from '../support/redis.ts';
import { EXACT, startSmallWorld } from './support/small-world.ts';
import { useProfile } from './support/use-profile.ts';

const redis = useRedis();
const FIXTURE = fileURLToPath(new URL('../fixtures/openapi-pages.yaml', import.meta.url));

test('the unedited profile that check-spec proposes for another dialect brings the calendars in sync', async () => {
  const world = await startSmallWorld({ redisUrl: redis.url, clinic: { dialect: 'pages' } });
  await using _closing = { [Symbol.asyncDispose]: () => world.close() };
  const proposed = join(world.dir, 'proposed.yaml');
  const check = await world.cli('check-spec', FIXTURE, '--write', proposed);
  expect([check.code, check.out]).toEqual([1, expect.stringContaining('date_start')]);
  await useProfile(world, await readFile(proposed, 'utf8'));
  await world.logIn();
  const sync = await world.cli('sync', 'clinic-1');
  expect([sync.code, sync.err]).toEqual([0, expect.not.stringContaining('What to do')]);
  expect(await world.compareAll()).toEqual(world.targets.map(() => expect.objectContaining(EXACT)));
  const again = JSON.parse((await world.cli('check-spec', FIXTURE, '--profile', 'mine', '--json')).out) as ProfileCheck;
  expect([again.fits, again.findings.filter(({ result: verdict }) => verdict === 'differs')]).toEqual([true, []]);
});

test('the clinic commands use the tenant’s own connection, and a proposed profile serves the next sync', async () => {
  const world = await startSmallWorld({ redisUrl: redis.url, appointments: 60 });
  await using _closing = { [Symbol.asyncDispose]: () => world.close() };
  const file = join(world.configDir, 'tenants', 'clinic-1.yaml');
  const tenant = parse(await readFile(file, 'utf8')) as { clinic: object };
  tenant.clinic = { ...tenant.clinic, scopes: ['invoices', 'treatments', 'patients'] };
  await writeFile(file, stringify(tenant));
  await world.logIn();

  const nobody = await world.cli('clinic', 'nobody', 'agendas');
  expect([nobody.code, nobody.err]).toEqual([1, expect.stringContaining('no-such-tenant')]);
  const missing = await world.cli('clinic', 'clinic-1', 'episodes');
  expect([missing.code, missing.out]).toEqual([1, '']);
  expect(missing.err.replaceAll(/\s+/g, ' ')).toContain('add episodes to clinic.scopes of the tenant file');

  const sections = await world.cli('clinic', 'clinic-1', 'sections', '--json');
  const patients = await world.cli('clinic', 'clinic-1', 'patients', '--json', '--limit', '1');
  const [[section], [patient]] = [JSON.parse(sections.out), JSON.parse(patients.out)];
  const invoice = {
    sectionId: section.id,
    patientId: patient.id,
    issueDate: section.lastDate ?? '2026-03-20',
    items: [{ description: 'Visita', quantity: '1', unitPrice: '80.50', vatRate: '0' }],
  };
  const invoiceFile = join(world.dir, 'invoice.json');
  await writeFile(invoiceFile, JSON.stringify(invoice));
  const create = ['clinic', 'clinic-1', 'invoices', '--write', 'create', '--data', `@${invoiceFile}`, '--json'];
  expect(JSON.parse((await world.cli(...create)).out)).toMatchObject({ sent: false, method: 'POST' });
  const made = JSON.parse((await world.cli(...create, '--yes')).out);
  expect(made).toMatchObject({ netAmount: '80.5', number: expect.stringContaining(`${section.lastNumber + 1}`) });

  const proposed = join(world.dir, 'proposed.yaml');
  const probe = await world.cli('clinic', 'probe', 'clinic-1', '--write', proposed);
  expect(probe.out).toContain('Requests sent: ');
  const again = await world.cli('clinic', 'probe', 'clinic-1', '--write', proposed);
  expect([again.code, again.err]).toEqual([1, expect.stringContaining('file-unusable')]);
  await useProfile(world, await readFile(proposed, 'utf8'));
  expect((await world.cli('config', 'check')).code).toBe(0);
  expect((await world.cli('sync', 'clinic-1')).code).toBe(0);
  expect(await world.compareAll()).toEqual(world.targets.map(() => expect.objectContaining(EXACT)));
});
