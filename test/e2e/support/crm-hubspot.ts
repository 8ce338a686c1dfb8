import { type HubSpotSandbox, type ObjectTypeName, startHubSpotSandbox } from '../../../sandbox/hubspot/index.ts';
import type { StreamName } from '../../../src/core/model/items.ts';
import {
  CRM_FIELDS,
  type CrmHands,
  type CrmPurpose,
  type CrmRequest,
  type CrmVendor,
  failuresAt,
  propertyOf,
  sharedValues,
  underOwnNames,
} from './crm-vendors.ts';

const OBJECTS: Readonly<Record<StreamName, ObjectTypeName>> = {
  patients: 'contacts',
  appointments: 'meetings',
  invoices: 'deals',
};

const NAMES = {
  patients: {
    firstName: 'firstname',
    lastName: 'lastname',
    email: 'email',
    phone: 'phone',
    newsletter: 'clinic_newsletter',
    visits: 'clinic_visits',
    nextOn: 'clinic_next_on',
    standing: 'clinic_standing',
    taxCode: 'clinic_tax_code',
  },
  appointments: {
    title: 'hs_meeting_title',
    startAt: 'hs_meeting_start_time',
    endAt: 'hs_meeting_end_time',
    status: 'clinic_status',
    treatment: 'clinic_treatment',
  },
  invoices: { name: 'dealname', date: 'closedate', amount: 'amount', doctors: 'clinic_doctors' },
} as const;

const TYPES = {
  text: { type: 'string', fieldType: 'text' },
  number: { type: 'number', fieldType: 'number' },
  boolean: { type: 'bool', fieldType: 'booleancheckbox' },
  date: { type: 'date', fieldType: 'date' },
  instant: { type: 'datetime', fieldType: 'date' },
} as const;

const KEY = 'clinic_mirror_key';

/** Starts HubSpot without limits, with an OAuth connection. */
export async function startHubSpot(): Promise<CrmVendor> {
  const sandbox = await startHubSpotSandbox({ tenSecondlyOAuth: Number.POSITIVE_INFINITY });
  for (const [stream, object] of Object.entries(OBJECTS) as [StreamName, ObjectTypeName][]) {
    const known = new Set(sandbox.properties(object).map(({ name }) => name));
    for (const [shared, name] of Object.entries(NAMES[stream])) {
      if (!known.has(name)) createProperty(sandbox, stream, shared);
    }
  }
  sandbox.recording.record(true);
  const { clientId, clientSecret } = sandbox.application;
  return {
    name: 'hubspot',
    connector: 'hubspot',
    connection: () => ({ kind: 'hubspot', client: 'main' }),
    settings: {
      hubspotClients: {
        main: {
          clientId,
          clientSecret: { env: 'HUBSPOT_CLIENT_SECRET' },
          authorizeUrl: sandbox.authorizeUrl,
          tokenUrl: sandbox.tokenUrl,
          budget: { requestsPerMinute: 60_000, burst: 1_000 },
        },
      },
    },
    secrets: () => ({ HUBSPOT_CLIENT_SECRET: clientSecret }),
    targetSettings: { apiUrl: sandbox.apiUrl },
    names: NAMES,
    constants: {
      appointments: { hs_meeting_outcome: { value: 'SCHEDULED' } },
      invoices: { dealstage: { value: 'closedwon' } },
    },
    recorded: () => sandbox.recording.recorded(),
    purposeOf,
    counted: () => sandbox.counts.httpRequests,
    authorize: (url) => sandbox.authorizeInBrowser(url, { account: 'admin@clinic.example' }),
    ...handsOn(sandbox),
    ...failuresAt(sandbox.faults, '/batch/(upsert|create|update|archive)$|/gdpr-delete$'),
    close: () => sandbox.close(),
  };
}

function handsOn(sandbox: HubSpotSandbox): CrmHands {
  return {
    records: (stream) =>
      sandbox.records(OBJECTS[stream]).map(({ id, properties }) => ({
        id,
        key: properties[KEY] || null,
        values: sharedValues(stream, NAMES[stream], (name) => properties[name]),
        contactIds: stream === 'patients' ? [] : sandbox.associated(OBJECTS[stream], id, 'contacts'),
      })),
    removeProperty(stream, shared) {
      sandbox.removeProperty(OBJECTS[stream], propertyOf(NAMES[stream], shared));
      return () => createProperty(sandbox, stream, shared);
    },
    addByHand: (values) => sandbox.add('contacts', underOwnNames(NAMES.patients, values)),
    editByHand: (stream, id, shared, value) =>
      sandbox.edit(OBJECTS[stream], id, { [propertyOf(NAMES[stream], shared)]: value }),
    deleteByHand: (stream, id) => sandbox.archive(OBJECTS[stream], id),
  };
}

function createProperty(sandbox: HubSpotSandbox, stream: StreamName, shared: string): void {
  const kinds: Readonly<Record<string, keyof typeof TYPES>> = CRM_FIELDS[stream];
  const [name, kind] = [propertyOf(NAMES[stream], shared), kinds[shared] ?? 'text'];
  sandbox.createProperty(OBJECTS[stream], { name, label: name, ...TYPES[kind], ...optionsOf(kind) });
}

/** Truth is a choice of two. */
function optionsOf(kind: keyof typeof TYPES): object {
  if (kind !== 'boolean') return {};
  const option = (value: string, displayOrder: number) => ({ label: value, value, displayOrder, hidden: false });
  return { options: [option('true', 0), option('false', 1)] };
}

const PREPARES = /^\/(crm\/properties|account-info)\//;
/** Fetches by key also use POST. */
const READS = /\/(batch\/read|search)$/;

function purposeOf({ method, url }: CrmRequest): CrmPurpose {
  if (url.startsWith('/oauth/')) return 'login';
  if (PREPARES.test(url)) return 'prepare';
  return method === 'GET' || READS.test(url) ? 'read' : 'write';
}
