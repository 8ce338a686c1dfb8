import { type RestCrmSandbox, startRestCrmSandbox } from '../../../sandbox/rest-crm/index.ts';
import type { StreamName } from '../../../src/core/model/items.ts';
import { tenantVariable } from '../../../src/settings/tenant-secrets.ts';
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

const MODULES = { patients: 'Contacts', appointments: 'Events', invoices: 'Deals' } as const;
const CONTACT_FIELDS = { patients: null, appointments: 'Who_Id', invoices: 'Contact_Name' } as const;

const NAMES = {
  patients: {
    firstName: 'First_Name',
    lastName: 'Last_Name',
    email: 'Email',
    phone: 'Phone',
    newsletter: 'Newsletter',
    visits: 'Visits',
    nextOn: 'Next_On',
    standing: 'Standing',
    taxCode: 'Tax_Code',
  },
  appointments: {
    title: 'Event_Title',
    startAt: 'Start_DateTime',
    endAt: 'End_DateTime',
    status: 'Status',
    treatment: 'Treatment',
  },
  invoices: { name: 'Deal_Name', date: 'Closing_Date', amount: 'Amount', doctors: 'Doctors' },
} as const;

const MORE_FIELDS = {
  Contacts: { Next_On: 'date', Standing: 'text', Tax_Code: 'text' },
  Events: { Status: 'text', Treatment: 'text' },
  Deals: { Doctors: 'text' },
} as const;

/** A CRM that speaks as Zoho CRM does, by the shipped profile, with a token that does not end. */
export async function startRestCrm(): Promise<CrmVendor> {
  const sandbox = await startRestCrmSandbox({ dialect: 'zoho' });
  sandbox.recording.record(true);
  for (const [module, fields] of Object.entries(MORE_FIELDS)) {
    for (const [name, type] of Object.entries(fields)) sandbox.addField(module, name, { type });
  }
  return {
    name: 'rest-crm',
    connector: 'rest-crm',
    connection: (tenant) => ({ kind: 'bearer', token: { env: tenantVariable(tenant, 'CRM_TOKEN') } }),
    settings: {},
    secrets: (tenant) => ({ [tenantVariable(tenant, 'CRM_TOKEN')]: sandbox.token }),
    targetSettings: { baseUrl: sandbox.apiUrl, profile: 'zoho-like', searchLagSeconds: 1 },
    names: NAMES,
    constants: { invoices: { Stage: { value: 'Closed Won' } } },
    recorded: () => sandbox.recording.recorded(),
    purposeOf,
    counted: () => sandbox.counts.requests(),
    authorize: null,
    ...handsOn(sandbox),
    ...failuresAt(sandbox.faults, '/(upsert|Events)$'),
    close: () => sandbox.close(),
  };
}

function handsOn(sandbox: RestCrmSandbox): CrmHands {
  return {
    records: (stream) =>
      sandbox.records(MODULES[stream]).map(({ id, values }) => ({
        id,
        key: textOrNull(values.Clinic_Mirror_Key),
        values: sharedValues(stream, NAMES[stream], (name) => values[name]),
        contactIds: contactIdsOf(values, stream),
      })),
    removeProperty(stream, shared) {
      const kinds: Readonly<Record<string, 'text' | 'number' | 'boolean' | 'date' | 'instant'>> = CRM_FIELDS[stream];
      sandbox.removeField(MODULES[stream], propertyOf(NAMES[stream], shared));
      return () =>
        sandbox.addField(MODULES[stream], propertyOf(NAMES[stream], shared), { type: kinds[shared] ?? 'text' });
    },
    addByHand: (values) => sandbox.addByHand('Contacts', underOwnNames(NAMES.patients, values)).id,
    editByHand(stream, id, shared, value) {
      sandbox.editByHand(MODULES[stream], id, { [propertyOf(NAMES[stream], shared)]: value });
    },
    deleteByHand: (stream, id) => sandbox.deleteByHand(MODULES[stream], id),
  };
}

function contactIdsOf(values: Readonly<Record<string, unknown>>, stream: StreamName): string[] {
  const field = CONTACT_FIELDS[stream];
  const link = field === null ? null : (values[field] as { id?: string } | null | undefined);
  return link?.id === undefined ? [] : [link.id];
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

function purposeOf({ method, url }: CrmRequest): CrmPurpose {
  if (url.includes('/settings/fields')) return 'prepare';
  return method === 'GET' || url.endsWith('/coql') ? 'read' : 'write';
}
