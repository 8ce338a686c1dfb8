import type { FaultProxy } from '../../../sandbox/kit/fault-proxy.ts';
import { type FieldOptions, type SeenRecord, startSalesforceSandbox } from '../../../sandbox/salesforce/index.ts';
import { type CrmSide, contactsOf, SHARED_TARGET, textOf } from './side.ts';

const KEY = 'Clinic_Key__c';
const SECRET = 'sandbox-secret';
const FIELDS: FieldOptions[] = [
  { name: KEY, type: 'string', length: 64, externalId: true, unique: true },
  { name: 'Clinic_Stamp__c', type: 'string', length: 255 },
  { name: 'Marketing__c', type: 'boolean' },
  { name: 'Next_On__c', type: 'date' },
];
const MAPPING = {
  FirstName: 'firstName',
  LastName: 'lastName',
  Email: 'email',
  Phone: 'phone',
  Marketing__c: 'consents.marketing',
  Next_On__c: 'derived.nextAppointmentOn',
};

/** Starts Salesforce with a connection of the application: contacts only. */
export async function startSalesforceSide(openGate: (server: string) => Promise<FaultProxy>): Promise<CrmSide> {
  const sandbox = await startSalesforceSandbox({
    customFields: { Contact: FIELDS },
    applications: [{ clientSecret: SECRET, runAs: 'integration@clinic.example' }],
  });
  // Authorization uses this URL too: the token carries the URL that was used for authorization.
  const proxy = await openGate(sandbox.url);
  const strangers = new Set<string>();
  const before = new Map<string, string>();
  const seen = () => new Map(sandbox.records('Contact').map((record) => [record.Id, record]));
  const now = () =>
    new Map([...seen()].flatMap(([id, record]) => (strangers.has(id) ? [[id, JSON.stringify(record)]] : [])));
  return {
    vendor: 'salesforce',
    oneOwner: false,
    connections: { salesforce: { kind: 'salesforce-app', client: 'main' } },
    targets: {
      people: {
        connector: 'salesforce',
        connection: 'salesforce',
        ...SHARED_TARGET,
        settings: { allowDuplicates: true },
        crm: contactsOf(MAPPING),
      },
    },
    settings: {
      salesforceClients: {
        main: {
          loginUrl: proxy.url,
          clientId: sandbox.application.clientId,
          clientSecret: { env: 'SALESFORCE_SECRET' },
          budget: { requestsPerMinute: 60_000, burst: 1_000 },
        },
      },
    },
    env: { SALESFORCE_SECRET: SECRET },
    proxy,
    addStrangers(twins) {
      for (const { firstName, lastName, email, phone } of twins) {
        const person = { FirstName: firstName, LastName: lastName, Email: email, Phone: phone };
        strangers.add(sandbox.addByHand('Contact', person).Id);
      }
      for (const [id, bytes] of now()) before.set(id, bytes);
    },
    strangersAddresses: () => new Set(),
    holdings: () => ({
      contacts: [...seen().values()].map(foundOf),
      activities: [],
      strangers: { before, now: now() },
    }),
    async close() {
      await proxy.close();
      await sandbox.close();
    },
  };
}

function foundOf(record: SeenRecord) {
  return {
    id: record.Id,
    isOurs: textOf(record[KEY]) !== null,
    values: {
      firstName: textOf(record.FirstName),
      lastName: textOf(record.LastName),
      email: textOf(record.Email),
      phone: textOf(record.Phone),
      marketing: textOf(record.Marketing__c),
      nextOn: textOf(record.Next_On__c)?.slice(0, 10) ?? null,
    },
    contactIds: [],
  };
}
