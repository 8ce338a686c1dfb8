import { startGoogleSandbox } from '../../sandbox/google/index.ts';
import { startGraphSandbox } from '../../sandbox/graph/index.ts';
import { startHubSpotSandbox } from '../../sandbox/hubspot/index.ts';
import type { FaultPlan } from '../../sandbox/kit/faults.ts';
import { startRestCrmSandbox } from '../../sandbox/rest-crm/index.ts';
import { type FieldOptions, startSalesforceSandbox } from '../../sandbox/salesforce/index.ts';
import { googleCalendar } from '../../src/connectors/google-calendar/index.ts';
import type { StreamName } from '../../src/core/model/items.ts';

/** A configured target, with a connection that needs no sign-in. */
export interface VendorTarget {
  /** Registrations, for the settings. */
  clients: object;
  connection: object;
  /** Environment to which both refer. */
  secrets: Readonly<Record<string, string>>;
  /** Of the target itself. */
  target: { connector: string; settings: object; crm?: object };
  stream: StreamName;
}

/** A vendor's sandbox without limits, so that only clinic-mirror is measured. */
export interface Vendor {
  target: VendorTarget;
  faults: FaultPlan;
  /** Units charged so far; null if each request is one unit. */
  units(): number | null;
}

const NO_LIMIT = Number.POSITIVE_INFINITY;
/** Waiting for a budget is no work. */
const BUDGET = { requestsPerMinute: 6_000_000, burst: 1_000_000 };
const ACCOUNT = 'doctor@clinic.example';
const CALENDAR = { create: 'Appointments' };

/** Every vendor that has a sandbox, by the name of its connector; of the CRMs that a profile describes, Zoho. */
export const VENDORS = { 'google-calendar': google, 'outlook-calendar': graph, hubspot, salesforce, 'rest-crm': zoho };

/** One of {@link VENDORS}. */
export type VendorName = keyof typeof VENDORS;

/** Decides whether this vendor has a sandbox. */
export function isVendor(name: string): name is VendorName {
  return name in VENDORS;
}

async function google(): Promise<Vendor> {
  const sandbox = await startGoogleSandbox({ quotaPerUserPerMinute: NO_LIMIT, quotaPerProjectPerMinute: NO_LIMIT });
  sandbox.addAccount(ACCOUNT);
  const scopes = [...googleCalendar.neededScopes({ calendar: CALENDAR, rootUrl: '' }, 'appointments')];
  const keyFile = sandbox.createServiceAccount('mirror@clinic.example', { subjects: 'all', scopes });
  return {
    target: {
      clients: {},
      connection: { kind: 'google-service-account', keyFile: { env: 'TENANT_CLINIC__GOOGLE_KEY' }, subject: ACCOUNT },
      secrets: { TENANT_CLINIC__GOOGLE_KEY: JSON.stringify(keyFile) },
      target: { connector: 'google-calendar', settings: { calendar: CALENDAR, rootUrl: sandbox.calendarApiUrl } },
      stream: 'appointments',
    },
    faults: sandbox.faults,
    units: () => sandbox.counts.quotaUnits,
  };
}

async function graph(): Promise<Vendor> {
  const sandbox = await startGraphSandbox({ requestsPerWindow: NO_LIMIT });
  sandbox.addMailbox(ACCOUNT);
  const { clientId, clientSecret = '' } = sandbox.application;
  const client = { authority: sandbox.url, clientId, clientSecret: { env: 'MICROSOFT_SECRET' }, budget: BUDGET };
  return {
    target: {
      clients: { microsoftClients: { main: client } },
      connection: { kind: 'microsoft-app', client: 'main', directory: sandbox.tenantId },
      secrets: { MICROSOFT_SECRET: clientSecret },
      target: {
        connector: 'outlook-calendar',
        settings: { mailbox: ACCOUNT, calendar: CALENDAR, rootUrl: sandbox.graphUrl },
      },
      stream: 'appointments',
    },
    faults: sandbox.faults,
    // Each request within a batch is charged, instead of the batch.
    units: () => sandbox.counts.innerCalls + sandbox.counts.httpRequests - sandbox.counts.batchRequests,
  };
}

async function hubspot(): Promise<Vendor> {
  const sandbox = await startHubSpotSandbox({ tenSecondlyPrivate: NO_LIMIT, dailyPrivate: NO_LIMIT });
  return {
    target: {
      clients: {},
      connection: { kind: 'bearer', token: { env: 'TENANT_CLINIC__HUBSPOT_TOKEN' } },
      secrets: { TENANT_CLINIC__HUBSPOT_TOKEN: sandbox.issuePrivateToken() },
      target: {
        connector: 'hubspot',
        settings: { apiUrl: sandbox.apiUrl },
        crm: contacts({ firstname: 'firstName', lastname: 'lastName' }),
      },
      stream: 'patients',
    },
    faults: sandbox.faults,
    units: () => null,
  };
}

const SALESFORCE_FIELDS: FieldOptions[] = [
  { name: 'Clinic_Key__c', type: 'string', length: 64, externalId: true, unique: true },
  { name: 'Clinic_Stamp__c', type: 'string', length: 255 },
];

async function salesforce(): Promise<Vendor> {
  const [clientId, clientSecret] = ['bench-client', 'bench-secret'];
  const sandbox = await startSalesforceSandbox({
    customFields: { Contact: SALESFORCE_FIELDS },
    applications: [{ clientId, clientSecret, runAs: 'integration@clinic.example' }],
    dailyApiCalls: 1_000_000,
  });
  const client = { loginUrl: sandbox.loginUrl, clientId, clientSecret: { env: 'SALESFORCE_SECRET' }, budget: BUDGET };
  return {
    target: {
      clients: { salesforceClients: { main: client } },
      connection: { kind: 'salesforce-app', client: 'main' },
      secrets: { SALESFORCE_SECRET: clientSecret },
      target: {
        connector: 'salesforce',
        settings: {},
        crm: contacts({ FirstName: 'firstName', LastName: 'lastName' }),
      },
      stream: 'patients',
    },
    faults: sandbox.faults,
    units: () => null,
  };
}

async function zoho(): Promise<Vendor> {
  const sandbox = await startRestCrmSandbox({ dialect: 'zoho' });
  return {
    target: {
      clients: {},
      connection: { kind: 'bearer', token: { env: 'TENANT_CLINIC__CRM_TOKEN' } },
      secrets: { TENANT_CLINIC__CRM_TOKEN: sandbox.token },
      target: {
        connector: 'rest-crm',
        settings: { baseUrl: sandbox.apiUrl, profile: 'zoho-like', searchLagSeconds: 0 },
        crm: contacts({ First_Name: 'firstName', Last_Name: 'lastName' }),
      },
      stream: 'patients',
    },
    faults: sandbox.faults,
    units: () => null,
  };
}

/** Everybody is a contact, whatever they consented to: all vendors get the same. */
function contacts(mapping: object): object {
  return { stream: 'patients', consents: [], mapping };
}
