import { type ProxiedRequest, startFaultProxy } from '../sandbox/kit/fault-proxy.ts';
import { type FieldOptions, type SalesforceSandbox, startSalesforceSandbox } from '../sandbox/salesforce/index.ts';
import type { CrmOwner, DemoCrm } from './crm.ts';
import { compareValues, DERIVED, digits, expectedState, type Values } from './crm-expected.ts';

const CONSENT = 'marketing';

/** Fields that an administrator creates once: two for clinic-mirror, the others for the clinic's marketing. */
const CONTACT_FIELDS: FieldOptions[] = [
  { name: 'Clinic_Key__c', type: 'string', length: 64, externalId: true, unique: true },
  { name: 'Clinic_Stamp__c', type: 'string', length: 255, externalId: true },
  { name: 'Newsletter__c', type: 'boolean' },
  { name: 'Visits__c', type: 'double' },
  { name: 'Next_Visit__c', type: 'date' },
  { name: 'Standing__c', type: 'string' },
];

/** Starts Salesforce with one org and an application with a client secret: contacts of patients who agreed to marketing. */
export async function startSalesforceCrm(owner: CrmOwner): Promise<DemoCrm> {
  const { tenant, window } = owner;
  const sandbox = await startSalesforceSandbox({
    applications: [{ clientSecret: 'sandbox-secret', runAs: `integration@${tenant}.example` }],
    customFields: { Contact: CONTACT_FIELDS },
  });
  const proxy = await startFaultProxy(sandbox.url);
  // Each token answer of Salesforce contains the org's URL.
  proxy.add({
    url: /\/services\/oauth2\/token$/,
    times: Number.POSITIVE_INFINITY,
    fault: {
      kind: 'rewrite',
      answer: (answer) => ({ ...answer, body: answer.body.toString().replaceAll(sandbox.url, proxy.url) }),
    },
  });
  const { clientId, clientSecret = '' } = sandbox.application;
  return {
    tenant,
    consent: CONSENT,
    connections: { salesforce: { kind: 'salesforce-app', client: 'main' } },
    targets: {
      contacts: { connector: 'salesforce', connection: 'salesforce', window, settings: {}, crm: CONTACTS },
    },
    settings: {
      salesforceClients: {
        main: { loginUrl: proxy.url, clientId, clientSecret: { env: 'SALESFORCE_CLIENT_SECRET' } },
      },
    },
    env: { SALESFORCE_CLIENT_SECRET: clientSecret },
    shown: [
      {
        ...{ tenant, target: 'contacts', connector: 'salesforce', proxy, isWrite },
        compare: async (asOf) => compareValues(expectedState(owner, CONSENT, asOf).contacts, contactsIn(sandbox)),
      },
    ],
    places: [{ name: `${tenant}/contacts`, url: `${sandbox.url}/__sandbox/objects/Contact/records` }],
    async close() {
      await Promise.all([proxy.close(), sandbox.close()]);
    },
  };
}

const CONTACTS = {
  consents: [CONSENT],
  everyMinutes: 1,
  derived: DERIVED,
  mapping: {
    FirstName: 'firstName',
    LastName: 'lastName',
    Email: 'email',
    Phone: 'phone',
    Newsletter__c: 'consents.marketing',
    Visits__c: 'derived.visits',
    Next_Visit__c: 'derived.nextAppointmentOn',
    Standing__c: 'derived.standing',
  },
};

/** A composite writes when one of its parts does. */
function isWrite({ method, url, body }: ProxiedRequest): boolean {
  if (!url.startsWith('/services/data')) return false;
  return url.endsWith('/composite') ? /"method":"(POST|PATCH|DELETE)"/.test(body) : method !== 'GET';
}

function contactsIn(sandbox: SalesforceSandbox): Values[] {
  return sandbox.records('Contact').map((contact) => ({
    firstName: contact.FirstName ?? '',
    lastName: contact.LastName ?? '',
    email: contact.Email ?? null,
    phone: digits(typeof contact.Phone === 'string' ? contact.Phone : null),
    newsletter: contact.Newsletter__c === true,
    visits: Number(contact.Visits__c),
    nextVisit: contact.Next_Visit__c ?? null,
    standing: contact.Standing__c ?? null,
  }));
}
