import { describe, expect, onTestFinished, test } from 'vitest';
import { type RestCrmSandbox, startRestCrmSandbox } from '../../sandbox/rest-crm/index.ts';
import type { Patient } from '../../src/core/model/records.ts';
import { MINUTE_MS } from '../../src/core/model/time.ts';
import { auditTarget } from '../../src/engine/audit-target.ts';
import { renderHealth } from '../../src/operator/cli/render-health.ts';
import { tenantHealth } from '../../src/operator/control/health.ts';
import { crmSchema } from '../../src/settings/crm-schema.ts';
import type { OpenTenant } from '../../src/tenant/tenant.ts';
import { openInstallation } from '../operator/control/open-installation.ts';
import { useRedis } from '../support/redis.ts';
import { cycle, NEVER, targetOf } from './cycle.ts';
import { writeToEspoCrm } from './rest-crm-targets.ts';
import { type CrmChoice, type CrmWorld, openCrmWorld, patientOf } from './world.ts';

const redis = useRedis();

const MAPPING = {
  firstName: 'firstName',
  lastName: 'lastName',
  emailAddress: 'email',
  emailAddressIsOptedOut: { from: 'consents.marketing', values: { true: false, false: true } },
};

interface EspoWorld extends CrmWorld {
  sandbox: RestCrmSandbox;
  /** Whether each contact is opted out, by first name. */
  optedOut(): Record<string, unknown>;
  /** Sets the patients of the clinic. */
  admit(...patients: [id: string, changes: Partial<Patient>][]): void;
  /** Runs a complete cycle with a new fetch of the patient list. */
  pass(tenant?: OpenTenant): Promise<void>;
  audit(): Promise<void>;
  /** Another process, with another mapping. */
  remapped(mapping: object): OpenTenant;
}

/** A clinic whose patients are contacts in EspoCRM, which stores opt-outs with e-mail addresses. */
async function openEspoWorld(contacts: CrmChoice = {}): Promise<EspoWorld> {
  const world = openCrmWorld(redis, { contacts: { consents: [], mapping: MAPPING, ...contacts } });
  const contactsOf = (choice: CrmChoice) => ({
    id: 'contacts',
    model: world.contacts,
    configuration: { crm: crmSchema.parse({ everyMinutes: 15, consents: [], ...choice }) },
  });
  const { clock, clinic } = world;
  const sandbox = await startRestCrmSandbox({ dialect: 'espocrm', now: () => clock.now });
  onTestFinished(() => sandbox.close());
  const open = (tenant: OpenTenant) => {
    writeToEspoCrm(targetOf(tenant, 'contacts'), sandbox, () => clock.now, { searchLagSeconds: 0 });
    return tenant;
  };
  const tenant = open(world.tenant);
  return {
    ...world,
    remapped: (mapping) => open(world.again({ targets: [contactsOf({ ...contacts, mapping })] })),
    sandbox,
    optedOut: () =>
      Object.fromEntries(
        sandbox.records('Contact').map(({ values }) => [values.firstName, values.emailAddressIsOptedOut]),
      ),
    admit(...patients) {
      clinic.patientList.splice(0, Number.POSITIVE_INFINITY, ...patients.map(([id, more]) => patientOf(id, more)));
    },
    async pass(other = tenant) {
      clock.now += 15 * MINUTE_MS;
      await cycle(other);
    },
    async audit() {
      clock.now += MINUTE_MS;
      await auditTarget(tenant, targetOf(tenant, 'contacts'), NEVER, { whole: true });
    },
  };
}

const contactOf = ({ sandbox }: EspoWorld, firstName: string) =>
  sandbox.records('Contact').find(({ values }) => values.firstName === firstName)!;

const agrees = (firstName: string): Partial<Patient> => ({ firstName, consents: { marketing: true } });
/** With an unshared e-mail address. */
const CARLA: [string, Partial<Patient>] = ['3', { ...agrees('Carla'), email: 'carla@example.org' }];
const refuses = (firstName: string): Partial<Patient> => ({ firstName, consents: { marketing: false } });

