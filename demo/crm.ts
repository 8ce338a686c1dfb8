import type { ClinicSandbox } from '../sandbox/clinic/index.ts';
import { type HubSpotSandbox, startHubSpotSandbox } from '../sandbox/hubspot/index.ts';
import { type FaultProxy, startFaultProxy } from '../sandbox/kit/fault-proxy.ts';
import type { Comparison } from './comparison.ts';

/** Properties that the clinic's marketing would make in HubSpot by hand. */
const PROPERTIES = [
  { name: 'last_visit', label: 'Last visit', type: 'date', fieldType: 'date' },
  { name: 'next_appointment', label: 'Next appointment', type: 'date', fieldType: 'date' },
  { name: 'standing', label: 'Standing', type: 'string', fieldType: 'text' },
] as const;

/** A target of contacts, and how to look at them from outside the product. */
export interface DemoContacts {
  tenant: string;
  target: string;
  connector: 'hubspot';
  /** Every request of the daemon to this target passes here and is counted. */
  proxy: FaultProxy;
  compare(): Promise<Comparison>;
}

/** HubSpot, and what belongs to it in the tenant file of one clinic. */
export interface DemoCrm {
  sandbox: HubSpotSandbox;
  connection: object;
  target: object;
  contacts: DemoContacts;
  /** To which the configuration refers. */
  env: Record<string, string>;
}

/** Starts HubSpot with one account, for the patients of a clinic who agreed to marketing. */
export async function startCrm(tenant: string, clinic: ClinicSandbox, clinicId: string): Promise<DemoCrm> {
  const sandbox = await startHubSpotSandbox();
  for (const property of PROPERTIES) sandbox.createProperty('contacts', property);
  const proxy = await startFaultProxy(sandbox.apiUrl);
  return {
    sandbox,
    connection: { kind: 'bearer', token: { env: 'HUBSPOT_TOKEN' } },
    target: {
      connector: 'hubspot',
      connection: 'crm',
      settings: { apiUrl: proxy.url },
      crm: {
        consents: ['marketing'],
        everyMinutes: 1,
        mapping: {
          firstname: 'firstName',
          lastname: 'lastName',
          email: 'email',
          phone: 'phone',
          last_visit: 'derived.lastVisitOn',
          next_appointment: 'derived.nextAppointmentOn',
          standing: 'derived.standing',
        },
      },
    },
    contacts: {
      tenant,
      target: 'contacts',
      connector: 'hubspot',
      proxy,
      compare: async () => compareContacts(sandbox, clinic, clinicId),
    },
    env: { HUBSPOT_TOKEN: sandbox.issuePrivateToken() },
  };
}

/** By what a person sees: names and telephones of who agreed, against those of the contacts. */
function compareContacts(sandbox: HubSpotSandbox, clinic: ClinicSandbox, clinicId: string): Comparison {
  const agreed = [...clinic.patients(clinicId)].filter(({ details }) => details.consents.marketing?.granted === true);
  const wanted = counted(agreed.map(({ firstName, lastName, phone }) => nameOf(firstName, lastName, phone)));
  const contacts = sandbox.records('contacts').map(({ properties: { firstname, lastname, phone } }) => {
    return nameOf(firstname ?? '', lastname ?? '', phone ?? null);
  });
  const found = counted(contacts);
  const beyond = (some: ReadonlyMap<string, number>, others: ReadonlyMap<string, number>) =>
    [...some].reduce((sum, [name, count]) => sum + Math.max(0, count - (others.get(name) ?? 0)), 0);
  return {
    records: agreed.length,
    remoteEvents: contacts.length,
    duplicates: beyond(found, wanted),
    missing: beyond(wanted, found),
  };
}

function nameOf(firstName: string, lastName: string, phone: string | null): string {
  return `${firstName} ${lastName} ${phone?.replaceAll(' ', '') ?? ''}`;
}

function counted(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}
