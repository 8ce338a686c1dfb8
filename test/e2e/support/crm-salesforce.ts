import {
  type FieldAccess,
  type FieldOptions,
  type SalesforceSandbox,
  startSalesforceSandbox,
} from '../../../sandbox/salesforce/index.ts';
import {
  type CrmHands,
  type CrmPurpose,
  type CrmRequest,
  type CrmVendor,
  failuresAt,
  propertyOf,
  sharedValues,
  underOwnNames,
} from './crm-vendors.ts';

const OBJECTS = { patients: 'Contact', appointments: 'Event', invoices: 'Opportunity' } as const;
const CONTACT_FIELDS = { patients: null, appointments: 'WhoId', invoices: 'Contact__c' } as const;

const NAMES = {
  patients: {
    firstName: 'FirstName',
    lastName: 'LastName',
    email: 'Email',
    phone: 'Phone',
    newsletter: 'Newsletter__c',
    visits: 'Visits__c',
    nextOn: 'Next_On__c',
    standing: 'Standing__c',
    taxCode: 'Tax_Code__c',
  },
  appointments: {
    title: 'Subject',
    startAt: 'StartDateTime',
    endAt: 'EndDateTime',
    status: 'Status__c',
    treatment: 'Treatment__c',
  },
  invoices: { name: 'Name', date: 'CloseDate', amount: 'Amount', doctors: 'Doctors__c' },
} as const;

const OURS: FieldOptions[] = [
  { name: 'Clinic_Key__c', type: 'string', length: 64, externalId: true, unique: true },
  { name: 'Clinic_Stamp__c', type: 'string', length: 255 },
];
const CUSTOM_FIELDS: Record<string, FieldOptions[]> = {
  Contact: [
    ...OURS,
    { name: 'Newsletter__c', type: 'boolean' },
    { name: 'Visits__c', type: 'double' },
    { name: 'Next_On__c', type: 'date' },
    { name: 'Standing__c', type: 'string' },
    { name: 'Tax_Code__c', type: 'string' },
  ],
  Event: [...OURS, { name: 'Status__c', type: 'string' }, { name: 'Treatment__c', type: 'string' }],
  Opportunity: [
    ...OURS,
    { name: 'Doctors__c', type: 'string' },
    { name: 'Contact__c', type: 'reference', referenceTo: ['Contact'], relationshipName: 'Contact__r' },
  ],
};

const USER = 'integration@clinic.example';

/** Starts Salesforce, with fields for all mapped values and the connection of a user. */
export async function startSalesforce(): Promise<CrmVendor> {
  const sandbox = await startSalesforceSandbox({ customFields: CUSTOM_FIELDS });
  sandbox.recording.record(true);
  const { clientId, clientSecret = '' } = sandbox.application;
  return {
    name: 'salesforce',
    connector: 'salesforce',
    connection: () => ({ kind: 'salesforce', client: 'main' }),
    settings: {
      salesforceClients: {
        main: {
          loginUrl: sandbox.loginUrl,
          clientId,
          clientSecret: { env: 'SALESFORCE_CLIENT_SECRET' },
          budget: { requestsPerMinute: 60_000, burst: 1_000 },
        },
      },
    },
    secrets: () => ({ SALESFORCE_CLIENT_SECRET: clientSecret }),
    targetSettings: { allowDuplicates: true },
    names: NAMES,
    constants: { invoices: { StageName: { value: 'Closed Won' } } },
    recorded: () => sandbox.recording.recorded(),
    purposeOf,
    counted: () => sandbox.counts.apiCalls,
    authorize: (url) => sandbox.authorizeInBrowser(url, { account: USER }),
    ...handsOn(sandbox),
    ...failuresAt(sandbox.faults, '/composite$'),
    close: () => sandbox.close(),
  };
}

function handsOn(sandbox: SalesforceSandbox): CrmHands {
  return {
    records: (stream) =>
      sandbox.records(OBJECTS[stream]).map((record) => {
        const contactField = CONTACT_FIELDS[stream];
        const contactId = contactField === null ? null : record[contactField];
        return {
          id: record.Id,
          key: (record.Clinic_Key__c as string | null | undefined) ?? null,
          values: sharedValues(stream, NAMES[stream], (name) => record[name]),
          contactIds: typeof contactId === 'string' ? [contactId] : [],
        };
      }),
    removeProperty(stream, shared) {
      const set = (access: FieldAccess) =>
        sandbox.setFieldAccess(OBJECTS[stream], propertyOf(NAMES[stream], shared), access);
      set('hidden');
      return () => set('edit');
    },
    addByHand: (values) => sandbox.addByHand('Contact', underOwnNames(NAMES.patients, values)).Id,
    editByHand(stream, id, shared, value) {
      sandbox.editByHand(id, { [propertyOf(NAMES[stream], shared)]: value });
    },
    deleteByHand: (_, id) => sandbox.deleteByHand(id),
  };
}

/** A composite writes when one of its parts does. */
const WRITES = /"method":"(POST|PATCH|DELETE)"/;

function purposeOf({ url, body }: CrmRequest): CrmPurpose {
  if (!url.startsWith('/services/data')) return 'login';
  if (body.includes('/describe') || url.includes('/describe')) return 'prepare';
  return WRITES.test(body) ? 'write' : 'read';
}