describe('a patient who refuses, in a CRM that stores opt-outs with e-mail addresses,', () => {
  test('remains opted out, whichever relative is written last, until the patient agrees again', async () => {
    const world = await openEspoWorld();
    world.admit(['1', agrees('Anna')], ['2', agrees('Bruno')], CARLA);
    await world.pass();
    expect(world.optedOut()).toEqual({ Anna: false, Bruno: false, Carla: false });
    world.admit(['1', refuses('Anna')], ['2', agrees('Bruno')], CARLA);
    await world.pass();
    expect(world.optedOut()).toEqual({ Anna: true, Bruno: true, Carla: false });
    // The patient who agrees is written last.
    world.admit(['1', refuses('Anna')], ['2', { ...agrees('Bruno'), lastName: 'Changed' }], CARLA);
    await world.pass();
    await world.audit();
    await world.pass();
    expect(world.optedOut()).toEqual({ Anna: true, Bruno: true, Carla: false });
    world.admit(['1', agrees('Anna')], ['2', agrees('Bruno')], CARLA);
    await world.pass();
    expect(world.optedOut()).toEqual({ Anna: false, Bruno: false, Carla: false });
  });

  test('remains opted out when a relative who refused too agrees again, and no audit finds a difference', async () => {
    const world = await openEspoWorld();
    world.admit(['1', refuses('Anna')], ['2', refuses('Bruno')]);
    await world.pass();
    world.admit(['1', refuses('Anna')], ['2', agrees('Bruno')]);
    await world.pass();
    expect(world.optedOut()).toEqual({ Anna: true, Bruno: true });
    await world.audit();
    expect((await world.tenant.targetStore.read('contacts')).drift).toMatchObject({ edited: 0, removed: 0 });
  });

  test('remains opted out while the patient list is incomplete', async () => {
    const world = await openEspoWorld();
    world.admit(['1', refuses('Anna')], ['2', agrees('Bruno')]);
    await world.pass();
    world.clinic.patientsArePartial = true;
    world.admit(['2', { ...agrees('Bruno'), lastName: 'Changed' }]);
    await world.pass();
    expect(contactOf(world, 'Bruno').values).toMatchObject({ lastName: 'Changed', emailAddressIsOptedOut: true });
    expect(world.optedOut()).toEqual({ Anna: true, Bruno: true });
  });

  test('is opted out again by the audit if a user removed the opt-out, even if the CRM reports no change', async () => {
    const world = await openEspoWorld();
    world.admit(['1', refuses('Anna')]);
    await world.pass();
    const contact = contactOf(world, 'Anna');
    contact.values.emailAddressIsOptedOut = false;
    await world.audit();
    await world.pass();
    expect(world.optedOut()).toEqual({ Anna: true });
  });
});

