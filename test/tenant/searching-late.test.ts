import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type FaultProxy, startFaultProxy } from '../../sandbox/kit/fault-proxy.ts';
import { type RestCrmSandbox, startRestCrmSandbox } from '../../sandbox/rest-crm/index.ts';
import { SECOND_MS } from '../../src/core/model/time.ts';
import { pushTarget } from '../../src/engine/push.ts';
import type { OpenTenant } from '../../src/tenant/tenant.ts';
import { useRedis } from '../support/redis.ts';
import { cycle, drain, NEVER, pull, targetOf } from './cycle.ts';
import { writeToEspoCrm } from './rest-crm-targets.ts';
import { type CrmWorld, openCrmWorld, patientOf } from './world.ts';

/** Delay until the CRM's search shows a write. */
const LAG_SECONDS = 60;

const redis = useRedis();

let world: CrmWorld;
let sandbox: RestCrmSandbox;
let proxy: FaultProxy;

beforeEach(async () => {
  world = openCrmWorld(redis, { contacts: { mapping: { firstName: 'firstName', lastName: 'lastName' } } });
  const { clock } = world;
  sandbox = await startRestCrmSandbox({
    dialect: 'espocrm',
    now: () => clock.now,
    searchLagMs: LAG_SECONDS * SECOND_MS,
  });
  proxy = await startFaultProxy(sandbox.url);
  write(world.tenant);
  world.clinic.patientList.push(patientOf('1'));
});

afterEach(async () => {
  await proxy.close();
  await sandbox.close();
});

/** Lets a process write to the CRM through the proxy. */
function write(tenant: OpenTenant): void {
  const baseUrl = sandbox.apiUrl.replace(sandbox.url, proxy.url);
  const settings = { baseUrl, searchLagSeconds: LAG_SECONDS };
  writeToEspoCrm(targetOf(tenant, 'contacts'), sandbox, () => world.clock.now, settings);
}

const contacts = () => sandbox.records('Contact');
const pushContacts = (tenant: OpenTenant) => drain(tenant, targetOf(tenant, 'contacts'));

/** Makes a process retry every second. */
async function tryFor(tenant: OpenTenant, seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second += 1) {
    world.clock.now += SECOND_MS;
    await tenant.outbox.hurry('contacts', world.clock.now);
    await pushContacts(tenant);
    expect(contacts().length).toBeLessThanOrEqual(1);
  }
}

describe('a contact in a CRM without unique keys whose search lags', () => {
  test('is made once although its answer was lost', async () => {
    proxy.add({ method: /^POST$/, fault: { kind: 'lost-answer' } });
    await cycle(world.tenant);
    expect(contacts()).toHaveLength(1);
    await tryFor(world.tenant, LAG_SECONDS + 5);
    expect(await world.tenant.outbox.counts('contacts')).toEqual({ pending: 0, failing: 0 });
    expect((await world.tenant.links.read('contacts')).get('1')?.remoteId).toBe(contacts()[0]!.id);
  });

  test('is made once by two workers, of whom the first was killed before the answer', async () => {
    const abort = new AbortController();
    proxy.add({ method: /^POST$/, fault: { kind: 'stall' } });
    await pull(world.tenant);
    const killed = pushTarget(world.tenant, targetOf(world.tenant, 'contacts'), { stop: NEVER, abort: abort.signal });
    await expect.poll(contacts).toHaveLength(1);
    abort.abort();
    await killed;
    const other = world.again();
    write(other);
    await pull(other);
    await tryFor(other, LAG_SECONDS + 5);
    expect(await other.outbox.counts('contacts')).toEqual({ pending: 0, failing: 0 });
    expect(contacts()).toHaveLength(1);
  });

  test('that was changed meanwhile ends with the newest content, once', async () => {
    proxy.add({ method: /^POST$/, fault: { kind: 'lost-answer' } });
    await cycle(world.tenant);
    world.clinic.patientList[0] = patientOf('1', { firstName: 'Giulia' });
    world.clock.now += (LAG_SECONDS - 1) * SECOND_MS;
    const again = world.again();
    write(again);
    await cycle(again);
    await tryFor(again, 5);
    expect(contacts().map(({ values }) => values.firstName)).toEqual(['Giulia']);
  });
});
