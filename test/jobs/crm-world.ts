import type { OpenTenant } from '../../src/jobs/tenant.ts';
import type { CrmItem } from '../../src/model/items.ts';
import type { Patient } from '../../src/model/records.ts';
import { crmSchema } from '../../src/settings/crm-schema.ts';
import type { useRedis } from '../support/redis.ts';
import { NOW } from '../sync/arbitraries.ts';
import { createModelClinic, type ModelClinic } from './model-clinic.ts';
import { createModelTarget, type ModelTarget } from './model-target.ts';
import { openTenant, type TargetChoice, type TenantChoice } from './open-tenant.ts';

/** A clinic, the CRM that holds its patients, and another that holds what they did. */
export interface CrmWorld {
  clinic: ModelClinic;
  contacts: ModelTarget;
  activities: ModelTarget;
  /** Of a doctor; where it was asked for. */
  calendar: ModelTarget;
  clock: { now: number };
  tenant: OpenTenant;
  /** Another process with the same state. @param beside targets beside the two */
  again(changes?: Partial<TenantChoice>, beside?: readonly TargetChoice[]): OpenTenant;
}

/** What a test chooses of the part for a CRM, as in the tenant file. */
export type CrmChoice = Partial<Parameters<typeof crmSchema.parse>[0] & object>;

const CONTACTS = {
  consents: ['marketing'],
  everyMinutes: 15,
  mapping: {
    firstname: 'firstName',
    lastname: 'lastName',
    phone: { from: 'mobilePhone', transforms: ['e164'] },
  },
};

const ACTIVITIES = {
  stream: 'appointments',
  contacts: 'contacts',
  mapping: { title: { value: 'Visit' }, status: 'status' },
};

/** @param given changes of the parts for CRMs */
export function openCrmWorld(
  redis: ReturnType<typeof useRedis>,
  given: { contacts?: CrmChoice; activities?: CrmChoice; calendar?: boolean } = {},
): CrmWorld {
  const clinic = createModelClinic();
  const contacts = createModelTarget({ batchSize: 100 });
  const activities = createModelTarget({ batchSize: 100 });
  const calendar = createModelTarget();
  const clock = { now: NOW };
  const parts = {
    contacts: crmSchema.parse({ ...CONTACTS, ...given.contacts }),
    activities: crmSchema.parse({ ...ACTIVITIES, ...given.activities }),
  };
  const again = (changes: Partial<TenantChoice> = {}, beside: readonly TargetChoice[] = []) =>
    openTenant({
      redis: redis.connect(),
      clinic,
      targets: [
        { id: 'contacts', model: contacts, configuration: { crm: parts.contacts } },
        { id: 'activities', model: activities, configuration: { crm: parts.activities } },
        ...(given.calendar === true ? [{ id: 'doctor', model: calendar }] : []),
        ...beside,
      ],
      clock: () => clock.now,
      ...changes,
    });
  return { clinic, contacts, activities, calendar, clock, again, tenant: again() };
}

/** A patient who agreed to be told things. */
export function patientOf(id: string, changes: Partial<Patient> = {}): Patient {
  return {
    id,
    firstName: 'Anna',
    lastName: `Verdi ${id}`,
    email: 'family@example.org',
    phone: null,
    mobilePhone: '333 123 4567',
    language: 'it',
    consents: { marketing: true },
    isActive: true,
    taxCode: null,
    birthDate: null,
    gender: null,
    address: null,
    updatedAt: null,
    ...changes,
  };
}

/** What a model of a CRM holds: values of its objects' properties. */
export function held(model: ModelTarget): CrmItem['properties'][] {
  return model.objects().map(({ item }) => (item as unknown as CrmItem).properties);
}

/** Keys of the contacts that objects belong to. */
export function joined(model: ModelTarget): (string | null)[] {
  return model.objects().map(({ item }) => (item as unknown as CrmItem).contactKey);
}
