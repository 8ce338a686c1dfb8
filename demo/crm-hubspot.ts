import { type HubSpotSandbox, type ObjectTypeName, startHubSpotSandbox } from '../sandbox/hubspot/index.ts';
import { type ProxiedRequest, startFaultProxy } from '../sandbox/kit/fault-proxy.ts';
import { tenantVariable } from '../src/settings/tenant-secrets.ts';
import type { CrmOwner, CrmTarget, DemoCrm } from './crm.ts';
import { compareValues, contactName, DERIVED, digits, expectedState, type Values } from './crm-expected.ts';

const CONSENT = 'privacy';
const FLAG = ['true', 'false'].map((value, displayOrder) => ({ label: value, value, displayOrder, hidden: false }));

/** Properties that the clinic's marketing would make in HubSpot by hand. */
const CONTACT_PROPERTIES = [
  { name: 'newsletter', label: 'Newsletter', type: 'bool', fieldType: 'booleancheckbox', options: FLAG },
  { name: 'visits', label: 'Visits', type: 'number', fieldType: 'number' },
  { name: 'next_visit', label: 'Next visit', type: 'date', fieldType: 'date' },
  { name: 'standing', label: 'Standing', type: 'string', fieldType: 'text' },
] as const;
const VISIT_PROPERTIES = [{ name: 'visit_status', label: 'Status', type: 'string', fieldType: 'text' }] as const;

/** Starts HubSpot with one account and a private app: contacts of patients who agreed to data storage, and their visits. */
export async function startHubSpotCrm(owner: CrmOwner): Promise<DemoCrm> {
  const sandbox = await startHubSpotSandbox();
  for (const property of CONTACT_PROPERTIES) sandbox.createProperty('contacts', property);
  for (const property of VISIT_PROPERTIES) sandbox.createProperty('meetings', property);
  const [contacts, visits] = await Promise.all([startFaultProxy(sandbox.apiUrl), startFaultProxy(sandbox.apiUrl)]);
  const { tenant, window } = owner;
  const shown: CrmTarget[] = [
    {
      ...{ tenant, target: 'contacts', connector: 'hubspot', proxy: contacts, isWrite },
      compare: async (asOf) => compareValues(expectedState(owner, CONSENT, asOf).contacts, contactsIn(sandbox)),
    },
    {
      ...{ tenant, target: 'visits', connector: 'hubspot', proxy: visits, isWrite },
      compare: async (asOf) => compareValues(expectedState(owner, CONSENT, asOf).visits, visitsIn(sandbox, owner)),
    },
  ];
  const place = (target: string, object: ObjectTypeName) => {
    return { name: `${tenant}/${target}`, url: `${sandbox.apiUrl}/__sandbox/objects/${object}/records` };
  };
  const common = { connector: 'hubspot', connection: 'hubspot', window };
  return {
    tenant,
    consent: CONSENT,
    connections: { hubspot: { kind: 'bearer', token: { env: tenantVariable(tenant, 'HUBSPOT_TOKEN') } } },
    targets: {
      contacts: { ...common, settings: { apiUrl: contacts.url }, crm: CONTACTS },
      visits: { ...common, settings: { apiUrl: visits.url }, crm: VISITS },
    },
    settings: {},
    env: { [tenantVariable(tenant, 'HUBSPOT_TOKEN')]: sandbox.issuePrivateToken() },
    shown,
    places: [place('contacts', 'contacts'), place('visits', 'meetings')],
    async close() {
      await Promise.all([contacts.close(), visits.close(), sandbox.close()]);
    },
  };
}

const CONTACTS = {
  consents: [CONSENT],
  everyMinutes: 1,
  derived: DERIVED,
  mapping: {
    firstname: 'firstName',
    lastname: 'lastName',
    email: 'email',
    phone: 'phone',
    newsletter: 'consents.marketing',
    visits: 'derived.visits',
    next_visit: 'derived.nextAppointmentOn',
    standing: 'derived.standing',
  },
};

const VISITS = {
  stream: 'appointments',
  contacts: 'contacts',
  everyMinutes: 1,
  mapping: {
    hs_meeting_title: { value: 'Appointment' },
    hs_meeting_start_time: 'startAt',
    hs_meeting_end_time: 'endAt',
    visit_status: 'status',
  },
};

function isWrite({ method, url }: ProxiedRequest): boolean {
  return method !== 'GET' && !/\/(batch\/read|search)(\?|$)/.test(url);
}

function contactsIn(sandbox: HubSpotSandbox): Values[] {
  return sandbox.records('contacts').map(({ properties }) => {
    const { firstname, lastname, email, phone, newsletter, visits, next_visit, standing } = properties;
    return {
      firstName: firstname ?? '',
      lastName: lastname ?? '',
      email: email || null,
      phone: digits(phone || null),
      newsletter: newsletter === 'true',
      visits: Number(visits),
      nextVisit: next_visit || null,
      standing: standing ?? null,
    };
  });
}

function visitsIn(sandbox: HubSpotSandbox, { unexplained }: CrmOwner): Values[] {
  const names = new Map(
    sandbox.records('contacts').map(({ id, properties: { firstname, lastname, phone } }) => {
      return [id, contactName(firstname ?? '', lastname ?? '', phone || null)] as const;
    }),
  );
  return sandbox.records('meetings').map(({ id, properties }) => {
    const { visit_status: status = null } = properties;
    const contacts = sandbox.associated('meetings', id, 'contacts').map((contact) => names.get(contact) ?? contact);
    return {
      contact: contacts.join(', '),
      start: Date.parse(properties.hs_meeting_start_time ?? ''),
      end: Date.parse(properties.hs_meeting_end_time ?? ''),
      status: status === 'unknown' ? unexplained : status,
    };
  });
}