describe('a patient who unsubscribes in the CRM', () => {
  async function openUnsubscribed(): Promise<EspoWorld> {
    const world = await openEspoWorld();
    world.admit(['1', agrees('Anna')], ['2', agrees('Bruno')], CARLA);
    await world.pass();
    world.sandbox.editByHand('Contact', contactOf(world, 'Anna').id, { emailAddressIsOptedOut: true });
    return world;
  }

  test('is signed up again neither by an audit nor by what the clinic changes of them or their family', async () => {
    const world = await openUnsubscribed();
    await world.audit();
    await world.pass();
    const changed = { lastName: 'Changed' };
    world.admit(['1', { ...agrees('Anna'), ...changed }], ['2', { ...agrees('Bruno'), ...changed }], CARLA);
    await world.pass();
    expect(world.sandbox.records('Contact').map(({ values }) => values.lastName)).toContain('Changed');
    expect(world.optedOut()).toMatchObject({ Anna: true, Bruno: true });
  });

  test('is not signed up again by a change that comes before any audit', async () => {
    const world = await openUnsubscribed();
    world.admit(['1', { ...agrees('Anna'), lastName: 'Changed' }], ['2', agrees('Bruno')], CARLA);
    await world.pass();
    expect(contactOf(world, 'Anna').values).toMatchObject({ lastName: 'Changed', emailAddressIsOptedOut: true });
  });

  test('is not signed up again when a relative comes to the clinic', async () => {
    const world = await openUnsubscribed();
    world.admit(['1', agrees('Anna')], ['2', agrees('Bruno')], CARLA, ['4', agrees('Dino')]);
    await world.pass();
    expect(world.optedOut()).toEqual({ Anna: true, Bruno: true, Carla: false, Dino: true });
  });

  test('is not signed up again when they, or relatives, refuse in the clinic for a time', async () => {
    const world = await openUnsubscribed();
    await world.audit();
    world.admit(['1', refuses('Anna')], ['2', refuses('Bruno')], CARLA);
    await world.pass();
    world.admit(['1', agrees('Anna')], ['2', agrees('Bruno')], CARLA);
    await world.pass();
    expect(world.optedOut()).toEqual({ Anna: true, Bruno: true, Carla: false });
  });

  test('is not signed up again after the loss of all state, once that is accepted', async () => {
    const world = await openUnsubscribed();
    await redis.connect().flushall();
    const again = world.remapped(MAPPING);
    await world.pass(again);
    await again.protection.accept();
    for (const lastName of ['Changed', 'Again']) {
      world.admit(['1', { ...agrees('Anna'), lastName }], ['2', agrees('Bruno')], CARLA);
      await world.pass(again);
    }
    expect(contactOf(world, 'Anna').values.lastName).toBe('Again');
    expect(world.optedOut()).toEqual({ Anna: true, Bruno: true, Carla: false });
  });

  test('is not signed up again by a mapping that is new', async () => {
    const { emailAddressIsOptedOut: _, ...before } = MAPPING;
    const world = await openEspoWorld({ mapping: before });
    world.admit(['1', agrees('Anna')], ['2', agrees('Bruno')]);
    await world.pass();
    world.sandbox.editByHand('Contact', contactOf(world, 'Anna').id, { emailAddressIsOptedOut: true });
    await world.pass(world.remapped(MAPPING));
    expect(world.optedOut()).toEqual({ Anna: true, Bruno: true });
  });

  test('is listed in health, and no longer opted out once the CRM removes the opt-out', async () => {
    const world = await openUnsubscribed();
    await world.audit();
    const view = await healthOf(world);
    expect(view.targets).toMatchObject([{ refusedThere: { emailAddressIsOptedOut: ['1', '2'] } }]);
    expect(renderHealth(view)).toContain('Opted out in the CRM (emailAddressIsOptedOut)');
    world.sandbox.editByHand('Contact', contactOf(world, 'Anna').id, { emailAddressIsOptedOut: false });
    await world.audit();
    await world.pass();
    expect((await healthOf(world)).targets).toMatchObject([{ refusedThere: { emailAddressIsOptedOut: [] } }]);
    expect(world.optedOut()).toEqual({ Anna: false, Bruno: false, Carla: false });
  });
});

describe('a contact that a user duplicated', () => {
  async function openDuplicated(contacts: CrmChoice = {}): Promise<EspoWorld> {
    const world = await openEspoWorld(contacts);
    world.admit(['1', agrees('Anna')], ['2', agrees('Bruno')]);
    await world.pass();
    world.sandbox.duplicateByHand('Contact', contactOf(world, 'Anna').id);
    return world;
  }

  test('is listed in health, and removed with the record when consent is withdrawn', async () => {
    const world = await openDuplicated({ consents: ['marketing'] });
    await world.audit();
    const view = await healthOf(world);
    expect(view.targets).toMatchObject([{ copied: ['1'] }]);
    expect(renderHealth(view)).toContain('Copied manually');
    world.admit(['1', refuses('Anna')], ['2', agrees('Bruno')]);
    await world.pass();
    expect(world.sandbox.records('Contact').map(({ values }) => values.firstName)).toEqual(['Bruno']);
    expect(await world.tenant.outbox.counts('contacts')).toEqual({ pending: 0, failing: 0 });
    expect((await healthOf(world)).targets).toMatchObject([{ copied: [] }]);
  });

  test('is still kept up to date, and refuses when the patient does', async () => {
    const world = await openDuplicated();
    const { id } = contactOf(world, 'Anna');
    world.admit(['1', { ...refuses('Anna'), lastName: 'Changed' }], ['2', agrees('Bruno')]);
    await world.pass();
    const [original, copy] = world.sandbox.records('Contact').filter(({ values }) => values.firstName === 'Anna');
    expect(original).toMatchObject({ id, values: { lastName: 'Changed', emailAddressIsOptedOut: true } });
    expect(copy?.values).toMatchObject({ lastName: 'Verdi 1', emailAddressIsOptedOut: true });
  });
});

async function healthOf({ tenant }: EspoWorld) {
  return await tenantHealth(
    openInstallation({ tenants: [tenant] }),
    tenant.id,
    { target: 'contacts', progress: () => {} },
    NEVER,
  );
}
