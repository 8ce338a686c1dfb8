import { expect, onTestFinished, test } from 'vitest';
import { startRestCrmSandbox } from '../../sandbox/rest-crm/index.ts';
import { useRedis } from '../support/redis.ts';
import { cycle, targetOf } from './cycle.ts';
import { writeToEspoCrm } from './rest-crm-targets.ts';
import { openCrmWorld, patientOf } from './world.ts';

const redis = useRedis();

test('contacts with a refused value are written in the same turn, behind the others, although keys are looked up late', async () => {
  const { tenant, clinic, clock } = openCrmWorld(redis, {
    contacts: { consents: [], mapping: { lastName: 'lastName', area: 'language' } },
  });
  const sandbox = await startRestCrmSandbox({ dialect: 'espocrm', now: () => clock.now });
  onTestFinished(() => sandbox.close());
  const options = [{ value: 'it', label: 'it' }];
  sandbox.addField('Contact', 'area', { type: 'text', options });
  writeToEspoCrm(targetOf(tenant, 'contacts'), sandbox, () => clock.now, { searchLagSeconds: 60 });
  for (let id = 0; id < 210; id += 1) {
    clinic.patientList.push(patientOf(String(id), { language: id % 70 === 10 ? `odd ${id}` : 'it' }));
  }
  await cycle(tenant);
  const areas = sandbox.records('Contact').map(({ values }) => values.area ?? null);
  expect(areas.filter((area) => area === 'it')).toHaveLength(207);
  expect(areas.filter((area) => area === null)).toHaveLength(3);
  expect(await tenant.outbox.counts('contacts')).toEqual({ pending: 0, failing: 0 });
});
